/* Element-wise operations on the CPU. */
#ifndef BF_CPU_MAP_MAP_H
#define BF_CPU_MAP_MAP_H

#include "cpu/runtime/cast.h"
#include "cpu/runtime/context.h"
#include "seam/map.h"

/* --- the loops of an instruction set --- */

enum { BF_MAP_OPS = BF_MAP_CAST };

/* out[i] = op(a[i], b[i], c[i]), for inputs of one dtype; comparisons give bytes 0 and 1. out may
 * be an input, but must not overlap one otherwise. True if an integer did not fit: it has wrapped.
 */
typedef bool (*bf_map_loop)(const void *a, const void *b, const void *c, void *out, size_t n);

typedef struct bf_map_loops {
    bf_map_loop op[BF_MAP_OPS][BF_DTYPES];
    bf_map_loop streamed[BF_MAP_OPS][BF_DTYPES]; /* stores past the caches */
    /* f64 inputs that hold f16 or bf16 numbers; the f64 result is rounded to odd, so that rounding
     * it again to the half format gives the exact value rounded once. */
    bf_map_loop fma_half;
    /* Copies past the caches; meanwhile fetches as many bytes from each of `ahead`, for the next
     * block: any addresses will do. */
    void (*stream)(void *to, const void *from, size_t bytes, const char *const ahead[3]);
} bf_map_loops;

/* Output of so many bytes is stored past the caches, where it would not stay anyway. */
enum { BF_MAP_STREAM_BYTES = 1 << 24 };

/* --- block.c: one thread, one block --- */

/* A worker's room: what it needs for one job. */
typedef struct bf_map_worker {
    const bf_map_job *job; /* NULL: not prepared yet */
    const bf_isa *isa;
    bf_map_loop loop; /* NULL: by the rules */
    bf_dtype compute; /* what the loop takes: job->work, or wider for half floats */
    bf_dtype result;  /* what it makes */
    bool aside;       /* results are computed beside the output */
    bool stream;      /* they are copied to it past the caches */
    uint64_t in[3][BF_CAST_BLOCK], out[BF_CAST_BLOCK];
    uint64_t cast[BF_CAST_BLOCK]; /* results, before they are copied past the caches */
} bf_map_worker;

void bf_map_prepare(bf_map_worker *worker, const bf_map_job *job, const bf_isa *isa, bool stream);

/* Elements [first, first + n), n at most bf_map_room(worker). Returns the place of the first that
 * is an error under the job's policy, or -1. */
int64_t bf_map_block(bf_map_worker *worker, int64_t first, int64_t n);
int64_t bf_map_room(const bf_map_worker *worker);

/* --- map.c: the backend's function --- */

bf_status bf_cpu_map(bf_context *context, const bf_map_job *job);

#endif
