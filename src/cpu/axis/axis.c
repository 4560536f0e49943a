/* The CPU backend's table for reductions of many at once. */
#include "cpu/axis/axis.h"

static bf_status reduce_rows(bf_context *context, const bf_operands *operands, const bf_rows *rows,
                             const bf_results *results) {
    if (rows->by == BF_ROWS_BY_INDEX) return bf_cpu_reduce_index(context, operands, rows, results);
    return bf_cpu_reduce_segments(context, operands, rows, results);
}

const bf_axis_backend bf_cpu_axis_backend = {
    .reduce_fibres = bf_cpu_reduce_fibres,
    .reduce_rows = reduce_rows,
    .find_runs = bf_cpu_find_runs,
    .create = bf_cpu_states_create,
    .destroy = bf_cpu_states_destroy,
    .clear = bf_cpu_states_clear,
    .absorb = bf_cpu_states_absorb,
    .merge = bf_cpu_states_merge,
    .result = bf_cpu_states_result,
    .counts = bf_cpu_states_counts,
    .words = bf_cpu_states_words,
    .add_words = bf_cpu_states_add_words,
    .append = bf_cpu_states_append,
    .seek = bf_cpu_states_seek,
    .part = bf_cpu_states_part,
};
