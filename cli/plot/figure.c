/* Plots as figures for papers and slides: PNG, SVG and PDF, 6 by 4 inches. */
#include "plot/plot.h"

#include "runtime/report.h"

#ifndef BITFOLD_CAIRO

int plot_figure_ready(void) {
    fail(EXIT_DEVICE, NULL, "cannot draw figures: this build has no cairo");
    hint("write -o FILE.tsv or FILE.npy, or install libcairo2-dev and build again");
    return EXIT_DEVICE;
}

int plot_figure(FILE *f, const char *name, const plot *p, enum figure_format format) {
    (void)f, (void)name, (void)p, (void)format;
    return plot_figure_ready();
}

#else

#include "plot/figure/axes.h"
#include "runtime/stream.h"

#include <string.h>

#define WIDTH 432.0 /* points, 72 an inch */
#define HEIGHT 288.0
#define PNG_SCALE (300 / 72.0)

int plot_figure_ready(void) {
    const char *why;
    if (cairo_load(&why)) return EXIT_DONE;
    fail(EXIT_DEVICE, NULL, "cannot draw figures: %s", why);
    hint("write -o FILE.tsv or FILE.npy, or install libcairo2");
    return EXIT_DEVICE;
}

static cairo_status_t write_bytes(void *f, const unsigned char *bytes, unsigned n) {
    return fwrite(bytes, 1, n, f) == n ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static cairo_surface_t *create_surface(const cairo_api *api, FILE *f, enum figure_format format) {
    switch (format) {
    case FIGURE_PNG:
        return api->image_surface_create(CAIRO_FORMAT_RGB24, (int)(WIDTH * PNG_SCALE),
                                         (int)(HEIGHT * PNG_SCALE));
    case FIGURE_SVG: return api->svg_surface_create_for_stream(write_bytes, f, WIDTH, HEIGHT);
    default: return api->pdf_surface_create_for_stream(write_bytes, f, WIDTH, HEIGHT);
    }
}

static void draw_figure(const cairo_api *api, cairo_t *cr, const plot *p,
                        enum figure_format format) {
    if (format == FIGURE_PNG) api->scale(cr, PNG_SCALE, PNG_SCALE);
    api->set_source_rgb(cr, 1, 1, 1);
    api->paint(cr);
    figure_draw(api, cr, p, WIDTH, HEIGHT);
}

int plot_figure(FILE *f, const char *name, const plot *p, enum figure_format format) {
    const char *why;
    const cairo_api *api = cairo_load(&why);
    if (!api) return plot_figure_ready();
    cairo_surface_t *surface = create_surface(api, f, format);
    if (format == FIGURE_PDF) /* equal histograms give equal files, whenever they are drawn */
        api->pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                      "1970-01-01T00:00:00Z");
    cairo_t *cr = api->create(surface);
    draw_figure(api, cr, p, format);
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
