/* The loops of groups for one width of ranks. The file that includes this defines
 *
 *   BYTES    of a rank: 4, 8 or 16
 *   RANK     its type
 *   SLOTS    of a bucket
 *   MATCH    which of the ranks in a bucket are one (cpu/runtime/match.h)
 *   LOOP(x)  the name of x for this width */

/* A bucket is filled from the front. */
typedef struct LOOP(bucket) {
    RANK ranks[SLOTS];
    uint32_t numbers[SLOTS]; /* each is the number and 1; 0: the slot is empty */
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

static void LOOP(partitions)(bf_hash_seed seed, const void *ranks, int64_t n, uint8_t *partitions) {
    for (int64_t i = 0; i < n; i++)
        partitions[i] =
            (uint8_t)(LOOP(hash)(seed, LOOP(rank_at)(ranks, i)) >> (64 - BF_PARTITION_BITS));
}

static void LOOP(ranges)(const bf_group_ranges *ranges, const void *ranks, int64_t n,
                         uint8_t *partitions) {
    const RANK least = (RANK)ranges->least;
    const int shift = ranges->shift;
    for (int64_t i = 0; i < n; i++) {
        const RANK rank = LOOP(rank_at)(ranks, i);
        const RANK step = rank < least ? 0 : (rank - least) >> shift;
        partitions[i] = ranges->of[step < BF_RANGE_STEPS ? step : BF_RANGE_STEPS - 1];
    }
}

static inline uint64_t LOOP(home)(const bf_group_partition *s, RANK rank) {
    return LOOP(hash)(s->seed, rank) << s->prefix >> s->shift;
}

/* Returns the first empty slot of a bucket that is not full. */
static inline int LOOP(first_empty)(const LOOP(bucket) * b) {
#if BYTES == 4
    return __builtin_ctz(bf_match_4((const char *)b->numbers, 0, SLOTS));
#else
    int slot = 0;
    while (b->numbers[slot] != 0) slot++;
    return slot;
#endif
}

/* The slot of a rank's number, or the empty one where it belongs. */
typedef struct LOOP(spot) {
    LOOP(bucket) * bucket;
    int slot;
} LOOP(spot);

static inline LOOP(spot) LOOP(probe)(const bf_group_partition *s, RANK rank, uint64_t home) {
    LOOP(bucket) *buckets = s->buckets;
    uint64_t mask = ((uint64_t)2 << (63 - s->shift)) - 1;
    for (;; home = (home + 1) & mask) {
        LOOP(bucket) *b = &buckets[home];
        uint32_t found = MATCH((const char *)b->ranks, rank, SLOTS);
        if (__builtin_expect(found != 0, 1)) return (LOOP(spot)){b, __builtin_ctz(found)};
        if (b->numbers[SLOTS - 1] == 0) return (LOOP(spot)){b, LOOP(first_empty)(b)};
    }
}

static void LOOP(fill)(bf_group_partition *s, LOOP(spot) spot, RANK rank, uint64_t home,
                       uint32_t number) {
    uint64_t at = (uint64_t)(spot.bucket - (LOOP(bucket) *)s->buckets);
    uint64_t mask = ((uint64_t)2 << (63 - s->shift)) - 1;
    spot.bucket->ranks[spot.slot] = rank;
    spot.bucket->numbers[spot.slot] = number + 1;
    s->clustered |= ((at - home) & mask) > BF_PARTITION_FAR;
}

static void LOOP(insert)(bf_group_partition *s) {
    for (uint32_t i = 0; i < s->size; i++) {
        RANK rank = LOOP(rank_at)(s->ranks, i);
        uint64_t home = LOOP(home)(s, rank);
        LOOP(fill)(s, LOOP(probe)(s, rank, home), rank, home, i);
    }
}

/* Sets the buckets of a batch, then AHEAD times the last again, which are fetched but not read. */
static inline void LOOP(homes)(const bf_group_partition *s, const void *ranks, int64_t n,
                               uint64_t *homes) {
    for (int64_t i = 0; i < n; i++) homes[i] = LOOP(home)(s, LOOP(rank_at)(ranks, i));
    for (int64_t i = n; i < n + AHEAD; i++) homes[i] = homes[n - 1];
}

static inline void LOOP(fetch)(const bf_group_partition *s, uint64_t home) {
    const LOOP(bucket) *buckets = s->buckets;
    __builtin_prefetch(&buckets[home]);
    if (sizeof *buckets > BF_CPU_LINE)
        __builtin_prefetch((const char *)&buckets[home] + BF_CPU_LINE);
}

static bool LOOP(add)(bf_group_partition *s, LOOP(spot) spot, RANK rank, uint64_t home) {
    if (s->size == s->room) return false;
    memcpy((char *)s->ranks + (size_t)s->size * BYTES, &rank, BYTES);
    LOOP(fill)(s, spot, rank, home, s->size++);
    return true;
}

/* Returns the number of a rank, which is a new one if it was not there: or NO_ROOM. */
static inline uint32_t LOOP(search)(bf_group_partition *s, RANK rank, uint64_t home) {
    const LOOP(spot) spot = LOOP(probe)(s, rank, home);
    const uint32_t number = spot.bucket->numbers[spot.slot];
    if (__builtin_expect(number != 0, 1)) return number - 1;
    return LOOP(add)(s, spot, rank, home) ? s->size - 1 : NO_ROOM;
}

/* Where the number of a rank is guessed. Ranks that follow each other are spread evenly. */
static inline size_t LOOP(guess_at)(RANK rank) {
#if BYTES == 4
    return (uint32_t)(rank * 0x9e3779b9u) >> (32 - BF_GUESS_BITS);
#elif BYTES == 8
    return (rank * 0x9e3779b97f4a7c15u) >> (64 - BF_GUESS_BITS);
#else
    const uint64_t low = (uint64_t)rank, high = (uint64_t)(rank >> 64);
    return (low * 0x9e3779b97f4a7c15u + high * 0xbf58476d1ce4e5b9u) >> (64 - BF_GUESS_BITS);
#endif
}

/* Numbers ranks as those were that have the same place. Where that is wrong, it searches. */
static int64_t LOOP(number_by_guess)(bf_group_partition *s, const void *ranks, int64_t n,
                                     bf_stream keys, uint32_t *numbers) {
    RANK *const known = s->ranks;
    uint16_t *const guesses = s->guesses;
    int64_t wrong = 0;
    for (int64_t i = 0; i < n;) {
        const int64_t end = n - i < BF_STREAM_ROWS ? n : i + BF_STREAM_ROWS;
        bf_stream_fetch(keys, i);
        for (; i < end; i++) {
            const RANK rank = LOOP(rank_at)(ranks, i);
            uint16_t *guess = &guesses[LOOP(guess_at)(rank)];
            uint32_t number = *guess;
            if (__builtin_expect(known[number] != rank, 0)) {
                const uint32_t size = s->size;
                number = LOOP(search)(s, rank, LOOP(home)(s, rank));
                if (number == NO_ROOM) return i;
                wrong += number < size;
                *guess = (uint16_t)number;
            }
            numbers[i] = number;
        }
    }
    if (wrong > GUESSES_WRONG || s->size > BF_GUESSES) bf_partition_end_guesses(s);
    return n;
}

/* Searches, with buckets on their way. */
static int64_t LOOP(number_by_search)(bf_group_partition *s, const void *ranks, int64_t n,
                                      bf_stream keys, uint32_t *numbers) {
    uint64_t homes[BF_GROUP_BATCH + AHEAD];
    LOOP(homes)(s, ranks, n, homes);
    for (int64_t i = 0; i < n;) {
        const int64_t end = n - i < BF_STREAM_ROWS ? n : i + BF_STREAM_ROWS;
        bf_stream_fetch(keys, i);
        for (; i < end; i++) {
            LOOP(fetch)(s, homes[i + AHEAD]);
            numbers[i] = LOOP(search)(s, LOOP(rank_at)(ranks, i), homes[i]);
            if (__builtin_expect(numbers[i] == NO_ROOM, 0)) return i;
        }
    }
    return n;
}

/* Begins to guess once few ranks are new, as only those that are known can be guessed. */
static void LOOP(begin_guesses)(bf_group_partition *s) {
    if (s->size > BF_GUESSES) s->guessed = false;
    if (!s->guessed || !bf_partition_guess(s)) return;
    for (uint32_t i = 0; i < s->size; i++)
        s->guesses[LOOP(guess_at)(LOOP(rank_at)(s->ranks, i))] = (uint16_t)i;
}

static int64_t LOOP(number)(bf_group_partition *s, const void *ranks, int64_t n, bf_stream keys,
                            uint32_t *numbers) {
    const uint32_t size = s->size;
    if (s->room == 0) return 0;
    if (s->guesses != NULL) return LOOP(number_by_guess)(s, ranks, n, keys, numbers);
    const int64_t done = LOOP(number_by_search)(s, ranks, n, keys, numbers);
    if (s->guessed && done > 0 && s->size - size <= done / GUESSES_NEW) LOOP(begin_guesses)(s);
    return done;
}

static int64_t LOOP(missing)(const bf_group_partition *s, const void *ranks, int64_t n) {
    uint64_t homes[BF_GROUP_BATCH + AHEAD];
    int64_t missing = 0;
    if (s->room == 0) return n;
    LOOP(homes)(s, ranks, n, homes);
    for (int64_t i = 0; i < n; i++) {
        LOOP(fetch)(s, homes[i + AHEAD]);
        LOOP(spot) spot = LOOP(probe)(s, LOOP(rank_at)(ranks, i), homes[i]);
        missing += spot.bucket->numbers[spot.slot] == 0;
    }
    return missing;
}

static const bf_group_loops LOOP(loops) = {
    .bucket_bytes = sizeof(LOOP(bucket)),
    .slots = SLOTS,
    .rank = LOOP(rank),
    .unrank = LOOP(unrank),
    .partitions = LOOP(partitions),
    .ranges = LOOP(ranges),
    .number = LOOP(number),
    .missing = LOOP(missing),
    .insert = LOOP(insert),
};
