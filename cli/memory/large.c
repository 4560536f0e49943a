#define _DEFAULT_SOURCE /* madvise */
#include "memory/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 1 << 21 };

void *large_alloc(size_t bytes) {
    char *memory = malloc(bytes);
#ifdef MADV_HUGEPAGE
    const size_t before = -(uintptr_t)memory & (LARGE_PAGE - 1),
                 pages = before < bytes ? (bytes - before) / LARGE_PAGE : 0;
    if (memory && pages > 0) (void)madvise(memory + before, pages * LARGE_PAGE, MADV_HUGEPAGE);
#endif
    return memory;
}
