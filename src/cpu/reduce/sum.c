/* Exact sums and dot products on one thread: floats by the loops, in windows; floats that fit none,
 * by exponent, in bins; a few of these by the rules, element by element. The result never depends
 * on the path. */
#include "cpu/reduce/reduce.h"

#include "base/double.h"
#include "rules/reduce/sum.h"
#include "rules/reduce/sum_window.h"

enum {
    RULES_BELOW = 48,     /* elements for which a window is not worth finding */
    EXPONENTS_FROM = 384, /* elements for which bins are worth emptying */
    SAMPLE_LEAST = 64,    /* elements that the first window is chosen by: one in */
    SAMPLE_SHARE = 32,    /* SAMPLE_SHARE, but neither fewer nor more than these */
    SAMPLE_MOST = 256,
    MEASURED = 1024,  /* elements that are measured at a time */
    BLOCK = 2048,     /* elements copied at a time where they cannot be summed in place */
    PRODUCTS = 8192,  /* products that enter a window at a time */
    TERMS = 512,      /* so many terms without their specials: fewer, for the stack's sake */
    CARRY_SPANS = 16, /* spans between carries: far from 2^30 additions */
    CREDIT_MAX = 4,   /* a window is given up once misfits outweigh fits */
    MISFIT_COST = 2   /* so many fits make up for one misfit */
};

/* Floats, or pairs of floats, whose sum goes to the limbs. */
typedef struct series {
    bf_reducer *reducer;
    bf_window_memory *memory;
    bf_dtype dtype;    /* BF_F32 or BF_F64 */
    const char *a, *b; /* b: the other factors, or NULL */
    size_t n;
    bf_layout layout;
    int64_t *limbs;
    int64_t *counters; /* words for specials; NULL: they count elsewhere */
    int64_t *zeros;    /* the word for terms that are -0; NULL: they do not count */
    bool every;        /* counts every -0; else at least tells whether all terms are */
} series;

/* What a window must hold. */
typedef struct extent {
    bf_extent at;
    bool special; /* there are NaNs or infinities, which count in neither */
} extent;

static uint64_t load_element(const series *s, const char *p, size_t i) {
    size_t bytes = s->dtype == BF_F64 ? 8 : 4;
    return bf_load_bits(p + i * bytes, (int)bytes);
}

static int special_at(const series *s, bf_format f, size_t i) {
    if (s->b) return bf_sum_special_pair(f, load_element(s, s->a, i), load_element(s, s->b, i));
    return bf_sum_special(f, load_element(s, s->a, i));
}

/* --- by the rules --- */

static inline __attribute__((always_inline)) void add_term(const series *s, bf_format f, bool pair,
                                                           size_t i) {
    uint64_t a = load_element(s, s->a, i), b = pair ? load_element(s, s->b, i) : 0;
    int special = pair ? bf_sum_special_pair(f, a, b) : bf_sum_special(f, a);
    if (special) {
        if (s->counters) s->counters[special]++;
        return;
    }
    if (s->zeros) *s->zeros += pair ? bf_sum_neg_zero_pair(f, a, b) : bf_sum_neg_zero(f, a);
    if (pair)
        bf_sum_add_float_product(f, s->layout, s->limbs, a, b);
    else
        bf_sum_add_float(f, s->layout, s->limbs, a);
}

/* The cases apart, so that the rules compile to shifts by constants. */
static void add_by_rules(const series *s) {
    if (s->dtype == BF_F64 && s->b)
        for (size_t i = 0; i < s->n; i++) add_term(s, bf_format_f64(), true, i);
    else if (s->dtype == BF_F64)
        for (size_t i = 0; i < s->n; i++) add_term(s, bf_format_f64(), false, i);
    else if (s->b)
        for (size_t i = 0; i < s->n; i++) add_term(s, bf_format_f32(), true, i);
    else
        for (size_t i = 0; i < s->n; i++) add_term(s, bf_format_f32(), false, i);
}

/* --- by exponent --- */

/* limbs += x * 2^position for |x| < 2^58; below 0, x has as many zeros as it loses. */
static void add_part(int64_t *limbs, int position, int64_t x) {
    if (position < 0) {
        bf_limbs_add_wide(limbs, position, x);
        return;
    }
    int64_t *at = limbs + position / 32;
    const int shift = position % 32;
    const uint64_t low = (uint64_t)(uint32_t)x << shift;
    const int64_t high = (x >> 32) * ((int64_t)1 << shift);
    at[0] += (uint32_t)low;
    at[1] += (int64_t)(low >> 32) + (uint32_t)high;
    at[2] += high >> 32;
}

bool bf_sum_by_exponent(const bf_isa *isa, bf_dtype dtype, const char *a, const char *b, size_t n,
                        int exponent, int64_t *limbs, int64_t *zeros) {
    const bf_exponent_loop loop =
        dtype == BF_F64 ? isa->reduce->by_exponent_f64 : isa->reduce->by_exponent_f32;
    const bool pairs = b != NULL && dtype == BF_F64;
    const int unit = (pairs ? BF_EXPONENT_UNIT_PAIRS : BF_EXPONENT_UNIT) - exponent;
    const int parts = pairs ? 4 : 2;
    int64_t sums[BF_EXPONENT_SUMS];
    if (!loop(a, b, n, sums, zeros)) return false;
    for (int k = 0; k < (pairs ? BF_EXPONENT_BINS_PAIRS : BF_EXPONENT_BINS); k++)
        for (int i = 0; i < parts; i++) {
            const int64_t x = sums[k * parts + i];
            if (x != 0) add_part(limbs, unit + 32 * k + i * BF_EXPONENT_PART, x);
        }
    return true;
}

static bool add_by_exponent(const series *s) {
    int64_t zeros;
    if (!bf_sum_by_exponent(s->reducer->isa, s->dtype, s->a, s->b, s->n, s->layout.exponent,
                            s->limbs, &zeros))
        return false;
    if (s->zeros == NULL) return true;
    *s->zeros += zeros;
    s->reducer->mixed |= zeros < (int64_t)s->n;
    return true;
}

/* --- measuring --- */

/* The exponent of the leading bit of x > 0. */
static int exponent_of(double x) {
    const uint64_t bits = bf_bits_of_double(x);
    return bits >> 52 > 0 ? (int)(bits >> 52) - 1023 : bf_bit_length(bits) - 1075;
}

static bf_measure_loop measure_loop(const bf_isa *isa, bf_dtype dtype) {
    return dtype == BF_F64 ? isa->reduce->measure_f64 : isa->reduce->measure_f32;
}

/* Measures n terms, or fewer, if they hold a special or span more than any window. b: the other
 * factors, or NULL. */
static extent measure_terms(const bf_isa *isa, bf_dtype dtype, const char *a, const char *b,
                            size_t n) {
    const bf_measure_loop loop = measure_loop(isa, dtype);
    const size_t bytes = dtype == BF_F64 ? 8 : 4;
    double greatest = 0, lowest = __builtin_inf();
    extent e = {.at = {0, 0}}; /* nothing but zeros */
    for (size_t i = 0; i < n && e.at.top - e.at.least <= bf_window_span(BF_LEVELS_MAX);
         i += MEASURED) {
        const size_t count = n - i < MEASURED ? n - i : MEASURED;
        e.special =
            !loop(a + i * bytes, b != NULL ? b + i * bytes : NULL, count, &greatest, &lowest);
        if (e.special) return e;
        if (greatest > 0) e.at = (bf_extent){exponent_of(greatest) + 1, exponent_of(lowest)};
    }
    return e;
}

static extent measure_series(const series *s, size_t n) {
    return measure_terms(s->reducer->isa, s->dtype, s->a, s->b, n);
}

static inline int span_of(bf_window_terms terms, int levels) {
    const bf_extent reach = bf_window_reach(terms == BF_TERMS_SPLIT, levels);
    return reach.top - reach.least;
}

static int most_levels(bf_window_terms terms) {
    return terms == BF_TERMS_SPLIT ? BF_SPLITS : BF_LEVELS_MAX;
}

int bf_window_totals(bf_window_terms terms, int levels) {
    return terms == BF_TERMS_SPLIT ? bf_window_split_of(levels).levels : levels;
}

int bf_window_span_of(bf_window_terms terms, int levels) { return span_of(terms, levels); }

bool bf_window_fit(bf_extent e, bf_window_terms terms, bf_layout layout, bf_window_memory *window) {
    int levels = 1;
    while (levels <= most_levels(terms) && span_of(terms, levels) < e.top - e.least) levels++;
    if (levels > most_levels(terms)) return false;
    window->levels = levels;
    window->credit = CREDIT_MAX;
    return bf_window_place(e, bf_window_totals(terms, levels),
                           bf_window_reach(terms == BF_TERMS_SPLIT, levels), layout,
                           &window->bottom);
}

/* bf_window_fit, where one level may take more bits than others. */
static bool choose_window(bf_extent e, bf_window_terms terms, int one_level, bf_layout layout,
                          bf_window_memory *window) {
    const int bottom = bf_window_clamp(e.least, 1, layout);
    if (e.top - e.least <= BF_WINDOW_BITS || bottom > e.least || e.top > bottom + one_level)
        return bf_window_fit(e, terms, layout, window);
    *window = (bf_window_memory){.bottom = bottom, .levels = 1, .credit = CREDIT_MAX};
    return true;
}

bool bf_window_widen(bf_window_terms terms, bf_layout layout, bf_window_memory *window) {
    if (window->levels == 0 || window->levels == most_levels(terms)) return false;
    const int more =
        bf_window_span_of(terms, window->levels + 1) - bf_window_span_of(terms, window->levels);
    window->levels++;
    window->credit = CREDIT_MAX;
    window->bottom =
        bf_window_clamp(window->bottom + more / 2, bf_window_totals(terms, window->levels), layout);
    return true;
}

/* --- by windows --- */

static bf_window_terms terms_of(bf_dtype dtype, bool pairs) {
    return dtype == BF_F64 && pairs ? BF_TERMS_SPLIT : BF_TERMS_WHOLE;
}

static bool call_loop(const series *s, const bf_window_memory *window, int64_t *sums,
                      int64_t *zeros) {
    const bf_reduce_loops *loops = s->reducer->isa->reduce;
    bool wide = s->dtype == BF_F64;
    if (s->b)
        return (wide ? loops->dot_f64 : loops->dot_f32)(s->a, s->b, s->n, window->bottom,
                                                        window->levels, sums, zeros);
    return (wide ? loops->sum_f64 : loops->sum_f32)(s->a, s->n, window->bottom, window->levels,
                                                    sums, zeros);
}

/* Where not every -0 counts: those of terms that sum to zero, as long as all may be -0. */
static int64_t count_if_all(const series *s, const bf_window_memory *window, bool zero) {
    int64_t sums[BF_LEVELS_MAX], zeros = 0;
    if (s->reducer->mixed) return 0;
    if (zero) call_loop(s, window, sums, &zeros);
    s->reducer->mixed = zeros < (int64_t)s->n;
    return zeros;
}

/* Adds what a loop has summed. Returns whether that is 0. */
static bool add_window(bf_layout layout, int64_t *limbs, int bottom, int levels,
                       const int64_t *sums) {
    bool zero = true;
    for (int l = 0; l < levels; l++) {
        bf_limbs_add_signed(limbs, bf_window_bottom(bottom, l) - layout.exponent, sums[l]);
        zero &= sums[l] == 0;
    }
    return zero;
}

static bool add_in_window(const series *s, const bf_window_memory *window) {
    int64_t sums[BF_LEVELS_MAX], zeros = 0;
    if (!call_loop(s, window, sums, s->zeros && s->every ? &zeros : NULL)) return false;
    const int totals = bf_window_totals(terms_of(s->dtype, s->b != NULL), window->levels);
    bool zero = add_window(s->layout, s->limbs, window->bottom, totals, sums);
    if (s->zeros) *s->zeros += s->every ? zeros : count_if_all(s, window, zero);
    return true;
}

static void add_series(const series *s, bf_format f);

/* Counts NaNs and infinities, and adds a copy of the series in which they are +0 (in pairs 0 * 0),
 * which counts as nothing: so every -0 is counted. */
static void add_without_specials(const series *s, bf_format f) {
    const size_t bytes = s->dtype == BF_F64 ? 8 : 4;
    uint64_t a[TERMS], b[TERMS];
    series copy = *s;
    copy.every = true;
    copy.a = (const char *)a;
    copy.b = s->b ? (const char *)b : NULL;
    for (size_t at = 0; at < s->n; at += TERMS) {
        copy.n = s->n - at < TERMS ? s->n - at : TERMS;
        memcpy(a, s->a + at * bytes, copy.n * bytes);
        if (s->b) memcpy(b, s->b + at * bytes, copy.n * bytes);
        for (size_t i = 0; i < copy.n; i++) {
            int special = special_at(&copy, f, i);
            if (!special) continue;
            if (s->counters) s->counters[special]++;
            memset((char *)a + i * bytes, 0, bytes);
            if (s->b) memset((char *)b + i * bytes, 0, bytes);
        }
        add_series(&copy, f);
    }
}

/* Adds what fits no window. */
static void add_wide(const series *s, bf_format f) {
    if (s->n < EXPONENTS_FROM)
        add_by_rules(s);
    else if (!add_by_exponent(s))
        add_without_specials(s, f);
}

static int one_level_of(const series *s) { return s->reducer->isa->reduce->one_level_bits; }

/* The remembered window did not fit: finds one that does, or goes without. Products of doubles with
 * few bits may take more levels than their extent says. */
static void add_misfit(const series *s, bf_format f) {
    const bf_window_terms terms = terms_of(s->dtype, s->b != NULL);
    bf_window_memory *memory = s->memory, window = *memory;
    memory->credit -= MISFIT_COST;
    bool fits = bf_window_widen(terms, s->layout, &window) && add_in_window(s, &window);
    if (!fits) {
        extent e = measure_series(s, s->n);
        if (e.special) {
            add_without_specials(s, f);
            return;
        }
        bool found = choose_window(e.at, terms, one_level_of(s), s->layout, &window);
        while (found && !(fits = add_in_window(s, &window)) && terms == BF_TERMS_SPLIT)
            found = bf_window_widen(terms, s->layout, &window);
    }
    if (!fits)
        add_wide(s, f);
    else if (memory->levels == 0 || memory->credit < 0)
        *memory = window;
}

/* The window of n terms of which a sample spans e. Among n times as many the least is n times as
 * small, as a rule, and so is its last bit; of squares, its square. */
static bool choose_for_all(extent e, bf_window_terms terms, int one_level, bf_layout layout,
                           int factors, size_t sample, size_t n, bf_window_memory *window) {
    if (e.special || !choose_window(e.at, terms, one_level, layout, window)) {
        window->levels = 0;
        return false;
    }
    if (sample == n) return true;
    e.at.least -= bf_bit_length(n / sample) * factors;
    if (e.at.least < layout.exponent) e.at.least = layout.exponent;
    bf_window_memory wider;
    if (choose_window(e.at, terms, one_level, layout, &wider)) *window = wider;
    return true;
}

/* The first window, from the first `sample` terms of n. */
static bool guess_by_sample(const series *s, size_t sample, size_t n, bf_window_memory *window) {
    return choose_for_all(measure_series(s, sample), terms_of(s->dtype, s->b != NULL),
                          one_level_of(s), s->layout, s->a == s->b ? 2 : 1, sample, n, window);
}

static void guess_window(const series *s, bf_window_memory *window) {
    size_t sample = s->n / SAMPLE_SHARE;
    if (sample < SAMPLE_LEAST) sample = s->n < SAMPLE_LEAST ? s->n : SAMPLE_LEAST;
    if (sample > SAMPLE_MOST) sample = SAMPLE_MOST;
    guess_by_sample(s, sample, s->n, window);
}

/* ---- windows for other loops ----------------------------------------------------------------- */

/* The dtype of the loops: f16 and bf16 are copied as f32. */
static bf_dtype held(bf_dtype dtype) { return dtype == BF_F64 ? BF_F64 : BF_F32; }

bf_layout bf_window_layout(bf_dtype dtype, bool pairs) {
    return pairs ? bf_layout_products(dtype) : bf_layout_sum(dtype);
}

bool bf_window_measure(const bf_isa *isa, bf_dtype dtype, const void *a, const void *b, size_t n,
                       bf_extent *at) {
    if (isa->reduce->measure_f64 == NULL) return false;
    const extent e = measure_terms(isa, held(dtype), a, b, n);
    *at = e.at;
    return !e.special;
}

bool bf_window_top(const bf_isa *isa, bf_dtype dtype, const void *a, const void *b, size_t n,
                   int *top) {
    const bf_measure_loop loop = measure_loop(isa, held(dtype));
    double greatest = 0;
    if (loop == NULL) return false;
    loop(a, b, n, &greatest, NULL);
    *top = greatest > 0 ? exponent_of(greatest) + 1 : 0;
    return true;
}

bool bf_window_choose(bf_dtype dtype, bool pairs, bf_extent at, int factors, size_t sample,
                      size_t n, bf_window_memory *window) {
    return choose_for_all((extent){.at = at}, terms_of(dtype, pairs), BF_WINDOW_BITS,
                          bf_window_layout(dtype, pairs), factors, sample, n, window);
}

bool bf_window_guess(const bf_isa *isa, bf_dtype dtype, const void *a, const void *b, size_t sample,
                     size_t n, bf_window_memory *window) {
    extent e = {.special = false};
    window->levels = 0;
    return bf_window_measure(isa, dtype, a, b, sample, &e.at) &&
           choose_for_all(e, BF_TERMS_WHOLE, BF_WINDOW_BITS, bf_window_layout(dtype, b != NULL),
                          a == b ? 2 : 1, sample, n, window);
}

void bf_window_settle(bf_window_memory *memory, const bf_window_memory *found, bool first) {
    if (!first) memory->credit -= MISFIT_COST;
    if (first && memory->credit < CREDIT_MAX) memory->credit++;
    if (memory->levels == 0 || memory->credit < 0) *memory = *found;
}

/* ---- all paths ------------------------------------------------------------------------------- */

/* Adds products that have a window, a part at a time: the few smallest of many need a wider one
 * than others. */
static void add_parts(const series *all, bf_format f) {
    const size_t bytes = all->dtype == BF_F64 ? 8 : 4;
    series s = *all;
    for (size_t left = all->n; left > 0; left -= s.n) {
        s.n = left < PRODUCTS ? left : PRODUCTS;
        add_series(&s, f);
        s.a += s.n * bytes;
        s.b += s.n * bytes;
    }
}

static void add_series(const series *s, bf_format f) {
    bf_window_memory *memory = s->memory;
    if (s->n < RULES_BELOW || s->reducer->isa->reduce->sum_f64 == NULL) {
        add_by_rules(s);
        return;
    }
    if (memory->levels == 0) guess_window(s, memory);
    if (memory->levels > 0 && s->b != NULL && s->n > PRODUCTS) {
        add_parts(s, f);
        return;
    }
    if (memory->levels > 0 && add_in_window(s, memory)) {
        if (memory->credit < CREDIT_MAX) memory->credit++;
        return;
    }
    add_misfit(s, f);
}

/* Each format by a constant, so that the rules compile to its shifts. */
static void add_floats(const series *s) {
    if (s->dtype == BF_F64)
        add_series(s, bf_format_f64());
    else
        add_series(s, bf_format_f32());
}

/* Up to BF_SPAN floats at a (and b) enter the words, by their kind. */
static void absorb_floats(bf_reducer *reducer, const bf_job *job, bf_dtype dtype, const char *a,
                          const char *b, size_t n, int64_t *words) {
    bf_sum_shape shape = bf_sum_shape_of(job->kind, job->dtype);
    series s = {.reducer = reducer, .dtype = dtype, .a = a, .n = n, .counters = words};
    if (bf_sum_counts_zeros(job->kind, job->dtype)) s.zeros = &words[BF_SUM_NEG_ZERO];
    s.every = job->every_zero;
    if (shape.sum.limbs > 0) {
        s.memory = &reducer->sum;
        s.layout = shape.sum;
        s.limbs = words + shape.sum_at;
        add_floats(&s);
        s.counters = NULL; /* the squares are of the same elements */
    }
    if (shape.products.limbs > 0) {
        s.memory = &reducer->products;
        s.b = job->kind == BF_KIND_DOT ? b : a;
        s.layout = shape.products;
        s.limbs = words + shape.products_at;
        add_floats(&s);
    }
}

/* --- 16-bit floats, as the f32 that they equal --- */

/* Not inlined: its copies stand on the stack of no other reduction. */
static __attribute__((noinline)) void absorb_halves(bf_reducer *reducer, const bf_job *job,
                                                    const char *a, const char *b, size_t n,
                                                    int64_t *words) {
    float wide_a[BLOCK];
    const size_t most = b ? BLOCK / 2 : BLOCK;
    float *wide_b = wide_a + most;
    for (size_t at = 0; at < n; at += most) {
        size_t count = n - at < most ? n - at : most;
        bf_widen_halves(reducer->isa, job->dtype, a + 2 * at, wide_a, count);
        if (b) bf_widen_halves(reducer->isa, job->dtype, b + 2 * at, wide_b, count);
        absorb_floats(reducer, job, BF_F32, (const char *)wide_a, b ? (const char *)wide_b : NULL,
                      count, words);
    }
}

/* --- integers --- */

static void add_split(int64_t *limbs, bf_split sum) {
    bf_limbs_add_signed(limbs, 0, sum.low);
    bf_limbs_add_signed(limbs, 32, sum.high);
}

static void absorb_by_rules(const bf_job *job, const char *a, const char *b, size_t n,
                            int64_t *words) {
    bf_sum_shape shape = bf_sum_shape_of(job->kind, job->dtype);
    int bytes = bf_dtype_bytes(job->dtype);
    int64_t count = words[BF_SUM_COUNT]; /* counted by the caller */
    for (size_t i = 0; i < n; i++) {
        uint64_t x = bf_load_bits(a + i * (size_t)bytes, bytes);
        uint64_t y = b ? bf_load_bits(b + i * (size_t)bytes, bytes) : x;
        if (shape.sum.limbs > 0)
            bf_sum_take(job->dtype, &shape, words, x);
        else
            bf_sum_take_pair(job->dtype, &shape, words, x, y);
    }
    words[BF_SUM_COUNT] = count;
}

/* Products of 64-bit integers take 128 bits, whose halves add up apart. */
static inline __attribute__((always_inline)) void
add_wide_products(bf_dtype dtype, const char *a, const char *b, size_t n, int64_t *limbs) {
    bf_i128 low = 0, high = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t x = bf_load_bits(a + 8 * i, 8), y = bf_load_bits(b + 8 * i, 8);
        const bf_u128 product =
            dtype == BF_I64 ? (bf_u128)((bf_i128)(int64_t)x * (int64_t)y) : (bf_u128)x * y;
        const uint64_t above = (uint64_t)(product >> 64);
        low += (uint64_t)product;
        high += dtype == BF_I64 ? (bf_i128)(int64_t)above : (bf_i128)above;
    }
    high += low >> 64;
    bf_limbs_add(limbs, 0, (uint64_t)low, false);
    bf_limbs_add(limbs, 64, (uint32_t)high, false);
    bf_limbs_add_signed(limbs, 96, (int64_t)(high >> 32));
}

void bf_integers_add(const bf_isa *isa, bf_dtype dtype, const void *a, const void *b, size_t n,
                     int64_t *limbs) {
    if (b == NULL)
        add_split(limbs, isa->reduce->integer_sum[dtype](a, n));
    else if (dtype == BF_I64)
        add_wide_products(BF_I64, a, b, n, limbs);
    else if (dtype == BF_U64)
        add_wide_products(BF_U64, a, b, n, limbs);
    else
        add_split(limbs, isa->reduce->integer_dot[dtype](a, b, n));
}

static void absorb_integers(const bf_reducer *reducer, const bf_job *job, bf_dtype dtype,
                            const char *a, const char *b, size_t n, int64_t *words) {
    const bf_sum_shape shape = bf_sum_shape_of(job->kind, job->dtype);
    if (!reducer->isa->reduce->integer_sum[dtype]) {
        absorb_by_rules(job, a, b, n, words);
        return;
    }
    if (shape.sum.limbs > 0) bf_integers_add(reducer->isa, dtype, a, NULL, n, words + shape.sum_at);
    if (shape.products.limbs > 0)
        bf_integers_add(reducer->isa, dtype, a, b ? b : a, n, words + shape.products_at);
}

static void absorb_i128(const bf_job *job, const char *a, const char *b, size_t n, int64_t *words) {
    const bf_sum_shape shape = bf_sum_shape_of(job->kind, job->dtype);
    const int64_t count = words[BF_SUM_COUNT]; /* counted by the caller */
    for (size_t i = 0; i < n; i++) {
        const bf_i128 x = bf_load_i128(a + 16 * i);
        bf_sum_take_i128(&shape, words, x, b ? bf_load_i128(b + 16 * i) : x);
    }
    words[BF_SUM_COUNT] = count;
}

static void to_truth(const char *from, uint8_t *to, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = from[i] != 0;
}

/* Bools as the integers 0 and 1. */
static void absorb_bools(bf_reducer *reducer, const bf_job *job, const char *a, const char *b,
                         size_t n, int64_t *words) {
    uint8_t truth_a[BLOCK], truth_b[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        to_truth(a + at, truth_a, count);
        if (b) to_truth(b + at, truth_b, count);
        absorb_integers(reducer, job, BF_U8, (const char *)truth_a,
                        b ? (const char *)truth_b : NULL, count, words);
    }
}

static void absorb_span(bf_reducer *reducer, const bf_job *job, const char *a, const char *b,
                        size_t n, int64_t *words) {
    switch (job->dtype) {
    case BF_F64:
    case BF_F32: absorb_floats(reducer, job, job->dtype, a, b, n, words); break;
    case BF_F16:
    case BF_BF16: absorb_halves(reducer, job, a, b, n, words); break;
    case BF_BOOL: absorb_bools(reducer, job, a, b, n, words); break;
    case BF_I128: absorb_i128(job, a, b, n, words); break;
    default: absorb_integers(reducer, job, job->dtype, a, b, n, words); break;
    }
}

bool bf_sum_absorb_computed(bf_reducer *reducer, const bf_computed *terms, int64_t n,
                            int64_t *words) {
    const bf_dtype dtype = terms->wide ? BF_F64 : BF_F32;
    const bf_sum_shape shape = bf_sum_shape_of(BF_KIND_SUM, dtype);
    const bf_reduce_loops *loops = reducer->isa->reduce;
    bf_computed_loop loop = terms->wide ? loops->sum_terms_f64 : loops->sum_terms_f32;
    bf_window_memory *window = &reducer->sum;
    int64_t sums[BF_LEVELS_MAX];
    if (loop == NULL || window->levels == 0 || n % BF_COMPUTED_GROUP != 0 ||
        !loop(terms, (size_t)n, window->bottom, window->levels, sums))
        return false;
    if (window->credit < CREDIT_MAX) window->credit++;
    add_window(shape.sum, words + shape.sum_at, window->bottom, window->levels, sums);
    reducer->mixed = true;
    words[BF_SUM_COUNT] += n;
    bf_sum_carry(BF_KIND_SUM, dtype, words);
    return true;
}

void bf_sum_absorb(bf_reducer *reducer, const bf_job *job, int64_t first, int64_t n,
                   int64_t *words) {
    size_t bytes = (size_t)bf_number_bytes(job->dtype), left = (size_t)n;
    const char *a = (const char *)job->a + (size_t)first * bytes;
    const char *b = job->b ? (const char *)job->b + (size_t)first * bytes : NULL;
    for (int spans = 1; left > 0; spans++) {
        size_t count = left < BF_SPAN ? left : BF_SPAN;
        absorb_span(reducer, job, a, b, count, words);
        words[BF_SUM_COUNT] += (int64_t)count;
        a += count * bytes;
        if (b) b += count * bytes;
        left -= count;
        if (left == 0 || spans % CARRY_SPANS == 0) bf_sum_carry(job->kind, job->dtype, words);
    }
}
