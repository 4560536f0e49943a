#include "runtime/bytes.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int64_t bytes_read(int fd, void *buffer, size_t size) {
    size_t have = 0;
    while (have < size) {
        const ssize_t got = read(fd, (char *)buffer + have, size - have);
        if (got == 0) break;
        if (got > 0)
            have += (size_t)got;
        else if (errno != EINTR)
            return -1;
    }
    return (int64_t)have;
}

int64_t bytes_pread(int fd, void *buffer, size_t size, int64_t offset) {
    size_t have = 0;
    while (have < size) {
        const ssize_t got =
            pread(fd, (char *)buffer + have, size - have, (off_t)(offset + (int64_t)have));
        if (got == 0) break;
        if (got > 0)
            have += (size_t)got;
        else if (errno != EINTR)
            return -1;
    }
    return (int64_t)have;
}

bool bytes_write(int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        const ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC;
        if (n <= 0) return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static void swap16(uint16_t *x, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = __builtin_bswap16(x[i]);
}

static void swap32(uint32_t *x, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = __builtin_bswap32(x[i]);
}

static void swap64(uint64_t *x, size_t n) {
    for (size_t i = 0; i < n; i++) x[i] = __builtin_bswap64(x[i]);
}

void bytes_swap(void *buffer, size_t n, size_t element) {
    switch (element) {
    case 2: swap16(buffer, n); break;
    case 4: swap32(buffer, n); break;
    case 8: swap64(buffer, n); break;
    default: break;
    }
}

/* Inlined with element a constant: memcpy is then one load and one store. */
static inline void gather_elements(char *out, const char *in, size_t n, size_t stride,
                                   size_t element) {
    for (size_t i = 0; i < n; i++) memcpy(out + i * element, in + i * stride * element, element);
}

void bytes_gather(void *out, const void *in, size_t n, size_t stride, size_t element) {
    switch (element) {
    case 1: gather_elements(out, in, n, stride, 1); break;
    case 2: gather_elements(out, in, n, stride, 2); break;
    case 4: gather_elements(out, in, n, stride, 4); break;
    default: gather_elements(out, in, n, stride, 8); break;
    }
}
