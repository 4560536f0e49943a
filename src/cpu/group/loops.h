/* The loops of groups for one width of ranks. The file that includes this defines
 *
 *   BYTES    of a rank: 4, 8 or 16
 *   RANK     its type
 *   PLACES   of a bucket
 *   MATCH    which of the ranks in a bucket are one (cpu/runtime/match.h)
 *   LOOP(x)  the name of x for this width
 */

/* A bucket is filled from the front. */
typedef struct LOOP(bucket) {
    RANK ranks[PLACES];
    uint32_t numbers[PLACES]; /* and 1; 0: the place is empty */
} __attribute__((aligned(BYTES == 16 ? 128 : 64))) LOOP(bucket);

static inline uint64_t LOOP(hash)(bf_hash_seed seed, RANK rank) {
#if BYTES == 4
    return bf_hash_4(seed, rank);
#elif BYTES == 8
    return bf_hash_8(seed, rank);
#else
    return bf_hash_16(seed, (uint64_t)rank, (uint64_t)(rank >> 64));
#endif
}

static inline RANK LOOP(rank_at)(const void *ranks, int64_t i) {
    RANK rank;
    memcpy(&rank, (const char *)ranks + i * BYTES, BYTES);
    return rank;
}

static void LOOP(shards)(bf_hash_seed seed, const void *ranks, int64_t n, uint8_t *shards) {
    for (int64_t i = 0; i < n; i++)
        shards[i] = (uint8_t)(LOOP(hash)(seed, LOOP(rank_at)(ranks, i)) >> (64 - BF_SHARD_BITS));
}

static inline uint64_t LOOP(home)(const bf_group_shard *s, RANK rank) {
    return LOOP(hash)(s->seed, rank) << s->prefix >> s->shift;
}

/* Of a bucket that is not full. */
static inline int LOOP(first_empty)(const LOOP(bucket) * b) {
#if BYTES == 4
    return __builtin_ctz(bf_match_4((const char *)b->numbers, 0, PLACES));
#else
    int place = 0;
    while (b->numbers[place] != 0) place++;
    return place;
#endif
}

/* Where a rank's number is, or belongs. */
typedef struct LOOP(spot) {
    LOOP(bucket) * bucket;
    int place;
} LOOP(spot);

static inline LOOP(spot) LOOP(probe)(const bf_group_shard *s, RANK rank, uint64_t home) {
    LOOP(bucket) *buckets = s->buckets;
    uint64_t mask = ((uint64_t)2 << (63 - s->shift)) - 1;
    for (;; home = (home + 1) & mask) {
        LOOP(bucket) *b = &buckets[home];
        uint32_t found = MATCH((const char *)b->ranks, rank, PLACES);
        if (__builtin_expect(found != 0, 1)) return (LOOP(spot)){b, __builtin_ctz(found)};
        if (b->numbers[PLACES - 1] == 0) return (LOOP(spot)){b, LOOP(first_empty)(b)};
    }
}

static void LOOP(fill)(bf_group_shard *s, LOOP(spot) spot, RANK rank, uint64_t home,
                       uint32_t number) {
    uint64_t at = (uint64_t)(spot.bucket - (LOOP(bucket) *)s->buckets);
    uint64_t mask = ((uint64_t)2 << (63 - s->shift)) - 1;
    spot.bucket->ranks[spot.place] = rank;
    spot.bucket->numbers[spot.place] = number + 1;
    s->clustered |= ((at - home) & mask) > BF_SHARD_FAR;
}

static void LOOP(enter)(bf_group_shard *s) {
    for (uint32_t i = 0; i < s->size; i++) {
        RANK rank = LOOP(rank_at)(s->ranks, i);
        uint64_t home = LOOP(home)(s, rank);
        LOOP(fill)(s, LOOP(probe)(s, rank, home), rank, home, i);
    }
}

/* The buckets of a batch, and again the last for some more, which are fetched but not looked at. */
static inline void LOOP(homes)(const bf_group_shard *s, const void *ranks, int64_t n,
                               uint64_t *homes) {
    for (int64_t i = 0; i < n; i++) homes[i] = LOOP(home)(s, LOOP(rank_at)(ranks, i));
    for (int64_t i = n; i < n + AHEAD; i++) homes[i] = homes[n - 1];
}

static inline void LOOP(fetch)(const bf_group_shard *s, uint64_t home) {
    const LOOP(bucket) *buckets = s->buckets;
    __builtin_prefetch(&buckets[home]);
    if (sizeof *buckets > BF_CPU_LINE)
        __builtin_prefetch((const char *)&buckets[home] + BF_CPU_LINE);
}

static bool LOOP(add)(bf_group_shard *s, LOOP(spot) spot, RANK rank, uint64_t home) {
    if (s->size == s->room) return false;
    memcpy((char *)s->ranks + (size_t)s->size * BYTES, &rank, BYTES);
    LOOP(fill)(s, spot, rank, home, s->size++);
    return true;
}

static int64_t LOOP(number)(bf_group_shard *s, const void *ranks, int64_t n, uint32_t *numbers) {
    uint64_t homes[BF_GROUP_BATCH + AHEAD];
    if (s->room == 0) return 0;
    LOOP(homes)(s, ranks, n, homes);
    for (int64_t i = 0; i < n; i++) {
        LOOP(fetch)(s, homes[i + AHEAD]);
        RANK rank = LOOP(rank_at)(ranks, i);
        LOOP(spot) spot = LOOP(probe)(s, rank, homes[i]);
        uint32_t number = spot.bucket->numbers[spot.place];
        if (__builtin_expect(number == 0, 0)) {
            if (!LOOP(add)(s, spot, rank, homes[i])) return i;
            number = s->size;
        }
        numbers[i] = number - 1;
    }
    return n;
}

static int64_t LOOP(missing)(const bf_group_shard *s, const void *ranks, int64_t n) {
    uint64_t homes[BF_GROUP_BATCH + AHEAD];
    int64_t missing = 0;
    if (s->room == 0) return n;
    LOOP(homes)(s, ranks, n, homes);
    for (int64_t i = 0; i < n; i++) {
        LOOP(fetch)(s, homes[i + AHEAD]);
        LOOP(spot) spot = LOOP(probe)(s, LOOP(rank_at)(ranks, i), homes[i]);
        missing += spot.bucket->numbers[spot.place] == 0;
    }
    return missing;
}

static const bf_group_loops LOOP(loops) = {
    .bucket_bytes = sizeof(LOOP(bucket)),
    .places = PLACES,
    .rank = LOOP(rank),
    .unrank = LOOP(unrank),
    .shards = LOOP(shards),
    .number = LOOP(number),
    .missing = LOOP(missing),
    .enter = LOOP(enter),
};
