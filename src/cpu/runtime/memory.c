/* Memory of the CPU's backend: the rooms of workers, and memory for callers. */
#include "cpu/runtime/context.h"

#include <stdlib.h>

/* ---- rooms ----------------------------------------------------------------------------------- */

static bool grow_rooms(const bf_pool *pool, bf_cpu *cpu, size_t bytes) {
    free(cpu->rooms);
    cpu->room_bytes = (bytes + BF_CPU_APART - 1) / BF_CPU_APART * BF_CPU_APART;
    cpu->rooms = aligned_alloc(BF_CPU_APART, (size_t)bf_pool_threads(pool) * cpu->room_bytes);
    if (cpu->rooms == NULL) cpu->room_bytes = 0;
    return cpu->rooms != NULL;
}

bool bf_rooms_open(bf_context *context, int workers, size_t bytes) {
    bf_cpu *cpu = context->cpu;
    if (bytes > cpu->room_bytes && !grow_rooms(context->pool, cpu, bytes)) {
        bf_fail(context, BF_E_MEMORY, "no memory for the threads");
        return false;
    }
    for (int worker = 0; worker < workers; worker++)
        memset(bf_room(context, worker), 0, sizeof(uint64_t));
    return true;
}

/* ---- the backend's functions ----------------------------------------------------------------- */

void *bf_cpu_scratch(bf_context *context, const void *near) {
    (void)near;
    bf_cpu *cpu = context->cpu;
    if (cpu->scratch == NULL) cpu->scratch = malloc(BF_CPU_SCRATCH);
    if (cpu->scratch == NULL) bf_fail(context, BF_E_MEMORY, "no scratch memory");
    return cpu->scratch;
}

void *bf_cpu_allocate(bf_context *context, size_t bytes) {
    void *made = bf_alloc_aligned(bytes);
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
