/* Makes bins: chooses how a bin is guessed, and bounds the error of the guess at each edge
 * (rules/histogram/bin.h). The caller has entered the floating-point environment. */
#include "api/histogram/bins.h"

#include <math.h>
#include <stdatomic.h>

/* The guess in floats is used if its error is below this part of a bin. */
static const double single_most = 1.0 / 16;

/* ---- guesses --------------------------------------------------------------------------------- */

/* The values at which the error of a guess is measured. For floats these are the edges. For
 * integers they are the integers around each edge, so that an integer on an edge is guessed right.
 */
typedef struct measured {
    bool whole; /* the elements are integers */
    const double *edges;
    int64_t bins;
    double first, scale; /* the guess in doubles is (x - first) * scale */
} measured;

/* before returns a bound of the elements below edge i, from of those that are not below it. */
static double before(const measured *m, int64_t i) {
    return m->whole ? ceil(m->edges[i]) - 1 : m->edges[i];
}
static double from(const measured *m, int64_t i) {
    return m->whole ? ceil(m->edges[i]) : m->edges[i];
}

/* Returns the first value of the guess. It moves the edges to the middle between the integers
 * around them, as far as one shift can for all edges, but by at most half a bin. An edge is `up`
 * below the next integer, and 1 - up above the one before. */
static double middle_first(const double *edges, int64_t bins, double scale) {
    double least = 1, most = 0;
    for (int64_t i = 0; i < bins; i++) {
        double up = ceil(edges[i]) - edges[i];
        if (up < least) least = up;
        if (up > most) most = up;
    }
    double first = edges[0] + fmax((least + most - 1) / 2, -0.5 / scale);
    return first <= ceil(edges[0]) ? first : edges[0];
}

static measured measure(bf_dtype dtype, const double *edges, int64_t bins) {
    measured m = {.edges = edges, .bins = bins, .first = edges[0]};
    m.scale = (double)bins / (edges[bins] - edges[0]);
    m.whole = !bf_dtype_is_float(dtype) && edges[0] > -0x1p52 && edges[bins] < 0x1p52;
    if (m.whole) m.first = middle_first(edges, bins, m.scale);
    return m;
}

static void widen(bf_guess *g, double above, double below) {
    if (above > g->above) g->above = above;
    if (below > g->below) g->below = below;
}

static bool is_close(const bf_guess *g, double most) { return g->above < most && g->below < most; }

static bf_guess guess_f64(const measured *m) {
    bf_guess g = {.first = m->first, .scale = m->scale};
    const double n = (double)m->bins, last = m->edges[m->bins];
    for (int64_t i = 0; i < m->bins; i++)
        widen(&g, (before(m, i) - g.first) * g.scale - (double)i,
              (double)i - (from(m, i) - g.first) * g.scale);
    g.most = ((m->whole ? floor(last) : last) - g.first) * g.scale;
    double next = ((m->whole ? floor(last) + 1 : last) - g.first) * g.scale;
    if (next <= g.most) widen(&g, g.most - n, n - next);
    return g;
}

/* Return the greatest float up to x and the least from x on; infinity beyond all floats. */
static float float_down(double x) {
    float f = (float)x;
    return (double)f > x ? nextafterf(f, -INFINITY) : f;
}
static float float_up(double x) { return -float_down(-x); }

static bf_guess guess_f32(const measured *m) {
    const float first = float_down(m->first), scale = (float)m->scale;
    const double n = (double)m->bins, last = m->edges[m->bins];
    bf_guess g = {.first = (double)first, .scale = (double)scale};
    for (int64_t i = 0; i < m->bins && is_close(&g, single_most); i++) {
        float down = (float_down(before(m, i)) - first) * scale;
        float up = (float_up(from(m, i)) - first) * scale;
        widen(&g, (double)down - (double)i, (double)i - (double)up);
    }
    float most = (float_down(m->whole ? floor(last) : last) - first) * scale;
    float next = (float_up(m->whole ? floor(last) + 1 : last) - first) * scale;
    g.most = (double)most;
    if (next <= most) widen(&g, (double)most - n, n - (double)next);
    return g;
}

/* Can the guess be used? Some element is in a bin (there may be no integer), the error is less than
 * `margin`, and no guess exceeds the bin after the last. */
static bool is_usable(const bf_guess *g, int64_t bins, double margin) {
    return g->scale > 0 && isfinite(g->scale) && isfinite(g->first) && g->most >= 0 &&
           g->most < (double)bins + 1 && is_close(g, margin);
}

bf_bins bf_bins_make(bf_dtype dtype, const double *edges, int64_t bins, const int64_t *steps,
                     int64_t step_count) {
    static _Atomic uint64_t made;
    const measured m = measure(dtype, edges, bins);
    bf_bins b = {.count = bins, .edges = edges, .steps = steps, .step_count = step_count};
    b.serial = atomic_fetch_add(&made, 1) + 1;
    if (steps != NULL) return b;
    b.f64 = guess_f64(&m);
    b.even = is_usable(&b.f64, bins, 0.5);
    if (!b.even || !bf_bin_is_single(dtype)) return b;
    bf_guess single = guess_f32(&m);
    if (is_usable(&single, bins, single_most)) b.f32 = single;
    return b;
}
