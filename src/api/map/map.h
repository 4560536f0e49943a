/* The inside of element-wise operations. */
#ifndef BF_API_MAP_MAP_H
#define BF_API_MAP_MAP_H

#include <bitfold/map.h>

/* Finds the dtype in which op computes on inputs of these dtypes, of which the weak are plain
 * numbers (bf_map_result_dtype). On failure *why is the reason. Errors: BF_E_DTYPE. */
bf_status bf_map_find_work(bf_map_op op, const bf_dtype *inputs, int count, unsigned weak,
                           bf_dtype *work, const char **why);

/* Returns the share (api/runtime/place.h) of an operation. */
int bf_map_share(bf_map_op op);

#endif
