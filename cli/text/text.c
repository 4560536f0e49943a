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

/* Text whose marks are found at a time: they stay in the second-level cache. */
enum { STRETCH = 32 * 1024 };

bool text_rows_open(text_rows *rows, const text_layout *layout, const unsigned char *forms) {
    *rows = (text_rows){.forms = forms, .count = layout->columns};
    rows->columns = calloc((size_t)layout->columns, sizeof *rows->columns);
    rows->marks.at = malloc((STRETCH + TEXT_MARKS_SLACK) * sizeof *rows->marks.at);
    rows->marks.ends = malloc((STRETCH + TEXT_MARKS_SLACK) * sizeof *rows->marks.ends);
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
    bool good = rows->memory != NULL;
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

/* ---- errors ---------------------------------------------------------------------------------- */

/* The fields of a row where one was expected: their names, if that is what they are. */
static const char *refuse_fields(const text_layout *l, const char *at, text_error *e) {
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

/* The field as a number of column k. False: it is none. */
static bool put_number(text_rows *rows, const text_layout *l, int k, text_field f, bool null) {
    text_number n;
    text_styled plain;
    if (null && text_takes_nulls(l, k)) {
        text_clear_bit(rows->columns[k].valid, rows->n);
        text_store_none(rows, l, k);
        return true;
    }
    return !null && text_read_number(l, f.at, f.end, &n, plain) &&
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

/* The field at p, which is behind the blanks that begin it at `raw`, in the forms of column k.
 * False: it is refused, or there is no memory. */
static bool put_field(text_rows *rows, const text_layout *l, int k, const char *raw, const char *p,
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

/* The field at p, in a row that begins at `row`, as column k: the long way. Returns where it ends.
 */
static const char *read_field(text_rows *rows, const text_layout *l, int k, const char *row,
                              const char *p, text_error *e) {
    const text_field f = text_take_field(p, l->delimiter);
    if (put_field(rows, l, k, raw_field(l, row, p), p, f)) return f.next;
    return text_refuse_number(l, k, f, e);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *line_end(const char *p, const char *end) {
    return (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
}

const char *text_row_end(const char *p, const char *end, char delimiter) {
    if (!text_spans_lines(delimiter)) return line_end(p, end);
    const char *const next = text_rows_find(p, end, delimiter, TEXT_ROW, p).first;
    return next ? next : end;
}

/* Finds the end from the end of a field on. */
static const char *row_end(const text_rows *rows, const text_layout *l, const char *p,
                           const char *end) {
    return rows->quoted ? text_row_end(p, end, l->delimiter) : line_end(p, end);
}

/* A row of one field, or a line of blanks: the long way. */
static const char *read_lone_field(text_rows *rows, const text_layout *l, const char *at,
                                   const char *end, text_error *e) {
    const char *p = text_skip_blanks(at, l->delimiter);
    if (text_is_no_row(l, at)) return p + 1;
    const text_field f = text_take_field(p, l->delimiter);
    if (!f.broken && text_next_field(f.next, l->delimiter)) return refuse_fields(l, p, e);
    if (!read_field(rows, l, 0, at, p, e)) return NULL;
    rows->n++;
    return line_end(f.next, end);
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

/* A wanted field, at its first byte. Returns where it ends, or NULL. */
static inline const char *read_wanted(text_rows *rows, const text_layout *l, int k, const char *row,
                                      const char *p, text_error *e) {
    text_number n;
    if (rows->special) return read_field(rows, l, k, row, p, e);
    const char *q = text_scan(p, &n);
    if (q && l->delimiter != ' ') q = text_skip_blanks(q, l->delimiter);
    if (q && text_ends_field(q, l->delimiter) &&
        text_store_number(l, &rows->columns[k], rows->n, &n))
        return q;
    return read_field(rows, l, k, row, p, e);
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
        if (!l->lax || !put_field(rows, l, k, nothing, nothing, none)) return false;
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

/* Reads a row the long way, or passes over a line of blanks. */
static const char *read_line(text_rows *rows, const text_layout *l, const char *at, const char *end,
                             text_error *e) {
    const char *const begin = at;
    at = text_skip_blanks(at, l->delimiter);
    if (text_is_no_row(l, begin)) return at + 1;
    at = read_row(rows, l, begin, at, end, e);
    rows->n += at != NULL;
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
            at = line_end(at + length, end);
            continue;
        }
        const char *const p = text_scan(at, &n);
        const bool ends = p && (*p == l->delimiter || *p == '\n');
        if (ends && text_store_number(l, &rows->columns[0], rows->n, &n)) {
            rows->n++;
            at = line_end(p, end);
        } else {
            at = read_line(rows, l, at, end, e);
        }
    }
    return at;
}

/* Rows of a stretch of the text whose marks are known. */
typedef struct stretch {
    const char *begin, *end; /* whole rows */
    const text_marks *marks;
    size_t row;   /* the first row that is not read */
    size_t mark;  /* its first mark */
    size_t usual; /* the last is probably so many marks behind it */
} stretch;

/* Finds the marks of the next whole rows. False: the first row is too long for a stretch, or fields
 * are parted by blanks, which have no marks. */
static bool find_marks(text_rows *rows, const text_layout *l, const char *at, const char *end,
                       stretch *s) {
    text_marks *m = &rows->marks;
    const uint32_t length = end - at > STRETCH ? STRETCH : (uint32_t)(end - at);
    if (l->delimiter == ' ') return false;
    if (rows->quoted)
        text_marks_outside(at, length, l->delimiter, m);
    else
        text_marks_find(at, length, l->delimiter, m);
    if (m->rows == 0) return false;
    *s = (stretch){.begin = at, .end = at + m->ends[m->rows - 1] + 1, .marks = m};
    return true;
}

/* The number in quotes between p and the mark at `end`, as column k. False: not the short way. */
static bool read_quoted(text_rows *rows, const text_layout *l, int k, const char *p,
                        const char *end) {
    text_number n;
    while (text_is_blank(end[-1], l->delimiter)) end--;
    if (end - p++ < 2 || *--end != '"') return false;
    return text_read_short(rows, l, k, p, end - p) ||
           (text_scan(p, &n) == end && text_store_number(l, &rows->columns[k], rows->n, &n));
}

/* The number between p and the mark at `end`, as column k. False: not the short way. */
static inline bool read_between(text_rows *rows, const text_layout *l, int k, const char *p,
                                const char *end) {
    text_number n;
    if (text_read_short(rows, l, k, p, end - p)) return true;
    if (text_is_blank(*p, l->delimiter)) p = text_skip_blanks(p, l->delimiter);
    if (*p == '"') return read_quoted(rows, l, k, p, end);
    const char *q = text_scan(p, &n);
    if (!q) return false;
    if (q != end) q = text_skip_blanks(q, l->delimiter);
    return q == end && text_store_number(l, &rows->columns[k], rows->n, &n);
}

/* Whether there is a quote among n bytes. */
static inline bool has_quote(const char *p, size_t n) {
    if (n > 16) return memchr(p, '"', n) != NULL;
    const int first = text_find_near(p, '"');
    if (first < 8) return (size_t)first < n;
    return n > 8 && (size_t)text_find_near(p + 8, '"') < n - 8;
}

/* Whether quotes stand in pairs. */
static bool has_pairs(const char *p, const char *end) {
    for (; (p = memchr(p, '"', (size_t)(end - p))) != NULL; p += 2)
        if (p + 1 == end || p[1] != '"') return false;
    return true;
}

/* The field between p and the mark at `end`, as column k of strings. False: not the short way. */
static inline bool put_near(text_rows *rows, const text_layout *l, int k, const char *p,
                            const char *end) {
    size_t n = (size_t)(end - p);
    if (n > 0 && *end == '\n' && end[-1] == '\r') n--;
    if (n == 0 || text_is_blank(*p, l->delimiter) || l->nulls.begins[(unsigned char)*p])
        return false;
    if (*p == '"') {
        if (n < 2 || p[n - 1] != '"' || has_quote(p + 1, n - 2)) return false;
        p++;
        n -= 2;
    }
    return text_strings_put_short(&rows->columns[k].strings, rows->n, p, n);
}

/* The field between p and the mark at `end`, as column k that may hold strings. False: it must be
 * read the long way. */
static bool read_special(text_rows *rows, const text_layout *l, int k, const char *p,
                         const char *end) {
    const text_column *c = &rows->columns[k];
    if (c->only_strings && put_near(rows, l, k, p, end)) return true;
    if (c->only_numbers && read_between(rows, l, k, p, end)) return true;
    if (c->both && put_near(rows, l, k, p, end) && read_between(rows, l, k, p, end)) return true;
    const char *const at = text_skip_blanks(p, l->delimiter), *last = end;
    while (last > at && text_is_blank(last[-1], l->delimiter)) last--;
    if (*at != '"') return put_field(rows, l, k, p, at, (text_field){at, last, end, false});
    const text_field f = {at + 1, last - 1, end, last - at < 2 || last[-1] != '"'};
    return !f.broken && has_pairs(f.at, f.end) && put_field(rows, l, k, p, at, f);
}

/* Finds the last mark of the row: where it ends. Most rows have as many as the one before. */
static inline size_t last_mark(stretch *s) {
    const text_marks *m = s->marks;
    const uint32_t end = m->ends[s->row];
    size_t last = s->mark + s->usual;
    if (last < m->n && m->at[last] == end) return last;
    for (last = s->mark; m->at[last] != end;) last++;
    s->usual = last - s->mark;
    return last;
}

/* Reads the row that begins at p by its marks. False: it must be read the long way, for it is
 * blank, or something is wrong. */
static inline bool read_marked_row(text_rows *rows, const text_layout *l, const stretch *s,
                                   const char *p, size_t last) {
    const uint32_t *const mark = s->marks->at + s->mark;
    const size_t fields = last - s->mark + 1;
    if (fields <= (size_t)l->fields[l->columns - 1]) return false;
    if (fields < (size_t)l->fewest || fields > (size_t)l->most) return false;
    if (s->mark == last && text_is_no_row(l, p)) return false;
    for (int k = 0; k < l->columns; k++) {
        const int field = l->fields[k];
        const char *const at = field > 0 ? s->begin + mark[field - 1] + 1 : p;
        const char *const end = s->begin + mark[field];
        if (rows->special ? !read_special(rows, l, k, at, end) : !read_between(rows, l, k, at, end))
            return false;
    }
    return true;
}

/* Goes on behind a row that ends before `next`. */
static void pass_rows(stretch *s, const char *next) {
    const text_marks *m = s->marks;
    while (s->row < m->rows && s->begin + m->ends[s->row] < next) s->row++;
    while (s->mark < m->n && s->begin + m->at[s->mark] < next) s->mark++;
}

/* Reads rows up to the end of the stretch, or as many as there is room for. */
static const char *read_stretch(text_rows *rows, const text_layout *l, stretch *s,
                                const char *text_end, text_error *e) {
    const char *at = s->begin;
    while (at < s->end && rows->n < rows->most) {
        const size_t last = last_mark(s);
        if (read_marked_row(rows, l, s, at, last)) {
            rows->n++;
            at = s->begin + s->marks->ends[s->row++] + 1;
            s->mark = last + 1;
        } else {
            at = read_line(rows, l, at, text_end, e);
            if (!at) return NULL;
            pass_rows(s, at);
        }
    }
    return at;
}

static const char *read_columns(text_rows *rows, const text_layout *l, const char *at,
                                const char *end, text_error *e) {
    stretch s;
    if (l->fields[l->columns - 1] == 0 && !rows->quoted && !rows->special &&
        l->most == TEXT_ANY_FIELDS)
        return read_first(rows, l, at, end, e);
    while (at && at < end && rows->n < rows->most)
        at = find_marks(rows, l, at, end, &s) ? read_stretch(rows, l, &s, end, e)
                                              : read_line(rows, l, at, end, e);
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
    rows->special = layout->nulls.numbers || !plain;
    rows->no_memory = false;
    for (int k = 0; k < layout->columns; k++) {
        text_column *c = &rows->columns[k];
        const unsigned forms = rows->forms[k] & (TEXT_INTEGERS | TEXT_FLOATS);
        const bool wide = c->is_wide || c->scale > BF_SCALE_MOST; /* i64 does not take it */
        const unsigned numbers = layout->dtype != BF_NONE ? 1
                                 : forms == TEXT_FLOATS   ? CAN_F64
                                 : wide                   ? CAN_I128 | CAN_F64
                                 : c->scale > 0           ? CAN_I64 | CAN_I128 | CAN_F64
                                                          : CAN_ALL;
        c->can = text_has_numbers(rows, layout, k) ? numbers & text_column_can(layout, k) : 0;
        c->integers = c->is_wide ? NULL : c->narrow;
        c->words = false;
        c->deepest = 0;
        c->digits = layout->digits;
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
        rows->special = rows->special || layout->kinds[k] != TEXT_NUMBERS;
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
        at = quoted ? text_row_end(at, end, layout->delimiter) : line_end(at, end);
    }
    *n = rows;
    return at;
}
