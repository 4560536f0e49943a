#define _GNU_SOURCE /* strndup */
#include "group/saved.h"

#include "group/keys.h"
#include "memory/large.h"

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

static void put_form(checkpoint_writer *to, units_form form) {
    checkpoint_put_number(to, form.dtype);
    checkpoint_put_number(to, form.scale);
    checkpoint_put_number(to, form.time);
}

/* none: strings go, too. */
static units_form take_form(checkpoint_reader *from, bool none) {
    const bf_dtype dtype = (bf_dtype)checkpoint_number(from, 0, INT32_MAX);
    const int scale = (int)checkpoint_number(from, 0, BF_SCALE_MOST_I128);
    from->bad =
        from->bad || (dtype == BF_NONE ? !none : bf_dtype_size(dtype) == 0) || dtype == BF_PAIR;
    return (units_form){dtype, scale, (bf_time_kind)checkpoint_number(from, 0, BF_TIME_UTC)};
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
        put_form(to, (units_form){c->dtype, c->scale, c->time});
    }
    checkpoint_put_number(to, a->values);
    for (int i = 0; i < a->values; i++) {
        const table_value *v = &t->values[i];
        put_form(to, (units_form){v->array.dtype, v->scale, v->time});
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
    const units_form form = take_form(from, true);
    c->dtype = form.dtype;
    c->scale = form.scale;
    c->time = form.time;
    t->key_columns[i] = i;
}

static void take_result(checkpoint_reader *from, asked *a, int i) {
    struct wanted_aggregate *w = &a->own[i];
    asked_result *r = &a->result[i];
    size_t n;
    r->name = take_text(from);
    r->value = (int)checkpoint_number(from, -1, a->values - 1);
    w->op = (bf_reduction)checkpoint_number(from, 0, INT32_MAX);
    w->order = (enum wanted_order)checkpoint_number(from, 0, SHARE_OF_SUM);
    const void *percent = checkpoint_bytes(from, &n);
    if (percent && n == sizeof w->percent) memcpy(&w->percent, percent, n);
    r->aggregate = r->value < 0 ? NULL : w;
    from->bad = from->bad || (r->aggregate && n != sizeof w->percent) ||
                !(w->percent >= 0 && w->percent <= 100) ||
                (w->order == SHARE_OF_SUM && w->op != BF_SUM);
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
    a->values = (int)checkpoint_number(from, 0, OPTIONS_AGGREGATES);
    for (int i = 0; i < a->values && !from->bad; i++) {
        const units_form form = take_form(from, false);
        t->values[i].array.dtype = form.dtype;
        t->values[i].scale = form.scale;
        t->values[i].time = form.time;
        t->values[i].column = -1;
    }
    const int results = (int)checkpoint_number(from, 0, OPTIONS_AGGREGATES);
    for (; a->results < results && !from->bad; a->results++) take_result(from, a, a->results);
    return !from->bad;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bf_status put_keys(checkpoint_writer *to, const numbered *x, int i) {
    const int64_t n = bf_dictionary_size(x->dictionary);
    keys_column c = {.bytes = NULL};
    int64_t *numbers = malloc((size_t)(n + 1) * sizeof *numbers);
    const bf_array all = bf_array_of(BF_I64, numbers, n);
    for (int64_t k = 0; numbers && k < n; k++) numbers[k] = k;
    const bf_status st = numbers ? keys_take(x, i, &all, &c) : BF_E_MEMORY;
    if (st == BF_OK) {
        const size_t each = c.offsets ? 0 : bf_dtype_size(c.numbers.dtype);
        checkpoint_put_bytes(to, c.known, (size_t)n);
        checkpoint_put_bytes(to, c.offsets, c.offsets ? (size_t)(n + 1) * sizeof *c.offsets : 0);
        checkpoint_put_bytes(to, c.bytes, c.offsets ? (size_t)c.offsets[n] : (size_t)n * each);
    }
    keys_free(&c);
    free(numbers);
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
static bool encode(numbered *x, const bf_column *const columns[], int64_t n) {
    int64_t *numbers = malloc((size_t)(n + 1) * sizeof *numbers);
    const bf_array all = bf_array_of(BF_I64, numbers, n);
    const bf_status st = numbers ? bf_dictionary_encode(x->dictionary, columns, &all) : BF_E_MEMORY;
    free(numbers);
    return st == BF_OK && bf_dictionary_size(x->dictionary) == n;
}

static void take_keys(checkpoint_reader *from, numbered *x) {
    const table *t = x->table;
    keys_column all[BF_KEY_COLUMNS_MAX] = {{.bytes = NULL}};
    const bf_column *columns[BF_KEY_COLUMNS_MAX];
    const int64_t n = checkpoint_number(from, 0, INT64_MAX / 64);
    for (int i = 0; i < t->asked->keys && !from->bad; i++) {
        take_column(from, t->columns[t->key_columns[i]].dtype, n, &all[i]);
        columns[i] = &all[i].column;
    }
    if (!from->bad) from->bad = !encode(x, columns, n);
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

static bool are_alike(const bf_groups *a, const bf_groups *b) {
    bf_groups_options x = {.size = sizeof x}, y = {.size = sizeof y};
    bf_groups_describe(a, &x);
    bf_groups_describe(b, &y);
    bool alike = x.key == y.key && x.count == y.count;
    for (int i = 0; i < x.count && alike; i++)
        alike = x.aggregates[i].op == y.aggregates[i].op &&
                x.aggregates[i].dtype == y.aggregates[i].dtype;
    return alike;
}

/* In place of groups that are empty. NULL of these: there are none. */
static void take_library_groups(checkpoint_reader *from, bf_context *context, bf_groups **groups) {
    size_t n;
    bf_groups *loaded = NULL;
    const void *bytes = checkpoint_bytes(from, &n);
    from->bad = from->bad || (*groups == NULL) != (n == 0);
    if (from->bad || n == 0) return;
    from->bad = bf_groups_load(context, bytes, n, &loaded) != BF_OK || !are_alike(*groups, loaded);
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
    checkpoint_put_bytes(to, m->values, (size_t)m->n * bf_dtype_size(m->dtype));
}

/* all: the values are those of all rows, too. */
static void take_rows(checkpoint_reader *from, medians *m, bool all) {
    size_t n;
    m->n = m->room = checkpoint_number(from, 0, INT64_MAX / 64);
    m->keys = take_copy(from, m->n * (int64_t)bf_dtype_size(m->key), &n);
    m->values = take_copy(from, m->n * (int64_t)bf_dtype_size(m->dtype), &n);
    if (from->bad) m->n = 0;
    if (all && m->n > 0) from->bad = medians_note_all(m, m->values, m->n) != EXIT_DONE;
}

int saved_put_groups(checkpoint_writer *to, numbered *x) {
    const int code = numbered_flush(x);
    if (code != EXIT_DONE) return code;
    bf_status st = BF_OK;
    checkpoint_put_number(to, x->plain);
    checkpoint_put_number(to, x->numbers_dtype == BF_I64);
    checkpoint_put_number(to, x->plain ? 0 : bf_dictionary_size(x->dictionary));
    for (int i = 0; i < x->table->asked->keys && !x->plain && st == BF_OK; i++)
        st = put_keys(to, x, i);
    for (int p = 0; p < x->parts && st == BF_OK; p++) {
        st = put_library_groups(to, x->part[p].groups);
        if (st == BF_OK) st = put_library_groups(to, x->part[p].total);
    }
    for (int k = 0; k < x->kept_count; k++) put_rows(to, &x->kept[k]);
    if (st == BF_OK && to->failed) st = BF_E_MEMORY;
    return st == BF_OK ? EXIT_DONE
                       : fail_status(st, x->table->context, x->table->input->source.name);
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
    for (int p = 0; p < x->parts && good; p++) good = have_numbers(x, x->part[p].groups);
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
        take_library_groups(from, x->table->context, &x->part[p].groups);
        take_library_groups(from, x->table->context, &x->part[p].total);
    }
    for (int k = 0; k < x->kept_count && !from->bad; k++)
        take_rows(from, &x->kept[k], x->limited && x->table->asked->total);
    if (!plain && !from->bad) check_numbers(from, x);
    return !from->bad;
}
