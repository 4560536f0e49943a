/* Short arrays: the result of one at once, without a state that is made, carried and read. Sums of
 * floats are rounded from the totals of a window, as those of lines are; of all else the words are
 * few. */
#include "cpu/axis/window.h"

enum {
    SAMPLE = 256, /* elements that the first window is chosen by */
    FEW = 256,
    FEWEST = 64 /* elements that are not measured */
};

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

/* Adds up the terms in this window, which then is one of as many levels as there are totals. */
static bool sum_in_window(const bf_isa *isa, const bf_job *job, bf_axis_sum *sum,
                          int64_t filled[][BF_FILL]) {
    const size_t n = (size_t)job->count;
    const int bottom = sum->window.bottom, levels = sum->window.levels;
    const void *b = job->b != NULL ? job->b : job->a;
    int64_t totals[BF_LEVELS_MAX];
    if (!(sum->pairs ? dot_loop(isa, sum->input)(job->a, b, n, bottom, levels, totals, NULL)
                     : sum_loop(isa, sum->input)(job->a, n, bottom, levels, totals, NULL)))
        return false;
    if (sum->input == BF_SUM_F64_PAIRS)
        sum->window.levels = bf_window_totals(BF_TERMS_SPLIT, levels);
    memset(filled, 0, (size_t)sum->window.levels * sizeof *filled);
    for (int l = 0; l < sum->window.levels; l++) filled[l][0] = totals[l];
    return true;
}

/* Adds up all that is needed, in windows for what a sample of the elements, or of the pairs, spans.
 * Squares span twice what elements do. */
static bool sum_by_sample(const bf_isa *isa, const bf_job *job, bf_extent at, size_t sample,
                          short_sums *sums) {
    for (int s = 0; s < BF_AXIS_SUMS; s++) {
        bf_axis_sum *sum = &sums->of[s];
        if (!sum->needed) continue;
        const int factors = sum->pairs && job->b == NULL ? 2 : 1;
        const bf_extent terms = {factors * at.top, factors * at.least};
        if (!bf_window_choose(job->dtype, sum->pairs, terms, factors, sample, (size_t)job->count,
                              &sum->window) ||
            !sum_in_window(isa, job, sum, sums->totals[s]))
            return false;
    }
    return true;
}

/* Few elements are not measured, but for the greatest: two levels hold most, and of products of
 * doubles three or four. */
static bool sum_few(const bf_isa *isa, const bf_job *job, short_sums *sums) {
    const bool products = job->kind != BF_KIND_SUM, squares = products && job->b == NULL;
    const size_t n = (size_t)job->count;
    const bool split = products && job->dtype == BF_F64;
    const int levels = !split ? 2 : n <= FEWEST ? 3 : 4;
    const int span = bf_window_span_of(split ? BF_TERMS_SPLIT : BF_TERMS_WHOLE, levels);
    bf_extent at;
    if (n > FEW || !bf_window_top(isa, job->dtype, job->a, job->b, n, &at.top)) return false;
    at.least = at.top - (squares ? span / 2 : span);
    return sum_by_sample(isa, job, at, n, sums);
}

static bool sum_measured(const bf_isa *isa, const bf_job *job, size_t sample, short_sums *sums) {
    bf_extent at;
    return bf_window_measure(isa, job->dtype, job->a, job->b, sample, &at) &&
           sum_by_sample(isa, job, at, sample, sums);
}

static bool sum_all(const bf_isa *isa, const bf_job *job, short_sums *sums) {
    const size_t n = (size_t)job->count;
    return sum_few(isa, job, sums) || (n > SAMPLE && sum_measured(isa, job, SAMPLE, sums)) ||
           sum_measured(isa, job, n, sums);
}

/* Rounds the totals to the bits of the result: of sums by integers, of others in doubles if that is
 * beyond doubt. False: that takes words. */
static bool round_totals(const bf_isa *isa, const bf_job *job, const bf_axis_job *line,
                         const short_sums *sums, uint64_t *bits) {
    const bf_many_totals all = {
        sums->of, {sums->totals[0][0], sums->totals[1][0]}, BF_FILL, &job->count, 1};
    bool zero;
    const bool sum = bf_class_of(job->op) == BF_RESULT_EXACT;
    const bool constant = job->count == 1; /* doubles do not prove a spread of 0 */
    if (!sum && !constant && bf_write_lines(line, isa->axis, &all, 0, 1, 0, 1) == 0) return true;
    bf_line_totals totals;
    bf_totals_of_line(&all, 0, &totals);
    if (!bf_line_is_simple(line, &totals)) return false;
    *bits = bf_line_bits(line, &totals, &zero);
    if (zero && bf_line_is_negative_zero(line, job->a, job->b, job->count))
        *bits = bf_format_sign(bf_format_of(line->results->to));
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
    if (!sum_all(isa, job, &sums)) return false;
    if (!round_totals(isa, job, &line, &sums, &bits)) return false;
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
