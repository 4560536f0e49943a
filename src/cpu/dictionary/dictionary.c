/* Dictionaries: keys, and the number of each. */
#define _GNU_SOURCE /* getentropy */
#include "cpu/dictionary/dictionary.h"

#include <time.h>
#include <unistd.h>

enum {
    BATCH = 1 << 14,   /* rows whose keys are written and numbered together */
    PIECE = 1 << 10,   /* of them, that a thread looks up at a time */
    TOGETHER = 32,     /* rows whose slots are fetched into the cache together */
    FETCHED = 1 << 12, /* keys whose records are worth that, too */
    WRITTEN = 1 << 22, /* bytes that the keys of a batch may take; more are taken in parts */
    SLOTS_LEAST = 1 << 6,
    ROWS_LEAST = 1 << 12 /* that are worth a thread */
};

static const uint64_t tag_mask = ((uint64_t)1 << BF_KEY_TAG) - 1;

/* ---- making ---------------------------------------------------------------------------------- */

static bf_hash_seed secret_seed(const void *near) {
    uint64_t seed;
    if (getentropy(&seed, sizeof seed) != 0) { /* there may be no such call in a sandbox */
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        seed = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)(uintptr_t)near;
    }
    return bf_hash_seed_of(seed);
}

void bf_cpu_dictionary_destroy(bf_cpu_dictionary *d) {
    if (d == NULL) return;
    bf_free(d->slots);
    bf_free(d->records);
    bf_free(d->hashes);
    bf_free(d->bytes);
    bf_free(d);
}

int64_t bf_cpu_dictionary_size(const bf_cpu_dictionary *d) { return d->count; }

/* ---- keys ------------------------------------------------------------------------------------ */

/* A key that is looked for. bytes NULL: a NULL. */
typedef struct key {
    const char *bytes;
    int64_t n;
    uint64_t hash;
} key;

/* Whether n bytes are the same, n being 28 at most: without a call, for keys are mostly short. */
static inline bool same_short(const char *a, const char *b, int64_t n) {
    uint64_t x[2], y[2];
    if (n > 16) {
        if (bf_load_bits(a, 8) != bf_load_bits(b, 8) ||
            bf_load_bits(a + 8, 8) != bf_load_bits(b + 8, 8))
            return false;
        a += n - 16;
        b += n - 16;
        n = 16;
    }
    bf_hash_tail(a, n, x);
    bf_hash_tail(b, n, y);
    return x[0] == y[0] && x[1] == y[1];
}

static inline bool record_is(const bf_cpu_dictionary *d, const bf_key_record *r, const key *k) {
    if (r->length != k->n) return false;
    if (k->n <= BF_KEY_SHORT)
        return same_short((const char *)r + offsetof(bf_key_record, head), k->bytes, k->n);
    return memcmp(r->head, k->bytes, BF_KEY_HEAD) == 0 &&
           memcmp(d->bytes + r->as.at, k->bytes, (size_t)k->n) == 0;
}

const char *bf_key_bytes_of(const bf_cpu_dictionary *d, int64_t number, int64_t *n) {
    const bf_key_record *r = &d->records[number];
    *n = r->length;
    return *n <= BF_KEY_SHORT ? r->head : d->bytes + r->as.at;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int64_t home_of(const bf_cpu_dictionary *d, uint64_t hash) {
    return (int64_t)(hash >> BF_KEY_TAG) & (d->slot_count - 1);
}

/* The slot of a key, or the empty one where it would be. */
static uint64_t *find_slot(const bf_cpu_dictionary *d, const key *k) {
    const uint64_t tag = k->hash & tag_mask;
    for (int64_t i = home_of(d, k->hash);; i = (i + 1) & (d->slot_count - 1)) {
        uint64_t *slot = &d->slots[i];
        if (*slot == 0) return slot;
        if ((*slot & tag_mask) == tag && record_is(d, &d->records[(*slot >> BF_KEY_TAG) - 1], k))
            return slot;
    }
}

static uint64_t slot_of(uint64_t hash, int64_t number) {
    return (uint64_t)(number + 1) << BF_KEY_TAG | (hash & tag_mask);
}

/* Puts a number into the first empty slot: its key is in no other. */
static void put_slot(bf_cpu_dictionary *d, int64_t number) {
    const uint64_t hash = d->hashes[number];
    int64_t i = home_of(d, hash);
    while (d->slots[i] != 0) i = (i + 1) & (d->slot_count - 1);
    d->slots[i] = slot_of(hash, number);
}

static void fill_slots(bf_cpu_dictionary *d) {
    for (int64_t number = 0; number < d->count; number++)
        if (number != d->null) put_slot(d, number);
}

/* ---- room ------------------------------------------------------------------------------------ */

static bool grow(void **memory, int64_t *room, int64_t wanted, size_t each) {
    void *more = bf_resize(*memory, (size_t)wanted * each);
    if (more == NULL) return false;
    *memory = more;
    *room = wanted;
    return true;
}

static bool reserve_slots(bf_cpu_dictionary *d) {
    if (2 * (d->count + 1) <= d->slot_count) return true;
    const int64_t wanted = d->slot_count == 0 ? SLOTS_LEAST : 2 * d->slot_count;
    uint64_t *slots = bf_zeros((size_t)wanted * sizeof *slots);
    if (slots == NULL) return false;
    bf_free(d->slots);
    d->slots = slots;
    d->slot_count = wanted;
    fill_slots(d);
    return true;
}

static bool reserve_records(bf_cpu_dictionary *d) {
    if (d->count < d->room) return true;
    const int64_t wanted = d->room == 0 ? SLOTS_LEAST : 2 * d->room;
    int64_t room = d->room;
    return grow((void **)&d->hashes, &room, wanted, sizeof *d->hashes) &&
           grow((void **)&d->records, &d->room, wanted, sizeof *d->records);
}

static bool reserve_bytes(bf_cpu_dictionary *d, int64_t n) {
    if (n <= d->bytes_room - d->used) return true;
    const int64_t twice = 2 * d->bytes_room, wanted = d->used + n;
    return grow((void **)&d->bytes, &d->bytes_room, wanted > twice ? wanted : twice, 1);
}

bf_cpu_dictionary *bf_cpu_dictionary_create(int count, const bf_dtype columns[]) {
    bf_cpu_dictionary *d = bf_calloc(1, sizeof *d);
    if (d == NULL) return NULL;
    d->columns = count;
    memcpy(d->dtypes, columns, (size_t)count * sizeof *columns);
    d->seed = secret_seed(d);
    d->null = -1;
    if (reserve_slots(d)) return d;
    bf_cpu_dictionary_destroy(d);
    return NULL;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static bool add_record(bf_cpu_dictionary *d, const key *k) {
    if (!reserve_records(d) || (k->n > BF_KEY_SHORT && !reserve_bytes(d, k->n))) return false;
    bf_key_record *r = &d->records[d->count];
    *r = (bf_key_record){.length = (uint32_t)k->n};
    if (k->n <= BF_KEY_SHORT) {
        if (k->n > 0) memcpy((char *)r + offsetof(bf_key_record, head), k->bytes, (size_t)k->n);
    } else {
        memcpy(r->head, k->bytes, BF_KEY_HEAD);
        r->as.at = d->used;
        memcpy(d->bytes + d->used, k->bytes, (size_t)k->n);
        d->used += k->n;
    }
    d->hashes[d->count++] = k->hash;
    return true;
}

static bf_status add_null(bf_cpu_dictionary *d, int64_t *number) {
    const key none = {.bytes = NULL};
    if (d->null < 0) {
        if (!add_record(d, &none)) return BF_E_MEMORY;
        d->null = d->count - 1;
    }
    *number = d->null;
    return BF_OK;
}

/* Finds the number of a key, which is added if it is new. BF_E_OVERFLOW: it is too long. */
static bf_status add_key(bf_cpu_dictionary *d, const key *k, int64_t *number) {
    if (k->bytes == NULL) return add_null(d, number);
    if (k->n > UINT32_MAX) return BF_E_OVERFLOW;
    if (!reserve_slots(d)) return BF_E_MEMORY;
    uint64_t *slot = find_slot(d, k);
    if (*slot == 0) {
        if (!add_record(d, k)) return BF_E_MEMORY;
        *slot = slot_of(k->hash, d->count - 1);
    }
    *number = (int64_t)(*slot >> BF_KEY_TAG) - 1;
    return BF_OK;
}

/* Removes the keys from number `count` on. */
static void remove_keys(bf_cpu_dictionary *d, int64_t count, int64_t used) {
    if (count == d->count) return;
    d->count = count;
    d->used = used;
    if (d->null >= count) d->null = -1;
    memset(d->slots, 0, (size_t)d->slot_count * sizeof *d->slots);
    fill_slots(d);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_null(const bf_key_data *c, int64_t row) {
    const int64_t bit = c->first + row;
    return c->valid != NULL && !(c->valid[bit >> 3] >> (bit & 7) & 1);
}

static int64_t offset_of(const bf_key_data *c, int64_t i) {
    if (c->wide) return (int64_t)bf_load_bits((const char *)c->offsets + 8 * i, 8);
    return (int64_t)bf_load_bits((const char *)c->offsets + 4 * i, 4);
}

/* A batch of rows that are numbered. */
typedef struct batch {
    bf_cpu_dictionary *d;
    const bf_key_data *columns;
    int64_t first; /* row */
    char *written; /* keys of several columns; NULL: keys lie in their column */
    int64_t room;
    key *keys;
    int64_t *numbers; /* of the batch; -1: not known */
} batch;

/* The most bytes that the key of a row takes, of which its numbers take `fixed`. */
static int64_t most_bytes(const batch *b, int64_t fixed, int64_t row) {
    int64_t most = fixed;
    for (int c = 0; c < b->d->columns; c++) {
        const bf_key_data *x = &b->columns[c];
        if (x->dtype == BF_NONE) most += bf_string_most(offset_of(x, row + 1) - offset_of(x, row));
    }
    return most;
}

static int64_t number_bytes(const bf_cpu_dictionary *d) {
    int64_t bytes = 0;
    for (int c = 0; c < d->columns; c++)
        if (d->dtypes[c] != BF_NONE) bytes += bf_string_number_bytes(d->dtypes[c]);
    return bytes;
}

static char *write_column(const bf_key_data *c, int64_t row, char *to) {
    if (is_null(c, row)) {
        *to = BF_STRING_NULL;
        return to + 1;
    }
    if (c->dtype == BF_NONE) {
        const int64_t at = offset_of(c, row);
        return bf_string_put(to, c->bytes + at, offset_of(c, row + 1) - at);
    }
    const int bytes = bf_dtype_bytes(c->dtype);
    return bf_string_put_number(to, c->dtype, bf_load_bits(c->values + row * bytes, bytes));
}

/* The same of n rows. */
static int64_t most_bytes_of_all(const batch *b, int64_t fixed, int64_t n) {
    int64_t most = n * fixed;
    for (int c = 0; c < b->d->columns; c++) {
        const bf_key_data *x = &b->columns[c];
        if (x->dtype != BF_NONE) continue;
        const int64_t bytes = offset_of(x, b->first + n) - offset_of(x, b->first);
        most += bf_string_most(bytes) + (n - 1) * bf_string_most(0);
    }
    return most;
}

/* How many of n rows there is room for: usually for all; one at least. 0: there is no memory. */
static int64_t make_room(batch *b, int64_t n) {
    const int64_t fixed = number_bytes(b->d), all = most_bytes_of_all(b, fixed, n);
    if (all <= b->room) return n;
    if (all <= WRITTEN && grow((void **)&b->written, &b->room, all, 1)) return n;
    int64_t rows = 0, used = most_bytes(b, fixed, b->first);
    if (used > b->room && !grow((void **)&b->written, &b->room, used, 1)) return 0;
    while (rows < n && used <= b->room) {
        rows++;
        if (rows < n) used += most_bytes(b, fixed, b->first + rows);
    }
    return rows;
}

/* Writes the keys of as many rows as there is room for; returns how many. */
static int64_t write_keys(batch *b, int64_t n) {
    const int64_t rows = make_room(b, n);
    char *to = b->written;
    for (int64_t i = 0; i < rows; i++) {
        char *const begin = to;
        for (int c = 0; c < b->d->columns; c++) to = write_column(&b->columns[c], b->first + i, to);
        b->keys[i] = (key){.bytes = begin, .n = to - begin};
    }
    return rows;
}

/* Takes the keys where they lie. */
static int64_t take_keys(batch *b, int64_t n) {
    const bf_key_data *c = b->columns;
    int64_t end = offset_of(c, b->first);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = end;
        end = offset_of(c, b->first + i + 1);
        b->keys[i] = (key){.bytes = c->bytes + at, .n = end - at};
        if (is_null(c, b->first + i)) b->keys[i] = (key){.bytes = NULL};
    }
    return n;
}

/* ---- numbering ------------------------------------------------------------------------------- */

static int64_t known_number(const bf_cpu_dictionary *d, const key *k) {
    return k->bytes == NULL ? d->null : (int64_t)(*find_slot(d, k) >> BF_KEY_TAG) - 1;
}

/* Hashes n keys, and fetches the slots of each into the cache. */
static void hash_keys(const bf_cpu_dictionary *d, key *keys, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        keys[i].hash = bf_hash_bytes(d->seed, keys[i].bytes, keys[i].n);
        __builtin_prefetch(&d->slots[home_of(d, keys[i].hash)]);
    }
}

/* Fetches the records that their slots tell of. */
static void fetch_records(const bf_cpu_dictionary *d, const key *keys, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const uint64_t slot = d->slots[home_of(d, keys[i].hash)];
        if (slot != 0) __builtin_prefetch(&d->records[(slot >> BF_KEY_TAG) - 1]);
    }
}

/* Looks keys up. */
static bf_status look_up(void *arg, int worker, int64_t first, int64_t n) {
    const batch *b = arg;
    const bf_cpu_dictionary *d = b->d;
    (void)worker;
    for (int64_t at = first; at < first + n; at += TOGETHER) {
        const int64_t some = at + TOGETHER < first + n ? TOGETHER : first + n - at;
        hash_keys(d, b->keys + at, some);
        if (d->count >= FETCHED) fetch_records(d, b->keys + at, some);
        for (int64_t i = at; i < at + some; i++) b->numbers[i] = known_number(d, &b->keys[i]);
    }
    return BF_OK;
}

static bf_status check_count(bf_context *context, const bf_cpu_dictionary *d, int64_t most) {
    return d->count <= most ? BF_OK
                            : bf_fail(context, BF_E_OVERFLOW,
                                      "there are more keys than numbers: %lld", (long long)most);
}

static bf_status add_new_keys(bf_context *context, batch *b, int64_t n, int64_t most) {
    for (int64_t i = 0; i < n; i++) {
        if (b->numbers[i] >= 0) continue;
        const bf_status status = add_key(b->d, &b->keys[i], &b->numbers[i]);
        if (status == BF_E_OVERFLOW)
            return bf_fail(context, status, "the key of row %lld has %lld bytes; at most %u",
                           (long long)(b->first + i), (long long)b->keys[i].n, UINT32_MAX);
        if (status != BF_OK) return status;
    }
    return check_count(context, b->d, most);
}

static bf_status number_batches(bf_context *context, batch *b, int64_t most_keys, int64_t rows,
                                int64_t *numbers) {
    const bool plain = bf_key_is_plain(b->d);
    bf_status status = BF_OK;
    while (b->first < rows && status == BF_OK) {
        const int64_t left = rows - b->first, most = left < BATCH ? left : BATCH;
        const int64_t n = plain ? take_keys(b, most) : write_keys(b, most);
        if (n == 0) return BF_E_MEMORY;
        b->numbers = numbers + b->first;
        status = bf_parallel(context, bf_workers(context, n, ROWS_LEAST), n, PIECE, look_up, b);
        if (status == BF_OK && most_keys > 0) status = add_new_keys(context, b, n, most_keys);
        if (status == BF_OK) status = bf_watch_tick(context, 0);
        b->first += n;
    }
    return status;
}

static bf_status no_memory(bf_context *context, const bf_cpu_dictionary *d, bf_status status) {
    if (status != BF_E_MEMORY) return status;
    return bf_fail(context, status, "no memory for more than %lld keys", (long long)d->count);
}

bf_status bf_cpu_dictionary_number(bf_context *context, bf_cpu_dictionary *d, int64_t most,
                                   const bf_key_data columns[], int64_t rows, int64_t *numbers) {
    const int64_t count = d->count, used = d->used;
    batch b = {.d = d, .columns = columns, .keys = bf_alloc(BATCH * sizeof(key))};
    bf_status status = b.keys != NULL ? BF_OK : BF_E_MEMORY;
    if (status == BF_OK && !bf_key_is_plain(d) &&
        !grow((void **)&b.written, &b.room, (int64_t)BATCH * 32, 1))
        status = BF_E_MEMORY;
    if (status == BF_OK) status = number_batches(context, &b, most, rows, numbers);
    if (status != BF_OK) remove_keys(d, count, used);
    bf_free(b.written);
    bf_free(b.keys);
    return no_memory(context, d, status);
}

bf_status bf_cpu_dictionary_merge(bf_context *context, bf_cpu_dictionary *into,
                                  const bf_cpu_dictionary *from, int64_t most, int64_t *numbers) {
    const int64_t count = into->count, used = into->used;
    bf_status status = BF_OK;
    for (int64_t i = 0; i < from->count && status == BF_OK; i++) {
        key k = {.bytes = NULL};
        if (i != from->null) {
            k.bytes = bf_key_bytes_of(from, i, &k.n);
            k.hash = bf_hash_bytes(into->seed, k.bytes, k.n);
        }
        status = add_key(into, &k, &numbers[i]);
        if (status == BF_OK && i % BATCH == BATCH - 1) status = bf_watch_tick(context, 0);
    }
    if (status == BF_OK) status = check_count(context, into, most);
    if (status != BF_OK) remove_keys(into, count, used);
    return no_memory(context, into, status);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Where a column of a key begins; NULL: it is NULL. */
static const char *column_of(const bf_cpu_dictionary *d, int64_t number, int column) {
    int64_t n;
    const char *at = bf_key_bytes_of(d, number, &n);
    for (int c = 0; c < column; c++) at = bf_string_skip(at, d->dtypes[c]);
    return *at == BF_STRING_NULL ? NULL : at + 1;
}

bool bf_cpu_dictionary_value(const bf_cpu_dictionary *d, int64_t number, int column,
                             uint64_t *bits) {
    const char *at = column_of(d, number, column);
    if (at != NULL) *bits = bf_string_number(at, d->dtypes[column]);
    return at != NULL;
}

bool bf_cpu_dictionary_string(const bf_cpu_dictionary *d, int64_t number, int column, char *to,
                              int64_t *n) {
    *n = 0;
    if (number == d->null) return false;
    if (bf_key_is_plain(d)) {
        const char *bytes = bf_key_bytes_of(d, number, n);
        if (to != NULL && *n > 0) memcpy(to, bytes, (size_t)*n);
        return true;
    }
    const char *at = column_of(d, number, column);
    if (at != NULL) bf_string_take(at, to, n);
    return at != NULL;
}
