/* Shards: their memory, and how rows enter them; sets of shards. */
#include "cpu/group/group.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_SHIFT = 61,     /* 8 buckets */
    MOST_SHIFT = 64 - 30, /* 2^30: numbers have 32 bits */
    LINE = 128            /* buckets are aligned to this */
};

bool bf_group_set_create(const bf_cpu_groups *groups, int bits, bf_group_set *set) {
    size_t count = (size_t)1 << bits;
    bf_group_shard *shards = calloc(count, sizeof *shards);
    bf_column *columns = calloc(count * (size_t)groups->columns + 1, sizeof *columns);
    if (shards == NULL || columns == NULL) {
        free(shards);
        free(columns);
        return false;
    }
    for (size_t s = 0; s < count; s++) {
        shards[s].seed = groups->seed;
        shards[s].prefix = bits;
        shards[s].columns = columns + s * (size_t)groups->columns;
        for (int c = 0; c < groups->columns; c++)
            bf_column_init(&shards[s].columns[c], groups->aggregates[c]);
    }
    *set = (bf_group_set){.bits = bits, .shards = shards};
    return true;
}

void bf_group_set_destroy(const bf_cpu_groups *groups, bf_group_set *set) {
    if (set->shards == NULL) return;
    bf_group_set_empty(groups, set);
    free(set->shards[0].columns);
    free(set->shards);
    set->shards = NULL;
}

int64_t bf_group_set_size(const bf_group_set *set) {
    int64_t size = 0;
    for (size_t s = 0; set->shards != NULL && s < (size_t)1 << set->bits; s++)
        size += set->shards[s].size;
    return size;
}

void bf_group_set_empty(const bf_cpu_groups *groups, bf_group_set *set) {
    for (size_t s = 0; s < (size_t)1 << set->bits; s++) {
        bf_group_shard *shard = &set->shards[s];
        free(shard->memory);
        if (!shard->lent) free(shard->ranks);
        if (!shard->lent) free(shard->counts);
        for (int c = 0; c < groups->columns; c++) {
            bf_column_destroy(&shard->columns[c]);
            bf_column_init(&shard->columns[c], groups->aggregates[c]);
        }
        *shard =
            (bf_group_shard){.seed = groups->seed, .prefix = set->bits, .columns = shard->columns};
    }
    free(set->memory);
    set->memory = NULL;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static uint64_t buckets_of(int shift) { return (uint64_t)2 << (63 - shift); }

/* Half of all places, so that buckets that overflow are rare. */
static uint64_t room_of(const bf_cpu_groups *groups, int shift) {
    return buckets_of(shift) * (uint64_t)groups->loops->places / 2;
}

/* The shard's own arrays, instead of lent ones. */
static bool own_arrays(const bf_cpu_groups *groups, bf_group_shard *s) {
    size_t bytes = (size_t)groups->rank_bytes;
    void *ranks = malloc(s->room * bytes);
    int64_t *counts = malloc(s->room * sizeof *counts);
    if (ranks == NULL || counts == NULL) {
        free(ranks);
        free(counts);
        return false;
    }
    s->ranks = memcpy(ranks, s->ranks, s->size * bytes);
    s->counts = memcpy(counts, s->counts, s->room * sizeof *counts);
    s->lent = false;
    return true;
}

static bool grow_arrays(const bf_cpu_groups *groups, bf_group_shard *s, size_t room) {
    if (s->lent && !own_arrays(groups, s)) return false;
    void *ranks = realloc(s->ranks, room * (size_t)groups->rank_bytes);
    if (ranks == NULL) return false;
    s->ranks = ranks;
    int64_t *counts = realloc(s->counts, room * sizeof *counts);
    if (counts == NULL) return false;
    memset(counts + s->room, 0, (room - s->room) * sizeof *counts);
    s->counts = counts;
    for (int c = 0; c < groups->columns; c++)
        if (!bf_column_grow(&s->columns[c], s->room, room)) return false;
    return true;
}

/* Other buckets: so many, by this seed. */
static bool replace_buckets(const bf_cpu_groups *groups, bf_group_shard *s, int shift,
                            bf_hash_seed seed) {
    size_t bytes = buckets_of(shift) * groups->loops->bucket_bytes + LINE;
    char *memory = bf_zeros(bytes);
    if (memory == NULL) return false;
    bf_touch(memory, bytes);
    free(s->memory);
    s->memory = memory;
    s->buckets = memory + (LINE - (uintptr_t)memory % LINE);
    s->shift = shift;
    s->seed = seed;
    s->clustered = false;
    groups->loops->enter(s);
    return true;
}

/* The buckets that this many groups need, but no fewer than those of `shift`. */
static int shift_for(const bf_cpu_groups *groups, int shift, int64_t size) {
    while (shift > MOST_SHIFT && room_of(groups, shift) < (uint64_t)size) shift--;
    return shift;
}

/* A part of memory that is cut into such parts, each from a line on. */
static char *cut(char **at, size_t bytes) {
    char *part = *at;
    *at += (bytes + LINE - 1) / LINE * LINE;
    return part;
}

static void lend(const bf_cpu_groups *groups, bf_group_shard *s, int shift, char **at) {
    size_t room = room_of(groups, shift);
    s->buckets = cut(at, buckets_of(shift) * groups->loops->bucket_bytes);
    s->ranks = cut(at, room * (size_t)groups->rank_bytes);
    s->counts = (int64_t *)cut(at, room * sizeof *s->counts);
    s->lent = true;
    s->shift = shift;
    s->room = (uint32_t)room;
}

bool bf_group_set_reserve(const bf_cpu_groups *groups, bf_group_set *set, int64_t size) {
    size_t shards = (size_t)1 << set->bits;
    int shift = shift_for(groups, LEAST_SHIFT, size);
    size_t room = room_of(groups, shift);
    if (size == 0 || room < (uint64_t)size) return true;
    size_t each = buckets_of(shift) * groups->loops->bucket_bytes + 3 * LINE +
                  room * ((size_t)groups->rank_bytes + sizeof(int64_t));
    set->memory = bf_zeros(shards * each + LINE);
    if (set->memory == NULL) return false;
    char *at = (char *)set->memory + (LINE - (uintptr_t)set->memory % LINE);
    for (size_t s = 0; s < shards; s++) lend(groups, &set->shards[s], shift, &at);
    return true;
}

bool bf_shard_open(const bf_cpu_groups *groups, bf_group_shard *s) {
    if (!s->lent || s->size > 0) return true;
    bf_touch(s->buckets, buckets_of(s->shift) * groups->loops->bucket_bytes);
    for (int c = 0; c < groups->columns; c++)
        if (!bf_column_grow(&s->columns[c], 0, s->room)) return false;
    return true;
}

bool bf_shard_reserve(const bf_cpu_groups *groups, bf_group_shard *s, int64_t size) {
    if (size <= s->room) return true;
    int shift = shift_for(groups, s->room == 0 ? LEAST_SHIFT : s->shift, size);
    uint64_t room = room_of(groups, shift);
    if (room < (uint64_t)size || !grow_arrays(groups, s, room)) return false;
    if (!replace_buckets(groups, s, shift, s->seed)) return false;
    s->room = (uint32_t)room;
    return true;
}

void bf_shard_heal(const bf_cpu_groups *groups, bf_group_shard *s) {
    if (!s->clustered || s->size < s->reseed_at) return;
    s->reseed_at = s->size < UINT32_MAX / 2 ? 2 * s->size : UINT32_MAX;
    replace_buckets(groups, s, s->shift, bf_hash_next_seed(s->seed));
}

/* ---- rows -------------------------------------------------------------------------------------
 */

static bool number_batch(const bf_cpu_groups *groups, bf_group_shard *s, const char *ranks,
                         int64_t n, uint32_t *numbers) {
    for (int64_t done = 0;;) {
        done +=
            groups->loops->number(s, ranks + done * groups->rank_bytes, n - done, numbers + done);
        if (done == n) break;
        if (!bf_shard_reserve(groups, s, (int64_t)s->size + 1)) return false;
    }
    bf_shard_heal(groups, s);
    for (int64_t i = 0; i < n; i++) s->counts[numbers[i]]++;
    return true;
}

bool bf_shard_take(const bf_cpu_groups *groups, bf_group_shard *s, const void *ranks,
                   const char *const values[], int64_t n) {
    uint32_t numbers[BF_GROUP_BATCH];
    for (int64_t at = 0; at < n; at += BF_GROUP_BATCH) {
        int64_t some = n - at < BF_GROUP_BATCH ? n - at : BF_GROUP_BATCH;
        if (!number_batch(groups, s, (const char *)ranks + at * groups->rank_bytes, some, numbers))
            return false;
        for (int c = 0; c < groups->columns; c++) {
            int64_t first = at * bf_dtype_bytes(groups->aggregates[c].dtype);
            if (!bf_column_take(&s->columns[c], s->room, numbers, values[c] + first, some))
                return false;
        }
    }
    return true;
}
