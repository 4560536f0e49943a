/* How answers are shown. */
#include "order/answer.h"

#include "container/npy_write.h"
#include "runtime/json.h"
#include "text/lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDED = 1024 }; /* at a time */

/* What times the values of an answer are: indices are none. */
static bf_time_kind time_of(const answer *x, const question *q) {
    return q->kind == ORDER_ARGSORT ? BF_TIME_NONE : x->time;
}

static bf_value value_at(const answer *x, bf_time_kind time, int64_t i) {
    return value_of_time(output_element(x->values.dtype, x->scale, x->values.data, i), time);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The percent of each of n values; NULL: there is no memory. */
static double *list_percents(const question *q, int64_t n) {
    const struct wanted_percents percents = answer_percents(q->options);
    double *of = malloc(((size_t)n + 1) * sizeof *of);
    for (int64_t i = 0; of && i < n; i++) of[i] = percents.at[i / (n / percents.n)];
    return of;
}

/* Columns beside each other are shown aligned at a terminal; values alone are plain lines. JSON,
 * which tells the device, is not among the forms; another thread may use the context meanwhile. */
static int put_sheet(const answer *x, const question *q, output *out, const double *percents,
                     bool file) {
    sheet_column columns[5];
    int n = 0;
    if (x->column) columns[n++] = (sheet_column){.name = "column", .title = x->column};
    if (percents)
        columns[n++] = (sheet_column){
            .name = "percent", .form.dtype = BF_F64, .array = percents, .decimal = true};
    columns[n++] = (sheet_column){.name = "value",
                                  .form.dtype = x->values.dtype,
                                  .form.scale = x->scale,
                                  .form.time = time_of(x, q),
                                  .array = x->values.data};
    if (x->beside)
        columns[n++] = (sheet_column){.name = q->kind == ORDER_TOP ? "index" : "count",
                                      .form.dtype = BF_I64,
                                      .array = x->beside};
    if (file) columns[n++] = output_file_column(x->file);
    const sheet s = {.columns = columns, .count = n, .rows = answer_count(x)};
    const enum sheet_form form = sheet_form_of(q->options);
    return output_sheet(out, form == SHEET_ALIGNED && !x->beside ? SHEET_PLAIN : form, &s, x->file);
}

/* The percents are a column of --tsv and its like, where the file is only shown if there are
 * several; and beside names of columns or files, which would else name several lines alike. */
static int put_rows(const answer *x, const question *q, output *out, bool many) {
    const bool labelled = out->layout != LAYOUT_PLAIN || x->column || many,
               several = out->layout != LAYOUT_PLAIN || answer_percents(q->options).n > 1;
    const bool percents = q->kind == ORDER_QUANTILE && labelled && several;
    double *of = percents ? list_percents(q, answer_count(x)) : NULL;
    if (percents && !of) return fail_memory(x->file);
    const int code = put_sheet(x, q, out, of, many || (out->names && !percents));
    free(of);
    return code;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Numbers of a list, behind so many others. */
typedef struct listed {
    const answer *answer;
    bf_time_kind time;
    int64_t before;
} listed;

static char *make_number(const void *arg, int64_t i, char *line) {
    const listed *l = arg;
    const bf_value value = value_at(l->answer, l->time, i);
    if (l->before + i > 0) *line++ = ',';
    return json_put_value(line, &value);
}

static char *make_beside(const void *arg, int64_t i, char *line) {
    const listed *l = arg;
    const bf_value value = {.dtype = BF_I64, .as.i64 = l->answer->beside[i]};
    if (l->before + i > 0) *line++ = ',';
    return json_put_value(line, &value);
}

/* A number for each of the values, behind so many others. */
static int put_numbers(const answer *x, const question *q, FILE *f, int64_t before,
                       char *(*make)(const void *, int64_t, char *)) {
    const listed l = {x, time_of(x, q), before};
    const lines numbers = {make, &l, JSON_VALUE_TEXT + 1, NULL};
    return lines_put(f, &numbers, answer_count(x), q->options->threads);
}

static void put_percents(const question *q, FILE *f) {
    const struct wanted_percents percents = answer_percents(q->options);
    fprintf(f, ",\"method\":\"%s\",\"percents\":[", bf_quantile_method_name(q->options->method));
    for (int i = 0; i < percents.n; i++) {
        const bf_value percent = {.dtype = BF_F64, .as.f64 = percents.at[i]};
        if (i > 0) putc(',', f);
        json_value(f, &percent);
    }
    putc(']', f);
}

/* {"schema":1, ... of the array of values. */
static void put_head(const answer *x, const question *q, FILE *f) {
    json_begin(f, report_command_name(), x->file);
    json_text(f, "column", x->column);
    json_text(f, "expression", q->options->expression);
    json_text(f, "dtype", output_type((units_form){x->info.dtype, x->info.scale, x->time}));
    json_integer(f, "n", x->info.count);
    if (q->options->input.text.skip_nulls) json_integer(f, "null", x->nulls);
    if (q->kind == ORDER_QUANTILE) put_percents(q, f);
    json_integers(f, "shape", x->values.shape, x->values.ndim);
}

static int put_object_part(const answer *part, const question *q, FILE *f, int64_t before,
                           const kept *behind) {
    int code = put_numbers(part, q, f, before, make_number);
    if (code == EXIT_DONE && behind)
        code = put_numbers(part, q, behind->stream, before, make_beside);
    return code == EXIT_DONE && behind ? kept_check(behind) : code;
}

static int end_object(const answer *x, const question *q, FILE *f, const kept *behind) {
    int code = EXIT_DONE;
    putc(']', f);
    if (behind || x->beside) fprintf(f, ",\"%s\":[", q->kind == ORDER_TOP ? "index" : "counts");
    if (behind)
        code = kept_copy(f, behind);
    else if (x->beside)
        code = put_numbers(x, q, f, 0, make_beside);
    if (behind || x->beside) putc(']', f);
    json_end(f, bf_context_device(q->context), x->seconds);
    return code;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Whether no dtype of an array holds the elements: decimals, and integers beyond 64 bits. */
static bool has_decimals(const answer *x, const question *q) {
    if (time_of(x, q)) return false;
    return (x->scale > 0 && x->values.dtype == BF_I64) || x->values.dtype == BF_I128;
}

/* What is between two dates may be none. */
static bf_time_kind array_time(const answer *x, const question *q) {
    const bool between = q->kind == ORDER_MEDIAN || q->kind == ORDER_QUANTILE;
    const bf_time_kind time = time_of(x, q);
    return between && time == BF_TIME_DATE ? BF_TIME_LOCAL : time;
}

static void put_header(const answer *x, const question *q, const output *out) {
    char header[NPY_WRITE_MAX];
    npy_header h = {.dtype = has_decimals(x, q) ? BF_F64 : x->values.dtype,
                    .time = array_time(x, q),
                    .scale = x->scale,
                    .ndim = x->values.ndim};
    memcpy(h.shape, x->values.shape, sizeof x->values.shape);
    fwrite(header, 1, npy_write_header(&h, header), out->stream);
}

/* units / 10^scale, rounded once: as a quotient of doubles, if these hold the units and the power.
 */
static double rounded_units(const answer *x, int64_t i, double power) {
    const int64_t most = (int64_t)1 << 53;
    const bf_value value = value_at(x, BF_TIME_NONE, i);
    if (value.dtype == BF_I64 && value.as.i64 >= -most && value.as.i64 <= most)
        return (double)value.as.i64 / power;
    return bf_value_f64(&value);
}

/* Decimals are written as f64. */
static void put_decimals(const answer *x, FILE *f) {
    const int64_t n = answer_count(x);
    const double power = (double)text_power_of_ten(x->scale); /* exact, up to 10^22 */
    double numbers[ROUNDED];
    for (int64_t first = 0; first < n; first += ROUNDED) {
        const int64_t some = n - first < ROUNDED ? n - first : ROUNDED;
        for (int64_t i = 0; i < some; i++) numbers[i] = rounded_units(x, first + i, power);
        fwrite(numbers, sizeof *numbers, (size_t)some, f);
    }
}

/* Times are written in the units of NumPy. */
static int put_times(const answer *x, bf_time_kind time, FILE *f) {
    const int64_t n = answer_count(x);
    for (int64_t i = 0; i < n; i++) {
        const bf_value value = value_at(x, BF_TIME_NONE, i);
        int64_t units;
        if (!npy_time_units(&value, time, x->scale, &units))
            return fail(EXIT_DATA, x->file, "cannot write .npy: 64 bits do not hold a time in %s",
                        "nanoseconds");
        fwrite(&units, sizeof units, 1, f);
    }
    return EXIT_DONE;
}

static int put_elements(const answer *x, const question *q, FILE *f) {
    const bf_array *a = &x->values;
    if (time_of(x, q)) return put_times(x, array_time(x, q), f);
    if (has_decimals(x, q))
        put_decimals(x, f);
    else
        fwrite(a->data, bf_dtype_size(a->dtype), (size_t)answer_count(x), f);
    return EXIT_DONE;
}

/* With --json, the object that tells of an array goes to standard output. */
static int end_array(const answer *x, const question *q, const output *out) {
    if (out->layout != LAYOUT_JSON) return EXIT_DONE;
    put_head(x, q, stdout);
    json_end(stdout, bf_context_device(q->context), x->seconds);
    return output_flush(stdout, "standard output");
}

static int put_single(const answer *x, const question *q, output *out) {
    const result r = {.file = x->file,
                      .column = x->column,
                      .expression = q->options->expression,
                      .info = x->info,
                      .value = value_at(x, time_of(x, q), 0),
                      .time = x->time,
                      .device = bf_context_device(q->context),
                      .seconds = x->seconds,
                      .nulls = x->nulls};
    return output_result(out, &r);
}

/* ---- parts ----------------------------------------------------------------------------------- */

void answer_begin(const answer *x, const question *q, const output *out) {
    if (output_is_array(out))
        put_header(x, q, out);
    else if (out->layout == LAYOUT_JSON) {
        put_head(x, q, out->stream);
        fputs(",\"values\":[", out->stream);
    }
}

int answer_part(const answer *part, const question *q, output *out, bool many, int64_t before,
                const kept *behind) {
    if (output_is_array(out)) return put_elements(part, q, out->stream);
    return out->layout == LAYOUT_JSON ? put_object_part(part, q, out->stream, before, behind)
                                      : put_rows(part, q, out, many);
}

int answer_end(const answer *x, const question *q, const output *out, const kept *behind) {
    const int code = output_is_array(out)         ? end_array(x, q, out)
                     : out->layout == LAYOUT_JSON ? end_object(x, q, out->stream, behind)
                                                  : EXIT_DONE;
    return output_end(out, code);
}

int answer_put(const answer *x, const question *q, output *out, bool many) {
    if (!output_is_array(out) && q->kind == ORDER_MEDIAN && x->values.ndim == 0)
        return put_single(x, q, out);
    answer_begin(x, q, out);
    const int code = answer_part(x, q, out, many, 0, NULL);
    return code == EXIT_DONE ? answer_end(x, q, out, NULL) : code;
}
