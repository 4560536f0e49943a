/* Element-wise operations on the CPU. */
#ifndef BF_CPU_MAP_MAP_H
#define BF_CPU_MAP_MAP_H

#include "cpu/runtime/context.h"
#include "seam/map.h"

/* The backend's function: threads, pieces, the first failure. */
bf_status bf_cpu_map(bf_context *context, const bf_map_job *job);

/* Elements that are worked on at a time: what lies between the steps stays in the first-level
 * cache. */
enum { BF_MAP_BLOCK = 1024 };

/* --- block.c: one thread, one block --- */

/* What a thread needs for one job. */
typedef struct bf_map_worker {
    const bf_map_job *job;
    const bf_map_table *table; /* NULL: by the rules */
    bf_map_loop loop;          /* NULL: by the rules */
    bf_dtype compute;          /* what the loop takes: job->work, or wider for half floats */
    bf_dtype result;           /* what it gives */
    bool aside;                /* results are put together beside the output */
    bool stream;               /* and copied to it past the caches */
    uint64_t in[3][BF_MAP_BLOCK], out[BF_MAP_BLOCK];
    uint64_t cast[BF_MAP_BLOCK]; /* results, before they are copied past the caches */
} bf_map_worker;

_Static_assert(sizeof(bf_map_worker) <= BF_CPU_ROOM, "a worker stands in its thread's room");

void bf_map_prepare(bf_map_worker *worker, const bf_map_job *job, const bf_map_table *table,
                    bool stream);

/* Elements [first, first + n), n at most bf_map_room(worker). Returns the place of the first that
 * is an error under the job's policy, or -1. */
int64_t bf_map_block(bf_map_worker *worker, int64_t first, int64_t n);
int64_t bf_map_room(const bf_map_worker *worker);

/* --- cpu/runtime/cast.c --- */

/* Casts n elements, at most BF_MAP_BLOCK; `to` may be `from` if the sizes are equal. True if one
 * did not fit: it has wrapped, of a float become 0. */
bool bf_map_convert(const bf_map_table *table, bf_dtype from, bf_dtype to, const void *in,
                    void *out, int64_t n);

#endif
