#include "reduce/paired.h"

#include "container/npy_write.h"
#include "runtime/json.h"
#include "runtime/report.h"

#include <inttypes.h>
#include <stdlib.h>

const bf_reduction paired_line[PAIRED_LINE] = {BF_SLOPE, BF_INTERCEPT, BF_R2};

bf_status paired_take_line(const bf_state *state, const bf_reduce_options *rules,
                           bf_value line[PAIRED_LINE]) {
    bf_status st = BF_OK;
    for (int i = 0; i < PAIRED_LINE && st == BF_OK; i++)
        st = bf_state_result_of(state, paired_line[i], rules, &line[i]);
    return st;
}

/* {"schema":1, ... of the inputs. */
static void put_head(FILE *f, const result *r) {
    json_begin(f, report_command_name(), r->file);
    json_text(f, "other", r->other);
    output_put_columns(f, r);
    json_text(f, "dtype", output_type((units_form){r->info.dtype, r->info.scale, r->time}));
}

/* Writes the names of columns, where the form has no header of its own. */
static void put_header(const output *out, const sheet *s) {
    const enum sheet_form form = sheet_form_of(out->options);
    if (form != SHEET_PLAIN && form != SHEET_TSV) return;
    for (int i = 0; i < s->count; i++) {
        if (i > 0) putc('\t', out->stream);
        output_put_name(out->stream, s->columns[i].name);
    }
    putc('\n', out->stream);
}

static int put_sheet(output *out, const sheet *s, const char *file) {
    put_header(out, s);
    return output_sheet(out, sheet_form_of(out->options), s, file);
}

/* ---- a line ---------------------------------------------------------------------------------- */

static void put_line(const output *out, const bf_value line[PAIRED_LINE]) {
    char text[BF_VALUE_TEXT];
    const bool aligns = output_aligns(out);
    for (int i = 0; i < PAIRED_LINE; i++) {
        const char *const name = bf_reduction_name(paired_line[i]);
        output_format(&line[i], out->hex, text);
        fprintf(out->stream, aligns ? "%-9s  %s\n" : "%s\t%s\n", name, text);
    }
}

static int put_row(output *out, const result *r, const bf_value line[PAIRED_LINE]) {
    sheet_column columns[PAIRED_LINE + 2];
    int n = 0;
    for (; n < PAIRED_LINE; n++)
        columns[n] = (sheet_column){.name = bf_reduction_name(paired_line[n]), .values = &line[n]};
    columns[n++] = output_file_column(r->file);
    if (r->other) columns[n++] = (sheet_column){.name = "other", .title = r->other};
    const sheet row = {.columns = columns, .count = n, .rows = 1};
    return put_sheet(out, &row, r->file);
}

static void put_object(const output *out, const result *r, const bf_value line[PAIRED_LINE]) {
    FILE *const f = out->stream;
    put_head(f, r);
    json_integer(f, "n", r->info.count);
    for (int i = 0; i < PAIRED_LINE; i++) {
        fprintf(f, ",\"%s\":", bf_reduction_name(paired_line[i]));
        json_value(f, &line[i]);
    }
    json_integer(f, "nan", r->info.nan);
    json_integer(f, "inf", r->info.inf);
    if (out->tells_nulls) json_integer(f, "null", r->nulls);
    json_end(f, r->device, r->seconds);
}

int paired_put_line(output *out, const result *r, const bf_value line[PAIRED_LINE]) {
    int code = EXIT_DONE;
    if (out->layout == LAYOUT_JSON)
        put_object(out, r, line);
    else if (out->layout == LAYOUT_PLAIN)
        put_line(out, line);
    else
        code = put_row(out, r, line);
    return output_end(out, code);
}

/* ---- a matrix -------------------------------------------------------------------------------- */

/* Each column is as the row of the same name. */
static int put_table(output *out, const result *r, const paired_matrix *m) {
    sheet_column *const columns = malloc(((size_t)m->count + 1) * sizeof *columns);
    const sheet s = {.columns = columns, .count = m->count + 1, .rows = m->count};
    if (!columns) return fail_memory(r->file);
    columns[0] = (sheet_column){.name = "column", .texts = r->columns};
    for (int k = 0; k < m->count; k++)
        columns[k + 1] = (sheet_column){.name = r->columns[k], .values = m->values + k * m->count};
    const int code = put_sheet(out, &s, r->file);
    free(columns);
    return code;
}

/* Writes a member that is a list of lists. */
static void put_lists(FILE *f, const char *key, const paired_matrix *m, bool values) {
    fprintf(f, ",\"%s\":[", key);
    for (int i = 0; i < m->count * m->count; i++) {
        const int at = i % m->count;
        fputs(at > 0 ? "," : i > 0 ? "],[" : "[", f);
        if (values)
            json_value(f, &m->values[i]);
        else
            fprintf(f, "%" PRId64, m->pairs[i]);
    }
    fputs("]]", f);
}

static void put_matrix(const output *out, const result *r, const paired_matrix *m) {
    put_head(out->stream, r);
    put_lists(out->stream, "n", m, false);
    put_lists(out->stream, bf_reduction_name(r->info.op), m, true);
    json_end(out->stream, r->device, r->seconds);
}

static void put_array(const output *out, const paired_matrix *m) {
    char header[NPY_WRITE_MAX];
    const npy_header h = {.dtype = m->values->dtype, .ndim = 2, .shape = {m->count, m->count}};
    fwrite(header, 1, npy_write_header(&h, header), out->stream);
    for (int i = 0; i < m->count * m->count; i++)
        fwrite(&m->values[i].as, bf_dtype_size(h.dtype), 1, out->stream);
}

int paired_put_matrix(output *out, const result *r, const paired_matrix *m) {
    int code = EXIT_DONE;
    if (output_is_array(out))
        put_array(out, m);
    else if (out->layout == LAYOUT_JSON)
        put_matrix(out, r, m);
    else
        code = put_table(out, r, m);
    return output_end(out, code);
}
