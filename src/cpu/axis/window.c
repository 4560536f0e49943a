#include "cpu/axis/window.h"

/* ---- sums ------------------------------------------------------------------------------------ */

static void need_sum(bf_axis_sum *sum, bf_dtype dtype, bool pairs, int a, int b) {
    sum->needed = true;
    sum->pairs = pairs;
    sum->of[0] = a;
    sum->of[1] = b;
    sum->input = (bf_sum_input)((dtype != BF_F64) + 2 * pairs);
}

/* There are sums of a b, or of a a, whose b is a. */
static void need_pairs(bf_axis_sum sums[BF_AXIS_SUMS], bf_dtype dtype) {
    need_sum(&sums[BF_PAIR_A], dtype, false, 0, 0);
    need_sum(&sums[BF_PAIR_AB], dtype, true, 0, 1);
    need_sum(&sums[BF_PAIR_AA], dtype, true, 0, 0);
    need_sum(&sums[BF_PAIR_B], dtype, false, 1, 1);
    need_sum(&sums[BF_PAIR_BB], dtype, true, 1, 1);
}

bool bf_axis_sums_of(const bf_isa *isa, const bf_operands *operands,
                     bf_axis_sum sums[BF_AXIS_SUMS]) {
    bf_dtype dtype = operands->dtype;
    bf_kind kind = operands->kind;
    for (int s = 0; s < BF_AXIS_SUMS; s++) {
        sums[s].needed = false;
        sums[s].window.levels = 0;
    }
    if (isa->axis == NULL || !bf_dtype_is_float(dtype)) return false;
    if (kind == BF_KIND_COMOMENTS) need_pairs(sums, dtype);
    if (kind == BF_KIND_SUM || kind == BF_KIND_MOMENTS)
        need_sum(&sums[BF_AXIS_ELEMENTS], dtype, false, 0, 0);
    if (kind == BF_KIND_SQUARES || kind == BF_KIND_MOMENTS || kind == BF_KIND_DOT)
        need_sum(&sums[BF_AXIS_PRODUCTS], dtype, true, 0, 1);
    return sums[BF_AXIS_ELEMENTS].needed || sums[BF_AXIS_PRODUCTS].needed;
}

bool bf_axis_are_moments(const bf_axis_sum sums[BF_AXIS_SUMS]) {
    return sums[BF_AXIS_ELEMENTS].needed && sums[BF_AXIS_PRODUCTS].needed &&
           sums[BF_AXIS_ELEMENTS].input == BF_SUM_F32 && !sums[BF_PAIR_B].needed;
}

bf_columns bf_axis_columns_of(const bf_axis_sum *sum, const bf_columns *x) {
    bf_columns of = *x;
    if (sum->of[0] == 1) {
        of.a = x->b;
        of.a_step = x->b_step;
        of.next = x->b + x->rows * x->b_step;
    }
    if (sum->of[1] == 0) {
        of.b = of.a;
        of.b_step = of.a_step;
    }
    return of;
}

bf_stretches bf_axis_stretches_of(const bf_axis_sum *sum, const bf_stretches *x) {
    bf_stretches of;
    of.n = x->n;
    memcpy(of.a, sum->of[0] == 1 ? x->b : x->a, (size_t)x->n * sizeof *x->a);
    memcpy(of.b, sum->of[1] == 1 ? x->b : x->a, (size_t)x->n * sizeof *x->a);
    memcpy(of.length, x->length, (size_t)x->n * sizeof *x->length);
    return of;
}

bool bf_axis_can_join(const bf_window_memory windows[BF_AXIS_TWO]) {
    int levels = windows[BF_AXIS_ELEMENTS].levels, squares = windows[BF_AXIS_PRODUCTS].levels;
    return levels > 0 && levels <= BF_MOMENTS_LEVELS && squares > 0 &&
           squares <= BF_MOMENTS_SQUARES;
}

bf_window_memory *bf_axis_memory(bf_taker *taker, int sum) {
    return sum == BF_AXIS_ELEMENTS   ? &taker->reducer.sum
           : sum == BF_AXIS_PRODUCTS ? &taker->reducer.products
                                     : &taker->reducer.joint[sum];
}

/* ---- results --------------------------------------------------------------------------------- */

bool bf_line_is_simple(const bf_axis_job *job, const bf_line_totals *t) {
    if (job->operands->kind == BF_KIND_COMOMENTS) return false;
    if (job->operands->kind != BF_KIND_MOMENTS) return t->n > 0;
    if (t->n <= job->results->options->ddof || t->n > INT32_MAX) return false;
    return bf_totals_can_spread(&t->of[BF_AXIS_ELEMENTS], &t->of[BF_AXIS_PRODUCTS]);
}

void bf_totals_of_line(const bf_many_totals *x, int64_t line, bf_line_totals *to) {
    to->n = x->length[line * x->step];
    for (int s = 0; s < BF_AXIS_SUMS && x->totals[s] != NULL; s++)
        to->of[s] = (bf_totals){x->totals[s] + line, x->pitch, x->sums[s].window.levels,
                                x->sums[s].window.bottom};
}

/* Do the loops round such totals? */
static bool can_round(const bf_totals *t) {
    return bf_totals_exponent(t) >= -BF_ROUND_EXPONENT && t->bottom <= BF_ROUND_EXPONENT;
}

static void set_lengths(const bf_many_totals *x, int64_t first, int n, double *lengths) {
    for (int i = 0; i < BF_STRETCHES; i++)
        lengths[i] = i < n ? (double)x->length[(first + i) * x->step] : 1;
}

/* round_lines for pairs. */
static bool round_pairs(const bf_axis_job *job, const bf_axis_loops *loops, const bf_many_totals *x,
                        int64_t first, int n, double *to) {
    bf_line_totals t;
    bf_totals_of_line(x, first, &t);
    const bf_reduce_options *options = job->results->options;
    double lengths[BF_STRETCHES];
    if (options->scale != 0) return false;
    for (int s = 0; s < BF_PAIR_SUMS; s++)
        if (!can_round(&t.of[s])) return false;
    set_lengths(x, first, n, lengths);
    loops->pairs(job->operands->op, t.of, lengths, job->operands->op == BF_COV ? options->ddof : 0,
                 n, to);
    return true;
}

/* Sets to[i] to the result of line first + i; to a NaN where that takes more care. False: it does
 * of all. */
static bool round_lines(const bf_axis_job *job, const bf_axis_loops *loops, const bf_many_totals *x,
                        int64_t first, int n, double *to) {
    const bf_operands *o = job->operands;
    bf_line_totals t;
    bf_totals_of_line(x, first, &t);
    const bf_totals *elements = &t.of[BF_AXIS_ELEMENTS], *products = &t.of[BF_AXIS_PRODUCTS];
    const bf_totals *sum = o->kind == BF_KIND_SUM ? elements : products;
    bool moments = o->kind == BF_KIND_MOMENTS, root = bf_is_root(o->op);
    bool lengths = moments || bf_is_mean(o->op);
    double divisors[BF_STRETCHES];
    const int filled = (n + BF_FILL - 1) / BF_FILL * BF_FILL;
    if (o->kind == BF_KIND_COMOMENTS) return round_pairs(job, loops, x, first, n, to);
    if (!can_round(sum) || (moments && !can_round(elements))) return false;
    for (int i = 0; (lengths || root) && i < filled; i++)
        divisors[i] = lengths && i < n ? (double)x->length[(first + i) * x->step] : 1;
    if (moments)
        loops->spread(elements, products, divisors, job->results->options->ddof, n, root, to);
    else
        loops->round(sum, lengths || root ? divisors : NULL, n, root, to);
    return true;
}

uint64_t bf_write_lines(const bf_axis_job *job, const bf_axis_loops *loops, const bf_many_totals *x,
                        int64_t first, int n, int64_t number, int64_t step) {
    const bf_results *r = job->results;
    double to[BF_STRETCHES], *values = r->values;
    uint64_t left = 0;
    if (r->to != BF_F64 || !round_lines(job, loops, x, first, n, to))
        return ~(uint64_t)0 >> (BF_STRETCHES - n);
    for (int i = 0; i < n; i++) left |= (uint64_t)(to[i] != to[i]) << i;
    if (step == 1)
        memcpy(values + number, to, (size_t)n * sizeof *to);
    else
        for (int i = 0; i < n; i++) values[number + i * step] = to[i];
    for (int i = 0; r->fits != NULL && i < n; i++) r->fits[number + i * step] = true;
    return left;
}

uint64_t bf_line_bits(const bf_axis_job *job, const bf_line_totals *t, bool *zero) {
    const bf_operands *o = job->operands;
    const bf_totals *elements = &t->of[BF_AXIS_ELEMENTS], *products = &t->of[BF_AXIS_PRODUCTS];
    bf_format f = bf_format_of(job->results->to);
    const bool root = bf_is_root(o->op);
    *zero = false;
    if (o->kind == BF_KIND_MOMENTS)
        return bf_totals_spread(elements, products, t->n, job->results->options->ddof, root, f);
    const uint64_t bits = bf_totals_round(o->kind == BF_KIND_SUM ? elements : products,
                                          bf_is_mean(o->op) ? (uint64_t)t->n : 1, root, f, zero);
    *zero = *zero && o->kind != BF_KIND_SQUARES;
    return bits;
}

bool bf_line_is_negative_zero(const bf_axis_job *job, const char *a, const char *b, int64_t n) {
    bf_format f = bf_format_of(job->operands->dtype);
    const int bytes = bf_dtype_bytes(job->operands->dtype);
    bool dot = job->operands->kind == BF_KIND_DOT;
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = bf_load_bits(a + i * bytes, bytes);
        uint64_t y = dot ? bf_load_bits(b + i * bytes, bytes) : 0;
        if (!(dot ? bf_sum_neg_zero_pair(f, x, y) : bf_sum_neg_zero(f, x))) return false;
    }
    return true;
}

static void add_totals(const bf_totals *t, bf_layout layout, int64_t *limbs) {
    for (int l = 0; l < t->levels; l++)
        bf_limbs_add_signed(limbs, bf_window_bottom(t->bottom, l) - layout.exponent,
                            t->at[l * t->pitch]);
}

void bf_line_add(const bf_axis_job *job, const bf_line_totals *t, bool every_negative,
                 int64_t *words) {
    /* the sums of each part: of a and of squares, or of pairs */
    static const int of_one[] = {BF_AXIS_ELEMENTS, BF_AXIS_PRODUCTS};
    static const int of_pairs[] = {BF_PAIR_A, BF_PAIR_B, BF_PAIR_AA, BF_PAIR_AB, BF_PAIR_BB};
    const bf_operands *o = job->operands;
    const bf_parts parts = bf_parts_of(o->kind, o->dtype);
    const int *of = o->kind == BF_KIND_COMOMENTS ? of_pairs : of_one;
    words[BF_SUM_COUNT] += t->n;
    if (every_negative) words[BF_SUM_NEG_ZERO] += t->n;
    if (bf_kind_is_products(o->kind)) of++;
    for (int p = 0; p < parts.count; p++)
        add_totals(&t->of[of[p]], parts.part[p].layout, words + parts.part[p].at);
    bf_sum_carry(o->kind, o->dtype, words);
}
