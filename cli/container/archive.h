/* The directory of a zip archive: where its members are.
 *
 * It is untrusted. All of it is read at once and never left; what it says of a member is compared
 * with the file. */
#ifndef BITFOLD_CLI_CONTAINER_ARCHIVE_H
#define BITFOLD_CLI_CONTAINER_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum archive_method { ARCHIVE_STORED = 0, ARCHIVE_DEFLATED = 8 };

typedef struct archive {
    int fd;
    int64_t start; /* where in the file the archive begins */
    unsigned char *directory;
    size_t size;  /* the bytes of the directory */
    int64_t data; /* bytes before it */
    size_t next;  /* in the directory */
} archive;

typedef struct archive_member {
    const char *name; /* in the directory; no zero is behind it */
    size_t length;
    int method;
    bool encrypted;
    uint32_t crc;
    int64_t at; /* where its header begins in the archive; after archive_find_data, its data */
    int64_t packed, size;
} archive_member;

/* What is wrong, or NULL. Close it in either case. */
const char *archive_open(archive *a, int fd, int64_t start, int64_t end);
void archive_close(archive *a);

/* Takes the next member: 1, or 0 at the end, or -1 if the directory is damaged. */
int archive_next(archive *a, archive_member *m);

/* Finds the data of a member. What is wrong, or NULL. */
const char *archive_find_data(const archive *a, archive_member *m);

#endif
