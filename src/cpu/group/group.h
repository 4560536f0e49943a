/* Groups in host memory.
 *
 * A partition numbers its keys 0, 1, 2, ... as it meets them, by a hash table of (rank, number).
 * Each number is a slot of its accumulators (cpu/reduce/accumulators.h). A set of groups is one
 * partition as long as that fits the cache, and then 2^BF_PARTITION_BITS of them, by the first bits
 * of the keys' hashes; or, if its rows were sorted, by ranges of ranks. Rows are absorbed into new
 * sets, which are then merged into the groups; a failure leaves these as they were. Where a
 * function says "BF_E_MEMORY", the caller sets the message. */
#ifndef BF_CPU_GROUP_GROUP_H
#define BF_CPU_GROUP_GROUP_H

#include "cpu/reduce/reduce.h"
#include "cpu/runtime/context.h"
#include "rules/key/hash.h"
#include "rules/key/rank.h"
#include "rules/reduce/state.h"
#include "seam/group.h"

enum {
    BF_GROUP_BATCH = BF_ACCUMULATE_BATCH, /* rows that are numbered at a time */
    BF_ROWS_LEAST = 1 << 15,              /* rows or groups that are worth a thread */
    BF_PARTITION_BITS = 8,                /* so many bits of a hash choose the partition */
    BF_PARTITIONS = 1 << BF_PARTITION_BITS,
    BF_RANGE_STEPS = 1 << 12, /* by which a range of ranks is found */
    BF_GUESS_BITS = 15,       /* so many bits of a rank choose where its number is guessed */
    BF_GUESSES = 1 << BF_GUESS_BITS,
    BF_PARTITION_FAR = 50,        /* buckets: random keys are never so far from home */
    BF_PARTITION_CROWD = 1 << 18, /* groups that are too many for one partition */
    BF_PARTITION_WORDS = 1 << 20  /* words of them that are too many */
};

typedef struct bf_group_partition {
    void *buckets;
    void *memory;       /* in which they lie; NULL: in the set's */
    int shift;          /* 2^(64 - shift) buckets */
    int prefix;         /* bits of the hash that all its keys share */
    uint32_t size;      /* groups */
    uint32_t room;      /* for so many */
    uint32_t reseed_at; /* groups below which no other seed is tried */
    bool clustered;     /* a key was put far from home */
    bf_hash_seed seed;
    bool guessed;      /* numbers may be guessed */
    uint16_t *guesses; /* the number last found by those bits; NULL: there are none */
    void *ranks;       /* by number */
    bool lent;         /* ranks lie in the set's memory */
    bf_accumulators accumulators;
    char apart[BF_CPU_APART];
} bf_group_partition;

typedef struct bf_group_loops bf_group_loops;

typedef struct bf_group_set {
    int bits;     /* 2^bits partitions */
    bool ordered; /* they have ranges of ranks: ascending, as are their ranks; and no buckets */
    bf_group_partition *partitions;
    void *memory; /* partitions that were reserved lie in it, in large pages */
} bf_group_set;

typedef struct bf_cpu_groups {
    bf_dtype key;
    int rank_bytes;
    int asked; /* how many aggregates the caller asked for */
    bf_aggregate wanted[BF_AGGREGATES_MAX];
    int of[BF_AGGREGATES_MAX]; /* the column that each of them has (share.c) */
    int count;
    bf_dtype dtypes[BF_AGGREGATES_MAX]; /* the columns' dtypes, which every partition has */
    unsigned parts[BF_AGGREGATES_MAX];  /* the parts that they keep */
    int array_of[BF_AGGREGATES_MAX][2]; /* a column's arrays of values among those of the call */
    int arrays;                         /* different arrays of values of the call */
    bf_dtype array_dtypes[BF_GROUP_ARRAYS];
    bf_hash_seed seed;
    const bf_group_loops *loops;
    const bf_accumulate_loops *accumulate;
    bf_group_set set;
    int64_t *order; /* by key, where each group is: partition << 32 | number; NULL: not made yet */
    char *ranks;    /* in that order */
    int64_t held;   /* bytes of the budget that groups have which may spill */
    struct bf_group_spilled *spilled; /* the groups that memory does not hold; NULL: none */
} bf_cpu_groups;

/* The partitions of ranks in ascending order: those of equal steps from a rank on. Ranks below and
 * above go with the first and the last step. */
typedef struct bf_group_ranges {
    uint64_t least;
    int shift; /* a step is 2^shift */
    uint8_t of[BF_RANGE_STEPS];
} bf_group_ranges;

/* The loops for a width of ranks: instances of loops.h. */
struct bf_group_loops {
    size_t bucket_bytes;
    int slots; /* how many a bucket has */
    /* Sets the ranks of keys [0, n). */
    void (*rank)(bf_dtype key, const char *keys, int64_t n, void *ranks);
    /* Sets the keys of ranks [0, n). */
    void (*unrank)(bf_dtype key, const void *ranks, int64_t n, char *keys);
    /* Sets the partitions of ranks [0, n): the first BF_PARTITION_BITS of their hashes. */
    void (*partitions)(bf_hash_seed seed, const void *ranks, int64_t n, uint8_t *partitions);
    /* Sets the partitions by ranges of ranks. */
    void (*ranges)(const bf_group_ranges *ranges, const void *ranks, int64_t n,
                   uint8_t *partitions);
    /* Sets the numbers of ranks [0, n), n <= BF_GROUP_BATCH, and gives new ones a number while
     * there is room. Returns how many were numbered. Fetches `keys` on the way. */
    int64_t (*number)(bf_group_partition *partition, const void *ranks, int64_t n, bf_stream keys,
                      uint32_t *numbers);
    /* Returns how many of these ranks, which are all different, the partition lacks. */
    int64_t (*missing)(const bf_group_partition *partition, const void *ranks, int64_t n);
    /* Inserts the partition's ranks into its buckets, which are empty. */
    void (*insert)(bf_group_partition *partition);
};

/* --- set.c: partitions and sets --- */

/* Makes a set of 2^bits empty partitions. false: no memory. */
bool bf_group_set_create(const bf_cpu_groups *groups, int bits, bf_group_set *set);
/* Reserves room for so many groups in each partition of a new set. The thread that will use a
 * partition then opens it. false: no memory. */
bool bf_group_set_reserve(const bf_cpu_groups *groups, bf_group_set *set, int64_t size);
bool bf_partition_open(const bf_cpu_groups *groups, bf_group_partition *partition);
void bf_group_set_destroy(const bf_cpu_groups *groups, bf_group_set *set);
int64_t bf_group_set_size(const bf_group_set *set);
/* Sets begin[p] to the number of groups before partition p, for all partitions and one more.
 * Returns the number of all. */
int64_t bf_group_set_number(const bf_group_set *set, int64_t begin[BF_PARTITIONS + 1]);
/* Removes all groups. */
void bf_group_set_empty(const bf_cpu_groups *groups, bf_group_set *set);

/* Makes room for so many groups in all. false: no memory; the partition is as it was. */
bool bf_partition_reserve(const bf_cpu_groups *groups, bf_group_partition *partition, int64_t size);

/* Makes a table of guesses, all of which are 0; false: no memory. Ends guesses for good. */
bool bf_partition_guess(bf_group_partition *partition);
void bf_partition_end_guesses(bf_group_partition *partition);

/* The second array of a column of pairs; else NULL. */
static inline const char *bf_group_second(const bf_cpu_groups *groups, int column,
                                          const char *const values[]) {
    const bool pairs = bf_kind_takes_pairs(bf_bands_kind(groups->parts[column]));
    return pairs ? values[groups->array_of[column][1]] : NULL;
}

/* Absorbs n rows: their ranks, and the arrays of values. keys: what the ranks are made of, or
 * none. false: no memory. */
bool bf_partition_absorb(const bf_cpu_groups *groups, bf_group_partition *partition,
                         const void *ranks, bf_stream keys, const char *const values[], int64_t n);

/* Moves to another seed if keys are clustered and there is memory: they may have been chosen
 * against this seed. */
void bf_partition_heal(const bf_cpu_groups *groups, bf_group_partition *partition);

/* --- share.c --- */

/* Gives every aggregate a column of its own; the groups have no set yet. */
void bf_group_share_none(bf_cpu_groups *groups);
/* Makes sure that aggregates share a column only if they do by `columns`. Empty groups share as
 * these say. On failure the groups are as they were. Errors: BF_E_MEMORY, BF_E_CANCELLED. */
bf_status bf_group_share(bf_context *context, bf_cpu_groups *groups, const int columns[]);
/* Sets the arrays of a call. */
void bf_group_take_arrays(bf_cpu_groups *groups, const bf_group_job *job);
/* Sets map[c] to the column of groups that share by `of` which goes to column c. */
void bf_group_shares_map(const bf_cpu_groups *into, const int of[], int map[]);

/* --- merge.c --- */

/* Merges the groups of `from` into `into`: column map[c] into column c (NULL: c). On failure
 * `into` has the groups that it had, maybe in more partitions. Errors: BF_E_MEMORY,
 * BF_E_CANCELLED. */
bf_status bf_group_set_merge(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into,
                             const bf_group_set *from, const int map[]);

/* Makes a set of the same groups, by the groups' seed instead of another. Errors: BF_E_MEMORY,
 * BF_E_CANCELLED. */
bf_status bf_group_set_rehash(bf_context *context, const bf_cpu_groups *groups,
                              const bf_group_set *from, const int map[], bf_group_set *set);

/* --- group.c: the backend's functions, for groups that memory holds --- */

/* Makes groups->order, if it is not made yet. Errors: BF_E_MEMORY, BF_E_CANCELLED. */
bf_status bf_cpu_groups_sort(bf_context *context, bf_cpu_groups *groups);

/* The number of rows of group i by key, when they are sorted. */
static inline const int64_t *bf_group_count(const bf_cpu_groups *g, int64_t i) {
    const int64_t at = g->order[i];
    return bf_record(&g->set.partitions[at >> 32].accumulators, (uint32_t)at);
}

extern const bf_group_backend bf_group_memory;

/* --- spilled.c: the same for all groups --- */

extern const bf_group_backend bf_cpu_groups_backend;

/* --- result.c --- */

bf_status bf_cpu_groups_aggregate(bf_context *context, void *groups, int which, bf_reduction op,
                                  const bf_reduce_options *options, bf_dtype to, void *values,
                                  uint8_t *fits);

/* --- absorb.c --- */

/* Makes a set of rows. many: they are sorted by partition at once. Errors: BF_E_MEMORY,
 * BF_E_CANCELLED. */
bf_status bf_group_set_absorb(bf_context *context, const bf_cpu_groups *groups,
                              const bf_group_job *job, bool many, bf_group_set *set);

/* --- insert.c --- */

/* Makes a set of n > 0 groups of different keys, given as for the backend's function. false: no
 * memory. */
bool bf_group_set_of(const bf_cpu_groups *groups, const char *keys, const int64_t *counts,
                     const int64_t *const words[], int64_t n, bf_group_set *set);

#endif
