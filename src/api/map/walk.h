/* An element-wise operation on arrays of any strides, as jobs on contiguous memory. */
#ifndef BF_API_MAP_WALK_H
#define BF_API_MAP_WALK_H

#include "seam/backend.h"
#include "seam/map.h"
#include <bitfold/array.h>

/* The output (operand 0) and up to three inputs, all of one shape. An input's stride is 0 in a
 * dimension where one element stands for all. */
enum { BF_MAP_OPERANDS = 4 };
typedef struct bf_map_arrays {
    int arity; /* number of inputs */
    int ndim;
    int64_t index; /* index of the first element */
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[BF_MAP_OPERANDS][BF_MAX_DIMS]; /* in elements */
    char *data[BF_MAP_OPERANDS];
    int bytes[BF_MAP_OPERANDS]; /* the size of an element */
} bf_map_arrays;

/* Runs `job` on the arrays, and sets its memory, count and index. any_order: the job cannot fail,
 * so indices do not matter and elements may be taken in the order of memory. Errors: those of
 * map->run, BF_E_MEMORY. */
bf_status bf_map_walk(bf_context *context, bf_map_arrays *arrays, bool any_order, bf_map_job *job);

/* May two elements of the output share memory, as far as its strides tell? */
bool bf_map_output_overlaps(const bf_map_arrays *arrays);

/* Does input k share memory with the output without being equal to it element by element? */
bool bf_map_input_overlaps(const bf_map_arrays *arrays, int k);

#endif
