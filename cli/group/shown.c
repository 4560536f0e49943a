#include "group/shown.h"

#include "group/choices.h"
#include "group/listed.h"
#include "group/ordered.h"
#include "group/results.h"
#include "memory/large.h"
#include "memory/pick.h"
#include "runtime/progress.h"
#include "sheet/output.h"
#include "sheet/sheet.h"
#include "work/tagged.h"
#include "work/threads.h"
#include "work/units.h"

#include <stdlib.h>
#include <string.h>

int shown_failed(const shown *s, bf_status st) {
    return fail_status(st, s->groups->table->context, s->groups->table->input->source.name);
}

/* Calls it NULL in some row, of so many. */
static bool set_null(shown_column *c, size_t all, int64_t row) {
    if (!c->valid) {
        c->valid = malloc(all);
        if (!c->valid) return false;
        memset(c->valid, 1, all);
    }
    c->valid[row] = 0;
    return true;
}

/* Strings that are fetched ahead; rows whose columns are put in order on several threads. */
enum { AHEAD = 16, WORTH_THREADS = 1 << 15 };

/* ---- keys ------------------------------------------------------------------------------------ */

static bf_status list_groups(shown *s) {
    const numbered *x = s->groups;
    bf_groups *groups = x->part[0].groups;
    s->n = bf_groups_size(groups);
    s->keys = large_alloc(shown_rows(s) * bf_dtype_size(x->key));
    s->counts = calloc(shown_rows(s), sizeof *s->counts);
    if (!s->keys || !s->counts) return BF_E_MEMORY;
    const bf_array keys = bf_array_of(x->key, s->keys, s->n),
                   counts = bf_array_of(BF_I64, s->counts, s->n);
    s->counts[s->n] = x->rows + bf_groups_rows(groups);
    return bf_groups_list(groups, &keys, &counts);
}

/* Finds the order of keys: the places of a dictionary's, or the order that they have. */
static bf_status rank_groups(shown *s) {
    bf_status st = BF_OK;
    const bf_array ranks = bf_array_of(BF_I64, s->order, s->n);
    if (!s->groups->plain) st = bf_dictionary_ranks(s->groups->dictionary, &ranks);
    for (int64_t i = 0; i < s->n && st == BF_OK; i++)
        s->by_key[s->groups->plain ? i : s->order[i]] = i;
    s->by_key[s->n] = s->n;
    return st;
}

/* The numbers that a dictionary gave n groups from `first` on. */
static bf_array numbers_of(const shown *s, int64_t first, int64_t n) {
    const bf_dtype key = s->groups->key;
    return bf_array_of(key, s->keys + (size_t)first * bf_dtype_size(key), n);
}

static bf_status take_strings(const shown *s, int column, int64_t first, int64_t n,
                              shown_column *c) {
    const bf_dictionary *d = s->groups->dictionary;
    int64_t *offsets = large_alloc((size_t)(n + 2) * sizeof *offsets);
    c->offsets = offsets;
    if (!offsets) return BF_E_MEMORY;
    const bf_array numbers = numbers_of(s, first, n), *which = n < s->n ? &numbers : NULL;
    const bf_array places = bf_array_of(BF_I64, offsets, n + 1),
                   valid = bf_array_of(BF_BOOL, c->valid, n);
    bf_status st = bf_dictionary_strings(d, column, which, &places, NULL, 0, NULL);
    const int64_t room = st == BF_OK ? offsets[n] : 0;
    char *bytes = c->bytes = large_alloc((size_t)room + 1);
    if (!bytes) return BF_E_MEMORY;
    c->strings = (bf_strings){sizeof(bf_strings), n + 1, BF_I64, offsets, bytes};
    if (st == BF_OK) st = bf_dictionary_strings(d, column, which, &places, bytes, room, &valid);
    offsets[n + 1] = offsets[n];
    return st;
}

static bf_status take_numbers(const shown *s, int column, int64_t first, int64_t n,
                              shown_column *c) {
    const size_t bytes = bf_dtype_size(c->form.dtype);
    c->array = calloc((size_t)n + 1, bytes);
    if (!c->array) return BF_E_MEMORY;
    if (s->groups->plain) {
        memcpy(c->array, s->keys + (size_t)first * bytes, (size_t)n * bytes);
        return BF_OK;
    }
    const bf_array numbers = numbers_of(s, first, n), *which = n < s->n ? &numbers : NULL;
    const bf_array values = bf_array_of(c->form.dtype, c->array, n),
                   valid = bf_array_of(BF_BOOL, c->valid, n);
    return bf_dictionary_values(s->groups->dictionary, column, which, &values, &valid);
}

static void free_column(shown_column *c) {
    free(c->array);
    free(c->values);
    free(c->valid);
    free(c->offsets);
    free(c->bytes);
    *c = (shown_column){.form.dtype = BF_NONE};
}

static int64_t longest_of(const int64_t *offsets, int64_t n, int64_t longest) {
    for (int64_t i = 0; i < n; i++)
        if (offsets[i + 1] - offsets[i] > longest) longest = offsets[i + 1] - offsets[i];
    return longest;
}

/* The total has no key. */
int shown_take_keys(shown *s, int64_t first, int64_t n) {
    const table *t = s->groups->table;
    bf_status st = BF_OK;
    for (int i = 0; i < s->asked->keys && st == BF_OK; i++) {
        shown_column *c = &s->columns[i];
        free_column(c);
        c->form = t->columns[t->key_columns[i]].form;
        if (!set_null(c, (size_t)n + 1, n)) return shown_failed(s, BF_E_MEMORY);
        st = c->form.dtype == BF_NONE ? take_strings(s, i, first, n, c)
                                      : take_numbers(s, i, first, n, c);
        if (st == BF_OK && c->offsets) s->longest[i] = longest_of(c->offsets, n, s->longest[i]);
    }
    return st == BF_OK ? EXIT_DONE : shown_failed(s, st);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Keys of m groups, all among those of s, and as these ascending: writes where each is. */
static void find_rows(const shown *s, const char *keys, int64_t m, int64_t *to) {
    const size_t bytes = bf_dtype_size(s->groups->key);
    int64_t at = 0;
    for (int64_t i = 0; i < m; i++) {
        while (memcmp(s->keys + (size_t)at * bytes, keys + (size_t)i * bytes, bytes) != 0) at++;
        to[i] = at++;
    }
}

/* The results of some groups, and where they go; of all rows, there may be none. */
typedef struct found {
    results groups, total;
    int64_t n, *rows;
    bool has_total;
} found;

static void free_found(found *f) {
    results_free(&f->groups);
    results_free(&f->total);
    free(f->rows);
}

static bf_value value_at(const results *r, int64_t i) {
    return r->array ? output_element(r->dtype, r->scale, r->array, i) : r->values[i];
}

/* A result without elements: 0 of sums, NaN of means; of others there is none. */
static bf_value value_of_none(bf_reduction op, bf_dtype dtype) {
    bf_value v = {.dtype = dtype == BF_I128 ? BF_I192 : dtype};
    if (op != BF_MEAN) return v;
    if (dtype == BF_F32)
        v.as.f32 = __builtin_nanf("");
    else
        v.as.f64 = __builtin_nan("");
    return v;
}

static bool has_none(const struct wanted_aggregate *w) {
    return w->order != ORDER_NONE || (w->op != BF_SUM && w->op != BF_MEAN);
}

static void put_element(shown_column *c, int64_t row, const bf_value *v) {
    const size_t bytes = bf_dtype_size(c->form.dtype);
    memcpy(c->array + (size_t)row * bytes, &v->as, bytes);
}

static bool put_value(const shown *s, shown_column *c, int64_t row, const bf_value *v) {
    if (v->dtype == BF_NONE) return set_null(c, shown_rows(s), row);
    c->values[row] = *v;
    return true;
}

/* Begins with no group having elements. */
static bool fill_with_none(const shown *s, shown_column *c, const struct wanted_aggregate *w) {
    const bf_value none = value_of_none(w->op, c->form.dtype);
    for (int64_t i = 0; i <= s->n; i++) {
        if (c->array)
            put_element(c, i, &none);
        else
            c->values[i] = none;
        if (has_none(w) && !set_null(c, shown_rows(s), i)) return false;
    }
    return true;
}

/* The dtype of results; of integers that need more than 64 bits, or are beside f64, that of some.
 */
static bf_dtype dtype_of(const struct wanted_aggregate *w, const found *f) {
    if (w->order != ORDER_NONE) return f->groups.dtype;
    if (f->groups.array || f->total.array)
        return f->groups.array ? f->groups.dtype : f->total.dtype;
    int64_t i = 0;
    while (i + 1 < f->n && f->groups.values[i].dtype == BF_NONE) i++;
    return f->n > 0 && bf_dtype_kind(f->groups.values[i].dtype) == 'f' ? f->groups.values[i].dtype
                                                                       : BF_I64;
}

/* Takes an array that has an element for each group, and room for the total, as the column. */
static void take_whole(const shown *s, found *f, shown_column *c) {
    const size_t bytes = bf_dtype_size(c->form.dtype);
    c->array = f->groups.array;
    f->groups.array = f->groups.memory = NULL;
    if (f->has_total) memcpy(c->array + (size_t)s->n * bytes, f->total.array, bytes);
}

/* Puts what was found into its rows. */
static bf_status spread(const shown *s, const struct wanted_aggregate *w, found *f,
                        shown_column *c) {
    const bool arrays = f->groups.array && (!f->has_total || f->total.array);
    c->form.dtype = dtype_of(w, f);
    c->form.scale = f->groups.scale;
    if (arrays && !f->rows && f->has_total == s->asked->total) {
        take_whole(s, f, c);
        return BF_OK;
    }
    if (arrays)
        c->array = calloc(shown_rows(s), bf_dtype_size(c->form.dtype));
    else
        c->values = calloc(shown_rows(s), sizeof *c->values);
    if (!(arrays ? c->array != NULL : c->values != NULL)) return BF_E_MEMORY;
    if ((f->n < s->n || !f->has_total) && !fill_with_none(s, c, w)) return BF_E_MEMORY;
    for (int64_t i = 0; i < f->n + f->has_total; i++) {
        const bool total = i == f->n;
        const int64_t row = total ? s->n : f->rows ? f->rows[i] : i;
        const bf_value v = total ? value_at(&f->total, 0) : value_at(&f->groups, i);
        if (c->valid) c->valid[row] = 1;
        if (arrays)
            memcpy(c->array + (size_t)row * bf_dtype_size(c->form.dtype),
                   total ? f->total.array
                         : f->groups.array + (size_t)i * bf_dtype_size(c->form.dtype),
                   bf_dtype_size(c->form.dtype));
        else if (!put_value(s, c, row, &v))
            return BF_E_MEMORY;
    }
    return BF_OK;
}

/* What times the values of a reduction are: those of extremes alone. */
static bf_time_kind time_of_result(const table *t, int i) {
    const asked_result *r = &t->asked->result[i];
    const bool element = bf_reduction_result(r->aggregate->op) == BF_RESULT_ELEMENT;
    return element ? t->values[r->value].form.time : BF_TIME_NONE;
}

static bf_status take_from(const shown *s, int i, bf_groups *groups, results *r) {
    const numbered *x = s->groups;
    const asked_result *of = &s->asked->result[i];
    const options *o = s->asked->options;
    const int which = x->place[i].which, scale = x->table->values[of->value].form.scale;
    bf_groups *const whole = x->part[x->place[i].part].whole;
    return of->aggregate->order == SHARE_OF_SUM ? results_take_shares(groups, whole, o, which, r)
                                                : results_take(groups, o, which, scale, r);
}

static bf_status take_reduction(const shown *s, int i, shown_column *c) {
    const numbered *x = s->groups;
    const numbered_part *p = &x->part[x->place[i].part];
    found f = {.n = bf_groups_size(p->groups)};
    f.has_total = p->total && bf_groups_size(p->total) > 0;
    bf_status st = take_from(s, i, p->groups, &f.groups);
    if (st == BF_OK && f.has_total) st = take_from(s, i, p->total, &f.total);
    if (st == BF_OK && f.n < s->n) {
        char *keys = malloc((size_t)f.n * bf_dtype_size(x->key) + 1);
        f.rows = malloc((size_t)f.n * sizeof *f.rows + 1);
        const bf_array list = bf_array_of(x->key, keys, f.n);
        st = keys && f.rows ? bf_groups_list(p->groups, &list, NULL) : BF_E_MEMORY;
        if (st == BF_OK) find_rows(s, keys, f.n, f.rows);
        free(keys);
    }
    if (st == BF_OK) st = spread(s, s->asked->result[i].aggregate, &f, c);
    c->form.time = time_of_result(x->table, i);
    free_found(&f);
    return st;
}

/* ---- medians and quantiles ------------------------------------------------------------------- */

/* Turns n tagged results into values one by one. */
static bool untag(results *r, int64_t n, bool wide) {
    r->values = malloc((size_t)n * sizeof *r->values + 1);
    if (r->values && wide) memcpy(r->values, r->array, (size_t)n * sizeof *r->values);
    for (int64_t i = 0; i < n && r->values && !wide; i++)
        r->values[i] = output_element(BF_PAIR, r->scale, r->array, i);
    free(r->memory);
    r->array = r->memory = NULL;
    r->dtype = BF_I64;
    return r->values != NULL;
}

static int take_order(const shown *s, int i, shown_column *c) {
    numbered *x = s->groups;
    const struct wanted_aggregate *w = s->asked->result[i].aggregate;
    medians *m = &x->kept[x->place[i].kept];
    const options *o = s->asked->options;
    medians_wanted wanted = {
        .context = x->table->context, .options = o, .aggregate = w, .method = s->asked->method};
    medians_aim(m, &wanted);
    found f = {.n = 0};
    f.groups.dtype = f.total.dtype = wanted.tagged ? BF_PAIR : wanted.to;
    f.groups.scale = f.total.scale = wanted.scale;
    f.groups.array = f.groups.memory = malloc(shown_rows(s) * medians_bytes(&wanted));
    f.total.array = f.total.memory = malloc(medians_bytes(&wanted));
    f.rows = malloc(shown_rows(s) * sizeof *f.rows);
    char *keys = malloc(shown_rows(s) * bf_dtype_size(x->key));
    const bool made = f.groups.array && f.total.array && f.rows && keys;
    int code = made ? medians_find(m, &wanted, s->n, keys, f.groups.array, &f.n)
                    : shown_failed(s, BF_E_MEMORY);
    if (code == EXIT_DONE && s->asked->total && (!x->limited || x->ended))
        code = medians_find_total(m, &wanted, f.total.array, &f.has_total);
    if (code == EXIT_DONE && x->limited)
        memcpy(f.rows, keys, (size_t)f.n * sizeof *f.rows);
    else if (code == EXIT_DONE)
        find_rows(s, keys, f.n, f.rows);
    const bool good =
        code != EXIT_DONE || !(wanted.tagged || wanted.wide) ||
        (untag(&f.groups, f.n, wanted.wide) && untag(&f.total, f.has_total, wanted.wide));
    const bf_status st = !good ? BF_E_MEMORY : code == EXIT_DONE ? spread(s, w, &f, c) : BF_OK;
    c->form.time = m->form.time;
    free(keys);
    free_found(&f);
    return st == BF_OK ? code : shown_failed(s, st);
}

static int copy_counts(const shown *s, shown_column *c) {
    c->form.dtype = BF_I64;
    c->array = malloc(shown_rows(s) * sizeof(int64_t));
    if (!c->array) return shown_failed(s, BF_E_MEMORY);
    memcpy(c->array, s->counts, shown_rows(s) * sizeof(int64_t));
    return EXIT_DONE;
}

static int take_result(shown *s, int i, shown_column *c) {
    if (s->groups->place[i].kept >= 0) return take_order(s, i, c);
    if (s->asked->result[i].value < 0) return copy_counts(s, c);
    const bf_status st =
        s->groups->place[i].chosen >= 0 ? choices_take(s, i, c) : take_reduction(s, i, c);
    if (st == BF_OK && c->offsets) {
        int64_t *const longest = &s->longest[s->asked->keys + i];
        *longest = longest_of(c->offsets, s->n, *longest);
    }
    return st == BF_OK ? EXIT_DONE : shown_failed(s, st);
}

static int take_results(shown *s) {
    int code = EXIT_DONE;
    for (int i = 0; i < s->asked->results && code == EXIT_DONE; i++)
        code = take_result(s, i, &s->columns[s->asked->keys + i]);
    return code;
}

/* ---- a structured array ---------------------------------------------------------------------- */

static structured_field field_of_result(const numbered *x, int i) {
    const asked *a = x->table->asked;
    const asked_result *r = &a->result[i];
    structured_field field = {.name = r->name, .form.dtype = BF_I64, .nan = true};
    if (r->value < 0) return field;
    const table_value *const v = &x->table->values[r->value];
    if (x->place[i].kept >= 0) {
        medians_wanted wanted = {.aggregate = r->aggregate, .method = a->method};
        medians_aim(&x->kept[x->place[i].kept], &wanted);
        field.form = v->form;
        if (v->form.time) field.form.time = BF_TIME_UTC; /* between dates is no date */
        field.form.dtype = v->form.time    ? BF_I64
                           : wanted.tagged ? BF_F64
                                           : structured_dtype(wanted.to, wanted.scale);
        return field;
    }
    if (x->place[i].chosen >= 0) {
        choices_type(x, i, &field);
        return field;
    }
    const bf_dtype dtype =
        r->aggregate->order == SHARE_OF_SUM
            ? BF_F64
            : results_dtype(x->part[x->place[i].part].groups, a->options, x->place[i].which);
    field.form = structured_form((units_form){dtype, v->form.scale, time_of_result(x->table, i)});
    return field;
}

void shown_fields(const numbered *x, const int64_t longest[], structured_field fields[]) {
    const table *t = x->table;
    const int keys = t->asked->keys;
    for (int i = 0; i < keys; i++) {
        const table_column *c = &t->columns[t->key_columns[i]];
        fields[i] = (structured_field){
            .name = table_key_name(t, i), .form = structured_form(c->form), .width = longest[i]};
    }
    for (int i = 0; i < t->asked->results; i++) {
        fields[keys + i] = field_of_result(x, i);
        fields[keys + i].width = longest[keys + i];
    }
}

static int put_array(FILE *f, const shown *s, const sheet *all) {
    structured_field fields[BF_KEY_COLUMNS_MAX + OPTIONS_AGGREGATES];
    shown_fields(s->groups, s->longest, fields);
    const int code = structured_begin(f, fields, all->count, all->rows);
    return code == EXIT_DONE ? structured_put(f, fields, all) : code;
}

/* ---- the sheet ------------------------------------------------------------------------------- */

/* Takes the strings of a column that are shown, in their order. */
static bool gather_strings(shown_column *c, const int64_t *order, int64_t n) {
    int64_t *offsets = large_alloc((size_t)(n + 1) * sizeof *offsets), room = 0;
    for (int64_t i = 0; i < n; i++) room += c->offsets[order[i] + 1] - c->offsets[order[i]];
    char *bytes = large_alloc((size_t)room + 1);
    if (offsets && bytes) offsets[0] = 0;
    for (int64_t i = 0; i < n && offsets && bytes; i++) {
        const int64_t at = c->offsets[order[i]], size = c->offsets[order[i] + 1] - at;
        if (i + AHEAD < n) __builtin_prefetch(c->bytes + c->offsets[order[i + AHEAD]]);
        memcpy(bytes + offsets[i], c->bytes + at, (size_t)size);
        offsets[i + 1] = offsets[i] + size;
    }
    free(c->offsets);
    free(c->bytes);
    c->offsets = offsets;
    c->bytes = bytes;
    c->strings = (bf_strings){sizeof(bf_strings), n, BF_I64, offsets, bytes};
    return offsets && bytes;
}

/* Gathers elements of some bytes. NULL: there is no memory. */
static void *gather(void *from, size_t bytes, const int64_t *order, int64_t n) {
    char *to = large_alloc((size_t)n * bytes + 1);
    if (to && bytes <= sizeof(uint64_t))
        pick_elements(to, from, bytes, order, n);
    else if (to)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + (size_t)i * bytes, (char *)from + (size_t)order[i] * bytes, bytes);
    free(from);
    return to;
}

/* Puts the rows that are shown in their order: to look for each while it is written would wait for
 * memory row by row. */
static bool gather_column(shown_column *c, const int64_t *order, int64_t n) {
    bool good = true;
    if (c->array)
        good = (c->array = gather(c->array, bf_dtype_size(c->form.dtype), order, n)) != NULL;
    if (c->values && good)
        good = (c->values = gather(c->values, sizeof *c->values, order, n)) != NULL;
    if (c->valid && good) good = (c->valid = gather(c->valid, 1, order, n)) != NULL;
    return good && c->offsets ? gather_strings(c, order, n) : good;
}

typedef struct gathering {
    shown *shown;
    int64_t rows;
} gathering;

static bool gather_one(void *arg, int column) {
    const gathering *g = arg;
    return gather_column(&g->shown->columns[column], g->shown->order, g->rows);
}

static int put_sheet(FILE *f, shown *s, double began) {
    const options *o = s->asked->options;
    sheet_column columns[BF_KEY_COLUMNS_MAX + OPTIONS_AGGREGATES];
    const int64_t n = o->top > 0 && o->top < s->n ? o->top : s->n;
    s->order[n] = s->n; /* the total */
    gathering all_columns = {.shown = s, .rows = n + s->asked->total};
    const int threads = n >= WORTH_THREADS ? o->threads : 1;
    if (!threads_share(threads, s->count, gather_one, &all_columns))
        return shown_failed(s, BF_E_MEMORY);
    for (int i = 0; i < s->count; i++) {
        const shown_column *c = &s->columns[i];
        columns[i] = (sheet_column){.name = s->names[i],
                                    .form = c->form,
                                    .array = c->array,
                                    .values = c->values,
                                    .strings = c->offsets ? &c->strings : NULL,
                                    .typed = s->groups->table->typed,
                                    .valid = c->valid};
    }
    const sheet all = {columns, s->count, n + s->asked->total, NULL, s->asked->total};
    if (o->form == FORM_NPY) return put_array(f, s, &all);
    if (listed_wanted(s->groups)) {
        listed_put(f, s->groups, &all, s->counts[s->n], s->n, began);
        return EXIT_DONE;
    }
    return sheet_put(f, &all, s->asked->file, o);
}

/* ---- the whole ------------------------------------------------------------------------------- */

bf_value shown_value(const shown_column *c, int64_t row) {
    const bf_value none = {.dtype = BF_NONE};
    if (c->valid && !c->valid[row]) return none;
    return c->array ? output_element(c->form.dtype, c->form.scale, c->array, row) : c->values[row];
}

void shown_close(shown *s) {
    for (int i = 0; i < s->count; i++) free_column(&s->columns[i]);
    free(s->keys);
    free(s->counts);
    free(s->by_key);
    free(s->order);
    free(s);
}

static void name_columns(shown *s) {
    const table *t = s->groups->table;
    for (int i = 0; i < s->asked->keys; i++) s->names[s->count++] = table_key_name(t, i);
    for (int i = 0; i < s->asked->results; i++) s->names[s->count++] = s->asked->result[i].name;
}

shown *shown_open(numbered *groups, int *code) {
    shown *s = calloc(1, sizeof *s);
    if (!s) {
        *code = fail_memory(NULL);
        return NULL;
    }
    s->groups = groups;
    s->asked = groups->table->asked;
    name_columns(s);
    const bf_status st = list_groups(s);
    *code = st == BF_OK ? take_results(s) : shown_failed(s, st);
    if (*code == EXIT_DONE) return s;
    shown_close(s);
    return NULL;
}

static int rank(shown *s) {
    s->by_key = large_alloc(shown_rows(s) * sizeof *s->by_key);
    s->order = large_alloc(shown_rows(s) * sizeof *s->order);
    const bf_status st = s->by_key && s->order ? rank_groups(s) : BF_E_MEMORY;
    return st == BF_OK ? EXIT_DONE : shown_failed(s, st);
}

int shown_put(FILE *f, numbered *groups, double began) {
    int code;
    shown *s = shown_open(groups, &code);
    if (!s) return code;
    code = rank(s);
    if (code == EXIT_DONE) code = shown_take_keys(s, 0, s->n);
    if (code == EXIT_DONE) code = ordered_put(s);
    if (code == EXIT_DONE) code = put_sheet(f, s, began);
    shown_close(s);
    return code;
}
