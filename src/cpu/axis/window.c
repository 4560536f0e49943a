#include "cpu/axis/window.h"

/* ---- sums ------------------------------------------------------------------------------------ */

static void need_sum(bf_axis_sum *sum, bf_dtype dtype, bool pairs) {
    sum->needed = true;
    sum->pairs = pairs;
    sum->input = (bf_sum_input)((dtype == BF_F32) + 2 * pairs);
}

bool bf_axis_sums_of(const bf_isa *isa, const bf_operands *operands,
                     bf_axis_sum sums[BF_AXIS_SUMS]) {
    bf_dtype dtype = operands->dtype;
    bf_kind kind = operands->kind;
    memset(sums, 0, BF_AXIS_SUMS * sizeof *sums);
    if (isa->axis == NULL || !bf_kind_is_sum(kind)) return false;
    if (dtype != BF_F32 && dtype != BF_F64) return false;
    if (kind == BF_KIND_SUM || kind == BF_KIND_MOMENTS)
        need_sum(&sums[BF_AXIS_ELEMENTS], dtype, false);
    if (kind != BF_KIND_SUM) need_sum(&sums[BF_AXIS_PRODUCTS], dtype, true);
    return true;
}

bool bf_axis_are_moments(const bf_axis_sum sums[BF_AXIS_SUMS]) {
    return sums[BF_AXIS_ELEMENTS].needed && sums[BF_AXIS_PRODUCTS].needed &&
           sums[BF_AXIS_ELEMENTS].input == BF_SUM_F32;
}

bool bf_axis_can_join(const bf_window_memory windows[BF_AXIS_SUMS]) {
    int levels = windows[BF_AXIS_ELEMENTS].levels, squares = windows[BF_AXIS_PRODUCTS].levels;
    return levels > 0 && levels <= BF_MOMENTS_LEVELS && squares > 0 &&
           squares <= BF_MOMENTS_SQUARES;
}

bf_window_memory *bf_axis_memory(bf_taker *taker, int sum) {
    return sum == BF_AXIS_ELEMENTS ? &taker->reducer.sum : &taker->reducer.products;
}

/* ---- results --------------------------------------------------------------------------------- */

bool bf_line_is_simple(const bf_axis_job *job, const bf_line_totals *t) {
    if (job->operands->kind != BF_KIND_MOMENTS) return t->n > 0;
    if (t->n <= job->results->options->ddof || t->n > INT32_MAX) return false;
    return bf_totals_can_spread(&t->of[BF_AXIS_ELEMENTS], &t->of[BF_AXIS_PRODUCTS]);
}

/* 2^exponent, of a normal double. */
static double power_of_two(int exponent) {
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A sum, or a mean, as a double: one rounding, for the rest is exact. False: it takes more care. */
static bool round_quickly(const bf_totals *t, int64_t n, bool mean, double *result) {
    const int64_t exact = (int64_t)1 << 53;
    int64_t high = t->at[0], low = t->levels == 2 ? t->at[t->pitch] : 0;
    int exponent = bf_totals_exponent(t);
    if (t->levels > 2 || exponent < -900 || exponent > 900) return false;
    bool fits = high >= -exact && high <= exact;
    if (t->levels == 2) {
        if (mean || !fits || low < -exact || low > exact) return false;
        *result = ((double)high * (double)((int64_t)1 << (BF_WINDOW_BITS + 1)) + (double)low) *
                  power_of_two(exponent);
    } else {
        if (mean && !fits) return false;
        *result = (mean ? (double)high / (double)n : (double)high) * power_of_two(exponent);
    }
    return *result != 0;
}

uint64_t bf_line_bits(const bf_axis_job *job, const bf_line_totals *t, bool *zero) {
    const bf_operands *o = job->operands;
    const bf_totals *elements = &t->of[BF_AXIS_ELEMENTS], *products = &t->of[BF_AXIS_PRODUCTS];
    bf_format f = bf_format_of(job->results->to);
    double quick;
    uint64_t bits;
    *zero = false;
    switch (o->kind) {
    case BF_KIND_SUM:
        if (job->results->to == BF_F64 && t->n < (int64_t)1 << 53 &&
            round_quickly(elements, t->n, o->op == BF_MEAN, &quick)) {
            memcpy(&bits, &quick, sizeof bits);
            return bits;
        }
        return bf_totals_round(elements, o->op == BF_MEAN ? (uint64_t)t->n : 1, false, f, zero);
    case BF_KIND_MOMENTS:
        return bf_totals_spread(elements, products, t->n, job->results->options->ddof,
                                o->op == BF_STD, f);
    default:
        bits = bf_totals_round(products, 1, o->op == BF_NORM, f, zero);
        *zero = *zero && o->kind == BF_KIND_DOT;
        return bits;
    }
}

static void add_totals(const bf_totals *t, bf_layout layout, int64_t *limbs) {
    for (int l = 0; l < t->levels; l++)
        bf_limbs_add_signed(limbs, bf_window_bottom(t->bottom, l) - layout.exponent,
                            t->at[l * t->pitch]);
}

void bf_line_add(const bf_axis_job *job, const bf_line_totals *t, bool every_negative,
                 int64_t *words) {
    const bf_operands *o = job->operands;
    bf_sum_shape shape = bf_sum_shape_of(o->kind, o->dtype);
    words[BF_SUM_COUNT] += t->n;
    if (every_negative) words[BF_SUM_NEG_ZERO] += t->n;
    if (shape.sum.limbs > 0) add_totals(&t->of[BF_AXIS_ELEMENTS], shape.sum, words + shape.sum_at);
    if (shape.products.limbs > 0)
        add_totals(&t->of[BF_AXIS_PRODUCTS], shape.products, words + shape.products_at);
    bf_sum_carry(o->kind, o->dtype, words);
}
