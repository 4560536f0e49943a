/* Any bytes at all as compressed data: what comes out does not depend on how much is asked for at a
 * time, and an end is an end.
 *
 * The first byte chooses the format, whose first bytes are put in front, and how much is read. */
#define _GNU_SOURCE /* memfd_create */
#include "cli/container/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

enum { MOST = 1 << 20, PREFIX = 12 };

typedef struct reading {
    size_t n;
    bool failed;
} reading;

/* Reads up to MOST bytes, `step` at a time. */
static reading read_all(int file, size_t length, size_t step, unsigned char *out) {
    unsigned char prefix[PREFIX];
    unpack_error error;
    const size_t first = length < PREFIX ? length : PREFIX;
    require(lseek(file, 0, SEEK_SET) == 0 && read(file, prefix, first) == (ssize_t)first);
    reading x = {0, false};
    unpack *u = unpack_open(file, prefix, first, 0, &error);
    if (!u) { /* the library is missing */
        require(error.what != NULL);
        return x;
    }
    while (x.n < MOST) {
        const size_t want = MOST - x.n < step ? MOST - x.n : step;
        const int64_t got = unpack_read(u, out + x.n, want);
        require(got <= (int64_t)want);
        x.failed = got < 0;
        require(!x.failed || errno == ENOMEM || (errno == EBADMSG && unpack_fault(u)));
        if (got > 0) x.n += (size_t)got;
        if (got < (int64_t)want) break;
    }
    if (!x.failed && x.n < MOST) require(unpack_read(u, out + x.n, 1) == 0);
    unpack_close(u);
    return x;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct {
        unsigned char bytes[6];
        size_t n;
    } magic[] = {
        {{0x1f, 0x8b, 8}, 3}, {{0x28, 0xb5, 0x2f, 0xfd}, 4}, {{0xfd, '7', 'z', 'X', 'Z', 0}, 6}};
    static unsigned char once[MOST], again[MOST];
    if (size < 1) return 0;
    const size_t which = data[0] % 3, length = magic[which].n + size - 1;
    const int file = memfd_create("packed", MFD_CLOEXEC);
    require(file >= 0 && write(file, magic[which].bytes, magic[which].n) > 0);
    require(write(file, data + 1, size - 1) == (ssize_t)(size - 1));
    const reading x = read_all(file, length, MOST, once);
    const reading y = read_all(file, length, 1 + (size_t)data[0] / 3 * 7, again);
    require(x.failed || (!y.failed && x.n == y.n && memcmp(once, again, x.n) == 0));
    require(!x.failed || y.failed);
    close(file);
    return 0;
}
