/* The CPU backend's part of a context, and the functions that every primitive shares. */
#ifndef BF_CPU_RUNTIME_CONTEXT_H
#define BF_CPU_RUNTIME_CONTEXT_H

#include "base/environment.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "cpu/runtime/isa.h"
#include "seam/backend.h"
#include "seam/memory.h"

/* --- features.c: this machine's instruction sets --- */

/* The instruction sets of this build, slowest first; NULL past the last. */
const bf_isa *bf_cpu_isa(int i);
/* Returns the instruction set of this name; of NULL or "auto", the fastest available. NULL: none
 * has the name. */
const bf_isa *bf_cpu_isa_find(const char *name);

/* --- the context's part --- */

typedef struct bf_cpu {
    const bf_isa *isa;
    void *scratch; /* it has BF_CPU_SCRATCH bytes; NULL: not made yet */
    char *rooms;   /* one for each thread; NULL: none yet */
    size_t room_bytes;
} bf_cpu;

/* --- memory.c --- */

enum {
    BF_CPU_LINE = 64,               /* bytes of a cache line */
    BF_CPU_APART = 2 * BF_CPU_LINE, /* between what different threads write all the time: some
                                       machines fetch pairs of lines */
    BF_CPU_SCRATCH = 1 << 20        /* pieces stay in the cache until the loops read them */
};

/* Opens a room of at least so many bytes for each of a loop's workers, for what is theirs alone.
 * The first 8 bytes of each are 0, so that a worker sees that it comes for the first time; the rest
 * is undefined. false: no memory, with a message. */
bool bf_rooms_open(bf_context *context, int workers, size_t bytes);

/* A worker's room, aligned to BF_CPU_APART. */
static inline void *bf_room(const bf_context *context, int worker) {
    return context->cpu->rooms + (size_t)worker * context->cpu->room_bytes;
}

void *bf_cpu_scratch(bf_context *context, const void *near);
void *bf_cpu_allocate(bf_context *context, size_t bytes);
void bf_cpu_release(bf_context *context, void *memory);
bf_status bf_cpu_copy(bf_context *context, void *to, const void *from, size_t bytes);

/* --- strided.c --- */

bf_status bf_cpu_gather(bf_context *context, const bf_strided *from, int64_t first, int64_t count,
                        void *to);
bf_status bf_cpu_scatter(bf_context *context, const bf_strided *to, int64_t first, int64_t count,
                         const void *from);

/* --- widen.c --- */

/* Converts n elements of f16 or bf16 to f32. */
void bf_widen_halves(const bf_isa *isa, bf_dtype dtype, const char *from, float *to, size_t n);

#endif
