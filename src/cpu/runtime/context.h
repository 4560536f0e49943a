/* The CPU backend's parts. */
#ifndef BF_CPU_RUNTIME_CONTEXT_H
#define BF_CPU_RUNTIME_CONTEXT_H

#include "cpu/runtime/isa.h"
#include "seam/backend.h"
#include "seam/environment.h"
#include "seam/histogram.h"
#include "seam/host.h"
#include "seam/julia.h"
#include "seam/memory.h"
#include "seam/reduce.h"

/* --- features.c: what this machine has --- */

/* The instruction sets of this build, slowest first; NULL past the last. */
const bf_isa *bf_cpu_isa(int i);
/* By name; NULL for "auto" is the fastest available, for another name that there is none. */
const bf_isa *bf_cpu_isa_find(const char *name);

/* --- pool.c: the pool --- */

/* Bytes between what different threads write all the time: a pair of cache lines, which some
 * machines fetch together. */
enum { BF_CPU_LINE = 64, BF_CPU_APART = 2 * BF_CPU_LINE };

typedef struct bf_pool bf_pool;

/* A pool that runs on `threads` threads, the caller's among them. Starts none yet. NULL: no memory.
 */
bf_pool *bf_pool_create(int threads);
void bf_pool_destroy(bf_pool *pool);
int bf_pool_threads(const bf_pool *pool);

/* Calls work(arg, worker) on up to `threads` threads at once, the caller's (worker 0) among them.
 * It must take pieces until none is left. Returns when every call has returned; the system may
 * start fewer threads than asked. */
void bf_pool_run(bf_pool *pool, int threads, void (*work)(void *arg, int worker), void *arg);

/* A context's part of the backend. */
typedef struct bf_cpu {
    const bf_isa *isa;
    bf_pool *pool;
    void *scratch;               /* of BF_CPU_SCRATCH bytes, made when needed */
    char *rooms;                 /* bf_cpu_rooms */
    struct bf_julia_room *julia; /* one for each thread, made when needed */
} bf_cpu;

/* --- memory of threads, which no call takes from the caller's stack --- */

enum { BF_CPU_ROOM = 1 << 16 };
/* A room of so many bytes for each thread of the pool, aligned to BF_CPU_LINE, made when first
 * needed. NULL: no memory, with a message. */
char *bf_cpu_rooms(bf_context *context);

/* --- cpu/reduce/sum.c, extreme.c, cpu/reduce/product.c: one thread takes a piece of a job into
 * words --- */

/* What a thread remembers between pieces: the window that fitted last. */
typedef struct bf_window_memory {
    int bottom, levels; /* levels 0: none yet */
    int credit;         /* falls with each misfit, rises with each fit */
} bf_window_memory;

typedef struct bf_worker {
    const bf_isa *isa;
    bf_window_memory sum, products;
} bf_worker;

/* Takes elements [first, first + n) of an exact job; words are carried before and after. */
void bf_exact_absorb(bf_worker *worker, const bf_job *job, int64_t first, int64_t n,
                     int64_t *words);
/* The same for BF_KIND_EXTREME. */
void bf_extreme_absorb(bf_worker *worker, const bf_job *job, int64_t first, int64_t n,
                       int64_t *words);

/* The same for BF_KIND_FACTORS. */
void bf_factors_absorb(const bf_job *job, int64_t first, int64_t n, int64_t *words);

/* --- reduce.c: the backend's function, which shares a job out --- */

bf_status bf_cpu_reduce(bf_context *context, const bf_job *job, int64_t *words);

/* --- histogram.c: the backend's function --- */

bf_status bf_cpu_histogram(bf_context *context, const bf_bin_job *job, int64_t *counts,
                           int64_t *sums);

/* --- julia.c: the backend's function --- */

bf_status bf_cpu_julia(bf_context *context, const bf_julia_job *job);

/* --- strided.c: the backend's functions for memory --- */

enum { BF_CPU_SCRATCH = 1 << 20 }; /* pieces stay in cache until the loops read them */

bf_status bf_cpu_gather(bf_context *context, const bf_strided *from, int64_t first, int64_t count,
                        void *to);
bf_status bf_cpu_scatter(bf_context *context, const bf_strided *to, int64_t first, int64_t count,
                         const void *from);
void *bf_cpu_scratch(bf_context *context);
void *bf_cpu_allocate(bf_context *context, size_t bytes);
void bf_cpu_release(bf_context *context, void *memory);
bf_status bf_cpu_copy(bf_context *context, void *to, const void *from, size_t bytes);

/* --- cpu/reduce/product_tree.c: products of floats, which are ordered --- */

/* Takes the whole job into words of BF_KIND_TREE, on `threads` threads. Errors: BF_E_MEMORY, and
 * then words are as they were. */
bf_status bf_tree_absorb(bf_context *context, int threads, const bf_job *job, int64_t *words);

/* --- widen.c --- */

/* n elements of f16 or bf16 as f32. */
void bf_widen_halves(const bf_isa *isa, bf_dtype dtype, const char *from, float *to, size_t n);

#endif
