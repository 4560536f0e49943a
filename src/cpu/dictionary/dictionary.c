/* Dictionaries: keys, and the number of each. */
#define _GNU_SOURCE /* getentropy */
#include "cpu/dictionary/dictionary.h"

#include <time.h>
#include <unistd.h>

enum {
    BATCH = 1 << 14, /* keys that are merged between two looks at the watch */
    AHEAD = 16,      /* keys whose slots are fetched ahead, and then their records */
    SLOTS_LEAST = 1 << 6
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
    bf_packed_close(&d->packed);
    bf_free(d->slots);
    bf_free(d->record_memory);
    bf_free(d->hashes);
    bf_free(d->bytes);
    bf_free(d);
}

int64_t bf_cpu_dictionary_size(const bf_cpu_dictionary *d) { return d->count; }

/* ---- keys ------------------------------------------------------------------------------------ */

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

static inline bool record_is(const bf_cpu_dictionary *d, const bf_key_record *r, const bf_key *k) {
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

/* The first slot from number i on that has the tag of a hash, or is empty. */
static inline int64_t tagged_slot(const bf_cpu_dictionary *d, uint64_t hash, int64_t i) {
    for (;; i = (i + 1) & (d->slot_count - 1)) {
        const uint64_t slot = d->slots[i];
        if (slot == 0 || ((slot ^ hash) & tag_mask) == 0) return i;
    }
}

static inline const bf_key_record *record_at(const bf_cpu_dictionary *d, int64_t slot) {
    return &d->records[(d->slots[slot] >> BF_KEY_TAG) - 1];
}

/* The slot of a key, or the empty one where it would be; i is the first that has its tag. */
static inline uint64_t *find_slot(const bf_cpu_dictionary *d, const bf_key *k, int64_t i) {
    while (d->slots[i] != 0 && !record_is(d, record_at(d, i), k))
        i = tagged_slot(d, k->hash, (i + 1) & (d->slot_count - 1));
    return &d->slots[i];
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

/* Moves the records to large pages: rows come upon them at random. */
static bool move_records(bf_cpu_dictionary *d, int64_t room) {
    char *memory = bf_zeros((size_t)room * sizeof *d->records + BF_CPU_LINE);
    if (memory == NULL) return false;
    void *records = memory + (BF_CPU_LINE - (uintptr_t)memory % BF_CPU_LINE);
    if (d->count > 0) memcpy(records, d->records, (size_t)d->count * sizeof *d->records);
    bf_free(d->record_memory);
    d->record_memory = memory;
    d->records = records;
    return true;
}

static bool reserve_records(bf_cpu_dictionary *d) {
    if (d->count < d->room) return true;
    const int64_t wanted = d->room == 0 ? SLOTS_LEAST : 2 * d->room;
    return move_records(d, wanted) &&
           grow((void **)&d->hashes, &d->room, wanted, sizeof *d->hashes);
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
    if (reserve_slots(d) && bf_packed_open(&d->packed, count, columns, d->seed)) return d;
    bf_cpu_dictionary_destroy(d);
    return NULL;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static bool add_record(bf_cpu_dictionary *d, const bf_key *k) {
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
    const bf_key none = {.bytes = NULL};
    if (d->null < 0) {
        if (!add_record(d, &none)) return BF_E_MEMORY;
        d->null = d->count - 1;
    }
    *number = d->null;
    return BF_OK;
}

bf_status bf_key_add(bf_cpu_dictionary *d, const bf_key *k, int64_t *number) {
    if (k->bytes == NULL) return add_null(d, number);
    if (k->n > UINT32_MAX) return BF_E_OVERFLOW;
    if (!reserve_slots(d)) return BF_E_MEMORY;
    uint64_t *slot = find_slot(d, k, tagged_slot(d, k->hash, home_of(d, k->hash)));
    if (*slot == 0) {
        if (!add_record(d, k)) return BF_E_MEMORY;
        *slot = slot_of(k->hash, d->count - 1);
    }
    *number = (int64_t)(*slot >> BF_KEY_TAG) - 1;
    return BF_OK;
}

void bf_key_remove(bf_cpu_dictionary *d, int64_t count, int64_t used) {
    if (count == d->count) return;
    bf_packed_close(&d->packed);
    d->count = count;
    d->used = used;
    if (d->null >= count) d->null = -1;
    memset(d->slots, 0, (size_t)d->slot_count * sizeof *d->slots);
    fill_slots(d);
}

/* ---- looking up ------------------------------------------------------------------------------ */

/* Hashes a key, and fetches its slot. */
static inline void hash_key(const bf_cpu_dictionary *d, bf_key *k) {
    k->hash = bf_hash_bytes(d->seed, k->bytes, k->n);
    __builtin_prefetch(&d->slots[home_of(d, k->hash)]);
}

/* The first slot that has a key's tag, whose record it fetches. */
static inline int64_t fetch_record(const bf_cpu_dictionary *d, const bf_key *k) {
    const int64_t slot = tagged_slot(d, k->hash, home_of(d, k->hash));
    if (d->slots[slot] != 0) __builtin_prefetch(record_at(d, slot));
    return slot;
}

static inline int64_t number_at(const bf_cpu_dictionary *d, const bf_key *k, int64_t slot) {
    return k->bytes == NULL ? d->null : (int64_t)(*find_slot(d, k, slot) >> BF_KEY_TAG) - 1;
}

void bf_key_find(const bf_cpu_dictionary *d, bf_key keys[], int64_t n, int64_t *numbers) {
    for (int64_t i = 0, k = -AHEAD, j = -2 * AHEAD; j < n; i++, k++, j++) {
        if (i < n) hash_key(d, &keys[i]);
        if (k >= 0 && k < n) numbers[k] = fetch_record(d, &keys[k]);
        if (j >= 0) numbers[j] = number_at(d, &keys[j], numbers[j]);
    }
}

/* ---- failure --------------------------------------------------------------------------------- */

bf_status bf_key_check_count(bf_context *context, const bf_cpu_dictionary *d, int64_t most) {
    return d->count <= most ? BF_OK
                            : bf_fail(context, BF_E_OVERFLOW,
                                      "there are more keys than numbers: %lld", (long long)most);
}

bf_status bf_key_explain(bf_context *context, const bf_cpu_dictionary *d, bf_status status) {
    if (status != BF_E_MEMORY) return status;
    return bf_fail(context, status, "no memory for more than %lld keys", (long long)d->count);
}

/* ---- merging --------------------------------------------------------------------------------- */

bf_status bf_cpu_dictionary_merge(bf_context *context, bf_cpu_dictionary *into,
                                  const bf_cpu_dictionary *from, int64_t most, int64_t *numbers) {
    const int64_t count = into->count, used = into->used;
    bf_status status = BF_OK;
    for (int64_t i = 0; i < from->count && status == BF_OK; i++) {
        bf_key k = {.bytes = NULL};
        if (i != from->null) {
            k.bytes = bf_key_bytes_of(from, i, &k.n);
            k.hash = bf_hash_bytes(into->seed, k.bytes, k.n);
        }
        status = bf_key_add(into, &k, &numbers[i]);
        if (status == BF_OK && i % BATCH == BATCH - 1) status = bf_watch_tick(context, 0);
    }
    if (status == BF_OK) status = bf_key_check_count(context, into, most);
    if (status != BF_OK) bf_key_remove(into, count, used);
    return bf_key_explain(context, into, status);
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
                             void *element) {
    const char *at = column_of(d, number, column);
    if (at != NULL) bf_string_take_number(at, d->dtypes[column], element);
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

const bf_dictionary_backend bf_cpu_dictionaries = {
    .create = bf_cpu_dictionary_create,
    .destroy = bf_cpu_dictionary_destroy,
    .size = bf_cpu_dictionary_size,
    .number = bf_cpu_dictionary_number,
    .merge = bf_cpu_dictionary_merge,
    .rank = bf_cpu_dictionary_rank,
    .value = bf_cpu_dictionary_value,
    .string = bf_cpu_dictionary_string,
};
