#include "group/by/rest.h"

#include "memory/key.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The number of piles, bytes of a block of each, and bytes that are read at once, at least and at
 * most. */
enum { PILES_LEAST = 8, BLOCK_LEAST = 1 << 14, READ_LEAST = 1 << 14, READ_MOST = 1 << 20 };

static int no_memory(const table *t) {
    return fail_status(BF_E_MEMORY, NULL, t->input.source.name);
}

static const table_column *key_of(const table *t, int i) { return &t->columns[t->key_columns[i]]; }

void rest_open(rest *r, const table *t) {
    static const int byte = 1;
    const asked *a = t->asked;
    const int64_t memory = a->options->memory.results / 8, most = memory / BLOCK_LEAST;
    const int n = most < PILES_LEAST ? PILES_LEAST : most > PILES_MOST ? PILES_MOST : (int)most;
    *r = (rest){.flags = (a->keys + a->values + 7) / 8, .next = -1};
    piles_open(&r->piles, n, 1, &byte, memory);
    if (getrandom(&r->seed, sizeof r->seed, GRND_NONBLOCK) < 0) r->seed = (uintptr_t)r;
    r->fixed = r->flags;
    for (int i = 0; i < a->keys; i++) {
        const bf_dtype dtype = key_of(t, i)->dtype;
        r->strings += dtype == BF_NONE;
        r->fixed += dtype == BF_NONE ? (int)sizeof(uint32_t) : (int)bf_dtype_size(dtype);
    }
    for (int i = 0; i < a->values; i++) r->fixed += (int)bf_dtype_size(t->values[i].array.dtype);
}

void rest_close(rest *r) {
    piles_close(&r->piles);
    free(r->record.at);
    free(r->read.at);
    free(r->rows.at);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static bool is_null(const bf_column *c, int64_t row) {
    return c->valid && !text_has_bit(c->valid, c->first + row);
}

static const char *string_of(const bf_strings *s, int64_t row, size_t *bytes) {
    const int64_t *offsets = s->offsets;
    *bytes = (size_t)(offsets[row + 1] - offsets[row]);
    return s->bytes + offsets[row];
}

static uint64_t mix(uint64_t hash, uint64_t x) {
    hash = (hash ^ x) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
}

static uint64_t hash_string(uint64_t hash, const char *at, size_t n) {
    hash = mix(hash, n);
    for (uint64_t x = 0; n > 0; x = 0) {
        const size_t some = n < sizeof x ? n : sizeof x;
        memcpy(&x, at, some);
        hash = mix(hash, x);
        at += some;
        n -= some;
    }
    return hash;
}

/* Equal keys have one hash. */
static uint64_t hash_key(uint64_t hash, const table_column *c, int64_t row) {
    uint64_t rank;
    size_t bytes;
    if (is_null(&c->view.column, row)) return mix(hash, 1);
    if (c->dtype == BF_NONE) {
        const char *at = string_of(&c->view.strings, row, &bytes);
        return hash_string(hash, at, bytes);
    }
    bytes = bf_dtype_size(c->dtype);
    key_ranks(c->dtype, (const char *)c->view.numbers.data + (size_t)row * bytes, 1, &rank);
    return mix(hash, rank);
}

static int pile_of(const rest *r, const table *t, int64_t row) {
    uint64_t hash = r->seed;
    for (int i = 0; i < t->asked->keys; i++) hash = hash_key(hash, key_of(t, i), row);
    hash *= 0xbf58476d1ce4e5b9;
    return (int)((hash >> 32) * (uint64_t)r->piles.count >> 32);
}

static char *put_element(char *to, const bf_array *from, int64_t row) {
    const size_t bytes = bf_dtype_size(from->dtype);
    memcpy(to, (const char *)from->data + (size_t)row * bytes, bytes);
    return to + bytes;
}

static void set_flag(char *flags, int i) { flags[i / 8] = (char)(flags[i / 8] | 1 << i % 8); }

static bool has_flag(const char *flags, int i) { return flags[i / 8] >> i % 8 & 1; }

/* Writes a row to a record that has room for it. */
static void put_row(const rest *r, const table *t, int64_t row, char *record) {
    const asked *a = t->asked;
    char *length = record + r->flags, *number = length + (size_t)r->strings * sizeof(uint32_t);
    char *string = record + r->fixed;
    memset(record, 0, (size_t)r->flags);
    for (int i = 0; i < a->keys; i++) {
        const table_column *c = key_of(t, i);
        size_t bytes;
        if (is_null(&c->view.column, row)) set_flag(record, i);
        if (c->dtype != BF_NONE) {
            number = put_element(number, &c->view.numbers, row);
            continue;
        }
        const char *from = string_of(&c->view.strings, row, &bytes);
        const uint32_t written = (uint32_t)bytes;
        memcpy(length, &written, sizeof written);
        if (bytes > 0) memcpy(string, from, bytes);
        length += sizeof written;
        string += bytes;
    }
    for (int i = 0; i < a->values; i++) {
        const table_value *v = &t->values[i];
        if (v->valid && !v->valid[row]) set_flag(record, a->keys + i);
        number = put_element(number, &v->array, row);
    }
}

/* Bytes of the record of a row. */
static size_t bytes_of_row(const rest *r, const table *t, int64_t row) {
    size_t all = (size_t)r->fixed, bytes;
    for (int i = 0; i < t->asked->keys; i++) {
        if (key_of(t, i)->dtype != BF_NONE) continue;
        string_of(&key_of(t, i)->view.strings, row, &bytes);
        all += bytes;
    }
    return all;
}

int rest_add(rest *r, const table *t, const int64_t numbers[]) {
    int code = EXIT_DONE;
    for (int64_t row = 0; row < t->n && code == EXIT_DONE; row++) {
        if (numbers[row] >= 0) continue;
        const size_t bytes = bytes_of_row(r, t, row);
        char *record = buffer_take(&r->record, bytes);
        if (!record) return no_memory(t);
        put_row(r, t, row, record);
        const void *const columns[] = {record};
        code = piles_put(&r->piles, pile_of(r, t, row), columns, (int64_t)bytes);
    }
    return code;
}

int rest_end(rest *r) {
    free(r->record.at);
    r->record = (buffer){NULL, 0};
    return piles_end(&r->piles);
}

/* ---- piles ----------------------------------------------------------------------------------- */

bool rest_next_pile(rest *r) {
    r->at = 0;
    do r->next++;
    while (r->next < r->piles.count && r->piles.all[r->next].rows == 0);
    return r->next < r->piles.count;
}

void rest_again(rest *r) { r->at = 0; }

void rest_empty(rest *r) { piles_empty(&r->piles, r->next); }

/* ---- reading --------------------------------------------------------------------------------- */

static uint32_t length_of(const rest *r, const char *record, int string) {
    uint32_t length;
    memcpy(&length, record + r->flags + (size_t)string * sizeof length, sizeof length);
    return length;
}

static size_t bytes_of_record(const rest *r, const char *record) {
    size_t bytes = (size_t)r->fixed;
    for (int i = 0; i < r->strings; i++) bytes += length_of(r, record, i);
    return bytes;
}

/* Reads some bytes of the present pile, as many as are left at most. */
static int read_bytes(rest *r, const table *t, size_t *bytes) {
    const int64_t left = r->piles.all[r->next].rows - r->at;
    if ((int64_t)*bytes > left) *bytes = (size_t)left;
    void *const columns[] = {buffer_take(&r->read, *bytes)};
    if (!columns[0]) return no_memory(t);
    return piles_read(&r->piles, r->next, r->at, (int64_t)*bytes, columns);
}

/* Notes where the whole records of so many bytes begin, and where the last ends. */
static int64_t find_rows(const rest *r, size_t bytes, size_t *begins, size_t *end) {
    int64_t n = 0;
    *end = 0;
    while (bytes - *end >= (size_t)r->fixed) {
        const size_t record = bytes_of_record(r, r->read.at + *end);
        if (record > bytes - *end) break;
        begins[n++] = *end;
        *end += record;
    }
    return n;
}

/* Reads whole records, one at least. */
static int read_rows(rest *r, table *t) {
    const int64_t share = t->asked->options->memory.results / 32;
    size_t bytes = share < READ_LEAST ? READ_LEAST : share > READ_MOST ? READ_MOST : (size_t)share;
    int code = EXIT_DONE;
    for (t->n = 0; t->n == 0 && code == EXIT_DONE;) {
        size_t end;
        code = read_bytes(r, t, &bytes);
        size_t *begins = buffer_take(&r->rows, (bytes / (size_t)r->fixed + 1) * sizeof *begins);
        if (code == EXIT_DONE && !begins) code = no_memory(t);
        if (code != EXIT_DONE) break;
        t->n = find_rows(r, bytes, begins, &end);
        r->at += (int64_t)end;
        if (t->n == 0) bytes = bytes_of_record(r, r->read.at);
    }
    return code;
}

static const char *row_at(const rest *r, int64_t row) {
    return r->read.at + ((const size_t *)r->rows.at)[row];
}

/* Copies the numbers that stand `at` bytes behind the beginning of each row. */
static bool take_numbers(const rest *r, int64_t n, size_t at, bf_dtype dtype, buffer *to) {
    const size_t bytes = bf_dtype_size(dtype);
    char *out = buffer_take(to, (size_t)n * bytes);
    for (int64_t i = 0; i < n && out; i++)
        memcpy(out + (size_t)i * bytes, row_at(r, i) + at, bytes);
    return out != NULL;
}

/* Where a row's string of this number begins. */
static const char *string_at(const rest *r, int64_t row, int string) {
    const char *at = row_at(r, row) + r->fixed;
    for (int i = 0; i < string; i++) at += length_of(r, row_at(r, row), i);
    return at;
}

static bool take_strings(const rest *r, int64_t n, int string, table_column *c) {
    int64_t *offsets = buffer_take(&c->offsets, (size_t)(n + 1) * sizeof *offsets), all = 0;
    for (int64_t i = 0; i < n && offsets; i++) {
        offsets[i] = all;
        all += length_of(r, row_at(r, i), string);
    }
    char *bytes = offsets ? buffer_take(&c->bytes, (size_t)all) : NULL;
    if (!bytes) return false;
    offsets[n] = all;
    for (int64_t i = 0; i < n; i++)
        memcpy(bytes + offsets[i], string_at(r, i, string), (size_t)(offsets[i + 1] - offsets[i]));
    c->view.strings = (bf_strings){sizeof(bf_strings), n, BF_I64, offsets, bytes};
    return true;
}

/* Which rows of a key have none. */
static bool take_valid(const rest *r, int64_t n, int flag, table_column *c) {
    uint8_t *bits = buffer_take(&c->valid, (size_t)n / 8 + 1);
    if (!bits) return false;
    bool some = false;
    memset(bits, 0xff, (size_t)n / 8 + 1);
    for (int64_t i = 0; i < n; i++) {
        if (!has_flag(row_at(r, i), flag)) continue;
        text_clear_bit(bits, i);
        some = true;
    }
    c->view.column.valid = some ? bits : NULL;
    c->view.column.first = 0;
    return true;
}

/* *at and *string: where its numbers stand in a row, or which string it is. */
static bool take_key(const rest *r, const table *t, int i, size_t *at, int *string) {
    table_column *c = &t->columns[t->key_columns[i]];
    if (!take_valid(r, t->n, i, c)) return false;
    if (c->dtype == BF_NONE) {
        c->view.column.strings = &c->view.strings;
        return take_strings(r, t->n, (*string)++, c);
    }
    if (!take_numbers(r, t->n, *at, c->dtype, &c->numbers)) return false;
    c->view.numbers = bf_array_of(c->dtype, c->numbers.at, t->n);
    c->view.column.numbers = &c->view.numbers;
    *at += bf_dtype_size(c->dtype);
    return true;
}

static bool take_value(const rest *r, table *t, int i, size_t *at) {
    table_value *v = &t->values[i];
    const bf_dtype dtype = v->array.dtype;
    uint8_t *valid = buffer_take(&v->bytes, (size_t)t->n);
    if (!valid || !take_numbers(r, t->n, *at, dtype, &v->results)) return false;
    for (int64_t k = 0; k < t->n; k++) valid[k] = !has_flag(row_at(r, k), t->asked->keys + i);
    v->valid = memchr(valid, 0, (size_t)t->n) ? valid : NULL;
    v->array = bf_array_of(dtype, v->results.at, t->n);
    *at += bf_dtype_size(dtype);
    return true;
}

int rest_read(rest *r, table *t, bool *end) {
    *end = false;
    if (table_more(t)) return EXIT_DONE;
    *end = r->at == r->piles.all[r->next].rows;
    if (*end) return EXIT_DONE;
    const int code = read_rows(r, t);
    if (code != EXIT_DONE) return code;
    size_t at = (size_t)r->flags + (size_t)r->strings * sizeof(uint32_t);
    int string = 0;
    bool good = true;
    for (int i = 0; i < t->asked->keys && good; i++) good = take_key(r, t, i, &at, &string);
    for (int i = 0; i < t->asked->values && good; i++) good = take_value(r, t, i, &at);
    if (good) table_hand_out(t);
    return good ? EXIT_DONE : no_memory(t);
}
