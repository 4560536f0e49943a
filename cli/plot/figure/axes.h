/* The layout of a figure: bars, axes, ticks, labels. */
#ifndef BITFOLD_CLI_PLOT_FIGURE_AXES_H
#define BITFOLD_CLI_PLOT_FIGURE_AXES_H

#include "plot/figure/cairo_loader.h"
#include "plot/plot.h"

/* Draws the plot in black on a white surface of width by height points. */
void figure_draw(const cairo_api *api, cairo_t *cr, const plot *p, double width, double height);

#endif
