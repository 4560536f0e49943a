/* Host memory: counted by the budget of the present call, in large pages where it is large. */
#define _DEFAULT_SOURCE
#include "base/memory.h"

#include "base/budget.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    PAGE = 1 << 12,      /* the smallest that a system has */
    LARGE_PAGE = 1 << 21 /* where the system has such */
};

/* What stands before memory. */
typedef struct header {
    bf_budget *budget;
    void *block; /* the system's */
    size_t bytes;
} header;

enum { BEFORE = 32 }; /* bytes: room for a header that keeps malloc's alignment */
_Static_assert(sizeof(header) <= BEFORE, "a header has its room");

static header *header_of(void *memory) { return (header *)((char *)memory - BEFORE); }

/* Makes a block of the system memory that begins `before` bytes behind it. block NULL: takes its
 * bytes back from the budget. */
static void *begin_memory(void *block, size_t before, size_t bytes) {
    if (block == NULL) {
        bf_budget_give(bf_budget_current(), (int64_t)bytes);
        return NULL;
    }
    char *memory = (char *)block + before;
    *header_of(memory) = (header){bf_budget_current(), block, bytes};
    return memory;
}

/* Takes bytes from the budget of the present call. */
static bool take_bytes(size_t bytes) {
    return bytes <= INT64_MAX / 4 && bf_budget_take(bf_budget_current(), (int64_t)bytes);
}

void *bf_alloc(size_t bytes) {
    return take_bytes(bytes) ? begin_memory(malloc(bytes + BEFORE), BEFORE, bytes) : NULL;
}

void *bf_calloc(size_t n, size_t bytes) {
    size_t all;
    if (__builtin_mul_overflow(n, bytes, &all) || !take_bytes(all)) return NULL;
    return begin_memory(calloc(1, all + BEFORE), BEFORE, all);
}

void *bf_alloc_aligned(size_t bytes) {
    if (!take_bytes(bytes)) return NULL;
    const size_t whole = (bytes + 2 * BF_ALIGNMENT - 1) / BF_ALIGNMENT * BF_ALIGNMENT;
    return begin_memory(aligned_alloc(BF_ALIGNMENT, whole), BF_ALIGNMENT, bytes);
}

void *bf_zeros(size_t bytes) {
    char *memory = bf_calloc(1, bytes);
    uintptr_t begin = ((uintptr_t)memory + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    uintptr_t end = ((uintptr_t)memory + bytes) / LARGE_PAGE * LARGE_PAGE;
#ifdef MADV_HUGEPAGE
    if (memory != NULL && begin < end)
        (void)madvise(memory + (begin - (uintptr_t)memory), end - begin, MADV_HUGEPAGE);
#endif
    return memory;
}

void *bf_resize(void *memory, size_t bytes) {
    if (memory == NULL) return bf_alloc(bytes);
    header *h = header_of(memory);
    int64_t more = (int64_t)bytes - (int64_t)h->bytes;
    if (bytes > INT64_MAX / 4) return NULL;
    if (more > 0 && !bf_budget_take(h->budget, more)) return NULL;
    char *block = realloc(h->block, bytes + BEFORE);
    if (block == NULL) {
        if (more > 0) bf_budget_give(h->budget, more);
        return NULL;
    }
    h = (header *)block;
    if (more < 0) bf_budget_give(h->budget, -more);
    h->block = block;
    h->bytes = bytes;
    return block + BEFORE;
}

void bf_free(void *memory) {
    if (memory == NULL) return;
    const header h = *header_of(memory);
    bf_budget_give(h.budget, (int64_t)h.bytes);
    free(h.block);
}

void bf_touch(void *memory, size_t bytes) {
    volatile char *at = memory;
    for (size_t i = 0; i < bytes; i += PAGE) at[i] = 0;
}
