#define _GNU_SOURCE /* qsort_r */
#include "sheet/sheet.h"

#include "runtime/json.h"
#include "runtime/stream.h"
#include "sheet/field.h"
#include "sheet/output.h"
#include "text/lines.h"

#include <stdlib.h>
#include <string.h>

/* Rows that are looked at for the widths of columns. A column is as wide as they need, but for what
 * is wider than this. */
enum { LOOKED = 1 << 12, WIDEST = 48 };

bf_value sheet_value(const sheet_column *c, int64_t row) {
    return value_of_time(c->array ? output_element(c->form.dtype, c->form.scale, c->array, row)
                                  : c->values[row],
                         c->form.time);
}

enum sheet_form sheet_form_of(const options *o) {
    const bool file = o->output && strcmp(o->output, "-") != 0;
    switch (o->layout) {
    case LAYOUT_TSV: return SHEET_TSV;
    case LAYOUT_JSON:
    case LAYOUT_JSONL: return SHEET_JSON;
    case LAYOUT_CSV: return SHEET_CSV;
    case LAYOUT_MARKDOWN: return SHEET_MARKDOWN;
    default: return !file && stream_at_terminal() ? SHEET_ALIGNED : SHEET_PLAIN;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A part as it is written. */
typedef struct shown {
    const sheet_writer *writer;
    const sheet *part;
} shown;

static int64_t row_of(const sheet *s, int64_t i) { return s->order ? s->order[i] : i; }

/* What may stand around a field: the padding of a column, the name of a value. */
static size_t room_around(const sheet_writer *w, int column) {
    return 8 + (size_t)(w->widths ? WIDEST : 0) + (w->names ? w->name_bytes[column] : 0);
}

static size_t row_room(const void *arg, int64_t i) {
    const shown *x = arg;
    size_t room = 64; /* a mark of the total, too */
    for (int c = 0; c < x->part->count; c++)
        room += room_around(x->writer, c) +
                field_room(&x->part->columns[c], row_of(x->part, i), x->writer->form);
    return room;
}

static char *put_bytes(char *line, const char *bytes, size_t n) {
    return (char *)memcpy(line, bytes, n) + n;
}

/* Pads a field: to the right, or to the left, where the last column needs nothing. */
static char *pad(char *from, char *end, int width, bool right, bool last) {
    const int used = field_width(from, end), blanks = used < width ? width - used : 0;
    if (right) memmove(from + blanks, from, (size_t)(end - from));
    if (right || !last) memset(right ? from : end, ' ', (size_t)blanks);
    return right || !last ? end + blanks : end;
}

/* Ends a field or a line of these forms. */
static char *put_separator(char *line, enum sheet_form form, bool last) {
    switch (form) {
    case SHEET_ALIGNED: return put_bytes(line, last ? "\n" : "  ", last ? 1 : 2);
    case SHEET_MARKDOWN: return put_bytes(line, last ? " |\n" : " | ", 3);
    default: *line = last ? '\n' : form == SHEET_CSV ? ',' : '\t'; return line + 1;
    }
}

static char *put_row(const void *arg, int64_t i, char *line) {
    const shown *x = arg;
    const sheet_writer *w = x->writer;
    const int count = x->part->count;
    if (w->form == SHEET_MARKDOWN) line = put_bytes(line, "| ", 2);
    for (int c = 0; c < count; c++) {
        const sheet_column *column = &x->part->columns[c];
        char *const from = line;
        line = field_put(line, w->form, column, row_of(x->part, i), w->hex);
        if (w->widths) line = pad(from, line, w->widths[c], w->right[c], c + 1 == count);
        line = put_separator(line, w->form, c + 1 == count);
    }
    return line;
}

static char *put_object(const void *arg, int64_t i, char *line) {
    const shown *x = arg;
    const sheet_writer *w = x->writer;
    const int count = x->part->count;
    *line++ = '{';
    for (int c = 0; c < count; c++) {
        line = put_bytes(line, w->names[c], w->name_bytes[c]);
        line = field_put(line, w->form, &x->part->columns[c], row_of(x->part, i), false);
    }
    if (x->part->total && i + 1 == x->part->rows) {
        line = put_bytes(line, w->names[count], w->name_bytes[count]);
        line = put_bytes(line, "true", 4);
    }
    return put_bytes(line, "}\n", 2);
}

/* Rows of numbers have room for all of them; that of others depends on the row. */
int sheet_rows(const sheet_writer *w, const sheet *part) {
    const shown x = {w, part};
    bool numbers = true;
    for (int c = 0; c < part->count; c++) numbers &= field_is_number(&part->columns[c]);
    const lines wanted = {.make = w->form == SHEET_JSON ? put_object : put_row,
                          .arg = &x,
                          .most = numbers && part->rows > 0 ? row_room(&x, 0) : 0,
                          .room = numbers ? NULL : row_room};
    return lines_put(w->stream, &wanted, part->rows, w->threads);
}

/* ---- headers --------------------------------------------------------------------------------- */

/* The header as a row of strings: one of one row for each column. False: there is no memory. */
static bool put_header(const sheet_writer *w, const sheet *s) {
    bool good = true;
    if (w->form == SHEET_MARKDOWN) fputs("| ", w->stream);
    for (int c = 0; c < s->count && good; c++) {
        const size_t n = strlen(s->columns[c].name);
        char *text = malloc(FIELD_TEXT(n) + WIDEST + 8), *end;
        good = text != NULL;
        if (!good) break;
        end = field_put_name(text, w->form, s->columns[c].name, s->count == 1);
        if (w->widths) end = pad(text, end, w->widths[c], w->right[c], c + 1 == s->count);
        end = put_separator(end, w->form, c + 1 == s->count);
        fwrite(text, 1, (size_t)(end - text), w->stream);
        free(text);
    }
    if (w->form == SHEET_MARKDOWN) putc('|', w->stream);
    for (int c = 0; c < s->count && w->form == SHEET_MARKDOWN; c++)
        fputs(field_is_number(&s->columns[c]) ? " ---: |" : " --- |", w->stream);
    if (w->form == SHEET_MARKDOWN) putc('\n', w->stream);
    return good;
}

/* ---- widths of aligned columns --------------------------------------------------------------- */

static void widen(sheet_writer *w, int c, const char *text, const char *end) {
    const int width = field_width(text, end), most = width < WIDEST ? width : WIDEST;
    if (w->widths[c] < most) w->widths[c] = most;
}

/* Whether the text has a digit, and nothing that a decimal number has not. */
static bool looks_like_number(const char *text, const char *end) {
    bool digits = false, others = false;
    for (; text < end; text++) {
        digits |= *text >= '0' && *text <= '9';
        others |= !strchr("0123456789+-.eE", *text);
    }
    return digits && !others;
}

/* What the fields of a column look like that are not blank. */
typedef struct looks {
    bool numbers, words;
} looks;

static bool look_at_field(sheet_writer *w, const sheet *s, int c, int64_t row, looks *seen) {
    const sheet_column *column = &s->columns[c];
    char *text = malloc(field_room(column, row, w->form));
    if (!text) return false;
    const char *end = field_put(text, w->form, column, row, w->hex);
    widen(w, c, text, end);
    if (text < end) *(looks_like_number(text, end) ? &seen->numbers : &seen->words) = true;
    free(text);
    return true;
}

static bool look_at_name(sheet_writer *w, const sheet *s, int c) {
    const size_t n = strlen(s->columns[c].name);
    char *text = malloc(FIELD_TEXT(n));
    if (text) widen(w, c, text, field_put_string(text, w->form, s->columns[c].name, n));
    free(text);
    return text != NULL;
}

/* Looks at the name, the first rows and the total. Strings that look like numbers stand where
 * numbers do. */
static bool find_width(sheet_writer *w, const sheet *s, int c) {
    looks seen = {false, false};
    bool good = look_at_name(w, s, c);
    for (int64_t i = 0; i < s->rows && i < LOOKED && good; i++)
        good = look_at_field(w, s, c, row_of(s, i), &seen);
    if (s->total && good) good = look_at_field(w, s, c, row_of(s, s->rows - 1), &seen);
    w->right[c] = field_is_number(&s->columns[c]) || (seen.numbers && !seen.words);
    return good;
}

static bool find_widths(sheet_writer *w, const sheet *s) {
    w->widths = calloc((size_t)s->count + 1, sizeof *w->widths);
    w->right = calloc((size_t)s->count + 1, sizeof *w->right);
    bool good = w->widths && w->right;
    for (int c = 0; c < s->count && good; c++) good = find_width(w, s, c);
    return good;
}

/* ---- names in objects ------------------------------------------------------------------------ */

/* The mark of the total comes behind all columns. */
static const char *name_of(const sheet *s, int c) {
    return c < s->count ? s->columns[c].name : "total";
}

static int compare_names(const void *x, const void *y, void *arg) {
    const sheet *s = arg;
    const int a = *(const int *)x, b = *(const int *)y;
    const int order = strcmp(name_of(s, a), name_of(s, b));
    return order != 0 ? order : (a > b) - (a < b);
}

/* sorted: the columns and the mark in the order of their names. */
static bool is_name(const sheet *s, const int *sorted, const char *name) {
    int first = 0, last = s->count + 1;
    while (first < last) {
        const int middle = first + (last - first) / 2;
        const int order = strcmp(name_of(s, sorted[middle]), name);
        if (order == 0) return true;
        if (order < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return false;
}

/* The name of a column as it stands in an object, where no two are the same: what columns before
 * this one have gets the next number that makes it another, as in "x", "x_2". */
static bool name_value(sheet_writer *w, const sheet *s, const int *sorted, int c, int *number) {
    const char *name = name_of(s, c);
    const size_t n = strlen(name);
    char *numbered = malloc(n + 16), *text = malloc(JSON_STRING_TEXT(n + 16) + 2), *at = text;
    w->names[c] = text;
    if (numbered && text) {
        memcpy(numbered, name, n + 1);
        while (*number > 0 && is_name(s, sorted, numbered))
            snprintf(numbered + n, 16, "_%d", ++*number);
        if (c > 0) *at++ = ',';
        at = json_put_string(at, numbered, strlen(numbered));
        *at++ = ':';
        w->name_bytes[c] = (size_t)(at - text);
    }
    free(numbered);
    return numbered && text;
}

/* Names the columns in their sorted order, in which those of one name follow each other. */
static bool name_values(sheet_writer *w, const sheet *s) {
    const int all = s->count + 1;
    int *sorted = malloc((size_t)all * sizeof *sorted), number = 0;
    bool good = sorted != NULL;
    for (int c = 0; c < all && good; c++) sorted[c] = c;
    if (good) qsort_r(sorted, (size_t)all, sizeof *sorted, compare_names, (void *)s);
    for (int i = 0; i < all && good; i++) {
        const char *before = i > 0 ? name_of(s, sorted[i - 1]) : NULL;
        if (!before || strcmp(before, name_of(s, sorted[i])) != 0)
            number = 0;
        else if (number == 0)
            number = 1;
        good = name_value(w, s, sorted, sorted[i], &number);
    }
    free(sorted);
    return good;
}

static bool make_objects(sheet_writer *w, const sheet *s) {
    w->names = calloc((size_t)s->count + 1, sizeof *w->names);
    w->name_bytes = calloc((size_t)s->count + 1, sizeof *w->name_bytes);
    return w->names && w->name_bytes && name_values(w, s);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Whether names stand above the rows. */
static bool has_header(const sheet_writer *w, const options *o) {
    const bool tsv = w->form == SHEET_TSV || w->form == SHEET_LONE;
    return tsv ? o->input.text.header : w->form != SHEET_PLAIN && w->form != SHEET_JSON;
}

int sheet_begin(sheet_writer *w, FILE *f, enum sheet_form form, const sheet *first,
                const char *file, const options *o) {
    *w = (sheet_writer){
        .stream = f, .form = form, .hex = o->hex, .threads = o->threads, .count = first->count};
    bool good = true;
    if (form == SHEET_TSV && first->count == 1) w->form = SHEET_LONE;
    if (w->form == SHEET_ALIGNED) good = find_widths(w, first);
    if (form == SHEET_JSON) good = make_objects(w, first);
    if (good && has_header(w, o)) good = put_header(w, first);
    return good ? EXIT_DONE : fail_memory(file);
}

void sheet_end(sheet_writer *w) {
    for (int c = 0; c <= w->count && w->names; c++) free(w->names[c]);
    free(w->names);
    free(w->name_bytes);
    free(w->widths);
    free(w->right);
    *w = (sheet_writer){.stream = NULL};
}

int sheet_put(FILE *f, const sheet *s, const char *file, const options *o) {
    sheet_writer w;
    int code = sheet_begin(&w, f, sheet_form_of(o), s, file, o);
    if (code == EXIT_DONE) code = sheet_rows(&w, s);
    sheet_end(&w);
    return code;
}
