#include "plot/figure/text.h"

#include <string.h>

enum { RUN = 512 };

/* Returns the length of the power after '^': digits and perhaps a minus sign. */
static size_t power_length(const char *text) {
    static const char minus[] = "\u2212";
    const size_t sign = strncmp(text, minus, sizeof minus - 1) == 0 ? sizeof minus - 1 : 0;
    return sign + strspn(text + sign, "0123456789");
}

/* Copies the next characters of one height to `run`, and returns their end. */
static const char *take_run(const char *at, char run[RUN], bool *raised) {
    *raised = *at == '^' && power_length(at + 1) > 0;
    size_t n = *raised ? power_length(++at) : 1 + strcspn(at + 1, "^");
    if (n > RUN - 1) n = RUN - 1;
    memcpy(run, at, n);
    run[n] = '\0';
    return at + n;
}

/* Draws the text if `show` is true. Returns its width. */
static double put_text(const cairo_api *api, cairo_t *cr, const char *text, double size, double x,
                       double y, bool show) {
    const double begin = x;
    char run[RUN];
    while (*text) {
        bool raised;
        cairo_text_extents_t extents;
        text = take_run(text, run, &raised);
        api->set_font_size(cr, raised ? 0.7 * size : size);
        api->text_extents(cr, run, &extents);
        api->move_to(cr, x, raised ? y - 0.4 * size : y);
        if (show) api->show_text(cr, run);
        x += extents.x_advance;
    }
    api->new_path(cr);
    return x - begin;
}

double text_width(const cairo_api *api, cairo_t *cr, const char *text, double size) {
    return put_text(api, cr, text, size, 0, 0, false);
}

void text_draw(const cairo_api *api, cairo_t *cr, const char *text, double size, double x, double y,
               enum text_place place) {
    const double width = text_width(api, cr, text, size);
    put_text(api, cr, text, size,
             x - width * (place == TEXT_LEFT     ? 0
                          : place == TEXT_CENTER ? 0.5
                                                 : 1),
             y, true);
}
