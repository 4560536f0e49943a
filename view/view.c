#include "view/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The visible part at first: of Julia sets, and of the Mandelbrot set, which lies further left. */
#define WHOLE 1.5
#define MANDELBROT_RE (-0.6)

#define SCALE_MOST 100.0

/* The least distance of pixels, relative to the numbers that it is added to. 8 ulps of f32 leave
 * orbits some room for rounding; in f64, the widest type, 2 are enough. */
#define F32_RESOLUTION 0x1p-20
#define F64_RESOLUTION 0x1p-51

static double larger(double a, double b) { return a > b ? a : b; }

static double distance(const bf_julia_params *p) {
    const int64_t unit = p->width / 2;
    return p->scale / (double)(unit > 0 ? unit : 1);
}

static double resolution(const bf_julia_params *p) {
    const double most = larger(fabs(p->center_re), fabs(p->center_im)) + fabs(p->scale);
    return fabs(distance(p)) / most;
}

static void choose_dtype(view *v) {
    bf_julia_params *p = &v->seen.params;
    p->dtype = v->wide || !(resolution(p) >= F32_RESOLUTION) ? BF_F64 : BF_F32;
}

/* With this many digits behind the point. */
static double shorten(double x, int digits) {
    char text[384]; /* DBL_MAX has 309 digits before it */
    snprintf(text, sizeof text, "%.*f", digits, x);
    return strtod(text, NULL);
}

/* Enough digits for hundredths of a pixel: names of files have no room for more, and more would
 * change nothing visible. */
static int digits(const bf_julia_params *p) {
    const double n = 2 - floor(log10(fabs(distance(p))));
    return n < 0 ? 0 : n < 30 ? (int)n : 30;
}

static void go(view *v, double re, double im, double scale) {
    bf_julia_params *p = &v->seen.params;
    char text[32];
    snprintf(text, sizeof text, "%.6g", scale);
    p->scale = strtod(text, NULL);
    p->center_re = shorten(re, digits(p));
    p->center_im = shorten(im, digits(p));
    choose_dtype(v);
}

void view_start(view *v, const julia_request *first, bool wide) {
    *v = (view){
        .seen = *first, .wide = wide, .left_re = MANDELBROT_RE, .left_im = 0, .left_scale = WHOLE};
    choose_dtype(v);
}

void view_resize(view *v, int64_t width, int64_t height) {
    v->seen.params.width = width < 1 ? 1 : width;
    v->seen.params.height = height < 1 ? 1 : height;
    choose_dtype(v);
}

void view_point(const view *v, double x, double y, double point[2]) {
    const bf_julia_params *p = &v->seen.params;
    point[0] = distance(p) * (x - (double)(p->width / 2)) + p->center_re;
    point[1] = distance(p) * (y - (double)(p->height / 2)) + p->center_im;
}

void view_zoom(view *v, double x, double y, double factor) {
    const bf_julia_params *p = &v->seen.params;
    double at[2];
    view_point(v, x, y, at);
    bf_julia_params next = *p;
    next.center_re = at[0] + factor * (p->center_re - at[0]);
    next.center_im = at[1] + factor * (p->center_im - at[1]);
    next.scale = factor * p->scale;
    if (factor < 1 && !(resolution(&next) >= F64_RESOLUTION)) return;
    if (factor > 1 && !(fabs(next.scale) <= SCALE_MOST)) return;
    go(v, next.center_re, next.center_im, next.scale);
}

void view_pan(view *v, double dx, double dy) {
    const bf_julia_params *p = &v->seen.params;
    go(v, p->center_re - distance(p) * dx, p->center_im - distance(p) * dy, p->scale);
}

void view_mandelbrot(view *v) {
    if (v->seen.params.mandelbrot) {
        go(v, MANDELBROT_RE, 0, WHOLE);
    } else {
        v->seen.params.mandelbrot = 1;
        go(v, v->left_re, v->left_im, v->left_scale);
    }
}

void view_julia(view *v, double x, double y) {
    bf_julia_params *p = &v->seen.params;
    double c[2];
    view_point(v, x, y, c);
    if (p->mandelbrot) {
        v->left_re = p->center_re;
        v->left_im = p->center_im;
        v->left_scale = p->scale;
    }
    p->mandelbrot = 0;
    p->c_re = shorten(c[0], digits(p));
    p->c_im = shorten(c[1], digits(p));
    go(v, 0, 0, WHOLE);
}

void view_iterate(view *v, bool more) {
    int64_t *n = &v->seen.params.iterations;
    *n = more ? 2 * *n : *n / 2;
    if (*n < 1) *n = 1;
    if (*n > BF_JULIA_ITERATIONS_MAX) *n = BF_JULIA_ITERATIONS_MAX;
}

void view_next_palette(view *v) {
    v->seen.palette++;
    if (*bf_palette_name(v->seen.palette) == '?') v->seen.palette = (bf_palette)1;
}
