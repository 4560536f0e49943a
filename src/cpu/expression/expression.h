/* Expressions on the CPU: steps on tiles that stay in the nearest caches. */
#ifndef BF_CPU_EXPRESSION_EXPRESSION_H
#define BF_CPU_EXPRESSION_EXPRESSION_H

#include "cpu/map/map.h"
#include "seam/expression.h"

enum { BF_TILE = BF_CAST_BLOCK }; /* elements that a step takes at a time */

/* --- the loops of an instruction set; a NULL one: the rules, element by element --- */

/* As bf_map_loop. True: some element needs the rules. */
typedef struct bf_expression_loops {
    bf_map_loop floor[BF_DTYPES], ceil[BF_DTYPES], mod[BF_DTYPES];
    /* out[i] = a[i] ? b[i] : c[i], by the bytes of an element; a is of bools. */
    bf_map_loop select[9];
} bf_expression_loops;

/* --- operation.c: the operations that map lacks --- */

/* Room for inputs and results in another dtype. */
typedef struct bf_expression_room {
    uint64_t in[3][BF_TILE], out[BF_TILE];
} bf_expression_room;

/* Computes n elements of the step, at most BF_TILE. Returns the place of the first divisor that is
 * 0 and must not be, or -1. */
int64_t bf_expression_operate(const bf_isa *isa, const bf_expression_step *step,
                              const void *const in[3], void *out, int64_t n,
                              bf_expression_room *room);

/* --- tile.c: one thread, one tile --- */

typedef struct bf_tiles bf_tiles;

/* Bytes of a worker's tiles for a job. */
size_t bf_tiles_bytes(const bf_expression_job *job);

/* Prepares them; the first 8 bytes become other than 0. */
void bf_tiles_prepare(bf_tiles *tiles, const bf_expression_job *job, const bf_isa *isa);

/* Computes elements [first, first + n), n at most BF_TILE; to: the output if it is contiguous.
 * Returns the place of the first that fails, and sets *step to the first step that fails there;
 * -1: none does. */
int64_t bf_tiles_compute(bf_tiles *tiles, int64_t first, int64_t n, void *to,
                         const bf_expression_step **step);

/* --- expression.c: the backend's functions --- */

extern const bf_expression_backend bf_cpu_expression_backend;

#endif
