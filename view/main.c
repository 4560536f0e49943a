/* bitfold-view: the window of 'bitfold julia --view'. */
#include "cli/options/options.h"
#include "cli/sheet/output.h"
#include "view/window.h"

#include <signal.h>

static const usage view_usage = {
    "[OPTIONS]",
    "Shows the Julia set of a point c, or the Mandelbrot set, in a window: the wheel zooms, "
    "dragging "
    "and the arrow keys move, h tells the other keys. Saved pictures are called by the options "
    "that "
    "make the same file with 'bitfold julia'.",
    TAKES_RUNNING,
    "c mandelbrot size iter center scale dtype palette threads device help",
    "bitfold-view --mandelbrot --palette ocean",
    &julia_options};

static int make_context(const options *o, bf_context **context) {
    const bf_options wanted = BF_OPTIONS(.device = o->device, .isa = o->isa, .threads = o->threads);
    const bf_status st = bf_context_create(&wanted, context);
    if (st == BF_E_DEVICE && options_gpu(o->device)) return fail_device(o->device);
    return st == BF_OK ? EXIT_DONE : fail_status(st, NULL, NULL);
}

static int show(const julia_request *request, const options *o) {
    const window_options wanted = {
        .wide = o->input.dtype == BF_F64, .sized = o->size != NULL, .stats = o->stats};
    bf_context *context;
    int code = make_context(o, &context);
    if (code != EXIT_DONE) return code;
    window *w = window_open(request, &wanted, context);
    if (w) {
        window_run(w);
        code = window_close(w);
    }
    bf_context_destroy(context);
    return w ? code : EXIT_DEVICE;
}

int main(int argc, char **argv) {
    static char name[] = "julia --view";
    options o;
    julia_request request;
    int code;
    signal(SIGPIPE, SIG_IGN);
    report_command(name);
    if (argc > 0) argv[0] = name;
    if (options_parse(&o, argc, argv, &view_usage, &code))
        code = julia_request_read(&request, &o);
    else
        return code == EXIT_DONE ? output_flush(stdout, "standard output") : code;
    if (code == EXIT_DONE) code = show(&request, &o);
    return code == EXIT_DONE ? output_flush(stdout, "standard output") : code;
}
