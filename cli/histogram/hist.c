/* hist: how many elements each bin holds, of all files together. */
#include "command.h"
#include "histogram/bins.h"
#include "histogram/output.h"
#include "runtime/context.h"
#include "runtime/statefile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const usage hist_usage = {
    "[OPTIONS] [FILE...]",
    "How many elements each bin holds, of all files together; '-' or no FILE is standard input.\n"
    "Bins and counts are NumPy's, to the bit. At a terminal a plot; otherwise lines of lower "
    "edge,\n"
    "upper edge and count, with tabs between; with -o what the name's ending says: .png .svg .pdf\n"
    ".npy .tsv .json. NaN and what is below or above the bins is counted apart. States that "
    "--save\n"
    "wrote, of the same --range and --bins or --edges, can be merged.",
    TAKES_STDIN | TAKES_INPUT | TAKES_BINS | TAKES_PLOT | TAKES_RUNNING | TAKES_MEMORY |
        TAKES_SAVE | TAKES_OUTPUT,
    "bitfold hist --bins 4 x.npy"};

typedef struct hist {
    const options *options;
    enum hist_form form;
    bf_context *context;
    output output;
    outfile save;
    hist_bins bins;
    spool_limit limit;
    series *kept; /* of each file: what another walk needs */
    bf_dtype dtype;
    bf_histogram *histogram;
    char *column;   /* the first file's */
    int64_t bytes;  /* counted */
    series weights; /* if --weights is given: */
    const char *weight;
    int64_t weights_left; /* from there on, of its block */
} hist;

static int fail_bins(const hist *h, bf_status st, const char *file) {
    /* Bins that the data ask for are not the command line's fault. */
    if (st == BF_E_ARGUMENT && !h->options->range && !h->options->edges)
        return fail(EXIT_DATA, file, "%s", bf_context_message(h->context));
    return fail_status(st, h->context, file);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int note_column(hist *h, const series *s) {
    const text_input *t = s->source.text;
    if (h->column || !t || !t->layout.names || !*t->layout.names[0]) return EXIT_DONE;
    h->column = strdup(t->layout.names[0]);
    return h->column ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, s->source.name);
}

static int check_dtype(hist *h, const series *s) {
    if (h->dtype == BF_NONE) h->dtype = s->dtype;
    if (s->dtype == h->dtype) return EXIT_DONE;
    fail(EXIT_DATA, s->source.name, "no histogram of different dtypes: this is %s, %s is %s",
         bf_dtype_name(s->dtype), h->options->files[0], bf_dtype_name(h->dtype));
    hint("text is f64, or what --dtype says");
    return EXIT_DATA;
}

/* again: the file will be walked once more. */
static int open_file(hist *h, series *s, const char *name, bool again) {
    const options *o = h->options;
    int code = series_open(s, name, &o->input, o->threads, again ? &h->limit : NULL, o->weights);
    if (code != EXIT_DONE) return code;
    if (again || !hist_bins_need_data(&h->bins))
        note(name, "%s, %s; instruction set %s, up to %d threads", bf_dtype_name(s->dtype),
             s->source.text     ? "text"
             : s->source.stream ? "a stream"
                                : "mapped",
             bf_context_isa(h->context), bf_context_threads(h->context));
    code = check_dtype(h, s);
    if (code == EXIT_DONE) code = note_column(h, s);
    if (code != EXIT_DONE) series_close(s);
    if (code == EXIT_DONE) progress_start(name, series_bytes(s));
    return code;
}

/* ---- the first walk: the range --------------------------------------------------------------- */

static int absorb_extremes(hist *h, extremes *x, series *s) {
    const void *elements;
    int64_t n = 1;
    int code = EXIT_DONE;
    while (code == EXIT_DONE && n > 0) {
        code = series_next(s, &elements, &n);
        if (code != EXIT_DONE || n == 0) break;
        const bf_status st = extremes_absorb(x, h->context, elements, n);
        if (st != BF_OK) code = fail_status(st, h->context, s->source.name);
    }
    return code;
}

/* Files that can be read again are closed meanwhile. */
static int find_extremes(hist *h, extremes *x) {
    const options *o = h->options;
    int code = EXIT_DONE;
    for (int i = 0; code == EXIT_DONE && i < o->file_count; i++) {
        series *s = &h->kept[i];
        code = open_file(h, s, o->files[i], true);
        if (code != EXIT_DONE) break;
        const bf_status st = i == 0 ? extremes_open(x, h->context, h->dtype) : BF_OK;
        code = st == BF_OK ? absorb_extremes(h, x, s) : fail_status(st, h->context, o->files[i]);
        progress_stop();
        if (code == EXIT_DONE && s->keep)
            series_rewind(s);
        else
            series_close(s);
    }
    return code;
}

static bf_dtype weights_dtype(const hist *h) {
    return h->options->weights ? h->weights.dtype : BF_NONE;
}

static int make_bins(hist *h) {
    extremes x = {.room = 0};
    int code = find_extremes(h, &x);
    if (code == EXIT_DONE) {
        const bf_status st =
            hist_bins_make(&h->bins, h->context, &x, h->dtype, weights_dtype(h), &h->histogram);
        if (st != BF_OK) code = fail_bins(h, st, h->options->files[0]);
    }
    extremes_close(&x);
    return code;
}

/* ---- the second: counting -------------------------------------------------------------------- */

static int lengths_differ(const hist *h, const char *how) {
    return fail(EXIT_DATA, h->options->weights, "%s: it holds %s weights than there are elements",
                bf_status_string(BF_E_SHAPE), how);
}

/* Weights for n elements, or for the first of them. */
static int take_weights(hist *h, int64_t *n) {
    int code = EXIT_DONE;
    if (h->weights_left == 0) {
        const void *weights = NULL;
        code = series_next(&h->weights, &weights, &h->weights_left);
        h->weight = weights;
    }
    if (code == EXIT_DONE && h->weights_left == 0) return lengths_differ(h, "fewer");
    if (*n > h->weights_left) *n = h->weights_left;
    return code;
}

static int count_block(hist *h, const series *s, const char *elements, int64_t n) {
    const bf_dtype weights = weights_dtype(h);
    for (int64_t some = n; n > 0; n -= some, some = n) {
        const int code = weights == BF_NONE ? EXIT_DONE : take_weights(h, &some);
        if (code != EXIT_DONE) return code;
        const bf_array array = bf_array_of(s->dtype, elements, some),
                       weight = bf_array_of(weights, h->weight, some);
        const bf_status st =
            bf_histogram_absorb(h->histogram, &array, weights == BF_NONE ? NULL : &weight);
        if (st != BF_OK) return fail_status(st, h->context, s->source.name);
        elements += some * (int64_t)bf_dtype_size(s->dtype);
        if (weights == BF_NONE) continue;
        h->weight += some * (int64_t)bf_dtype_size(weights);
        h->weights_left -= some;
    }
    return EXIT_DONE;
}

static int count_series(hist *h, series *s) {
    const void *elements;
    int64_t n = 1;
    int code = EXIT_DONE;
    while (code == EXIT_DONE && n > 0) {
        code = series_next(s, &elements, &n);
        if (code == EXIT_DONE && n > 0) code = count_block(h, s, elements, n);
        h->bytes += n * (int64_t)bf_dtype_size(s->dtype);
    }
    return code;
}

/* Bins that need no look at the data are made when the dtype of the first file is known. */
static int count_file(hist *h, int i) {
    const char *name = h->options->files[i];
    series *s = &h->kept[i];
    int code = EXIT_DONE;
    if (s->kept)
        progress_start(name, series_bytes(s));
    else
        code = open_file(h, s, name, false);
    if (code != EXIT_DONE) return code;
    if (!h->histogram) {
        const bf_status st =
            hist_bins_make(&h->bins, h->context, NULL, h->dtype, weights_dtype(h), &h->histogram);
        if (st != BF_OK) code = fail_bins(h, st, name);
    }
    if (code == EXIT_DONE) code = count_series(h, s);
    progress_stop();
    series_close(s);
    return code;
}

/* Nothing may be left of the weights. */
static int check_weights(hist *h) {
    const void *more;
    int code = EXIT_DONE;
    if (h->weights_left == 0) code = series_next(&h->weights, &more, &h->weights_left);
    return code == EXIT_DONE && h->weights_left > 0 ? lengths_differ(h, "more") : code;
}

static int count_files(hist *h) {
    const options *o = h->options;
    int code = EXIT_DONE;
    if (o->weights) code = series_open(&h->weights, o->weights, &o->input, o->threads, NULL, true);
    if (code == EXIT_DONE && hist_bins_need_data(&h->bins)) code = make_bins(h);
    for (int i = 0; code == EXIT_DONE && i < o->file_count; i++) code = count_file(h, i);
    return code == EXIT_DONE && o->weights ? check_weights(h) : code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check_strict(const hist *h, const char *file) {
    bf_histogram_info info = {.size = sizeof info};
    char others[HIST_OTHERS];
    bf_histogram_describe(h->histogram, &info);
    hist_others(&info, others);
    return *others && h->options->strict ? fail(EXIT_DATA, file, "in no bin: %s", others)
                                         : EXIT_DONE;
}

static int check_line(const options *o) {
    int standard = o->weights && strcmp(o->weights, "-") == 0;
    for (int i = 0; i < o->file_count; i++) standard += strcmp(o->files[i], "-") == 0;
    return standard > 1 ? fail(EXIT_USAGE, NULL, "standard input is given more than once")
                        : EXIT_DONE;
}

static int open_hist(hist *h) {
    const options *o = h->options;
    int code = check_line(o);
    if (code == EXIT_DONE) code = hist_form_of(o, &h->form);
    if (code != EXIT_DONE) return code;
    code = context_open(&h->context, o);
    if (code != EXIT_DONE) return code;
    h->kept = calloc((size_t)o->file_count, sizeof *h->kept);
    if (!h->kept) return fail_status(BF_E_MEMORY, NULL, NULL);
    code = hist_bins_read(&h->bins, h->context, o);
    if (code == EXIT_DONE) code = output_open(&h->output, o, false);
    if (code == EXIT_DONE && o->save) code = outfile_open(&h->save, o->save);
    h->limit = spool_limit_of(o->memory);
    return code;
}

static int run_hist(hist *h) {
    const options *o = h->options;
    const double began = progress_clock();
    hist_subject subject = {.file = o->file_count == 1 ? o->files[0] : "total"};
    int code = open_hist(h);
    if (code == EXIT_DONE) code = count_files(h);
    if (code == EXIT_DONE) code = check_strict(h, subject.file);
    if (code != EXIT_DONE) return code;
    subject.column = h->column;
    subject.seconds = progress_clock() - began;
    subject.device = bf_context_device(h->context);
    note_device(h->context, subject.file);
    if (o->stats)
        inform(subject.file, "%" PRId64 " bytes in %.6f s: %.2f GB/s", h->bytes, subject.seconds,
               subject.seconds > 0 ? 1e-9 * (double)h->bytes / subject.seconds : 0);
    code = hist_put(&h->output, o, h->form, h->histogram, &subject);
    if (code == EXIT_DONE && o->save) code = statefile_save_histogram(&h->save, h->histogram);
    return code == EXIT_DONE ? output_close(&h->output) : code;
}

static void close_hist(hist *h) {
    for (int i = 0; h->kept && i < h->options->file_count; i++) series_close(&h->kept[i]);
    free(h->kept);
    series_close(&h->weights);
    hist_bins_free(&h->bins);
    bf_histogram_destroy(h->histogram);
    bf_context_destroy(h->context);
    free(h->column);
}

int cmd_hist(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &hist_usage, &code)) return code;
    hist h = {.options = &o};
    code = run_hist(&h);
    if (code != EXIT_DONE) {
        outfile_abandon(&h.save);
        output_abandon(&h.output);
    }
    close_hist(&h);
    return code;
}
