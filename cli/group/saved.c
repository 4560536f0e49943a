#define _GNU_SOURCE /* strndup */
#include "group/saved.h"

#include "group/keys.h"
#include "memory/large.h"
#include "work/wide.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is asked --------------------------------------------------------------------------- */

static void put_text(checkpoint_writer *to, const char *text) {
    checkpoint_put_bytes(to, text, strlen(text));
}

static char *take_text(checkpoint_reader *from) {
    size_t n;
    const char *at = checkpoint_bytes(from, &n);
    char *text = at ? strndup(at, n) : NULL;
    from->bad = from->bad || !text;
    return text;
}

void saved_put_question(checkpoint_writer *to, const numbered *x) {
    const table *t = x->table;
    const asked *a = t->asked;
    checkpoint_put_number(to, t->typed);
    checkpoint_put_number(to, a->keyed);
    checkpoint_put_number(to, a->listed);
    checkpoint_put_number(to, a->method);
    checkpoint_put_number(to, a->total);
    checkpoint_put_number(to, a->skip_nulls);
    checkpoint_put_number(to, a->keys);
    for (int i = 0; i < a->keys; i++) {
        const table_column *c = &t->columns[t->key_columns[i]];
        put_text(to, table_key_name(t, i));
        units_put(to, c->form);
    }
    checkpoint_put_number(to, a->values);
    for (int i = 0; i < a->values; i++) {
        const table_value *v = &t->values[i];
        units_put(to, v->form);
    }
    checkpoint_put_number(to, a->results);
    for (int i = 0; i < a->results; i++) {
        const asked_result *r = &a->result[i];
        put_text(to, r->name);
        checkpoint_put_number(to, r->value);
        checkpoint_put_number(to, r->value < 0 ? 0 : r->aggregate->op);
        checkpoint_put_number(to, r->value < 0 ? 0 : r->aggregate->order);
        checkpoint_put_bytes(to, r->value < 0 ? NULL : &r->aggregate->percent,
                             r->value < 0 ? 0 : sizeof r->aggregate->percent);
    }
}

static void take_key(checkpoint_reader *from, table *t, int i) {
    table_column *c = &t->columns[i];
    c->name = take_text(from);
    c->form = units_take(from);
    t->key_columns[i] = i;
}

static bf_dtype dtype_of(const table *t, const asked_result *r) {
    return t->values[r->value].form.dtype;
}

/* Both values of a pair have one dtype and scale. */
static bool are_paired(const asked *a, const table *t, const asked_result *r) {
    const table_value *const v = &t->values[r->value];
    return asked_arrays(r) == 1 ||
           (r->value + 1 < a->values && v[0].form.dtype == v[1].form.dtype &&
            v[0].form.scale == v[1].form.scale);
}

/* Strings are chosen alone. */
static void take_result(checkpoint_reader *from, asked *a, const table *t, int i) {
    struct wanted_aggregate *w = &a->own[i];
    asked_result *r = &a->result[i];
    size_t n;
    r->name = take_text(from);
    r->value = (int)checkpoint_number(from, -1, a->values - 1);
    w->op = (bf_reduction)checkpoint_number(from, 0, INT32_MAX);
    w->order = (enum wanted_order)checkpoint_number(from, 0, ORDER_DISTINCT_OF);
    const void *percent = checkpoint_bytes(from, &n);
    if (percent && n == sizeof w->percent) memcpy(&w->percent, percent, n);
    r->aggregate = r->value < 0 ? NULL : w;
    from->bad = from->bad || (r->aggregate && n != sizeof w->percent) ||
                !(w->percent >= 0 && w->percent <= 100) ||
                (w->order == SHARE_OF_SUM && w->op != BF_SUM) ||
                (r->aggregate && !asked_chooses(r) && dtype_of(t, r) == BF_NONE) ||
                (r->aggregate && !are_paired(a, t, r));
}

bool saved_take_question(checkpoint_reader *from, asked *a, table *t) {
    t->asked = a;
    t->typed = checkpoint_number(from, 0, 1);
    a->keyed = checkpoint_number(from, 0, 1);
    a->listed = checkpoint_number(from, 0, 1);
    a->method = (bf_quantile_method)checkpoint_number(from, 0, BF_QUANTILE_NORMAL_UNBIASED);
    a->total = checkpoint_number(from, 0, 1);
    a->skip_nulls = checkpoint_number(from, 0, 1);
    a->keys = t->count = (int)checkpoint_number(from, 1, BF_KEY_COLUMNS_MAX);
    t->columns = calloc((size_t)t->count, sizeof *t->columns);
    from->bad = from->bad || !t->columns;
    for (int i = 0; i < t->count && !from->bad; i++) take_key(from, t, i);
    a->values = (int)checkpoint_number(from, 0, ASKED_VALUES);
    for (int i = 0; i < a->values && !from->bad; i++) {
        t->values[i].form = units_take(from);
        t->values[i].column = -1;
    }
    const int results = (int)checkpoint_number(from, 0, OPTIONS_AGGREGATES);
    for (; a->results < results && !from->bad; a->results++) take_result(from, a, t, a->results);
    return !from->bad;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* Column i, of this dtype. */
static bf_status put_column(checkpoint_writer *to, const bf_dictionary *d, int i, bf_dtype dtype) {
    const int64_t n = bf_dictionary_size(d);
    keys_column c = {.bytes = NULL};
    const bf_status st = keys_take_all(d, i, dtype, &c);
    if (st == BF_OK) {
        const size_t each = c.offsets ? 0 : bf_dtype_size(c.numbers.dtype);
        checkpoint_put_bytes(to, c.known, (size_t)n);
        checkpoint_put_bytes(to, c.offsets, c.offsets ? (size_t)(n + 1) * sizeof *c.offsets : 0);
        checkpoint_put_bytes(to, c.bytes, c.offsets ? (size_t)c.offsets[n] : (size_t)n * each);
    }
    keys_free(&c);
    return st;
}

/* A copy of the next bytes; NULL: there are not so many (-1: no matter how many), or no memory. */
static void *take_copy(checkpoint_reader *from, int64_t wanted, size_t *n) {
    const void *at = checkpoint_bytes(from, n);
    from->bad = from->bad || (wanted >= 0 && (int64_t)*n != wanted);
    char *copy = from->bad ? NULL : malloc(*n + 1);
    if (copy && *n > 0) memcpy(copy, at, *n);
    from->bad = from->bad || !copy;
    return copy;
}

static bool offsets_are_good(const int64_t *offsets, int64_t n, size_t bytes) {
    bool good = offsets[0] == 0 && offsets[n] == (int64_t)bytes;
    for (int64_t i = 0; i < n; i++) good = good && offsets[i] <= offsets[i + 1];
    return good;
}

static void take_column(checkpoint_reader *from, bf_dtype dtype, int64_t n, keys_column *c) {
    const bool strings = dtype == BF_NONE;
    const int64_t bytes = strings ? -1 : n * (int64_t)bf_dtype_size(dtype);
    size_t size;
    uint8_t *known = take_copy(from, n, &size);
    for (int64_t i = 0; known && i < n; i++) from->bad = from->bad || known[i] > 1;
    c->known = (bool *)known;
    c->offsets = take_copy(from, strings ? (n + 1) * (int64_t)sizeof *c->offsets : 0, &size);
    c->bytes = take_copy(from, bytes, &size);
    if (strings && !from->bad) from->bad = !offsets_are_good(c->offsets, n, size);
    if (!strings) {
        free(c->offsets);
        c->offsets = NULL;
    }
    if (!from->bad) from->bad = keys_make(c, dtype, n) != BF_OK;
}

/* Keys that are different get the numbers from 0 on. */
static bool encode(bf_dictionary *d, const bf_column *const columns[], int64_t n) {
    return keys_encode(d, columns, n) == BF_OK && bf_dictionary_size(d) == n;
}

static void take_keys(checkpoint_reader *from, numbered *x) {
    const table *t = x->table;
    keys_column all[BF_KEY_COLUMNS_MAX] = {{.bytes = NULL}};
    const bf_column *columns[BF_KEY_COLUMNS_MAX];
    const int64_t n = checkpoint_number(from, 0, INT64_MAX / 64);
    for (int i = 0; i < t->asked->keys && !from->bad; i++) {
        take_column(from, t->columns[t->key_columns[i]].form.dtype, n, &all[i]);
        columns[i] = &all[i].column;
    }
    if (!from->bad) from->bad = !encode(x->dictionary, columns, n);
    for (int i = 0; i < t->asked->keys; i++) keys_free(&all[i]);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bf_status put_library_groups(checkpoint_writer *to, bf_groups *groups) {
    size_t size = 0;
    bf_status st = groups ? bf_groups_save_size(groups, &size) : BF_OK;
    void *room = st == BF_OK ? checkpoint_put_room(to, size) : NULL;
    if (st != BF_OK || size == 0) return st;
    return room ? bf_groups_save(groups, room) : BF_E_MEMORY;
}

/* In place of groups that are empty. NULL of these: there are none. */
static void take_library_groups(checkpoint_reader *from, bf_context *context, bf_groups **groups) {
    size_t n;
    bf_groups *loaded = NULL;
    const void *bytes = checkpoint_bytes(from, &n);
    from->bad = from->bad || (*groups == NULL) != (n == 0);
    if (from->bad || n == 0) return;
    from->bad =
        bf_groups_load(context, bytes, n, &loaded) != BF_OK || !wide_is_same_kind(*groups, loaded);
    if (from->bad) {
        bf_groups_destroy(loaded);
        return;
    }
    bf_groups_destroy(*groups);
    *groups = loaded;
}

static void put_rows(checkpoint_writer *to, const medians *m) {
    checkpoint_put_number(to, m->n);
    checkpoint_put_bytes(to, m->keys, (size_t)m->n * bf_dtype_size(m->key));
    checkpoint_put_bytes(to, m->values, (size_t)m->n * bf_dtype_size(m->form.dtype));
}

/* all: the values are those of all rows, too. */
static void take_rows(checkpoint_reader *from, medians *m, bool all) {
    size_t n;
    m->n = m->room = checkpoint_number(from, 0, INT64_MAX / 64);
    m->keys = take_copy(from, m->n * (int64_t)bf_dtype_size(m->key), &n);
    m->values = take_copy(from, m->n * (int64_t)bf_dtype_size(m->form.dtype), &n);
    if (from->bad) m->n = 0;
    if (all && m->n > 0) from->bad = medians_note_all(m, m->values, m->n) != EXIT_DONE;
}

/* ---- chosen values --------------------------------------------------------------------------- */

/* What counts of values have is that of all parts together. */
static bf_status put_chosen(checkpoint_writer *to, const numbered *x, const chosen *c) {
    chosen_tally counted = {.n = 0};
    bf_status st = c->counts ? numbered_tally(x, c, false, &counted) : BF_OK;
    chosen_settle(&counted);
    checkpoint_put_number(to, c->words ? bf_dictionary_size(c->of) : 0);
    if (c->words && st == BF_OK)
        st = put_column(to, c->of, 0, x->table->values[c->value].form.dtype);
    checkpoint_put_bytes(to, c->groups.list, (size_t)c->groups.room * sizeof *c->groups.list);
    checkpoint_put_bytes(to, c->all.list, (size_t)c->all.room * sizeof *c->all.list);
    checkpoint_put_bytes(to, counted.list, (size_t)counted.n * sizeof *counted.list);
    chosen_free_tally(&counted);
    return st;
}

/* The number of an element of a size; what is behind the last one is bad. */
static int64_t take_list(checkpoint_reader *from, size_t each, void **list) {
    size_t bytes;
    *list = take_copy(from, -1, &bytes);
    from->bad = from->bad || bytes % each != 0;
    return from->bad ? 0 : (int64_t)(bytes / each);
}

/* words: elements are numbers below it; -1: they are any. */
static bool ends_are_good(const chosen_ends *e, int64_t groups, int64_t words) {
    bool good = true;
    for (int64_t i = 0; i < e->room && good; i++) {
        const chosen_end *x = &e->list[i];
        const bool number = words < 0 || (x->first < (uint64_t)words && x->last < (uint64_t)words);
        good = x->first_file == 0 ? x->last_file == 0
                                  : i < groups && number && x->first_file > 0 && x->last_file > 0;
    }
    return good;
}

/* They are settled, of no more rows than there are. */
static bool counts_are_good(const chosen_tally *t, int64_t groups, int64_t words, int64_t most) {
    bool good = true;
    for (int64_t i = 0; i < t->n && good; i++) {
        const chosen_count *x = &t->list[i], *before = x - 1;
        const uint64_t word = x->code ^ UINT64_C(1) << 63;
        good = x->group >= 0 && x->group < groups && x->times > 0 && x->times <= most &&
               (words < 0 || word < (uint64_t)words) &&
               (i == 0 || before->group < x->group ||
                (before->group == x->group && before->code < x->code));
        most -= x->times;
    }
    return good;
}

static void take_words(checkpoint_reader *from, chosen *c, bf_dtype dtype, int64_t n) {
    keys_column words = {.bytes = NULL};
    take_column(from, dtype, n, &words);
    const bf_column *const columns[] = {&words.column};
    from->bad = from->bad || !encode(c->of, columns, n);
    keys_free(&words);
}

static void take_chosen(checkpoint_reader *from, numbered *x, chosen *c) {
    const int64_t groups = bf_dictionary_size(x->dictionary),
                  most = bf_groups_rows(x->part[0].groups);
    const int64_t n = checkpoint_number(from, 0, INT64_MAX / 64), words = c->words ? n : -1;
    void *list;
    if (c->words && !from->bad) take_words(from, c, x->table->values[c->value].form.dtype, n);
    c->groups.room = take_list(from, sizeof *c->groups.list, &list);
    c->groups.list = list;
    c->all.room = take_list(from, sizeof *c->all.list, &list);
    c->all.list = list;
    c->counted.n = c->counted.room = take_list(from, sizeof *c->counted.list, &list);
    c->counted.list = list;
    from->bad = from->bad || !ends_are_good(&c->groups, groups, words) ||
                !ends_are_good(&c->all, 1, words) ||
                !counts_are_good(&c->counted, groups, words, most);
    if (x->table->asked->total && !from->bad) from->bad = chosen_sum_up(c) != BF_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int end_putting(const checkpoint_writer *to, const numbered *x, bf_status st) {
    if (st == BF_OK && to->failed) st = BF_E_MEMORY;
    return st == BF_OK ? EXIT_DONE
                       : fail_status(st, x->table->context, x->table->input->source.name);
}

int saved_put_groups(checkpoint_writer *to, numbered *x) {
    const int code = numbered_flush(x);
    if (code != EXIT_DONE) return code;
    bf_status st = BF_OK;
    checkpoint_put_number(to, x->plain);
    checkpoint_put_number(to, x->numbers_dtype == BF_I64);
    checkpoint_put_number(to, x->plain ? 0 : bf_dictionary_size(x->dictionary));
    for (int i = 0; i < x->table->asked->keys && !x->plain && st == BF_OK; i++)
        st = put_column(to, x->dictionary, i, keys_form(x, i).dtype);
    for (int p = 0; p < x->parts && st == BF_OK; p++) {
        if (x->part[p].chosen >= 0) continue;
        st = put_library_groups(to, x->part[p].groups);
        if (st == BF_OK) st = put_library_groups(to, x->part[p].total);
    }
    for (int k = 0; k < x->kept_count; k++) put_rows(to, &x->kept[k]);
    for (int k = 0; k < x->chosen_count && st == BF_OK; k++) st = put_chosen(to, x, &x->chosen[k]);
    return end_putting(to, x, st);
}

/* Whether the keys of groups are numbers of the dictionary. */
static bool have_numbers(const numbered *x, bf_groups *groups) {
    const int64_t n = bf_groups_size(groups), size = bf_dictionary_size(x->dictionary);
    int64_t *list = calloc((size_t)n + 1, sizeof *list), least = 0, most = 0;
    const bf_array keys = bf_array_of(x->key, list, n);
    bool good = list && bf_groups_list(groups, &keys, NULL) == BF_OK;
    if (good && n > 0 && x->key == BF_I32) {
        least = ((const int32_t *)list)[0];
        most = ((const int32_t *)list)[n - 1];
    } else if (good && n > 0) {
        least = list[0];
        most = list[n - 1];
    }
    free(list);
    return good && least >= 0 && (n == 0 || most < size);
}

/* Whether all rows that are kept are of groups that there are. */
static bool rows_have_numbers(const numbered *x, const medians *m) {
    const int64_t size = bf_dictionary_size(x->dictionary);
    bool good = true;
    for (int64_t i = 0; i < m->n && good; i++) {
        const int64_t number = keys_number_at(x->key, m->keys, i);
        good = number >= 0 && number < size;
    }
    return good;
}

static void check_numbers(checkpoint_reader *from, const numbered *x) {
    bool good =
        x->part[0].groups && bf_groups_size(x->part[0].groups) == bf_dictionary_size(x->dictionary);
    for (int p = 0; p < x->parts && good; p++)
        good = x->part[p].chosen >= 0 || have_numbers(x, x->part[p].groups);
    for (int k = 0; k < x->kept_count && good; k++) good = rows_have_numbers(x, &x->kept[k]);
    from->bad = from->bad || !good;
}

bool saved_take_groups(checkpoint_reader *from, numbered *x) {
    const bool plain = checkpoint_number(from, 0, 1);
    numbered_drop(x);
    x->plain = plain;
    x->numbers_dtype = checkpoint_number(from, 0, 1) ? BF_I64 : BF_I32;
    from->bad =
        from->bad || (plain && x->kept_count > 0) || numbered_make(x) != BF_OK || x->plain != plain;
    if (from->bad) return false;
    if (plain)
        checkpoint_number(from, 0, 0);
    else
        take_keys(from, x);
    for (int p = 0; p < x->parts && !from->bad; p++) {
        if (x->part[p].chosen >= 0) continue;
        take_library_groups(from, x->table->context, &x->part[p].groups);
        take_library_groups(from, x->table->context, &x->part[p].total);
    }
    for (int k = 0; k < x->kept_count && !from->bad; k++)
        take_rows(from, &x->kept[k], x->limited && x->table->asked->total);
    for (int k = 0; k < x->chosen_count && !from->bad; k++) take_chosen(from, x, &x->chosen[k]);
    if (!plain && !from->bad) check_numbers(from, x);
    return !from->bad;
}

int saved_put_whole(checkpoint_writer *to, numbered *x) {
    bf_status st = BF_OK;
    for (int p = 0; p < x->parts && st == BF_OK; p++) st = put_library_groups(to, x->part[p].whole);
    return end_putting(to, x, st);
}

bool saved_take_whole(checkpoint_reader *from, numbered *x) {
    for (int p = 0; p < x->parts && !from->bad; p++)
        take_library_groups(from, x->table->context, &x->part[p].whole);
    return !from->bad;
}
