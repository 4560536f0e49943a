/* Descriptions as lines, aligned columns, tables, sheets and objects. */
#include "reduce/described.h"

#include "runtime/json.h"
#include "runtime/report.h"
#include "sheet/field.h"

#include <stdlib.h>
#include <string.h>

/* ---- values ---------------------------------------------------------------------------------- */

/* Values; those from SKEW on are told where they are asked for, or there may be such. Quantiles
 * follow. */
enum { MIN = 3, MAX = 5, SKEW = 10, KURTOSIS, NULLS, DISTINCT, MODE, TIMES, VALUES };
static const char *const names[VALUES] = {
    "n",    "nan", "inf",  "min",      "argmin", "max",      "argmax", "sum",
    "mean", "std", "skew", "kurtosis", "null",   "distinct", "mode",   "mode_count"};

static bf_value number(int64_t n) { return (bf_value){.dtype = BF_I64, .as.i64 = n}; }

/* dtype BF_NONE: there is no value. */
static bf_value index_value(int64_t i) { return i < 0 ? (bf_value){.dtype = BF_NONE} : number(i); }

static bf_value no_value(void) { return (bf_value){.dtype = BF_NONE}; }

/* A value of a column of strings, but for those that are strings. */
static bf_value value_of_texts(const described *x, int i) {
    switch (i) {
    case 0: return number(x->texts->n);
    case NULLS: return number(x->nulls);
    case DISTINCT: return number(x->texts->different);
    case TIMES: return number(x->times);
    default: return no_value();
    }
}

static bf_value value_of_numbers(const described *x, int i) {
    const bf_description *d = &x->values;
    switch (i) {
    case 0: return number(d->n);
    case 1: return number(d->nan);
    case 2: return number(d->inf);
    case MIN: return value_of_time(d->min, x->time);
    case 4: return index_value(d->argmin);
    case MAX: return value_of_time(d->max, x->time);
    case 6: return index_value(d->argmax);
    case 7: return x->time ? no_value() : d->sum;
    case 8: return x->time ? no_value() : d->mean;
    case 9: return x->time ? no_value() : d->std;
    case SKEW: return x->skew;
    case KURTOSIS: return x->kurtosis;
    case NULLS: return number(x->nulls);
    default: return no_value();
    }
}

static bf_value value_of(const described *x, int i) {
    if (i < VALUES) return x->texts ? value_of_texts(x, i) : value_of_numbers(x, i);
    if (!x->quantiles) return no_value();
    return value_of_time(output_element(x->quantile, x->scale, x->quantiles, i - VALUES), x->time);
}

/* A value that is a string, of *bytes; NULL: it is none. */
static const char *string_of(const described *x, int i, size_t *bytes) {
    if (!x->texts || x->texts->n == 0) return NULL;
    *bytes = i == MIN ? x->texts->least_bytes : i == MAX ? x->texts->greatest_bytes : x->mode_bytes;
    return i == MIN    ? x->texts->least.at
           : i == MAX  ? x->texts->greatest.at
           : i == MODE ? x->mode
                       : NULL;
}

/* The values that are told, one after another: the next from i on. */
static int next_value(const described *x, int i) {
    if (i == SKEW && !x->tells_powers) i = NULLS;
    if (i == NULLS && !x->tells_nulls) i++;
    return i == DISTINCT && !x->tells_texts ? VALUES : i;
}

static int count_values(const described *x) {
    return SKEW + (x->tells_powers ? NULLS - SKEW : 0) + x->tells_nulls +
           (x->tells_texts ? VALUES - DISTINCT : 0) + x->percents.n;
}

/* Number `shown` of the values that are told. */
static int value_at(const described *x, int shown) {
    int i = 0;
    while (shown-- > 0) i = next_value(x, i + 1);
    return i;
}

/* The name of a quantile, as p99.9. */
enum { NAME = BF_VALUE_TEXT + 1 };
static void name_value(const described *x, int i, char name[NAME]) {
    if (i < VALUES) {
        strcpy(name, names[i]);
        return;
    }
    name[0] = 'p';
    bf_value_format(&(bf_value){.dtype = BF_F64, .as.f64 = x->percents.at[i - VALUES]}, name + 1);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void put_name(const output *out, const described *x, int i) {
    char name[NAME];
    name_value(x, i, name);
    fputs(name, out->stream);
}

static void format_value(const output *out, const described *x, int i, char text[BF_VALUE_TEXT]) {
    const bf_value v = value_of(x, i);
    strcpy(text, "-");
    if (v.dtype != BF_NONE) output_format(&v, out->hex, text);
}

/* Writes a string as this form does. False: there is no memory. */
static bool put_string(const output *out, const char *string, size_t bytes, enum sheet_form form) {
    char *const text = malloc(FIELD_TEXT(bytes));
    if (text)
        fwrite(text, 1, (size_t)(field_put_string(text, form, string, bytes) - text), out->stream);
    free(text);
    return text != NULL;
}

static bool put_value(const output *out, const described *x, int i) {
    char text[BF_VALUE_TEXT];
    size_t bytes = 0;
    const char *const string = string_of(x, i, &bytes);
    putc('\t', out->stream);
    if (string) return put_string(out, string, bytes, SHEET_TSV);
    format_value(out, x, i, text);
    fputs(text, out->stream);
    return true;
}

/* Whether files, or columns, tell descriptions apart. */
static bool heads_files(const described *all, int n) {
    bool files = false;
    for (int k = 1; k < n; k++) files = files || strcmp(all[k].file, all[0].file) != 0;
    return files;
}

static bool heads_columns(const described *all, int n) {
    bool columns = false;
    for (int k = 1; k < n; k++) columns = columns || all[k].column;
    return columns;
}

/* A line for each value; lines that tell the files and columns apart come first. */
static int put_lines(const output *out, const described *all, int n) {
    const bool files = heads_files(all, n), columns = heads_columns(all, n);
    for (int line = files ? 0 : 1; n > 1 && line < (columns ? 2 : 1); line++) {
        fputs(line == 0 ? "file" : "column", out->stream);
        for (int k = 0; k < n; k++) {
            putc('\t', out->stream);
            const char *column = all[k].column ? all[k].column : "";
            output_put_name(out->stream, line == 0 ? all[k].file : column);
        }
        putc('\n', out->stream);
    }
    bool good = true;
    for (int i = 0; i < count_values(all); i++) {
        put_name(out, all, value_at(all, i));
        for (int k = 0; k < n; k++) good = put_value(out, &all[k], value_at(all, i)) && good;
        putc('\n', out->stream);
    }
    return good ? EXIT_DONE : fail_memory(NULL);
}

/* ---- aligned columns ------------------------------------------------------------------------- */

/* A column of put_aligned: what its lines show. */
enum { LINE = BF_VALUE_TEXT + NAME };
typedef struct aligned_lines {
    char (*texts)[LINE];
    const char **lines;
} aligned_lines;

/* The names of values (x NULL), or the values of x; both: first the column. Returns the lines. */
static int list_lines(const output *out, const described *all, const described *x, bool both,
                      const aligned_lines *a) {
    int n = 0;
    if (both) a->lines[n++] = !x ? "column" : x->column ? x->column : "";
    for (int i = 0; i < count_values(all); i++) {
        const int v = value_at(all, i);
        size_t bytes;
        const char *const string = x ? string_of(x, v, &bytes) : NULL;
        if (x)
            format_value(out, x, v, a->texts[i]);
        else
            name_value(all, v, a->texts[i]);
        a->lines[n++] = string ? string : a->texts[i];
    }
    return n;
}

static int width_of(const char *text) { return field_width(text, text + strlen(text)); }

/* The characters that the lines of a sheet of texts take, with two blanks between columns. */
static int64_t width_of_lines(const sheet *s) {
    int64_t all = 0;
    for (int c = 0; c < s->count; c++) {
        int most = width_of(s->columns[c].name);
        for (int64_t i = 0; i < s->rows; i++) {
            const int width = width_of(s->columns[c].texts[i]);
            most = width > most ? width : most;
        }
        all += most + 2;
    }
    return all - 2;
}

/* Makes of each column but the first a row, in these columns of these cells; returns the sheet. */
static sheet turn(const sheet *s, sheet_column *columns, const char **cells) {
    const int n = s->count - 1;
    for (int64_t c = 0; c <= s->rows; c++) {
        const char **const lines = cells + c * n;
        columns[c].name = c == 0 ? s->columns->name : s->columns->texts[c - 1];
        columns[c].texts = lines;
        for (int i = 0; i < n; i++)
            lines[i] = c == 0 ? s->columns[i + 1].name : s->columns[i + 1].texts[c - 1];
    }
    return (sheet){.columns = columns, .count = (int)s->rows + 1, .rows = n};
}

/* If the lines are too long for the terminal, and shorter the other way, each column is a line. */
static int put_fitting(output *out, const sheet *s, const char *file) {
    const size_t count = (size_t)s->rows + 1;
    sheet_column *const columns = calloc(count, sizeof *columns);
    const char **const cells = calloc(count * (size_t)s->count, sizeof *cells);
    int code = columns && cells ? EXIT_DONE : fail_memory(NULL);
    if (code == EXIT_DONE) {
        const int64_t width = width_of_lines(s);
        const sheet turned = turn(s, columns, cells);
        const bool fits = width <= terminal_width(fileno(out->stream));
        const bool turns = !fits && width_of_lines(&turned) < width;
        code = output_sheet(out, SHEET_ALIGNED, turns ? &turned : s, file);
    }
    free(columns);
    free(cells);
    return code;
}

static int put_columns(output *out, const described *all, int n, const aligned_lines *a,
                       sheet_column *columns) {
    const bool files = heads_files(all, n), both = files && heads_columns(all, n);
    const int most = count_values(all) + 1;
    sheet s = {.columns = columns, .count = n + 1};
    for (int k = 0; k <= n; k++) {
        const described *const x = k > 0 ? &all[k - 1] : NULL;
        const aligned_lines own = {a->texts + k * most, a->lines + k * most};
        s.rows = list_lines(out, all, x, both, &own);
        columns[k] = (sheet_column){.name = files ? "file" : "column", .texts = own.lines};
        if (x) columns[k].name = files || !x->column ? x->file : x->column;
    }
    return put_fitting(out, &s, all->file);
}

/* Puts them as lines, in aligned columns. */
static int put_aligned(output *out, const described *all, int n) {
    const size_t cells = ((size_t)n + 1) * ((size_t)count_values(all) + 1);
    const aligned_lines a = {malloc(cells * sizeof *a.texts), malloc(cells * sizeof *a.lines)};
    sheet_column *columns = malloc(((size_t)n + 1) * sizeof *columns);
    const int code =
        a.texts && a.lines && columns ? put_columns(out, all, n, &a, columns) : fail_memory(NULL);
    free(a.texts);
    free(a.lines);
    free(columns);
    return code;
}

/* ---- tables and sheets ----------------------------------------------------------------------- */

static int put_table(const output *out, const described *all, int n) {
    bool good = true;
    fputs("file\tcolumn", out->stream);
    for (int i = 0; i < count_values(all); i++) {
        putc('\t', out->stream);
        put_name(out, all, value_at(all, i));
    }
    putc('\n', out->stream);
    for (int k = 0; k < n; k++) {
        output_put_name(out->stream, all[k].file);
        putc('\t', out->stream);
        if (all[k].column) output_put_name(out->stream, all[k].column);
        for (int i = 0; i < count_values(all); i++)
            good = put_value(out, &all[k], value_at(all, i)) && good;
        putc('\n', out->stream);
    }
    return good ? EXIT_DONE : fail_memory(NULL);
}

/* What a row of a sheet shows of each value. */
typedef struct row_cells {
    char name[NAME];
    bf_value value;
    int64_t offsets[2];
    bf_strings string;
} row_cells;

static sheet_column fill_cell(row_cells *c, const described *x, int i) {
    size_t bytes = 0;
    const char *const string = string_of(x, i, &bytes);
    name_value(x, i, c->name);
    c->value = value_of(x, i);
    c->offsets[1] = (int64_t)bytes;
    c->string = (bf_strings){sizeof c->string, 1, BF_I64, c->offsets, string};
    if (string) return (sheet_column){.name = c->name, .strings = &c->string};
    return (sheet_column){.name = c->name, .values = &c->value};
}

/* A row of the file, its column, and the values. */
static int put_row(output *out, const described *x, row_cells *cells, sheet_column *columns) {
    const int n = count_values(x);
    const sheet row = {.columns = columns, .count = n + 2, .rows = 1};
    const uint8_t absent = 0;
    columns[0] = output_file_column(x->file);
    columns[1] = (sheet_column){.name = "column", .title = x->column ? x->column : ""};
    if (!x->column) columns[1].valid = &absent;
    for (int i = 0; i < n; i++) columns[i + 2] = fill_cell(&cells[i], x, value_at(x, i));
    return output_sheet(out, sheet_form_of(out->options), &row, x->file);
}

static int put_sheet(output *out, const described *all, int n) {
    const size_t count = (size_t)count_values(all);
    row_cells *cells = calloc(count, sizeof *cells);
    sheet_column *columns = malloc((count + 2) * sizeof *columns);
    int code = cells && columns ? EXIT_DONE : fail_memory(NULL);
    for (int k = 0; k < n && code == EXIT_DONE; k++) code = put_row(out, &all[k], cells, columns);
    free(cells);
    free(columns);
    return code;
}

/* ---- objects --------------------------------------------------------------------------------- */

static void put_quantiles(FILE *f, const described *x) {
    fputs(",\"percents\":", f);
    for (int i = 0; i < x->percents.n; i++) {
        putc(i > 0 ? ',' : '[', f);
        json_value(f, &(bf_value){.dtype = BF_F64, .as.f64 = x->percents.at[i]});
    }
    fputs("],\"quantiles\":", f);
    for (int i = 0; i < x->percents.n; i++) {
        const bf_value v = value_of(x, VALUES + i);
        putc(i > 0 ? ',' : '[', f);
        json_value(f, &v);
    }
    putc(']', f);
}

static bool put_member(const output *out, const described *x, int i) {
    size_t bytes = 0;
    const char *const string = string_of(x, i, &bytes);
    const bf_value v = value_of(x, i);
    fprintf(out->stream, ",\"%s\":", names[i]);
    if (string) return put_string(out, string, bytes, SHEET_JSON);
    json_value(out->stream, &v);
    return true;
}

static int put_object(const output *out, const described *x, const char *device) {
    FILE *const f = out->stream;
    bool good = true;
    json_begin(f, report_command_name(), x->file);
    json_text(f, "column", x->column);
    json_text(f, "dtype", x->dtype);
    for (int i = 0; i < VALUES; i = next_value(x, i + 1)) good = put_member(out, x, i) && good;
    if (x->percents.n > 0) put_quantiles(f, x);
    json_end(f, device, x->seconds);
    return good ? EXIT_DONE : fail_memory(NULL);
}

static int put_objects(const output *out, const described *all, int n, const char *device) {
    int code = EXIT_DONE;
    for (int k = 0; k < n && code == EXIT_DONE; k++) code = put_object(out, &all[k], device);
    return code;
}

/* ---- all forms ------------------------------------------------------------------------------- */

int described_put(output *out, const described *all, int n, const char *device) {
    const bool aligned = output_aligns(out) && n > 1;
    const int code = aligned                      ? put_aligned(out, all, n)
                     : output_has_sheet(out)      ? put_sheet(out, all, n)
                     : out->layout == LAYOUT_TSV  ? put_table(out, all, n)
                     : out->layout == LAYOUT_JSON ? put_objects(out, all, n, device)
                                                  : put_lines(out, all, n);
    return output_end(out, code);
}
