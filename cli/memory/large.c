#define _DEFAULT_SOURCE /* madvise */
#include "memory/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 1 << 21 };

void *large_allocate(size_t bytes) {
    if (bytes < LARGE_PAGE) return malloc(bytes > 0 ? bytes : 1);
    if (bytes > SIZE_MAX - LARGE_PAGE) return NULL;
    const size_t whole = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    void *memory = aligned_alloc(LARGE_PAGE, whole);
#ifdef MADV_HUGEPAGE
    if (memory) (void)madvise(memory, bytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
#endif
    return memory;
}
