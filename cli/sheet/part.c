#include "sheet/part.h"

#include <stdlib.h>
#include <string.h>

/* Rows that are gathered. */
enum { ROWS = 1 << 12 };

/* What a field begins with: this, or the dtype of its number. */
enum { FIELD_NULL = BF_NONE, FIELD_STRING = 255 };

/* ---- fields ---------------------------------------------------------------------------------- */

static bool reserve(part_text *t, size_t n) {
    const size_t room = 2 * (t->n + n) + 64;
    char *more = realloc(t->at, room);
    t->lost = t->lost || !more;
    if (!more) return false;
    t->at = more;
    t->room = room;
    return true;
}

char *part_take(part_text *t, size_t n) {
    if (n > t->room - t->n && !reserve(t, n)) return NULL;
    char *const at = t->at + t->n;
    t->n += n;
    return at;
}

void part_put(part_text *t, const void *bytes, size_t n) {
    char *const at = n > 0 ? part_take(t, n) : NULL;
    if (at) memcpy(at, bytes, n);
}

static void put_kind(part_text *t, int kind) {
    const char byte = (char)kind;
    part_put(t, &byte, 1);
}

void part_put_null(part_text *t) { put_kind(t, FIELD_NULL); }

void part_put_string(part_text *t, const char *at, size_t n) {
    put_kind(t, FIELD_STRING);
    part_put(t, &n, sizeof n);
    part_put(t, at, n);
}

static size_t bytes_of(bf_dtype dtype) {
    return dtype == BF_I192 ? 3 * sizeof(uint64_t) : sizeof(uint64_t);
}

void part_put_value(part_text *t, const bf_value *value) {
    const size_t bytes = bytes_of(value->dtype);
    if (value->dtype == BF_NONE) {
        part_put_null(t);
        return;
    }
    const int16_t scale = (int16_t)value->scale; /* it fits, also of a time */
    char *const at = part_take(t, 1 + sizeof scale + bytes);
    if (!at) return;
    at[0] = (char)value->dtype;
    memcpy(at + 1, &scale, sizeof scale);
    memcpy(at + 1 + sizeof scale, &value->as, bytes);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool open_column(struct part_column *c, bool strings) {
    const size_t room = ROWS + 1; /* with the total */
    if (!strings) return (c->values = malloc(room * sizeof *c->values)) != NULL;
    c->offsets = calloc(room + 1, sizeof *c->offsets);
    c->valid = malloc(room);
    return c->offsets && c->valid;
}

int part_open(part *p, const char *const names[], const bool strings[], int count, int64_t most) {
    *p = (part){.most = most};
    p->of = calloc((size_t)count + 1, sizeof *p->of);
    p->columns = calloc((size_t)count + 1, sizeof *p->columns);
    if (!p->of || !p->columns) return fail_memory(NULL);
    p->sheet = (sheet){.columns = p->columns, .count = count};
    for (int c = 0; c < count; c++) {
        struct part_column *of = &p->of[c];
        if (!open_column(of, strings[c])) return fail_memory(NULL);
        p->columns[c] = (sheet_column){.name = names[c],
                                       .values = of->values,
                                       .strings = of->offsets ? &of->strings : NULL,
                                       .valid = of->valid};
    }
    return EXIT_DONE;
}

void part_close(part *p) {
    for (int c = 0; c < p->sheet.count; c++) {
        free(p->of[c].values);
        free(p->of[c].offsets);
        free(p->of[c].valid);
        free(p->of[c].bytes.at);
    }
    free(p->of);
    free(p->columns);
    sheet_end(&p->writer);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Reads a field. Returns its end. */
static const char *take_field(part *p, int column, const char *at) {
    struct part_column *of = &p->of[column];
    const int64_t row = p->sheet.rows;
    const int kind = (unsigned char)*at++;
    bf_value v = {.dtype = (bf_dtype)kind};
    size_t n = 0;
    if (of->values) {
        if (kind != FIELD_NULL) {
            int16_t scale;
            memcpy(&scale, at, sizeof scale);
            at += sizeof scale;
            n = bytes_of(v.dtype);
            v.scale = scale;
        }
        memcpy(&v.as, at, n);
        of->values[row] = v;
        return at + n;
    }
    of->valid[row] = kind != FIELD_NULL;
    if (kind != FIELD_NULL) {
        memcpy(&n, at, sizeof n);
        at += sizeof n;
        part_put(&of->bytes, at, n);
    }
    of->offsets[row + 1] = (int64_t)of->bytes.n;
    p->bytes += (int64_t)n;
    return at + n;
}

static int take_row(part *p, const char *row) {
    bool lost = false;
    for (int c = 0; c < p->sheet.count; c++) {
        row = take_field(p, c, row);
        lost = lost || p->of[c].bytes.lost;
    }
    p->sheet.rows++;
    return lost ? fail_memory(NULL) : EXIT_DONE;
}

/* Names the strings where they lie now. */
static void find_strings(part *p) {
    for (int c = 0; c < p->sheet.count; c++)
        p->of[c].strings = (bf_strings){sizeof(bf_strings), p->sheet.rows, BF_I64, p->of[c].offsets,
                                        p->of[c].bytes.at};
}

/* The rows at hand, with the total behind them, say how wide columns are. */
static int begin_sheet(part *p, FILE *f, const char *total, const char *file, const options *o) {
    int code = total ? take_row(p, total) : EXIT_DONE;
    p->sheet.total = total != NULL;
    find_strings(p);
    if (code == EXIT_DONE) code = sheet_begin(&p->writer, f, sheet_form_of(o), &p->sheet, file, o);
    p->sheet.rows -= p->sheet.total;
    p->sheet.total = false;
    return code;
}

/* Writes the rows at hand. */
static int write_rows(part *p, FILE *f, const char *total, const char *file, const options *o) {
    int code = p->take || p->writer.stream ? EXIT_DONE : begin_sheet(p, f, total, file, o);
    find_strings(p);
    if (code == EXIT_DONE && p->sheet.rows > 0)
        code = p->take ? p->take(p->arg, &p->sheet) : sheet_rows(&p->writer, &p->sheet);
    p->sheet.rows = p->bytes = 0;
    for (int c = 0; c < p->sheet.count; c++) p->of[c].bytes.n = 0;
    return code;
}

/* Adds a row; writes what was gathered if it is enough. The total counts where the width of columns
 * is found. */
static int add_row(part *p, FILE *f, const char *row, const char *total, const char *file,
                   const options *o) {
    const int code = take_row(p, row);
    const bool full = p->sheet.rows == ROWS || p->bytes > p->most;
    return code == EXIT_DONE && full ? write_rows(p, f, total, file, o) : code;
}

/* Writes what is left, and the total. */
static int end_part(part *p, FILE *f, const char *total, const char *file, const options *o) {
    int code = write_rows(p, f, total, file, o);
    if (code != EXIT_DONE || !total) return code;
    code = take_row(p, total);
    p->sheet.total = true;
    find_strings(p);
    return code == EXIT_DONE ? sheet_rows(&p->writer, &p->sheet) : code;
}

int part_put_records(part *p, FILE *f, records *rows, int64_t most, const char *total,
                     const char *file, const options *o) {
    const char *row;
    size_t bytes;
    int code = records_end(rows);
    for (int64_t n = 0; code == EXIT_DONE && !ferror(f) && (most <= 0 || n < most); n++) {
        code = records_next(rows, &row, &bytes);
        if (code != EXIT_DONE || !row) break;
        code = add_row(p, f, row, total, file, o);
    }
    return code == EXIT_DONE ? end_part(p, f, total, file, o) : code;
}
