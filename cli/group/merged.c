#include "group/merged.h"

#include "group/choices.h"
#include "group/listed.h"
#include "group/ordered.h"
#include "group/shown.h"
#include "memory/records.h"
#include "runtime/bytes.h"
#include "runtime/value.h"
#include "sheet/encode.h"
#include "sheet/part.h"

#include <stdlib.h>
#include <string.h>

/* Groups whose keys are taken together, and bytes of their strings at least. */
enum { TAKEN = 1 << 12, STRINGS_LEAST = 1 << 16 };

typedef struct merged {
    numbered *groups;
    ordered order;
    records rows;
    part_text key, row, total; /* the texts of a row that is added; total: the last row */
    int64_t all;               /* groups */
    int64_t longest[BF_KEY_COLUMNS_MAX + OPTIONS_AGGREGATES]; /* bytes of the longest string of each
                                                                 column */
    structured_field fields[BF_KEY_COLUMNS_MAX + OPTIONS_AGGREGATES];
    FILE *array; /* the structured array that is written */
} merged;

static int no_memory(const merged *x) { return fail_memory(x->groups->table->input->source.name); }

/* ---- keys of records, whose bytes are in the order of the rows --------------------------------
 */

static const char *string_of(const shown_column *c, int64_t row, size_t *n) {
    *n = (size_t)(c->offsets[row + 1] - c->offsets[row]);
    return c->bytes + c->offsets[row];
}

/* A result, whose column may have other dtypes in other turns. */
static char *put_result(char *at, const shown_column *c, int64_t row) {
    const bf_value v = shown_value(c, row);
    const double real = bf_value_f64(&v);
    uint64_t words[ORDERED_WORDS];
    if (bf_dtype_kind(c->form.dtype) == 'f') return encode_number(at, BF_F64, &real, 0);
    ordered_words(&v, words);
    words[0] ^= UINT64_C(1) << 63;
    *at++ = (char)ENCODED_ZERO;
    for (int i = 0; i < ORDERED_WORDS; i++) at = bytes_put_word(at, words[i]);
    return at;
}

/* NULLs are the last in either direction. */
static void put_cell(part_text *t, const shown_column *c, int64_t row, bool key, bool descending) {
    size_t n = 0;
    const char *const string = c->offsets ? string_of(c, row, &n) : NULL;
    char *const begin = part_take(t, ENCODED_NUMBER + 2 * n), *end = begin;
    if (!begin) return;
    if (c->valid && !c->valid[row]) {
        *end++ = (char)ENCODED_NULL;
    } else {
        end = c->offsets ? encode_string(begin, string, string + n)
              : key      ? encode_number(begin, c->form.dtype, c->array, row)
                         : put_result(begin, c, row);
        if (descending) encode_reverse(begin, end, c->offsets != NULL);
    }
    t->n = (size_t)(end - t->at);
}

/* The greatest first. */
static void put_count(part_text *t, const int64_t *count) {
    char *const begin = part_take(t, ENCODED_NUMBER);
    if (!begin) return;
    char *const end = encode_number(begin, BF_I64, count, 0);
    encode_reverse(begin, end, false);
    t->n = (size_t)(end - t->at);
}

/* The key of group number i, whose keys are in row `row` of their columns. */
static void make_key(merged *x, const shown *s, int64_t i, int64_t row) {
    const ordered *o = &x->order;
    const int keys = s->asked->keys;
    x->key.n = 0;
    if (o->by == ORDERED_BY_COUNT) put_count(&x->key, &s->counts[i]);
    if (o->by == ORDERED_BY_COLUMN)
        put_cell(&x->key, &s->columns[o->column], o->column < keys ? row : i, o->column < keys,
                 o->descending);
    for (int k = 0; k < keys; k++)
        put_cell(&x->key, &s->columns[k], row, true, o->by == ORDERED_BY_KEY && o->descending);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void put_field(part_text *t, const shown_column *c, int64_t row) {
    const bf_value v = c->offsets ? (bf_value){.dtype = BF_NONE} : shown_value(c, row);
    size_t n;
    if (!c->offsets || (c->valid && !c->valid[row])) {
        const bf_value timed = value_of_time(v, c->form.time);
        part_put_value(t, &timed);
        return;
    }
    const char *at = string_of(c, row, &n);
    part_put_string(t, at, n);
}

static void make_row(part_text *t, const shown *s, int64_t i, int64_t row) {
    t->n = 0;
    for (int c = 0; c < s->count; c++) put_field(t, &s->columns[c], c < s->asked->keys ? row : i);
}

static int add_row(merged *x, const shown *s, int64_t i, int64_t row) {
    make_key(x, s, i, row);
    if (!x->key.lost && !records_want(&x->rows, x->key.at, x->key.n)) return EXIT_DONE;
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
    code = ordered_find(s, &x->order);
    if (code == EXIT_DONE) code = add_rows(x, s);
    x->all += s->n;
    for (int i = 0; i < s->count; i++)
        if (s->longest[i] > x->longest[i]) x->longest[i] = s->longest[i];
    if (code == EXIT_DONE && x->groups->ended && s->asked->total) {
        code = shown_take_keys(s, 0, 0);
        if (code == EXIT_DONE) make_row(&x->total, s, 0, 0);
        if (x->total.lost) code = no_memory(x);
    }
    shown_close(s);
    return code;
}

/* ---- the sheet ------------------------------------------------------------------------------- */

static int open_part(const merged *x, part *p) {
    const table *t = x->groups->table;
    const asked *a = t->asked;
    const char *names[BF_KEY_COLUMNS_MAX + OPTIONS_AGGREGATES];
    bool strings[BF_KEY_COLUMNS_MAX + OPTIONS_AGGREGATES];
    for (int i = 0; i < a->keys; i++) {
        names[i] = table_key_name(t, i);
        strings[i] = t->columns[t->key_columns[i]].form.dtype == BF_NONE;
    }
    for (int i = 0; i < a->results; i++) {
        names[a->keys + i] = a->result[i].name;
        strings[a->keys + i] = choices_is_text(x->groups, i);
    }
    const int code = part_open(p, names, strings, a->keys + a->results, most_strings(x));
    for (int i = 0; i < a->keys + a->results && code == EXIT_DONE; i++)
        p->columns[i].typed = t->typed;
    return code;
}

static int put_rows(merged *x, part *p, FILE *f) {
    const asked *a = x->groups->table->asked;
    const char *const total = x->total.n > 0 ? x->total.at : NULL;
    return part_put_records(p, f, &x->rows, a->options->top, total, a->file, a->options);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int put_sheet(merged *x, FILE *f) {
    part p;
    int code = open_part(x, &p);
    if (code == EXIT_DONE) code = put_rows(x, &p, f);
    part_close(&p);
    return code;
}

static int put_lists(merged *x, FILE *f, double began) {
    part p;
    listed l = {.kept = NULL};
    int code = open_part(x, &p);
    if (code == EXIT_DONE) code = listed_open(&l, x->groups);
    p.take = listed_add;
    p.arg = &l;
    if (code == EXIT_DONE) code = put_rows(x, &p, f);
    if (code == EXIT_DONE) code = listed_end(f, &l, x->groups, x->groups->rows, x->all, began);
    listed_close(&l);
    part_close(&p);
    return code;
}

static int put_some(void *arg, const sheet *s) {
    const merged *x = arg;
    return structured_put(x->array, x->fields, s);
}

static int put_array(merged *x, FILE *f) {
    part p;
    const asked *a = x->groups->table->asked;
    const int64_t top = a->options->top, n = top > 0 && top < x->all ? top : x->all;
    int code = open_part(x, &p);
    x->array = f;
    shown_fields(x->groups, x->longest, x->fields);
    if (code == EXIT_DONE) code = structured_begin(f, x->fields, a->keys + a->results, n);
    p.take = put_some;
    p.arg = x;
    if (code == EXIT_DONE) code = put_rows(x, &p, f);
    part_close(&p);
    return code;
}

static int put_all(merged *x, FILE *f, double began) {
    if (x->groups->table->asked->options->form == FORM_NPY) return put_array(x, f);
    return listed_wanted(x->groups) ? put_lists(x, f, began) : put_sheet(x, f);
}

int merged_put(FILE *f, numbered *groups, double began) {
    const options *o = groups->table->asked->options;
    merged x = {.groups = groups};
    records_open(&x.rows, o->memory.results / 4, o->top, 1);
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
