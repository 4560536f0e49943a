/* Windows whose sums are doubles, in which elements enter and leave exactly. What the sums lose of
 * the elements is bounded: a result is taken where that decides nothing. */
#include "cpu/scan/rolling.h"

#include "base/double.h"
#include "cpu/runtime/cast.h"
#include "cpu/runtime/vector.h"
#include "cpu/scan/rolling_block.h"

#include <math.h>

typedef struct units {
    bf_rolling_units in_doubles;
    double element, spread;  /* as bf_rolling_making has them */
    bool nan, negative_zero; /* some element is */
} units;

/* ---- elements -------------------------------------------------------------------------------- */

typedef struct reader {
    const bf_isa *isa;
    const bf_rolling_tile *t;
    int64_t first, end; /* the elements that numbers has */
    double numbers[BF_ROLLING_BLOCK];
} reader;

/* Sets numbers to n elements, at most a block, from `first` on. */
static void load(const bf_isa *isa, const bf_rolling_tile *t, int64_t first, int n,
                 double *numbers) {
    const bf_dtype dtype = t->job->window.dtype;
    const int bytes = bf_dtype_bytes(dtype);
    const char *from = bf_rolling_element(t, first);
    char narrow[8 * BF_ROLLING_BLOCK], *to = dtype == BF_F64 ? (char *)numbers : narrow;
    if (t->stride == bytes) memcpy(to, from, (size_t)(n * bytes));
    for (int i = 0; i < n && t->stride != bytes; i++)
        bf_store_bits(to + i * bytes, bytes, bf_load_bits(from + i * t->stride, bytes));
    if (dtype != BF_F64) bf_cast_block(isa, dtype, BF_F64, narrow, numbers, n);
}

/* Reads a block of elements up to the end. */
static void refill(reader *r, int64_t first, int64_t end) {
    r->first = first;
    r->end = end - first < BF_ROLLING_BLOCK ? end : first + BF_ROLLING_BLOCK;
    load(r->isa, r->t, first, (int)(r->end - first), r->numbers);
}

INLINE double read_element(reader *r, int64_t i) {
    if (i < r->first || i >= r->end) refill(r, i, r->t->job->length);
    return r->numbers[i - r->first];
}

typedef struct range {
    double least, most; /* 0 of nothing but NaNs */
    bool nan, negative_zero;
} range;

static void add_to_range(range *x, const double *numbers, int n) {
    range r = *x;
    for (int i = 0; i < n; i++) {
        r.least = numbers[i] < r.least ? numbers[i] : r.least;
        r.most = numbers[i] > r.most ? numbers[i] : r.most;
        r.nan |= numbers[i] != numbers[i];
        r.negative_zero |= bf_bits_of_double(numbers[i]) == (uint64_t)1 << 63;
    }
    *x = r;
}

static range range_of(reader *r) {
    range x = {.least = (double)INFINITY, .most = -(double)INFINITY};
    const bf_rolling_job *job = r->t->job;
    const int64_t end = bf_rolling_end(job, r->t->to - 1);
    for (int64_t i = bf_rolling_first(job, r->t->from); i < end; i = r->end) {
        refill(r, i, end);
        add_to_range(&x, r->numbers, (int)(r->end - i));
    }
    if (x.least > x.most) x.least = x.most = 0;
    return x;
}

/* ---- units ----------------------------------------------------------------------------------- */

/* A number between all elements, if none is more than twice another: the difference of two such
 * doubles is exact. Else 0. */
static double shift_of(range x) {
    const bool near =
        (x.least > 0 && x.most <= 2 * x.least) || (x.most < 0 && x.least >= 2 * x.most);
    return near ? x.least + (x.most - x.least) / 2 : 0;
}

static double start_of(int exponent) { return 1.5 * bf_power_of_two(exponent + 52); }

/* Windows, and what is summed beside them, have fewer than 2^bits elements, each of at most 2^top.
 * So the sums of the highest units do not exceed 2^52 of them: a square is at most 2^(2 top). Those
 * of the other units do not either, of up to 500 elements since they were carried.
 *
 * An element whose rest is no multiple of the low unit loses half of one. The count times the
 * squares, less the square of the sum, loses for it the count times less than 2^(top + 2) of that;
 * and for each square of the count a rest unit, and 2^-100 of 2^(2 top) by the arithmetic of
 * bounds.
 */
static void set_units(units *u, bool squares, int top, int bits) {
    const int high = top + bits - 51, low = high - BF_ROLLING_GAP;
    const int square = 2 * top + bits - 52, rest = square - 2 * BF_ROLLING_GAP;
    u->in_doubles.high = start_of(high);
    u->in_doubles.low = start_of(low);
    u->in_doubles.square = start_of(square);
    u->in_doubles.cross = start_of(square - BF_ROLLING_GAP);
    u->in_doubles.rest = start_of(rest);
    u->element = bf_power_of_two(squares ? low + top + 1 : low - 1);
    u->spread = bf_power_of_two(2 * top - 100) + bf_power_of_two(rest);
}

/* Finds units for the elements of a tile. False: there are none. */
static bool find_units(reader *r, units *u) {
    const bf_rolling_job *job = r->t->job;
    const bf_window *w = &job->window;
    const bool squares = w->kind == BF_KIND_MOMENTS;
    const bool rounded = w->dtype == BF_I64 || w->dtype == BF_U64;
    const range x = range_of(r);
    if (x.nan && w->options.nan == BF_NAN_ERROR) return false;
    if (rounded && !(x.least > -0x1p53 && x.most < 0x1p53)) return false;
    u->in_doubles.shift = squares ? shift_of(x) : 0;
    u->nan = x.nan;
    u->negative_zero = x.negative_zero;
    const double above = x.most - u->in_doubles.shift, below = u->in_doubles.shift - x.least;
    const double largest = above > below ? above : below;
    const int held = (int)(bf_bits_of_double(largest) >> 52) - 1022;
    const int top = held > -400 ? held : -400; /* so that no unit is subnormal */
    const int64_t beside = job->first != NULL ? 2 * BF_ROLLING_REACH : 0;
    const int bits = bf_bit_length((uint64_t)(bf_rolling_largest(job) + beside));
    if (top > 400 || bits > 40) return false;
    set_units(u, squares, top, bits);
    return true;
}

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct slide {
    const bf_rolling_tile *t;
    void *room;
    reader entering, leaving;
    units units;
    bf_rolling_sums sums;
    int64_t first, end;           /* the sums are those of elements [first, end) */
    int64_t taken;                /* so many have entered or left one by one */
    int64_t nans;                 /* so many of them are NaN */
    int64_t plain;                /* with so many, and no NaN, a window's counts tell nothing */
    double last;                  /* the number that has entered last */
    int64_t same;                 /* so many like it have entered, one after the other */
    int64_t credit;               /* so many elements may enter limbs, or leave them */
    bf_rolling_block block;       /* what windows have */
    bool known[BF_ROLLING_BLOCK]; /* their results are stored */
    bool equal[BF_ROLLING_BLOCK]; /* their numbers are, and have no variance */
} slide;

/* The fewest numbers that have a result. */
INLINE int64_t fewest(bool squares, const bf_window *w) {
    return squares ? w->options.ddof + 1 : w->op == BF_MEAN;
}

static void begin(slide *s, const bf_isa *isa, const bf_rolling_tile *t, void *room) {
    const bf_window *w = &t->job->window;
    const int64_t least = fewest(w->kind == BF_KIND_MOMENTS, w);
    s->t = t;
    s->room = room;
    s->sums = (bf_rolling_sums){0};
    s->first = s->end = bf_rolling_first(t->job, t->from);
    s->taken = s->nans = s->same = s->credit = 0;
    s->plain = w->least > least ? w->least : least;
    s->last = 0;
    s->entering.isa = s->leaving.isa = isa;
    s->entering.t = s->leaving.t = t;
    s->leaving.first = s->leaving.end = 0;
}

/* The element enters, or leaves: sign is 1 or -1. */
INLINE void take(bool squares, slide *s, double x, double sign) {
    const bf_rolling_sums parts = bf_rolling_parts(squares, &s->units.in_doubles, x);
    s->sums.rounded += parts.rounded;
    s->sums.lost |= parts.lost;
    s->sums.high += sign * parts.high;
    s->sums.low += sign * parts.low;
    if (squares) {
        s->sums.squares += sign * parts.squares;
        s->sums.cross += sign * parts.cross;
        s->sums.rest += sign * parts.rest;
    }
    if (s->taken++ % BF_ROLLING_BLOCK == 0)
        bf_rolling_carry(squares, &s->units.in_doubles, &s->sums);
}

INLINE void count_same(slide *s, double x) {
    s->same = s->same * (x == s->last) + 1; /* without a branch */
    s->last = x;
}

/* Elements leave first, so that the sums never have more than a window. */
INLINE void move(bool squares, slide *s, int64_t first, int64_t end) {
    for (; s->first < first && s->first < s->end; s->first++) {
        const double x = read_element(&s->leaving, s->first);
        s->nans -= x != x;
        if (x == x) take(squares, s, x, -1);
    }
    if (s->end < first) s->end = first;
    s->first = first;
    for (; s->end < end; s->end++) {
        const double x = read_element(&s->entering, s->end);
        s->nans += x != x;
        if (x != x) continue;
        take(squares, s, x, 1);
        count_same(s, x);
    }
}

/* Does the count of a window alone tell its result? */
static bool told(bool squares, const slide *s, int64_t rows, int64_t nans, uint64_t *bits) {
    const bf_window *w = &s->t->job->window;
    const int64_t counts[BF_SUM_LIMBS] = {[BF_SUM_COUNT] = rows, [BF_SUM_NAN] = nans};
    if (bf_window_told(w, counts, bits)) return true;
    *bits = bf_format_nan(bf_format_of(w->to));
    return rows - nans < fewest(squares, w);
}

/* Takes the counts of window i, and stores its result, k + i, if they tell it. same: as s->same. */
INLINE void end_window(bool squares, slide *s, int64_t k, int i, int64_t rows, int64_t nans,
                       int64_t same) {
    uint64_t bits;
    s->known[i] = (nans > 0 || rows < s->plain) && told(squares, s, rows, nans, &bits);
    s->block.count[i] = s->known[i] ? 2 : (double)(rows - nans);
    if (s->known[i]) bf_rolling_store(s->t, s->t->job->window.to, k + i, bits);
    if (squares) s->equal[i] = same >= rows - nans;
}

/* Takes n windows from result k on. */
INLINE void take_windows(bool squares, slide *s, int64_t k, int n) {
    const bf_rolling_job *job = s->t->job;
    for (int i = 0; i < n; i++) {
        move(squares, s, bf_rolling_first(job, k + i), bf_rolling_end(job, k + i));
        bf_rolling_put(squares, &s->block, i, &s->sums);
        end_window(squares, s, k, i, s->end - s->first, s->nans, s->same);
    }
}

/* A NaN enters or leaves as what adds nothing. Returns whether it is one. */
INLINE bool clean(const slide *s, double *x) {
    const bool nan = *x != *x;
    if (nan) *x = s->units.in_doubles.shift;
    return nan;
}

/* Do the windows before each of n, from result k on, gain one element, and lose `out`? Those of a
 * number of elements never take more than one step, but for the first one of a tile. */
INLINE bool is_steady(const slide *s, int64_t k, int n, int out) {
    const bf_rolling_job *job = s->t->job;
    const int by = job->first == NULL && n > 1 ? n - 1 : 1;
    if (job->step != 1) return false;
    for (int i = 0; i < n; i += by)
        if (bf_rolling_first(job, k + i) != s->first + out * (1 + i) ||
            bf_rolling_end(job, k + i) != s->end + 1 + i)
            return false;
    return true;
}

/* Takes n windows, if they are steady, or grow. */
INLINE bool take_steady(bool squares, slide *s, int64_t k, int n) {
    const bf_isa *isa = s->entering.isa;
    const bool grow = is_steady(s, k, n, 0), nan = s->units.nan;
    double entering[BF_ROLLING_BLOCK], leaving[BF_ROLLING_BLOCK];
    if (!grow && !is_steady(s, k, n, 1)) return false;
    load(isa, s->t, s->end, n, entering);
    if (!grow) load(isa, s->t, s->first, n, leaving);
    int64_t rows = s->end - s->first;
    s->end += n;
    s->first += grow ? 0 : n;
    for (int i = 0; i < n; i++) s->block.count[i] = (double)(rows + (grow ? i + 1 : 0));
    for (int i = 0; i < n; i++) s->known[i] = false;
    for (int i = 0; (squares || nan || rows < s->plain) && i < n; i++) {
        rows += grow;
        if (squares && entering[i] == entering[i]) count_same(s, entering[i]);
        if (nan) s->nans += clean(s, &entering[i]);
        if (nan && !grow) s->nans -= clean(s, &leaving[i]);
        end_window(squares, s, k, i, rows, s->nans, s->same);
    }
    isa->rolling->slide(squares, &s->units.in_doubles, entering, grow ? NULL : leaving, n, &s->sums,
                        &s->block);
    return true;
}

/* Puts the elements up to `end` into a queue, if it holds them. */
INLINE bool fill_queue(const slide *s, int64_t first, int64_t end, bf_rolling_queue *q) {
    if (end - first > BF_ROLLING_REACH) return false;
    q->count = (int)(end - first);
    for (int i = 0; i < q->count; i += BF_ROLLING_BLOCK) {
        const int n = q->count - i < BF_ROLLING_BLOCK ? q->count - i : BF_ROLLING_BLOCK;
        load(s->entering.isa, s->t, first + i, n, q->numbers + i);
    }
    return true;
}

/* What is known before any element of a queue, and after each one. */
typedef struct notes {
    int nans[BF_ROLLING_REACH + 1];
    int64_t same[BF_ROLLING_REACH + 1];
} notes;

/* NaNs become what adds nothing, and are counted. */
INLINE void clean_queue(const slide *s, bf_rolling_queue *q, notes *t) {
    t->nans[0] = 0;
    for (int i = 0; i < q->count; i++) {
        t->nans[i + 1] = t->nans[i] + clean(s, &q->numbers[i]);
    }
}

INLINE void note_same(slide *s, const bf_rolling_queue *q, notes *t) {
    t->same[0] = s->same;
    for (int i = 0; i < q->count; i++) {
        if (q->numbers[i] == q->numbers[i]) count_same(s, q->numbers[i]);
        t->same[i + 1] = s->same;
    }
}

/* Takes n windows of a span, if few elements enter and leave meanwhile. It has its own frame. */
static __attribute__((noinline)) bool take_spans(bool squares, slide *s, int64_t k, int n) {
    const bf_rolling_job *job = s->t->job;
    bf_rolling_queue entering, leaving;
    notes entered, left;
    if (job->first == NULL || !fill_queue(s, s->end, job->end[k + n - 1], &entering) ||
        !fill_queue(s, s->first, job->first[k + n - 1], &leaving))
        return false;
    if (squares) note_same(s, &entering, &entered);
    clean_queue(s, &entering, &entered);
    clean_queue(s, &leaving, &left);
    for (int i = 0; i < n; i++) {
        const int in = (int)(job->end[k + i] - s->end), out = (int)(job->first[k + i] - s->first);
        entering.taken[i] = in;
        leaving.taken[i] = out;
        end_window(squares, s, k, i, job->end[k + i] - job->first[k + i],
                   s->nans + entered.nans[in] - left.nans[out], squares ? entered.same[in] : 0);
    }
    s->nans += entered.nans[entering.count] - left.nans[leaving.count];
    s->end += entering.count;
    s->first += leaving.count;
    s->entering.isa->rolling->jump(squares, &s->units.in_doubles, &entering, &leaving, n, &s->sums,
                                   &s->block);
    return true;
}

/* ---- results --------------------------------------------------------------------------------- */

INLINE uint64_t round_double(bf_dtype to, double x) {
    const float narrow = (float)x;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return to == BF_F64 ? bf_bits_of_double(x) : bits;
}

/* Sets *bits to what both bounds round to, to the sign of a zero. False: they do not. */
INLINE bool round_bounds(bf_dtype to, double least, double most, uint64_t *bits) {
    *bits = round_double(to, most);
    if (to == BF_F64) return least == most;
    return to == BF_F32 && least <= most && round_double(to, least) == *bits;
}

static uint64_t exact_result(const slide *s, int i) {
    const bf_rolling_block *b = &s->block;
    const double sum[2] = {b->high[i], b->low[i]};
    const double squares[3] = {b->squares[i], b->cross[i], b->rest[i]}; /* not of sums */
    return bf_rolling_exact(&s->t->job->window, (int64_t)b->count[i], sum, squares, s->room);
}

/* Equal numbers have no variance, which bounds would not show. */
INLINE void bound_results(bool squares, slide *s, const bf_rolling_making *making, int n) {
    bf_rolling_block *b = &s->block;
    s->entering.isa->rolling->bound(making, b, n);
    for (int i = 0; squares && i < n; i++) {
        b->least[i] = s->equal[i] ? 0 : b->least[i];
        b->most[i] = s->equal[i] ? 0 : b->most[i];
    }
}

enum { FEW = 32 /* elements that cost less than to leave doubles */ };

/* Takes result k by limbs, if few elements enter them, or no more in all than results were taken by
 * doubles. */
static bool take_alone(slide *s, int64_t k) {
    const int64_t work = bf_roll_limbs_work(s->t, k, s->room);
    bf_rolling_tile alone = *s->t;
    alone.from = k;
    alone.to = k + 1;
    if (work > FEW && work > s->credit) return false;
    if (work > FEW) s->credit -= work;
    return bf_roll_limbs(&alone, s->room) == BF_OK;
}

static bool is_rounded(const slide *s) { return s->sums.rounded > 0 || s->sums.lost; }

/* Stores n results from k on. Returns how many are certain. */
INLINE int store_results(bf_dtype to, bool squares, slide *s, int64_t k, int n) {
    const bf_rolling_tile t = *s->t;
    const bf_rolling_block *b = &s->block;
    const bool negative_zero = !squares && s->units.negative_zero;
    uint64_t bits;
    for (int i = 0; i < n; i++) {
        if (s->known[i]) continue;
        const bool signless = negative_zero && b->high[i] + b->low[i] == 0;
        const bool certain = !signless && round_bounds(to, b->least[i], b->most[i], &bits);
        if (!certain && (signless || is_rounded(s))) {
            if (!take_alone(s, k + i)) return i;
            continue;
        }
        bf_rolling_store(&t, to, k + i, certain ? bits : exact_result(s, i));
    }
    return n;
}

INLINE int64_t roll(const bf_isa *isa, bool squares, const bf_rolling_tile *t, void *room) {
    const bf_window *w = &t->job->window;
    slide s;
    begin(&s, isa, t, room);
    if (!find_units(&s.entering, &s.units)) return t->from;
    bf_rolling_making making = {w->op, w->to != BF_F64, w->options.ddof,
                                0,     s.units.element, s.units.spread};
    for (int64_t k = t->from; k < t->to; k += BF_ROLLING_BLOCK) {
        const int n = t->to - k < BF_ROLLING_BLOCK ? (int)(t->to - k) : BF_ROLLING_BLOCK;
        if (!take_steady(squares, &s, k, n) && !take_spans(squares, &s, k, n))
            take_windows(squares, &s, k, n);
        making.rounded = s.sums.rounded;
        s.credit += n;
        bound_results(squares, &s, &making, n);
        const int stored = w->to == BF_F64 ? store_results(BF_F64, squares, &s, k, n)
                                           : store_results(w->to, squares, &s, k, n);
        if (stored < n) return k + stored;
    }
    return t->to;
}

int64_t bf_roll_doubles(const bf_isa *isa, const bf_rolling_tile *t, void *room) {
    const bf_window *w = &t->job->window;
    const bool squares = w->kind == BF_KIND_MOMENTS;
    if (w->dtype == BF_I128 || (squares && bf_dtype_is_half(w->to))) return t->from;
    return squares ? roll(isa, true, t, room) : roll(isa, false, t, room);
}
