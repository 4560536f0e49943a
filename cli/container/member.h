/* Inputs that are a part of a file: an array of an .npz archive, FILE:NAME, and a dataset of an
 * HDF5 file, FILE:/PATH. The file alone means the only one. */
#ifndef BITFOLD_CLI_CONTAINER_MEMBER_H
#define BITFOLD_CLI_CONTAINER_MEMBER_H

#include "container/feed.h"
#include "container/listing.h"
#include "container/npy.h"

#include <limits.h>
#include <sys/stat.h>

/* Files of members, by their first bytes. */
enum member_kind { MEMBER_NONE, MEMBER_ZIP, MEMBER_HDF5 };
enum member_kind member_kind_of(const void *prefix, size_t length);

/* The file that an input's name means, and which of its members: NULL if the whole name is that of
 * a file, or means none. */
typedef struct member_name {
    char file[PATH_MAX];
    const char *member;
} member_name;
void member_split(member_name *split, const char *name);

/* As stat, of the file that an input's name means. */
bool member_stat(const char *name, struct stat *st);

/* Whether a regular file, or the member that is meant, is compressed: no part of it can be read
 * without all before it. */
bool member_is_packed(const char *name);

typedef struct member {
    int64_t at, size; /* where in the file its bytes are, unless there is a feed; how many */
    feed feed;
    bool headless; /* they are elements, of this layout; else an .npy file */
    npy_header layout;
    bool has_crc; /* the bytes of the file have this one */
    uint32_t crc;
} member;

enum { MEMBER_OTHER = -1 };

/* Opens a member of a file, from byte `start` of fd on to its end; name is that of the input.
 * memory: bytes that it may take to read it; 0: as many as is usual. Returns an exit code; unless
 * it is EXIT_DONE, see *refused. MEMBER_OTHER: the file is a zip archive without arrays. */
int member_open(member *m, enum member_kind kind, int fd, int64_t start, const member_name *name,
                int64_t memory, listing_refusal *refused);

/* Whether the bytes of the file have the CRC that the archive says. -1: they cannot be read. */
int member_check(const member *m, int fd);

#endif
