/* Rows by the marks of a stretch of the text: most of them are read together, column by column. */
#include "text/marks.h"
#include "text/store.h"

#include <string.h>

/* Rows that are read together: what is kept of them stays in the first-level cache. */
enum { TOGETHER = 128 };
enum { SHORT_LIMIT = 100000000 }; /* a short number has fewer digits than this */

/* Rows of a stretch of the text whose marks are known. */
typedef struct stretch {
    const char *begin, *end; /* whole rows */
    const text_marks *marks;
    size_t row;  /* the first row that is not read */
    size_t mark; /* its first mark */
    size_t most; /* rows that are read together, at most */
} stretch;

/* Finds the marks of the next whole rows. False: the first row is too long for a stretch, or fields
 * are parted by blanks, which have no marks. */
static bool find_marks(text_rows *rows, const text_layout *l, const char *at, const char *end,
                       stretch *s) {
    text_marks *m = &rows->marks;
    const uint32_t length = end - at > TEXT_STRETCH ? TEXT_STRETCH : (uint32_t)(end - at);
    if (l->delimiter == ' ') return false;
    if (rows->quoted)
        text_marks_outside(at, length, l->delimiter, m);
    else
        text_marks_find(at, length, l->delimiter, m);
    if (m->rows == 0) return false;
    *s = (stretch){.begin = at, .end = at + m->ends[m->rows - 1] + 1, .marks = m, .most = TOGETHER};
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

/* The field between p and the mark at `end`, as column k that may hold strings, the long way.
 * False: there is something wrong in its row. */
static bool read_special(text_rows *rows, const text_layout *l, int k, const char *p,
                         const char *end) {
    const char *const at = text_skip_blanks(p, l->delimiter), *last = end;
    while (last > at && text_is_blank(last[-1], l->delimiter)) last--;
    if (*at != '"') return text_put_field(rows, l, k, p, at, (text_field){at, last, end, false});
    const text_field f = {at + 1, last - 1, end, last - at < 2 || last[-1] != '"'};
    return !f.broken && has_pairs(f.at, f.end) && text_put_field(rows, l, k, p, at, f);
}

static inline bool read_string(text_rows *rows, const text_layout *l, int k, const char *p,
                               const char *end) {
    return put_near(rows, l, k, p, end) || read_special(rows, l, k, p, end);
}

static inline bool read_number(text_rows *rows, const text_layout *l, int k, const char *p,
                               const char *end) {
    return read_between(rows, l, k, p, end) || read_special(rows, l, k, p, end);
}

static inline bool read_both(text_rows *rows, const text_layout *l, int k, const char *p,
                             const char *end) {
    return (put_near(rows, l, k, p, end) && read_between(rows, l, k, p, end)) ||
           read_special(rows, l, k, p, end);
}

/* The time between p and the mark at `end`, as column k. */
static inline bool read_time(text_rows *rows, const text_layout *l, int k, const char *p,
                             const char *end) {
    text_column *const c = &rows->columns[k];
    const char *const last = end - (end > p && *end == '\n' && end[-1] == '\r');
    if (!l->nulls.begins[(unsigned char)*p] &&
        (!c->strings.offsets || put_near(rows, l, k, p, end)) &&
        text_store_time(c, rows->n, p, last))
        return true;
    return read_special(rows, l, k, p, end);
}

/* ---- rows that are read together ------------------------------------------------------------- */

/* Rows of a stretch with equally many fields, which are read column by column. */
typedef struct tile {
    text_fields fields; /* the first of each row */
    int64_t n;          /* rows */
} tile;

/* Reads a field that stands between p and the mark at `end` as one of column k. */
typedef bool cell_reader(text_rows *rows, const text_layout *l, int k, const char *p,
                         const char *end);

/* Reads fields [from, n) of column k. Returns how many were read, with those before: all, or up to
 * one in whose row something is wrong. */
static inline __attribute__((always_inline)) int64_t read_cells(text_rows *rows,
                                                                const text_layout *l, int k,
                                                                const text_fields *f, int64_t from,
                                                                int64_t n, cell_reader *read) {
    const int64_t first = rows->n;
    int64_t i = from;
    for (; i < n; i++) {
        rows->n = first + i;
        if (!read(rows, l, k, text_field_begin(f, i), text_field_end(f, i))) break;
    }
    rows->n = first;
    return i;
}

/* Keeps plain number i, which is written between p and `end`. False: it is to be read with more
 * care. */
static bool store_plain(const text_layout *l, text_column *c, int64_t row, const text_plain *x,
                        int64_t i, const char *p, const char *end) {
    const int decimals = x->point[i] % TEXT_POINT;
    if (c->codes && x->code[i]) return false;
    if (x->digits[i] < SHORT_LIMIT && decimals < 8) {
        const text_short near = {x->digits[i], decimals, x->point[i] > 0};
        return text_store_short(l, c, row, &near, x->negative[i]);
    }
    const text_number n = {.digits = x->digits[i],
                           .exponent = -decimals,
                           .negative = x->negative[i],
                           .integer = x->point[i] == 0,
                           .text = p,
                           .length = (size_t)(end - p)};
    return text_store_number(l, c, row, &n);
}

/* Keeps the first of n plain numbers as integers in units of 10^-scale. Returns how many, up to one
 * that is to be kept alone. */
static int64_t store_units(text_column *c, int64_t row, const text_plain *x, int64_t n) {
    uint64_t *const to = (uint64_t *)c->integers + row, negative = 0;
    const int scale = c->scale;
    const bool codes = c->codes;
    int64_t i = 0;
    for (; i < n; i++) {
        const int digits = scale - x->point[i] % TEXT_POINT;
        if (digits < 0 || x->digits[i] >= SHORT_LIMIT || (codes && x->code[i])) break;
        const uint64_t units = x->digits[i] * text_tens[digits];
        to[i] = x->negative[i] ? 0 - units : units;
        negative |= x->negative[i] ? units : 0;
    }
    if (negative > 0) c->can &= ~(unsigned)CAN_U64;
    return i;
}

/* Whether store_units keeps numbers of a column as text_store_short does. */
static bool keeps_units(const text_layout *l, const text_column *c) {
    return l->digits && l->dtype == BF_NONE && c->integers && !c->floats && c->scale <= 10;
}

/* Reads fields [from, n) of column k as plain numbers. Returns how many were read, with those
 * before. */
static int64_t read_plain(text_rows *rows, const text_layout *l, int k, const text_fields *f,
                          int64_t from, int64_t n) {
    text_plain plain;
    text_column *c = &rows->columns[k];
    const int64_t row = rows->n + from, many = text_digits_read(f, from, n - from, &plain);
    int64_t i = keeps_units(l, c) ? store_units(c, row, &plain, many) : 0;
    while (i < many && store_plain(l, c, row + i, &plain, i, text_field_begin(f, from + i),
                                   text_field_end(f, from + i)))
        i++;
    return from + i;
}

/* Reads column k of numbers, of which most are plain. */
static int64_t read_numbers(text_rows *rows, const text_layout *l, int k, const tile *t,
                            const text_fields *f, cell_reader *read) {
    int64_t i = 0, end = 0;
    while (i == end && i < t->n) {
        end = t->n - i < TEXT_PLAIN ? t->n : i + TEXT_PLAIN;
        i = read_plain(rows, l, k, f, i, end);
        if (i < end) i = read_cells(rows, l, k, f, i, end, read);
    }
    return i;
}

/* Reads column k of times. Either most of them are plain dates, or none is. */
static int64_t read_times(text_rows *rows, const text_layout *l, int k, const tile *t,
                          const text_fields *f) {
    const int64_t i = text_store_dates(l, &rows->columns[k], rows->n, f, t->n);
    return read_cells(rows, l, k, f, i, t->n, read_time);
}

static int64_t read_column(text_rows *rows, const text_layout *l, int k, const tile *t) {
    const text_column *c = &rows->columns[k];
    text_fields f = t->fields;
    if (l->fields[k] > 0) f.first = f.mark[l->fields[k] - 1] + 1;
    f.mark += l->fields[k];
    if (!rows->special) return read_numbers(rows, l, k, t, &f, read_between);
    if (c->time) return read_times(rows, l, k, t, &f);
    if (c->only_strings) return read_cells(rows, l, k, &f, 0, t->n, read_string);
    if (c->only_numbers) return read_numbers(rows, l, k, t, &f, read_number);
    if (c->both) return read_cells(rows, l, k, &f, 0, t->n, read_both);
    return read_cells(rows, l, k, &f, 0, t->n, read_special);
}

/* Keeps the rows, of one field each, that stand before a line of blanks. */
static tile before_blank(const text_layout *l, tile t) {
    for (int64_t i = 0; i < t.n; i++)
        if (text_is_no_row(l, text_field_begin(&t.fields, i))) t.n = i;
    return t;
}

/* Finds rows from the first that is not read on; their number may be 0. */
static tile find_tile(const text_rows *rows, const text_layout *l, const stretch *s) {
    const text_marks *m = s->marks;
    const uint32_t *const mark = m->at + s->mark, *const ends = m->ends + s->row;
    const size_t left = m->rows - s->row, room = (size_t)(rows->most - rows->n);
    const size_t some = left < room ? left : room, most = some < s->most ? some : s->most;
    size_t fields = 1, n = 0;
    while (mark[fields - 1] != ends[0]) fields++;
    const bool fits = fields > (size_t)l->fields[l->columns - 1] && fields >= (size_t)l->fewest &&
                      fields <= (size_t)l->most;
    while (fits && n < most && s->mark + (n + 1) * fields <= m->n &&
           mark[(n + 1) * fields - 1] == ends[n])
        n++;
    const uint32_t first = s->row > 0 ? ends[-1] + 1 : 0;
    const tile t = {{s->begin, first, mark, fields}, (int64_t)n};
    return fields > 1 ? t : before_blank(l, t);
}

/* Notes where rows that were read together stand. */
static void note_rows(text_rows *rows, const text_fields *f, int64_t n) {
    text_fields last = *f;
    last.mark += f->step - 1;
    for (int64_t i = 0; i < n; i++)
        rows->stands[rows->n + i] =
            (text_row){text_field_begin(f, i), text_field_end(&last, i) + 1};
}

/* Reads rows together. After one that is to be read the long way, few are, lest rows are read again
 * and again. */
static bool read_tile(text_rows *rows, const text_layout *l, stretch *s) {
    tile t = find_tile(rows, l, s);
    const int64_t wanted = t.n;
    for (int k = 0; k < l->columns && t.n > 0; k++) t.n = read_column(rows, l, k, &t);
    if (rows->stands) note_rows(rows, &t.fields, t.n);
    rows->n += t.n;
    s->row += (size_t)t.n;
    s->mark += (size_t)t.n * t.fields.step;
    s->most = t.n < wanted ? 1 : s->most < TOGETHER ? 2 * s->most : TOGETHER;
    return t.n > 0 && t.n == wanted;
}

/* Goes on behind a row that ends before `next`. */
static void pass_rows(stretch *s, const char *next) {
    const text_marks *m = s->marks;
    while (s->row < m->rows && s->begin + m->ends[s->row] < next) s->row++;
    while (s->mark < m->n && s->begin + m->at[s->mark] < next) s->mark++;
}

const char *text_read_stretch(text_rows *rows, const text_layout *l, const char *at,
                              const char *end, text_error *e) {
    stretch s;
    if (!find_marks(rows, l, at, end, &s)) return at;
    while (at < s.end && rows->n < rows->most) {
        const bool all = read_tile(rows, l, &s);
        if (s.row > 0) at = s.begin + s.marks->ends[s.row - 1] + 1;
        if (all || at == s.end) continue;
        at = text_read_line(rows, l, at, end, e);
        if (!at) return NULL;
        pass_rows(&s, at);
    }
    return at;
}
