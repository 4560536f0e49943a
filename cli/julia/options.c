#include "julia/options.h"

#include "options/operand.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIXELS_MOST ((int64_t)1 << 40)

static const option_spec specs[] = {
    {"c", 'c', IN_VALUES, "RE,IM", "the point c of the Julia set (-0.8,0.156)", 0,
     .read = read_text, .at = OPTION_AT(c)},
    {"mandelbrot", 0, IN_VALUES, NULL, "draw the Mandelbrot set: c is the pixel's point", 0,
     .read = read_flag, .at = OPTION_AT(mandelbrot)},
    {"size", 0, IN_VALUES, "WxH", "the width and height of the picture in pixels (1000x1000)", 0,
     .read = read_text, .at = OPTION_AT(size)},
    {"iter", 0, IN_VALUES, "N",
     "the number of steps after which a pixel is inside, 1 to 65535 (200)", 0, .read = read_text,
     .at = OPTION_AT(iterations)},
    {"escape", 0, IN_VALUES, "R2", "an orbit escapes when re*re + im*im is more than this (1000)",
     0, .read = read_text, .at = OPTION_AT(escape)},
    {"center", 0, IN_VALUES, "RE,IM", "the point in the middle of the picture (0,0)", 0,
     .read = read_text, .at = OPTION_AT(center)},
    {"scale", 0, IN_VALUES, "S", "half of the visible width (1.5)", 0, .read = read_text,
     .at = OPTION_AT(scale)},
    {"dtype", 0, IN_VALUES, "f32|f64", "the dtype of the computation (f32)", 0, .read = read_dtype,
     .at = OPTION_AT(input.dtype)},
    {"palette", 0, IN_OUTPUT, "classic|gray|fire|ocean|rainbow", "the colours (classic)", 0,
     .read = read_text, .at = OPTION_AT(palette)},
    {"frames", 0, IN_OUTPUT, "N", "make N pictures, FILE-0000.png and so on, along --c-path",
     TAKES_FRAMES, .read = read_text, .at = OPTION_AT(frames)},
    {"c-path", 0, IN_OUTPUT, "A:B", "move c from A to B, as in -0.8,0.1:-0.7,0.2", TAKES_FRAMES,
     .read = read_text, .at = OPTION_AT(c_path)},
    {"view", 0, IN_OUTPUT, NULL, "show the picture in a window, where you can move and zoom",
     TAKES_FRAMES, .read = read_flag, .at = OPTION_AT(view)},
};
const option_table julia_options = OPTION_TABLE(specs);

/* Refuses operands that are no numbers. The library checks their range. */
static int refuse_operand(const char *option, const char *text, const char *expected) {
    return fail(EXIT_USAGE, NULL, "bad operand of --%s: '%s' is not %s", option, text, expected);
}

/* Reads a finite number at *at, and sets *at to its end. */
static bool read_finite(const char **at, double *x) {
    char *end;
    if (isspace((unsigned char)**at)) return false;
    *x = strtod(*at, &end);
    const bool found = end != *at && isfinite(*x);
    *at = end;
    return found;
}

static bool read_pair(const char **at, double pair[2]) {
    if (!read_finite(at, &pair[0]) || **at != ',') return false;
    ++*at;
    return read_finite(at, &pair[1]);
}

static bool is_pair(const char *text, double pair[2]) {
    return read_pair(&text, pair) && *text == '\0';
}

static bool is_number(const char *text, double *x) {
    return read_finite(&text, x) && *text == '\0';
}

static bool is_whole(const char **at, int64_t most, int64_t *n) {
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)**at)) return false;
    *n = strtoll(*at, &end, 10);
    *at = end;
    return errno == 0 && *n >= 1 && *n <= most;
}

static int read_size(bf_julia_params *p, const char *text) {
    const char *at = text;
    bool good = is_whole(&at, BF_JULIA_SIDE_MAX, &p->width) && *at == 'x';
    at += good;
    good = good && is_whole(&at, BF_JULIA_SIDE_MAX, &p->height) && *at == '\0';
    return good ? EXIT_DONE : refuse_operand("size", text, "two sides, as in 1920x1080");
}

static int read_count(const char *option, const char *text, int64_t most, int64_t *n) {
    const char *at = text;
    char expected[64];
    snprintf(expected, sizeof expected, "a whole number from 1 to %lld", (long long)most);
    return is_whole(&at, most, n) && *at == '\0' ? EXIT_DONE
                                                 : refuse_operand(option, text, expected);
}

static int read_path(julia_request *r, const char *text) {
    const char *at = text;
    bool good = read_pair(&at, r->from) && *at == ':';
    at += good;
    good = good && read_pair(&at, r->to) && *at == '\0';
    return good ? EXIT_DONE : refuse_operand("c-path", text, "two points, as in -0.8,0.1:-0.7,0.2");
}

static int read_palette(julia_request *r, const char *text) {
    r->palette = bf_palette_from_name(text);
    if (r->palette != 0) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "unknown palette: %s", text);
    hint("classic, gray, fire, ocean or rainbow");
    return EXIT_USAGE;
}

static int read_numbers(julia_request *r, const options *o) {
    static const char pair[] = "RE,IM, as in -0.8,0.156", number[] = "a finite number";
    bf_julia_params *p = &r->params;
    double c[2] = {p->c_re, p->c_im}, center[2] = {0, 0};
    if (o->c && !is_pair(o->c, c)) return refuse_operand("c", o->c, pair);
    if (o->center && !is_pair(o->center, center)) return refuse_operand("center", o->center, pair);
    if (o->scale && !is_number(o->scale, &p->scale))
        return refuse_operand("scale", o->scale, number);
    if (o->escape && !is_number(o->escape, &p->escape))
        return refuse_operand("escape", o->escape, number);
    p->c_re = c[0];
    p->c_im = c[1];
    p->center_re = center[0];
    p->center_im = center[1];
    return EXIT_DONE;
}

static int check_request(const julia_request *r, const options *o) {
    if (r->params.width > PIXELS_MOST / r->params.height)
        return fail(EXIT_USAGE, NULL, "a picture has at most 2^40 pixels");
    if ((o->frames != NULL) != (o->c_path != NULL))
        return fail(EXIT_USAGE, NULL, "--frames and --c-path belong together");
    if (r->frames > 0 && !o->output) return fail(EXIT_USAGE, NULL, "frames need -o FILE.png");
    if (o->mandelbrot && (o->c || o->c_path))
        return fail(EXIT_USAGE, NULL, "with --mandelbrot every pixel has a c of its own");
    if (o->input.dtype != BF_F32 && o->input.dtype != BF_F64 && o->input.dtype != BF_NONE)
        return fail(EXIT_USAGE, NULL, "--dtype is f32 or f64 here");
    if (o->file_count > 0)
        return fail(EXIT_USAGE, NULL, "no operand belongs here: %s", o->files[0]);
    return EXIT_DONE;
}

int julia_request_read(julia_request *r, const options *o) {
    *r = (julia_request){.palette = BF_PALETTE_CLASSIC};
    bf_julia_defaults(&r->params);
    int code = read_numbers(r, o);
    if (code == EXIT_DONE && o->size) code = read_size(&r->params, o->size);
    if (code == EXIT_DONE && o->iterations)
        code = read_count("iter", o->iterations, BF_JULIA_ITERATIONS_MAX, &r->params.iterations);
    if (code == EXIT_DONE && o->palette) code = read_palette(r, o->palette);
    if (code == EXIT_DONE && o->frames) code = read_count("frames", o->frames, 1000000, &r->frames);
    if (code == EXIT_DONE && o->c_path) code = read_path(r, o->c_path);
    if (o->input.dtype != BF_NONE) r->params.dtype = o->input.dtype;
    r->params.mandelbrot = o->mandelbrot;
    return code == EXIT_DONE ? check_request(r, o) : code;
}
