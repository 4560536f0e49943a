/* Loads cairo when a figure is drawn, so that the command starts and runs without it. */
#ifndef BITFOLD_CLI_PLOT_FIGURE_CAIRO_LOADER_H
#define BITFOLD_CLI_PLOT_FIGURE_CAIRO_LOADER_H

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

#include <stdbool.h>

/* X(function, without its prefix) */
#define CAIRO_LIST(X)                                                                              \
    X(clip)                                                                                        \
    X(close_path)                                                                                  \
    X(create)                                                                                      \
    X(destroy)                                                                                     \
    X(fill)                                                                                        \
    X(fill_preserve)                                                                               \
    X(image_surface_create)                                                                        \
    X(line_to)                                                                                     \
    X(move_to)                                                                                     \
    X(new_path)                                                                                    \
    X(paint)                                                                                       \
    X(pdf_surface_create_for_stream)                                                               \
    X(pdf_surface_set_metadata)                                                                    \
    X(rectangle)                                                                                   \
    X(restore)                                                                                     \
    X(rotate)                                                                                      \
    X(save)                                                                                        \
    X(scale)                                                                                       \
    X(select_font_face)                                                                            \
    X(set_font_size)                                                                               \
    X(set_line_join)                                                                               \
    X(set_line_width)                                                                              \
    X(set_source_rgb)                                                                              \
    X(show_text)                                                                                   \
    X(status)                                                                                      \
    X(status_to_string)                                                                            \
    X(stroke)                                                                                      \
    X(surface_destroy)                                                                             \
    X(surface_finish)                                                                              \
    X(surface_status)                                                                              \
    X(surface_write_to_png_stream)                                                                 \
    X(svg_surface_create_for_stream)                                                               \
    X(text_extents)                                                                                \
    X(translate)

typedef struct cairo_api {
#define CAIRO_X(name) __typeof__(&cairo_##name) name;
    CAIRO_LIST(CAIRO_X)
#undef CAIRO_X
} cairo_api;

/* Returns cairo's functions, which stay loaded, or NULL and the missing part in *why. */
const cairo_api *cairo_load(const char **why);

#endif
