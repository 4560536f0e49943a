/* Functions of the C library, of doubles. They may differ between C libraries. */
#include "cpu/expression/expression.h"

#include "base/double.h"

#include <math.h>

/* There is one NaN. */
static void store(double x, char *to) {
    bf_store_bits(to, 8, x != x ? bf_format_nan(bf_format_f64()) : bf_bits_of_double(x));
}

static double (*const of_one[])(double) = {
    [BF_EXPRESSION_LOG - BF_EXPRESSION_LOG] = log,
    [BF_EXPRESSION_LOG2 - BF_EXPRESSION_LOG] = log2,
    [BF_EXPRESSION_LOG10 - BF_EXPRESSION_LOG] = log10,
    [BF_EXPRESSION_EXP - BF_EXPRESSION_LOG] = exp,
};

static void compute(int op, const char *x, const char *y, char *to, int64_t n) {
    if (op == BF_EXPRESSION_POW)
        for (int64_t i = 0; i < n; i++)
            store(pow(bf_double_of_bits(bf_load_bits(x + 8 * i, 8)),
                      bf_double_of_bits(bf_load_bits(y + 8 * i, 8))),
                  to + 8 * i);
    else
        for (int64_t i = 0; i < n; i++)
            store(of_one[op - BF_EXPRESSION_LOG](bf_double_of_bits(bf_load_bits(x + 8 * i, 8))),
                  to + 8 * i);
}

int64_t bf_expression_ask_library(const bf_isa *isa, const bf_expression_step *s,
                                  const void *const in[3], void *out, int64_t n,
                                  bf_expression_room *room) {
    for (int k = 0; k < s->arity; k++) {
        bf_cast_block(isa, s->from[k], s->work, in[k], room->out, n);
        bf_cast_block(isa, s->work, BF_F64, room->out, room->in[k], n);
    }
    compute(s->op, (const char *)room->in[0], (const char *)room->in[1], (char *)room->out, n);
    bf_cast_block(isa, BF_F64, s->to, room->out, out, n);
    return -1;
}
