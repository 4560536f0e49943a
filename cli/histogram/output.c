#include "histogram/output.h"

#include "command.h"
#include "input/npy_write.h"
#include "plot/plot.h"
#include "runtime/json.h"
#include "runtime/progress.h"
#include "runtime/stream.h"
#include "runtime/utf8.h"
#include "sheet/sheet.h"
#include "work/statefile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- which form ------------------------------------------------------------------------------ */

static const struct {
    const char *ending;
    enum hist_form form;
} endings[] = {{".png", HIST_PNG}, {".svg", HIST_SVG},     {".pdf", HIST_PDF},
               {".npy", HIST_NPY}, {".tsv", HIST_TSV},     {".json", HIST_JSON},
               {".csv", HIST_CSV}, {".md", HIST_MARKDOWN}, {".jsonl", HIST_JSON}};
enum { ENDINGS = sizeof endings / sizeof *endings };

/* False if the ending is none of these. */
static bool form_by_name(const char *name, enum hist_form *form) {
    const char *point = strrchr(name, '.');
    for (int i = 0; point && i < ENDINGS; i++) {
        if (strcasecmp(point, endings[i].ending) != 0) continue;
        *form = endings[i].form;
        return true;
    }
    return false;
}

int hist_form_of(const options *o, enum hist_form *form) {
    static const enum hist_form tables[] = {HIST_TSV, HIST_TSV, HIST_JSON, HIST_CSV, HIST_MARKDOWN};
    const bool table = o->layout != LAYOUT_PLAIN; /* --tsv, --json and so on */
    const enum hist_form asked = tables[o->layout];
    *form = stream_at_terminal() && !table ? HIST_PLOT : asked;
    if (!o->output) return EXIT_DONE;
    const bool named = form_by_name(o->output, form);
    if (named && table && *form != asked)
        return fail(EXIT_USAGE, o->output, "its ending is not that of --%s",
                    options_layout(o->layout));
    if (!named && !table) {
        fail(EXIT_USAGE, o->output, "its ending does not tell what to write");
        hint("the endings are .png .svg .pdf .npy .tsv .csv .md .json; or give --tsv or --json");
        return EXIT_USAGE;
    }
    if (!named) *form = asked;
    return *form >= HIST_PNG ? plot_figure_ready() : EXIT_DONE;
}

/* ---- what is shown --------------------------------------------------------------------------- */

typedef struct shown {
    const options *options;
    const hist_subject *subject;
    bf_histogram_info info;
    const double *edges;
    const int64_t *counts;
    double *sums, *density; /* NULL: none */
} shown;

static const double *values_of(const shown *x) { return x->density ? x->density : x->sums; }

static int gather_shown(shown *x, const bf_histogram *histogram) {
    x->info.size = sizeof x->info;
    bf_histogram_describe(histogram, &x->info);
    const size_t bytes = (size_t)x->info.bins * sizeof(double);
    bf_status st = BF_OK;
    x->edges = bf_histogram_edges(histogram);
    x->counts = bf_histogram_counts(histogram);
    if (x->info.weights != BF_NONE) {
        x->sums = malloc(bytes);
        st = x->sums ? bf_histogram_weights(histogram, x->sums) : BF_E_MEMORY;
    }
    if (st == BF_OK && x->options->density) {
        x->density = malloc(bytes);
        st = x->density ? bf_histogram_density(histogram, x->density) : BF_E_MEMORY;
    }
    return st == BF_OK ? EXIT_DONE : fail_status(st, NULL, x->subject->file);
}

void hist_others(const bf_histogram_info *info, char text[HIST_OTHERS]) {
    const int64_t n[] = {info->nan, info->below, info->above};
    static const char *const names[] = {"NaN", "below", "above"};
    *text = '\0';
    for (int i = 0; i < 3; i++) {
        const size_t used = strlen(text);
        if (n[i] > 0)
            snprintf(text + used, HIST_OTHERS - used, "%s%" PRId64 " %s", used ? ", " : "", n[i],
                     names[i]);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The bits of an f16 that is x. */
static uint16_t half_of(double x) {
    int exponent;
    const double mantissa = frexp(fabs(x), &exponent);
    const unsigned sign = signbit(x) ? 0x8000 : 0;
    if (exponent < -13) return (uint16_t)(sign | (unsigned)ldexp(fabs(x), 24));
    return (uint16_t)(sign | (unsigned)((exponent + 14) << 10 | (int)((2 * mantissa - 1) * 1024)));
}

static bf_value edge_value(const shown *x, int64_t i) {
    const double edge = x->edges[i];
    if (x->info.edges == BF_F16) return (bf_value){.dtype = BF_F16, .as.bits = half_of(edge)};
    if (x->info.edges == BF_F32) return (bf_value){.dtype = BF_F32, .as.f32 = (float)edge};
    return (bf_value){.dtype = BF_F64, .as.f64 = edge};
}

static bf_value bin_value(const shown *x, int64_t i) {
    const double *values = values_of(x);
    if (values) return (bf_value){.dtype = BF_F64, .as.f64 = values[i]};
    return (bf_value){.dtype = BF_I64, .as.i64 = x->counts[i]};
}

static sheet_column value_column(const shown *x) {
    if (x->density) return (sheet_column){.name = "density", .dtype = BF_F64, .array = x->density};
    if (x->sums) return (sheet_column){.name = "weight", .dtype = BF_F64, .array = x->sums};
    return (sheet_column){.name = "count", .dtype = BF_I64, .array = x->counts};
}

static int put_sheet(FILE *f, const shown *x) {
    bf_value *edges = malloc(((size_t)x->info.bins + 1) * sizeof *edges);
    if (!edges) return fail_status(BF_E_MEMORY, NULL, x->subject->file);
    for (int64_t i = 0; i <= x->info.bins; i++) edges[i] = edge_value(x, i);
    const sheet_column columns[] = {
        {.name = "lo", .values = edges}, {.name = "hi", .values = edges + 1}, value_column(x)};
    const sheet s = {.columns = columns, .count = 3, .rows = x->info.bins};
    const sheet_subject subject = {report_command_name(), x->subject->file, x->subject->device,
                                   x->subject->seconds};
    const int code = sheet_put(f, &s, &subject, x->options);
    free(edges);
    return code;
}

/* Rows of lower edge, upper edge and value, as the lines of TSV. */
static void put_npy(FILE *f, const shown *x) {
    char bytes[NPY_WRITE_MAX];
    const npy_header h = {.dtype = BF_F64, .ndim = 2, .shape = {x->info.bins, 3}};
    fwrite(bytes, 1, npy_write_header(&h, bytes), f);
    for (int64_t i = 0; i < x->info.bins && !ferror(f); i++) {
        const bf_value value = bin_value(x, i);
        const double row[3] = {x->edges[i], x->edges[i + 1], bf_value_f64(&value)};
        fwrite(row, sizeof row, 1, f);
    }
}

static void put_list(FILE *f, const char *name, const double *list, int64_t n) {
    fprintf(f, ",\"%s\":[", name);
    for (int64_t i = 0; i < n && !ferror(f); i++) {
        const bf_value value = {.dtype = BF_F64, .as.f64 = list[i]};
        if (i > 0) putc(',', f);
        json_value(f, &value);
    }
    putc(']', f);
}

static void put_counts(FILE *f, const int64_t *list, int64_t n) {
    fputs(",\"counts\":[", f);
    for (int64_t i = 0; i < n && !ferror(f); i++) {
        const bf_value value = {.dtype = BF_I64, .as.i64 = list[i]};
        if (i > 0) putc(',', f);
        json_value(f, &value);
    }
    putc(']', f);
}

static void put_json(FILE *f, const shown *x) {
    const bf_histogram_info *h = &x->info;
    fprintf(f, "{\"schema\":1,\"command\":\"%s\",\"file\":", report_command_name());
    json_string(f, x->subject->file);
    if (x->subject->column) {
        fputs(",\"column\":", f);
        json_string(f, x->subject->column);
    }
    fprintf(f, ",\"dtype\":\"%s\",\"n\":%" PRId64 ",\"bins\":%" PRId64, bf_dtype_name(h->dtype),
            h->count, h->bins);
    put_list(f, "edges", x->edges, h->bins + 1);
    put_counts(f, x->counts, h->bins);
    if (x->sums) put_list(f, "weights", x->sums, h->bins);
    if (x->density) put_list(f, "density", x->density, h->bins);
    fprintf(f, ",\"nan\":%" PRId64 ",\"below\":%" PRId64 ",\"above\":%" PRId64, h->nan, h->below,
            h->above);
    if (x->options->input.text.skip_nulls) fprintf(f, ",\"null\":%" PRId64, x->subject->nulls);
    json_end(f, x->subject->device, x->subject->seconds);
}

/* ---- plots ----------------------------------------------------------------------------------- */

/* Only numbers that are not negative have a logarithm. */
static int check_log(const shown *x) {
    const double *values = values_of(x);
    for (int64_t i = 0; x->options->log && values && i < x->info.bins; i++)
        if (values[i] < 0)
            return fail(EXIT_DATA, x->subject->file, "--log: a bin's value is negative: %g",
                        values[i]);
    return EXIT_DONE;
}

enum { TITLE = 512 };

static void title_of(const shown *x, char text[TITLE]) {
    const char *file = x->subject->file, *slash = strrchr(file, '/');
    const char *name = strcmp(file, "-") == 0 ? "standard input" : slash ? slash + 1 : file;
    utf8_copy(text, TITLE - 32, x->options->title ? x->options->title : name);
    const size_t used = strlen(text);
    if (!x->options->title)
        snprintf(text + used, TITLE - used, " (n = %" PRId64 ")", x->info.count);
}

static int put_plot(const output *out, enum hist_form form, const shown *x) {
    char title[TITLE], column[64] = "value", others[HIST_OTHERS], note[HIST_OTHERS + 32] = "";
    title_of(x, title);
    if (x->subject->column) utf8_copy(column, sizeof column, x->subject->column);
    hist_others(&x->info, others);
    if (*others) snprintf(note, sizeof note, "in no bin: %s", others);
    const plot p = {.n = x->info.bins,
                    .edges = x->edges,
                    .counts = x->counts,
                    .values = values_of(x),
                    .density = x->density != NULL,
                    .log = x->options->log,
                    .title = title,
                    .x_label = column,
                    .y_label = x->density ? "density"
                               : x->sums  ? "sum of weights"
                                          : "count",
                    .note = note};
    const int code = check_log(x);
    if (code != EXIT_DONE) return code;
    if (form >= HIST_PNG) {
        static const enum figure_format formats[] = {FIGURE_PNG, FIGURE_SVG, FIGURE_PDF};
        return plot_figure(out->stream, out->file.name, &p, formats[form - HIST_PNG]);
    }
    const terminal t = terminal_find(STDOUT_FILENO);
    plot_terminal(out->stream, &p, &t);
    return EXIT_DONE;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int put_form(output *out, enum hist_form form, const shown *x) {
    switch (form) {
    case HIST_TSV:
    case HIST_CSV:
    case HIST_MARKDOWN: return put_sheet(out->stream, x);
    case HIST_JSON: put_json(out->stream, x); break;
    case HIST_NPY: put_npy(out->stream, x); break;
    default: return put_plot(out, form, x);
    }
    return EXIT_DONE;
}

/* Reports the elements in no bin, which a table does not show. */
static void tell_others(const shown *x) {
    char others[HIST_OTHERS];
    hist_others(&x->info, others);
    if (*others) inform(x->subject->file, "in no bin: %s", others);
}

int hist_put(output *out, const options *o, enum hist_form form, const bf_histogram *histogram,
             const hist_subject *subject) {
    shown x = {.options = o, .subject = subject};
    int code = gather_shown(&x, histogram);
    if (code == EXIT_DONE) code = put_form(out, form, &x);
    if (code == EXIT_DONE)
        code = output_flush(out->stream, out->to_file ? out->file.name : "standard output");
    if (code == EXIT_DONE && form != HIST_JSON && form != HIST_PLOT && form < HIST_PNG)
        tell_others(&x);
    free(x.sums);
    free(x.density);
    return code;
}

int hist_show_saved(const saved_showing *x) {
    const hist_subject subject = {.file = x->file,
                                  .device = bf_context_device(x->context),
                                  .seconds = progress_clock() - x->began};
    enum hist_form form;
    const int code = hist_form_of(x->options, &form);
    return code == EXIT_DONE ? hist_put(x->out, x->options, form, x->saved->histogram, &subject)
                             : code;
}
