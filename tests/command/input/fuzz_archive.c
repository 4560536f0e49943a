/* Any bytes at all as a zip archive: every member lies in the file, what is read of one does not
 * depend on how much is asked for at a time, and an end is an end.
 *
 * The first byte says how much is read. */
#define _GNU_SOURCE /* memfd_create */
#include "cli/container/archive.h"
#include "cli/container/member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

enum { MOST = 1 << 18 };

static void check_directory(int file, size_t size) {
    archive a;
    archive_member m;
    int more = 0;
    const char *wrong = archive_open(&a, file, 0, (int64_t)size);
    while (!wrong && (more = archive_next(&a, &m)) > 0) {
        require(m.size >= 0 && m.packed >= 0);
        if (archive_find_data(&a, &m)) continue;
        require(m.at >= 0 && m.packed <= (int64_t)size - m.at);
    }
    require(wrong || more == 0 || more == -1);
    archive_close(&a);
}

/* Reads up to MOST bytes of a feed, `step` at a time. -1: it failed. */
static int64_t read_feed(const feed *f, size_t step, unsigned char *out) {
    size_t n = 0;
    while (n < MOST) {
        const size_t want = MOST - n < step ? MOST - n : step;
        const int64_t got = f->read(f->of, out + n, want);
        require(got <= (int64_t)want);
        require(got >= 0 || errno == ENOMEM || (errno == EBADMSG && f->fault(f->of)));
        if (got < 0) return -1;
        n += (size_t)got;
        if (got < (int64_t)want) break;
    }
    return (int64_t)n;
}

/* Reads the only array. */
static int64_t read_member(int file, size_t size, size_t step, unsigned char *out) {
    static const member_name name = {.file = "x.npz"};
    member m;
    listing_refusal refused = {.what = ""};
    const int code = member_open(&m, MEMBER_ZIP, file, 0, &name, 0, &refused);
    require(code == 0 || code == MEMBER_OTHER || *refused.what);
    if (code != 0) return -1;
    if (!m.feed.of) {
        require(m.at >= 0 && m.size <= (int64_t)size - m.at && member_check(&m, file) >= 0);
        return -1;
    }
    const int64_t n = read_feed(&m.feed, step, out);
    m.feed.close(m.feed.of);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static unsigned char once[MOST], again[MOST];
    if (size < 1) return 0;
    const int file = memfd_create("archive", MFD_CLOEXEC);
    require(file >= 0 && write(file, data + 1, size - 1) == (ssize_t)(size - 1));
    check_directory(file, size - 1);
    const int64_t n = read_member(file, size - 1, MOST, once);
    const int64_t m = read_member(file, size - 1, 1 + (size_t)data[0] * 7, again);
    require(n == m && (n < 0 || memcmp(once, again, (size_t)n) == 0));
    close(file);
    return 0;
}
