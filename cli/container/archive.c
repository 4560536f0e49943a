#include "container/archive.h"

#include "runtime/bytes.h"

#include <stdlib.h>
#include <string.h>

/* Sizes of the records without their names and comments. */
enum { END = 22, LOCATOR = 20, END_64 = 56, ENTRY = 46, HEADER = 30 };
enum { MAX_COMMENT = 65535, MAX_DIRECTORY = 64 * 1024 * 1024 };

static const char damaged[] = "the directory of the archive is damaged";

static uint64_t number(const unsigned char *at, int bytes) {
    uint64_t n = 0;
    for (int i = bytes - 1; i >= 0; i--) n = n << 8 | at[i];
    return n;
}

static bool begins(const unsigned char *at, const char *signature) {
    return memcmp(at, signature, 4) == 0;
}

static bool read_all(const archive *a, int64_t at, void *to, size_t n) {
    return bytes_pread(a->fd, to, n, a->start + at) == (int64_t)n;
}

/* ---- the directory --------------------------------------------------------------------------- */

/* Where the directory is, as the end of the archive says. */
typedef struct place {
    uint64_t at, size;
} place;

/* The record of the end of an archive beyond 4 GiB, if there is one before the usual. */
static const char *find_end_64(const archive *a, int64_t end, place *p) {
    unsigned char locator[LOCATOR], record[END_64];
    if (end < LOCATOR + END_64 || !read_all(a, end - LOCATOR, locator, LOCATOR) ||
        !begins(locator, "PK\6\7"))
        return NULL;
    const uint64_t at = number(locator + 8, 8);
    if (at > (uint64_t)(end - LOCATOR - END_64) || !read_all(a, (int64_t)at, record, END_64) ||
        !begins(record, "PK\6\6"))
        return damaged;
    *p = (place){number(record + 48, 8), number(record + 40, 8)};
    return NULL;
}

/* The end is behind all else but a comment. */
static const char *find_end(const archive *a, int64_t size, int64_t *end, place *p) {
    const int64_t most = END + MAX_COMMENT, n = size < most ? size : most;
    unsigned char *tail = malloc((size_t)n + 1);
    if (!tail) return "out of memory";
    int64_t at = read_all(a, size - n, tail, (size_t)n) ? n - END : -1;
    while (at >= 0 &&
           (!begins(tail + at, "PK\5\6") || at + END + (int64_t)number(tail + at + 20, 2) > n))
        at--;
    *end = size - n + at;
    if (at >= 0) *p = (place){number(tail + at + 16, 4), number(tail + at + 12, 4)};
    free(tail);
    return at < 0 ? "the zip archive has no directory: it is cut off or damaged"
                  : find_end_64(a, *end, p);
}

const char *archive_open(archive *a, int fd, int64_t start, int64_t end) {
    place p = {0};
    *a = (archive){.fd = fd, .start = start};
    int64_t behind;
    const char *wrong = find_end(a, end - start, &behind, &p);
    if (wrong) return wrong;
    if (p.size > (uint64_t)behind || p.at > (uint64_t)behind - p.size) return damaged;
    if (p.size > MAX_DIRECTORY) return "the directory of the archive is absurd: over 64 MiB";
    a->data = (int64_t)p.at;
    a->size = (size_t)p.size;
    a->directory = malloc(a->size + 1);
    if (!a->directory) return "out of memory";
    return read_all(a, a->data, a->directory, a->size) ? NULL : damaged;
}

void archive_close(archive *a) {
    free(a->directory);
    a->directory = NULL;
}

/* ---- members --------------------------------------------------------------------------------- */

static bool take_64(const unsigned char **at, const unsigned char *end, uint64_t *n) {
    if (*n != UINT32_MAX) return true;
    if (end - *at < 8) return false;
    *n = number(*at, 8);
    *at += 8;
    return true;
}

/* Sizes and the place of a member that do not fit 32 bits are in an extra field. */
static bool widen(const unsigned char *at, const unsigned char *end, uint64_t *size,
                  uint64_t *packed, uint64_t *header) {
    for (; end - at >= 4; at += 4 + number(at + 2, 2)) {
        const size_t n = number(at + 2, 2);
        if ((size_t)(end - at - 4) < n) return false;
        if (number(at, 2) != 1) continue;
        const unsigned char *field = at + 4, *const behind = field + n;
        return take_64(&field, behind, size) && take_64(&field, behind, packed) &&
               take_64(&field, behind, header);
    }
    return true;
}

int archive_next(archive *a, archive_member *m) {
    const unsigned char *const e = a->directory + a->next;
    const size_t left = a->size - a->next;
    if (left == 0) return 0;
    if (left < ENTRY || !begins(e, "PK\1\2")) return -1;
    const size_t name = number(e + 28, 2), extra = number(e + 30, 2), note = number(e + 32, 2);
    uint64_t packed = number(e + 20, 4), size = number(e + 24, 4), at = number(e + 42, 4);
    if (left - ENTRY < name + extra + note) return -1;
    const unsigned char *const more = e + ENTRY + name;
    if (!widen(more, more + extra, &size, &packed, &at)) return -1;
    if (size > INT64_MAX || packed > INT64_MAX || at > INT64_MAX) return -1;
    *m = (archive_member){.name = (const char *)e + ENTRY,
                          .length = name,
                          .method = (int)number(e + 10, 2),
                          .encrypted = e[8] & 1,
                          .crc = (uint32_t)number(e + 16, 4),
                          .at = (int64_t)at,
                          .packed = (int64_t)packed,
                          .size = (int64_t)size};
    a->next += ENTRY + name + extra + note;
    return 1;
}

const char *archive_find_data(const archive *a, archive_member *m) {
    unsigned char h[HEADER];
    static const char wrong[] = "its place in the archive is not where the directory says";
    if (m->encrypted) return "it is encrypted";
    if (m->method != ARCHIVE_STORED && m->method != ARCHIVE_DEFLATED)
        return "it is compressed by a method that is not read";
    if (m->method == ARCHIVE_STORED && m->packed != m->size) return damaged;
    if (m->at > a->data - HEADER || !read_all(a, m->at, h, HEADER) || !begins(h, "PK\3\4"))
        return wrong;
    m->at += HEADER + (int64_t)(number(h + 26, 2) + number(h + 28, 2));
    return m->at > a->data || m->packed > a->data - m->at ? wrong : NULL;
}
