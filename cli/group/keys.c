#include "group/keys.h"

#include "runtime/info.h"

#include <stdlib.h>
#include <string.h>

static table_column *column_of(const numbered *x, int i) {
    return &x->table->columns[x->table->key_columns[i]];
}

units_form keys_form(const numbered *x, int i) { return column_of(x, i)->form; }

/* ---- columns --------------------------------------------------------------------------------- */

void keys_free(keys_column *c) {
    free(c->bytes);
    free(c->offsets);
    free(c->known);
    free(c->valid);
    *c = (keys_column){.bytes = NULL};
}

bf_status keys_make(keys_column *c, bf_dtype dtype, int64_t n) {
    c->valid = calloc((size_t)n / 8 + 1, 1);
    if (!c->valid) return BF_E_MEMORY;
    for (int64_t i = 0; i < n; i++) c->valid[i / 8] |= (uint8_t)(c->known[i] << i % 8);
    c->numbers = bf_array_of(dtype, c->bytes, n);
    c->strings = (bf_strings){sizeof(bf_strings), n, BF_I64, c->offsets, c->bytes};
    c->column = (bf_column){.size = sizeof c->column, .valid = c->valid};
    if (c->offsets)
        c->column.strings = &c->strings;
    else
        c->column.numbers = &c->numbers;
    return BF_OK;
}

static bf_status take_strings(const bf_dictionary *d, int i, const bf_array *numbers, int64_t n,
                              keys_column *c) {
    c->offsets = calloc((size_t)n + 1, sizeof *c->offsets);
    if (!c->offsets) return BF_E_MEMORY;
    const bf_array offsets = bf_array_of(BF_I64, c->offsets, n + 1),
                   known = bf_array_of(BF_BOOL, c->known, n);
    bf_status st = bf_dictionary_strings(d, i, numbers, &offsets, NULL, 0, NULL);
    const int64_t room = c->offsets[n];
    if (st == BF_OK) c->bytes = malloc((size_t)room + 1);
    if (st == BF_OK && !c->bytes) st = BF_E_MEMORY;
    return st == BF_OK ? bf_dictionary_strings(d, i, numbers, &offsets, c->bytes, room, &known)
                       : st;
}

static bf_status take_numbers(const bf_dictionary *d, int i, bf_dtype dtype,
                              const bf_array *numbers, int64_t n, keys_column *c) {
    c->bytes = malloc((size_t)(n + 1) * bf_dtype_size(dtype));
    if (!c->bytes) return BF_E_MEMORY;
    const bf_array values = bf_array_of(dtype, c->bytes, n),
                   known = bf_array_of(BF_BOOL, c->known, n);
    return bf_dictionary_values(d, i, numbers, &values, &known);
}

/* Takes a column of n keys; numbers NULL: of the first. */
static bf_status take_column(const bf_dictionary *d, int i, bf_dtype dtype, const bf_array *numbers,
                             int64_t n, keys_column *c) {
    *c = (keys_column){.known = calloc((size_t)n + 1, 1)};
    if (!c->known) return BF_E_MEMORY;
    const bf_status st = dtype == BF_NONE ? take_strings(d, i, numbers, n, c)
                                          : take_numbers(d, i, dtype, numbers, n, c);
    return st == BF_OK ? keys_make(c, dtype, n) : st;
}

/* Takes column i of the n keys that have these numbers (BF_I64). */
static bf_status take_numbered(const numbered *x, int i, const bf_array *numbers, keys_column *c) {
    return take_column(x->dictionary, i, column_of(x, i)->form.dtype, numbers, numbers->shape[0],
                       c);
}

bf_status keys_take_all(const bf_dictionary *d, int i, bf_dtype dtype, keys_column *c) {
    return take_column(d, i, dtype, NULL, bf_dictionary_size(d), c);
}

bf_status keys_encode(bf_dictionary *d, const bf_column *const columns[], int64_t n) {
    int64_t *numbers = malloc((size_t)(n + 1) * sizeof *numbers);
    const bf_array all = bf_array_of(BF_I64, numbers, n);
    const bf_status st = numbers ? bf_dictionary_encode(d, columns, &all) : BF_E_MEMORY;
    free(numbers);
    return st;
}

bf_status keys_bring_column(keys_column *c, units_form from, units_form to) {
    const int64_t n = c->numbers.shape[0];
    if (c->offsets || units_are_same(from, to)) return BF_OK;
    char *wide = malloc((size_t)(n + 1) * bf_dtype_size(to.dtype));
    if (!wide) return BF_E_MEMORY;
    const bool good = units_bring(from, c->bytes, n, to, wide);
    free(c->bytes);
    c->bytes = wide;
    c->numbers = bf_array_of(to.dtype, wide, n);
    return good ? BF_OK : BF_E_OVERFLOW;
}

/* ---- numbers --------------------------------------------------------------------------------- */

int64_t keys_number_at(bf_dtype dtype, const void *numbers, int64_t i) {
    return dtype == BF_I32 ? ((const int32_t *)numbers)[i] : ((const int64_t *)numbers)[i];
}

static void put_number(bf_dtype dtype, void *numbers, int64_t i, int64_t number) {
    if (dtype == BF_I32)
        ((int32_t *)numbers)[i] = (int32_t)number;
    else
        ((int64_t *)numbers)[i] = number;
}

/* Gives the groups these numbers, in their order. */
static bf_status give_numbers(const numbered *x, bf_groups *groups, const int64_t numbers[]) {
    const int64_t n = bf_groups_size(groups);
    void *own = malloc((size_t)(n + 1) * bf_dtype_size(x->key));
    if (!own) return BF_E_MEMORY;
    for (int64_t i = 0; i < n; i++) put_number(x->key, own, i, numbers[i]);
    const bf_array all = bf_array_of(x->key, own, n);
    const bf_status st = bf_groups_renumber(groups, &all);
    free(own);
    return st;
}

/* The keys of groups, which are numbers; NULL: *st says why not. */
static int64_t *list_numbers(bf_groups *groups, bf_status *st) {
    const bf_groups_options kind = groups_kind(groups);
    const int64_t n = bf_groups_size(groups);
    int64_t *numbers = malloc((size_t)(n + 1) * sizeof *numbers);
    char *keys = malloc((size_t)(n + 1) * bf_dtype_size(kind.key));
    const bf_array list = bf_array_of(kind.key, keys, n);
    *st = numbers && keys ? bf_groups_list(groups, &list, NULL) : BF_E_MEMORY;
    for (int64_t i = 0; i < n && *st == BF_OK; i++) numbers[i] = keys_number_at(kind.key, keys, i);
    free(keys);
    if (*st == BF_OK) return numbers;
    free(numbers);
    return NULL;
}

static bf_status renumber_groups(const numbered *x, bf_groups *groups, const int64_t to[]) {
    bf_status st;
    int64_t *numbers = list_numbers(groups, &st);
    for (int64_t i = 0; numbers && i < bf_groups_size(groups); i++) {
        numbers[i] = to[numbers[i]];
        if (numbers[i] < 0) st = BF_E_STATE;
    }
    if (st == BF_OK) st = give_numbers(x, groups, numbers);
    free(numbers);
    return st;
}

/* ---- another dictionary ---------------------------------------------------------------------- */

/* Gives rows that are kept other keys. */
static bf_status number_rows(const numbered *x, medians *m, const int64_t numbers[]) {
    char *keys = malloc((size_t)(m->n + 1) * bf_dtype_size(x->key));
    if (!keys) return BF_E_MEMORY;
    for (int64_t i = 0; i < m->n; i++) put_number(x->key, keys, i, numbers[i]);
    free(m->keys);
    m->keys = keys;
    m->key = x->key;
    m->room = m->n;
    return BF_OK;
}

/* Numbers keys that were taken as they are; the numbers are to be freed. */
static bf_status encode_plain(bf_dictionary *d, const void *keys, int64_t n, units_form from,
                              units_form to, int64_t **numbers) {
    keys_column c = {.known = malloc((size_t)n + 1), .bytes = malloc((size_t)(n + 1) * 16)};
    *numbers = malloc((size_t)(n + 1) * sizeof **numbers);
    bf_status st = c.known && c.bytes && *numbers ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK) {
        memset(c.known, 1, (size_t)n);
        if (n > 0) memcpy(c.bytes, keys, (size_t)n * bf_dtype_size(from.dtype));
        st = keys_make(&c, from.dtype, n);
    }
    if (st == BF_OK) st = keys_bring_column(&c, from, to);
    const bf_column *const columns[] = {&c.column};
    const bf_array all = bf_array_of(BF_I64, *numbers, n);
    if (st == BF_OK) st = bf_dictionary_encode(d, columns, &all);
    keys_free(&c);
    return st;
}

static bf_status number_plain_groups(numbered *x, bf_groups *groups, bf_dictionary *d,
                                     units_form from, units_form to) {
    const int64_t n = bf_groups_size(groups);
    int64_t *numbers = NULL;
    char *keys = malloc((size_t)(n + 1) * bf_dtype_size(from.dtype));
    const bf_array list = bf_array_of(from.dtype, keys, n);
    bf_status st = keys ? bf_groups_list(groups, &list, NULL) : BF_E_MEMORY;
    if (st == BF_OK) st = encode_plain(d, keys, n, from, to, &numbers);
    if (st == BF_OK) st = give_numbers(x, groups, numbers);
    free(keys);
    free(numbers);
    return st;
}

static bf_status number_plain(numbered *x, bf_dictionary *d, units_form to) {
    const units_form from = keys_form(x, 0);
    bf_status st = BF_OK;
    x->key = x->numbers_dtype;
    for (int p = 0; p < x->parts && st == BF_OK; p++)
        st = number_plain_groups(x, x->part[p].groups, d, from, to);
    for (int k = 0; k < x->kept_count && st == BF_OK; k++) {
        int64_t *numbers = NULL;
        st = encode_plain(d, x->kept[k].keys, x->kept[k].n, from, to, &numbers);
        if (st == BF_OK) st = number_rows(x, &x->kept[k], numbers);
        free(numbers);
    }
    return st;
}

/* Writes to map[number] the number that a group's key has in another dictionary. */
static bf_status encode_again(const numbered *x, bf_dictionary *d, const units_form to[],
                              int64_t map[]) {
    keys_column all[BF_KEY_COLUMNS_MAX] = {{.bytes = NULL}};
    const bf_column *columns[BF_KEY_COLUMNS_MAX];
    const int keys = x->table->asked->keys;
    const int64_t n = bf_groups_size(x->part[0].groups);
    bf_status st;
    int64_t *numbers = list_numbers(x->part[0].groups, &st), *encoded = NULL;
    const bf_array old = bf_array_of(BF_I64, numbers, n);
    for (int i = 0; i < keys && st == BF_OK; i++) {
        st = take_numbered(x, i, &old, &all[i]);
        if (st == BF_OK) st = keys_bring_column(&all[i], keys_form(x, i), to[i]);
        columns[i] = &all[i].column;
    }
    if (st == BF_OK) encoded = malloc((size_t)(n + 1) * sizeof *encoded);
    const bf_array fresh = bf_array_of(BF_I64, encoded, n);
    if (st == BF_OK) st = encoded ? bf_dictionary_encode(d, columns, &fresh) : BF_E_MEMORY;
    for (int64_t i = 0; i < n && st == BF_OK; i++) map[numbers[i]] = encoded[i];
    for (int i = 0; i < keys; i++) keys_free(&all[i]);
    free(numbers);
    free(encoded);
    return st;
}

static bf_status renumber_rows(const numbered *x, medians *m, const int64_t to[]) {
    int64_t *numbers = malloc((size_t)(m->n + 1) * sizeof *numbers);
    if (!numbers) return BF_E_MEMORY;
    bf_status st = BF_OK;
    for (int64_t i = 0; i < m->n; i++) {
        numbers[i] = to[keys_number_at(m->key, m->keys, i)];
        if (numbers[i] < 0) st = BF_E_STATE;
    }
    if (st == BF_OK) st = number_rows(x, m, numbers);
    free(numbers);
    return st;
}

bf_status keys_renumber(numbered *x, const int64_t to[]) {
    bf_status st = BF_OK;
    for (int p = 0; p < x->parts && st == BF_OK; p++)
        if (x->part[p].chosen < 0) st = renumber_groups(x, x->part[p].groups, to);
    for (int k = 0; k < x->kept_count && st == BF_OK; k++) st = renumber_rows(x, &x->kept[k], to);
    for (int k = 0; k < x->chosen_count && st == BF_OK; k++)
        st = chosen_renumber(&x->chosen[k], to);
    return st;
}

static bf_status number_again(numbered *x, bf_dictionary *d, const units_form to[]) {
    const int64_t n = bf_dictionary_size(x->dictionary);
    int64_t *map = malloc((size_t)(n + 1) * sizeof *map);
    for (int64_t i = 0; map && i < n; i++) map[i] = -1;
    bf_status st = map ? encode_again(x, d, to, map) : BF_E_MEMORY;
    if (st == BF_OK) st = keys_renumber(x, map);
    free(map);
    return st;
}

bf_status keys_bring(numbered *x, const units_form to[]) {
    const int keys = x->table->asked->keys;
    bf_dtype dtypes[BF_KEY_COLUMNS_MAX];
    bf_dictionary *made = NULL;
    for (int i = 0; i < keys; i++) dtypes[i] = to[i].dtype;
    bf_status st = bf_dictionary_create(x->table->context, keys, dtypes, &made);
    if (st == BF_OK) st = x->plain ? number_plain(x, made, to[0]) : number_again(x, made, to);
    bf_dictionary_destroy(st == BF_OK ? x->dictionary : made);
    if (st != BF_OK) return st;
    x->dictionary = made;
    x->plain = false;
    for (int i = 0; i < keys; i++) column_of(x, i)->form = to[i];
    return st;
}
