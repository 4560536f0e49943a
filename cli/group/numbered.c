#include "group/numbered.h"

#include "memory/large.h"
#include "runtime/progress.h"

#include <stdlib.h>
#include <string.h>

/* Rows that are absorbed together: of few groups; for each of many groups, at least; at most. With
 * a limit of memory, no fewer than BATCH_LEAST. */
enum { BATCH = 1 << 16, BATCH_SHARE = 1 << 5, BATCH_MOST = 1 << 24, BATCH_LEAST = 1 << 12 };

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

static int column_of(numbered_part *p, int value) {
    for (int c = 0; c < p->columns; c++)
        if (p->of[c] == value) return c;
    p->of[p->columns] = value;
    return p->columns++;
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
            p->column[p->count] = column_of(p, r->value);
            p->result[p->count++] = i;
        } else if (r->value >= 0) {
            x->place[i].kept = kept_of(x, r->value);
        }
    }
}

void numbered_open(numbered *x, table *t) {
    *x = (numbered){.table = t, .plain = true};
    place_results(x);
}

static void drop_part(numbered_part *p) {
    bf_groups_destroy(p->groups);
    bf_groups_destroy(p->total);
    p->groups = p->total = NULL;
    free(p->keys);
    p->keys = NULL;
    for (int c = 0; c < p->columns; c++) {
        free(p->values[c]);
        p->values[c] = NULL;
    }
    p->n = p->room = 0;
}

static void drop(numbered *x) {
    for (int p = 0; p < x->parts; p++) drop_part(&x->part[p]);
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
}

/* Chooses how keys are told apart: as numbers, if they are of one column of them. */
static bf_status make_keys(numbered *x) {
    const table *t = x->table;
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    for (int i = 0; i < t->asked->keys; i++) dtypes[i] = t->columns[t->key_columns[i]].dtype;
    x->plain = x->plain && t->asked->keys == 1 && dtypes[0] != BF_NONE;
    x->key = x->plain ? dtypes[0] : BF_I32;
    return x->plain ? BF_OK
                    : bf_dictionary_create(t->context, t->asked->keys, dtypes, &x->dictionary);
}

static bf_status make_groups(numbered *x, numbered_part *p) {
    const table *t = x->table;
    const options *o = t->asked->options;
    bf_aggregate aggregates[OPTIONS_AGGREGATES];
    for (int i = 0; i < p->count; i++) {
        const asked_result *r = &t->asked->result[p->result[i]];
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
    int32_t *numbers = buffer_take(&x->numbers, (size_t)t->n * sizeof *numbers);
    *keys = bf_array_of(BF_I32, numbers, t->n);
    const bf_status st = numbers ? bf_dictionary_encode(x->dictionary, columns, keys) : BF_E_MEMORY;
    return st == BF_OK ? EXIT_DONE : failed(x, st);
}

/* The rows that have a value of a V: *places becomes NULL if all do. -1: there is no memory. */
static int64_t find_places(numbered *x, int value, const int64_t **places) {
    const uint8_t *valid = value < 0 ? NULL : x->table->values[value].valid;
    int64_t n = 0, *list = NULL;
    *places = NULL;
    if (!valid) return x->table->n;
    *places = list = buffer_take(&x->places, (size_t)x->table->n * sizeof *list);
    for (int64_t i = 0; list && i < x->table->n; i++) {
        list[n] = i;
        n += valid[i];
    }
    return list ? n : -1;
}

/* Copies n elements from number `first` on of those at the places. */
static void copy_elements(char *to, const bf_array *from, const int64_t *places, int64_t first,
                          int64_t n) {
    const size_t bytes = bf_dtype_size(from->dtype);
    if (places)
        table_pick(to, from->data, bytes, places + first, n);
    else
        memcpy(to, (const char *)from->data + (size_t)first * bytes, (size_t)n * bytes);
}

/* Absorbs the rows that wait. */
static bf_status absorb_waiting(numbered *x, numbered_part *p) {
    static const int64_t zero = 0;
    bf_array arrays[OPTIONS_AGGREGATES], one = bf_array_of(BF_I64, &zero, p->n);
    const bf_array keys = bf_array_of(x->key, p->keys, p->n), *values[OPTIONS_AGGREGATES],
                   **given = p->count > 0 ? values : NULL;
    if (p->n == 0) return BF_OK;
    one.strides[0] = 0;
    for (int c = 0; c < p->columns; c++)
        arrays[c] = bf_array_of(x->table->values[p->of[c]].array.dtype, p->values[c], p->n);
    for (int i = 0; i < p->count; i++) values[i] = &arrays[p->column[i]];
    p->n = 0;
    const bf_status st = bf_groups_absorb(p->groups, &keys, given);
    return st == BF_OK && p->total ? bf_groups_absorb(p->total, &one, given) : st;
}

/* About how many groups there will be: as long as most rows bring a new key, judged by how many
 * have met their group. Of r rows of m random keys, about r^2 / 2m have. */
static int64_t groups_to_come(const bf_groups *groups) {
    const int64_t n = bf_groups_rows(groups), met = n - bf_groups_size(groups);
    if (met > n / 2) return n - met;
    const double random = (double)n * (double)n / (2.0 * (double)met + 1);
    return random < BATCH_MOST ? (int64_t)random : BATCH_MOST;
}

/* The rows that are absorbed together: of few groups, what stays in a cache; of many, as many more,
 * for all groups that there are are looked at then. */
static int64_t batch_of(const numbered *x, const numbered_part *p) {
    const memory_plan *m = &x->table->asked->options->memory;
    const int64_t most = m->limit == 0 ? BATCH_MOST : m->results / (64 * (p->columns + 1));
    const int64_t wanted = BATCH_SHARE * groups_to_come(p->groups);
    int64_t n = BATCH;
    while (n < wanted && n < BATCH_MOST) n *= 2;
    return n < most ? n : most > BATCH_LEAST ? most : BATCH_LEAST;
}

/* Makes room for a batch; what waits is lost. */
static bool reserve_batch(const numbered *x, numbered_part *p) {
    const int64_t room = batch_of(x, p);
    if (room <= p->room) return true;
    free(p->keys);
    p->keys = large_allocate((size_t)room * bf_dtype_size(x->key));
    bool good = p->keys != NULL;
    for (int c = 0; c < p->columns; c++) {
        free(p->values[c]);
        p->values[c] =
            large_allocate((size_t)room * bf_dtype_size(x->table->values[p->of[c]].array.dtype));
        good = good && p->values[c];
    }
    p->room = good ? room : 0;
    return good;
}

static bf_status add_rows(numbered *x, numbered_part *p, const bf_array *keys) {
    const int64_t *places, n = find_places(x, p->value, &places);
    bf_status st = n < 0 ? BF_E_MEMORY : BF_OK;
    for (int64_t first = 0, some; first < n && st == BF_OK; first += some) {
        if (p->n == p->room) st = absorb_waiting(x, p);
        if (st != BF_OK) return st;
        if (p->n == 0 && !reserve_batch(x, p)) return BF_E_MEMORY;
        some = n - first < p->room - p->n ? n - first : p->room - p->n;
        copy_elements(p->keys + (size_t)p->n * bf_dtype_size(x->key), keys, places, first, some);
        for (int c = 0; c < p->columns; c++) {
            const bf_array *of = &x->table->values[p->of[c]].array;
            copy_elements(p->values[c] + (size_t)p->n * bf_dtype_size(of->dtype), of, places, first,
                          some);
        }
        p->n += some;
    }
    return st;
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
    const bf_array *of = &x->table->values[k->value].array;
    const size_t key_bytes = bf_dtype_size(keys->dtype), bytes = bf_dtype_size(of->dtype);
    const int64_t *places, n = find_places(x, k->value, &places);
    if (n < 0 || !reserve_kept(k, k->n + n, key_bytes, bytes)) return BF_E_MEMORY;
    if (n == 0) return BF_OK;
    copy_elements(k->keys + (size_t)k->n * key_bytes, keys, places, 0, n);
    copy_elements(k->values + (size_t)k->n * bytes, of, places, 0, n);
    k->n += n;
    return BF_OK;
}

/* Absorbs the rows that the table has taken. */
static int absorb_rows(numbered *x) {
    bf_array keys;
    const int code = find_keys(x, &keys);
    if (code != EXIT_DONE) return code;
    bf_status st = BF_OK;
    for (int p = 0; p < x->parts && st == BF_OK; p++) st = add_rows(x, &x->part[p], &keys);
    for (int k = 0; k < x->kept_count && st == BF_OK; k++) st = keep_rows(x, &x->kept[k], &keys);
    return st == BF_OK ? EXIT_DONE : failed(x, st);
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
    }
    for (int p = 0; p < x->parts && code == EXIT_DONE && st == BF_OK; p++) {
        st = absorb_waiting(x, &x->part[p]);
        if (st != BF_OK) code = failed(x, st);
    }
    return code;
}
