/* The expressions of bench. The data are named by their text: "a*b" is the sum of the products of
 * two vectors, "c=a*b" writes the products to a third. */
#include "bench/bench.h"

#include <string.h>

bool bench_is_expression(const char *work) { return strcmp(work, "expression") == 0; }

bool bench_is_written(const bench_point *point) {
    return bench_is_expression(point->work) && strncmp(point->data, "c=", 2) == 0;
}

const char *bench_distribution(const char *work, const char *data) {
    return bench_is_expression(work) ? "normal" : data;
}

bf_status bench_expression_open(const bench_point *point, bf_expression **e, bf_state **state) {
    static const char *const names[] = {"a", "b"};
    const bf_dtype dtype = bf_dtype_from_name(point->dtype), dtypes[] = {dtype, dtype};
    const char *text = point->data + (bench_is_written(point) ? 2 : 0);
    const bf_status st = bf_expression_parse(point->context, text, names, dtypes, 2, NULL, NULL, e);
    if (st != BF_OK || bench_is_written(point)) return st;
    return bf_state_create(point->context, BF_SUM, dtype, state);
}

bf_status bench_expression_pass(bf_expression *e, bf_state *state, const bf_array vectors[3]) {
    const bf_array *columns[] = {&vectors[0], &vectors[1]};
    bf_value value;
    if (!state) return bf_expression_eval(e, columns, &vectors[2]);
    bf_status st = bf_state_clear(state);
    if (st == BF_OK) st = bf_state_absorb_expression(state, e, columns);
    return st == BF_OK ? bf_state_result(state, NULL, &value) : st;
}
