#define _DEFAULT_SOURCE
#include "base/spill/spool.h"

#include "base/memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    WRITTEN = 1 << 14, /* bytes that are written at a time */
    PASSED = 1 << 22   /* bytes that are passed at a time: more than a page of any system */
};

bf_status bf_spool_open(bf_spool *s, bf_context *context) {
    *s = (bf_spool){.context = context, .fd = -1};
    s->buffer = bf_alloc(WRITTEN);
    if (s->buffer == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to write a file");
    return bf_spill_open(context, &s->fd);
}

void bf_spool_close(bf_spool *s) {
    bf_free(s->buffer);
    bf_spool_forget(s->map, s->end);
    if (s->fd >= 0) close(s->fd);
    *s = (bf_spool){.fd = -1};
}

static bf_status write_held(bf_spool *s) {
    const int64_t held = s->held;
    s->held = 0;
    return bf_spill_write(s->context, s->fd, s->buffer, (size_t)held, s->end - held);
}

bf_status bf_spool_add(bf_spool *s, const void *from, int64_t bytes) {
    bf_status status = BF_OK;
    const char *next = from;
    for (int64_t n; bytes > 0 && status == BF_OK; bytes -= n, next += n) {
        n = bytes < WRITTEN - s->held ? bytes : WRITTEN - s->held;
        memcpy(s->buffer + s->held, next, (size_t)n);
        s->held += n;
        s->end += n;
        if (s->held == WRITTEN) status = write_held(s);
    }
    return status;
}

bf_status bf_spool_map(bf_spool *s) {
    const bf_status status = write_held(s);
    if (status != BF_OK || s->end == 0) return status;
    void *map = mmap(NULL, (size_t)s->end, PROT_READ, MAP_SHARED, s->fd, 0);
    if (map == MAP_FAILED)
        return bf_fail(s->context, BF_E_MEMORY, "no memory to read a file of %lld bytes",
                       (long long)s->end);
    s->map = map;
    return BF_OK;
}

const char *bf_spool_keep(bf_spool *s) {
    const char *map = s->map;
    s->map = NULL;
    return map;
}

void bf_spool_forget(const void *map, int64_t bytes) {
    if (map != NULL) munmap((void *)(uintptr_t)map, (size_t)bytes);
}

void bf_spool_pass(const bf_spool *s, int64_t end) {
    const int64_t bytes = end / PASSED * PASSED;
    if (bytes > 0) (void)madvise((void *)(uintptr_t)s->map, (size_t)bytes, MADV_DONTNEED);
}
