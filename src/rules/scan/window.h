/* What the result of a rolling window is: that of a state which its elements have entered. */
#ifndef BF_RULES_SCAN_WINDOW_H
#define BF_RULES_SCAN_WINDOW_H

#include "rules/reduce/band.h"
#include "rules/reduce/totals.h"

/* What is made of each window. */
typedef struct bf_window {
    bf_reduction op; /* bf_window_op */
    bf_kind kind;    /* the kind of op */
    bool counts;     /* op says nothing: elements that are no NaN are counted */
    bf_dtype dtype, to;
    bf_reduce_options options; /* nan, ddof and, but for counts, scale; others are the defaults */
    int64_t least;             /* the fewest that a result is made of, >= 0; else it is NaN */
} bf_window;

/* Is a window reduced by it? Weights have none. */
BF_RULE bool bf_window_op(bf_reduction op) {
    const bf_kind kind = bf_kind_of(op, BF_F64);
    return op == BF_SUM || op == BF_MEAN || op == BF_VAR || op == BF_STD || op == BF_MIN ||
           op == BF_MAX || kind == BF_KIND_POWERS || kind == BF_KIND_COMOMENTS;
}

/* The dtype of results. BF_NONE: there are none of this out_dtype (BF_NONE: not asked for). */
BF_RULE bf_dtype bf_window_dtype(const bf_window *w, bf_dtype out_dtype) {
    bool keeps = w->kind == BF_KIND_EXTREME && bf_dtype_is_float(w->dtype);
    if (bf_number_bytes(w->dtype) == 0) return BF_NONE;
    if (out_dtype == BF_NONE) return keeps && !w->counts ? w->dtype : BF_F64;
    return keeps || w->counts || !bf_dtype_is_float(out_dtype) ? BF_NONE : out_dtype;
}

BF_RULE uint64_t bf_window_integer(const bf_window *w, bf_i128 x) {
    bf_u128 magnitude = x < 0 ? 0 - (bf_u128)x : (bf_u128)x;
    bf_exact_float exact = bf_exact_make(x < 0, magnitude, 0);
    return bf_exact_unscale(bf_format_of(w->to), exact, w->options.scale);
}

/* The result, if the counts tell it: those of a state's words (BF_SUM_COUNT, BF_SUM_NAN). */
BF_RULE bool bf_window_told(const bf_window *w, const int64_t *counts, uint64_t *bits) {
    int64_t rows = counts[BF_SUM_COUNT], there = bf_finish_count(counts);
    bool few = (w->counts ? rows : there) < w->least;
    bool nan = there < rows && w->options.nan != BF_NAN_SKIP;
    bool none = there == 0 && w->kind == BF_KIND_EXTREME;
    bool empty = few || ((nan || none) && !w->counts);
    *bits = empty       ? bf_format_nan(bf_format_of(w->to))
            : w->counts ? bf_window_integer(w, there)
                        : 0;
    return empty || w->counts;
}

/* The result of what has entered exact sums. */
BF_RULE uint64_t bf_window_sum(const bf_window *w, const bf_band_sums *g, bf_work *work) {
    return bf_band_bits(w->op, g, &w->options, bf_format_of(w->to), work);
}

/* The result that is an element with these bits, not of BF_I128. */
BF_RULE uint64_t bf_window_element(const bf_window *w, uint64_t bits) {
    if (bf_dtype_is_float(w->dtype)) return bits;
    return bf_window_integer(w, bf_integer_decode(w->dtype, bits));
}

#endif
