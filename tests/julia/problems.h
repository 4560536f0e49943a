/* Pictures for the tests of Julia and Mandelbrot sets: usual ones, and all that loops treat apart.
 */
#ifndef BITFOLD_TESTS_JULIA_PROBLEMS_H
#define BITFOLD_TESTS_JULIA_PROBLEMS_H

#include <bitfold.h>

#include "tests/support/data.h"

static inline bf_julia_params picture_of(bf_dtype dtype, int64_t width, int64_t height) {
    bf_julia_params p;
    bf_julia_defaults(&p);
    p.dtype = dtype;
    p.width = width;
    p.height = height;
    return p;
}

static inline bf_array counts_array(uint16_t *counts, int64_t rows, int64_t columns) {
    bf_array a = bf_array_of(BF_U16, counts, rows);
    a.ndim = 2;
    a.shape[1] = a.strides[0] = columns;
    a.strides[1] = 1;
    return a;
}

/* Another plain loop, which no compiler can contract: every operation ends in memory. */
#define DEFINE_PLAIN(X, T)                                                                         \
    static inline int plain_##X(const bf_julia_params *p, int64_t px, int64_t py) {                \
        volatile T unit = (T)(p->width / 2 > 1 ? p->width / 2 : 1);                                \
        volatile T x = (T)p->scale * (T)(px - p->width / 2), y = (T)p->scale;                      \
        y = y * (T)(py - p->height / 2);                                                           \
        x = x / unit;                                                                              \
        y = y / unit;                                                                              \
        x = x + (T)p->center_re;                                                                   \
        y = y + (T)p->center_im;                                                                   \
        volatile T re = p->mandelbrot ? 0 : x, im = p->mandelbrot ? 0 : y;                         \
        volatile T c_re = p->mandelbrot ? x : (T)p->c_re, c_im = p->mandelbrot ? y : (T)p->c_im;   \
        for (int i = 0; i < p->iterations; i++) {                                                  \
            volatile T re2 = re * re, im2 = im * im, a = im * re, b = re * im;                     \
            volatile T next = re2 - im2, other = a + b;                                            \
            re = next + c_re;                                                                      \
            im = other + c_im;                                                                     \
            re2 = re * re;                                                                         \
            im2 = im * im;                                                                         \
            volatile T magnitude = re2 + im2;                                                      \
            if (magnitude > (T)p->escape) return i;                                                \
        }                                                                                          \
        return (int)p->iterations;                                                                 \
    }
DEFINE_PLAIN(f32, float)
DEFINE_PLAIN(f64, double)

static inline void plain_picture(const bf_julia_params *p, uint16_t *counts) {
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++)
            *counts++ = (uint16_t)(p->dtype == BF_F32 ? plain_f32(p, x, y) : plain_f64(p, x, y));
}

enum { PICTURES = 40, SHAPES = 9, MOST_PIXELS = 1 << 16 };

static inline void set_shape(bf_julia_params *p, int number) {
    static const int64_t shapes[SHAPES][2] = {{1, 1},   {1, 77},   {301, 1},  {2, 2},   {64, 64},
                                              {65, 31}, {130, 97}, {257, 40}, {31, 200}};
    p->width = shapes[number][0];
    p->height = shapes[number][1];
}

/* One of 0 to n - 1. */
static inline int pick(uint64_t *seed, int n) {
    return (int)((next_random(seed) >> 33) % (uint64_t)n);
}

/* Numbers that a view may be made of, the usual and the awkward. */
static inline double some_number(uint64_t *seed) {
    static const double numbers[] = {0,    -0.0, 0.156, -0.8, 1,     -1e-3, 0.25,
                                     1e-7, 2,    -3,    1e6,  -1e12, 1e30,  1e-40};
    return numbers[pick(seed, 14)];
}

/* Picture `number`: the first ones are usual views, the others any. */
static inline bf_julia_params some_picture(int number, uint64_t *seed) {
    static const double escapes[] = {1000, 4, 1000, 100, 1e5, 1, 0.5, 0, -1, 1e30, 3e38, 16};
    static const int64_t iterations[] = {200, 1, 2, 3, 4, 7, 8, 9, 50, 333};
    bf_julia_params p = picture_of(number % 2 ? BF_F64 : BF_F32, 1, 1);
    set_shape(&p, pick(seed, SHAPES));
    p.mandelbrot = number % 3 == 2;
    if (number >= 4) p.escape = escapes[pick(seed, 12)];
    if (number >= 4) p.iterations = iterations[pick(seed, 10)];
    if (number >= 8 && pick(seed, 2)) p.center_re = some_number(seed);
    if (number >= 8 && pick(seed, 2)) p.center_im = some_number(seed);
    if (number >= 12 && pick(seed, 2)) p.scale = some_number(seed);
    if (number >= 16 && pick(seed, 2)) p.c_re = some_number(seed);
    if (number >= 16 && pick(seed, 2)) p.c_im = some_number(seed);
    return p;
}

#endif
