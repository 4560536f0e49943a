/* Partitions and sets of them: their memory, and absorbing rows. */
#include "cpu/group/group.h"

#include <string.h>

enum {
    LEAST_SHIFT = 61,     /* 8 buckets */
    MOST_SHIFT = 64 - 30, /* 2^30: numbers have 32 bits */
    LINE = 128,           /* buckets are aligned to this */
    MET_LEAST = 16        /* rows that have met their group, from which the number is estimated */
};

bool bf_group_set_create(const bf_cpu_groups *groups, int bits, bf_group_set *set) {
    size_t count = (size_t)1 << bits;
    bf_group_partition *partitions = bf_calloc(count, sizeof *partitions);
    bf_accumulator_column *columns = bf_calloc(count * (size_t)groups->count + 1, sizeof *columns);
    if (partitions == NULL || columns == NULL) {
        bf_free(partitions);
        bf_free(columns);
        return false;
    }
    for (size_t s = 0; s < count; s++) {
        partitions[s].seed = groups->seed;
        partitions[s].prefix = bits;
        bf_accumulator_column *own = columns + s * (size_t)groups->count;
        for (int c = 0; c < groups->count; c++)
            own[c] = (bf_accumulator_column){.dtype = groups->dtypes[c], .parts = groups->parts[c]};
        bf_accumulators_init(&partitions[s].accumulators, own, groups->count);
    }
    *set = (bf_group_set){.bits = bits, .partitions = partitions};
    return true;
}

void bf_group_set_destroy(const bf_cpu_groups *groups, bf_group_set *set) {
    if (set->partitions == NULL) return;
    bf_group_set_empty(groups, set);
    bf_free(set->partitions[0].accumulators.columns);
    bf_free(set->partitions);
    set->partitions = NULL;
}

int64_t bf_group_set_size(const bf_group_set *set) {
    int64_t size = 0;
    for (size_t s = 0; set->partitions != NULL && s < (size_t)1 << set->bits; s++)
        size += set->partitions[s].size;
    return size;
}

int64_t bf_group_set_number(const bf_group_set *set, int64_t begin[BF_PARTITIONS + 1]) {
    begin[0] = 0;
    for (int s = 0; s < 1 << set->bits; s++) begin[s + 1] = begin[s] + set->partitions[s].size;
    return begin[1 << set->bits];
}

void bf_group_set_empty(const bf_cpu_groups *groups, bf_group_set *set) {
    const int bits = set->ordered ? 0 : set->bits;
    for (size_t s = 0; s < (size_t)1 << set->bits; s++) {
        bf_group_partition *partition = &set->partitions[s];
        bf_free(partition->memory);
        bf_partition_end_guesses(partition);
        if (!partition->lent) bf_free(partition->ranks);
        bf_accumulators_clear(&partition->accumulators);
        *partition = (bf_group_partition){
            .seed = groups->seed, .prefix = bits, .accumulators = partition->accumulators};
    }
    bf_free(set->memory);
    set->memory = NULL;
    set->bits = bits;
    set->ordered = false;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t buckets_of(int shift) { return (uint64_t)2 << (63 - shift); }

/* Half of all slots, so that few buckets overflow. */
static uint64_t room_of(const bf_cpu_groups *groups, int shift) {
    return buckets_of(shift) * (uint64_t)groups->loops->slots / 2;
}

/* Replaces lent ranks by the partition's own. */
static bool own_ranks(const bf_cpu_groups *groups, bf_group_partition *s) {
    size_t bytes = (size_t)groups->rank_bytes;
    void *ranks = bf_alloc(s->room * bytes);
    if (ranks == NULL) return false;
    s->ranks = memcpy(ranks, s->ranks, s->size * bytes);
    s->lent = false;
    return true;
}

static bool grow_arrays(const bf_cpu_groups *groups, bf_group_partition *s, size_t room) {
    if (s->lent && !own_ranks(groups, s)) return false;
    void *ranks = bf_resize(s->ranks, room * (size_t)groups->rank_bytes);
    if (ranks == NULL) return false;
    s->ranks = ranks;
    return bf_accumulators_grow(&s->accumulators, room);
}

/* Moves to other buckets: so many, by this seed. */
static bool replace_buckets(const bf_cpu_groups *groups, bf_group_partition *s, int shift,
                            bf_hash_seed seed) {
    size_t bytes = buckets_of(shift) * groups->loops->bucket_bytes + LINE;
    char *memory = bf_zeros(bytes);
    if (memory == NULL) return false;
    bf_touch(memory, bytes);
    bf_free(s->memory);
    s->memory = memory;
    s->buckets = memory + (LINE - (uintptr_t)memory % LINE);
    s->shift = shift;
    s->seed = seed;
    s->clustered = false;
    groups->loops->insert(s);
    return true;
}

/* Returns the shift of the buckets that so many groups need, no fewer than those of `shift`. */
static int shift_for(const bf_cpu_groups *groups, int shift, int64_t size) {
    while (shift > MOST_SHIFT && room_of(groups, shift) < (uint64_t)size) shift--;
    return shift;
}

/* Cuts the next bytes off memory, in whole lines. */
static char *cut_memory(char **at, size_t bytes) {
    char *part = *at;
    *at += (bytes + LINE - 1) / LINE * LINE;
    return part;
}

static void lend_memory(const bf_cpu_groups *groups, bf_group_partition *s, int shift, char **at) {
    size_t room = room_of(groups, shift);
    s->buckets = cut_memory(at, buckets_of(shift) * groups->loops->bucket_bytes);
    s->ranks = cut_memory(at, room * (size_t)groups->rank_bytes);
    s->lent = true;
    s->shift = shift;
    s->room = (uint32_t)room;
}

bool bf_group_set_reserve(const bf_cpu_groups *groups, bf_group_set *set, int64_t size) {
    size_t partitions = (size_t)1 << set->bits;
    int shift = shift_for(groups, LEAST_SHIFT, size);
    size_t room = room_of(groups, shift);
    if (size == 0 || room < (uint64_t)size) return true;
    size_t each = buckets_of(shift) * groups->loops->bucket_bytes + 2 * LINE +
                  room * (size_t)groups->rank_bytes;
    set->memory = bf_zeros(partitions * each + LINE);
    if (set->memory == NULL) return false;
    char *at = (char *)set->memory + (LINE - (uintptr_t)set->memory % LINE);
    for (size_t s = 0; s < partitions; s++) lend_memory(groups, &set->partitions[s], shift, &at);
    return true;
}

bool bf_partition_open(const bf_cpu_groups *groups, bf_group_partition *s) {
    if (!s->lent || s->size > 0) return true;
    bf_touch(s->buckets, buckets_of(s->shift) * groups->loops->bucket_bytes);
    return bf_accumulators_grow(&s->accumulators, s->room);
}

bool bf_partition_reserve(const bf_cpu_groups *groups, bf_group_partition *s, int64_t size) {
    if (size <= s->room) return true;
    int shift = shift_for(groups, s->room == 0 ? LEAST_SHIFT : s->shift, size);
    uint64_t room = room_of(groups, shift);
    if (room < (uint64_t)size || !grow_arrays(groups, s, room)) return false;
    if (!replace_buckets(groups, s, shift, s->seed)) return false;
    s->room = (uint32_t)room;
    return true;
}

bool bf_partition_guess(bf_group_partition *s) {
    s->guesses = bf_calloc(BF_GUESSES, sizeof *s->guesses);
    return s->guesses != NULL;
}

void bf_partition_end_guesses(bf_group_partition *s) {
    bf_free(s->guesses);
    s->guesses = NULL;
    s->guessed = false;
}

void bf_partition_heal(const bf_cpu_groups *groups, bf_group_partition *s) {
    if (!s->clustered || s->size < s->reseed_at) return;
    s->reseed_at = s->size < UINT32_MAX / 2 ? 2 * s->size : UINT32_MAX;
    replace_buckets(groups, s, s->shift, bf_hash_next_seed(s->seed));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* About how many groups there will be, judged by how many of the rows so far have met one that was
 * there: of r rows of random keys about r^2 / 2 groups. 0: too few or too many to tell. */
static int64_t expected_groups(const bf_group_partition *s, int64_t rows) {
    const int64_t met = rows - (int64_t)s->size;
    if (met < MET_LEAST || rows > BF_PARTITION_CROWD) return 0;
    const int64_t groups = rows * rows / (2 * met);
    return groups < BF_PARTITION_CROWD ? groups + groups / 8 : 0;
}

/* Makes room for more groups, after so many rows. */
static bool make_room(const bf_cpu_groups *groups, bf_group_partition *s, int64_t rows) {
    const int64_t expected = expected_groups(s, rows);
    return (expected > s->size && bf_partition_reserve(groups, s, expected)) ||
           bf_partition_reserve(groups, s, (int64_t)s->size + 1);
}

static bool number_batch(const bf_cpu_groups *groups, bf_group_partition *s, const char *ranks,
                         bf_stream keys, int64_t n, uint32_t *numbers) {
    for (int64_t done = 0;;) {
        done += groups->loops->number(s, ranks + done * groups->rank_bytes, n - done,
                                      bf_stream_from(keys, done), numbers + done);
        if (done == n) break;
        if (!make_room(groups, s, s->accumulators.deposits + done)) return false;
    }
    bf_partition_heal(groups, s);
    return true;
}

bool bf_partition_absorb(const bf_cpu_groups *groups, bf_group_partition *s, const void *ranks,
                         bf_stream keys, const char *const values[], int64_t n) {
    uint32_t numbers[BF_GROUP_BATCH];
    bf_accumulators *a = &s->accumulators;
    for (int64_t at = 0; at < n; at += BF_GROUP_BATCH) {
        int64_t some = n - at < BF_GROUP_BATCH ? n - at : BF_GROUP_BATCH;
        if (!number_batch(groups, s, (const char *)ranks + at * groups->rank_bytes,
                          bf_stream_from(keys, at), some, numbers))
            return false;
        if (!bf_accumulators_open(a, groups->accumulate, numbers, some)) return false;
        for (int c = 0; c < groups->count; c++) {
            const int64_t begin = at * bf_number_bytes(groups->dtypes[c]);
            const char *second = bf_group_second(groups, c, values);
            const bf_rows_batch b = {.slots = numbers,
                                     .values = values[groups->array_of[c][0]] + begin,
                                     .second = second != NULL ? second + begin : NULL,
                                     .n = some};
            if (!bf_accumulators_absorb(a, groups->accumulate, c, &b)) return false;
        }
    }
    return true;
}
