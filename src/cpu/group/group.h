/* Groups in host memory.
 *
 * A shard numbers the keys that it meets 0, 1, 2, ... by a hash table of (rank, number), and has
 * for each number the count of rows and the aggregates, column by column. A set of groups is one
 * shard as long as that fits the cache, and else 2^BF_SHARD_BITS of them, each with the keys of one
 * stretch of hashes. Rows are absorbed into new sets, which then merge into the groups: so nothing
 * can fail halfway. */
#ifndef BF_CPU_GROUP_GROUP_H
#define BF_CPU_GROUP_GROUP_H

#include "cpu/runtime/context.h"
#include "rules/key/hash.h"
#include "rules/key/rank.h"
#include "seam/group.h"

enum {
    BF_GROUP_BATCH = 1024,   /* rows that are numbered at a time */
    BF_ROWS_LEAST = 1 << 15, /* rows or groups that are worth a thread */
    BF_SHARD_BITS = 8,       /* of the hash, that choose a shard */
    BF_SHARDS = 1 << BF_SHARD_BITS,
    BF_SHARD_FAR = 50,             /* buckets: random keys are never so far from theirs */
    BF_SHARD_CROWD = 1 << 18,      /* groups that are too many for one shard */
    BF_BAND_DEPOSITS_MAX = 1 << 30 /* between carries (limbs.h) */
};

/* Limbs [first, first + limbs) of the exact sums (of a layout) of a shard's groups, one after
 * another: as many as the terms have needed. Limbs outside are 0; the last takes what carries
 * bring. */
typedef struct bf_band {
    bf_layout layout; /* of the whole sum */
    int first, limbs;
    int64_t deposits; /* additions to any one limb since the last carry */
    int64_t *words;
} bf_band;

/* What values of a group count apart: (those of integers never do). */
enum { BF_OTHER_NAN, BF_OTHER_POS_INF, BF_OTHER_NEG_INF, BF_OTHER_NEG_ZERO, BF_OTHERS };

/* An aggregate of a shard's groups. */
typedef struct bf_column {
    bf_kind kind;
    bf_dtype dtype;
    bf_band sum, products; /* those that the kind has */
    bool greatest;         /* BF_KIND_EXTREME: keys are complemented */
    int64_t *keys;         /* BF_KIND_EXTREME: the least */
    int64_t *others;       /* BF_OTHERS of each group; NULL: there are none */
} bf_column;

typedef struct bf_group_shard {
    void *buckets;
    void *memory;       /* that they lie in; NULL: the set's */
    int shift;          /* 2^(64 - shift) buckets */
    int prefix;         /* bits of the hash that all its keys share */
    uint32_t size;      /* groups */
    uint32_t room;      /* for so many */
    uint32_t reseed_at; /* groups, below which another seed is not tried again */
    bool clustered;     /* a key was far from its bucket */
    bf_hash_seed seed;
    void *ranks; /* by number */
    int64_t *counts;
    bool lent; /* ranks and counts lie in the set's memory */
    bf_column *columns;
    char apart[BF_CPU_APART];
} bf_group_shard;

typedef struct bf_group_loops bf_group_loops;

typedef struct bf_group_set {
    int bits; /* 2^bits shards */
    bf_group_shard *shards;
    void *memory; /* of shards that were reserved, in large pages */
} bf_group_set;

typedef struct bf_cpu_groups {
    bf_dtype key;
    int rank_bytes;
    int columns;
    bf_aggregate aggregates[BF_AGGREGATES_MAX];
    bf_hash_seed seed;
    const bf_group_loops *loops;
    bf_group_set set;
    int64_t *order; /* each group's place, shard << 32 | number, by key; NULL: to be made */
    char *ranks;    /* in that order */
} bf_cpu_groups;

/* The loops for a width of ranks: instances of loops.h. */
struct bf_group_loops {
    size_t bucket_bytes;
    int places; /* in a bucket */
    /* The ranks of keys [0, n). */
    void (*rank)(bf_dtype key, const char *keys, int64_t n, void *ranks);
    /* And back. */
    void (*unrank)(bf_dtype key, const void *ranks, int64_t n, char *keys);
    /* The top BF_SHARD_BITS of the ranks' hashes. */
    void (*shards)(bf_hash_seed seed, const void *ranks, int64_t n, uint8_t *shards);
    /* The numbers of ranks [0, n), n <= BF_GROUP_BATCH. New ones are entered if there is room: how
     * many were numbered before one had none. */
    int64_t (*number)(bf_group_shard *shard, const void *ranks, int64_t n, uint32_t *numbers);
    /* How many of these ranks, which are all different, the shard has not. */
    int64_t (*missing)(const bf_group_shard *shard, const void *ranks, int64_t n);
    /* Enters ranks [0, size) into empty buckets. */
    void (*enter)(bf_group_shard *shard);
};

/* --- set.c: shards and sets --- */

/* A set of 2^bits empty shards. false: no memory. */
bool bf_group_set_create(const bf_cpu_groups *groups, int bits, bf_group_set *set);
/* Room for so many groups in each of its shards, which have had none yet and are then to be opened,
 * each by the thread that will use it. false: no memory. */
bool bf_group_set_reserve(const bf_cpu_groups *groups, bf_group_set *set, int64_t size);
bool bf_shard_open(const bf_cpu_groups *groups, bf_group_shard *shard);
void bf_group_set_destroy(const bf_cpu_groups *groups, bf_group_set *set);
int64_t bf_group_set_size(const bf_group_set *set);
/* Takes out all groups. */
void bf_group_set_empty(const bf_cpu_groups *groups, bf_group_set *set);

/* Makes room for so many groups in all. false: no memory, and the shard is as it was. */
bool bf_shard_reserve(const bf_cpu_groups *groups, bf_group_shard *shard, int64_t size);

/* Takes n rows: their ranks, and the values of each column. false: no memory. */
bool bf_shard_take(const bf_cpu_groups *groups, bf_group_shard *shard, const void *ranks,
                   const char *const values[], int64_t n);

/* Another seed, if keys seem to be chosen against this one and there is memory. */
void bf_shard_heal(const bf_cpu_groups *groups, bf_group_shard *shard);

/* --- merge.c --- */

/* Adds the groups of `from`. false: no memory; `into` then has the same groups as before, maybe in
 * more shards. */
bool bf_group_set_merge(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into,
                        const bf_group_set *from);

/* The same groups, of a set whose shards went by another seed, in a new set. false: no memory. */
bool bf_group_set_rehash(bf_context *context, const bf_cpu_groups *groups, const bf_group_set *from,
                         bf_group_set *set);

/* --- group.c: the backend's functions --- */

/* Makes the groups' order, where there is none. Errors: BF_E_MEMORY. */
bf_status bf_cpu_groups_sort(bf_context *context, bf_cpu_groups *groups);

extern const bf_group_backend bf_cpu_groups_backend;

/* --- result.c --- */

bf_status bf_cpu_groups_aggregate(bf_context *context, void *groups, int which,
                                  const bf_reduce_options *options, bf_dtype to, void *values,
                                  uint8_t *fits);

/* --- absorb.c --- */

/* Takes rows into an empty set of no shards yet. false: no memory. */
bool bf_group_set_absorb(bf_context *context, const bf_cpu_groups *groups, const char *keys,
                         const void *const values[], int64_t n, bool many, bf_group_set *set);

/* --- insert.c --- */

/* n > 0 groups of different keys, as the backend's function takes them, in a new set. false: no
 * memory. */
bool bf_group_set_of(const bf_cpu_groups *groups, const char *keys, const int64_t *counts,
                     const int64_t *const words[], int64_t n, bf_group_set *set);

/* --- aggregate.c: aggregates --- */

void bf_column_init(bf_column *column, bf_aggregate aggregate);
void bf_column_destroy(bf_column *column);

/* Memory for `room` groups, where there was some for `before`. false: no memory. */
bool bf_column_grow(bf_column *column, size_t before, size_t room);

/* Values [0, n) enter the groups of these numbers, n <= BF_GROUP_BATCH. room: groups that the
 * column has memory for. false: no memory. */
bool bf_column_take(bf_column *column, size_t room, const uint32_t *numbers, const char *values,
                    int64_t n);

/* Memory for what values count apart, if there is none yet. false: no memory. */
bool bf_column_count_apart(bf_column *column, size_t room);

/* Prepares a merge: widens `into`'s bands to hold those of `from`. false: no memory. */
bool bf_column_widen(bf_column *into, size_t room, const bf_column *from);

/* Group f of `from` enters group i of `into`, which has been widened. */
void bf_column_merge(bf_column *into, size_t i, const bf_column *from, size_t f);
/* Once all have: the deposits of both. */
void bf_column_merged(bf_column *into, const bf_column *from);

/* The counts of a group with `count` rows, as the first BF_EXACT_LIMBS words of a state have them.
 */
static inline void bf_column_counts(const bf_column *column, size_t i, int64_t count,
                                    int64_t *words) {
    static const int64_t none[BF_OTHERS];
    const int64_t *others = column->others != NULL ? column->others + i * BF_OTHERS : none;
    words[BF_EXACT_COUNT] = count;
    words[BF_EXACT_NAN] = others[BF_OTHER_NAN];
    words[BF_EXACT_POS_INF] = others[BF_OTHER_POS_INF];
    words[BF_EXACT_NEG_INF] = others[BF_OTHER_NEG_INF];
    words[BF_EXACT_INVALID] = 0;
    for (int k = 0; k < BF_OTHERS; k++) count -= others[k];
    words[BF_EXACT_NONZERO] = count > 0;
}

/* The words of a state with the values of group i, which has `count` rows. */
void bf_column_words(const bf_column *column, size_t i, int64_t count, int64_t *words);

/* --- band.c: limbs --- */

bool bf_band_grow(bf_band *band, size_t before, size_t room);
/* Widens a band to hold limbs [first, first + limbs) too. false: no memory. */
bool bf_band_widen(bf_band *band, size_t room, int first, int limbs);
/* Makes sure that `deposits` more fit. false: no memory. */
bool bf_band_prepare(bf_band *band, size_t room, int64_t deposits);
/* The limbs of group i, all that the layout has, carried. */
void bf_band_limbs(const bf_band *band, size_t i, int64_t *limbs);

#endif
