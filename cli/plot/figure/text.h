/* Text in figures: aligned by its measured width, with powers ("10^5") raised. */
#ifndef BITFOLD_CLI_PLOT_FIGURE_TEXT_H
#define BITFOLD_CLI_PLOT_FIGURE_TEXT_H

#include "plot/figure/cairo_loader.h"

/* The point of a text that is placed at x. */
enum text_place { TEXT_LEFT, TEXT_CENTER, TEXT_RIGHT };

double text_width(const cairo_api *api, cairo_t *cr, const char *text, double size);

/* Draws text with its base line at y. Its left end, centre or right end is at x. */
void text_draw(const cairo_api *api, cairo_t *cr, const char *text, double size, double x, double y,
               enum text_place place);

#endif
