/* Joint kinds on one thread: their parts are sums of elements and of products, which the loops of
 * sums and of dot products add up. A product of three or four elements is a dot product of one or
 * two of them with the product of the others, which two doubles hold: p = x y rounded, and
 * e = x y - p.
 *
 * Terms that no window holds are added by exponent. Factors whose product leaves the range of
 * doubles are scaled first. Few elements that fit no window go by the rules, one by one. */
#include "cpu/reduce/reduce.h"

#include "rules/number/wide.h"
#include "rules/reduce/sum.h"

enum {
    SPAN = 4096,         /* pairs whose parts are absorbed in turn, from the cache */
    BLOCK = 896,         /* elements that are copied, or multiplied, at a time */
    RULES_BELOW = 8,     /* elements for which a window is not worth finding */
    EXPONENTS_FROM = 64, /* elements for which bins are worth emptying */
    CARRY_SPANS = 16,
    SAMPLE = 64,     /* so many pairs choose the first window */
    SPARE = 5,       /* with bits to spare for others that are smaller */
    BEYOND = 1 << 20 /* any exponent */
};

/* What is added up, or multiplied first: X are the elements of a, or of TRIPLE those of c, as
 * doubles; P + E are the products of a with b, or of POWERS with a. */
typedef enum factor { ONE, A, B, X, P, E, FACTORS } factor;

/* Products of two factors that a loop adds to the part of a^i * b^k: twice if `twice` is 1. */
typedef struct term {
    bf_kind kind;
    factor x, y;
    int i, k, twice;
} term;

/* The first term of each kind has all of its arrays. */
static const term all_terms[] = {
    {BF_KIND_POWERS, A, ONE, 1, 0, 0},    {BF_KIND_POWERS, A, A, 2, 0, 0},
    {BF_KIND_POWERS, X, P, 3, 0, 0},      {BF_KIND_POWERS, X, E, 3, 0, 0},
    {BF_KIND_POWERS, P, P, 4, 0, 0},      {BF_KIND_POWERS, P, E, 4, 0, 1},
    {BF_KIND_POWERS, E, E, 4, 0, 0},      {BF_KIND_COMOMENTS, A, B, 1, 1, 0},
    {BF_KIND_COMOMENTS, A, ONE, 1, 0, 0}, {BF_KIND_COMOMENTS, A, A, 2, 0, 0},
    {BF_KIND_COMOMENTS, B, ONE, 0, 1, 0}, {BF_KIND_COMOMENTS, B, B, 0, 2, 0},
    {BF_KIND_WEIGHTED, A, B, 1, 1, 0},    {BF_KIND_WEIGHTED, B, ONE, 0, 1, 0},
    {BF_KIND_WEIGHTED, B, B, 0, 2, 0},    {BF_KIND_WEIGHTED, X, P, 2, 1, 0},
    {BF_KIND_WEIGHTED, X, E, 2, 1, 0},    {BF_KIND_TRIPLE, X, P, 2, 1, 0},
    {BF_KIND_TRIPLE, X, E, 2, 1, 0},
};

/* What one call absorbs. */
typedef struct joint {
    bf_reducer *reducer;
    bf_kind kind;
    bf_dtype dtype; /* floats of 16 bits are widened to f32 */
    bf_parts parts;
    int64_t *words;
    bool products;        /* some term has P */
    bool spread;          /* doubles of several sizes have been met: see below */
    int scale_a, scale_b; /* what is added is 2^scale of the elements that it stands for */
    int count;
    term terms[BF_JOINT_SUMS];
    const bf_part *to[BF_JOINT_SUMS]; /* the part of each */
} joint;

/* Elements, which follow each other. */
typedef struct span {
    bf_dtype dtype;
    const char *a, *b; /* b: NULL for POWERS */
    const char *c;     /* NULL for all but TRIPLE */
    size_t n;
} span;

static const bf_part *part_of(const joint *j, int i, int k) {
    const bf_part *part = j->parts.part;
    while (part->a != i || part->b != k) part++;
    return part;
}

static void open_joint(joint *j, bf_reducer *reducer, const bf_job *job, int64_t *words) {
    const bool half = bf_dtype_is_half(job->dtype);
    j->reducer = reducer;
    j->kind = job->kind;
    j->dtype = half ? BF_F32 : job->dtype;
    j->parts = bf_parts_of(j->kind, j->dtype);
    j->words = words;
    j->products = false;
    j->spread = false;
    j->scale_a = j->scale_b = 0;
    j->count = 0;
    for (size_t t = 0; t < sizeof all_terms / sizeof *all_terms; t++) {
        if (all_terms[t].kind != j->kind) continue;
        if (all_terms[t].y == E && j->dtype != BF_F64) continue; /* P is exact */
        if (!job->every_zero && !bf_result_needs(job->op, all_terms[t].i, all_terms[t].k)) continue;
        j->products |= all_terms[t].y >= P;
        j->to[j->count] = part_of(j, all_terms[t].i, all_terms[t].k);
        j->terms[j->count++] = all_terms[t];
    }
}

/* ---- by the rules ---------------------------------------------------------------------------- */

static bf_i128 load(bf_dtype dtype, const char *x, size_t i) {
    if (x == NULL) return 0;
    if (dtype == BF_I128) return bf_load_i128(x + 16 * i);
    const int bytes = bf_dtype_bytes(dtype);
    return (bf_i128)bf_load_bits(x + i * (size_t)bytes, bytes);
}

/* limbs += the product of `count` magnitudes, times 2^position. */
static void add_product(int64_t *limbs, int position, const uint64_t m[BF_FACTORS_MOST], int count,
                        bool negative) {
    const bf_u128 x = count > 1 ? (bf_u128)m[0] * m[1] : m[0];
    const bf_u128 y = count == 4 ? (bf_u128)m[2] * m[3] : count == 3 ? m[2] : 1;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            const uint64_t of_x = (uint64_t)(x >> 64 * i), of_y = (uint64_t)(y >> 64 * k);
            if (of_x != 0 && of_y != 0)
                bf_limbs_add_product(limbs, position + 64 * (i + k), of_x, of_y, negative);
        }
}

/* Adds the products of one pair to all parts. */
static inline __attribute__((always_inline)) void take_pair(joint *j, bf_finite a, bf_finite b) {
    for (int p = 0; p < j->parts.count; p++) {
        const bf_part *to = &j->parts.part[p];
        uint64_t m[BF_FACTORS_MOST] = {0};
        for (int i = 0; i < to->a; i++) m[i] = a.magnitude;
        for (int i = 0; i < to->b; i++) m[to->a + i] = b.magnitude;
        const bool negative = (a.negative && to->a % 2 != 0) != (b.negative && to->b % 2 != 0);
        add_product(j->words + to->at, to->a * a.position + to->b * b.position, m, to->a + to->b,
                    negative);
    }
}

/* Inlined, with each dtype a constant, so that the rules compile to its shifts. */
static inline __attribute__((always_inline)) void take_pairs(joint *j, const span *s,
                                                             bf_dtype dtype) {
    for (size_t i = 0; i < s->n; i++) {
        uint64_t a = (uint64_t)load(dtype, s->a, i), b = (uint64_t)load(dtype, s->b, i);
        if (!bf_dtype_is_float(dtype)) {
            take_pair(j, bf_decode_integer(dtype, a), bf_decode_integer(dtype, b));
            continue;
        }
        const bf_format f = bf_format_of(dtype);
        const int special = bf_sum_special_joint(j->kind, f, a, b);
        if (special) {
            j->words[special]++;
            if (!bf_sum_keeps_weight(j->kind, special)) continue;
            a = 0;
        }
        take_pair(j, bf_decode(f, a), bf_decode(f, b));
    }
}

/* Adds the products a c b. */
static void take_triples(joint *j, const span *s) {
    const bf_part *to = j->parts.part;
    for (size_t i = 0; i < s->n; i++) {
        const char *const of[] = {s->a, s->b, s->c};
        bf_term t = bf_term_one();
        for (int k = 0; k < 3; k++) {
            const bf_factor f = bf_factor_of(s->dtype, load(s->dtype, of[k], i));
            bf_term_multiply(&t, f.magnitude);
            t.position += f.position;
            t.negative = t.negative != f.negative;
        }
        for (int k = 0; k < t.length; k++)
            bf_limbs_add(j->words + to->at, t.position + 64 * k, t.word[k], t.negative);
    }
}

static void absorb_by_rules(joint *j, const span *s) {
    const int64_t count = j->words[BF_SUM_COUNT]; /* counted by the caller */
    if (s->c != NULL) {
        take_triples(j, s);
        return;
    }
    switch (s->dtype) {
    case BF_F64: take_pairs(j, s, BF_F64); break;
    case BF_F32: take_pairs(j, s, BF_F32); break;
    case BF_I128:
        for (size_t i = 0; i < s->n; i++)
            bf_sum_take_joint(j->kind, s->dtype, &j->parts, j->words, load(s->dtype, s->a, i),
                              load(s->dtype, s->b, i));
        break;
    default: take_pairs(j, s, s->dtype); break;
    }
    j->words[BF_SUM_COUNT] = count;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Bounds of numbers that are not 0: 2^low <= |x| < 2^top, and multiples of 2^least. */
typedef struct reach {
    int top, low, least;
} reach;

/* Measures n numbers. False: there is a NaN or an infinity. */
static inline __attribute__((always_inline)) bool measure_as(bf_format f, int bytes, const char *x,
                                                             size_t n, reach *r) {
    const int unit = bf_format_least(f);
    *r = (reach){-BEYOND, BEYOND, BEYOND};
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = bf_load_bits(x + i * (size_t)bytes, bytes);
        if (bf_sum_special(f, bits)) return false;
        const bf_finite d = bf_decode(f, bits);
        if (d.magnitude == 0) continue;
        const int at = d.position + unit, top = at + bf_bit_length(d.magnitude);
        const int least = at + __builtin_ctzll(d.magnitude);
        if (top > r->top) r->top = top;
        if (top - 1 < r->low) r->low = top - 1;
        if (least < r->least) r->least = least;
    }
    if (r->top == -BEYOND) *r = (reach){0, 0, 0}; /* nothing but zeros */
    return true;
}

static bool measure(bf_dtype dtype, const char *x, size_t n, reach *r) {
    return dtype == BF_F64 ? measure_as(bf_format_f64(), 8, x, n, r)
                           : measure_as(bf_format_f32(), 4, x, n, r);
}

/* A double has 53 bits; what is below is in e. */
static void measure_products(const reach *a, const reach *b, reach *p, reach *e) {
    p->top = a->top + b->top;
    p->low = a->low + b->low;
    p->least = e->least = e->low = a->least + b->least;
    if (p->least < p->low - 52) p->least = p->low - 52;
    e->top = p->top - 53 > e->least ? p->top - 53 : e->least;
}

/* By the first n pairs. */
static bool measure_factors(const joint *j, const span *s, size_t n, reach of[FACTORS]) {
    of[ONE] = (reach){0, 0, 0};
    if (!measure(s->dtype, s->a, n, &of[A])) return false;
    if (s->b != NULL && !measure(s->dtype, s->b, n, &of[B])) return false;
    of[X] = of[A];
    if (s->c != NULL && !measure(s->dtype, s->c, n, &of[X])) return false;
    if (j->products) measure_products(&of[A], &of[s->b != NULL ? B : A], &of[P], &of[E]);
    return true;
}

/* Are its terms doubles? */
static bool is_wide(const joint *j, const term *t) { return j->dtype == BF_F64 || t->x >= X; }

static bf_window_terms terms_of(const joint *j, const term *t) {
    return t->y != ONE && is_wide(j, t) ? BF_TERMS_SPLIT : BF_TERMS_WHOLE;
}

/* A window for a term; with bits to spare, if that takes no more than there are. */
static bool find_window(const joint *j, int t, const reach of[], bf_window_memory *w) {
    const term *one = &j->terms[t];
    const bf_window_terms terms = terms_of(j, one);
    const bf_layout layout = j->to[t]->layout;
    bf_window_memory wider;
    bf_extent e = {of[one->x].top + of[one->y].top, of[one->x].least + of[one->y].least};
    if (!bf_window_fit(e, terms, layout, w)) return false;
    e.least -= one->y == ONE ? SPARE : 2 * SPARE;
    if (e.least < layout.exponent) e.least = layout.exponent;
    if (bf_window_fit(e, terms, layout, &wider)) *w = wider;
    return true;
}

static bool sum_term(const joint *j, const term *t, const char *const at[], size_t n,
                     const bf_window_memory *w, int64_t *sums) {
    const bf_reduce_loops *loops = j->reducer->isa->reduce;
    const bool wide = is_wide(j, t);
    if (t->y == ONE)
        return (wide ? loops->sum_f64 : loops->sum_f32)(at[t->x], n, w->bottom, w->levels, sums,
                                                        NULL);
    return (wide ? loops->dot_f64 : loops->dot_f32)(at[t->x], at[t->y], n, w->bottom, w->levels,
                                                    sums, NULL);
}

static void add_sums(const joint *j, int t, const bf_window_memory *w, const int64_t *sums) {
    const bf_part *to = j->to[t];
    for (int l = 0; l < bf_window_totals(terms_of(j, &j->terms[t]), w->levels); l++)
        bf_limbs_add_signed(
            j->words + to->at,
            bf_window_bottom(w->bottom, l) + j->terms[t].twice - to->layout.exponent, sums[l]);
}

/* What a span has been measured by: so many of its pairs. */
typedef struct measures {
    size_t n;
    reach of[FACTORS];
} measures;

/* Sums a term in the window that fitted last, in one by a sample, or in one by all pairs. False: no
 * window holds it, or there is a NaN or infinity. */
static bool find_sums(const joint *j, const span *s, const char *const at[], int t, measures *m,
                      bf_window_memory *w, int64_t *sums) {
    const term *of = &j->terms[t];
    *w = j->reducer->joint[t];
    if (w->levels > 0 && sum_term(j, of, at, s->n, w, sums)) {
        bf_window_settle(&j->reducer->joint[t], w, true);
        return true;
    }
    size_t wanted = s->n < SAMPLE ? s->n : SAMPLE;
    for (;; wanted = s->n) {
        if (m->n < wanted && !measure_factors(j, s, wanted, m->of)) return false;
        if (m->n < wanted) m->n = wanted;
        bool found = find_window(j, t, m->of, w), fits = false;
        if (!found) return false; /* more pairs fit none, either */
        while (found && !(fits = sum_term(j, of, at, s->n, w, sums)) && m->n == s->n &&
               terms_of(j, of) == BF_TERMS_SPLIT)
            found = bf_window_widen(BF_TERMS_SPLIT, j->to[t]->layout, w);
        if (fits) break;
        if (m->n == s->n) return false;
    }
    bf_window_settle(&j->reducer->joint[t], w, false);
    return true;
}

static bool is_finite(const span *s, const char *x) {
    const bf_format f = bf_format_of(s->dtype);
    const uint64_t inf = bf_format_inf(f);
    const int bytes = bf_dtype_bytes(s->dtype);
    uint64_t odd = 0;
    for (size_t i = 0; x != NULL && i < s->n; i++)
        odd |= (bf_load_bits(x + i * (size_t)bytes, bytes) & inf) == inf;
    return odd == 0;
}

/* Adds a term by exponent. False, with nothing done: there is a NaN or infinity among its factors.
 * Not inlined, for the sake of the stack. */
static __attribute__((noinline)) bool add_by_exponent(const joint *j, const span *s,
                                                      const char *const at[], int t) {
    const term *of = &j->terms[t];
    const bf_part *to = j->to[t];
    const int scale = to->a * j->scale_a + to->b * j->scale_b - of->twice;
    int64_t zeros;
    return bf_sum_by_exponent(j->reducer->isa, is_wide(j, of) ? BF_F64 : BF_F32, at[of->x],
                              of->y == ONE ? NULL : at[of->y], s->n, to->layout.exponent + scale,
                              j->words + to->at, &zeros);
}

/* Adds all terms of a span, whose factors are at `at`. False, with nothing done: there is a NaN or
 * an infinity, which the first term tells, or one of a few terms fits no window. */
static bool add_terms(const joint *j, const span *s, const char *const at[]) {
    int64_t sums[BF_JOINT_SUMS][BF_LEVELS_MAX];
    bf_window_memory windows[BF_JOINT_SUMS];
    const bool scaled = j->scale_a != 0 || j->scale_b != 0;
    bool held[BF_JOINT_SUMS] = {false}, all = true;
    measures m = {0};
    for (int t = 0; t < j->count; t++)
        all &= held[t] = !scaled && find_sums(j, s, at, t, &m, &windows[t], sums[t]);
    if (!all && s->n < EXPONENTS_FROM) return false;
    if (!held[0] && !add_by_exponent(j, s, at, 0)) return false;
    for (int t = 0; t < j->count; t++) {
        if (held[t])
            add_sums(j, t, &windows[t], sums[t]);
        else if (t > 0)
            add_by_exponent(j, s, at, t);
    }
    return true;
}

/* Adds all terms of at most BLOCK pairs. Not inlined: its factors stand on the stack of no other
 * reduction. */
static __attribute__((noinline)) bool add_products(const joint *j, const span *s) {
    const bf_reduce_loops *loops = j->reducer->isa->reduce;
    const bool wide = s->dtype == BF_F64;
    double p[BLOCK], xe[BLOCK]; /* x of f32, e of f64 */
    const char *const at[FACTORS] = {[A] = s->a,
                                     [B] = s->b,
                                     [X] = !wide          ? (const char *)xe
                                           : s->c != NULL ? s->c
                                                          : s->a,
                                     [P] = (const char *)p,
                                     [E] = (const char *)xe};
    if (!(wide ? loops->split_f64 : loops->split_f32)(s->a, s->b != NULL ? s->b : s->a, s->n, xe, p,
                                                      xe))
        return false;
    for (size_t i = 0; !wide && s->c != NULL && i < s->n; i++) xe[i] = ((const float *)s->c)[i];
    return add_terms(j, s, at);
}

/* ---- floats ---------------------------------------------------------------------------------- */

static span cut(const span *s, size_t first, size_t n) {
    const size_t at = first * (size_t)bf_dtype_bytes(s->dtype);
    return (span){s->dtype, s->a + at, s->b != NULL ? s->b + at : NULL,
                  s->c != NULL ? s->c + at : NULL, n};
}

static void absorb_floats(joint *j, const span *s);

/* Absorbs copies in which NaNs and infinities, which are counted, are zeros, and so are the others
 * of their pairs, but for weights that count. */
static __attribute__((noinline)) void absorb_without_specials(joint *j, const span *s) {
    const size_t bytes = (size_t)bf_dtype_bytes(s->dtype);
    const bf_format format = bf_format_of(s->dtype);
    uint64_t a[BLOCK], b[BLOCK];
    for (size_t at = 0; at < s->n; at += BLOCK) {
        const span from = cut(s, at, s->n - at < BLOCK ? s->n - at : BLOCK);
        const span copy = {s->dtype, (char *)a, s->b != NULL ? (char *)b : NULL, NULL, from.n};
        memcpy(a, from.a, copy.n * bytes);
        if (s->b != NULL) memcpy(b, from.b, copy.n * bytes);
        for (size_t i = 0; i < copy.n; i++) {
            const int special =
                bf_sum_special_joint(j->kind, format, (uint64_t)load(s->dtype, copy.a, i),
                                     (uint64_t)load(s->dtype, copy.b, i));
            if (!special) continue;
            j->words[special]++;
            memset((char *)a + i * bytes, 0, bytes);
            if (s->b != NULL && !bf_sum_keeps_weight(j->kind, special))
                memset((char *)b + i * bytes, 0, bytes);
        }
        absorb_floats(j, &copy);
    }
}

/* Doubles by size: the products of MIDDLE ones are two doubles each; others are scaled to such. */
enum { SMALL, MIDDLE, LARGE, SIZES };

static int size_of(const char *x) {
    const uint64_t magnitude = bf_load_bits(x, 8) & ~bf_format_sign(bf_format_f64());
    return (magnitude >= (uint64_t)(1023 - 450) << 52) +
           (magnitude >= (uint64_t)(1023 + 450) << 52);
}

/* The sizes of pair i as one number. */
static int sizes_of(const span *s, size_t i) {
    return size_of(s->a + 8 * i) + SIZES * (s->b != NULL ? size_of(s->b + 8 * i) : MIDDLE);
}

/* Multiplies by 2^(*scale), which brings this size to the middle. */
static void scale_all(double *x, size_t n, int of, int *scale) {
    static const double factors[] = {0x1p700, 1, 0x1p-700};
    for (size_t i = 0; i < n; i++) x[i] *= factors[of];
    *scale = 700 * (MIDDLE - of);
}

/* Absorbs copies of pairs of the sizes k. So many that are scaled always have all terms added. */
static void absorb_alike(const joint *j, const span *s, double *a, double *b, int k) {
    joint scaled = *j;
    if (s->n < EXPONENTS_FROM) {
        absorb_by_rules(&scaled, s);
        return;
    }
    scale_all(a, s->n, k % SIZES, &scaled.scale_a);
    if (s->b != NULL) scale_all(b, s->n, k / SIZES, &scaled.scale_b);
    add_products(&scaled, s);
}

static __attribute__((noinline)) void absorb_sizes(const joint *j, const span *s, int k) {
    double a[BLOCK], *const b = a + BLOCK / 2;
    span some = {BF_F64, (char *)a, s->b != NULL ? (char *)b : NULL, NULL, 0};
    const size_t most = s->b != NULL ? BLOCK / 2 : BLOCK;
    for (size_t i = 0; i < s->n; i++) {
        memcpy(&a[some.n], s->a + 8 * i, 8);
        if (s->b != NULL) memcpy(&b[some.n], s->b + 8 * i, 8);
        some.n += sizes_of(s, i) == k;
        if (some.n < most && i + 1 < s->n) continue;
        absorb_alike(j, &some, a, b, k);
        some.n = 0;
    }
}

/* Absorbs pairs of finite doubles size by size. False, with nothing done: all are middle ones, or
 * there are three arrays. */
static bool absorb_by_size(joint *j, const span *s) {
    unsigned met = 0;
    if (s->c != NULL) return false;
    for (size_t i = 0; i < s->n; i++) met |= 1u << sizes_of(s, i);
    j->spread = met != 1u << (MIDDLE + SIZES * MIDDLE);
    for (int k = 0; k < SIZES * SIZES && j->spread; k++)
        if (met >> k & 1) absorb_sizes(j, s, k);
    return j->spread;
}

/* Absorbs a span: as a whole, by sizes, halves of it, or by the rules. */
static void absorb_floats(joint *j, const span *s) {
    const char *const at[FACTORS] = {[A] = s->a, [B] = s->b};
    const size_t most = j->products ? BLOCK : SPAN;
    const bool loops = j->reducer->isa->reduce->sum_f64 != NULL && s->n >= RULES_BELOW;
    if (!loops) {
        absorb_by_rules(j, s);
    } else if (s->n <= most && (j->products ? add_products(j, s) : add_terms(j, s, at))) {
        return;
    } else if (s->n <= most && !(is_finite(s, s->a) && is_finite(s, s->b))) {
        absorb_without_specials(j, s);
    } else if (s->n <= most && s->n >= EXPONENTS_FROM && j->products && s->dtype == BF_F64 &&
               absorb_by_size(j, s)) {
        return;
    } else {
        const size_t half = s->n > most ? most : s->n / 2;
        const span first = cut(s, 0, half), rest = cut(s, half, s->n - half);
        absorb_floats(j, &first);
        absorb_floats(j, &rest);
    }
}

static __attribute__((noinline)) void absorb_halves(joint *j, const span *s) {
    float a[BLOCK], b[BLOCK];
    for (size_t at = 0; at < s->n; at += BLOCK) {
        const span from = cut(s, at, s->n - at < BLOCK ? s->n - at : BLOCK);
        const span wide = {BF_F32, (char *)a, s->b != NULL ? (char *)b : NULL, NULL, from.n};
        bf_widen_halves(j->reducer->isa, s->dtype, from.a, a, from.n);
        if (s->b != NULL) bf_widen_halves(j->reducer->isa, s->dtype, from.b, b, from.n);
        absorb_floats(j, &wide);
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Adds a product of 128 bits to sums of 64-bit words. */
static void add_signed(bf_i128 *sums, bf_i128 product) {
    sums[0] += (uint64_t)product;
    sums[1] += (int64_t)(product >> 64);
}
static void add_unsigned(bf_i128 *sums, bf_u128 product) {
    sums[0] += (uint64_t)product;
    sums[1] += (uint64_t)(product >> 64);
}

static uint64_t word(const char *x, size_t i) { return bf_load_bits(x + 8 * i, 8); }

/* Sums of n products z x y, and if `fourth` of (x y)^2, of 64-bit integers, as words at 2^0, 2^64,
 * ... */
static inline __attribute__((always_inline)) void sum_i64(const char *x, const char *y,
                                                          const char *z, size_t n, bool fourth,
                                                          bf_i128 thirds[3], bf_i128 fourths[4]) {
    for (size_t i = 0; i < n; i++) {
        const bf_i128 product = (bf_i128)(int64_t)word(x, i) * (int64_t)word(y, i);
        const int64_t other = (int64_t)word(z, i), high = (int64_t)(product >> 64);
        const uint64_t low = (uint64_t)product;
        add_signed(thirds, (bf_i128)other * low);
        add_signed(thirds + 1, (bf_i128)other * high);
        if (!fourth) continue;
        add_unsigned(fourths, (bf_u128)low * low);
        add_signed(fourths + 1, (bf_i128)high * 2 * low);
        add_signed(fourths + 2, (bf_i128)high * high);
    }
}
static inline __attribute__((always_inline)) void sum_u64(const char *x, const char *y,
                                                          const char *z, size_t n, bool fourth,
                                                          bf_i128 thirds[3], bf_i128 fourths[4]) {
    for (size_t i = 0; i < n; i++) {
        const bf_u128 product = (bf_u128)word(x, i) * word(y, i);
        const uint64_t other = word(z, i), low = (uint64_t)product,
                       high = (uint64_t)(product >> 64);
        add_unsigned(thirds, (bf_u128)other * low);
        add_unsigned(thirds + 1, (bf_u128)other * high);
        if (!fourth) continue;
        add_unsigned(fourths, (bf_u128)low * low);
        add_unsigned(fourths + 1, (bf_u128)high * low);
        add_unsigned(fourths + 1, (bf_u128)high * low);
        add_unsigned(fourths + 2, (bf_u128)high * high);
    }
}

static void add_words(int64_t *limbs, const bf_i128 *sums, int count) {
    for (int i = 0; i < count; i++) {
        bf_limbs_add(limbs, 64 * i, (uint32_t)sums[i], false);
        bf_limbs_add_signed(limbs, 64 * i + 32, (int64_t)(sums[i] >> 32));
    }
}

/* Adds the products of three and of four integers of 64 bits: those of two have 128. */
static __attribute__((noinline)) void add_long_products(const span *s, int64_t *third,
                                                        int64_t *fourth) {
    const char *const x = s->a, *const y = s->b != NULL ? s->b : x,
                      *const z = s->c != NULL ? s->c : x;
    bf_i128 thirds[3] = {0}, fourths[4] = {0};
    const bool is_signed = bf_dtype_is_signed(s->dtype), pairs = s->b != NULL;
    if (is_signed && pairs)
        sum_i64(x, y, z, s->n, false, thirds, fourths);
    else if (is_signed)
        sum_i64(x, x, x, s->n, true, thirds, fourths);
    else if (pairs)
        sum_u64(x, y, z, s->n, false, thirds, fourths);
    else
        sum_u64(x, x, x, s->n, true, thirds, fourths);
    add_words(third, thirds, 3);
    if (!pairs) add_words(fourth, fourths, 4);
}

/* Adds those of shorter ones. */
static __attribute__((noinline)) void add_short_products(const joint *j, const span *s,
                                                         int64_t *third, int64_t *fourth) {
    const bf_dtype wide = bf_dtype_is_signed(s->dtype) ? BF_I64 : BF_U64;
    const int bits = 8 * bf_dtype_bytes(s->dtype);
    uint64_t x[BLOCK], p[BLOCK];
    for (size_t i = 0; i < s->n; i++) {
        uint64_t a = (uint64_t)load(s->dtype, s->a, i), b = a;
        if (s->b != NULL) b = (uint64_t)load(s->dtype, s->b, i);
        x[i] = wide == BF_I64 ? (uint64_t)bf_sign_extend(a, bits) : a;
        p[i] = x[i] * (wide == BF_I64 ? (uint64_t)bf_sign_extend(b, bits) : b);
        if (s->c == NULL) continue;
        const uint64_t c = (uint64_t)load(s->dtype, s->c, i);
        x[i] = wide == BF_I64 ? (uint64_t)bf_sign_extend(c, bits) : c;
    }
    bf_integers_add(j->reducer->isa, wide, x, p, s->n, third);
    if (s->b == NULL) bf_integers_add(j->reducer->isa, wide, p, p, s->n, fourth);
}

static void add_integer_products(const joint *j, const span *s) {
    int64_t *third = j->words + (s->b != NULL ? part_of(j, 2, 1) : part_of(j, 3, 0))->at;
    int64_t *fourth = s->b != NULL ? NULL : j->words + part_of(j, 4, 0)->at;
    if (bf_dtype_bytes(s->dtype) == 8)
        add_long_products(s, third, fourth);
    else
        add_short_products(j, s, third, fourth);
}

static __attribute__((noinline)) void absorb_integers(joint *j, const span *s) {
    const bool is_bool = s->dtype == BF_BOOL;
    uint8_t a[BLOCK], b[BLOCK];
    for (size_t at = 0; at < s->n; at += BLOCK) {
        span x = cut(s, at, s->n - at < BLOCK ? s->n - at : BLOCK);
        for (size_t i = 0; is_bool && i < x.n; i++) {
            a[i] = x.a[i] != 0;
            b[i] = x.b != NULL && x.b[i] != 0;
        }
        if (is_bool) x = (span){BF_U8, (char *)a, x.b != NULL ? (char *)b : NULL, NULL, x.n};
        const char *const from[FACTORS] = {[A] = x.a, [B] = x.b};
        for (int t = 0; t < j->count; t++)
            if (j->terms[t].x <= B)
                bf_integers_add(j->reducer->isa, x.dtype, from[j->terms[t].x], from[j->terms[t].y],
                                x.n, j->words + j->to[t]->at);
        if (j->products) add_integer_products(j, &x);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static void absorb_span(joint *j, const span *s) {
    if (bf_dtype_is_half(s->dtype))
        absorb_halves(j, s);
    else if (j->spread && is_finite(s, s->a) && is_finite(s, s->b) && absorb_by_size(j, s))
        return;
    else if (bf_dtype_is_float(s->dtype))
        absorb_floats(j, s);
    else if (s->dtype != BF_I128 && j->reducer->isa->reduce->integer_sum[BF_U8] != NULL)
        absorb_integers(j, s);
    else
        absorb_by_rules(j, s);
}

void bf_joint_absorb(bf_reducer *reducer, const bf_job *job, int64_t first, int64_t n,
                     int64_t *words) {
    const size_t bytes = (size_t)bf_number_bytes(job->dtype);
    joint j;
    open_joint(&j, reducer, job, words);
    size_t at = (size_t)first, left = (size_t)n;
    for (int spans = 1; left > 0; spans++) {
        const size_t count = left < SPAN ? left : SPAN;
        const span s = {job->dtype, (const char *)job->a + at * bytes,
                        job->b != NULL ? (const char *)job->b + at * bytes : NULL,
                        job->c != NULL ? (const char *)job->c + at * bytes : NULL, count};
        absorb_span(&j, &s);
        at += count;
        left -= count;
        if (left == 0 || spans % CARRY_SPANS == 0) bf_sum_carry(j.kind, j.dtype, words);
    }
    words[BF_SUM_COUNT] += n;
}
