/* Windows whose sums are limbs, of which only a band is in use: elements enter, and leave exactly.
 */
#include "cpu/scan/rolling.h"
#include "cpu/scan/rolling_bands.h"

#include "base/double.h"

enum { LIMBS = 134 /* the most of a layout */ };

typedef struct room {
    int64_t first, end; /* the sums are those of elements [first, end) */
    int64_t counts[BF_SUM_LIMBS];
    int64_t added; /* terms since the bands were carried */
    bf_band sum, squares;
    int64_t limbs[2][LIMBS];
    bf_work work;
} room;

size_t bf_roll_limbs_room(void) { return sizeof(room); }

void bf_roll_limbs_open(void *memory) {
    room *r = memory;
    r->first = r->end = 0;
}

int64_t bf_roll_limbs_work(const bf_rolling_tile *t, int64_t k, const void *memory) {
    const room *r = memory;
    const int64_t first = bf_rolling_first(t->job, k), end = bf_rolling_end(t->job, k);
    return first >= r->end ? end - first : (first - r->first) + (end - r->end);
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
    bf_band_add(&r->sum, bf_sum_position(f, r->sum.layout, d.position, 1), d.magnitude,
                d.negative != leaves);
    if (squares)
        bf_band_add_product(&r->squares, bf_sum_position(f, r->squares.layout, 2 * d.position, 2),
                            d.magnitude, d.magnitude, leaves);
}

static inline bf_i128 load_integer(bf_dtype dtype, const char *p) {
    if (dtype == BF_I128) return bf_load_i128(p);
    return bf_integer_decode(dtype, bf_load_bits(p, bf_dtype_bytes(dtype)));
}

static inline void add_integer(bool squares, room *r, bf_i128 x, bool leaves) {
    const bf_u128 magnitude = x < 0 ? 0 - (bf_u128)x : (bf_u128)x;
    const uint64_t low = (uint64_t)magnitude, high = (uint64_t)(magnitude >> 64);
    bf_band_add(&r->sum, 0, low, (x < 0) != leaves);
    if (high != 0) bf_band_add(&r->sum, 64, high, (x < 0) != leaves);
    if (!squares) return;
    bf_band_add_product(&r->squares, 0, low, low, leaves);
    if (high == 0) return;
    bf_band_add_product(&r->squares, 64, low, high, leaves);
    bf_band_add_product(&r->squares, 64, low, high, leaves);
    bf_band_add_product(&r->squares, 128, high, high, leaves);
}

static inline void add_element(bf_dtype dtype, bool squares, room *r, const char *p, bool leaves) {
    if (bf_dtype_is_float(dtype))
        add_float(dtype, squares, r, bf_load_bits(p, bf_dtype_bytes(dtype)), leaves);
    else
        add_integer(squares, r, load_integer(dtype, p), leaves);
    if (++r->added < BF_BAND_TERMS) return;
    bf_band_narrow(&r->sum);
    bf_band_narrow(&r->squares);
    r->added = 0;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The sums are those of no elements, and begin at element `first`. */
static void clear(bf_kind kind, bf_dtype dtype, room *r, int64_t first) {
    const bf_sum_shape shape = bf_sum_shape_of(kind, dtype);
    bf_band_open(&r->sum, shape.sum, r->limbs[0]);
    bf_band_open(&r->squares, shape.products, r->limbs[1]);
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

static uint64_t result_of(const bf_window *w, room *r) {
    uint64_t bits;
    bf_band_sums g = {.sum = r->sum.limbs + r->sum.first,
                      .products = r->squares.limbs + r->squares.first,
                      .sum_layout = bf_band_layout(&r->sum),
                      .products_layout = bf_band_layout(&r->squares)};
    if (bf_window_told(w, r->counts, &bits)) return bits;
    memcpy(g.counts, r->counts, sizeof g.counts);
    return bf_window_sum(w, &g, &r->work);
}

INLINE bf_status roll(bf_dtype dtype, const bf_rolling_tile *t, void *memory) {
    room *r = memory;
    const bf_rolling_job *job = t->job;
    for (int64_t k = t->from; k < t->to; k++) {
        move(dtype, t, r, bf_rolling_first(job, k), bf_rolling_end(job, k));
        if (bf_rolling_refused(&job->window, r->counts)) return BF_E_NAN;
        bf_rolling_store(t, job->window.to, k, result_of(&job->window, r));
    }
    return BF_OK;
}

BF_ROLLING_OF_DTYPE(bf_roll_limbs)

/* ---- doubles --------------------------------------------------------------------------------- */

static void add_double(bf_band *b, double x) {
    const bf_format f = bf_format_f64();
    const bf_finite d = bf_decode(f, bf_bits_of_double(x));
    if (d.magnitude == 0) return;
    bf_band_add(b, bf_sum_position(f, b->layout, d.position, 1), d.magnitude, d.negative);
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
