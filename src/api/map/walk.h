/* An element-wise operation on arrays of any strides, as jobs on contiguous memory. */
#ifndef BF_API_MAP_WALK_H
#define BF_API_MAP_WALK_H

#include "seam/backend.h"
#include "seam/map.h"
#include <bitfold/array.h>

/* The output (operand 0) and up to three inputs, of one shape: an input's stride is 0 where its one
 * element stands for many. */
enum { BF_MAP_OPERANDS = 4 };
typedef struct bf_map_arrays {
    int arity; /* inputs */
    int ndim;
    int64_t index; /* of the first element */
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[BF_MAP_OPERANDS][BF_MAX_DIMS]; /* in elements */
    char *data[BF_MAP_OPERANDS];
    int bytes[BF_MAP_OPERANDS]; /* of an element */
} bf_map_arrays;

/* Does `job`; fills in its memory, count and index. any_order: the job cannot fail, so indices do
 * not matter and elements may be taken as they lie in memory. Errors: those of map->run,
 * BF_E_MEMORY. */
bf_status bf_map_walk(bf_context *context, bf_map_arrays *arrays, bool any_order, bf_map_job *job);

/* Whether two elements of the output share memory, as far as its strides tell. */
bool bf_map_output_overlaps(const bf_map_arrays *arrays);

/* Whether input k shares memory with the output, other than by being the same element by element.
 */
bool bf_map_input_overlaps(const bf_map_arrays *arrays, int k);

#endif
