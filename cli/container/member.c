#include "container/member.h"

#include "container/archive.h"
#include "container/crc.h"
#include "container/hdf5.h"
#include "container/unpack.h"
#include "runtime/bytes.h"
#include "runtime/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names ----------------------------------------------------------------------------------- */

enum { PREFIX = 12 };

enum member_kind member_kind_of(const void *prefix, size_t length) {
    static const struct {
        const char *magic;
        size_t size;
        enum member_kind kind;
    } known[] = {{"PK\3\4", 4, MEMBER_ZIP},
                 {"PK\5\6", 4, MEMBER_ZIP}, /* it holds nothing */
                 {"\x89HDF\r\n\x1a\n", 8, MEMBER_HDF5},
                 {"MATLAB 7.3 M", 12, MEMBER_HDF5}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (length >= known[i].size && memcmp(prefix, known[i].magic, known[i].size) == 0)
            return known[i].kind;
    return MEMBER_NONE;
}

/* Opens a regular file. -1: it is none. */
static int open_regular(const char *name) {
    struct stat st;
    return stat(name, &st) == 0 && S_ISREG(st.st_mode) ? open(name, O_RDONLY | O_CLOEXEC) : -1;
}

static int64_t read_prefix(int fd, unsigned char prefix[PREFIX]) {
    return bytes_pread(fd, prefix, PREFIX, 0);
}

static bool has_members(const char *file) {
    unsigned char prefix[PREFIX];
    const int fd = open_regular(file);
    const int64_t got = fd < 0 ? -1 : read_prefix(fd, prefix);
    if (fd >= 0) close(fd);
    return got > 0 && member_kind_of(prefix, (size_t)got) != MEMBER_NONE;
}

/* A file of the whole name is meant, if there is one; else what is before a colon. */
void member_split(member_name *split, const char *name) {
    struct stat st;
    snprintf(split->file, sizeof split->file, "%s", name);
    split->member = NULL;
    if (strcmp(name, "-") == 0 || strlen(name) >= PATH_MAX || stat(name, &st) == 0) return;
    for (const char *colon = name; (colon = strchr(colon, ':')) != NULL; colon++) {
        split->file[colon - name] = '\0';
        if (colon > name && has_members(split->file)) {
            split->member = colon + 1;
            return;
        }
        split->file[colon - name] = ':';
    }
}

bool member_stat(const char *name, struct stat *st) {
    member_name split;
    member_split(&split, name);
    return stat(split.member ? split.file : name, st) == 0;
}

bool member_is_packed(const char *name) {
    member_name split;
    member m = {.at = 0};
    listing_refusal refused;
    unsigned char prefix[PREFIX];
    member_split(&split, name);
    const int fd = open_regular(split.file);
    if (fd < 0) return false;
    const int64_t got = read_prefix(fd, prefix);
    const enum member_kind kind = got > 0 ? member_kind_of(prefix, (size_t)got) : MEMBER_NONE;
    bool packed = got > 0 && unpack_knows(prefix, (size_t)got);
    if (kind && member_open(&m, kind, fd, 0, &split, 0, &refused) == EXIT_DONE) {
        packed = m.feed.of != NULL;
        if (m.feed.of) m.feed.close(m.feed.of);
    }
    close(fd);
    return packed;
}

/* ---- archives -------------------------------------------------------------------------------- */

static bool is_array(const archive_member *m) {
    return m->length > 4 && memcmp(m->name + m->length - 4, ".npy", 4) == 0;
}

/* A member may be called by its name, or by that without .npy; the last one of a name counts. */
static int rank_name(const archive_member *m, const char *wanted) {
    const size_t n = strlen(wanted);
    if (m->length == n && memcmp(m->name, wanted, n) == 0) return 2;
    return is_array(m) && m->length == n + 4 && memcmp(m->name, wanted, n) == 0;
}

static int refuse(listing_refusal *r, int code, const char *what, const char *advice) {
    snprintf(r->what, sizeof r->what, "%s", what);
    snprintf(r->hint, sizeof r->hint, "%s", advice ? advice : "");
    return r->code = code;
}

/* Finds the array that is wanted, or the only one. */
static int find_array(archive *a, archive_member *found, const member_name *name,
                      listing_refusal *refused) {
    archive_member m;
    listing names = {.n = 0};
    int best = 0, more;
    while ((more = archive_next(a, &m)) > 0) {
        const int rank = name->member ? rank_name(&m, name->member) : is_array(&m);
        if (is_array(&m)) listing_add(&names, m.name, m.length - 4);
        if (rank >= best && rank > 0) *found = m;
        if (rank > best) best = rank;
    }
    if (more < 0)
        return refuse(refused, EXIT_DATA, "the directory of the archive is damaged", NULL);
    if (names.n == 0 && a->size > 0 && !name->member) return MEMBER_OTHER;
    if (best == 0 || (!name->member && names.n > 1))
        return listing_refuse(&names, refused, name->file, "array", name->member);
    return EXIT_DONE;
}

/* What is deflated comes from the file by a descriptor that is at its place. */
static int open_deflated(member *m, int fd, const archive_member *x, int64_t at,
                         listing_refusal *refused) {
    unpack_error error;
    if (lseek(fd, (off_t)at, SEEK_SET) < 0) return refuse(refused, EXIT_IO, "cannot read", NULL);
    unpack *u = unpack_open_member(fd, x->packed, x->size, x->crc, &error);
    if (!u) return refuse(refused, EXIT_IO, error.what, error.hint);
    m->feed = unpack_feed(u);
    return EXIT_DONE;
}

static int open_array(member *m, archive *a, const member_name *name, listing_refusal *refused) {
    archive_member x = {.length = 0};
    const int code = find_array(a, &x, name, refused);
    if (code != EXIT_DONE) return code;
    const char *wrong = archive_find_data(a, &x);
    if (wrong) return refuse(refused, EXIT_DATA, wrong, NULL);
    m->size = x.size;
    if (x.method == ARCHIVE_DEFLATED) return open_deflated(m, a->fd, &x, a->start + x.at, refused);
    m->at = a->start + x.at;
    m->has_crc = true;
    m->crc = x.crc;
    return EXIT_DONE;
}

static int open_zip(member *m, int fd, int64_t start, const member_name *name,
                    listing_refusal *refused) {
    archive a;
    struct stat st;
    if (fstat(fd, &st) != 0) return refuse(refused, EXIT_IO, "cannot read", NULL);
    const char *wrong = archive_open(&a, fd, start, st.st_size);
    const int code =
        wrong ? refuse(refused, EXIT_DATA, wrong, NULL) : open_array(m, &a, name, refused);
    archive_close(&a);
    return code;
}

int member_check(const member *m, int fd) {
    static unsigned char some[1 << 18];
    uint32_t crc = 0;
    for (int64_t at = 0; at < m->size;) {
        const int64_t left = m->size - at;
        const size_t n = left < (int64_t)sizeof some ? (size_t)left : sizeof some;
        const int64_t got = bytes_pread(fd, some, n, m->at + at);
        if (got < (int64_t)n) return -1;
        crc = crc_add(crc, some, n);
        at += got;
    }
    return crc == m->crc;
}

/* ---- datasets -------------------------------------------------------------------------------- */

static int open_dataset(member *m, const member_name *name, int64_t memory,
                        listing_refusal *refused) {
    hdf5_dataset d;
    const int code = hdf5_open(&d, name->file, name->member, memory, refused);
    m->headless = true;
    m->layout = d.layout;
    m->feed = d.feed;
    m->at = d.at;
    m->size = d.layout.count * (int64_t)bf_dtype_size(d.layout.dtype);
    return code;
}

int member_open(member *m, enum member_kind kind, int fd, int64_t start, const member_name *name,
                int64_t memory, listing_refusal *refused) {
    *m = (member){.at = 0};
    return kind == MEMBER_ZIP ? open_zip(m, fd, start, name, refused)
                              : open_dataset(m, name, memory, refused);
}
