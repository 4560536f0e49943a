/* Joint kinds on one thread: their parts are sums, squares and dot products, which the loops of
 * those add up. A product of three or four elements is a dot product of one or two of them with the
 * product of the others, which two doubles hold: p = x y rounded, and e = x y - p.
 *
 * What does not suit (products that leave the range of doubles, integers of 64 bits and more)
 * goes by the rules, element by element. */
#include "cpu/reduce/reduce.h"

#include "rules/number/wide.h"
#include "rules/reduce/sum.h"

enum {
    SPAN = 8192, /* elements whose parts are absorbed in turn, from the cache */
    BLOCK = 512  /* elements that are copied at a time */
};

/* A sum that a joint kind is made of, with its words. */
typedef struct sum_of {
    bf_kind kind;
    bf_dtype dtype;
    bf_windows *windows;
    int64_t words[BF_SUM_WORDS_MAX];
} sum_of;

/* The sums: moments of an array, products of both, and products of three and four elements. */
enum { OF_A, OF_B, PRODUCTS, THIRDS, FOURTHS = OF_B };

/* What one call absorbs: the joint words take what goes by the rules at once, and the sums at the
 * end. */
typedef struct joint {
    const bf_isa *isa;
    bf_kind kind;
    bf_dtype dtype; /* the elements' */
    bf_parts parts;
    int64_t *words;
    sum_of sums[BF_JOINT_SERIES];
} joint;

/* Elements of a span: 16-bit floats are held as f32. */
typedef struct span {
    bf_dtype dtype;
    const char *a, *b;
    size_t n;
} span;

/* ---- the sums -------------------------------------------------------------------------------- */

static void open_sum(joint *j, bf_reducer *reducer, int i, bf_kind kind, bf_dtype dtype) {
    sum_of *s = &j->sums[i];
    s->kind = kind;
    s->dtype = dtype;
    s->windows = &reducer->joint[i];
    bf_state_init(kind, dtype, s->words);
}

static void absorb_sum(joint *j, int i, const void *a, const void *b, size_t n) {
    sum_of *s = &j->sums[i];
    const bf_job job = {.kind = s->kind, .dtype = s->dtype, .a = a, .b = b};
    bf_reducer reducer = {
        .isa = j->isa, .sum = s->windows->sum, .products = s->windows->products, .mixed = true};
    bf_sum_absorb(&reducer, &job, 0, (int64_t)n, s->words);
    *s->windows = (bf_windows){reducer.sum, reducer.products};
}

/* Adds the limbs of a sum, of terms of so many factors, to the part of a^i * b^k. */
static void merge_sum(joint *j, int which, int factors, int i, int k) {
    const sum_of *s = &j->sums[which];
    const bf_sum_shape shape = bf_sum_shape_of(s->kind, s->dtype);
    const bf_layout from = factors == 1 ? shape.sum : shape.products;
    bf_wide x;
    const bool negative =
        bf_wide_from_limbs(&x, s->words + (factors == 1 ? shape.sum_at : shape.products_at),
                           from.limbs, from.exponent);
    for (int p = 0; p < j->parts.count; p++) {
        const bf_part *part = &j->parts.part[p];
        if (part->a != i || part->b != k) continue;
        for (int d = 0; d < x.length; d++) {
            const int position = x.exponent + 32 * d - part->layout.exponent;
            const uint32_t digit = position < 0 ? x.digit[d] >> -position : x.digit[d];
            bf_limbs_add(j->words + part->at, position < 0 ? 0 : position, digit, negative);
        }
    }
}

/* Can doubles, or integers of 64 bits, hold the product of two elements? */
static bool has_thirds(bf_dtype dtype) { return bf_dtype_bytes(dtype) <= 4 || dtype == BF_F64; }

/* The dtype in which products are factors. */
static bf_dtype factor_dtype(bf_dtype dtype) {
    if (bf_dtype_is_float(dtype)) return BF_F64;
    return bf_dtype_is_signed(dtype) ? BF_I64 : BF_U64;
}

static void open_joint(joint *j, bf_reducer *reducer) {
    const bf_dtype factors = factor_dtype(j->dtype);
    if (j->kind == BF_KIND_WEIGHTED)
        open_sum(j, reducer, OF_B, BF_KIND_MOMENTS, j->dtype);
    else
        open_sum(j, reducer, OF_A, BF_KIND_MOMENTS, j->dtype);
    if (j->kind == BF_KIND_COMOMENTS) open_sum(j, reducer, OF_B, BF_KIND_MOMENTS, j->dtype);
    if (j->kind != BF_KIND_POWERS) open_sum(j, reducer, PRODUCTS, BF_KIND_DOT, j->dtype);
    if (j->kind != BF_KIND_COMOMENTS) open_sum(j, reducer, THIRDS, BF_KIND_DOT, factors);
    if (j->kind == BF_KIND_POWERS) open_sum(j, reducer, FOURTHS, BF_KIND_DOT, factors);
}

static void close_joint(joint *j) {
    if (j->kind == BF_KIND_POWERS) {
        for (int i = 1; i <= 2; i++) merge_sum(j, OF_A, i, i, 0);
        merge_sum(j, THIRDS, 2, 3, 0);
        merge_sum(j, FOURTHS, 2, 4, 0);
    } else {
        for (int i = 1; i <= 2; i++) merge_sum(j, OF_B, i, 0, i);
        merge_sum(j, PRODUCTS, 2, 1, 1);
    }
    if (j->kind == BF_KIND_WEIGHTED) merge_sum(j, THIRDS, 2, 2, 1);
    if (j->kind == BF_KIND_COMOMENTS)
        for (int i = 1; i <= 2; i++) merge_sum(j, OF_A, i, i, 0);
    bf_sum_carry(j->kind, j->dtype, j->words);
}

/* ---- by the rules ---------------------------------------------------------------------------- */

static bf_i128 load(bf_dtype dtype, const char *x, size_t i) {
    if (x == NULL) return 0;
    if (dtype == BF_I128) return bf_load_i128(x + 16 * i);
    const int bytes = bf_dtype_bytes(dtype);
    return (bf_i128)bf_load_bits(x + i * (size_t)bytes, bytes);
}

static void absorb_by_rules(joint *j, const span *s) {
    const int64_t count = j->words[BF_SUM_COUNT]; /* counted by the caller */
    for (size_t i = 0; i < s->n; i++)
        bf_sum_take_joint(j->kind, s->dtype, &j->parts, j->words, load(s->dtype, s->a, i),
                          load(s->dtype, s->b, i));
    j->words[BF_SUM_COUNT] = count;
}

/* ---- products of three and four -------------------------------------------------------------- */

/* Factors of a block: x is an element of a, and p + e the product of it with one of b (or itself).
 */
typedef union factor {
    double f;
    int64_t i;
    uint64_t u;
} factor;
typedef struct factors {
    factor x[BLOCK], p[BLOCK], e[BLOCK];
} factors;

static double element(const span *s, const char *x, size_t i) {
    float narrow;
    double wide;
    if (s->dtype == BF_F64) {
        memcpy(&wide, x + 8 * i, 8);
        return wide;
    }
    memcpy(&narrow, x + 4 * i, 4);
    return narrow;
}

/* The upper bits of x, so that x - high has as few: products of such halves are exact. (Veltkamp,
 * "ALGOL procedures voor het berekenen van een inwendig product in dubbele precisie", 1968.) */
static double high_of(double x) {
    const double big = x * 0x8000001p0;
    return big - (big - x);
}

/* Splits x * y into p + e (Dekker, 1971). False: it may not be exact, as p is too large or small.
 */
static bool split_product(double x, double y, double *p, double *e) {
    const double xh = high_of(x), xl = x - xh, yh = high_of(y), yl = y - yh;
    *p = x * y;
    *e = xl * yl - (((*p - xh * yh) - xl * yh) - xh * yl);
    const double size = fabs(*p);
    const bool zero = x == 0 || y == 0;
    return (size > 0x1p-900 || zero) && size < 0x1p900 && fabs(x) < 0x1p900 && fabs(y) < 0x1p900;
}

/* False: some product is not exact. */
static bool split_floats(const span *s, size_t first, size_t n, factors *f) {
    const char *b = s->b != NULL ? s->b : s->a;
    bool exact = true;
    for (size_t i = 0; i < n; i++) {
        f->x[i].f = element(s, s->a, first + i);
        exact &= split_product(f->x[i].f, element(s, b, first + i), &f->p[i].f, &f->e[i].f);
    }
    return exact;
}

static void multiply_integers(const span *s, size_t first, size_t n, factors *f) {
    const bool is_signed = bf_dtype_is_signed(s->dtype);
    const int bits = 8 * bf_dtype_bytes(s->dtype);
    for (size_t i = 0; i < n; i++) {
        uint64_t x = (uint64_t)load(s->dtype, s->a, first + i);
        uint64_t y = s->b != NULL ? (uint64_t)load(s->dtype, s->b, first + i) : x;
        if (s->dtype == BF_BOOL) {
            x = x != 0;
            y = y != 0;
        } else if (is_signed) {
            x = (uint64_t)bf_sign_extend(x, bits);
            y = (uint64_t)bf_sign_extend(y, bits);
        }
        f->x[i].u = x;
        f->p[i].u = x * y;
    }
}

/* Absorbs the products of three and of four elements of a block. False, with nothing done: they do
 * not suit. Not inlined: its factors stand on the stack of no other reduction. */
static __attribute__((noinline)) bool absorb_products(joint *j, const span *s, size_t first,
                                                      size_t n) {
    const bool is_float = bf_dtype_is_float(s->dtype);
    factors f;
    if (is_float && !split_floats(s, first, n, &f)) return false;
    if (!is_float) multiply_integers(s, first, n, &f);
    const bool rest = s->dtype == BF_F64; /* doubles hold products of two f32 */
    absorb_sum(j, THIRDS, f.x, f.p, n);
    if (rest) absorb_sum(j, THIRDS, f.x, f.e, n);
    if (j->kind != BF_KIND_POWERS) return true;
    absorb_sum(j, FOURTHS, f.p, f.p, n);
    if (!rest) return true;
    absorb_sum(j, FOURTHS, f.e, f.e, n);
    for (size_t i = 0; i < n; i++) f.p[i].f *= 2;
    absorb_sum(j, FOURTHS, f.p, f.e, n);
    return true;
}

/* ---- spans ----------------------------------------------------------------------------------- */

/* Absorbs a span without NaNs and infinities, a block of it by the rules where it must be. */
static void absorb_finite(joint *j, const span *s) {
    const size_t bytes = (size_t)bf_number_bytes(s->dtype);
    const bool products = j->kind != BF_KIND_COMOMENTS;
    for (size_t at = 0, n; at < s->n; at += n) {
        n = !products ? s->n : s->n - at < BLOCK ? s->n - at : BLOCK;
        const char *a = s->a + at * bytes, *b = s->b != NULL ? s->b + at * bytes : NULL;
        if (products && !(has_thirds(s->dtype) && absorb_products(j, s, at, n))) {
            const span block = {s->dtype, a, b, n};
            absorb_by_rules(j, &block);
            continue;
        }
        if (j->kind != BF_KIND_WEIGHTED) absorb_sum(j, OF_A, a, NULL, n);
        if (j->kind != BF_KIND_POWERS) {
            absorb_sum(j, OF_B, b, NULL, n);
            absorb_sum(j, PRODUCTS, a, b, n);
        }
    }
}

static bool is_finite(const span *s, const char *x) {
    uint64_t odd = 0;
    if (x == NULL) return true;
    for (size_t i = 0; i < s->n; i++) {
        const double value = element(s, x, i);
        odd |= !(fabs(value) < (double)INFINITY);
    }
    return odd == 0;
}

/* Absorbs copies in which pairs with a NaN or infinity, which are counted, are zeros. */
static __attribute__((noinline)) void absorb_without_specials(joint *j, const span *s) {
    const size_t bytes = s->dtype == BF_F64 ? 8 : 4;
    const bf_format format = bf_format_of(s->dtype);
    uint64_t a[BLOCK], b[BLOCK];
    for (size_t at = 0; at < s->n; at += BLOCK) {
        span copy = {s->dtype, (char *)a, s->b != NULL ? (char *)b : NULL,
                     s->n - at < BLOCK ? s->n - at : BLOCK};
        memcpy(a, s->a + at * bytes, copy.n * bytes);
        if (s->b != NULL) memcpy(b, s->b + at * bytes, copy.n * bytes);
        for (size_t i = 0; i < copy.n; i++) {
            const int special =
                bf_sum_special_joint(j->kind, format, (uint64_t)load(s->dtype, copy.a, i),
                                     (uint64_t)load(s->dtype, copy.b, i));
            if (!special) continue;
            j->words[special]++;
            memset((char *)a + i * bytes, 0, bytes);
            memset((char *)b + i * bytes, 0, bytes);
        }
        absorb_finite(j, &copy);
    }
}

static void absorb_span(joint *j, const span *s) {
    if (bf_dtype_is_float(s->dtype) && !(is_finite(s, s->a) && is_finite(s, s->b)))
        absorb_without_specials(j, s);
    else
        absorb_finite(j, s);
}

static __attribute__((noinline)) void absorb_halves(joint *j, const span *s, bf_dtype dtype) {
    float a[BLOCK], b[BLOCK];
    for (size_t at = 0; at < s->n; at += BLOCK) {
        const span block = {BF_F32, (char *)a, s->b != NULL ? (char *)b : NULL,
                            s->n - at < BLOCK ? s->n - at : BLOCK};
        bf_widen_halves(j->isa, dtype, s->a + 2 * at, a, block.n);
        if (s->b != NULL) bf_widen_halves(j->isa, dtype, s->b + 2 * at, b, block.n);
        absorb_span(j, &block);
    }
}

/* 16-bit floats have the layouts of f32. */
static bf_dtype held_as(bf_dtype dtype) {
    return bf_dtype_is_float(dtype) && bf_dtype_bytes(dtype) == 2 ? BF_F32 : dtype;
}

void bf_joint_absorb(bf_reducer *reducer, const bf_job *job, int64_t first, int64_t n,
                     int64_t *words) {
    const size_t bytes = (size_t)bf_number_bytes(job->dtype);
    joint j = {.isa = reducer->isa, .kind = job->kind, .dtype = held_as(job->dtype)};
    j.parts = bf_parts_of(j.kind, j.dtype);
    j.words = words;
    open_joint(&j, reducer);
    for (size_t at = (size_t)first, end = (size_t)(first + n), count; at < end; at += count) {
        count = end - at < SPAN ? end - at : SPAN;
        const span s = {job->dtype, (const char *)job->a + at * bytes,
                        job->b != NULL ? (const char *)job->b + at * bytes : NULL, count};
        if (j.dtype != job->dtype)
            absorb_halves(&j, &s, job->dtype);
        else
            absorb_span(&j, &s);
        bf_sum_carry(j.kind, j.dtype, words);
    }
    words[BF_SUM_COUNT] += n;
    close_joint(&j);
}
