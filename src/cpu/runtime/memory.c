/* Memory: large pages, the rooms of workers, and memory for callers. */
#define _DEFAULT_SOURCE
#include "cpu/runtime/context.h"
#include "seam/budget.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    ALIGNMENT = 256,     /* of memory for callers */
    PAGE = 1 << 12,      /* the smallest that a system has */
    LARGE_PAGE = 1 << 21 /* where the system has such */
};

/* ---- large memory ---------------------------------------------------------------------------- */

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

/* ---- rooms ----------------------------------------------------------------------------------- */

static bool grow_rooms(bf_cpu *cpu, size_t bytes) {
    free(cpu->rooms);
    cpu->room_bytes = (bytes + BF_CPU_APART - 1) / BF_CPU_APART * BF_CPU_APART;
    cpu->rooms = aligned_alloc(BF_CPU_APART, (size_t)bf_pool_threads(cpu->pool) * cpu->room_bytes);
    if (cpu->rooms == NULL) cpu->room_bytes = 0;
    return cpu->rooms != NULL;
}

bool bf_rooms_open(bf_context *context, int workers, size_t bytes) {
    bf_cpu *cpu = context->cpu;
    if (bytes > cpu->room_bytes && !grow_rooms(cpu, bytes)) {
        bf_fail(context, BF_E_MEMORY, "no memory for the threads");
        return false;
    }
    for (int worker = 0; worker < workers; worker++)
        memset(bf_room(context, worker), 0, sizeof(uint64_t));
    return true;
}

/* ---- the backend's functions ----------------------------------------------------------------- */

void *bf_cpu_scratch(bf_context *context) {
    bf_cpu *cpu = context->cpu;
    if (cpu->scratch == NULL) cpu->scratch = malloc(BF_CPU_SCRATCH);
    if (cpu->scratch == NULL) bf_fail(context, BF_E_MEMORY, "no scratch memory");
    return cpu->scratch;
}

void *bf_cpu_allocate(bf_context *context, size_t bytes) {
    void *made = NULL;
    if (take_bytes(bytes)) {
        size_t whole = (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        made = begin_memory(aligned_alloc(ALIGNMENT, whole), ALIGNMENT, bytes);
    }
    if (made == NULL) bf_fail(context, BF_E_MEMORY, "no memory for %zu bytes", bytes);
    return made;
}

void bf_cpu_release(bf_context *context, void *memory) {
    (void)context;
    bf_free(memory);
}

bf_status bf_cpu_copy(bf_context *context, void *to, const void *from, size_t bytes) {
    (void)context;
    memcpy(to, from, bytes);
    return BF_OK;
}
