#include "group/rest.h"

#include "memory/key.h"

#include <string.h>
#include <sys/random.h>

/* Bytes that are read at once, at least and at most. */
enum { READ_LEAST = 1 << 14, READ_MOST = 1 << 20 };

/* The columns of a row. */
enum { COLUMNS = BF_KEY_COLUMNS_MAX + ASKED_VALUES };

static int no_memory(const table *t) { return fail_memory(t->input->source.name); }

static table_column *key_of(const table *t, int i) { return &t->columns[t->key_columns[i]]; }

static int64_t share_of(const table *t, int part) {
    return t->asked->options->memory.results / part;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static packed_column pack_key(const table_column *c) {
    const rows_view *v = &c->view;
    return (packed_column){.dtype = c->form.dtype,
                           .strings = c->form.dtype == BF_NONE,
                           .numbers = v->numbers.data,
                           .offsets = v->strings.offsets,
                           .bytes = v->strings.bytes,
                           .valid = v->column.valid,
                           .first = v->column.first};
}

/* The columns of the rows at hand. */
static int find_columns(const table *t, packed_column columns[COLUMNS]) {
    const asked *a = t->asked;
    for (int i = 0; i < a->keys; i++) columns[i] = pack_key(key_of(t, i));
    for (int i = 0; i < a->values; i++) {
        const table_value *v = &t->values[i];
        columns[a->keys + i] = (packed_column){.dtype = v->form.dtype,
                                               .strings = v->form.dtype == BF_NONE,
                                               .numbers = v->array.data,
                                               .offsets = v->strings.offsets,
                                               .bytes = v->strings.bytes,
                                               .known = v->valid};
    }
    return a->keys + a->values;
}

int rest_open(rest *r, const table *t) {
    static const int byte = 1;
    packed_column columns[COLUMNS];
    *r = (rest){.rows = {.of = &r->packed, .piles = &r->piles, .pile = -1}};
    piles_open(&r->piles, 0, 1, &byte, share_of(t, 8));
    if (getrandom(&r->seed, sizeof r->seed, GRND_NONBLOCK) < 0) r->seed = (uintptr_t)r;
    const int count = find_columns(t, columns);
    return packed_open(&r->packed, columns, count) ? EXIT_DONE : no_memory(t);
}

void rest_close(rest *r) {
    piles_close(&r->piles);
    packed_close(&r->packed);
    packed_rows_close(&r->rows);
}

static uint64_t mix_string(uint64_t hash, const packed_column *c, int64_t row) {
    return key_mix_string(hash, c->bytes + c->offsets[row],
                          (size_t)(c->offsets[row + 1] - c->offsets[row]));
}

/* Mixes n keys of a column into their hashes: equal keys have one. What is NULL has number 0 and an
 * empty string. */
static void mix_keys(uint64_t hash[], const packed_column *c, int64_t first, int64_t n) {
    for (int64_t i = 0; i < n && c->valid; i++)
        if (!text_has_bit(c->valid, c->first + first + i)) hash[i] = key_mix(hash[i], 1);
    for (int64_t i = 0; i < n && c->strings; i++) hash[i] = mix_string(hash[i], c, first + i);
    if (c->strings) return;
    const char *const numbers = c->numbers;
    key_mix_numbers(hash, c->dtype, numbers + (size_t)first * bf_dtype_size(c->dtype), n);
}

/* Adds those of up to PACKED_MOST rows whose numbers are negative. */
static int add_some(rest *r, const packed_column columns[], int keys, const int64_t numbers[],
                    int64_t first, int64_t n) {
    uint64_t hash[PACKED_MOST];
    uint8_t which[PACKED_MOST];
    int64_t places[PACKED_MOST], some = 0;
    for (int64_t i = 0; i < n; i++) hash[i] = r->seed;
    for (int k = 0; k < keys; k++) mix_keys(hash, &columns[k], first, n);
    for (int64_t i = 0; i < n; i++) {
        places[some] = first + i;
        which[some] = (uint8_t)key_share(hash[i], r->piles.count);
        some += numbers[first + i] < 0;
    }
    return packed_add(&r->packed, &r->piles, which, columns, places, some);
}

int rest_add(rest *r, const table *t, const int64_t numbers[]) {
    packed_column columns[COLUMNS];
    int code = EXIT_DONE;
    find_columns(t, columns);
    for (int64_t at = 0; at < t->n && code == EXIT_DONE; at += PACKED_MOST) {
        const int64_t n = t->n - at < PACKED_MOST ? t->n - at : PACKED_MOST;
        code = add_some(r, columns, t->asked->keys, numbers, at, n);
    }
    return code;
}

int rest_end(rest *r) { return piles_end(&r->piles); }

/* ---- piles ----------------------------------------------------------------------------------- */

bool rest_next_pile(rest *r) {
    packed_rows *x = &r->rows;
    x->at = 0;
    do x->pile++;
    while (x->pile < r->piles.count && r->piles.all[x->pile].rows == 0);
    return x->pile < r->piles.count;
}

void rest_again(rest *r) { r->rows.at = 0; }

void rest_empty(rest *r) { piles_empty(&r->piles, r->rows.pile); }

/* ---- reading --------------------------------------------------------------------------------- */

static bool take_key(const packed_rows *r, int i, table_column *c) {
    const bool strings = c->form.dtype == BF_NONE;
    return table_unpack(r, i, c->form.dtype, strings, &c->memory, &c->view);
}

static bool take_value(const packed_rows *r, int column, table_value *v) {
    const bf_dtype dtype = v->form.dtype;
    uint8_t *known = buffer_take(&v->bytes, (size_t)r->n);
    const bool good = dtype == BF_NONE
                          ? packed_strings(r, column, &v->numbers, &v->text, &v->strings)
                          : packed_numbers(r, column, &v->numbers);
    if (!known || !good) return false;
    for (int64_t i = 0; i < r->n; i++) known[i] = !packed_is_null(r, column, i);
    v->valid = memchr(known, 0, (size_t)r->n) ? known : NULL;
    v->array = bf_array_of(dtype, v->numbers.at, r->n);
    return true;
}

int rest_read(rest *r, table *t, bool *end) {
    const int64_t share = share_of(t, 32);
    const int keys = t->asked->keys;
    *end = false;
    if (table_more(t)) return EXIT_DONE;
    const int code = packed_read(&r->rows, share < READ_LEAST  ? READ_LEAST
                                           : share > READ_MOST ? READ_MOST
                                                               : (size_t)share);
    t->n = r->rows.n;
    *end = code == EXIT_DONE && t->n == 0;
    if (code != EXIT_DONE || *end) return code;
    bool good = true;
    for (int i = 0; i < keys && good; i++) good = take_key(&r->rows, i, key_of(t, i));
    for (int i = 0; i < t->asked->values && good; i++)
        good = take_value(&r->rows, keys + i, &t->values[i]);
    if (good) table_hand_out(t);
    return good ? EXIT_DONE : no_memory(t);
}
