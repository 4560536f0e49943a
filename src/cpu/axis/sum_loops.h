/* Exact sums of many lines in a window, for vectors of doubles: included once by each instruction
 * set, after cpu/reduce/sum_loops.h, whose parameters and deposits it uses.
 *
 * The file that includes it may define LOAD_PARTS: load_part_f64(p, n) and load_part_f32(p, n), the
 * first n < LANES elements at p and zeros. A zero that is added changes nothing but the sign of a
 * sum of nothing but -0, which callers see to. */
#include "cpu/axis/axis.h"
#include "cpu/runtime/vector.h"

enum { STRIP = 4 /* vectors of columns that are added together, at most */ };

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

/* The first n < LANES elements, or products, at a and b enter a column. */
INLINE void take_part(certificate *c, input in, vf64 *column, int levels, const char *a,
                      const char *b, size_t n) {
    bool wide = in == IN_F64 || in == IN_F64_PAIR;
    vf64 x = wide ? load_part_f64(a, n) : load_part_f32(a, n), y;
    if (input_is_pair(in)) y = wide ? load_part_f64(b, n) : load_part_f32(b, n);
    if (in == IN_F64_PAIR) {
        vf64 product = mul_quiet(x, y);
        check_factors(c, x, y);
        check_term(c, product);
        deposit(c, column, 0, levels, product);
        deposit(c, column, levels > 1, levels, mul_sub(x, y, product));
        return;
    }
    if (in == IN_F32_PAIR) x = x * y;
    check_term(c, x);
    deposit(c, column, 0, levels, x);
}

/* Adds to gained[] what a column has gained since its start, and notes lanes that strayed. */
INLINE void fold_column(certificate *c, const vf64 *column, int levels, int bottom, vu64 *gained) {
    UNROLL
    for (int l = 0; l < levels; l++) {
        vi64 start = (vi64)window_start(bottom, l), sum = (vi64)column[l];
        gained[l] += (vu64)sum - (vu64)start;
        c->strayed |= sum ^ start;
    }
}

INLINE void start_column(vf64 *column, int levels, int bottom) {
    UNROLL
    for (int l = 0; l < levels; l++) column[l] = window_start(bottom, l);
}

INLINE bool sums_hold(certificate *c, int bottom) {
    c->strayed = (vi64)pinned((vu64)c->strayed);
    bool holds = certificate_holds(c, bottom);
    int64_t strayed = 0;
    for (int i = 0; i < LANES; i++) strayed |= c->strayed[i];
    return holds && (uint64_t)strayed >> 52 == 0;
}

/* ---- columns of a matrix --------------------------------------------------------------------- */

/* Prefetches the row that the next pass takes in place of this one. */
INLINE void prefetch_next(const char *row, int64_t step, size_t bytes) {
    UNROLL
    for (size_t at = 0; at < bytes; at += LINE_BYTES)
        __builtin_prefetch(row + BF_PASS_ROWS * step + at);
}

/* Adds `rows` rows of `width` vectors of columns to the totals. */
INLINE void sum_strip(certificate *c, input in, int levels, int width, const bf_columns *x,
                      const char *a, const char *b, int64_t rows, int bottom, int64_t *totals,
                      size_t pitch) {
    const size_t step = LANES * input_bytes(in);
    vf64 column[COLUMNS_MAX][BF_LEVELS_MAX];
    UNROLL
    for (int k = 0; k < width; k++) start_column(column[k], levels, bottom);
    for (int64_t r = 0; r < rows; r++) {
        prefetch_next(a, x->a_step, (size_t)width * step);
        if (input_is_pair(in) && b != a) prefetch_next(b, x->b_step, (size_t)width * step);
        UNROLL
        for (int k = 0; k < width; k++)
            take(c, in, false, column[k], levels, a + (size_t)k * step, b + (size_t)k * step);
        a += x->a_step;
        b += x->b_step;
    }
    UNROLL
    for (int k = 0; k < width; k++) {
        vu64 gained[BF_LEVELS_MAX];
        UNROLL
        for (int l = 0; l < levels; l++) gained[l] = (vu64){0};
        fold_column(c, column[k], levels, bottom, gained);
        UNROLL
        for (int l = 0; l < levels; l++) {
            vu64 total;
            int64_t *at = totals + (size_t)l * pitch + (size_t)k * LANES;
            memcpy(&total, at, sizeof total);
            total += gained[l];
            memcpy(at, &total, sizeof total);
        }
    }
}

/* The same for the last columns, fewer than LANES. */
INLINE void sum_rest(certificate *c, input in, int levels, const bf_columns *x, const char *a,
                     const char *b, int64_t rows, int bottom, int64_t *totals, size_t pitch,
                     size_t n) {
    vf64 column[BF_LEVELS_MAX];
    vu64 gained[BF_LEVELS_MAX] = {0};
    start_column(column, levels, bottom);
    for (int64_t r = 0; r < rows; r++, a += x->a_step, b += x->b_step)
        take_part(c, in, column, levels, a, b, n);
    fold_column(c, column, levels, bottom, gained);
    for (int l = 0; l < levels; l++) {
        uint64_t lanes[LANES];
        int64_t *total = totals + (size_t)l * pitch;
        memcpy(lanes, &gained[l], sizeof lanes);
        for (size_t i = 0; i < n; i++) /* wraps where no certificate holds */
            total[i] = (int64_t)((uint64_t)total[i] + lanes[i]);
    }
}

INLINE bool sum_columns(input in, int levels, const bf_columns *x, int bottom, int64_t *totals,
                        size_t pitch) {
    const int width = COLUMNS(levels) < STRIP ? COLUMNS(levels) : STRIP;
    const size_t bytes = input_bytes(in), columns = (size_t)x->columns;
    certificate c;
    certificate_begin(&c);
    for (int64_t row = 0; row < x->rows; row += BF_PASS_ROWS) {
        int64_t rows = x->rows - row < BF_PASS_ROWS ? x->rows - row : BF_PASS_ROWS;
        const char *a = x->a + row * x->a_step, *b = x->b + row * x->b_step;
        size_t at = 0;
        for (; at + (size_t)width * LANES <= columns; at += (size_t)width * LANES)
            sum_strip(&c, in, levels, width, x, a + at * bytes, b + at * bytes, rows, bottom,
                      totals + at, pitch);
        for (; at + LANES <= columns; at += LANES)
            sum_strip(&c, in, levels, 1, x, a + at * bytes, b + at * bytes, rows, bottom,
                      totals + at, pitch);
        if (at < columns)
            sum_rest(&c, in, levels, x, a + at * bytes, b + at * bytes, rows, bottom, totals + at,
                     pitch, columns - at);
    }
    return sums_hold(&c, bottom + BF_PASS_BITS);
}

/* ---- short fibres, each contiguous ----------------------------------------------------------- */

/* Adds a fibre to gained[], by several columns as long as they are filled. */
INLINE void sum_fibre(certificate *c, input in, int levels, const char *a, const char *b, size_t n,
                      int bottom, vu64 *gained) {
    const int width = COLUMNS(levels);
    const size_t step = LANES * input_bytes(in), row = (size_t)width * LANES;
    vf64 column[COLUMNS_MAX][BF_LEVELS_MAX];
    while (n >= row) {
        size_t rows = n / row < BF_WINDOW_ROWS ? n / row : BF_WINDOW_ROWS;
        UNROLL
        for (int k = 0; k < width; k++) start_column(column[k], levels, bottom);
        for (size_t r = 0; r < rows; r++) {
            prefetch_row(a, (size_t)width * step);
            UNROLL
            for (int k = 0; k < width; k++, a += step, b += step)
                take(c, in, false, column[k], levels, a, b);
        }
        UNROLL
        for (int k = 0; k < width; k++) fold_column(c, column[k], levels, bottom, gained);
        n -= rows * row;
    }
    start_column(column[0], levels, bottom);
    for (; n >= LANES; n -= LANES, a += step, b += step)
        take(c, in, false, column[0], levels, a, b);
    if (n > 0) take_part(c, in, column[0], levels, a, b, n);
    fold_column(c, column[0], levels, bottom, gained);
}

/* The sums of the lanes of LANES vectors, as one. */
INLINE vu64 sum_lanes(const vu64 *x) {
    vu64 s[LANES];
    for (int i = 0; i < LANES; i++) s[i] = x[i];
#if defined(LANES_8)
    for (int i = 0; i < 8; i += 2)
        s[i / 2] = __builtin_shufflevector(s[i], s[i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
                   __builtin_shufflevector(s[i], s[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    for (int i = 0; i < 4; i += 2)
        s[i / 2] = __builtin_shufflevector(s[i], s[i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
                   __builtin_shufflevector(s[i], s[i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(s[0], s[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(s[0], s[1], 4, 5, 6, 7, 12, 13, 14, 15);
#elif defined(LANES_4)
    for (int i = 0; i < 4; i += 2)
        s[i / 2] = __builtin_shufflevector(s[i], s[i + 1], 0, 4, 2, 6) +
                   __builtin_shufflevector(s[i], s[i + 1], 1, 5, 3, 7);
    return __builtin_shufflevector(s[0], s[1], 0, 1, 4, 5) +
           __builtin_shufflevector(s[0], s[1], 2, 3, 6, 7);
#else
    return __builtin_shufflevector(s[0], s[1], 0, 2) + __builtin_shufflevector(s[0], s[1], 1, 3);
#endif
}

INLINE bool sum_fibres(input in, int levels, const bf_stretches *x, int bottom,
                       int64_t totals[][BF_STRETCHES]) {
    certificate c;
    certificate_begin(&c);
    for (int i = 0; i < x->n; i += LANES) {
        vu64 gained[BF_LEVELS_MAX][LANES];
        for (int k = 0; k < LANES; k++) {
            vu64 of_fibre[BF_LEVELS_MAX];
            UNROLL
            for (int l = 0; l < levels; l++) of_fibre[l] = (vu64){0};
            if (i + k < x->n)
                sum_fibre(&c, in, levels, x->a[i + k], x->b[i + k], (size_t)x->length[i + k],
                          bottom, of_fibre);
            UNROLL
            for (int l = 0; l < levels; l++) gained[l][k] = of_fibre[l];
        }
        UNROLL
        for (int l = 0; l < levels; l++) {
            vu64 sums = sum_lanes(gained[l]);
            memcpy(&totals[l][i], &sums, sizeof sums);
        }
    }
    return sums_hold(&c, bottom);
}

/* ---- by the number of levels ----------------------------------------------------------------- */

#define BY_LEVELS(call, in, ...)                                                                   \
    switch (levels) {                                                                              \
    case 1: return call(in, 1, __VA_ARGS__);                                                       \
    case 2: return call(in, 2, __VA_ARGS__);                                                       \
    case 3: return call(in, 3, __VA_ARGS__);                                                       \
    case 4: return call(in, 4, __VA_ARGS__);                                                       \
    case 5: return call(in, 5, __VA_ARGS__);                                                       \
    default: return call(in, 6, __VA_ARGS__);                                                      \
    }
#define AXIS_LOOPS(name, in)                                                                       \
    static bool columns_##name(const bf_columns *x, int bottom, int levels, int64_t *totals,       \
                               size_t pitch) {                                                     \
        BY_LEVELS(sum_columns, in, x, bottom, totals, pitch)                                       \
    }                                                                                              \
    static bool fibres_##name(const bf_stretches *x, int bottom, int levels,                       \
                              int64_t totals[][BF_STRETCHES]) {                                    \
        BY_LEVELS(sum_fibres, in, x, bottom, totals)                                               \
    }
AXIS_LOOPS(f64, IN_F64)
AXIS_LOOPS(f32, IN_F32)
AXIS_LOOPS(f64_pairs, IN_F64_PAIR)
AXIS_LOOPS(f32_pairs, IN_F32_PAIR)
#undef AXIS_LOOPS
#undef BY_LEVELS

/* ---- results --------------------------------------------------------------------------------- */

/* Rounds n totals times scale, a power of two, divided by `divisor`. False, with nothing said, if
 * one is 0, or needs more care because it is inexact as a double. */
static bool round_totals(const int64_t *totals, int64_t n, double scale, double divisor,
                         double *to) {
    int64_t careful = 0;
    if (divisor == 1) {
        VECTORIZED
        for (int64_t i = 0; i < n; i++) {
            careful |= totals[i] == 0;
            to[i] = (double)totals[i] * scale;
        }
        return careful == 0;
    }
    VECTORIZED
    for (int64_t i = 0; i < n; i++) {
        int64_t size = totals[i] < 0 ? -totals[i] : totals[i];
        careful |= (totals[i] == 0) | (size > (int64_t)1 << 53);
        to[i] = (double)totals[i] / divisor * scale;
    }
    return careful == 0;
}
