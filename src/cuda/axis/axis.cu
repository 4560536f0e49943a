/* Reductions of many at once: the backend's table. */
#include "cuda/axis/axis.cuh"
#include "cuda/axis/index/index.cuh"

static bf_status reduce_rows(bf_context *context, const bf_operands *operands, const bf_rows *rows,
                             const bf_results *results) {
    if (rows->by == BF_ROWS_BY_INDEX) return bf_cuda_reduce_index(context, operands, rows, results);
    return bf_cuda_reduce_segments(context, operands, rows, results);
}

extern const bf_axis_backend bf_cuda_axis_backend = {
    .reduce_fibres = bf_cuda_reduce_fibres,
    .reduce_rows = reduce_rows,
    .find_runs = bf_cuda_find_runs,
    .create = bf_cuda_states_create,
    .destroy = bf_cuda_states_destroy,
    .clear = bf_cuda_states_clear,
    .absorb = bf_cuda_states_absorb,
    .merge = bf_cuda_states_merge,
    .result = bf_cuda_states_result,
    .counts = bf_cuda_states_counts,
    .words = bf_cuda_states_words,
    .add_words = bf_cuda_states_add_words,
    .reach = bf_cuda_states_reach,
    .widen = bf_cuda_states_widen,
    .arrays = bf_cuda_states_arrays,
};
