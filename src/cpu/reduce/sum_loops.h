/* The exact sum in a window, for vectors of doubles: included once by each instruction set.
 *
 * The file that includes it defines
 *   LANES             doubles in a vector
 *   vf64, vi64, vu64  vectors of LANES doubles, of LANES int64, of LANES uint64
 *   load_f64(p)       LANES doubles from p; load_f32(p): LANES floats, converted
 *   add_quiet(a, b)   a + b rounded to nearest; mul_quiet(a, b)
 *   sub_fused(a, b), add_fused(a, b)   by fused multiply-adds, if that is faster
 *   mul_sub(a, b, c)  a * b - c, fused
 *   CERTIFICATE_FLAGS if the first of the certificates below is to be used
 *   CERTIFICATE_X86   of the second, if it may use the flags of such a processor
 *   ROUND_QUIET       there, if it defines round_quiet(x): x rounded to an integer, without a flag
 *   max_f64(x, m), min_f64(x, m)   m where x is NaN
 *   COLUMNS(levels)   independent accumulators of so many sums each, so that additions overlap
 *   ROW(levels)       vectors that enter them together, a multiple of that (if not as many)
 *   FUSES(level)      whether the rest at a level takes sub_fused (if not at every second one)
 *   least_halves(a, b)   the lesser of each two signed 32-bit integers
 *   LOAD_PARTS        if it defines load_part_f64(p, n) and load_part_f32(p, n): the first
 *                     n <= LANES elements at p, and zeros
 *
 * Each element goes down the levels of one column: at each, t = S + x rounds x to the level's unit,
 * t - S is what was taken, and x - (t - S) goes on. All operations but the first are exact if x is
 * within the window, and then the last level takes the rest without rounding. The certificate
 * says so, once for all elements.
 *
 * FLAGS: add_quiet and mul_quiet leave the processor's flags alone (AVX-512's embedded rounding),
 * so that a clear "inexact" flag at the end proves that every other operation was exact; nothing
 * else need be known about the data. LEFTOVERS: what the last level leaves is collected, and so is
 * the largest |x|, which bounds the first level. On x86, flags tell of windows of one level, too;
 * and with round_quiet of others: q = round_quiet(x), S + q and x - q take the place of t, t - S
 * and x - (t - S), for x in units of the level, and all but q are exact. Products of doubles, which
 * round, have leftovers.
 *
 * A loop that is to count -0 only looks whether there may be some, for one operation a vector: the
 * upper half of -0 is the least of all 32-bit integers. They are counted if so, in a second pass.
 * Floats are looked at before they become doubles, twice as many at a time.
 */

#include "cpu/reduce/computed_loops.h"
#include "cpu/reduce/reduce.h"
#include "cpu/runtime/vector.h"
#include "rules/reduce/sum_window.h"

#ifndef ROW
#define ROW(levels) COLUMNS(levels)
#endif
#ifndef FUSES
#define FUSES(level) ((level) % 2)
#endif

enum { COLUMNS_MAX = 8, SUMS_MAX = 8, LEAST = LANES > 4 ? 4 : 1 };

/* Vectors in a block of terms: whole rows, and enough of them that the choice of a step is cheap.
 */
#define BLOCK(in, levels) ((in) == IN_F32 ? 8 : ROW(levels) < 4 ? 4 : ROW(levels))
_Static_assert(BF_COMPUTED_GROUP % (COLUMNS_MAX * LANES) == 0, "groups have whole blocks");

typedef enum input { IN_F64, IN_F32, IN_F64_PAIR, IN_F32_PAIR } input;

INLINE size_t input_bytes(input in) { return in == IN_F64 || in == IN_F64_PAIR ? 8 : 4; }
INLINE bool input_is_pair(input in) { return in == IN_F64_PAIR || in == IN_F32_PAIR; }

/* The sums in a column: of terms, and behind them of the rounding errors of products of doubles. */
INLINE int term_sums(input in, int levels) {
    return in == IN_F64_PAIR ? bf_window_split_of(levels).products : levels;
}
INLINE int error_sums(input in, int levels) {
    return in == IN_F64_PAIR ? bf_window_split_of(levels).errors : 0;
}
INLINE int sums_of(input in, int levels) { return term_sums(in, levels) + error_sums(in, levels); }

INLINE vf64 broadcast(double x) { return x - (vf64){0}; }

INLINE vf64 magnitude(vf64 x) { return (vf64)((vi64)x & INT64_MAX); }

#ifndef LOAD_PARTS
INLINE vf64 load_part_f64(const char *p, size_t n) {
    vf64 x = {0};
    for (size_t i = 0; i < n; i++) x[i] = ((const f64_element *)p)[i];
    return x;
}
INLINE vf64 load_part_f32(const char *p, size_t n) {
    vf64 x = {0};
    for (size_t i = 0; i < n; i++) x[i] = (double)((const f32_element *)p)[i];
    return x;
}
#endif

#ifndef ROUND_QUIET
INLINE vf64 round_quiet(vf64 x) { return x; } /* nothing calls it */
#endif

INLINE vf64 window_start(int bottom, int level) {
    int64_t bits = bf_window_start(bf_window_bottom(bottom, level));
    return (vf64)(bits - (vi64){0});
}

#if defined(CERTIFICATE_FLAGS) || defined(CERTIFICATE_X86)

enum {
    FLAGS_STANDARD = 0x1f80,
    FLAG_INEXACT = 0x20,
    FLAG_UNDERFLOW = 0x10,
    FLAG_OVERFLOW = 0x08,
    FLAG_INVALID = 0x01
};

INLINE void clear_flags(void) {
    unsigned standard = FLAGS_STANDARD;
    __asm__ volatile("ldmxcsr %0" : : "m"(standard) : "memory");
}

INLINE unsigned raised_flags(void) {
    unsigned flags;
    __asm__ volatile("stmxcsr %0" : "=m"(flags) : : "memory");
    return flags;
}

/* Operations must not move across the reading of the flags, which compilers do not know of: their
 * results pass through here. */
INLINE vu64 pinned(vu64 v) {
    __asm__ volatile("" : "+v"(v));
    return v;
}

INLINE bool was_exact(void) {
    return (raised_flags() & (FLAG_INEXACT | FLAG_UNDERFLOW | FLAG_OVERFLOW | FLAG_INVALID)) == 0;
}

/* Additions to a window of one level are all exact, which the flags tell. As fewer of them come
 * between folds, terms may be larger. */
enum { HAS_FLAGS = 1, ONE_LEVEL_BITS = BF_WINDOW_BITS + 3, ONE_LEVEL_ROWS = BF_WINDOW_ROWS >> 3 };

#else

INLINE void clear_flags(void) {}
INLINE bool was_exact(void) { return false; }
INLINE vu64 pinned(vu64 v) { return v; }
enum { HAS_FLAGS = 0, ONE_LEVEL_BITS = BF_WINDOW_BITS, ONE_LEVEL_ROWS = BF_WINDOW_ROWS };

#endif

_Static_assert(ONE_LEVEL_ROWS % COLUMNS_MAX == 0, "a window ends with a block");

/* Do flags tell all about such a window? Terms that are computed may have rounded, as products of
 * doubles do. */
INLINE bool flags_tell(input in, int levels, bool computed) {
#if defined(ROUND_QUIET)
    if (levels > 1) return in != IN_F64_PAIR && !computed;
#else
    (void)in, (void)computed;
#endif
    return HAS_FLAGS && levels == 1;
}

INLINE size_t rows_of(input in, int levels) {
    if (in == IN_F64_PAIR && levels > 3) return BF_SPLIT_ROWS;
    return levels == 1 ? (size_t)ONE_LEVEL_ROWS : (size_t)BF_WINDOW_ROWS;
}

/* What a term may be of u of the first level: S stays above it for so many rows. */
INLINE int greatest_bits(input in, int levels) {
    return 2 + (in == IN_F64_PAIR ? bf_window_split_of(levels).bits : BF_WINDOW_BITS);
}

#if defined(CERTIFICATE_FLAGS)

typedef struct certificate {
    vi64 strayed; /* bits in which a sum's sign and exponent differ from its start's */
} certificate;

INLINE void certificate_begin(certificate *c, bool plain, int bottom) {
    (void)plain, (void)bottom;
    *c = (certificate){0};
    clear_flags();
}

INLINE bool is_scaled(const certificate *c, int levels) {
    (void)c, (void)levels;
    return false;
}
INLINE vf64 scaled(const certificate *c, int levels, vf64 x) {
    (void)c, (void)levels;
    return x;
}

INLINE void check_term(certificate *c, vf64 x) { (void)c, (void)x; }
INLINE void check_factors(certificate *c, vf64 a, vf64 b) { (void)c, (void)a, (void)b; }

INLINE void add_last(certificate *c, vf64 *sum, vf64 x) {
    (void)c;
    *sum = add_fused(*sum, x);
}

INLINE bool certificate_holds(const certificate *c, int most) {
    (void)c, (void)most;
    return was_exact();
}

#else

typedef struct certificate {
    vi64 strayed;
    vi64 left;              /* bits of what the last level left over */
    vf64 largest, smallest; /* |x|; |factors| other than 0 */
    vf64 unit;  /* 1 / u of the first level; infinite, which nothing fits, if too large */
    bool plain; /* flags tell all */
} certificate;

INLINE void certificate_begin(certificate *c, bool plain, int bottom) {
    const uint64_t field = bottom > -1024 ? (uint64_t)(1023 - bottom) : 2047; /* infinite */
    const vf64 unit = (vf64)((field << 52) - (vu64){0});
    *c = (certificate){.smallest = broadcast(1.0), .plain = plain, .unit = unit};
    clear_flags();
}

/* Are terms in units of the first level? Then each level takes integers, and the last one
 * multiples of the second's unit. */
INLINE bool is_scaled(const certificate *c, int levels) { return c->plain && levels > 1; }
INLINE vf64 scaled(const certificate *c, int levels, vf64 x) {
    if (is_scaled(c, levels)) x *= c->unit;
    return x;
}

INLINE void check_term(certificate *c, vf64 x) {
    if (!c->plain) c->largest = max_f64(magnitude(x), c->largest);
}

#if defined(CERTIFICATE_X86)

INLINE void check_factors(certificate *c, vf64 a, vf64 b) { (void)c, (void)a, (void)b; }
INLINE bool errors_are_doubles(const certificate *c) {
    (void)c;
    return (raised_flags() & FLAG_UNDERFLOW) == 0;
}

#else

/* A factor 0 becomes a NaN, which min_f64 passes over. */
INLINE void check_factors(certificate *c, vf64 a, vf64 b) {
    c->smallest = min_f64((vf64)((vi64)magnitude(a) | (a == 0)), c->smallest);
    c->smallest = min_f64((vf64)((vi64)magnitude(b) | (b == 0)), c->smallest);
}

/* Factors of at least 2^-480 have products whose rounding error is a double. */
INLINE bool errors_are_doubles(const certificate *c) {
    bool large = true;
    for (int i = 0; i < LANES; i++) large &= c->smallest[i] >= 0x1p-480;
    return large;
}

#endif

INLINE void add_last(certificate *c, vf64 *sum, vf64 x) {
    if (c->plain) {
        *sum += x;
        return;
    }
    vf64 t = add_fused(*sum, x);
    c->left |= (vi64)sub_fused(x, t - *sum);
    *sum = t;
}

/* |x| <= 2^most moves a sum that takes its rows by at most 2^52 u: it stays above |x|, and what an
 * addition takes and leaves is exact (Dekker), even where it rounds to 2 u.
 * Where the limit is no normal double, it becomes 0 or less, and nothing but zeros is within it. */
INLINE bool certificate_holds(const certificate *c, int most) {
    vi64 bits = (vi64)window_start(most - 52, 0);
    vf64 limit = (vf64)(bits & ~((int64_t)1 << 51));
    if (c->plain) return was_exact();
    vi64 wrong = (c->left & INT64_MAX) | ~(c->largest <= limit);
    bool holds = errors_are_doubles(c);
    for (int i = 0; i < LANES; i++) holds &= wrong[i] == 0;
    return holds;
}

#endif

/* x enters a column at one level; it becomes what is left. AMD's Zen adds on two pipes and
 * multiplies on two others: so some operations are fused multiply-adds, by one. */
INLINE void deposit_at(certificate *c, vf64 *column, int l, int levels, vf64 *x) {
    if (l == levels - 1) {
        add_last(c, &column[l], *x);
        return;
    }
    if (is_scaled(c, levels)) {
        if (l > 0) *x *= broadcast((double)((int64_t)1 << (BF_WINDOW_BITS + 1)));
        const vf64 taken = round_quiet(*x);
        column[l] += taken;
        *x = sub_fused(*x, taken);
        return;
    }
    vf64 t = add_quiet(column[l], *x), taken = t - column[l];
    if (FUSES(l))
        *x = sub_fused(*x, taken);
    else
        *x -= taken;
    column[l] = t;
}

/* x goes down the levels of a column. */
INLINE void deposit(certificate *c, vf64 *column, int levels, vf64 x) {
    UNROLL
    for (int l = 0; l < levels; l++) deposit_at(c, column, l, levels, &x);
}

/* A vector in a register: memory that two operations read would be loaded twice. */
INLINE vf64 loaded(vf64 x) {
#if defined(__x86_64__)
    __asm__("" : "+v"(x));
#endif
    return x;
}

/* The products of two vectors. *rest, of doubles: their rounding errors, at most 2^-53 of them.
 * Products of floats have 48 bits, and are exact. */
INLINE vf64 multiply(certificate *c, input in, vf64 x, vf64 y, vf64 *rest) {
    if (in == IN_F32_PAIR) return x * y;
    vf64 product = mul_quiet(x, y);
    check_factors(c, x, y);
    *rest = mul_sub(x, y, product);
    return product;
}

INLINE vf64 load(input in, const char *p) {
    return input_bytes(in) == 8 ? load_f64(p) : load_f32(p);
}

INLINE vf64 load_part(input in, const char *p, size_t n) {
    return input_bytes(in) == 8 ? load_part_f64(p, n) : load_part_f32(p, n);
}

/* Does a row of floats have whole vectors of them? */
INLINE bool looks_at_floats(input in, int width) { return in == IN_F32 && width % 2 == 0; }

/* A vector of terms enters a column; of products of doubles, so do their errors. */
INLINE void take_terms(certificate *c, input in, vf64 *column, int levels, vf64 x, vf64 rest) {
    const int own = term_sums(in, levels);
    deposit(c, column, own, x);
    if (in == IN_F64_PAIR) deposit(c, column + own, error_sums(in, levels), rest);
}

/* Terms go down level by level, and so do rest[], if they have errors: so no operation waits long
 * for those before it, where a column alone is deep. */
INLINE void take_by_level(certificate *c, input in, vf64 columns[][SUMS_MAX], int levels, vf64 *x,
                          vf64 *rest) {
    const int own = term_sums(in, levels), errors = error_sums(in, levels);
    const int width = ROW(sums_of(in, levels)), count = COLUMNS(sums_of(in, levels));
    UNROLL
    for (int l = 0; l < own; l++) {
        UNROLL
        for (int k = 0; k < width; k++) deposit_at(c, columns[k % count], l, own, &x[k]);
        if (l >= errors) continue;
        UNROLL
        for (int k = 0; k < width; k++)
            deposit_at(c, columns[k % count] + own, l, errors, &rest[k]);
    }
}

/* A row of vectors enters the columns, which get as many each. least: the least halves of all
 * terms, if they are looked at, or the least floats as integers; several, so that they overlap. */
INLINE void take_row(certificate *c, input in, bool looks, vf64 columns[][SUMS_MAX], int levels,
                     const char *a, const char *b, vi64 least[LEAST]) {
    const size_t step = LANES * input_bytes(in);
    const int width = ROW(sums_of(in, levels)), count = COLUMNS(sums_of(in, levels));
    const bool by_level = width > count;
    vf64 x[COLUMNS_MAX], rest[COLUMNS_MAX];
    UNROLL
    for (int k = 0; k < width; k++) {
        x[k] = load(in, a + (size_t)k * step);
        if (looks && in == IN_F64) x[k] = loaded(x[k]);
        if (input_is_pair(in))
            x[k] = multiply(c, in, x[k], load(in, b + (size_t)k * step), &rest[k]);
        check_term(c, x[k]);
        if (looks && !looks_at_floats(in, width))
            least[k % LEAST] = least_halves(least[k % LEAST], (vi64)x[k]);
        x[k] = scaled(c, levels, x[k]);
        if (!by_level) take_terms(c, in, columns[k], levels, x[k], rest[k]);
    }
    if (by_level) take_by_level(c, in, columns, levels, x, rest);
    if (!looks || !looks_at_floats(in, width)) return;
    UNROLL
    for (int k = 0; k < width / 2; k++) {
        vi64 floats;
        memcpy(&floats, a + (size_t)(2 * k) * step, sizeof floats);
        least[k % LEAST] = least_halves(least[k % LEAST], floats);
    }
}

/* The last elements, too few for a row, in one column: a vector at a time, and a part of one. */
INLINE void take_tail(certificate *c, input in, bool looks, vf64 *column, int levels, const char *a,
                      const char *b, size_t n, vi64 least[LEAST]) {
    const size_t step = LANES * input_bytes(in);
    for (; n > 0; a += step, b += step) {
        const size_t part = n < LANES ? n : LANES;
        vf64 x = load_part(in, a, part), rest = {0};
        if (input_is_pair(in)) x = multiply(c, in, x, load_part(in, b, part), &rest);
        check_term(c, x);
        if (looks) least[0] = least_halves(least[0], (vi64)x);
        take_terms(c, in, column, levels, scaled(c, levels, x), rest);
        n -= part;
    }
}

/* May a term be -0? floats: `all` are floats, not halves of doubles. */
INLINE bool may_be_neg_zero(const vi64 all[LEAST], bool floats) {
    vi64 least = all[0];
    bool found = false;
    for (int i = 1; i < LEAST; i++) least = least_halves(least, all[i]);
    for (int i = 0; i < LANES; i++) {
        found |= (uint64_t)least[i] >> 32 == (uint64_t)1 << 31;
        found |= floats && (uint32_t)least[i] == (uint32_t)1 << 31;
    }
    return found;
}

/* Adds 1 to the lanes in which the term, which fitted a window, is -0. */
INLINE void count_neg_zeros(input in, const char *a, const char *b, vi64 *counts) {
    vf64 x = in == IN_F64 || in == IN_F64_PAIR ? load_f64(a) : load_f32(a);
    if (input_is_pair(in)) x *= in == IN_F64_PAIR ? load_f64(b) : load_f32(b);
    *counts -= (vi64)x == INT64_MIN;
}

INLINE int64_t neg_zeros(input in, const char *a, const char *b, size_t n) {
    const size_t bytes = LANES * input_bytes(in), last = n % LANES * input_bytes(in);
    double tail_a[LANES] = {0}, tail_b[LANES] = {0};
    vi64 counts = {0};
    for (size_t i = 0; i < n / LANES; i++, a += bytes, b += bytes)
        count_neg_zeros(in, a, b, &counts);
    memcpy(tail_a, a, last);
    if (input_is_pair(in)) memcpy(tail_b, b, last);
    count_neg_zeros(in, (const char *)tail_a, (const char *)tail_b, &counts);
    int64_t sum = 0;
    for (int i = 0; i < LANES; i++) sum += counts[i];
    return sum;
}

/* How many bits the unit of sum i of a column is below that of the first. */
INLINE int below_top(input in, int levels, int i) {
    const bf_window_split s = bf_window_split_of(levels);
    if (in != IN_F64_PAIR) return -bf_window_bottom(0, i);
    return i < s.products ? s.step * i : s.below + s.step * (i - s.products);
}

/* Where the sum of a level starts, and of any sum of a column. */
INLINE vf64 level_start(const certificate *c, int levels, int bottom, int l) {
    return is_scaled(c, levels) ? window_start(0, l == levels - 1) : window_start(bottom, l);
}
INLINE vf64 sum_start(const certificate *c, input in, int levels, int bottom, int i) {
    if (in != IN_F64_PAIR) return level_start(c, levels, bottom, i);
    return window_start(bottom - below_top(in, levels, i), 0);
}

/* Adds to totals[] what the columns have gained since their start, and notes those that strayed
 * from its binade. */
INLINE void fold(certificate *c, input in, vf64 columns[][SUMS_MAX], int levels, int bottom,
                 vu64 *totals) {
    const int all = sums_of(in, levels), count = COLUMNS(all);
    UNROLL
    for (int i = 0; i < all; i++) {
        vi64 start = (vi64)sum_start(c, in, levels, bottom, i);
        UNROLL
        for (int k = 0; k < count; k++) {
            vi64 sum = (vi64)columns[k][i];
            totals[i] += (vu64)sum - (vu64)start;
            c->strayed |= sum ^ start;
        }
    }
}

INLINE uint64_t sum_of_lanes(vu64 x) {
    uint64_t sum = 0;
    UNROLL
    for (int i = 0; i < LANES; i++) sum += x[i];
    return sum;
}

/* Modulo 2^64: of data that fit no window the totals are any numbers, which nobody reads. */
INLINE void add_to_level(int64_t *sum, int64_t x) {
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)x);
}

/* The totals of a column's sums as those of the window's levels: a sum between two levels is a
 * multiple of the one above, and a rest. */
INLINE void sums_by_level(input in, int levels, const vu64 *totals, int64_t *sums) {
    const int step = BF_WINDOW_BITS + 1;
    const int count = in == IN_F64_PAIR ? bf_window_split_of(levels).levels : levels;
    UNROLL
    for (int l = 0; l < count; l++) sums[l] = 0;
    UNROLL
    for (int i = 0; i < sums_of(in, levels); i++) {
        const int below = below_top(in, levels, i), l = below / step, more = below % step;
        const int64_t sum = (int64_t)sum_of_lanes(totals[i]);
        add_to_level(&sums[l], sum >> more);
        if (more > 0)
            add_to_level(&sums[l + 1], (sum & (((int64_t)1 << more) - 1)) << (step - more));
    }
}

/* Computes a block of terms and takes its rows. Floats go through memory, which widens them. */
INLINE void take_block(certificate *c, input in, bool looks, vf64 columns[][SUMS_MAX], int levels,
                       term_blocks *terms, vi64 least[LEAST]) {
    const int vectors = BLOCK(in, levels), width = ROW(levels);
    const size_t step = LANES * input_bytes(in);
    vf64 block[COLUMNS_MAX] = {0}, stored[COLUMNS_MAX];
    next_terms(terms, block, vectors);
    UNROLL
    for (int k = 0; k < vectors; k++) stored[k] = block[k];
    UNROLL
    for (int k = 0; k < vectors; k += width) {
        const char *a = (const char *)stored + (size_t)k * step;
        take_row(c, in, looks, columns, levels, a, a, least);
    }
}

/* ---- windows --------------------------------------------------------------------------------- */

/* terms: those that are summed in place of a; NULL: none. *may: whether a term may be -0, if it
 * looks. */
INLINE bool window_sum(input in, int levels, bool looks, term_blocks *terms, const char *a,
                       const char *b, size_t n, int bottom, int64_t *sums, bool *may) {
    const int all = sums_of(in, levels), width = ROW(all), count = COLUMNS(all);
    const size_t row = (size_t)width * LANES, row_bytes = row * input_bytes(in);
    const size_t most = rows_of(in, levels) * (size_t)count / (size_t)width;
    vu64 totals[SUMS_MAX];
    vi64 least[LEAST] = {0};
    certificate c;
    UNROLL
    for (int i = 0; i < all; i++) totals[i] = (vu64){0};
    certificate_begin(&c, flags_tell(in, levels, terms != NULL), bottom);
    for (size_t left = n; left > 0;) {
        vf64 columns[COLUMNS_MAX][SUMS_MAX];
        UNROLL
        for (int i = 0; i < all; i++) UNROLL
        for (int k = 0; k < count; k++) columns[k][i] = sum_start(&c, in, levels, bottom, i);
        size_t rows = left / row < most ? left / row : most;
        if (terms != NULL)
            for (size_t r = 0; r < rows; r += (size_t)(BLOCK(in, levels) / width))
                take_block(&c, in, looks, columns, levels, terms, least);
        for (size_t r = 0; terms == NULL && r < rows; r++) {
            prefetch_row(a, row_bytes);
            if (input_is_pair(in)) prefetch_row(b, row_bytes);
            take_row(&c, in, looks, columns, levels, a, b, least);
            a += row_bytes;
            b += row_bytes;
        }
        left -= rows * row;
        if (terms == NULL &&
            rows * (size_t)(width / count) + (size_t)width <= rows_of(in, levels) && left > 0) {
            take_tail(&c, in, looks, columns[0], levels, a, b, left, least);
            left = 0;
        }
        fold(&c, in, columns, levels, bottom, totals);
    }
    UNROLL
    for (int i = 0; i < all; i++) totals[i] = pinned(totals[i]);
    c.strayed = (vi64)pinned((vu64)c.strayed);
    bool holds = certificate_holds(&c, bottom + greatest_bits(in, levels));
    int64_t strayed = 0;
    for (int i = 0; i < LANES; i++) strayed |= c.strayed[i];
    sums_by_level(in, levels, totals, sums);
    if (looks) *may = may_be_neg_zero(least, looks_at_floats(in, width));
    return holds && (uint64_t)strayed >> 52 == 0;
}

INLINE bool window_sum_levels(input in, bool looks, term_blocks *terms, const void *a,
                              const void *b, size_t n, int bottom, int levels, int64_t *sums,
                              bool *may) {
    switch (levels) {
    case 1: return window_sum(in, 1, looks, terms, a, b, n, bottom, sums, may);
    case 2: return window_sum(in, 2, looks, terms, a, b, n, bottom, sums, may);
    case 3: return window_sum(in, 3, looks, terms, a, b, n, bottom, sums, may);
    case 4: return window_sum(in, 4, looks, terms, a, b, n, bottom, sums, may);
    case 5: return window_sum(in, 5, looks, terms, a, b, n, bottom, sums, may);
    case 6: return window_sum(in, 6, looks, terms, a, b, n, bottom, sums, may);
    default:
        return in == IN_F64_PAIR &&
               window_sum(in, BF_SPLITS, looks, terms, a, b, n, bottom, sums, may);
    }
}

/* The loops that look are functions of their own, so that the others compile as if alone. */
typedef bool looking_loop(const void *a, const void *b, size_t n, int bottom, int levels,
                          int64_t *sums, bool *may);

#define LOOKING_LOOP(name, in)                                                                     \
    static __attribute__((noinline)) bool name(const void *a, const void *b, size_t n, int bottom, \
                                               int levels, int64_t *sums, bool *may) {             \
        return window_sum_levels(in, true, NULL, a, b, n, bottom, levels, sums, may);              \
    }
LOOKING_LOOP(look_f64, IN_F64)
LOOKING_LOOP(look_f32, IN_F32)
LOOKING_LOOP(look_f64_pairs, IN_F64_PAIR)
LOOKING_LOOP(look_f32_pairs, IN_F32_PAIR)
#undef LOOKING_LOOP

INLINE bool window_loop(input in, looking_loop *look, const void *a, const void *b, size_t n,
                        int bottom, int levels, int64_t *sums, int64_t *zeros) {
    bool may = false;
    if (zeros == NULL)
        return window_sum_levels(in, false, NULL, a, b, n, bottom, levels, sums, &may);
    if (!look(a, b, n, bottom, levels, sums, &may)) return false;
    *zeros = may ? neg_zeros(in, a, b, n) : 0;
    return true;
}

static bool sum_f64(const void *x, size_t n, int bottom, int levels, int64_t *sums,
                    int64_t *zeros) {
    return window_loop(IN_F64, look_f64, x, x, n, bottom, levels, sums, zeros);
}

static bool sum_f32(const void *x, size_t n, int bottom, int levels, int64_t *sums,
                    int64_t *zeros) {
    return window_loop(IN_F32, look_f32, x, x, n, bottom, levels, sums, zeros);
}

static bool sum_terms_f64(const bf_computed *terms, size_t n, int bottom, int levels,
                          int64_t *sums) {
    bool may = false;
    term_blocks blocks;
    begin_terms(&blocks, terms);
    return window_sum_levels(IN_F64, true, &blocks, NULL, NULL, n, bottom, levels, sums, &may) &&
           !may;
}

static bool sum_terms_f32(const bf_computed *terms, size_t n, int bottom, int levels,
                          int64_t *sums) {
    bool may = false;
    term_blocks blocks;
    begin_terms(&blocks, terms);
    return window_sum_levels(IN_F32, true, &blocks, NULL, NULL, n, bottom, levels, sums, &may) &&
           !may;
}

static bool dot_f64(const void *a, const void *b, size_t n, int bottom, int levels, int64_t *sums,
                    int64_t *zeros) {
    return window_loop(IN_F64_PAIR, look_f64_pairs, a, b, n, bottom, levels, sums, zeros);
}

static bool dot_f32(const void *a, const void *b, size_t n, int bottom, int levels, int64_t *sums,
                    int64_t *zeros) {
    return window_loop(IN_F32_PAIR, look_f32_pairs, a, b, n, bottom, levels, sums, zeros);
}

#if defined(CERTIFICATE_FLAGS) || defined(ROUND_QUIET)
/* Does the certificate tell right from wrong here? Emulators may not model the flags. */
static bool flags_work(void) {
    double exact[LANES * 2] = {1, 0x1p-40}, lossy[LANES * 2] = {[LANES * 2 - 1] = 1 + 0x1p-52};
    int64_t sums[BF_LEVELS_MAX];
    unsigned saved;
    __asm__ volatile("stmxcsr %0" : "=m"(saved) : : "memory");
    bool works = sum_f64(exact, LANES * 2, -43, 1, sums, NULL) &&
                 sums[0] == ((int64_t)1 << 43) + 8 &&
                 !sum_f64(lossy, LANES * 2, -43, 1, sums, NULL) &&
                 sum_f64(lossy, LANES * 2, -43, 2, sums, NULL);
    __asm__ volatile("ldmxcsr %0" : : "m"(saved) : "memory");
    return works;
}
#endif

/* ---- products of two as factors -------------------------------------------------------------- */

/* Is every factor 0, or large and small enough that its product with another has an exact rest? */
INLINE vi64 unsuitable_factors(vf64 x) {
    const int64_t least = (int64_t)(1023 - 450) << 52, most = (int64_t)(1023 + 450) << 52;
    const vi64 size = (vi64)x & INT64_MAX;
    return (size != 0) & ((size < least) | (size >= most));
}

INLINE void split_vector(const char *a, const char *b, double *p, double *e, vi64 *wrong) {
    const vf64 x = load_f64(a), y = load_f64(b), product = x * y, rest = mul_sub(x, y, product);
    *wrong |= unsuitable_factors(x) | unsuitable_factors(y);
    memcpy(p, &product, sizeof product);
    memcpy(e, &rest, sizeof rest);
}

static bool split_f64(const void *a, const void *b, size_t n, double *x, double *p, double *e) {
    const size_t whole = n - n % LANES, last = 8 * (n - whole);
    double tail_a[LANES] = {0}, tail_b[LANES] = {0};
    vi64 wrong = {0};
    (void)x;
    for (size_t i = 0; i < whole; i += LANES)
        split_vector((const char *)a + 8 * i, (const char *)b + 8 * i, p + i, e + i, &wrong);
    memcpy(tail_a, (const char *)a + 8 * whole, last);
    memcpy(tail_b, (const char *)b + 8 * whole, last);
    if (last > 0)
        split_vector((const char *)tail_a, (const char *)tail_b, p + whole, e + whole, &wrong);
    int64_t any = 0;
    for (int i = 0; i < LANES; i++) any |= wrong[i];
    return any == 0;
}

INLINE void widen_vector(const char *a, const char *b, double *x, double *p) {
    const vf64 wide = load_f32(a), product = wide * load_f32(b);
    memcpy(x, &wide, sizeof wide);
    memcpy(p, &product, sizeof product);
}

static bool split_f32(const void *a, const void *b, size_t n, double *x, double *p, double *e) {
    const size_t whole = n - n % LANES, last = 4 * (n - whole);
    float tail_a[LANES] = {0}, tail_b[LANES] = {0};
    (void)e;
    for (size_t i = 0; i < whole; i += LANES)
        widen_vector((const char *)a + 4 * i, (const char *)b + 4 * i, x + i, p + i);
    memcpy(tail_a, (const char *)a + 4 * whole, last);
    memcpy(tail_b, (const char *)b + 4 * whole, last);
    if (last > 0) widen_vector((const char *)tail_a, (const char *)tail_b, x + whole, p + whole);
    return true;
}
