/* Short keys as words. */
#include "cpu/dictionary/dictionary.h"

enum { SLOTS_LEAST = 1 << 8 };

/* The keys of rows as words. */
typedef struct packing {
    uint64_t words[BF_PACKED_ROWS * BF_PACKED_WORDS]; /* one key behind another */
    bool unfit[BF_PACKED_ROWS];                       /* keys that cannot be packed */
} packing;

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t slot_bytes(const bf_packed_keys *k) {
    return (size_t)(k->words + 1) * sizeof *k->slots;
}

static int words_of(bf_dtype dtype) { return dtype == BF_NONE || dtype == BF_I128 ? 2 : 1; }

bool bf_packed_open(bf_packed_keys *k, int columns, const bf_dtype dtypes[], bf_hash_seed seed) {
    int words = 0;
    *k = (bf_packed_keys){.columns = columns, .seed = seed, .slot_count = SLOTS_LEAST};
    for (int c = 0; c < columns; c++) words += words_of(dtypes[c]);
    if (words > BF_PACKED_WORDS) return true;
    k->words = words;
    k->slots = bf_zeros(SLOTS_LEAST * slot_bytes(k));
    return k->slots != NULL;
}

void bf_packed_close(bf_packed_keys *k) {
    bf_free(k->slots);
    k->slots = NULL;
    k->words = 0;
}

/* ---- packing --------------------------------------------------------------------------------- */

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* The words of numbers lie `stride` apart. */
static ALWAYS_INLINE void pack_elements(const char *values, int64_t n, int bytes, uint64_t *words,
                                        int stride) {
    for (int64_t i = 0; i < n; i++) words[i * stride] = bf_load_bits(values + i * bytes, bytes);
}

static void pack_wide(const char *values, int64_t n, uint64_t *words, int stride) {
    for (int64_t i = 0; i < n; i++) memcpy(words + i * stride, values + i * 16, 16);
}

static void pack_numbers(const bf_packed_rows *r, const bf_key_data *c, uint64_t *words,
                         int stride) {
    const int bytes = bf_number_bytes(c->dtype);
    const char *values = c->values + r->first * bytes;
    switch (bytes) {
    case 1: pack_elements(values, r->n, 1, words, stride); break;
    case 2: pack_elements(values, r->n, 2, words, stride); break;
    case 4: pack_elements(values, r->n, 4, words, stride); break;
    case 8: pack_elements(values, r->n, 8, words, stride); break;
    default: pack_wide(values, r->n, words, stride);
    }
}

/* Packs n bytes, 15 at most, of which `there` may be read. */
static ALWAYS_INLINE void pack_string(const char *from, int64_t n, int64_t there, uint64_t *words) {
    char copy[16] = {0};
    if (__builtin_expect(there < 16, 0)) from = n > 0 ? memcpy(copy, from, (size_t)n) : copy;
    const uint64_t some = ~(uint64_t)0 >> (64 - 8 * (n & 7)) % 64;
    const uint64_t last = n & 7 ? some : 0;
    words[0] = bf_load_bits(from, 8) & (n >= 8 ? ~(uint64_t)0 : last);
    words[1] = (bf_load_bits(from + 8, 8) & (n >= 8 ? last : 0)) | (uint64_t)n << 56;
}

static void pack_strings(const bf_packed_rows *r, const bf_key_data *c, packing *p, uint64_t *words,
                         int stride) {
    const int64_t end = bf_key_offset(c, r->end);
    int64_t at = bf_key_offset(c, r->first);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t next = bf_key_offset(c, r->first + i + 1), n = next - at;
        if (n > BF_PACKED_STRING) p->unfit[i] = true;
        pack_string(c->bytes + at, n > BF_PACKED_STRING ? 0 : n, end - at, words + i * stride);
        at = next;
    }
}

static void pack(const bf_packed_keys *k, const bf_packed_rows *r, packing *p) {
    int at = 0;
    memset(p->unfit, 0, (size_t)r->n);
    for (int column = 0; column < k->columns; column++) {
        const bf_key_data *c = &r->columns[column];
        for (int64_t i = 0; c->valid != NULL && i < r->n; i++)
            p->unfit[i] |= bf_key_is_null(c, r->first + i);
        if (c->dtype == BF_NONE)
            pack_strings(r, c, p, p->words + at, k->words);
        else
            pack_numbers(r, c, p->words + at, k->words);
        at += words_of(c->dtype);
    }
}

/* ---- slots ----------------------------------------------------------------------------------- */

static ALWAYS_INLINE uint64_t hash_words(const bf_packed_keys *k, const uint64_t *words, int n) {
    uint64_t hash = k->seed.first;
    for (int w = 0; w < n; w++) hash = bf_hash_fold(hash ^ words[w], k->seed.second | 1);
    return hash;
}

static ALWAYS_INLINE bool same_words(const uint64_t *a, const uint64_t *b, int n) {
    uint64_t other = 0;
    for (int w = 0; w < n; w++) other |= a[w] ^ b[w];
    return other == 0;
}

/* The slot of a key, or the empty one where it would be. */
static ALWAYS_INLINE uint64_t *find_slot(const bf_packed_keys *k, const uint64_t *words, int n,
                                         uint64_t hash) {
    for (int64_t i = (int64_t)hash & (k->slot_count - 1);; i = (i + 1) & (k->slot_count - 1)) {
        uint64_t *slot = k->slots + i * (n + 1);
        if (slot[n] == 0 || same_words(slot, words, n)) return slot;
    }
}

static ALWAYS_INLINE void find_rows(const bf_packed_keys *k, const packing *p, int n, int64_t rows,
                                    int64_t *numbers) {
    uint64_t hashes[BF_PACKED_ROWS];
    for (int64_t i = 0; i < rows; i++) {
        hashes[i] = hash_words(k, p->words + i * n, n);
        __builtin_prefetch(k->slots + ((int64_t)hashes[i] & (k->slot_count - 1)) * (n + 1));
    }
    for (int64_t i = 0; i < rows; i++)
        numbers[i] =
            p->unfit[i] ? -1 : (int64_t)find_slot(k, p->words + i * n, n, hashes[i])[n] - 1;
}

/* The usual numbers of words have loops of their own. */
void bf_packed_find(const bf_packed_keys *k, const bf_packed_rows *r, int64_t *numbers) {
    packing p;
    pack(k, r, &p);
    switch (k->words) {
    case 2: find_rows(k, &p, 2, r->n, numbers); break;
    case 3: find_rows(k, &p, 3, r->n, numbers); break;
    default: find_rows(k, &p, k->words, r->n, numbers);
    }
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Moves to twice as many slots. False: there is no memory. */
static bool widen(bf_packed_keys *k) {
    bf_packed_keys wider = *k;
    wider.slot_count *= 2;
    wider.slots = bf_zeros((size_t)wider.slot_count * slot_bytes(k));
    for (int64_t i = 0; wider.slots != NULL && i < k->slot_count; i++) {
        const uint64_t *slot = k->slots + i * (k->words + 1);
        if (slot[k->words] == 0) continue;
        uint64_t *to = find_slot(&wider, slot, k->words, hash_words(k, slot, k->words));
        memcpy(to, slot, slot_bytes(k));
    }
    if (wider.slots == NULL) return false;
    bf_free(k->slots);
    *k = wider;
    return true;
}

/* A quarter of the slots are filled, at most: to look at a second one costs more than the memory.
 */
static bool reserve(bf_packed_keys *k) {
    return k->count < BF_PACKED_KEYS && (4 * (k->count + 1) <= k->slot_count || widen(k));
}

bool bf_packed_add(bf_packed_keys *k, const bf_packed_rows *r, int64_t number) {
    packing p;
    const bf_packed_rows one = {r->columns, r->first, 1, r->end};
    pack(k, &one, &p);
    if (p.unfit[0]) return false;
    if (!reserve(k)) {
        bf_packed_close(k);
        return true;
    }
    uint64_t *slot = find_slot(k, p.words, k->words, hash_words(k, p.words, k->words));
    if (slot[k->words] == 0) {
        memcpy(slot, p.words, (size_t)k->words * sizeof *slot);
        slot[k->words] = (uint64_t)number + 1;
        k->count++;
    }
    return true;
}
