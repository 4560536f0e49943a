/* Large memory. */
#define _DEFAULT_SOURCE
#include "cpu/runtime/context.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    PAGE = 1 << 12,      /* the smallest that a system has */
    LARGE_PAGE = 1 << 21 /* where the system has such */
};

void *bf_zeros(size_t bytes) {
    char *memory = calloc(1, bytes);
    uintptr_t begin = ((uintptr_t)memory + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    uintptr_t end = ((uintptr_t)memory + bytes) / LARGE_PAGE * LARGE_PAGE;
#ifdef MADV_HUGEPAGE
    if (memory != NULL && begin < end)
        (void)madvise(memory + (begin - (uintptr_t)memory), end - begin, MADV_HUGEPAGE);
#endif
    return memory;
}

void bf_touch(void *memory, size_t bytes) {
    volatile char *at = memory;
    for (size_t i = 0; i < bytes; i += PAGE) at[i] = 0;
}
