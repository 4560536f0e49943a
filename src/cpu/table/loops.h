/* The loops of tables for one width of keys and one of values.
 *
 * Parameters: KEY (4, 8 or 16) and VALUE (0, 4, 8 or 16), in bytes. Defines LOOP(loops). */

#define JOIN_(name, key, value) name##_##key##_##value
#define JOIN(name, key, value) JOIN_(name, key, value)
#define LOOP(name) JOIN(name, KEY, VALUE)
#define ENTRY (KEY + VALUE)
#define BUCKET (ENTRY <= 16 ? 64 : 128)
#define PLACES (BUCKET / ENTRY)

#if KEY == 4
#define KEY_T uint32_t
#define MATCH bf_match_4
#elif KEY == 8
#define KEY_T uint64_t
#define MATCH bf_match_8
#else
#define KEY_T bf_u128
#define MATCH bf_match_16
#endif

/* ---- keys ------------------------------------------------------------------------------------ */

static inline uint64_t LOOP(hash)(bf_hash_seed seed, KEY_T key) {
#if KEY == 4
    return bf_hash_4(seed, key);
#elif KEY == 8
    return bf_hash_8(seed, key);
#else
    return bf_hash_16(seed, (uint64_t)key, (uint64_t)(key >> 64));
#endif
}

static inline KEY_T LOOP(pattern)(const bf_cpu_table *t) {
    KEY_T pattern;
    memcpy(&pattern, t->pattern, KEY);
    return pattern;
}

/* Key number i, as buckets hold it. */
static inline KEY_T LOOP(key)(KEY_T pattern, const bf_entries *e, int64_t i) {
    KEY_T key;
    memcpy(&key, e->keys + (size_t)i * e->key_step, KEY);
#if KEY == 4
    if (e->is_raw) key = bf_key_of_f32(key);
#elif KEY == 8
    if (e->is_raw) key = bf_key_of_f64(key);
#endif
    return key ^ pattern;
}

static inline KEY_T LOOP(key_at)(const char *bucket, int place) {
    KEY_T key;
    memcpy(&key, bucket + place * KEY, KEY);
    return key;
}

static inline char *LOOP(value_at)(char *bucket, int place) {
    return bucket + PLACES * KEY + place * VALUE;
}

static inline uint64_t LOOP(home)(const bf_slots *s, KEY_T key) {
    return bf_hash_place(LOOP(hash)(s->seed, key), s->count);
}

/* Keys and their buckets, on their way into the cache. */
typedef struct LOOP(block) {
    KEY_T key[BF_TABLE_BLOCK];
    uint64_t home[BF_TABLE_BLOCK];
} LOOP(block);

static inline void LOOP(load)(const bf_cpu_table *t, const bf_entries *e, int64_t first, int n,
                              LOOP(block) * b) {
    const bf_slots *s = &t->slots;
    const KEY_T pattern = LOOP(pattern)(t);
    for (int i = 0; i < n; i++) b->key[i] = LOOP(key)(pattern, e, first + i);
    for (int i = 0; i < n; i++) {
        b->home[i] = LOOP(home)(s, b->key[i]);
        __builtin_prefetch(s->buckets + b->home[i] * BUCKET);
        if (BUCKET > 64) __builtin_prefetch(s->buckets + b->home[i] * BUCKET + 64);
    }
}

/* ---- buckets --------------------------------------------------------------------------------- */

static inline uint64_t LOOP(next)(const bf_slots *s, uint64_t bucket) {
    uint64_t mask = ((uint64_t)1 << s->shift) - 1;
    return (bucket & ~mask) | ((bucket + 1) & mask);
}

/* A key's bucket, and its place there; NULL: there is no such key. */
static inline char *LOOP(locate)(const bf_slots *s, KEY_T key, uint64_t home, int *place) {
    for (uint64_t b = home;; b = LOOP(next)(s, b)) {
        char *at = s->buckets + b * BUCKET;
        uint32_t found = MATCH(at, key, PLACES);
        *place = __builtin_ctz(found | 1u << PLACES);
        if (__builtin_expect(found != 0, 1)) return at;
        if (LOOP(key_at)(at, PLACES - 1) == 0) return NULL;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

#if VALUE == 4 || VALUE == 8
static inline uint64_t LOOP(value)(const bf_cpu_table *t, const char *value) {
    return bf_value_stored(t->kind.duplicates, t->kind.value, bf_load_bits(value, VALUE));
}
#endif

static inline void LOOP(set)(const bf_cpu_table *t, char *place, const char *value) {
#if VALUE == 4 || VALUE == 8
    bf_store_bits(place, VALUE, LOOP(value)(t, value));
#elif VALUE == 16
    (void)t;
    memcpy(place, value, VALUE);
#else
    (void)t, (void)place, (void)value;
#endif
}

/* Another entry of a key that has this value. */
static inline void LOOP(combine)(const bf_cpu_table *t, char *place, const char *value) {
#if VALUE == 4 || VALUE == 8
    if (t->kind.duplicates == BF_DUPLICATES_FIRST) return;
    uint64_t before = bf_load_bits(place, VALUE), added = bf_load_bits(value, VALUE);
    if (t->kind.duplicates != BF_DUPLICATES_ADD)
        before =
            bf_value_combined(t->kind.duplicates, t->kind.value, before, LOOP(value)(t, value));
    else
        before += added;
    bf_store_bits(place, VALUE, before);
#elif VALUE == 16
    if (t->kind.duplicates == BF_DUPLICATES_LAST) memcpy(place, value, VALUE);
    if (t->kind.duplicates == BF_DUPLICATES_KEEP) bf_chain_join(t->nodes, place, value);
#else
    (void)t, (void)place, (void)value;
#endif
}

/* ---- entering -------------------------------------------------------------------------------- */

static void LOOP(put_aside)(bf_cpu_table *t, const char *value) {
    char *aside = (char *)t->aside;
    if (t->has_aside)
        LOOP(combine)(t, aside, value);
    else
        LOOP(set)(t, aside, value);
    atomic_fetch_add_explicit(&t->keys, !t->has_aside, memory_order_relaxed);
    t->has_aside = true;
}

/* The first bucket from b on with a free place. */
static inline char *LOOP(free_place)(const bf_slots *s, uint64_t b, int *place) {
    for (;; b = LOOP(next)(s, b)) {
        char *at = s->buckets + b * BUCKET;
        uint32_t empty = MATCH(at, 0, PLACES);
        *place = __builtin_ctz(empty | 1u << PLACES);
        if (empty) return at;
    }
}

/* Enters a key other than 0, which may be new; false: its region is full. */
static inline bool LOOP(put)(bf_cpu_table *t, KEY_T key, uint64_t home, const char *value,
                             int64_t *fresh) {
    bf_slots *s = &t->slots;
    uint64_t b = home;
    for (;; b = LOOP(next)(s, b)) {
        char *at = s->buckets + b * BUCKET;
        uint32_t found = MATCH(at, key, PLACES);
        if (found) {
            LOOP(combine)(t, LOOP(value_at)(at, __builtin_ctz(found)), value);
            return true;
        }
        uint32_t empty = MATCH(at, 0, PLACES);
        if (__builtin_expect(empty == 0, 0)) continue;
        uint32_t *used = &s->regions[b >> s->shift].used;
        if (__builtin_expect(*used >= s->limit, 0)) return false;
        ++*used;
        ++*fresh;
        int place = __builtin_ctz(empty);
        memcpy(at + place * KEY, &key, KEY);
        LOOP(set)(t, LOOP(value_at)(at, place), value);
        break;
    }
    if (__builtin_expect(((b - home) & (((uint64_t)1 << s->shift) - 1)) > BF_TABLE_FAR, 0))
        atomic_store_explicit(&t->clustered, true, memory_order_relaxed);
    return true;
}

/* Enters a block of entries, until a region is full: how many. */
static inline int LOOP(put_block)(bf_cpu_table *t, const bf_entries *e, int64_t first, int n,
                                  const LOOP(block) * b, int64_t *fresh) {
    bf_chain chain = {0, 1};
    for (int i = 0; i < n; i++) {
        const char *value = (const char *)&chain;
        chain.tail = e->node + first + i;
        if (e->values != NULL) value = e->values + (size_t)(first + i) * e->value_step;
        if (__builtin_expect(b->key[i] == 0, 0))
            LOOP(put_aside)(t, value);
        else if (__builtin_expect(!LOOP(put)(t, b->key[i], b->home[i], value, fresh), 0))
            return i;
    }
    return n;
}

static int64_t LOOP(insert)(bf_cpu_table *t, const bf_entries *e, int64_t first, int64_t n) {
    LOOP(block) blocks[2];
    int64_t fresh = 0, done = 0;
    LOOP(load)(t, e, first, (int)(n < BF_TABLE_BLOCK ? n : BF_TABLE_BLOCK), &blocks[0]);
    while (done < n) {
        const LOOP(block) *b = &blocks[done / BF_TABLE_BLOCK % 2];
        int64_t left = n - done, after = left - BF_TABLE_BLOCK;
        int now = (int)(left < BF_TABLE_BLOCK ? left : BF_TABLE_BLOCK);
        if (after > 0) LOOP(load)
        (t, e, first + done + now, (int)(after < BF_TABLE_BLOCK ? after : BF_TABLE_BLOCK),
         &blocks[(done / BF_TABLE_BLOCK + 1) % 2]);
        int entered = LOOP(put_block)(t, e, first + done, now, b, &fresh);
        done += entered;
        if (entered < now) break;
    }
    atomic_fetch_add_explicit(&t->keys, fresh, memory_order_relaxed);
    return done;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* The value of a key of a block's; NULL: it is not there. */
static inline const char *LOOP(look_up)(const bf_cpu_table *t, KEY_T key, uint64_t home) {
    int place;
    if (__builtin_expect(key == 0, 0)) return t->has_aside ? (const char *)t->aside : NULL;
    char *at = LOOP(locate)(&t->slots, key, home, &place);
    return at == NULL ? NULL : LOOP(value_at)(at, place);
}

/* Does a key's first bucket say all? Then *value is what look_up says. */
static inline bool LOOP(is_plain)(const bf_cpu_table *t, KEY_T key, uint64_t home,
                                  const char **value) {
    char *at = t->slots.buckets + home * BUCKET;
    uint32_t found = MATCH(at, key, PLACES);
    *value = found != 0 ? LOOP(value_at)(at, __builtin_ctz(found)) : NULL;
    return key != 0 && (found != 0 || LOOP(key_at)(at, PLACES - 1) == 0);
}

static inline int LOOP(tell)(const char *value, int i, char *values, uint8_t *found) {
    if (value != NULL && values != NULL) memcpy(values + i * VALUE, value, VALUE);
    if (found != NULL) found[i] = value != NULL;
    return value != NULL;
}

/* Keys whose bucket is full come last: the next bucket is on its way until then. */
static inline int LOOP(find_block)(const bf_cpu_table *t, const LOOP(block) * b, int n,
                                   char *values, uint8_t *found) {
    int hits = 0, rest = 0, late[BF_TABLE_BLOCK];
    for (int i = 0; i < n; i++) {
        const char *value;
        if (__builtin_expect(LOOP(is_plain)(t, b->key[i], b->home[i], &value), 1)) {
            hits += LOOP(tell)(value, i, values, found);
            continue;
        }
        late[rest++] = i;
        __builtin_prefetch(t->slots.buckets + LOOP(next)(&t->slots, b->home[i]) * BUCKET);
    }
    for (int k = 0; k < rest; k++) {
        int i = late[k];
        hits += LOOP(tell)(LOOP(look_up)(t, b->key[i], b->home[i]), i, values, found);
    }
    return hits;
}

static int64_t LOOP(find)(const bf_cpu_table *t, const bf_entries *e, int64_t first, int64_t n,
                          char *values, uint8_t *found) {
    LOOP(block) blocks[2];
    int64_t hits = 0;
    LOOP(load)(t, e, first, (int)(n < BF_TABLE_BLOCK ? n : BF_TABLE_BLOCK), &blocks[0]);
    for (int64_t done = 0; done < n; done += BF_TABLE_BLOCK) {
        int64_t left = n - done, after = left - BF_TABLE_BLOCK;
        int now = (int)(left < BF_TABLE_BLOCK ? left : BF_TABLE_BLOCK);
        if (after > 0) LOOP(load)
        (t, e, first + done + now, (int)(after < BF_TABLE_BLOCK ? after : BF_TABLE_BLOCK),
         &blocks[(done / BF_TABLE_BLOCK + 1) % 2]);
        hits += LOOP(find_block)(t, &blocks[done / BF_TABLE_BLOCK % 2], now,
                                 values == NULL ? NULL : values + done * VALUE,
                                 found == NULL ? NULL : found + done);
    }
    return hits;
}

/* ---- taking out ------------------------------------------------------------------------------ */

/* Empties a place: the bucket's last entry moves there. Was the bucket full? */
static bool LOOP(empty_place)(char *at, int place) {
    int last = __builtin_ctz(MATCH(at, 0, PLACES) | 1u << PLACES) - 1;
    KEY_T none = 0;
    memmove(at + place * KEY, at + last * KEY, KEY);
    memmove(LOOP(value_at)(at, place), LOOP(value_at)(at, last), VALUE);
    memcpy(at + last * KEY, &none, KEY);
    return last == PLACES - 1;
}

/* An entry of bucket b that may stand in `hole`, which lies before it; -1: none. */
static int LOOP(movable)(const bf_slots *s, uint64_t b, uint64_t hole) {
    uint64_t mask = ((uint64_t)1 << s->shift) - 1;
    for (int i = 0; i < PLACES; i++) {
        KEY_T key = LOOP(key_at)(s->buckets + b * BUCKET, i);
        if (key == 0) break;
        if (((b - LOOP(home)(s, key)) & mask) >= ((b - hole) & mask)) return i;
    }
    return -1;
}

/* Fills the last place of a bucket that was full from those behind it, until one was not. */
static void LOOP(close_gap)(bf_slots *s, uint64_t hole) {
    for (uint64_t b = LOOP(next)(s, hole); b != hole; b = LOOP(next)(s, b)) {
        char *at = s->buckets + b * BUCKET, *to = s->buckets + hole * BUCKET;
        bool full = LOOP(key_at)(at, PLACES - 1) != 0;
        int place = LOOP(movable)(s, b, hole);
        if (place >= 0) {
            memcpy(to + (PLACES - 1) * KEY, at + place * KEY, KEY);
            memcpy(LOOP(value_at)(to, PLACES - 1), LOOP(value_at)(at, place), VALUE);
            LOOP(empty_place)(at, place);
            hole = b;
        }
        if (!full) return;
    }
}

static int64_t LOOP(entries_of)(const bf_cpu_table *t, const char *value) {
    bf_chain chain = {0, 1};
    if (t->kind.duplicates == BF_DUPLICATES_KEEP) memcpy(&chain, value, sizeof chain);
    return chain.count;
}

static int64_t LOOP(erase_aside)(bf_cpu_table *t, int64_t *keys) {
    int64_t entries = t->has_aside ? LOOP(entries_of)(t, (const char *)t->aside) : 0;
    *keys += t->has_aside;
    t->has_aside = false;
    return entries;
}

/* How many entries went; their keys are added to *keys. */
static int64_t LOOP(erase_key)(bf_cpu_table *t, KEY_T key, uint64_t home, int64_t *keys) {
    bf_slots *s = &t->slots;
    int place;
    if (key == 0) return LOOP(erase_aside)(t, keys);
    char *at = LOOP(locate)(s, key, home, &place);
    if (at == NULL) return 0;
    uint64_t bucket = (uint64_t)(at - s->buckets) / BUCKET;
    int64_t entries = LOOP(entries_of)(t, LOOP(value_at)(at, place));
    ++*keys;
    s->regions[bucket >> s->shift].used--;
    if (LOOP(empty_place)(at, place)) LOOP(close_gap)(s, bucket);
    return entries;
}

static int64_t LOOP(erase)(bf_cpu_table *t, const bf_entries *e, int64_t first, int64_t n) {
    LOOP(block) b;
    int64_t entries = 0, keys = 0;
    for (int64_t done = 0; done < n; done += BF_TABLE_BLOCK) {
        int now = (int)(n - done < BF_TABLE_BLOCK ? n - done : BF_TABLE_BLOCK);
        LOOP(load)(t, e, first + done, now, &b);
        for (int i = 0; i < now; i++) entries += LOOP(erase_key)(t, b.key[i], b.home[i], &keys);
    }
    atomic_fetch_sub_explicit(&t->keys, keys, memory_order_relaxed);
    return entries;
}

#include "cpu/table/rows.h"

static const bf_table_loops LOOP(loops) = {
    .bucket_bytes = BUCKET,
    .places = PLACES,
    .count = LOOP(count),
    .count_new = LOOP(count_new),
    .scatter = LOOP(scatter),
    .insert = LOOP(insert),
    .find = LOOP(find),
    .erase = LOOP(erase),
    .move = LOOP(move),
    .collect = LOOP(collect),
};

#undef JOIN_
#undef JOIN
#undef LOOP
#undef ENTRY
#undef BUCKET
#undef PLACES
#undef KEY_T
#undef MATCH
#undef VALUE
