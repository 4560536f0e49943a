/* The Julia set and the Mandelbrot set: for each pixel, the step at which its orbit escapes.
 *
 * A picture has width x height pixels. Pixel (x, y), with y downwards, is the point
 *
 *     re = (scale * (x - width/2)) / unit + centre.re,    unit = max(1, width/2)
 *     im = (scale * (y - height/2)) / unit + centre.im,   where width/2 and height/2 are integers
 *
 * so scale is half of the visible width. The orbit of a Julia set starts at this point. The orbit
 * of the Mandelbrot set starts at 0 and has this point as its c. A step takes (re, im) to
 *
 *     (re*re - im*im) + c.re,    (im*re + re*im) + c.im
 *
 * The pixel's count is the number, from 0, of the step after which re*re + im*im > escape, or
 * `iterations` if there is none. Every operation above is rounded once, in the dtype asked for, and
 * none is contracted with another. So the counts are the same on every machine, with any number of
 * threads and any instruction set. */
#ifndef BITFOLD_JULIA_H
#define BITFOLD_JULIA_H

#include "array.h"
#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BF_JULIA_SIDE_MAX (((int64_t)1 << 31) - 1)
#define BF_JULIA_ITERATIONS_MAX 65535

typedef struct bf_julia_params {
    size_t size;           /* sizeof(bf_julia_params): see bitfold.h */
    bf_dtype dtype;        /* computes: BF_F32 or BF_F64; the numbers below are rounded to it */
    int mandelbrot;        /* 1: c is the pixel's point, and c_re, c_im are not used */
    int64_t width, height; /* the whole picture's: 1 to BF_JULIA_SIDE_MAX */
    int64_t iterations;    /* 1 to BF_JULIA_ITERATIONS_MAX */
    double c_re, c_im;     /* finite, also when rounded to the dtype; so are those below */
    double center_re, center_im;
    double scale;
    double escape;
} bf_julia_params;

/* Sets params to the picture of the well-known tutorial: f32, c = -0.8 + 0.156i, scale 1.5, 200
 * iterations, escape 1000, 1000 x 1000 pixels. params->size must be set. Errors: BF_E_ARGUMENT. */
BF_API bf_status bf_julia_params_fill(bf_julia_params *params);

/* Fills params with the defaults and sets params->size. */
static inline void bf_julia_defaults(bf_julia_params *params) {
    if (params == NULL) return;
    params->size = sizeof *params;
    bf_julia_params_fill(params);
}

/* Counts the pixels of a rectangle of the picture, whose first pixel is (x, y). counts is a u16
 * array of two dimensions, rows and columns, in host memory or a GPU's. So a picture can be made in
 * parts. All strides work; rows of adjacent pixels are fastest, and a rectangle that holds both z
 * and -z takes less work. O(pixels * iterations). Errors: BF_E_ARGUMENT (also: elements that
 * overlap), BF_E_DTYPE, BF_E_SHAPE (not two dimensions, or not inside the picture), BF_E_MEMORY,
 * BF_E_DEVICE. */
BF_API bf_status bf_julia(bf_context *context, const bf_julia_params *params, int64_t x, int64_t y,
                          const bf_array *counts);

/* Enqueues the work on the context's stream (context.h). counts is memory that the GPU can write,
 * with the pixels of a row adjacent. On the CPU all is done when the call returns. */
BF_API bf_status bf_julia_async(bf_context *context, const bf_julia_params *params, int64_t x,
                                int64_t y, const bf_array *counts);

/* --- colours --- */

/* X(identifier, number, name). classic: red inside, black outside, as in the tutorial. In the
 * others the inside is black. Their colours depend on count / iterations, except that those of
 * rainbow repeat after 64 counts. */
#define BF_PALETTE_LIST(X)                                                                         \
    X(CLASSIC, 1, classic)                                                                         \
    X(GRAY, 2, gray)                                                                               \
    X(FIRE, 3, fire)                                                                               \
    X(OCEAN, 4, ocean)                                                                             \
    X(RAINBOW, 5, rainbow)

typedef enum bf_palette {
#define BF_X(id, number, name) BF_PALETTE_##id = number,
    BF_PALETTE_LIST(BF_X)
#undef BF_X
} bf_palette;

/* The name of a palette, such as "classic"; "?" for an unknown number. The other returns 0 for an
 * unknown name. */
BF_API const char *bf_palette_name(bf_palette palette);
BF_API bf_palette bf_palette_from_name(const char *name);

/* Writes the colours of n counts: red, green, blue and alpha (255), 4 n bytes. counts and rgba are
 * in host memory. A count of `iterations` or more is inside. All arithmetic is on integers: the
 * same bytes everywhere. Errors: BF_E_ARGUMENT. */
BF_API bf_status bf_palette_colors(bf_palette palette, int64_t iterations, const uint16_t *counts,
                                   int64_t n, uint8_t *rgba);

#ifdef __cplusplus
}
#endif
#endif
