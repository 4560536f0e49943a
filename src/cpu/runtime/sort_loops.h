/* The loops of sorting for one width of keys and one of values.
 *
 * Parameters: KEY (4, 8 or 16) and VALUE (0, 4, 8 or 16), in bytes. Defines LOOP(loops). */

#define JOIN_(name, key, value) name##_##key##_##value
#define JOIN(name, key, value) JOIN_(name, key, value)
#define LOOP(name) JOIN(name, KEY, VALUE)

#if KEY == 4
#define KEY_T uint32_t
#elif KEY == 8
#define KEY_T uint64_t
#else
#define KEY_T bf_u128
#endif

typedef struct LOOP(entry) {
    KEY_T rank;
#if VALUE > 0
    char value[VALUE];
#endif
} LOOP(entry);

static inline KEY_T LOOP(rank_at)(const char *ranks, int64_t i) {
    KEY_T rank;
    memcpy(&rank, ranks + i * KEY, KEY);
    return rank;
}

static inline LOOP(entry) LOOP(entry_at)(const char *ranks, const char *values, int64_t i) {
    LOOP(entry) e = {.rank = LOOP(rank_at)(ranks, i)};
#if VALUE > 0
    memcpy(e.value, values + i * VALUE, VALUE);
#else
    (void)values;
#endif
    return e;
}

static inline void LOOP(set_entry)(char *ranks, char *values, int64_t i, const LOOP(entry) * e) {
    memcpy(ranks + i * KEY, &e->rank, KEY);
#if VALUE > 0
    memcpy(values + i * VALUE, e->value, VALUE);
#else
    (void)values;
#endif
}

static void LOOP(rank)(bf_dtype dtype, int64_t n, char *keys, uint64_t *all, uint64_t *common) {
    for (int64_t i = 0; i < n; i++) {
        KEY_T key = LOOP(rank_at)(keys, i);
#if KEY == 16
        (void)dtype;
        key = key << 64 | key >> 64; /* the first word counts most */
        all[1] |= (uint64_t)(key >> 64);
        common[1] &= (uint64_t)(key >> 64);
#else
        key = (KEY_T)bf_key_rank(dtype, key);
#endif
        all[0] |= (uint64_t)key;
        common[0] &= (uint64_t)key;
        memcpy(keys + i * KEY, &key, KEY);
    }
}

static void LOOP(unrank)(bf_dtype dtype, int64_t n, char *ranks) {
    for (int64_t i = 0; i < n; i++) {
        KEY_T rank = LOOP(rank_at)(ranks, i);
#if KEY == 16
        (void)dtype;
        rank = rank << 64 | rank >> 64;
#else
        rank = (KEY_T)bf_key_of_rank(dtype, rank);
#endif
        memcpy(ranks + i * KEY, &rank, KEY);
    }
}

static void LOOP(count)(const char *ranks, int64_t n, int shift, uint32_t *counts) {
    for (int64_t i = 0; i < n; i++)
        counts[LOOP(rank_at)(ranks, i) >> shift & ((1 << BF_DIGIT_BITS) - 1)]++;
}

static void LOOP(distribute)(const char *ranks, const char *values, int64_t n, int shift,
                             int64_t *at, char *to_ranks, char *to_values) {
    for (int64_t i = 0; i < n; i++) {
        LOOP(entry) e = LOOP(entry_at)(ranks, values, i);
        int64_t to = at[e.rank >> shift & ((1 << BF_DIGIT_BITS) - 1)]++;
        LOOP(set_entry)(to_ranks, to_values, to, &e);
    }
}

static void LOOP(sort_few)(char *ranks, char *values, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        LOOP(entry) moved = LOOP(entry_at)(ranks, values, i);
        int64_t k = i;
        for (; k > 0 && LOOP(rank_at)(ranks, k - 1) > moved.rank; k--) {
            LOOP(entry) before = LOOP(entry_at)(ranks, values, k - 1);
            LOOP(set_entry)(ranks, values, k, &before);
        }
        LOOP(set_entry)(ranks, values, k, &moved);
    }
}

/* One pass of a radix sort. false: all have one digit, and stay where they are. */
static bool LOOP(sort_pass)(const char *ranks, const char *values, int64_t n, int shift, int bits,
                            char *to_ranks, char *to_values) {
    int64_t at[1 << BF_DIGIT_BITS];
    KEY_T mask = (KEY_T)((1 << bits) - 1);
    int64_t sum = 0;
    memset(at, 0, sizeof *at << bits);
    for (int64_t i = 0; i < n; i++) at[LOOP(rank_at)(ranks, i) >> shift & mask]++;
    if (at[LOOP(rank_at)(ranks, 0) >> shift & mask] == n) return false;
    for (int d = 0; d < 1 << bits; d++) {
        int64_t count = at[d];
        at[d] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) {
        LOOP(entry) e = LOOP(entry_at)(ranks, values, i);
        LOOP(set_entry)(to_ranks, to_values, at[e.rank >> shift & mask]++, &e);
    }
    return true;
}

static bool LOOP(sort)(char *ranks, char *values, int64_t n, int bits, char *scratch_ranks,
                       char *scratch_values) {
    char *r[2] = {ranks, scratch_ranks}, *v[2] = {values, scratch_values};
    int digit = n < BF_SORT_MANY ? 8 : BF_DIGIT_BITS, now = 0;
    if (n <= BF_SORT_FEW) {
        LOOP(sort_few)(ranks, values, n);
        return false;
    }
    for (int shift = 0; shift < bits; shift += digit)
        if (LOOP(sort_pass)(r[now], v[now], n, shift, digit, r[1 - now], v[1 - now])) now = 1 - now;
    return now == 1;
}

static const bf_sort_loops LOOP(loops) = {
    .rank = LOOP(rank),
    .unrank = LOOP(unrank),
    .count = LOOP(count),
    .distribute = LOOP(distribute),
    .sort = LOOP(sort),
};

#undef JOIN_
#undef JOIN
#undef LOOP
#undef KEY_T
#undef VALUE
