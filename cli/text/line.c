/* A row the long way: field by field, whatever is in them, and what is wrong with it. */
#include "text/marks.h"
#include "text/store.h"

#include <stdio.h>
#include <string.h>

/* ---- errors ---------------------------------------------------------------------------------- */

const char *text_refuse_fields(const text_layout *l, const char *at, text_error *e) {
    const int n = text_count_fields(at, l->delimiter);
    char names[160] = "";
    size_t used = 0;
    for (const char *p = at; p && used < 100;) {
        const text_field f = text_take_field(p, l->delimiter);
        char shown[64];
        text_quote(shown, f.at, f.end);
        if (f.broken || !text_looks_like_name(f.at, f.end)) used = 200;
        if (used < 100)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : ": ",
                                     shown);
        p = f.broken ? NULL : text_next_field(f.next, l->delimiter);
    }
    e->at = at;
    snprintf(e->what, sizeof e->what, "%d fields in this row, and no --column says which", n);
    if (l->option && used < 200)
        snprintf(e->hint, sizeof e->hint, "with --header, names in %s are those of columns%s",
                 l->option, names);
    else
        snprintf(e->hint, sizeof e->hint, "--column takes a number, 1 to %d, or a name%s", n,
                 used < 200 ? names : " if the first line holds names");
    return NULL;
}

static const char *refuse_missing(const text_layout *l, int k, const char *at, text_error *e) {
    const int n = text_count_fields(text_skip_blanks(at, l->delimiter), l->delimiter);
    e->at = at;
    snprintf(e->what, sizeof e->what, "no column %d: this row has %d %s", l->fields[k] + 1, n,
             n == 1 ? "field" : "fields");
    if (l->lax)
        snprintf(e->hint, sizeof e->hint, "--null-policy skip leaves such rows out of a value");
    return NULL;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* The field as a number of column k. False: it is none. */
static bool put_number(text_rows *rows, const text_layout *l, int k, text_field f, bool null) {
    text_number n;
    text_styled plain;
    if (null && text_takes_nulls(l, k)) {
        text_clear_bit(rows->columns[k].valid, rows->n);
        text_store_none(rows, l, k);
        return true;
    }
    if (null) return false;
    if (rows->columns[k].time) return text_store_time(&rows->columns[k], rows->n, f.at, f.end);
    return text_read_number(l, f.at, f.end, &n, plain) &&
           text_store_number(l, &rows->columns[k], rows->n, &n);
}

/* The text between p and the mark at `end` as a string of column k, blanks and all; `in` is the
 * field without. False: there is no memory. */
static bool put_string(text_rows *rows, const text_layout *l, int k, const char *p, const char *end,
                       text_field in, bool quoted) {
    text_column *c = &rows->columns[k];
    if (l->delimiter == ' ' || quoted) {
        p = in.at;
        end = in.end;
    } else if (end > p && *end == '\n' && end[-1] == '\r') {
        end--;
    }
    const bool null = !quoted && text_is_null(&l->nulls, p, end);
    if (null) text_clear_bit(c->valid, rows->n);
    rows->no_memory = !text_strings_put(&c->strings, rows->n, p, null ? p : end, quoted);
    return !rows->no_memory;
}

/* An empty string is no value of a column of numbers: some programs quote all fields. */
static bool stands_for_none(const text_layout *l, int k, text_field f) {
    return (l->kinds[k] & (TEXT_NUMBERS | TEXT_STRINGS_TOO)) == TEXT_NUMBERS && f.at == f.end;
}

bool text_put_field(text_rows *rows, const text_layout *l, int k, const char *raw, const char *p,
                    text_field f) {
    const bool quoted = *p == '"';
    const bool null = quoted ? stands_for_none(l, k, f) : text_is_null(&l->nulls, f.at, f.end);
    text_column *c = &rows->columns[k];
    text_number n;
    text_styled plain;
    if (f.broken) return false;
    if (c->strings.offsets && !put_string(rows, l, k, raw, f.next, f, quoted)) return false;
    if (!text_has_numbers(rows, l, k) || put_number(rows, l, k, f, null)) return true;
    if (l->kinds[k] & (TEXT_NUMBERS | TEXT_ASKED)) return false;
    if (c->exact && !null && text_read_number(l, f.at, f.end, &n, plain)) return false;
    c->words = true;
    text_store_none(rows, l, k);
    return true;
}

/* Where the field at p begins, blanks before it counted. */
static const char *raw_field(const text_layout *l, const char *row, const char *p) {
    while (p > row && l->delimiter != ' ' && text_is_blank(p[-1], l->delimiter)) p--;
    return p;
}

const char *text_read_field(text_rows *rows, const text_layout *l, int k, const char *row,
                            const char *p, text_error *e) {
    const text_field f = text_take_field(p, l->delimiter);
    if (text_put_field(rows, l, k, raw_field(l, row, p), p, f)) return f.next;
    text_refuse_number(l, k, f, e);
    text_refuse_time(l, k, &rows->columns[k], f, e);
    return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

const char *text_row_end(const char *p, const char *end, char delimiter) {
    if (!text_spans_lines(delimiter)) return text_line_end(p, end);
    const char *const next = text_rows_find(p, end, delimiter, TEXT_ROW, p).first;
    return next ? next : end;
}

/* Finds the end from the end of a field on. */
static const char *row_end(const text_rows *rows, const text_layout *l, const char *p,
                           const char *end) {
    return rows->quoted ? text_row_end(p, end, l->delimiter) : text_line_end(p, end);
}

/* A wanted field, at its first byte. Returns where it ends, or NULL. */
static inline const char *read_wanted(text_rows *rows, const text_layout *l, int k, const char *row,
                                      const char *p, text_error *e) {
    text_number n;
    if (rows->special) return text_read_field(rows, l, k, row, p, e);
    const char *q = text_scan(p, &n);
    if (q && l->delimiter != ' ') q = text_skip_blanks(q, l->delimiter);
    if (q && text_ends_field(q, l->delimiter) &&
        text_store_number(l, &rows->columns[k], rows->n, &n))
        return q;
    return text_read_field(rows, l, k, row, p, e);
}

/* The end of the field at p, whatever is in it. */
static inline const char *pass_field(const text_layout *l, int k, const char *p, text_error *e) {
    if (*p == '"') {
        const text_field f = text_take_field(p, l->delimiter);
        return f.broken ? text_refuse_number(l, k, f, e) : f.next;
    }
    if (l->delimiter == ' ')
        while (!text_is_blank(*p, ' ') && *p != '\n') p++;
    else
        while (*p != l->delimiter && *p != '\n') p++;
    return p;
}

/* A row that ends before column k: the fields that it has not are NULL. */
static bool fill_row(text_rows *rows, const text_layout *l, int k) {
    static const char nothing[] = "\n";
    const text_field none = {nothing, nothing, nothing, false};
    for (; k < l->columns; k++)
        if (!l->lax || !text_put_field(rows, l, k, nothing, nothing, none)) return false;
    return true;
}

/* Refuses a row that has not as many fields as the first. Of one that has none for a wanted column,
 * the error names the column: refuse_missing. */
static bool is_ragged(const text_layout *l, const char *at, text_error *e) {
    if (l->most == TEXT_ANY_FIELDS) return false;
    const int n = text_count_fields(at, l->delimiter);
    if (n <= l->fields[l->columns - 1] || (n >= l->fewest && n <= l->most)) return false;
    e->at = at;
    snprintf(e->what, sizeof e->what, "%d %s in this row, and %d in the first", n,
             n == 1 ? "field" : "fields", l->most);
    if (n > l->most && text_style_parts(&l->style, l->delimiter))
        snprintf(e->hint, sizeof e->hint,
                 "a number with '%c' stands in quotes where '%c' parts fields", l->delimiter,
                 l->delimiter);
    else
        snprintf(e->hint, sizeof e->hint,
                 "--lax takes such rows: a field that is missing holds no value, and more than the "
                 "first row has are left out");
    return true;
}

/* One row, whose first field that is not blank is at `at`. */
static const char *read_row(text_rows *rows, const text_layout *l, const char *begin,
                            const char *at, const char *end, text_error *e) {
    const char *p = at;
    if (is_ragged(l, at, e)) return NULL;
    for (int field = 0, k = 0;; field++) {
        const bool wanted = field == l->fields[k];
        const char *q = wanted ? read_wanted(rows, l, k, begin, p, e) : pass_field(l, k, p, e);
        k += wanted;
        for (; q && wanted && text_layout_repeats(l, k); k++)
            q = read_wanted(rows, l, k, begin, p, e);
        if (!q) return NULL;
        if (k == l->columns) return row_end(rows, l, q, end);
        p = text_next_field(q, l->delimiter);
        if (!p)
            return fill_row(rows, l, k) ? row_end(rows, l, q, end) : refuse_missing(l, k, at, e);
    }
}

const char *text_read_line(text_rows *rows, const text_layout *l, const char *at, const char *end,
                           text_error *e) {
    const char *const begin = at;
    at = text_skip_blanks(at, l->delimiter);
    if (text_is_no_row(l, begin)) return at + 1;
    at = read_row(rows, l, begin, at, end, e);
    if (!at) return NULL;
    text_note_row(rows, begin, at);
    rows->n++;
    return at;
}
