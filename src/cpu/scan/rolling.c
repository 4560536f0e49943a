/* Windows: elements enter a state, and leave it exactly. Sums are two doubles, or limbs, of which
 * only a band is in use; minima and maxima are the head of a queue of the elements that no later
 * one beats. */
#include "cpu/scan/scan.h"

#include "base/double.h"
#include "rules/reduce/band.h"
#include "rules/reduce/totals.h"

enum { LIMBS = 134 /* the most of a layout */ };

/* An exact sum, whose limbs outside [first, end) are 0. */
typedef struct band {
    bf_layout layout;
    int first, end;
    int64_t limbs[LIMBS];
} band;

/* A worker's room. */
typedef struct room {
    int64_t used;
    const char *line; /* the elements of the line, so many bytes apart */
    int64_t stride;
    int64_t first, end; /* the state has elements [first, end) */
    int64_t counts[BF_SUM_LIMBS];
    int64_t added; /* terms since the bands were carried */
    band sum, squares;
    bf_work work;
    int64_t head, queued;
    int64_t queue[]; /* a ring of positions, `capacity` of them */
} room;

typedef struct rolling {
    bf_context *context;
    const bf_rolling_job *job;
    int64_t window;      /* the most elements of one */
    int64_t capacity;    /* positions that a queue has room for */
    bool paired;         /* sums are tried in two doubles */
    int64_t tile, tiles; /* results of a tile; tiles of a line */
} rolling;

/* ---- bands ----------------------------------------------------------------------------------- */

static void init_band(band *b, bf_layout layout) {
    b->layout = layout;
    b->first = layout.limbs;
    b->end = 0;
    for (int i = 0; i < layout.limbs; i++) b->limbs[i] = 0;
}

/* Limbs from position / 32 on are in use, and one for carries. */
static inline void widen_band(band *b, int position, int limbs) {
    const int first = position / 32, end = first + limbs + 1;
    if (first < b->first) b->first = first;
    if (end > b->end) b->end = end < b->layout.limbs ? end : b->layout.limbs;
}

/* Carries, and leaves out limbs that are 0, or a sign. */
static void narrow_band(band *b) {
    int64_t *limbs = b->limbs;
    if (b->end <= b->first) return;
    bf_limbs_carry(limbs + b->first, b->end - b->first);
    while (b->first < b->end && limbs[b->first] == 0) b->first++;
    while (b->end > b->first + 1 && (limbs[b->end - 1] == 0 || limbs[b->end - 1] == -1)) {
        b->end--;
        limbs[b->end - 1] += limbs[b->end] * ((int64_t)1 << 32);
        limbs[b->end] = 0;
    }
}

static inline void add_term(band *b, int position, uint64_t magnitude, bool negative) {
    bf_limbs_add(b->limbs, position, magnitude, negative);
    widen_band(b, position, 3);
}

static inline void add_product(band *b, int position, uint64_t x, uint64_t y, bool negative) {
    bf_limbs_add_product(b->limbs, position, x, y, negative);
    widen_band(b, position, 5);
}

/* ---- elements that enter and leave ----------------------------------------------------------- */

static inline void add_float(bf_dtype dtype, bool squares, room *r, uint64_t x, bool leaves) {
    const bf_format f = bf_format_of(dtype);
    const int special = bf_sum_special(f, x), by = leaves ? -1 : 1;
    if (special) {
        r->counts[special] += by;
        return;
    }
    const bf_finite d = bf_decode(f, x);
    if (!squares) r->counts[BF_SUM_NEG_ZERO] += bf_sum_neg_zero(f, x) ? by : 0;
    if (d.magnitude == 0) return; /* its position would widen the bands */
    add_term(&r->sum, bf_sum_position(f, r->sum.layout, d.position, 1), d.magnitude,
             d.negative != leaves);
    if (squares)
        add_product(&r->squares, bf_sum_position(f, r->squares.layout, 2 * d.position, 2),
                    d.magnitude, d.magnitude, leaves);
}

static inline bf_i128 load_integer(bf_dtype dtype, const char *p) {
    if (dtype == BF_I128) return bf_load_i128(p);
    return bf_integer_decode(dtype, bf_load_bits(p, bf_dtype_bytes(dtype)));
}

static inline void add_integer(bool squares, room *r, bf_i128 x, bool leaves) {
    const bf_u128 magnitude = x < 0 ? 0 - (bf_u128)x : (bf_u128)x;
    const uint64_t low = (uint64_t)magnitude, high = (uint64_t)(magnitude >> 64);
    add_term(&r->sum, 0, low, (x < 0) != leaves);
    if (high != 0) add_term(&r->sum, 64, high, (x < 0) != leaves);
    if (!squares) return;
    add_product(&r->squares, 0, low, low, leaves);
    if (high == 0) return;
    add_product(&r->squares, 64, low, high, leaves);
    add_product(&r->squares, 64, low, high, leaves);
    add_product(&r->squares, 128, high, high, leaves);
}

/* The bands are carried before a limb may overflow, and so often that they grow narrow again soon
 * after what made them wide has left. */
enum { CARRIED_AFTER = 4096 };

static inline void add_element(bf_dtype dtype, bool squares, room *r, const char *p, bool leaves) {
    if (bf_dtype_is_float(dtype))
        add_float(dtype, squares, r, bf_load_bits(p, bf_dtype_bytes(dtype)), leaves);
    else
        add_integer(squares, r, load_integer(dtype, p), leaves);
    if (++r->added < CARRIED_AFTER) return;
    narrow_band(&r->sum);
    narrow_band(&r->squares);
    r->added = 0;
}

static inline bool is_nan(bf_dtype dtype, const char *p) {
    return bf_dtype_is_float(dtype) &&
           bf_is_nan(bf_format_of(dtype), bf_load_bits(p, bf_dtype_bytes(dtype)));
}

/* The less, the sooner it is the result. */
static inline bf_i128 rank_of(bf_dtype dtype, const char *p, int64_t flip) {
    if (dtype == BF_I128) return bf_load_i128(p) ^ flip;
    return bf_order_rank(dtype, bf_load_bits(p, bf_dtype_bytes(dtype))) ^ flip;
}

static inline int64_t *queue_at(const rolling *o, room *r, int64_t number) {
    const int64_t at = r->head + number;
    return &r->queue[at < o->capacity ? at : at - o->capacity];
}

/* Element r->end is the last of the queue, without those that it beats. */
static inline void push(bf_dtype dtype, const rolling *o, room *r) {
    const int64_t flip = bf_is_greatest(o->job->op) ? -1 : 0;
    const bf_i128 rank = rank_of(dtype, r->line + r->end * r->stride, flip);
    while (r->queued > 0) {
        const int64_t last = *queue_at(o, r, r->queued - 1);
        if (rank_of(dtype, r->line + last * r->stride, flip) < rank) break;
        r->queued--;
    }
    *queue_at(o, r, r->queued++) = r->end;
}

static inline void pop(const rolling *o, room *r, int64_t first) {
    while (r->queued > 0 && r->queue[r->head] < first) {
        r->head = r->head + 1 < o->capacity ? r->head + 1 : 0;
        r->queued--;
    }
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The state is that of no elements, and begins at element `first`. */
static void clear(const rolling *o, room *r, int64_t first) {
    const bf_rolling_job *job = o->job;
    if (job->kind != BF_KIND_EXTREME) {
        const bf_sum_shape shape = bf_sum_shape_of(job->kind, job->dtype);
        init_band(&r->sum, shape.sum);
        init_band(&r->squares, shape.products);
    }
    memset(r->counts, 0, sizeof r->counts);
    r->first = r->end = first;
    r->added = r->head = r->queued = 0;
}

static inline void move(bf_dtype dtype, const rolling *o, room *r, int64_t first, int64_t end) {
    const bf_rolling_job *job = o->job;
    const bool extreme = job->kind == BF_KIND_EXTREME, squares = job->kind == BF_KIND_MOMENTS;
    if (first >= r->end) clear(o, r, first);
    if (extreme) pop(o, r, first);
    for (; r->first < first; r->first++) {
        const char *p = r->line + r->first * r->stride;
        r->counts[BF_SUM_COUNT]--;
        if (job->counts || extreme)
            r->counts[BF_SUM_NAN] -= is_nan(dtype, p);
        else
            add_element(dtype, squares, r, p, true);
    }
    for (; r->end < end; r->end++) {
        const char *p = r->line + r->end * r->stride;
        r->counts[BF_SUM_COUNT]++;
        if (!job->counts && !extreme)
            add_element(dtype, squares, r, p, false);
        else if (is_nan(dtype, p))
            r->counts[BF_SUM_NAN]++;
        else if (extreme)
            push(dtype, o, r);
    }
}

/* The window of result k is [first_of, end_of). */
static inline int64_t first_of(const bf_rolling_job *job, int64_t k) {
    const int64_t at = k * job->step, before = job->window - job->after - 1;
    return at > before ? at - before : 0;
}

static inline int64_t end_of(const bf_rolling_job *job, int64_t k) {
    const int64_t at = k * job->step;
    return job->after < job->length - at ? at + job->after + 1 : job->length;
}

/* ---- results --------------------------------------------------------------------------------- */

static uint64_t round_integer(bf_i128 x, bf_format f) {
    bool negative;
    const bf_leading leading = bf_leading_of_i128(x, 0, &negative);
    return x == 0 ? 0 : bf_leading_round(f, negative, leading);
}

static uint64_t extreme_of(const rolling *o, const room *r) {
    const bf_rolling_job *job = o->job;
    const bf_format f = bf_format_of(job->to);
    const bool nan = r->counts[BF_SUM_NAN] > 0 && job->options.nan != BF_NAN_SKIP;
    if (nan || r->queued == 0) return bf_format_nan(f);
    const char *p = r->line + r->queue[r->head] * r->stride;
    if (bf_dtype_is_float(job->dtype)) return bf_load_bits(p, bf_dtype_bytes(job->dtype));
    return round_integer(load_integer(job->dtype, p), f);
}

static bf_layout layout_of(const band *b) {
    return bf_layout_make(b->end > b->first ? b->end - b->first : 0,
                          b->layout.exponent + 32 * b->first);
}

static uint64_t sum_of(const rolling *o, room *r) {
    const bf_rolling_job *job = o->job;
    bf_band_sums g = {.sum = r->sum.limbs + r->sum.first,
                      .products = r->squares.limbs + r->squares.first,
                      .sum_layout = layout_of(&r->sum),
                      .products_layout = layout_of(&r->squares)};
    memcpy(g.counts, r->counts, sizeof g.counts);
    return bf_band_bits(job->op, &g, &job->options, bf_format_of(job->to), &r->work);
}

static uint64_t result_of(const rolling *o, room *r) {
    const bf_rolling_job *job = o->job;
    const int64_t rows = r->counts[BF_SUM_COUNT], there = bf_finish_count(r->counts);
    const bf_format f = bf_format_of(job->to);
    if ((job->counts ? rows : there) < job->least) return bf_format_nan(f);
    if (job->counts) return round_integer(there, f);
    return job->kind == BF_KIND_EXTREME ? extreme_of(o, r) : sum_of(o, r);
}

/* ---- sums of floats in two doubles ----------------------------------------------------------- */

/* An element is a multiple of the high unit and a rest, a multiple of the low one. All sums of
 * either, of the elements of a window, are doubles, so that elements enter and leave exactly, and
 * one addition of the two rounds. */
typedef struct pair {
    double high_start, low_start; /* 1.5 * 2^52 units */
    double high, low;
    int low_exponent, gap; /* the low unit is 2^low_exponent, the high one 2^gap of them */
    bool left;             /* some rest is no multiple of the low unit */
} pair;

static inline double load_double(bf_dtype dtype, const char *p) {
    float narrow;
    if (dtype == BF_F64) return bf_double_of_bits(bf_load_bits(p, 8));
    memcpy(&narrow, p, sizeof narrow);
    return (double)narrow;
}

static double power_of_two(int exponent) {
    return bf_double_of_bits((uint64_t)(exponent + 1023) << 52);
}

/* Finds units for windows of the elements [first, end) of the line, each below 2^top: windows of
 * fewer than 2^bits of them stay below 2^52 high units, and their rests below 2^52 low ones. False:
 * there are none, or an element is NaN, infinite or -0. */
static inline bool find_units(bf_dtype dtype, const rolling *o, const room *r, int64_t first,
                              int64_t end, pair *sums) {
    const int bits = bf_bit_length((uint64_t)o->window);
    uint64_t largest = 0;
    bool negative_zero = false;
    for (int64_t i = first; i < end; i++) {
        const uint64_t held = bf_bits_of_double(load_double(dtype, r->line + i * r->stride));
        const uint64_t magnitude = held & INT64_MAX;
        negative_zero |= held != magnitude && magnitude == 0;
        largest = magnitude > largest ? magnitude : largest;
    }
    const int top = (int)(largest >> 52) - 1022, high = top + bits - 51;
    if (negative_zero || top < -700 || top + bits > 1000 || bits > 40) return false;
    sums->gap = 53 - bits;
    sums->low_exponent = high - sums->gap;
    sums->high_start = 1.5 * power_of_two(high + 52);
    sums->low_start = 1.5 * power_of_two(sums->low_exponent + 52);
    sums->high = sums->low = 0;
    sums->left = false;
    return true;
}

static inline void add_to_pair(pair *sums, double x, double sign) {
    const double high = (x + sums->high_start) - sums->high_start, low = x - high;
    sums->left |= (low + sums->low_start) - sums->low_start != low;
    sums->high += sign * high;
    sums->low += sign * low;
}

/* The result of n > 0 elements. */
static uint64_t pair_result(const bf_rolling_job *job, const pair *sums, int64_t n) {
    bool negative;
    if (job->op == BF_SUM && job->to == BF_F64) return bf_bits_of_double(sums->high + sums->low);
    const double high = sums->high * power_of_two(-sums->low_exponent - sums->gap);
    const double low = sums->low * power_of_two(-sums->low_exponent);
    const bf_i128 sum = (bf_i128)(int64_t)high * ((bf_i128)1 << sums->gap) + (int64_t)low;
    bf_leading x = bf_leading_of_i128(sum, sums->low_exponent, &negative);
    if (sum == 0) return 0;
    if (job->op == BF_MEAN) x = bf_leading_divide(x, (uint64_t)n);
    return bf_leading_round(bf_format_of(job->to), negative, x);
}

/* Results [from, to) of the line, where two doubles have them; false: they do not. */
static inline bool roll_pairs(bf_dtype dtype, const rolling *o, room *r, char *values, int64_t from,
                              int64_t to) {
    const bf_rolling_job *job = o->job;
    const int bytes = bf_dtype_bytes(job->to);
    pair sums;
    int64_t first = first_of(job, from), end = first;
    if (!o->paired || !find_units(dtype, o, r, first, end_of(job, to - 1), &sums)) return false;
    for (int64_t k = from; k < to; k++) {
        for (; first < first_of(job, k); first++)
            add_to_pair(&sums, load_double(dtype, r->line + first * r->stride), -1);
        for (; end < end_of(job, k); end++)
            add_to_pair(&sums, load_double(dtype, r->line + end * r->stride), 1);
        const bool enough = end - first >= job->least;
        bf_store_bits(values + k * job->inner * bytes, bytes,
                      enough ? pair_result(job, &sums, end - first)
                             : bf_format_nan(bf_format_of(job->to)));
    }
    return !sums.left;
}

/* Results [from, to) of the line. */
static inline __attribute__((always_inline)) bf_status
roll_tile(bf_dtype dtype, const rolling *o, room *r, char *values, int64_t from, int64_t to) {
    const bf_rolling_job *job = o->job;
    const int bytes = bf_dtype_bytes(job->to);
    if ((dtype == BF_F64 || dtype == BF_F32) && roll_pairs(dtype, o, r, values, from, to))
        return BF_OK;
    for (int64_t k = from; k < to; k++) {
        if (k == from) clear(o, r, first_of(job, k));
        move(dtype, o, r, first_of(job, k), end_of(job, k));
        if (job->options.nan == BF_NAN_ERROR && r->counts[BF_SUM_NAN] > 0) return BF_E_NAN;
        bf_store_bits(values + k * job->inner * bytes, bytes, result_of(o, r));
    }
    return BF_OK;
}

/* ---- lines and tiles ------------------------------------------------------------------------- */

static bf_status roll_one(const rolling *o, room *r, int64_t number) {
    const bf_rolling_job *job = o->job;
    const int64_t line = number / o->tiles, from = number % o->tiles * o->tile;
    const int64_t to = from + o->tile < job->results ? from + o->tile : job->results;
    const int64_t outer = line / job->inner, inner = line % job->inner;
    const int bytes = bf_number_bytes(job->dtype);
    char *values =
        (char *)job->values + (outer * job->results * job->inner + inner) * bf_dtype_bytes(job->to);
    r->line = (const char *)job->elements + (outer * job->length * job->inner + inner) * bytes;
    r->stride = job->inner * bytes;
    switch (job->dtype) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: return roll_tile(BF_##id, o, r, values, from, to);
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return roll_tile(BF_I128, o, r, values, from, to);
    }
}

static bf_status roll_some(void *arg, int worker, int64_t first, int64_t n) {
    const rolling *o = arg;
    bf_status status = BF_OK;
    for (int64_t i = first; i < first + n && status == BF_OK; i++)
        status = roll_one(o, bf_room(o->context, worker), i);
    return status;
}

enum { TILE = 1 << 15 };

/* A tile begins with the elements of a window, which the one before has read, too: so it has
 * several times as many. */
static void cut(rolling *o) {
    const bf_rolling_job *job = o->job;
    const int64_t tile = TILE + 8 * (o->window / job->step);
    o->tile = tile < job->results ? tile : job->results;
    o->tiles = (job->results + o->tile - 1) / o->tile;
}

enum { LEAST = 1 << 16 /* bytes that are worth a thread */ };

bf_status bf_cpu_roll(bf_context *context, const bf_rolling_job *job) {
    rolling o = {.context = context, .job = job};
    o.window = job->window < job->length ? job->window : job->length;
    o.paired = job->kind == BF_KIND_SUM && !job->counts && job->step == 1;
    const int64_t lines = job->outer * job->inner;
    const int64_t bytes = lines * job->length * bf_number_bytes(job->dtype);
    int workers = bf_workers(context, bytes, LEAST);
    if (job->kind == BF_KIND_EXTREME) o.capacity = o.window;
    const size_t size = sizeof(room) + (size_t)o.capacity * sizeof(int64_t);
    cut(&o);
    workers = bf_workers_within(workers, size);
    if (!bf_rooms_open(context, workers, size)) return BF_E_MEMORY;
    const int64_t units = lines * o.tiles, piece = 1 + units / (16 * workers);
    bf_environment environment = bf_environment_enter();
    bf_status status = bf_parallel_watched(context, workers, units, piece, bytes, roll_some, &o);
    bf_environment_leave(environment);
    if (status == BF_E_NAN) return bf_fail(context, status, "NaN in the values");
    return status;
}
