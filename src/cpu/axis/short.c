/* Short arrays: the result of one at once, without a state that is made, carried and read. Sums of
 * floats are rounded from the totals of a window, as those of lines are; of all else the words are
 * few. */
#include "cpu/axis/window.h"

enum { SAMPLE = 256 }; /* elements that the first window is chosen by */

typedef struct short_sums {
    bf_axis_sum of[BF_AXIS_SUMS];
    int64_t totals[BF_AXIS_SUMS][BF_LEVELS_MAX][BF_FILL];
} short_sums;

static bf_sum_loop sum_loop(const bf_isa *isa, bf_sum_input in) {
    return in == BF_SUM_F64 ? isa->reduce->sum_f64 : isa->reduce->sum_f32;
}

static bf_dot_loop dot_loop(const bf_isa *isa, bf_sum_input in) {
    return in == BF_SUM_F64_PAIRS ? isa->reduce->dot_f64 : isa->reduce->dot_f32;
}

/* Adds up the terms in this window. */
static bool sum_in_window(const bf_isa *isa, const bf_job *job, const bf_axis_sum *sum,
                          int64_t filled[][BF_FILL]) {
    const size_t n = (size_t)job->count;
    const int bottom = sum->window.bottom, levels = sum->window.levels;
    const void *b = job->b != NULL ? job->b : job->a;
    int64_t totals[BF_LEVELS_MAX];
    if (!(sum->pairs ? dot_loop(isa, sum->input)(job->a, b, n, bottom, levels, totals, NULL)
                     : sum_loop(isa, sum->input)(job->a, n, bottom, levels, totals, NULL)))
        return false;
    memset(filled, 0, (size_t)levels * sizeof *filled);
    for (int l = 0; l < levels; l++) filled[l][0] = totals[l];
    return true;
}

/* Adds up all that is needed, in windows for a sample of the elements. Squares span twice what they
 * do. */
static bool sum_by_sample(const bf_isa *isa, const bf_job *job, size_t sample, short_sums *sums) {
    bf_extent at;
    if (!bf_window_measure(isa, job->dtype, job->a, job->b, sample, &at)) return false;
    for (int s = 0; s < BF_AXIS_SUMS; s++) {
        bf_axis_sum *sum = &sums->of[s];
        const int factors = sum->pairs && job->b == NULL ? 2 : 1;
        const bf_extent terms = {factors * at.top, factors * at.least};
        if (sum->needed && !(bf_window_choose(job->dtype, sum->pairs, terms, factors, sample,
                                              (size_t)job->count, &sum->window) &&
                             sum_in_window(isa, job, sum, sums->totals[s])))
            return false;
    }
    return true;
}

/* Rounds the totals to the bits of the result. False: that takes words. */
static bool round_totals(const bf_isa *isa, const bf_axis_job *job, const short_sums *sums,
                         int64_t n, const char *a, const char *b) {
    const bf_results *r = job->results;
    const bf_many_totals all = {sums->of, {sums->totals[0][0], sums->totals[1][0]}, BF_FILL, &n, 1};
    uint64_t *bits = r->values;
    bool zero;
    if (bf_write_lines(job, isa->axis, &all, 0, 1, 0, 1) == 0) return true;
    const bf_line_totals totals = bf_totals_of_line(&all, 0);
    if (!bf_line_is_simple(job, &totals)) return false;
    *bits = bf_line_bits(job, &totals, &zero);
    if (zero && bf_line_is_negative_zero(job, a, b, n)) *bits = bf_format_sign(bf_format_of(r->to));
    return true;
}

/* Sums of f64 and f32. */
static bool reduce_sums(const bf_isa *isa, const bf_job *job, const bf_reduce_options *options,
                        bf_value *value) {
    const bf_operands operands = {job->op, job->kind, job->dtype, job->a, job->b};
    uint64_t bits;
    bf_results results = {.options = options, .values = &bits};
    bf_axis_job line = {.operands = &operands, .results = &results};
    short_sums sums;
    if (!bf_axis_sums_of(isa, &operands, sums.of) || bf_dtype_is_half(job->dtype)) return false;
    results.to = options->out_dtype == BF_F32 ? BF_F32 : BF_F64;
    const size_t n = (size_t)job->count, sample = n < SAMPLE ? n : SAMPLE;
    if (!sum_by_sample(isa, job, sample, &sums) &&
        (sample == n || !sum_by_sample(isa, job, n, &sums)))
        return false;
    if (!round_totals(isa, &line, &sums, job->count, job->a, job->b)) return false;
    *value = (bf_value){.dtype = results.to};
    memcpy(&value->as, &bits, (size_t)bf_dtype_bytes(results.to)); /* low bytes come first */
    return true;
}

/* Products of floats. */
static bool reduce_product(const bf_isa *isa, const bf_job *job, const bf_reduce_options *options,
                           bf_value *value) {
    int64_t words[BF_LINE_WORDS];
    bf_node folds[BF_FOLDS];
    if (job->count >= BF_LEAF) return false; /* it needs room */
    bf_product_tree_init(words);
    bf_product_tree_take(isa, job, 0, job->count, NULL, words);
    bf_node root = bf_product_tree_root_from_start(words, folds);
    return bf_result_product_tree(words, root, options, value) == BF_OK;
}

static bool reduce_words(const bf_isa *isa, const bf_job *job, const bf_reduce_options *options,
                         bf_value *value) {
    int64_t words[BF_LINE_WORDS];
    bf_reducer reducer = {.isa = isa};
    bf_work work;
    bf_state_init(job->kind, job->dtype, words);
    bf_reduce_absorb(&reducer, job, 0, job->count, words);
    return bf_result_of_kind(job->kind, job->op, job->dtype, words, options, value, &work) == BF_OK;
}

bool bf_cpu_reduce_short(bf_context *context, const bf_job *job, const bf_reduce_options *options,
                         bf_value *value) {
    const bf_isa *isa = context->cpu->isa;
    bf_environment environment = bf_environment_enter();
    bool done = bf_kind_is_sum(job->kind) && !bf_kind_is_joint(job->kind) &&
                reduce_sums(isa, job, options, value);
    if (job->kind == BF_KIND_PRODUCT_TREE)
        done = reduce_product(isa, job, options, value);
    else if (!done)
        done = reduce_words(isa, job, options, value);
    bf_environment_leave(environment);
    return done;
}
