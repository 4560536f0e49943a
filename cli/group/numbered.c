#include "group/numbered.h"

#include "runtime/progress.h"

#include <stdlib.h>
#include <string.h>

static int failed(const numbered *x, bf_status st) {
    return fail_status(st, x->table->context, x->table->input.source.name);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* The part whose rows have the values of a V: if NULLs are skipped, one of its own. */
static int part_of(numbered *x, int value) {
    const bool skip = x->table->asked->options->input.text.skip_nulls;
    if (!skip) return 0;
    for (int p = 1; p < x->parts; p++)
        if (x->part[p].value == value) return p;
    x->part[x->parts] = (numbered_part){.value = value};
    return x->parts++;
}

static int kept_of(numbered *x, int value) {
    for (int k = 0; k < x->kept_count; k++)
        if (x->kept[k].value == value) return k;
    x->kept[x->kept_count] = (numbered_kept){.value = value};
    return x->kept_count++;
}

/* Finds for each result what has it. */
static void place_results(numbered *x) {
    const asked *a = x->table->asked;
    x->part[0] = (numbered_part){.value = -1};
    x->parts = 1;
    x->kept_count = 0;
    for (int i = 0; i < a->results; i++) {
        const asked_result *r = &a->result[i];
        x->place[i] = (struct numbered_place){0, -1, -1};
        if (asked_reduces(r)) {
            numbered_part *p = &x->part[x->place[i].part = part_of(x, r->value)];
            x->place[i].which = p->count;
            p->value_of[p->count++] = i;
        } else if (r->value >= 0) {
            x->place[i].kept = kept_of(x, r->value);
        }
    }
}

void numbered_open(numbered *x, table *t) {
    *x = (numbered){.table = t, .plain = true};
    place_results(x);
}

static void drop(numbered *x) {
    for (int p = 0; p < x->parts; p++) {
        bf_groups_destroy(x->part[p].groups);
        bf_groups_destroy(x->part[p].total);
        x->part[p].groups = x->part[p].total = NULL;
    }
    for (int k = 0; k < x->kept_count; k++) {
        free(x->kept[k].keys);
        free(x->kept[k].values);
        x->kept[k] = (numbered_kept){.value = x->kept[k].value};
    }
    bf_dictionary_destroy(x->dictionary);
    x->dictionary = NULL;
}

void numbered_close(numbered *x) {
    drop(x);
    free(x->numbers.at);
    free(x->places.at);
    free(x->keys.at);
    for (int i = 0; i < OPTIONS_AGGREGATES; i++) free(x->values[i].at);
}

/* Chooses how keys are told apart: as numbers, if they are of one column of them. */
static bf_status make_keys(numbered *x) {
    const table *t = x->table;
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    for (int i = 0; i < t->asked->keys; i++) dtypes[i] = t->columns[t->key_columns[i]].dtype;
    x->plain = x->plain && t->asked->keys == 1 && dtypes[0] != BF_NONE;
    x->key = x->plain ? dtypes[0] : BF_I64;
    return x->plain ? BF_OK
                    : bf_dictionary_create(t->context, t->asked->keys, dtypes, &x->dictionary);
}

static bf_status make_groups(numbered *x, numbered_part *p) {
    const table *t = x->table;
    const options *o = t->asked->options;
    bf_aggregate aggregates[OPTIONS_AGGREGATES];
    for (int i = 0; i < p->count; i++) {
        const asked_result *r = &t->asked->result[p->value_of[i]];
        aggregates[i] = (bf_aggregate){r->aggregate->op, t->values[r->value].array.dtype};
    }
    bf_groups_options wanted =
        BF_GROUPS_OPTIONS(.key = x->key, .count = p->count, .aggregates = aggregates,
                          .seed = (uint64_t)o->seed);
    bf_status st = bf_groups_create(t->context, &wanted, &p->groups);
    wanted.key = BF_I64;
    return st == BF_OK && o->total ? bf_groups_create(t->context, &wanted, &p->total) : st;
}

/* ---- absorbing ------------------------------------------------------------------------------- */

/* The keys of the groups. plain keys that are NULL: ROWS_RESETTLED. */
static int find_keys(numbered *x, bf_array *keys) {
    const table *t = x->table;
    const bf_column *columns[BF_KEY_COLUMNS_MAX];
    for (int i = 0; i < t->asked->keys; i++)
        columns[i] = &t->columns[t->key_columns[i]].view.column;
    if (x->plain && columns[0]->valid) {
        x->plain = false;
        return ROWS_RESETTLED;
    }
    if (x->plain) {
        *keys = *columns[0]->numbers;
        return EXIT_DONE;
    }
    int64_t *numbers = buffer_take(&x->numbers, (size_t)t->n * sizeof *numbers);
    *keys = bf_array_of(BF_I64, numbers, t->n);
    const bf_status st = numbers ? bf_dictionary_encode(x->dictionary, columns, keys) : BF_E_MEMORY;
    return st == BF_OK ? EXIT_DONE : failed(x, st);
}

/* Keys and values of the rows that have a value. */
typedef struct given {
    int64_t n;
    bf_array keys, values;
} given;

/* Leaves out the rows whose value is NULL. False: there is no memory. */
static bool leave_nulls(numbered *x, int value, const bf_array *keys, given *g) {
    const table_value *v = &x->table->values[value];
    *g = (given){x->table->n, *keys, v->array};
    if (!v->valid) return true;
    int64_t *places = buffer_take(&x->places, (size_t)g->n * sizeof *places), n = 0;
    const size_t key_bytes = bf_dtype_size(keys->dtype), bytes = bf_dtype_size(v->array.dtype);
    void *some_keys = buffer_take(&x->keys, (size_t)g->n * key_bytes);
    void *some = buffer_take(&x->values[value], (size_t)g->n * bytes);
    if (!places || !some_keys || !some) return false;
    for (int64_t i = 0; i < g->n; i++) {
        places[n] = i;
        n += v->valid[i];
    }
    table_pick(some_keys, keys->data, key_bytes, places, n);
    table_pick(some, v->array.data, bytes, places, n);
    *g = (given){n, bf_array_of(keys->dtype, some_keys, n), bf_array_of(v->array.dtype, some, n)};
    return true;
}

static bf_status absorb_part(numbered *x, numbered_part *p, const bf_array *keys) {
    static const int64_t zero = 0;
    const table *t = x->table;
    const bf_array *values[OPTIONS_AGGREGATES];
    given g = {.n = t->n, .keys = *keys};
    if (p->value >= 0 && !leave_nulls(x, p->value, keys, &g)) return BF_E_MEMORY;
    for (int i = 0; i < p->count; i++)
        values[i] =
            p->value >= 0 ? &g.values : &t->values[t->asked->result[p->value_of[i]].value].array;
    bf_status st = bf_groups_absorb(p->groups, &g.keys, p->count > 0 ? values : NULL);
    if (st != BF_OK || !p->total) return st;
    bf_array one = bf_array_of(BF_I64, &zero, g.n);
    one.strides[0] = 0;
    return bf_groups_absorb(p->total, &one, p->count > 0 ? values : NULL);
}

static bool reserve_kept(numbered_kept *k, int64_t n, size_t key_bytes, size_t bytes) {
    if (n <= k->room) return true;
    const int64_t room = n > 2 * k->room ? n : 2 * k->room;
    char *keys = realloc(k->keys, (size_t)room * key_bytes);
    if (keys) k->keys = keys;
    char *values = keys ? realloc(k->values, (size_t)room * bytes) : NULL;
    if (values) k->values = values;
    if (values) k->room = room;
    return values != NULL;
}

static bf_status keep_rows(numbered *x, numbered_kept *k, const bf_array *keys) {
    given g;
    if (!leave_nulls(x, k->value, keys, &g)) return BF_E_MEMORY;
    const size_t key_bytes = bf_dtype_size(keys->dtype), bytes = bf_dtype_size(g.values.dtype);
    if (g.n == 0) return BF_OK;
    if (!reserve_kept(k, k->n + g.n, key_bytes, bytes)) return BF_E_MEMORY;
    memcpy(k->keys + (size_t)k->n * key_bytes, g.keys.data, (size_t)g.n * key_bytes);
    memcpy(k->values + (size_t)k->n * bytes, g.values.data, (size_t)g.n * bytes);
    k->n += g.n;
    return BF_OK;
}

/* Absorbs the rows that the table has taken. */
static int absorb_rows(numbered *x) {
    bf_array keys;
    const int code = find_keys(x, &keys);
    if (code != EXIT_DONE) return code;
    bf_status st = BF_OK;
    for (int p = 0; p < x->parts && st == BF_OK; p++) st = absorb_part(x, &x->part[p], &keys);
    for (int k = 0; k < x->kept_count && st == BF_OK; k++) st = keep_rows(x, &x->kept[k], &keys);
    return st == BF_OK ? EXIT_DONE : failed(x, st);
}

/* Dictionaries do not know the limit of memory. */
static int check_memory(const numbered *x) {
    const memory_plan *m = &x->table->asked->options->memory;
    if (m->limit == 0 || memory_resident() < m->limit - m->results) return EXIT_DONE;
    return fail(EXIT_IO, x->table->input.source.name, "the groups need more than --memory allows");
}

int numbered_absorb(numbered *x) {
    bool end = false;
    drop(x);
    int code = table_begin(x->table);
    bf_status st = code == EXIT_DONE ? make_keys(x) : BF_OK;
    for (int p = 0; p < x->parts && st == BF_OK && code == EXIT_DONE; p++)
        st = make_groups(x, &x->part[p]);
    if (st != BF_OK) code = failed(x, st);
    while (code == EXIT_DONE) {
        code = table_next(x->table, &end);
        if (code != EXIT_DONE || end) break;
        if (x->table->n > 0) code = absorb_rows(x);
        if (code == EXIT_DONE) code = check_memory(x);
    }
    return code;
}
