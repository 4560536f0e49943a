/* The part of the picture in the window, and the arithmetic of moving in it. Knows nothing of
 * windows. */
#ifndef BITFOLD_VIEW_VIEW_H
#define BITFOLD_VIEW_VIEW_H

#include "cli/julia/options.h"

typedef struct view {
    julia_request seen;
    bool wide; /* f64 was asked for; otherwise f64 is used where f32 cannot tell pixels apart */
    double left_re, left_im, left_scale; /* where the Mandelbrot set was left */
} view;

void view_start(view *v, const julia_request *first, bool wide);

/* Centre and scale stay. */
void view_resize(view *v, int64_t width, int64_t height);

/* The point at (x, y), in pixels, y downwards. */
void view_point(const view *v, double x, double y, double point[2]);

/* Scales by the factor; the point at (x, y) stays there. Stops where f64 ends, and far outside. */
void view_zoom(view *v, double x, double y, double factor);

/* Moves the picture by so many pixels. */
void view_pan(view *v, double dx, double dy);

/* Shows the Mandelbrot set at the place shown last; if it is shown already, all of it. */
void view_mandelbrot(view *v);

/* Shows all of the Julia set of the point at (x, y). */
void view_julia(view *v, double x, double y);

/* Twice the iterations, or half of them. */
void view_iterate(view *v, bool more);

void view_next_palette(view *v);

#endif
