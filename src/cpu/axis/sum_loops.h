/* Exact sums of many lines in a window, for vectors of doubles: included once by each instruction
 * set, after cpu/reduce/sum_loops.h, whose parameters and deposits it uses.
 *
 * The file that includes it defines sqrt_f64(x). A zero that is added changes nothing but the sign
 * of a sum of nothing but -0, which callers see to. */
#include "base/double.h"
#include "cpu/axis/axis.h"
#include "cpu/runtime/vector.h"
#include "rules/reduce/totals.h"

enum {
    STRIP = 4,   /* vectors of columns that are added together, at most */
    SHORT = 16,  /* stretches of so many elements are taken across */
    SEVERAL = 3, /* rows that are worth several columns, whose sums are then folded */
};

/* What a loop adds up: one sum, or of f32 also the squares, of `squares` levels. Constants but for
 * the bottoms, so that a loop is compiled for each. */
typedef struct wanted {
    input in;
    int levels, squares; /* squares 0: not them */
    int bottom, squares_bottom;
} wanted;

typedef struct column {
    vf64 sum[BF_LEVELS_MAX], square[BF_LEVELS_MAX];
} column;

typedef struct gain {
    vu64 sum[BF_LEVELS_MAX], square[BF_LEVELS_MAX];
} gain;

typedef struct certificates {
    certificate sum, square;
} certificates;

/* Flags tell of both sums, or of neither. */
INLINE void certificates_begin(certificates *c, wanted w) {
    const bool plain =
        flags_tell(w.in, w.levels, false) && (w.squares == 0 || flags_tell(w.in, w.squares, false));
    certificate_begin(&c->sum, plain, w.bottom);
    if (w.squares > 0) certificate_begin(&c->square, plain, w.squares_bottom);
}

/* A vector of floats enters a column, and their squares, of 48 bits, do. */
INLINE void take_moments(certificates *c, wanted w, column *to, vf64 x) {
    check_term(&c->sum, x);
    deposit(&c->sum, to->sum, w.levels, scaled(&c->sum, w.levels, x));
    x = x * x;
    check_term(&c->square, x);
    deposit(&c->square, to->square, w.squares, scaled(&c->square, w.squares, x));
}

/* A vector of elements, or of products of x and y, enters a column. The errors of products enter
 * the levels of their terms but the first. */
INLINE void take_sums(certificate *c, wanted w, vf64 *sums, vf64 x, vf64 y) {
    vf64 rest;
    if (input_is_pair(w.in)) x = multiply(c, w.in, x, y, &rest);
    check_term(c, x);
    deposit(c, sums, w.levels, scaled(c, w.levels, x));
    if (w.in == IN_F64_PAIR)
        deposit(c, w.levels > 1 ? sums + 1 : sums, w.levels > 1 ? w.levels - 1 : 1, rest);
}

/* A vector of elements, or of factors x and y of products, enters a column. */
INLINE void take_wanted(certificates *c, wanted w, column *to, vf64 x, vf64 y) {
    if (w.squares > 0)
        take_moments(c, w, to, x);
    else
        take_sums(&c->sum, w, to->sum, x, y);
}

INLINE void take_vector(certificates *c, wanted w, column *to, const char *a, const char *b) {
    const vf64 x = load(w.in, a);
    take_wanted(c, w, to, x, input_is_pair(w.in) ? load(w.in, b) : x);
}

INLINE bool is_wide(wanted w) { return w.in == IN_F64 || w.in == IN_F64_PAIR; }

/* The first n < LANES elements, or products, at a and b enter a column. */
INLINE void take_part(certificates *c, wanted w, column *to, const char *a, const char *b,
                      size_t n) {
    vf64 x = load_part(w.in, a, n), y = x;
    if (input_is_pair(w.in)) y = load_part(w.in, b, n);
    take_wanted(c, w, to, x, y);
}

INLINE void start_column(const certificates *c, column *x, wanted w) {
    UNROLL
    for (int l = 0; l < w.levels; l++) x->sum[l] = level_start(&c->sum, w.levels, w.bottom, l);
    UNROLL
    for (int l = 0; l < w.squares; l++)
        x->square[l] = level_start(&c->square, w.squares, w.squares_bottom, l);
}

/* Adds to gained[] what the sums of a column have gained since their start, and notes lanes that
 * strayed. */
INLINE void fold_sums(certificate *c, const vf64 *sums, int levels, int bottom, vu64 *gained) {
    UNROLL
    for (int l = 0; l < levels; l++) {
        vi64 start = (vi64)level_start(c, levels, bottom, l), sum = (vi64)sums[l];
        gained[l] += (vu64)sum - (vu64)start;
        c->strayed |= sum ^ start;
    }
}

INLINE void fold_column(certificates *c, const column *x, wanted w, gain *gained) {
    fold_sums(&c->sum, x->sum, w.levels, w.bottom, gained->sum);
    fold_sums(&c->square, x->square, w.squares, w.squares_bottom, gained->square);
}

INLINE void clear_gain(gain *gained, wanted w) {
    UNROLL
    for (int l = 0; l < w.levels; l++) gained->sum[l] = (vu64){0};
    UNROLL
    for (int l = 0; l < w.squares; l++) gained->square[l] = (vu64){0};
}

INLINE bool sum_holds(certificate *c, int bottom) {
    c->strayed = (vi64)pinned((vu64)c->strayed);
    bool holds = certificate_holds(c, bottom + BF_WINDOW_BITS + 2);
    int64_t strayed = 0;
    for (int i = 0; i < LANES; i++) strayed |= c->strayed[i];
    return holds && (uint64_t)strayed >> 52 == 0;
}

/* Did all fit windows that are `more` bits wider at their top? */
INLINE bool sums_hold(certificates *c, wanted w, int more) {
    bool holds = sum_holds(&c->sum, w.bottom + more);
    return w.squares == 0 ? holds : holds & sum_holds(&c->square, w.squares_bottom + more);
}

/* ---- columns of a matrix --------------------------------------------------------------------- */

INLINE void prefetch(const char *from, size_t bytes) {
    UNROLL
    for (size_t at = 0; at < bytes; at += LINE_BYTES) __builtin_prefetch(from + at);
}

/* Adds a vector's gains to the totals at each level. */
INLINE void add_gains(const vu64 *gained, int levels, int64_t *totals, size_t pitch) {
    UNROLL
    for (int l = 0; l < levels; l++) {
        vu64 total;
        memcpy(&total, totals + (size_t)l * pitch, sizeof total);
        total += gained[l];
        memcpy(totals + (size_t)l * pitch, &total, sizeof total);
    }
}

/* Adds the gains of the first n lanes. */
INLINE void add_first_gains(const vu64 *gained, int levels, int64_t *totals, size_t pitch,
                            size_t n) {
    for (int l = 0; l < levels; l++) {
        uint64_t lanes[LANES];
        int64_t *total = totals + (size_t)l * pitch;
        memcpy(lanes, &gained[l], sizeof lanes);
        for (size_t i = 0; i < n; i++) /* wraps where no certificate holds */
            total[i] = (int64_t)((uint64_t)total[i] + lanes[i]);
    }
}

/* Adds `rows` rows of `width` vectors of columns, from column `at` on, to the totals. */
INLINE void sum_strip(certificates *c, wanted w, int width, const bf_columns *x, int64_t rows,
                      size_t at, int64_t *const totals[], size_t pitch) {
    const size_t step = LANES * input_bytes(w.in);
    const int64_t ahead = x->next - x->a; /* to what the next pass takes in place of a row */
    const char *a = x->a + at * input_bytes(w.in), *b = x->b + at * input_bytes(w.in);
    column columns[STRIP];
    UNROLL
    for (int k = 0; k < width; k++) start_column(c, &columns[k], w);
    for (int64_t r = 0; r < rows; r++) {
        prefetch(a + ahead, (size_t)width * step);
        if (input_is_pair(w.in) && b != a)
            prefetch(b + BF_PASS_ROWS * x->b_step, (size_t)width * step);
        UNROLL
        for (int k = 0; k < width; k++)
            take_vector(c, w, &columns[k], a + (size_t)k * step, b + (size_t)k * step);
        a += x->a_step;
        b += x->b_step;
    }
    UNROLL
    for (int k = 0; k < width; k++, at += LANES) {
        gain gained;
        clear_gain(&gained, w);
        fold_column(c, &columns[k], w, &gained);
        add_gains(gained.sum, w.levels, totals[0] + at, pitch);
        if (w.squares > 0) add_gains(gained.square, w.squares, totals[1] + at, pitch);
    }
}

/* Sums the last columns, n < LANES of them. */
INLINE void sum_rest(certificates *c, wanted w, const bf_columns *x, int64_t rows, size_t at,
                     int64_t *const totals[], size_t pitch, size_t n) {
    const char *a = x->a + at * input_bytes(w.in), *b = x->b + at * input_bytes(w.in);
    column last;
    gain gained;
    clear_gain(&gained, w);
    start_column(c, &last, w);
    for (int64_t r = 0; r < rows; r++, a += x->a_step, b += x->b_step)
        take_part(c, w, &last, a, b, n);
    fold_column(c, &last, w, &gained);
    add_first_gains(gained.sum, w.levels, totals[0] + at, pitch, n);
    if (w.squares > 0) add_first_gains(gained.square, w.squares, totals[1] + at, pitch, n);
}

INLINE bool sum_columns(wanted w, const bf_columns *x, int64_t *const totals[], size_t pitch) {
    const int most = COLUMNS(w.levels + w.squares), width = most < STRIP ? most : STRIP;
    const size_t columns = (size_t)x->columns;
    certificates c;
    certificates_begin(&c, w);
    for (int64_t row = 0; row < x->rows; row += BF_PASS_ROWS) {
        int64_t rows = x->rows - row < BF_PASS_ROWS ? x->rows - row : BF_PASS_ROWS;
        bf_columns pass = *x;
        pass.a += row * x->a_step;
        pass.b += row * x->b_step;
        if (row + rows < x->rows) pass.next = pass.a + BF_PASS_ROWS * x->a_step;
        size_t at = 0;
        for (; at + (size_t)width * LANES <= columns; at += (size_t)width * LANES)
            sum_strip(&c, w, width, &pass, rows, at, totals, pitch);
        for (; at + LANES <= columns; at += LANES)
            sum_strip(&c, w, 1, &pass, rows, at, totals, pitch);
        if (at < columns) sum_rest(&c, w, &pass, rows, at, totals, pitch, columns - at);
    }
    return sums_hold(&c, w, BF_PASS_BITS);
}

/* ---- short fibres, each contiguous ----------------------------------------------------------- */

/* Adds a fibre to *gained, by several columns as long as many rows of them are filled. */
INLINE void sum_fibre(certificates *c, wanted w, const char *a, const char *b, size_t n,
                      gain *gained) {
    const int width = COLUMNS(w.levels + w.squares);
    const size_t step = LANES * input_bytes(w.in), row = (size_t)width * LANES;
    column columns[COLUMNS_MAX];
    while (n >= SEVERAL * row) {
        size_t rows = n / row < BF_WINDOW_ROWS ? n / row : BF_WINDOW_ROWS;
        UNROLL
        for (int k = 0; k < width; k++) start_column(c, &columns[k], w);
        for (size_t r = 0; r < rows; r++) {
            prefetch_row(a, (size_t)width * step);
            UNROLL
            for (int k = 0; k < width; k++, a += step, b += step)
                take_vector(c, w, &columns[k], a, b);
        }
        UNROLL
        for (int k = 0; k < width; k++) fold_column(c, &columns[k], w, gained);
        n -= rows * row;
    }
    start_column(c, &columns[0], w);
    for (; n >= LANES; n -= LANES, a += step, b += step) {
        prefetch_row(a, step);
        take_vector(c, w, &columns[0], a, b);
    }
    if (n > 0) take_part(c, w, &columns[0], a, b, n);
    fold_column(c, &columns[0], w, gained);
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

/* Element i of each of LANES stretches. */
INLINE vf64 gather(wanted w, const char *const stretches[], size_t i) {
    vf64 x;
    UNROLL
    for (int k = 0; k < LANES; k++)
        x[k] = is_wide(w) ? ((const f64_element *)stretches[k])[i]
                          : (double)((const f32_element *)stretches[k])[i];
    return x;
}

/* Are LANES stretches short, and of one length? */
INLINE bool are_even(const int64_t *lengths) {
    bool even = lengths[0] <= SHORT;
    for (int k = 1; k < LANES; k++) even &= lengths[k] == lengths[0];
    return even;
}

/* Sets totals to the sums of LANES stretches of one length, each in a lane. */
INLINE void sum_even(certificates *c, wanted w, const bf_stretches *x, int at, gain *gained) {
    column lanes;
    start_column(c, &lanes, w);
    for (size_t i = 0; i < (size_t)x->length[at]; i++) {
        vf64 a = gather(w, x->a + at, i);
        take_wanted(c, w, &lanes, a, input_is_pair(w.in) ? gather(w, x->b + at, i) : a);
    }
    clear_gain(gained, w);
    fold_column(c, &lanes, w, gained);
}

/* Sums any stretches: each in turn, whose lanes are then added. */
INLINE void sum_each(certificates *c, wanted w, const bf_stretches *x, int at, gain *gained) {
    vu64 sums[BF_LEVELS_MAX][LANES], squares[BF_LEVELS_MAX][LANES];
    for (int k = 0; k < LANES; k++) {
        clear_gain(gained, w);
        if (at + k < x->n)
            sum_fibre(c, w, x->a[at + k], x->b[at + k], (size_t)x->length[at + k], gained);
        UNROLL
        for (int l = 0; l < w.levels; l++) sums[l][k] = gained->sum[l];
        UNROLL
        for (int l = 0; l < w.squares; l++) squares[l][k] = gained->square[l];
    }
    UNROLL
    for (int l = 0; l < w.levels; l++) gained->sum[l] = sum_lanes(sums[l]);
    UNROLL
    for (int l = 0; l < w.squares; l++) gained->square[l] = sum_lanes(squares[l]);
}

INLINE bool sum_fibres(wanted w, const bf_stretches *x,
                       int64_t totals[][BF_LEVELS_MAX][BF_STRETCHES]) {
    certificates c;
    certificates_begin(&c, w);
    for (int i = 0; i < x->n; i += LANES) {
        gain gained;
        if (i + LANES <= x->n && are_even(x->length + i))
            sum_even(&c, w, x, i, &gained);
        else
            sum_each(&c, w, x, i, &gained);
        UNROLL
        for (int l = 0; l < w.levels; l++)
            memcpy(&totals[0][l][i], &gained.sum[l], sizeof gained.sum[l]);
        UNROLL
        for (int l = 0; l < w.squares; l++)
            memcpy(&totals[1][l][i], &gained.square[l], sizeof gained.square[l]);
    }
    return sums_hold(&c, w, 0);
}

/* ---- by the number of levels ----------------------------------------------------------------- */

#define WANTED(in, levels, squares)                                                                \
    (wanted) { in, levels, squares, windows[0].bottom, squares > 0 ? windows[1].bottom : 0 }
#define BY_LEVELS(call, in, ...)                                                                   \
    switch (windows[0].levels) {                                                                   \
    case 1: return call(WANTED(in, 1, 0), __VA_ARGS__);                                            \
    case 2: return call(WANTED(in, 2, 0), __VA_ARGS__);                                            \
    case 3: return call(WANTED(in, 3, 0), __VA_ARGS__);                                            \
    case 4: return call(WANTED(in, 4, 0), __VA_ARGS__);                                            \
    case 5: return call(WANTED(in, 5, 0), __VA_ARGS__);                                            \
    default: return call(WANTED(in, 6, 0), __VA_ARGS__);                                           \
    }
#define BY_MOMENTS(call, in, ...)                                                                  \
    switch (windows[0].levels * 4 + windows[1].levels) {                                           \
    case 4 + 1: return call(WANTED(in, 1, 1), __VA_ARGS__);                                        \
    case 4 + 2: return call(WANTED(in, 1, 2), __VA_ARGS__);                                        \
    case 4 + 3: return call(WANTED(in, 1, 3), __VA_ARGS__);                                        \
    case 8 + 1: return call(WANTED(in, 2, 1), __VA_ARGS__);                                        \
    case 8 + 2: return call(WANTED(in, 2, 2), __VA_ARGS__);                                        \
    default: return call(WANTED(in, 2, 3), __VA_ARGS__);                                           \
    }
#define AXIS_LOOPS(name, in, BY)                                                                   \
    static bool columns_##name(const bf_columns *x, const bf_window_memory *windows,               \
                               int64_t *const totals[], size_t pitch) {                            \
        BY(sum_columns, in, x, totals, pitch)                                                      \
    }                                                                                              \
    static bool fibres_##name(const bf_stretches *x, const bf_window_memory *windows,              \
                              int64_t totals[][BF_LEVELS_MAX][BF_STRETCHES]) {                     \
        BY(sum_fibres, in, x, totals)                                                              \
    }
AXIS_LOOPS(f64, IN_F64, BY_LEVELS)
AXIS_LOOPS(f32, IN_F32, BY_LEVELS)
AXIS_LOOPS(f64_pairs, IN_F64_PAIR, BY_LEVELS)
AXIS_LOOPS(f32_pairs, IN_F32_PAIR, BY_LEVELS)
AXIS_LOOPS(f32_moments, IN_F32, BY_MOMENTS)
#undef AXIS_LOOPS
#undef BY_MOMENTS
#undef BY_LEVELS
#undef WANTED

/* ---- results --------------------------------------------------------------------------------- */

/* a + b, and in *rest what it lacks (Knuth). */
INLINE vf64 add_exactly(vf64 a, vf64 b, vf64 *rest) {
    vf64 sum = a + b, added = sum - a;
    *rest = (a - (sum - added)) + (b - added);
    return sum;
}

/* Sets bits of *lost in lanes where x is not 0. */
INLINE void note_lost(vi64 *lost, vf64 x) { *lost |= (vi64)magnitude(x); }

INLINE vf64 add_noting(vf64 a, vf64 b, vi64 *lost) {
    vf64 rest, sum = add_exactly(a, b, &rest);
    note_lost(lost, rest);
    return sum;
}

/* (high + low) / d, or its square root, rounded once; a NaN where that takes more care. high + low
 * may be wrong by `error`, and two doubles add less than 2^-101, unless they are exact. If both
 * ends of that round alike, so does the result (Ziv). */
INLINE vf64 divide_pair(vf64 high, vf64 low, vf64 error, vf64 d, bool root) {
    vi64 lost = (vi64)error;
    vf64 x = high / d, left = add_noting(low, -mul_sub(x, d, high), &lost), rest = left / d;
    vf64 margin = error / d;
    note_lost(&lost, mul_sub(rest, d, left));
    if (root) {
        vf64 s = sqrt_f64(x);
        rest = (rest - mul_sub(s, s, x)) / (s + s);
        margin /= s + s;
        x = s;
        lost = (vi64){0} - 1;
    }
    vf64 y = x + rest;
    margin += (vf64)((vi64)(magnitude(y) * 0x1p-100) & (lost != 0));
    vi64 sure = (x + (rest + margin) == y) & (x + (rest - margin) == y);
    return (vf64)((vi64)y | ~sure);
}

/* A vector of totals from line i on, as two doubles that hold them to 2^-104, or exactly: else it
 * is noted in *lost. *wrong: lanes where totals are not doubles. Once there is a rest, what is
 * below is too small to cancel the sum. */
INLINE vf64 load_totals(const bf_totals *totals, int i, vf64 *low, vi64 *lost, vi64 *wrong) {
    const int64_t most = (int64_t)1 << 53;
    const double unit = (double)((int64_t)1 << (BF_WINDOW_BITS + 1));
    vi64 x;
    vf64 rest;
    memcpy(&x, totals->at + i, sizeof x);
    vf64 sum = add_exactly(__builtin_convertvector(x >> 32, vf64) * 0x1p32,
                           __builtin_convertvector(x & UINT32_MAX, vf64), low);
    for (int l = 1; l < totals->levels; l++) {
        memcpy(&x, totals->at + l * totals->pitch + i, sizeof x);
        *wrong |= (x > most) | (x < -most);
        sum = add_exactly(sum * unit, __builtin_convertvector(x, vf64), &rest);
        *low = add_noting(*low * unit, rest, lost);
    }
    return add_exactly(sum, *low, low);
}

static void round_totals(const bf_totals *totals, const double *divisors, int n, bool root,
                         double *to) {
    const double unit = bf_power_of_two(bf_totals_exponent(totals));
    for (int i = 0; i < n; i += LANES) {
        vi64 lost = {0}, wrong = {0};
        vf64 low, y = load_totals(totals, i, &low, &lost, &wrong) * unit;
        wrong |= y == 0;
        if (divisors != NULL) {
            vf64 error = (vf64)((vi64)(magnitude(y) * 0x1p-100) & (lost != 0));
            y = divide_pair(y, low * unit, error, load_f64((const char *)(divisors + i)), root);
        } else {
            wrong |= lost != 0;
        }
        y = (vf64)((vi64)y | wrong);
        memcpy(to + i, &y, sizeof y);
    }
}

/* high + low. */
typedef struct doubles {
    vf64 high, low;
} doubles;

INLINE doubles scaled_totals(const bf_totals *totals, int i, vi64 *lost, vi64 *wrong) {
    const double unit = bf_power_of_two(bf_totals_exponent(totals));
    doubles x;
    x.high = load_totals(totals, i, &x.low, lost, wrong) * unit;
    x.low *= unit;
    return x;
}

/* n * (sum of x y) - (sum of x) (sum of y), wrong by *error at most. */
INLINE doubles spread_of(vf64 n, const doubles *x, const doubles *y, const doubles *xy, vi64 lost,
                         vf64 *error) {
    vf64 a = n * xy->high, b = x->high * y->high, a_low = n * xy->low, rest;
    vf64 high = add_exactly(a, -b, &rest);
    doubles spread;
    note_lost(&lost, mul_sub(n, xy->low, a_low));
    note_lost(&lost, x->low);
    note_lost(&lost, y->low);
    rest = add_noting(rest, mul_sub(n, xy->high, a), &lost);
    rest = add_noting(rest, -mul_sub(x->high, y->high, b), &lost);
    rest = add_noting(rest, a_low, &lost) - (x->high * y->low + x->low * y->high);
    spread.high = add_exactly(high, rest, &spread.low);
    *error = (vf64)((vi64)((magnitude(a) + magnitude(b)) * 0x1p-100) & (lost != 0));
    return spread;
}

/* x * y to 2^-103 or so of it, and what errors of x and of y make of it. */
INLINE doubles multiply_doubles(doubles x, vf64 x_error, doubles y, vf64 y_error, vf64 *error) {
    vf64 high = x.high * y.high;
    vf64 rest = mul_sub(x.high, y.high, high) + (x.high * y.low + x.low * y.high);
    doubles product;
    product.high = add_exactly(high, rest, &product.low);
    *error = magnitude(high) * 0x1p-100 +
             2 * (magnitude(x.high) * y_error + magnitude(y.high) * x_error);
    return product;
}

/* The root of x > 0. */
INLINE doubles root_of_doubles(doubles x, vf64 *error) {
    vf64 high = sqrt_f64(x.high), low = (x.low - mul_sub(high, high, x.high)) / (high + high);
    doubles root;
    root.high = add_exactly(high, low, &root.low);
    *error = high * 0x1p-99 + *error / high;
    return root;
}

/* x / y, rounded once; a NaN where both ends of the error do not round alike, or the operands are
 * so large or small that what is left would not be exact. */
INLINE vf64 divide_doubles(doubles x, vf64 x_error, doubles y, vf64 y_error) {
    const vf64 most = broadcast(0x1p900), least = broadcast(0x1p-900);
    vf64 q = x.high / y.high;
    vf64 rest = ((x.low - mul_sub(q, y.high, x.high)) - q * y.low) / y.high;
    vf64 result = q + rest, size = magnitude(q);
    vf64 margin = size * 0x1p-98 + 2 * (x_error + size * y_error) / magnitude(y.high);
    vi64 sure = (result == q + (rest + margin)) & (result == q + (rest - margin));
    sure &= (size > least) & (size < most) & (magnitude(x.high) > least);
    sure &= (magnitude(y.high) > least) & (magnitude(y.high) < most);
    return (vf64)((vi64)result | ~sure);
}

INLINE vf64 error_where(vi64 lost, vf64 x) {
    return (vf64)((vi64)(magnitude(x) * 0x1p-100) & (lost != 0));
}

/* (y xx - xy x) / (n xx), rounded once, of the sums x and y. */
INLINE vf64 intercept_of(vf64 n, doubles x, doubles y, vi64 lost, doubles xx, vf64 xx_error,
                         doubles xy, vf64 xy_error) {
    const doubles count = {n, broadcast(0)};
    vf64 error, other_error, below_error, rest;
    doubles a = multiply_doubles(y, error_where(lost, y.high), xx, xx_error, &error);
    doubles b = multiply_doubles(xy, xy_error, x, error_where(lost, x.high), &other_error);
    doubles below = multiply_doubles(count, broadcast(0), xx, xx_error, &below_error), above;
    vf64 high = add_exactly(a.high, -b.high, &rest);
    above.high = add_exactly(high, rest + (a.low - b.low), &above.low);
    error += other_error + (magnitude(a.high) + magnitude(b.high)) * 0x1p-100;
    return divide_doubles(above, error, below, below_error);
}

static void round_pairs(bf_reduction op, const bf_totals sums[BF_PAIR_SUMS], const double *lengths,
                        int ddof, int n, double *to) {
    for (int i = 0; i < n; i += LANES) {
        vi64 lost = {0}, wrong = {0};
        vf64 terms = load_f64((const char *)(lengths + i)), xy_error, xx_error, yy_error, error, y;
        doubles a = scaled_totals(&sums[BF_PAIR_A], i, &lost, &wrong);
        doubles b = scaled_totals(&sums[BF_PAIR_B], i, &lost, &wrong);
        doubles ab = scaled_totals(&sums[BF_PAIR_AB], i, &lost, &wrong);
        doubles xy = spread_of(terms, &a, &b, &ab, lost, &xy_error);
        wrong |= (terms > 0x1p26) | (terms <= (double)ddof) | (xy.high == 0);
        if (op == BF_COV) {
            y = divide_pair(xy.high, xy.low, xy_error, terms * (terms - (double)ddof), false);
        } else {
            doubles aa = scaled_totals(&sums[BF_PAIR_AA], i, &lost, &wrong);
            doubles xx = spread_of(terms, &a, &a, &aa, lost, &xx_error);
            if (op == BF_SLOPE) {
                y = divide_doubles(xy, xy_error, xx, xx_error);
            } else if (op == BF_INTERCEPT) {
                y = intercept_of(terms, a, b, lost, xx, xx_error, xy, xy_error);
            } else {
                doubles bb = scaled_totals(&sums[BF_PAIR_BB], i, &lost, &wrong);
                doubles yy = spread_of(terms, &b, &b, &bb, lost, &yy_error);
                doubles below = multiply_doubles(xx, xx_error, yy, yy_error, &error);
                wrong |= ~((below.high > 0x1p-900) & (below.high < 0x1p900));
                if (op == BF_CORR)
                    below = root_of_doubles(below, &error);
                else
                    xy = multiply_doubles(xy, xy_error, xy, xy_error, &xy_error);
                y = divide_doubles(xy, xy_error, below, error);
            }
        }
        y = (vf64)((vi64)y | wrong);
        memcpy(to + i, &y, sizeof y);
    }
}

/* (n * sum x^2 - (sum x)^2) / (n * (n - ddof)): products of the upper doubles are exact, and the
 * others are wrong by less than 2^-100 of n * sum x^2. */
static void round_spreads(const bf_totals *sum, const bf_totals *squares, const double *lengths,
                          int ddof, int n, bool root, double *to) {
    const double unit = bf_power_of_two(bf_totals_exponent(sum));
    const double square_unit = bf_power_of_two(bf_totals_exponent(squares));
    for (int i = 0; i < n; i += LANES) {
        vi64 wrong = {0}, lost = {0};
        vf64 terms = load_f64((const char *)(lengths + i)), s_low, q_low, rest, low;
        vf64 s = load_totals(sum, i, &s_low, &lost, &wrong) * unit;
        vf64 q = load_totals(squares, i, &q_low, &lost, &wrong) * square_unit;
        vf64 a = terms * q, b = s * s, a_low, high = add_exactly(a, -b, &rest);
        q_low *= square_unit;
        s_low *= 2 * unit;
        a_low = terms * q_low;
        note_lost(&lost, mul_sub(terms, q_low, a_low));
        note_lost(&lost, s_low);
        rest = add_noting(rest, mul_sub(terms, q, a), &lost);
        rest = add_noting(rest, -mul_sub(s, s, b), &lost);
        rest = add_noting(rest, a_low, &lost) - s * s_low;
        high = add_exactly(high, rest, &low);
        wrong |= (terms > 0x1p26) | (terms <= (double)ddof) | (high == 0);
        vf64 error = (vf64)((vi64)(a * 0x1p-100) & (lost != 0));
        vf64 y = divide_pair(high, low, error, terms * (terms - (double)ddof), root);
        y = (vf64)((vi64)y | wrong);
        memcpy(to + i, &y, sizeof y);
    }
}
