#include "histogram/output.h"

#include "command.h"
#include "container/npy_write.h"
#include "plot/plot.h"
#include "runtime/info.h"
#include "runtime/json.h"
#include "runtime/progress.h"
#include "runtime/stream.h"
#include "runtime/utf8.h"
#include "sheet/sheet.h"
#include "sheet/structured.h"
#include "text/number.h"
#include "work/statefile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which form ------------------------------------------------------------------------------ */

int hist_form_of(const options *o, enum hist_form *form) {
    static const enum hist_form forms[] = {
        [FORM_TEXT] = HIST_SHEET,     [FORM_TSV] = HIST_SHEET,   [FORM_CSV] = HIST_SHEET,
        [FORM_MARKDOWN] = HIST_SHEET, [FORM_JSONL] = HIST_SHEET, [FORM_JSON] = HIST_JSON,
        [FORM_NPY] = HIST_NPY,        [FORM_PNG] = HIST_PNG,     [FORM_SVG] = HIST_SVG,
        [FORM_PDF] = HIST_PDF};
    const bool file = o->output && strcmp(o->output, "-") != 0;
    *form = forms[o->form];
    if (o->form == FORM_TEXT && !file && stream_at_terminal()) *form = HIST_PLOT;
    if (o->layout == LAYOUT_JSON && *form != HIST_JSON)
        return fail(EXIT_USAGE, o->output,
                    "cannot write --json: the ending of the name says another form");
    return *form >= HIST_PNG ? plot_figure_ready() : EXIT_DONE;
}

/* ---- what is shown --------------------------------------------------------------------------- */

typedef struct shown {
    const options *options;
    const hist_subject *subject;
    bf_histogram_info info;
    const double *edges;
    const void *integers; /* the edges as integers, of info.edges; NULL: they are floats */
    const int64_t *counts;
    double *sums, *density; /* NULL: none */
} shown;

static const double *values_of(const shown *x) { return x->density ? x->density : x->sums; }

static int gather_shown(shown *x, const bf_histogram *histogram) {
    x->info = histogram_info(histogram);
    const size_t bytes = (size_t)x->info.bins * sizeof(double);
    bf_status st = BF_OK;
    x->edges = bf_histogram_edges(histogram);
    x->integers = bf_histogram_integers(histogram);
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

/* Edges of times as the first times that are not before them: those count the same elements. */
static void take_times(const shown *x, bf_value *edges) {
    for (int64_t i = 0; i <= x->info.bins; i++) {
        const int64_t at =
            x->integers ? ((const int64_t *)x->integers)[i] : (int64_t)ceil(x->edges[i]);
        const bf_value units = {.dtype = BF_I64, .scale = x->subject->scale, .as.i64 = at};
        edges[i] = value_of_time(units, x->subject->time);
    }
}

/* The edges, which are exact in their own dtype, as values of it. */
static int take_edges(const shown *x, bf_value *edges) {
    const int64_t n = x->info.bins + 1;
    const bool integers = x->integers != NULL;
    if (x->subject->time) {
        take_times(x, edges);
        return EXIT_DONE;
    }
    for (int64_t i = 0; i < n && integers; i++)
        edges[i] = output_element(x->info.edges, 0, x->integers, i);
    if (integers) return EXIT_DONE;
    void *const own = malloc((size_t)n * bf_dtype_size(x->info.edges));
    if (!own) return fail_memory(x->subject->file);
    const bf_array from = bf_array_of(BF_F64, x->edges, n), *const inputs[] = {&from},
                   to = bf_array_of(x->info.edges, own, n);
    const bf_status st = bf_map(x->subject->context, BF_MAP_CAST, inputs, 1, NULL, &to);
    for (int64_t i = 0; i < n && st == BF_OK; i++)
        edges[i] = output_element(x->info.edges, 0, own, i);
    free(own);
    return st == BF_OK ? EXIT_DONE : fail_status(st, x->subject->context, x->subject->file);
}

static bf_value bin_value(const shown *x, int64_t i) {
    const double *values = values_of(x);
    if (values) return (bf_value){.dtype = BF_F64, .as.f64 = values[i]};
    return (bf_value){.dtype = BF_I64, .as.i64 = x->counts[i]};
}

static sheet_column value_column(const shown *x) {
    if (x->density)
        return (sheet_column){.name = "density", .form.dtype = BF_F64, .array = x->density};
    if (x->sums) return (sheet_column){.name = "weight", .form.dtype = BF_F64, .array = x->sums};
    return (sheet_column){.name = "count", .form.dtype = BF_I64, .array = x->counts};
}

/* Dates, unless an edge is within a day. */
static bf_time_kind kind_of_edges(const shown *x, const bf_value *edges) {
    const int64_t day = 86400 * (int64_t)text_power_of_ten(x->subject->scale);
    bool within = false;
    for (int64_t i = 0; i <= x->info.bins; i++) within = within || edges[i].as.i64 % day != 0;
    return within ? BF_TIME_LOCAL : BF_TIME_DATE;
}

/* Writes bins of times as .npy: a row has times and a number, so columns are fields. */
static int put_fields(FILE *f, const shown *x, const sheet *s) {
    structured_field fields[3];
    const bf_time_kind own = x->subject->time,
                       kind = own == BF_TIME_DATE ? kind_of_edges(x, s->columns->values) : own;
    for (int i = 0; i < 3; i++)
        fields[i] = (structured_field){.name = s->columns[i].name,
                                       .form.dtype = i < 2 ? BF_I64 : s->columns[i].form.dtype,
                                       .form.time = i < 2 ? kind : BF_TIME_NONE,
                                       .form.scale = x->subject->scale};
    const int code = structured_begin(f, fields, 3, s->rows);
    return code == EXIT_DONE ? structured_put(f, fields, s) : code;
}

static int put_sheet(FILE *f, const shown *x) {
    bf_value *edges = malloc(((size_t)x->info.bins + 1) * sizeof *edges);
    if (!edges) return fail_memory(x->subject->file);
    int code = take_edges(x, edges);
    const sheet_column columns[] = {
        {.name = "lo", .values = edges}, {.name = "hi", .values = edges + 1}, value_column(x)};
    const sheet s = {.columns = columns, .count = 3, .rows = x->info.bins};
    if (code == EXIT_DONE)
        code = x->options->form == FORM_NPY ? put_fields(f, x, &s)
                                            : sheet_put(f, &s, x->subject->file, x->options);
    free(edges);
    return code;
}

/* Rows of lower edge, upper edge and value, as the lines of TSV: f64, or the dtype of edges and
 * counts that are integers. */
static void put_npy(FILE *f, const shown *x) {
    char bytes[NPY_WRITE_MAX];
    const bool whole = x->integers && !values_of(x);
    const npy_header h = {
        .dtype = whole ? x->info.edges : BF_F64, .ndim = 2, .shape = {x->info.bins, 3}};
    fwrite(bytes, 1, npy_write_header(&h, bytes), f);
    for (int64_t i = 0; i < x->info.bins && !ferror(f); i++) {
        const bf_value value = bin_value(x, i);
        const double row[3] = {x->edges[i], x->edges[i + 1], bf_value_f64(&value)};
        if (whole) {
            fwrite((const uint64_t *)x->integers + i, sizeof(uint64_t), 2, f);
            fwrite(&value.as.u64, sizeof(uint64_t), 1, f);
        } else {
            fwrite(row, sizeof row, 1, f);
        }
    }
}

static void put_list(FILE *f, const char *name, bf_dtype dtype, const void *list, int64_t n) {
    fprintf(f, ",\"%s\":[", name);
    for (int64_t i = 0; i < n && !ferror(f); i++) {
        const bf_value value = output_element(dtype, 0, list, i);
        if (i > 0) putc(',', f);
        json_value(f, &value);
    }
    putc(']', f);
}

static void put_times(FILE *f, const shown *x, const bf_value *edges) {
    fputs(",\"edges\":[", f);
    for (int64_t i = 0; i <= x->info.bins && !ferror(f); i++) {
        if (i > 0) putc(',', f);
        json_value(f, &edges[i]);
    }
    putc(']', f);
}

static void put_edges(FILE *f, const shown *x) {
    bf_value *const times =
        x->subject->time ? malloc(((size_t)x->info.bins + 1) * sizeof *times) : NULL;
    if (times) take_times(x, times);
    if (times)
        put_times(f, x, times);
    else if (x->integers)
        put_list(f, "edges", x->info.edges, x->integers, x->info.bins + 1);
    else
        put_list(f, "edges", BF_F64, x->edges, x->info.bins + 1);
    free(times);
}

static void put_json(FILE *f, const shown *x) {
    const bf_histogram_info *h = &x->info;
    json_begin(f, report_command_name(), x->subject->file);
    json_text(f, "column", x->subject->column);
    json_text(f, "dtype", output_type((units_form){h->dtype, 0, x->subject->time}));
    json_integer(f, "n", h->count);
    json_integer(f, "bins", h->bins);
    put_edges(f, x);
    put_list(f, "counts", BF_I64, x->counts, h->bins);
    if (x->sums) put_list(f, "weights", BF_F64, x->sums, h->bins);
    if (x->density) put_list(f, "density", BF_F64, x->density, h->bins);
    json_integer(f, "nan", h->nan);
    json_integer(f, "below", h->below);
    json_integer(f, "above", h->above);
    if (x->options->input.text.skip_nulls) json_integer(f, "null", x->subject->nulls);
    json_end(f, bf_context_device(x->subject->context), x->subject->seconds);
}

/* ---- plots ----------------------------------------------------------------------------------- */

int hist_check_log(const options *o, const char *file, const double *values, int64_t n) {
    for (int64_t i = 0; o->log && values && i < n; i++)
        if (values[i] < 0)
            return fail(EXIT_DATA, file, "--log: a bin's value is negative: %g", values[i]);
    return EXIT_DONE;
}

const char *hist_value_label(const options *o) {
    return o->density ? "density" : o->weights ? "sum of weights" : "count";
}

enum figure_format hist_figure_of(enum hist_form form) {
    return form == HIST_PNG ? FIGURE_PNG : form == HIST_SVG ? FIGURE_SVG : FIGURE_PDF;
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
                    .time = x->subject->time,
                    .time_scale = x->subject->scale,
                    .times = x->subject->time ? x->integers : NULL,
                    .counts = x->counts,
                    .values = values_of(x),
                    .density = x->density != NULL,
                    .log = x->options->log,
                    .title = title,
                    .x_label = column,
                    .y_label =
                        x->sums && !x->density ? "sum of weights" : hist_value_label(x->options),
                    .note = note};
    const int code = hist_check_log(x->options, x->subject->file, values_of(x), x->info.bins);
    if (code != EXIT_DONE) return code;
    if (form >= HIST_PNG)
        return plot_figure(out->stream, out->file.name, &p, 1, hist_figure_of(form));
    const terminal t = terminal_find(STDOUT_FILENO);
    plot_terminal(out->stream, &p, &t);
    return EXIT_DONE;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int put_form(output *out, enum hist_form form, const shown *x) {
    if (form == HIST_NPY && x->subject->time) form = HIST_SHEET;
    switch (form) {
    case HIST_SHEET: return put_sheet(out->stream, x);
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
    if (code == EXIT_DONE) code = output_end(out, code);
    if (code == EXIT_DONE && form != HIST_JSON && form != HIST_PLOT && form < HIST_PNG)
        tell_others(&x);
    free(x.sums);
    free(x.density);
    return code;
}

int hist_show_saved(const saved_showing *x) {
    const hist_subject subject = {.file = x->file,
                                  .context = x->context,
                                  .time = (bf_time_kind)x->saved->trailer.times[0],
                                  .scale = x->saved->trailer.scales[0],
                                  .seconds = progress_clock() - x->began};
    enum hist_form form;
    const int code = hist_form_of(x->options, &form);
    return code == EXIT_DONE ? hist_put(x->out, x->options, form, x->saved->histogram, &subject)
                             : code;
}
