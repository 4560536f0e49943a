/* Escape times: one step of an orbit, and when the orbit has escaped (include/bitfold/julia.h).
 *
 * Other ways to the same counts rest on these facts:
 * - p = im*re and re*im are equal, and p + p is exact unless it overflows. So (p + p) + c is fma(2,
 *   p, c). Where p + p overflows, re*re + im*im has overflowed too: the orbit had escaped.
 * - z and -z have the same squares and products, so the rest of their orbits is the same. If c is
 *   real, or conjugate too, the orbits of z and of its conjugate are conjugate.
 * - Where escape is large beside c (bf_julia_is_sticky), an orbit that has escaped stays so: its
 *   magnitude stays above escape, infinite or NaN. */
#ifndef BF_RULES_JULIA_ESCAPE_H
#define BF_RULES_JULIA_ESCAPE_H

#include "rules/number/rule.h"
#include <bitfold/types.h>

/* A picture. The numbers are exact in the dtype. */
typedef struct bf_julia_view {
    bf_dtype dtype;
    bool mandelbrot;
    int iterations;
    int64_t half_width, half_height;
    double c_re, c_im, center_re, center_im, scale, escape;
} bf_julia_view;

/* --- f32 --- */

typedef struct bf_point_f32 {
    float re, im;
} bf_point_f32;

BF_RULE bf_point_f32 bf_escape_step_f32(bf_point_f32 z, bf_point_f32 c) {
    bf_point_f32 next = {(z.re * z.re - z.im * z.im) + c.re, (z.im * z.re + z.re * z.im) + c.im};
    return next;
}

BF_RULE float bf_escape_magnitude_f32(bf_point_f32 z) { return z.re * z.re + z.im * z.im; }

/* The number of steps, at most `steps`, before the one after which the orbit has escaped. */
BF_RULE int bf_escape_count_f32(bf_point_f32 z, bf_point_f32 c, float escape, int steps) {
    int i = 0;
    for (; i < steps; i++) {
        z = bf_escape_step_f32(z, c);
        if (bf_escape_magnitude_f32(z) > escape) break;
    }
    return i;
}

/* A coordinate of a pixel; offset is its distance from the middle pixel. */
BF_RULE float bf_escape_coordinate_f32(const bf_julia_view *view, int64_t offset, double center) {
    float unit = (float)(view->half_width > 1 ? view->half_width : 1);
    return (float)view->scale * (float)offset / unit + (float)center;
}

/* --- f64 --- */

typedef struct bf_point_f64 {
    double re, im;
} bf_point_f64;

BF_RULE bf_point_f64 bf_escape_step_f64(bf_point_f64 z, bf_point_f64 c) {
    bf_point_f64 next = {(z.re * z.re - z.im * z.im) + c.re, (z.im * z.re + z.re * z.im) + c.im};
    return next;
}

BF_RULE double bf_escape_magnitude_f64(bf_point_f64 z) { return z.re * z.re + z.im * z.im; }

BF_RULE int bf_escape_count_f64(bf_point_f64 z, bf_point_f64 c, double escape, int steps) {
    int i = 0;
    for (; i < steps; i++) {
        z = bf_escape_step_f64(z, c);
        if (bf_escape_magnitude_f64(z) > escape) break;
    }
    return i;
}

BF_RULE double bf_escape_coordinate_f64(const bf_julia_view *view, int64_t offset, double center) {
    double unit = (double)(view->half_width > 1 ? view->half_width : 1);
    return view->scale * (double)offset / unit + center;
}

/* --- the count of a point --- */

BF_RULE int bf_escape_point_f32(const bf_julia_view *view, bf_point_f32 point) {
    bf_point_f32 c = {(float)view->c_re, (float)view->c_im}, zero = {0, 0};
    return view->mandelbrot
               ? bf_escape_count_f32(zero, point, (float)view->escape, view->iterations)
               : bf_escape_count_f32(point, c, (float)view->escape, view->iterations);
}

BF_RULE int bf_escape_point_f64(const bf_julia_view *view, bf_point_f64 point) {
    bf_point_f64 c = {view->c_re, view->c_im}, zero = {0, 0};
    return view->mandelbrot ? bf_escape_count_f64(zero, point, view->escape, view->iterations)
                            : bf_escape_count_f64(point, c, view->escape, view->iterations);
}

/* --- properties of a whole view --- */

/* Pixels that have the same count: those of z and -z, or those of z and its conjugate. */
typedef enum bf_julia_symmetry {
    BF_JULIA_NONE,
    BF_JULIA_POINT, /* (x, y) and (width/2*2 - x, height/2*2 - y) */
    BF_JULIA_MIRROR /* (x, y) and (x, height/2*2 - y) */
} bf_julia_symmetry;

BF_RULE bf_julia_symmetry bf_julia_symmetry_of(const bf_julia_view *v) {
    if (v->center_im != 0) return BF_JULIA_NONE;
    if (!v->mandelbrot && v->center_re == 0) return BF_JULIA_POINT;
    return v->mandelbrot || v->c_im == 0 ? BF_JULIA_MIRROR : BF_JULIA_NONE;
}

BF_RULE double bf_julia_abs(double x) { return x < 0 ? -x : x; }

/* An upper bound of the magnitude of all coordinates of the picture. */
BF_RULE double bf_julia_reach(const bf_julia_view *v) {
    double unit = (double)(v->half_width > 1 ? v->half_width : 1);
    double side = (double)(v->half_width > v->half_height ? v->half_width : v->half_height) + 1;
    double center = bf_julia_abs(v->center_re) + bf_julia_abs(v->center_im);
    return 1.01 * (bf_julia_abs(v->scale) * (side / unit) + center);
}

/* Returns whether all points, and c, are so small that no orbit overflows before it has escaped. */
BF_RULE bool bf_julia_is_tame(const bf_julia_view *v) {
    double c = bf_julia_abs(v->c_re) + bf_julia_abs(v->c_im);
    return bf_julia_reach(v) < 0x1p+50 && c < 0x1p+50;
}

/* Returns whether an orbit that has escaped stays so. With r = |z| at least sqrt(escape), the next
 * point is at least r * r - |c| away from 0; the margins exceed the rounding errors of a step by
 * far. */
BF_RULE bool bf_julia_is_sticky(const bf_julia_view *v) {
    double c =
        v->mandelbrot ? 2 * bf_julia_reach(v) : bf_julia_abs(v->c_re) + bf_julia_abs(v->c_im);
    double next = 0.99 * v->escape - 1.01 * c;
    return v->escape >= 1 && next > 0 && next * next > 1.02 * v->escape;
}

#endif
