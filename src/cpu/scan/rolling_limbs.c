/* Windows whose sums are limbs, of which only a band is in use: elements enter, and leave exactly.
 */
#include "cpu/scan/rolling.h"

#include "base/double.h"

enum { LIMBS = 134 /* the most of a layout */ };

/* An exact sum, whose limbs outside [first, end) are 0. */
typedef struct band {
    bf_layout layout;
    int first, end;
    int64_t limbs[LIMBS];
} band;

typedef struct room {
    int64_t first, end; /* the sums are those of elements [first, end) */
    int64_t counts[BF_SUM_LIMBS];
    int64_t added; /* terms since the bands were carried */
    band sum, squares;
    bf_work work;
} room;

size_t bf_roll_limbs_room(void) { return sizeof(room); }

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

/* ---- windows --------------------------------------------------------------------------------- */

/* The sums are those of no elements, and begin at element `first`. */
static void clear(bf_kind kind, bf_dtype dtype, room *r, int64_t first) {
    const bf_sum_shape shape = bf_sum_shape_of(kind, dtype);
    init_band(&r->sum, shape.sum);
    init_band(&r->squares, shape.products);
    memset(r->counts, 0, sizeof r->counts);
    r->first = r->end = first;
    r->added = 0;
}

static inline void move(bf_dtype dtype, const bf_rolling_tile *t, room *r, int64_t first,
                        int64_t end) {
    const bf_window *w = &t->job->window;
    const bool squares = w->kind == BF_KIND_MOMENTS;
    if (first >= r->end) clear(w->kind, dtype, r, first);
    for (; r->first < first; r->first++)
        add_element(dtype, squares, r, bf_rolling_element(t, r->first), true);
    for (; r->end < end; r->end++)
        add_element(dtype, squares, r, bf_rolling_element(t, r->end), false);
    r->counts[BF_SUM_COUNT] = end - first;
}

static bf_layout layout_of(const band *b) {
    return bf_layout_make(b->end > b->first ? b->end - b->first : 0,
                          b->layout.exponent + 32 * b->first);
}

static uint64_t result_of(const bf_window *w, room *r) {
    uint64_t bits;
    bf_band_sums g = {.sum = r->sum.limbs + r->sum.first,
                      .products = r->squares.limbs + r->squares.first,
                      .sum_layout = layout_of(&r->sum),
                      .products_layout = layout_of(&r->squares)};
    if (bf_window_told(w, r->counts, &bits)) return bits;
    memcpy(g.counts, r->counts, sizeof g.counts);
    return bf_window_sum(w, &g, &r->work);
}

INLINE bf_status roll(bf_dtype dtype, const bf_rolling_tile *t, void *memory) {
    room *r = memory;
    const bf_rolling_job *job = t->job;
    clear(job->window.kind, dtype, r, bf_rolling_first(job, t->from));
    for (int64_t k = t->from; k < t->to; k++) {
        move(dtype, t, r, bf_rolling_first(job, k), bf_rolling_end(job, k));
        if (bf_rolling_refused(&job->window, r->counts)) return BF_E_NAN;
        bf_rolling_store(t, job->window.to, k, result_of(&job->window, r));
    }
    return BF_OK;
}

BF_ROLLING_OF_DTYPE(bf_roll_limbs)

/* ---- doubles --------------------------------------------------------------------------------- */

static void add_double(band *b, double x) {
    const bf_format f = bf_format_f64();
    const bf_finite d = bf_decode(f, bf_bits_of_double(x));
    if (d.magnitude == 0) return;
    add_term(b, bf_sum_position(f, b->layout, d.position, 1), d.magnitude, d.negative);
}

uint64_t bf_rolling_exact(const bf_window *w, int64_t count, const double sum[2],
                          const double squares[3], void *memory) {
    room *r = memory;
    clear(w->kind, BF_F64, r, 0);
    r->counts[BF_SUM_COUNT] = count;
    for (int i = 0; i < 2; i++) add_double(&r->sum, sum[i]);
    for (int i = 0; i < 3 && w->kind == BF_KIND_MOMENTS; i++) add_double(&r->squares, squares[i]);
    return result_of(w, r);
}
