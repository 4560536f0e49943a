/* The loops of many results at once, and their table, for the instruction set that includes this
 * after cpu/reduce/sum_loops.h. */
#include "cpu/axis/sum_loops.h"

enum { ROWS_AT_ONCE = 4 };

#define TEMPLATE "cpu/axis/integer_loops.h"
#include "cpu/runtime/each_integer.h"

static const bf_axis_loops axis_loops = {
    .columns = {columns_f64, columns_f32, columns_f64_pairs, columns_f32_pairs,
                columns_f32_moments},
    .fibres = {fibres_f64, fibres_f32, fibres_f64_pairs, fibres_f32_pairs, fibres_f32_moments},
    .round = round_totals,
    .spread = round_spreads,
    .pairs = round_pairs,
    .sums = {INTEGER_ENTRIES(column_sums_)},
    .extremes = {INTEGER_ENTRIES(integer_extremes_), [BF_F16] = float_extremes_i16,
                 [BF_BF16] = float_extremes_i16, [BF_F32] = float_extremes_i32,
                 [BF_F64] = float_extremes_i64},
};
