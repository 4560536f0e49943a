/* julia: pictures of Julia sets and of the Mandelbrot set, as PNG, as counts, or in the terminal.
 */
#include "command.h"
#include "julia/file.h"
#include "julia/terminal.h"
#include "julia/view.h"
#include "options/context.h"
#include "options/form.h"
#include "runtime/json.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The pixels that are computed at a time: at most BAND_MOST, for the memory's sake; at least
 * BAND_LEAST, for many threads or a GPU; between these, BAND_STEPS steps, so that progress shows.
 */
enum { BAND_MOST = 1 << 25, BAND_LEAST = 1 << 16 };
#define BAND_STEPS ((int64_t)1 << 36)

static const usage julia_usage = {
    "[OPTIONS]",
    "Draws the Julia set of a point c, or the Mandelbrot set. -o FILE.png writes a picture, and -o "
    "FILE.npy its counts: the step at which the orbit of each pixel escapes. Without -o, draws in "
    "the terminal.\n\n"
    "Every operation is rounded once, so the picture has the same bits on every machine. Without "
    "options, draws the picture of a well-known tutorial.",
    TAKES_FRAMES | TAKES_RUNNING | TAKES_JSON,
    "c mandelbrot size iter center scale dtype palette view output threads device help",
    "bitfold julia --size 1920x1080 --palette fire -o julia.png\n"
    "bitfold julia --mandelbrot --center -0.7,0 -o mandelbrot.npy",
    &julia_options};

/* One command, which may make several pictures. */
typedef struct drawing {
    const options *options;
    julia_request request;
    bf_context *context;
    uint16_t *counts; /* a band's */
    int64_t band;     /* rows of a band */
} drawing;

/* --- one picture --- */

static int count_band(const drawing *d, int64_t y, int64_t lines) {
    bf_array at = bf_array_of(BF_U16, d->counts, lines);
    at.ndim = 2;
    at.shape[1] = at.strides[0] = d->request.params.width;
    at.strides[1] = 1;
    const bf_status st = bf_julia(d->context, &d->request.params, 0, y, &at);
    if (st == BF_E_ARGUMENT) return fail(EXIT_USAGE, NULL, "%s", bf_context_message(d->context));
    return st == BF_OK ? EXIT_DONE : fail_status(st, d->context, NULL);
}

static int draw_bands(const drawing *d, julia_file *f) {
    const bf_julia_params *params = &d->request.params;
    int code = EXIT_DONE;
    for (int64_t y = 0; y < params->height && code == EXIT_DONE; y += d->band) {
        const int64_t lines = params->height - y < d->band ? params->height - y : d->band;
        code = count_band(d, y, lines);
        if (code == EXIT_DONE) code = julia_file_rows(f, d->counts, lines);
        progress_add(lines * params->width * 2);
        progress_tick();
    }
    return code;
}

static void tell_picture(const drawing *d, const char *name, double seconds) {
    const bf_julia_params *p = &d->request.params;
    const char *device = bf_context_device(d->context);
    note_device(d->context, name);
    if (d->options->stats)
        inform(name, "%" PRId64 " x %" PRId64 " pixels in %.6f s", p->width, p->height, seconds);
    if (d->options->layout != LAYOUT_JSON) return;
    json_begin(stdout, "julia", name);
    json_integer(stdout, "width", p->width);
    json_integer(stdout, "height", p->height);
    json_text(stdout, "dtype", bf_dtype_name(p->dtype));
    json_integer(stdout, "iterations", p->iterations);
    printf(",\"c\":[");
    json_value(stdout, &(bf_value){.dtype = BF_F64, .as.f64 = p->c_re});
    putchar(',');
    json_value(stdout, &(bf_value){.dtype = BF_F64, .as.f64 = p->c_im});
    putchar(']');
    json_truth(stdout, "mandelbrot", p->mandelbrot);
    json_end(stdout, device, seconds);
}

static int draw_file(const drawing *d, const char *name) {
    const bf_julia_params *params = &d->request.params;
    julia_file f;
    const double began = progress_clock();
    int code = julia_file_begin(&f, name, d->options->form, &d->request);
    progress_start(name, params->width * params->height * 2);
    if (code == EXIT_DONE) code = draw_bands(d, &f);
    progress_stop();
    code = julia_file_end(&f, code);
    if (code == EXIT_DONE) tell_picture(d, name, progress_clock() - began);
    return code;
}

/* --- frames --- */

/* "a.png" becomes "a-0007.png"; the number has as many digits as the last one needs, or four. */
static void name_frame(const drawing *d, int64_t frame, char name[PATH_MAX]) {
    const char *output = d->options->output, *end = form_ending(output);
    if (!end) end = output + strlen(output);
    const int digits = d->request.frames > 10000 ? 7 : 4;
    snprintf(name, PATH_MAX, "%.*s-%0*" PRId64 "%s", (int)(end - output), output, digits, frame,
             end);
}

static double between(double from, double to, int64_t frame, int64_t frames) {
    return frames > 1 ? from + (to - from) * ((double)frame / (double)(frames - 1)) : from;
}

static int draw_frames(drawing *d) {
    char name[PATH_MAX];
    const julia_request *r = &d->request;
    int code = EXIT_DONE;
    for (int64_t i = 0; i < r->frames && code == EXIT_DONE; i++) {
        d->request.params.c_re = between(r->from[0], r->to[0], i, r->frames);
        d->request.params.c_im = between(r->from[1], r->to[1], i, r->frames);
        name_frame(d, i, name);
        code = draw_file(d, name);
    }
    return code;
}

/* --- the whole --- */

static int prepare_drawing(drawing *d) {
    const options *o = d->options;
    const bf_julia_params *p = &d->request.params;
    int64_t pixels = BAND_STEPS / p->iterations;
    pixels = pixels < BAND_LEAST ? BAND_LEAST : pixels > BAND_MOST ? BAND_MOST : pixels;
    d->band = pixels / p->width > 0 ? pixels / p->width : 1;
    if (d->band > p->height) d->band = p->height;
    d->counts = malloc((size_t)(d->band * p->width) * sizeof *d->counts);
    return d->counts ? context_open(&d->context, o) : fail_memory(NULL);
}

static int draw_picture(drawing *d) {
    if (d->options->output)
        return d->request.frames > 0 ? draw_frames(d) : draw_file(d, d->options->output);
    const int code = count_band(d, 0, d->request.params.height);
    return code == EXIT_DONE ? julia_terminal_draw(&d->request, d->counts) : code;
}

int cmd_julia(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &julia_usage, &code)) return code;
    drawing d = {.options = &o};
    code = julia_request_read(&d.request, &o);
    if (code == EXIT_DONE && o.view) return julia_view_start(argv);
    if (code == EXIT_DONE && o.form == FORM_PNG) code = julia_png_ready();
    if (code == EXIT_DONE && !o.output) julia_terminal_fit(&d.request.params);
    if (code == EXIT_DONE) code = prepare_drawing(&d);
    if (code == EXIT_DONE) code = draw_picture(&d);
    bf_context_destroy(d.context);
    free(d.counts);
    return code;
}
