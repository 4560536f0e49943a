#include "text/text.h"

#include "text/field.h"
#include "text/json.h"
#include "text/store.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- candidates ------------------------------------------------------------------------------ */

int text_candidates(const text_layout *layout) {
    return layout->dtype == BF_NONE ? TEXT_CANDIDATES : 1;
}

bf_dtype text_candidate(const text_layout *layout, int i) {
    static const bf_dtype found[TEXT_CANDIDATES] = {BF_I64, BF_U64, BF_I128, BF_F64};
    return layout->dtype == BF_NONE ? found[i] : layout->dtype;
}

unsigned text_column_can(const text_layout *layout, int column) {
    const unsigned all = (1u << text_candidates(layout)) - 1;
    const bool wide = layout->dtype != BF_NONE || layout->digits > BF_SCALE_MOST;
    const unsigned numbers = wide ? all : all & ~(unsigned)CAN_I128;
    const unsigned kinds = layout->kinds[column];
    if (kinds & TEXT_NUMBERS) return numbers;
    if (kinds & TEXT_ASKED) return numbers;
    return kinds & TEXT_KEYS ? numbers | TEXT_CAN_STRINGS : TEXT_CAN_STRINGS;
}

unsigned text_candidate_form(const text_layout *layout, int i) {
    return text_candidate(layout, i) == BF_F64 || layout->dtype != BF_NONE ? TEXT_FLOATS
                                                                           : TEXT_INTEGERS;
}

/* ---- room ------------------------------------------------------------------------------------ */

bool text_rows_open(text_rows *rows, const text_layout *layout, const unsigned char *forms) {
    *rows = (text_rows){.forms = forms, .count = layout->columns};
    rows->columns = calloc((size_t)layout->columns, sizeof *rows->columns);
    rows->marks.at = malloc((TEXT_STRETCH + TEXT_MARKS_SLACK) * sizeof *rows->marks.at);
    rows->marks.ends = malloc((TEXT_STRETCH + TEXT_MARKS_SLACK) * sizeof *rows->marks.ends);
    rows->seen = calloc(layout->keys ? (size_t)layout->columns : 1, sizeof *rows->seen);
    return rows->columns && rows->marks.at && rows->marks.ends && rows->seen;
}

void text_rows_free(text_rows *rows) {
    for (int k = 0; rows->columns && k < rows->count; k++) {
        free(rows->columns[k].strings.bytes);
        free(rows->columns[k].strings.offsets);
        free(rows->columns[k].valid);
        free(rows->columns[k].wide);
    }
    free(rows->columns);
    free(rows->memory);
    free(rows->stands);
    free(rows->marks.at);
    free(rows->marks.ends);
    free(rows->seen);
    *rows = (text_rows){.room = 0};
}

/* Bytes that a row of one column takes in each form. */
static size_t floats_bytes(const text_layout *l) {
    return l->dtype == BF_NONE ? sizeof(double) : bf_dtype_size(l->dtype);
}

static bool has_form(const text_rows *rows, const text_layout *l, int k, unsigned form) {
    if (!text_has_numbers(rows, l, k)) return false;
    return l->dtype != BF_NONE ? form == TEXT_FLOATS : (rows->forms[k] & form) != 0;
}

/* Makes room for the strings and bits of column k. */
static bool reserve_others(text_rows *rows, const text_layout *l, int k, size_t n) {
    text_column *c = &rows->columns[k];
    free(c->strings.offsets);
    free(c->valid);
    c->strings.offsets = NULL;
    c->valid = NULL;
    if (rows->forms[k] & TEXT_STRINGS) {
        c->strings.offsets = malloc((n + 1) * sizeof(int64_t));
        if (!c->strings.offsets) return false;
    }
    if (text_tells_nulls(l, k)) c->valid = malloc(n / 8);
    return !text_tells_nulls(l, k) || c->valid;
}

/* Makes room for the integers of columns that are wide. */
static bool reserve_wide(text_rows *rows, const text_layout *l, bool anew) {
    bool good = true;
    for (int k = 0; k < l->columns && good; k++) {
        text_column *c = &rows->columns[k];
        if (anew || !c->is_wide) {
            free(c->wide);
            c->wide = NULL;
        }
        if (!c->is_wide || c->wide || !has_form(rows, l, k, TEXT_INTEGERS)) continue;
        c->wide = malloc((size_t)rows->room * sizeof(text_i128));
        good = c->wide != NULL;
    }
    return good;
}

bool text_rows_reserve(text_rows *rows, const text_layout *layout, int64_t room) {
    const size_t floats = floats_bytes(layout);
    size_t bytes = 0, n = ((size_t)room / 8 + 1) * 8; /* so that every array is aligned */
    if (room <= rows->room) return reserve_wide(rows, layout, false);
    for (int k = 0; k < layout->columns; k++) {
        if (has_form(rows, layout, k, TEXT_INTEGERS)) bytes += n * sizeof(int64_t);
        if (has_form(rows, layout, k, TEXT_FLOATS)) bytes += n * floats;
    }
    free(rows->memory);
    rows->memory = malloc(bytes + 1);
    rows->room = rows->memory ? (int64_t)n : 0;
    char *at = rows->memory;
    for (int k = 0; at && k < layout->columns; k++) {
        text_column *c = &rows->columns[k];
        c->narrow = has_form(rows, layout, k, TEXT_INTEGERS) ? at : NULL;
        if (c->narrow) at += n * sizeof(int64_t);
        c->floats = has_form(rows, layout, k, TEXT_FLOATS) ? at : NULL;
        if (c->floats) at += n * floats;
    }
    free(rows->stands);
    rows->stands = layout->whole ? malloc(n * sizeof *rows->stands) : NULL;
    bool good = rows->memory && (rows->stands || !layout->whole);
    for (int k = 0; good && k < layout->columns; k++) good = reserve_others(rows, layout, k, n);
    good = good && reserve_wide(rows, layout, true);
    if (!good) rows->room = 0;
    return good;
}

const void *text_rows_numbers(const text_rows *rows, const text_layout *layout, int column, int i) {
    const text_column *c = &rows->columns[column];
    if (text_candidate_form(layout, i) == TEXT_FLOATS) return c->floats;
    return text_candidate(layout, i) == BF_I128 ? c->wide : c->integers;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A row of one field, or a line of blanks: the long way. */
static const char *read_lone_field(text_rows *rows, const text_layout *l, const char *at,
                                   const char *end, text_error *e) {
    const char *p = text_skip_blanks(at, l->delimiter);
    if (text_is_no_row(l, at)) return p + 1;
    const text_field f = text_take_field(p, l->delimiter);
    if (!f.broken && text_next_field(f.next, l->delimiter)) return text_refuse_fields(l, p, e);
    if (!text_read_field(rows, l, 0, at, p, e)) return NULL;
    const char *const next = text_line_end(f.next, end);
    text_note_row(rows, at, next);
    rows->n++;
    return next;
}

static const char *read_lone(text_rows *rows, const text_layout *l, const char *at, const char *end,
                             text_error *e) {
    while (at && at < end && rows->n < rows->most) {
        text_number n;
        const int length = rows->special ? 8 : text_find_near(at, '\n');
        if (length < 8 && text_read_short(rows, l, 0, at, length)) {
            rows->n++;
            at += length + 1;
            continue;
        }
        const char *const p = text_scan(at, &n);
        const bool ends = p && !rows->special && (*p == '\n' || (*p == '\r' && p[1] == '\n'));
        if (ends && text_store_number(l, &rows->columns[0], rows->n, &n)) {
            rows->n++;
            at = p + (*p == '\n' ? 1 : 2);
        } else {
            at = read_lone_field(rows, l, at, end, e);
        }
    }
    return at;
}

/* Reads rows of which only the first field is wanted: the others need not be told apart. */
static const char *read_first(text_rows *rows, const text_layout *l, const char *at,
                              const char *end, text_error *e) {
    while (at && at < end && rows->n < rows->most) {
        text_number n;
        const int length = text_find_near(at, l->delimiter);
        if (length < 8 && text_read_short(rows, l, 0, at, length)) {
            rows->n++;
            at = text_line_end(at + length, end);
            continue;
        }
        const char *const p = text_scan(at, &n);
        const bool ends = p && (*p == l->delimiter || *p == '\n');
        if (ends && text_store_number(l, &rows->columns[0], rows->n, &n)) {
            rows->n++;
            at = text_line_end(p, end);
        } else {
            at = text_read_line(rows, l, at, end, e);
        }
    }
    return at;
}

static const char *read_columns(text_rows *rows, const text_layout *l, const char *at,
                                const char *end, text_error *e) {
    const char *next;
    if (l->fields[l->columns - 1] == 0 && !rows->quoted && !rows->special &&
        l->most == TEXT_ANY_FIELDS)
        return read_first(rows, l, at, end, e);
    for (; at && at < end && rows->n < rows->most; at = next) {
        next = text_read_stretch(rows, l, at, end, e);
        if (next == at) next = text_read_line(rows, l, at, end, e);
    }
    return at;
}

/* Whether numbers of a kind are those of keys alone. */
static bool is_of_keys(unsigned char kind) {
    return (kind & (TEXT_KEYS | TEXT_NUMBERS | TEXT_VALUES)) == TEXT_KEYS;
}

const char *text_rows_read(text_rows *rows, const text_layout *layout, const char *at,
                           const char *end, int64_t most, text_error *error) {
    rows->n = 0;
    rows->most = most < rows->room ? most : rows->room;
    const bool plain = text_style_keeps_plain(&layout->style);
    rows->special = layout->nulls.numbers || !plain || rows->stands;
    rows->no_memory = false;
    for (int k = 0; k < layout->columns; k++) {
        text_column *c = &rows->columns[k];
        const unsigned forms = rows->forms[k] & (TEXT_INTEGERS | TEXT_FLOATS);
        const bool wide = c->is_wide || c->scale > BF_SCALE_MOST; /* i64 does not take it */
        const unsigned numbers = layout->dtype != BF_NONE ? 1
                                 : c->time                ? CAN_I64 | CAN_I128
                                 : forms == TEXT_FLOATS   ? CAN_F64
                                 : wide                   ? CAN_I128 | CAN_F64
                                 : c->scale > 0           ? CAN_I64 | CAN_I128 | CAN_F64
                                                          : CAN_ALL;
        c->can = text_has_numbers(rows, layout, k) ? numbers & text_column_can(layout, k) : 0;
        c->integers = c->is_wide ? NULL : c->narrow;
        c->words = false;
        c->seen = c->time;
        c->deepest = 0;
        c->digits = c->time && layout->digits == 0 ? BF_TIME_SCALE_MOST : layout->digits;
        c->why = NULL;
        c->exact = layout->dtype != BF_NONE && !layout->inferred && !layout->mixed &&
                   (layout->kinds[k] & TEXT_KEYS);
        c->strict = k + 1 == layout->counted;
        c->key = layout->dtype == BF_NONE &&
                 (c->strict || (!layout->mixed && is_of_keys(layout->kinds[k])));
        c->codes = c->key && !(layout->kinds[k] & TEXT_ASKED);
        if (layout->inferred) c->key = false; /* for it may be a value */
        c->only_strings = c->strings.offsets && !text_has_numbers(rows, layout, k);
        c->both = c->strings.offsets && !c->only_strings && plain;
        c->only_numbers = !c->strings.offsets && !layout->nulls.numbers && plain;
        if (c->valid) memset(c->valid, 0xff, (size_t)rows->room / 8);
        if (c->strings.offsets) c->strings.offsets[0] = 0;
        rows->special = rows->special || layout->kinds[k] != TEXT_NUMBERS || c->time;
    }
    error->hint[0] = '\0';
    if (layout->keys)
        at = json_rows_read(rows, layout, at, end, error);
    else
        at = layout->lone ? read_lone(rows, layout, at, end, error)
                          : read_columns(rows, layout, at, end, error);
    for (int k = 0; k < layout->columns; k++) {
        text_column *c = &rows->columns[k];
        if (c->words) c->can = 0;
        c->can |= text_column_can(layout, k) & TEXT_CAN_STRINGS;
    }
    return at;
}

const char *text_pass_blank_lines(const text_layout *layout, const char *at) {
    while (text_is_no_row(layout, at)) at = text_skip_blanks(at, layout->delimiter) + 1;
    return at;
}

const char *text_rows_skip(const text_layout *layout, bool quoted, const char *at, const char *end,
                           int64_t most, int64_t *n) {
    int64_t rows = 0;
    while (at < end && rows != most) {
        rows += !text_is_no_row(layout, at);
        at = quoted ? text_row_end(at, end, layout->delimiter) : text_line_end(at, end);
    }
    *n = rows;
    return at;
}
