#include "sheet/output.h"

#include "runtime/json.h"
#include "runtime/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int show_waiting(output *out);

int output_flush(FILE *stream, const char *name) {
    const int error = stream_flush(stream);
    return error == 0 ? EXIT_DONE : fail(EXIT_IO, name, "cannot write: %s", strerror(error));
}

void output_format(const bf_value *value, bool hex, char text[BF_VALUE_TEXT]) {
    if (hex && bf_dtype_kind(value->dtype) == 'f')
        bf_value_format_hex(value, text);
    else
        value_format(value, text);
}

const char *output_type(units_form form) {
    return form.time ? "time" : output_dtype(form.dtype, form.scale);
}

const char *output_dtype(bf_dtype dtype, int scale) {
    return scale > 0 ? "decimal" : bf_dtype_name(dtype);
}

bf_value output_element(bf_dtype dtype, int scale, const void *array, int64_t i) {
    if (dtype == BF_I192) return ((const bf_value *)array)[i];
    const uint64_t *const pair = dtype == BF_PAIR ? (const uint64_t *)array + 2 * i : NULL;
    const bf_dtype own = pair ? (bf_dtype)pair[1] : dtype;
    const size_t bytes = bf_dtype_size(own);
    bf_value v = {.dtype = own, .scale = bf_dtype_kind(own) == 'f' ? 0 : scale};
    memcpy(&v.as, pair ? (const void *)pair : (const char *)array + (size_t)i * bytes, bytes);
    if (own == BF_I128) { /* integers are widened */
        v.dtype = BF_I192;
        v.as.i192[2] = (int64_t)v.as.i192[1] < 0 ? UINT64_MAX : 0;
    } else if (bf_dtype_kind(own) == 'i') {
        const unsigned above = 64 - 8 * (unsigned)bytes;
        v.as.i64 = (int64_t)(v.as.u64 << above) >> above;
    }
    return v;
}

static const char *output_name(const output *out) {
    return out->to_file ? out->file.name : "standard output";
}

int output_end(const output *out, int code) {
    const int flushed = output_flush(out->stream, output_name(out));
    return code == EXIT_DONE ? flushed : code;
}

int output_open(output *out, const options *o, bool names) {
    *out = (output){.stream = stdout,
                    .to_file = o->output != NULL && strcmp(o->output, "-") != 0,
                    .layout = o->layout,
                    .hex = o->hex,
                    .names = names || (o->layout != LAYOUT_PLAIN && o->layout != LAYOUT_JSON),
                    .tells_nulls = o->input.text.skip_nulls,
                    .options = o};
    if (!out->to_file) return EXIT_DONE;
    const int code = outfile_open(&out->file, o->output);
    out->stream = out->file.stream;
    return code;
}

bool output_is_array(const output *out) { return out->to_file && out->options->form == FORM_NPY; }

int output_close(output *out) {
    const int code = show_waiting(out);
    sheet_end(&out->sheet);
    if (code != EXIT_DONE) return code;
    return out->to_file ? outfile_commit(&out->file) : output_flush(stdout, output_name(out));
}

void output_abandon(output *out) {
    show_waiting(out);
    sheet_end(&out->sheet);
    if (out->to_file) outfile_abandon(&out->file);
}

static char shown(char c) { return (unsigned char)c < 0x20 || c == 0x7f ? '?' : c; }

void output_put_name(FILE *stream, const char *name) {
    for (const char *c = name; *c; c++) putc(shown(*c), stream);
}

char *output_copy_name(char *line, const char *name) {
    for (const char *c = name; *c; c++) *line++ = shown(*c);
    return line;
}

void output_end_line(const output *out, const char *file, const char *other) {
    const char *names[] = {file, other};
    for (int i = 0; i < 2 && out->names && names[i] != NULL; i++) {
        putc('\t', out->stream);
        output_put_name(out->stream, names[i]);
    }
    putc('\n', out->stream);
}

static void put_line(const output *out, const result *r) {
    char text[BF_VALUE_TEXT];
    output_format(&r->value, out->hex, text);
    if (r->column) {
        output_put_name(out->stream, r->column);
        putc('\t', out->stream);
    }
    fputs(text, out->stream);
    output_end_line(out, r->file, r->other);
}

bool output_has_sheet(const output *out) { return out->layout >= LAYOUT_CSV; }

int output_sheet(output *out, enum sheet_form form, const sheet *part, const char *file) {
    int code = EXIT_DONE;
    if (!out->sheet.stream)
        code = sheet_begin(&out->sheet, out->stream, form, part, file, out->options);
    return code == EXIT_DONE ? sheet_rows(&out->sheet, part) : code;
}

sheet_column output_file_column(const char *file) {
    return (sheet_column){.name = "file", .title = file};
}

/* A row: the column if several are asked for, the value, the files. */
static int put_row(output *out, const result *r) {
    sheet_column columns[4];
    int n = 0;
    if (r->column) columns[n++] = (sheet_column){.name = "column", .title = r->column};
    columns[n++] = (sheet_column){.name = "value", .values = &r->value};
    columns[n++] = output_file_column(r->file);
    if (r->other) columns[n++] = (sheet_column){.name = "other", .title = r->other};
    const sheet row = {.columns = columns, .count = n, .rows = 1};
    return output_sheet(out, sheet_form_of(out->options), &row, r->file);
}

void output_put_columns(FILE *f, const result *r) {
    if (!r->columns) return;
    fputs(",\"columns\":", f);
    for (int k = 0; k < r->column_count; k++) {
        putc(k > 0 ? ',' : '[', f);
        json_string(f, r->columns[k]);
    }
    putc(']', f);
}

static void put_object(FILE *f, const result *r, bool tells_nulls) {
    char text[BF_VALUE_TEXT], hex[BF_VALUE_TEXT];
    output_format(&r->value, false, text);
    output_format(&r->value, true, hex);
    json_begin(f, report_command_name(), r->file);
    json_text(f, "other", r->other);
    json_text(f, "column", r->column);
    output_put_columns(f, r);
    json_text(f, "expression", r->expression);
    json_text(f, "dtype", output_type((units_form){r->info.dtype, r->info.scale, r->time}));
    json_integer(f, "n", r->info.count);
    fputs(",\"value\":", f);
    json_value(f, &r->value);
    json_text(f, "text", text);
    json_text(f, "hex", hex);
    json_integer(f, "nan", r->info.nan);
    if (r->info.inf >= 0) json_integer(f, "inf", r->info.inf);
    if (tells_nulls) json_integer(f, "null", r->nulls);
    json_end(f, r->device, r->seconds);
}

/* ---- aligned at a terminal ------------------------------------------------------------------- */

/* Work of more seconds is shown as it is done, not with what follows. */
static const double slow = 1;

bool output_aligns(const output *out) { return sheet_form_of(out->options) == SHEET_ALIGNED; }

static int put_waiting(output *out, const char **texts) {
    const int n = out->waits;
    bf_value *const values = malloc((size_t)n * sizeof *values);
    const char **columns = texts, **files = texts + n, **others = texts + 2 * n;
    if (!values) return fail_memory(NULL);
    for (int i = 0; i < n; i++) {
        const waiting_result *w = &out->waiting[i];
        values[i] = w->value;
        columns[i] = w->column;
        files[i] = w->file;
        others[i] = w->other;
    }
    sheet_column shown[4];
    int count = 0;
    if (columns[0]) shown[count++] = (sheet_column){.name = "column", .texts = columns};
    shown[count++] = (sheet_column){.name = "value", .values = values};
    if (out->names) shown[count++] = (sheet_column){.name = "file", .texts = files};
    if (out->names && others[0]) shown[count++] = (sheet_column){.name = "other", .texts = others};
    const sheet s = {.columns = shown, .count = count, .rows = n};
    const int code = output_sheet(out, SHEET_ALIGNED, &s, out->waiting->file);
    free(values);
    return code;
}

static int show_waiting(output *out) {
    if (out->waits == 0) return EXIT_DONE;
    const char **const texts = malloc(3 * (size_t)out->waits * sizeof *texts);
    const int code = texts ? put_waiting(out, texts) : fail_memory(NULL);
    free(texts);
    for (int i = 0; i < out->waits; i++) free(out->waiting[i].column);
    free(out->waiting);
    out->waiting = NULL;
    out->waits = 0;
    return output_end(out, code);
}

static int let_wait(output *out, const result *r) {
    const size_t n = (size_t)out->waits + 1;
    waiting_result *const more = realloc(out->waiting, n * sizeof *more);
    if (more) out->waiting = more;
    char *const column = r->column ? strdup(r->column) : NULL;
    if (!more || (r->column && !column)) {
        free(column);
        return fail_memory(r->file);
    }
    more[out->waits++] = (waiting_result){r->value, column, r->file, r->other};
    return !r->column && r->seconds > slow ? show_waiting(out) : EXIT_DONE;
}

/* ---- a result -------------------------------------------------------------------------------- */

int output_result(output *out, const result *r) {
    int code = EXIT_DONE;
    if (output_aligns(out) && (out->names || r->column)) return let_wait(out, r);
    if (out->layout == LAYOUT_JSON)
        put_object(out->stream, r, out->tells_nulls);
    else if (out->layout != LAYOUT_PLAIN)
        code = put_row(out, r);
    else
        put_line(out, r);
    return output_end(out, code);
}
