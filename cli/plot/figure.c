/* Plots as figures for papers and slides: PNG, SVG and PDF. */
#include "plot/plot.h"

#include "runtime/report.h"

#ifndef BITFOLD_CAIRO

int plot_figure_ready(void) {
    fail(EXIT_DEVICE, NULL, "cannot draw figures: this build has no cairo");
    hint("write -o FILE.tsv or FILE.npy, or install libcairo2-dev and build again");
    return EXIT_DEVICE;
}

int plot_figure(FILE *f, const char *name, const plot *plots, int n, enum figure_format format) {
    (void)f, (void)name, (void)plots, (void)n, (void)format;
    return plot_figure_ready();
}

#else

#include "plot/figure/axes.h"
#include "runtime/stream.h"

#include <string.h>

#define PNG_SCALE (300 / 72.0) /* dots a point */

/* The lengths of each plot, in points, and how many stand beside each other. */
typedef struct grid {
    double width, height;
    int columns, rows;
} grid;

/* One plot has 6 by 4 inches. Several have 4 by 8/3, in a square or with a row less. */
static grid grid_of(int n) {
    grid g = {.width = n > 1 ? 288 : 432, .height = n > 1 ? 192 : 288};
    while (g.columns * g.columns < n) g.columns++;
    g.rows = (n + g.columns - 1) / g.columns;
    return g;
}

int plot_figure_ready(void) {
    const char *why;
    if (cairo_load(&why)) return EXIT_DONE;
    fail(EXIT_DEVICE, NULL, "cannot draw figures: %s", why);
    hint("write -o FILE.tsv or FILE.npy, or install libcairo2");
    return EXIT_DEVICE;
}

/* Bars stand where doubles are. */
static int check_edges(const plot *p, const char *name) {
    for (int64_t i = 0; i < p->n; i++) {
        if (p->edges[i] < p->edges[i + 1]) continue;
        fail(EXIT_DATA, name, "bins of so few nanoseconds are too narrow for a figure");
        hint("-o FILE.tsv and FILE.npy hold them");
        return EXIT_DATA;
    }
    return EXIT_DONE;
}

static cairo_status_t write_bytes(void *f, const unsigned char *bytes, unsigned n) {
    return fwrite(bytes, 1, n, f) == n ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static cairo_surface_t *create_surface(const cairo_api *api, FILE *f, const grid *g,
                                       enum figure_format format) {
    const double width = g->width * g->columns, height = g->height * g->rows;
    switch (format) {
    case FIGURE_PNG:
        return api->image_surface_create(CAIRO_FORMAT_RGB24, (int)(width * PNG_SCALE),
                                         (int)(height * PNG_SCALE));
    case FIGURE_SVG: return api->svg_surface_create_for_stream(write_bytes, f, width, height);
    default: return api->pdf_surface_create_for_stream(write_bytes, f, width, height);
    }
}

static void draw_figure(const cairo_api *api, cairo_t *cr, const plot *plots, int n, const grid *g,
                        enum figure_format format) {
    if (format == FIGURE_PNG) api->scale(cr, PNG_SCALE, PNG_SCALE);
    api->set_source_rgb(cr, 1, 1, 1);
    api->paint(cr);
    for (int i = 0; i < n; i++) {
        api->save(cr);
        api->translate(cr, g->width * (i % g->columns), g->height * (i / g->columns));
        figure_draw(api, cr, &plots[i], g->width, g->height);
        api->restore(cr);
    }
}

int plot_figure(FILE *f, const char *name, const plot *plots, int n, enum figure_format format) {
    const char *why;
    const cairo_api *api = cairo_load(&why);
    if (!api) return plot_figure_ready();
    const int code = check_edges(plots, name); /* all have the same */
    if (code != EXIT_DONE) return code;
    const grid g = grid_of(n);
    cairo_surface_t *surface = create_surface(api, f, &g, format);
    if (format == FIGURE_PDF) /* equal histograms give equal files, whenever they are drawn */
        api->pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                      "1970-01-01T00:00:00Z");
    cairo_t *cr = api->create(surface);
    draw_figure(api, cr, plots, n, &g, format);
    cairo_status_t st = api->status(cr);
    api->destroy(cr);
    if (st == CAIRO_STATUS_SUCCESS && format == FIGURE_PNG)
        st = api->surface_write_to_png_stream(surface, write_bytes, f);
    api->surface_finish(surface);
    if (st == CAIRO_STATUS_SUCCESS) st = api->surface_status(surface);
    api->surface_destroy(surface);
    if (st == CAIRO_STATUS_SUCCESS) return EXIT_DONE;
    return fail(EXIT_IO, name, "cannot write: %s",
                st == CAIRO_STATUS_WRITE_ERROR ? strerror(stream_error())
                                               : api->status_to_string(st));
}

#endif
