/* The layout of a figure: bars, axes, ticks, labels. */
#ifndef BITFOLD_CLI_PLOT_FIGURE_AXES_H
#define BITFOLD_CLI_PLOT_FIGURE_AXES_H

#include "plot/figure/cairo_loader.h"
#include "plot/plot.h"

/* Draws in black on what is white, width by height points. */
void figure_draw(const cairo_api *api, cairo_t *cr, const plot *p, double width, double height);

#endif
