#include "group/by/merged.h"

#include "group/by/shown.h"
#include "memory/key.h"
#include "memory/records.h"
#include "runtime/progress.h"
#include "sheet/sheet.h"

#include <stdlib.h>
#include <string.h>

/* Groups whose keys are taken together, rows that are shown together, and bytes of strings in these
 * at least. */
enum { TAKEN = 1 << 12, PART = 1 << 12, STRINGS_LEAST = 1 << 16 };

/* A row is a field for each column: a byte that says which, and what it holds. */
enum { FIELD_NULL, FIELD_STRING = 255 };

/* Bytes that grow. */
typedef struct text {
    char *at;
    size_t n, room;
    bool lost; /* there was no memory */
} text;

typedef struct merged {
    numbered *groups;
    shown_order order;
    records rows;
    text key, row, total; /* of a row that is added; the last row */
} merged;

static int no_memory(const merged *x) {
    return fail_status(BF_E_MEMORY, NULL, x->groups->table->input.source.name);
}

static void put(text *t, const void *bytes, size_t n) {
    if (n > t->room - t->n) {
        const size_t room = 2 * (t->n + n) + 64;
        char *more = realloc(t->at, room);
        t->lost = t->lost || !more;
        if (!more) return;
        t->at = more;
        t->room = room;
    }
    if (n > 0) memcpy(t->at + t->n, bytes, n);
    t->n += n;
}

static void put_byte(text *t, int byte) {
    const char c = (char)byte;
    put(t, &c, 1);
}

/* ---- keys of records, whose bytes are in the order of the rows --------------------------------
 */

/* The highest byte first. */
static void put_word(text *t, uint64_t word) {
    char bytes[sizeof word];
    for (int i = 0; i < 8; i++) bytes[i] = (char)(word >> (56 - 8 * i));
    put(t, bytes, sizeof bytes);
}

/* Strings that begin others come before them. */
static void put_ordered_string(text *t, const char *at, size_t n) {
    for (const char *end = at + n; at < end;) {
        const char *zero = memchr(at, 0, (size_t)(end - at));
        const size_t some = zero ? (size_t)(zero - at) : (size_t)(end - at);
        put(t, at, some);
        if (zero) put(t, "\0\377", 2);
        at += some + (zero != NULL);
    }
    put(t, "\0", 2);
}

static const char *string_of(const shown_column *c, int64_t row, size_t *n) {
    *n = (size_t)(c->offsets[row + 1] - c->offsets[row]);
    return c->bytes + c->offsets[row];
}

/* NULLs are the last. */
static void put_key_field(text *t, const shown_column *c, int64_t row) {
    size_t n;
    uint64_t rank;
    const bool null = c->valid && !c->valid[row];
    put_byte(t, null ? 2 : 1);
    if (null) return;
    if (c->offsets) {
        const char *at = string_of(c, row, &n);
        put_ordered_string(t, at, n);
        return;
    }
    key_ranks(c->dtype, c->array + (size_t)row * bf_dtype_size(c->dtype), 1, &rank);
    put_word(t, rank);
}

static void put_keys(text *t, const shown *s, int64_t row) {
    for (int i = 0; i < s->asked->keys; i++) put_key_field(t, &s->columns[i], row);
}

/* From -inf to inf, -0 before 0, NaN at last. */
static uint64_t rank_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return UINT64_MAX;
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static void put_ordered_value(text *t, const bf_value *v) {
    uint64_t words[3];
    if (shown_is_float(v->dtype)) {
        put_word(t, rank_of(bf_value_f64(v)));
        return;
    }
    shown_words(v, words);
    put_word(t, words[0] ^ UINT64_C(1) << 63);
    put_word(t, words[1]);
    put_word(t, words[2]);
}

static void reverse(text *t, size_t from) {
    for (size_t i = from; i < t->n; i++) t->at[i] = (char)~t->at[i];
}

/* What a column orders rows by; NULLs are the last in either direction. */
static void put_ordered(text *t, const shown_column *c, int64_t row, bool descending) {
    size_t n;
    const bool null = c->valid && !c->valid[row];
    const bf_value v = null || c->offsets ? (bf_value){.dtype = BF_NONE} : shown_value(c, row);
    put_byte(t, null ? 2 : 1);
    const size_t from = t->n;
    if (!null && c->offsets) {
        const char *at = string_of(c, row, &n);
        put_ordered_string(t, at, n);
    } else if (!null) {
        put_ordered_value(t, &v);
    }
    if (descending) reverse(t, from);
}

/* The key of group number i, whose keys are in row `row` of their columns. */
static void make_key(merged *x, const shown *s, int64_t i, int64_t row) {
    const shown_order *o = &x->order;
    const shown_column counts = {.dtype = BF_I64, .array = (char *)s->counts};
    x->key.n = 0;
    if (o->by == SHOWN_BY_COUNT) put_ordered(&x->key, &counts, i, o->descending);
    if (o->by == SHOWN_BY_COLUMN)
        put_ordered(&x->key, &s->columns[o->column], o->column < s->asked->keys ? row : i,
                    o->descending);
    put_keys(&x->key, s, row);
    if (o->by == SHOWN_BY_KEY && o->descending) reverse(&x->key, 0);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static size_t bytes_of(bf_dtype dtype) {
    return dtype == BF_I192 ? 3 * sizeof(uint64_t) : sizeof(uint64_t);
}

static void put_field(text *t, const shown_column *c, int64_t row) {
    if (c->offsets && !(c->valid && !c->valid[row])) {
        size_t n;
        const char *at = string_of(c, row, &n);
        put_byte(t, FIELD_STRING);
        put(t, &n, sizeof n);
        put(t, at, n);
        return;
    }
    const bf_value v = shown_value(c, row);
    put_byte(t, (int)v.dtype);
    if (v.dtype != BF_NONE) put(t, &v.as, bytes_of(v.dtype));
}

static void make_row(text *t, const shown *s, int64_t i, int64_t row) {
    t->n = 0;
    for (int c = 0; c < s->count; c++) put_field(t, &s->columns[c], c < s->asked->keys ? row : i);
}

static int add_row(merged *x, const shown *s, int64_t i, int64_t row) {
    make_key(x, s, i, row);
    make_row(&x->row, s, i, row);
    if (x->key.lost || x->row.lost) return no_memory(x);
    return records_add(&x->rows, x->key.at, x->key.n, x->row.at, x->row.n);
}

/* The bytes of strings that n groups from `first` on have at most. */
static int64_t most_strings(const merged *x) {
    const int64_t share = x->groups->table->asked->options->memory.results / 16;
    return share > STRINGS_LEAST ? share : STRINGS_LEAST;
}

static int64_t strings_of(const shown *s, int64_t n) {
    int64_t bytes = 0;
    for (int i = 0; i < s->asked->keys; i++)
        if (s->columns[i].offsets) bytes += s->columns[i].offsets[n];
    return bytes;
}

/* Adds the rows of a turn. */
static int add_rows(merged *x, shown *s) {
    int code = EXIT_DONE;
    int64_t some = TAKEN;
    for (int64_t first = 0, n; first < s->n && code == EXIT_DONE; first += n) {
        n = s->n - first < some ? s->n - first : some;
        code = shown_take_keys(s, first, n);
        for (int64_t i = 0; i < n && code == EXIT_DONE; i++) code = add_row(x, s, first + i, i);
        if (code == EXIT_DONE && strings_of(s, n) > most_strings(x) && some > 1) some /= 2;
    }
    return code;
}

static int add_turn(merged *x) {
    int code;
    shown *s = shown_open(x->groups, &code);
    if (!s) return code;
    code = shown_find_order(s, &x->order);
    if (code == EXIT_DONE) code = add_rows(x, s);
    if (code == EXIT_DONE && x->groups->ended && s->asked->options->total) {
        code = shown_take_keys(s, 0, 0);
        if (code == EXIT_DONE) make_row(&x->total, s, 0, 0);
        if (x->total.lost) code = no_memory(x);
    }
    shown_close(s);
    return code;
}

/* ---- the sheet ------------------------------------------------------------------------------- */

/* Some rows. */
typedef struct part {
    sheet sheet;
    sheet_column *columns;
    struct part_column {
        bf_value *values; /* or strings: */
        int64_t *offsets;
        uint8_t *valid;
        text bytes;
        bf_strings strings;
    } * of;
    int64_t room, bytes; /* rows; bytes of strings */
} part;

static void free_part(part *p) {
    for (int c = 0; c < p->sheet.count && p->of; c++) {
        free(p->of[c].values);
        free(p->of[c].offsets);
        free(p->of[c].valid);
        free(p->of[c].bytes.at);
    }
    free(p->of);
    free(p->columns);
}

static bool holds_strings(const table *t, int column) {
    return column < t->asked->keys && t->columns[t->key_columns[column]].dtype == BF_NONE;
}

static const char *name_of(const table *t, int column) {
    const asked *a = t->asked;
    return column < a->keys ? t->columns[t->key_columns[column]].name
                            : a->result[column - a->keys].name;
}

static bool make_part(part *p, const table *t, int64_t room) {
    const int n = t->asked->keys + t->asked->results;
    *p = (part){.room = room};
    p->of = calloc((size_t)n, sizeof *p->of);
    p->columns = calloc((size_t)n, sizeof *p->columns);
    p->sheet = (sheet){.columns = p->columns, .count = n};
    bool good = p->of && p->columns;
    for (int c = 0; c < n && good; c++) {
        struct part_column *of = &p->of[c];
        if (holds_strings(t, c)) {
            of->offsets = calloc((size_t)room + 1, sizeof *of->offsets);
            of->valid = malloc((size_t)room);
            good = of->offsets && of->valid;
        } else {
            good = (of->values = malloc((size_t)room * sizeof *of->values)) != NULL;
        }
        p->columns[c] = (sheet_column){.name = name_of(t, c),
                                       .values = of->values,
                                       .strings = of->offsets ? &of->strings : NULL,
                                       .valid = of->valid};
    }
    return good;
}

static void clear_part(part *p) {
    p->sheet.rows = p->bytes = 0;
    for (int c = 0; c < p->sheet.count; c++) p->of[c].bytes.n = 0;
}

/* Reads a field. Returns its end. */
static const char *take_field(part *p, int column, const char *at) {
    struct part_column *of = &p->of[column];
    const int64_t row = p->sheet.rows;
    const int kind = (unsigned char)*at++;
    bf_value v = {.dtype = (bf_dtype)kind};
    size_t n = 0;
    if (of->values) {
        n = kind == FIELD_NULL ? 0 : bytes_of(v.dtype);
        memcpy(&v.as, at, n);
        of->values[row] = v;
        return at + n;
    }
    of->valid[row] = kind != FIELD_NULL;
    if (kind != FIELD_NULL) {
        memcpy(&n, at, sizeof n);
        at += sizeof n;
        put(&of->bytes, at, n);
    }
    of->offsets[row + 1] = (int64_t)of->bytes.n;
    p->bytes += (int64_t)n;
    return at + n;
}

static int add_to_part(const merged *x, part *p, const char *row) {
    bool lost = false;
    for (int c = 0; c < p->sheet.count; c++) {
        row = take_field(p, c, row);
        lost = lost || p->of[c].bytes.lost;
    }
    p->sheet.rows++;
    return lost ? no_memory(x) : EXIT_DONE;
}

/* Names the strings of a part where they lie now. */
static void end_part(part *p) {
    for (int c = 0; c < p->sheet.count; c++)
        p->of[c].strings = (bf_strings){sizeof(bf_strings), p->sheet.rows, BF_I64, p->of[c].offsets,
                                        p->of[c].bytes.at};
}

/* Writes a part. The first one, with the total behind it, says how wide columns are. */
static int put_part(merged *x, part *p, sheet_writer *w, FILE *f, double began) {
    const table *t = x->groups->table;
    const options *o = t->asked->options;
    int code = EXIT_DONE;
    if (!w->stream) {
        const sheet_subject subject = {report_command_name(), o->files[0],
                                       bf_context_device(t->context), progress_clock() - began};
        if (x->total.n > 0) code = add_to_part(x, p, x->total.at);
        p->sheet.total = x->total.n > 0;
        end_part(p);
        if (code == EXIT_DONE) code = sheet_begin(w, f, sheet_form_of(o), &p->sheet, &subject, o);
        p->sheet.rows -= p->sheet.total;
        p->sheet.total = false;
    }
    end_part(p);
    if (code == EXIT_DONE && p->sheet.rows > 0) code = sheet_rows(w, &p->sheet);
    clear_part(p);
    return code;
}

static int put_total(merged *x, part *p, sheet_writer *w) {
    if (x->total.n == 0) return EXIT_DONE;
    int code = add_to_part(x, p, x->total.at);
    p->sheet.total = true;
    end_part(p);
    return code == EXIT_DONE ? sheet_rows(w, &p->sheet) : code;
}

static int put_rows(merged *x, part *p, sheet_writer *w, FILE *f, double began) {
    const int64_t top = x->groups->table->asked->options->top;
    const char *row;
    size_t bytes;
    int code = records_end(&x->rows);
    for (int64_t n = 0; code == EXIT_DONE && (top <= 0 || n < top); n++) {
        code = records_next(&x->rows, &row, &bytes);
        if (code != EXIT_DONE || !row) break;
        code = add_to_part(x, p, row);
        const bool full = p->sheet.rows == PART || p->bytes > most_strings(x);
        if (code == EXIT_DONE && full) code = put_part(x, p, w, f, began);
    }
    if (code == EXIT_DONE && (p->sheet.rows > 0 || !w->stream)) code = put_part(x, p, w, f, began);
    return code == EXIT_DONE ? put_total(x, p, w) : code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int put_all(merged *x, FILE *f, double began) {
    part p;
    sheet_writer w = {.stream = NULL};
    int code = make_part(&p, x->groups->table, PART + 1) ? EXIT_DONE : no_memory(x);
    if (code == EXIT_DONE) code = put_rows(x, &p, &w, f, began);
    sheet_end(&w);
    free_part(&p);
    return code;
}

int merged_put(FILE *f, numbered *groups, double began) {
    const options *o = groups->table->asked->options;
    merged x = {.groups = groups};
    records_open(&x.rows, o->memory.results / 4, o->top);
    int code = add_turn(&x);
    while (code == EXIT_DONE && !groups->ended) {
        code = numbered_next(groups);
        if (code == EXIT_DONE) code = add_turn(&x);
    }
    if (code == EXIT_DONE) code = put_all(&x, f, began);
    records_close(&x.rows);
    free(x.key.at);
    free(x.row.at);
    free(x.total.at);
    return code;
}
