/* Text in figures: placed by its size, with powers ("10^5") raised. */
#ifndef BITFOLD_CLI_PLOT_FIGURE_TEXT_H
#define BITFOLD_CLI_PLOT_FIGURE_TEXT_H

#include "plot/figure/cairo_loader.h"

/* Where a font's sans-serif characters stand, in points. */
enum text_place { TEXT_LEFT, TEXT_CENTER, TEXT_RIGHT };

double text_width(const cairo_api *api, cairo_t *cr, const char *text, double size);

/* Draws text whose base line is at y, and which begins, has its centre or ends at x. */
void text_draw(const cairo_api *api, cairo_t *cr, const char *text, double size, double x, double y,
               enum text_place place);

#endif
