/* Groups in a GPU's memory.
 *
 * A set numbers its groups 0, 1, 2, ...: it has the rank of each, the count of its rows, and arrays
 * of its aggregates, as src/cpu/group/group.h has them. An index finds the number of a rank. Rows
 * are absorbed into a new set, which is then merged into the groups' own: all memory is allocated
 * before the first change. */
#ifndef BF_CUDA_GROUP_GROUP_CUH
#define BF_CUDA_GROUP_GROUP_CUH

#include "cuda/reduce/aggregate.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"

#include "rules/key/hash.h"
#include "rules/key/rank.h"
#include "rules/reduce/sum.h"

extern "C" {
#include "seam/group.h"
}

enum {
    BF_CUDA_GROUP_THREADS = 256,
    BF_CUDA_GROUPS_MOST = 1 << 30, /* numbers have 31 bits */
    BF_CUDA_PIECE_ROWS = 1 << 28   /* most rows that are absorbed at a time */
};

struct bf_cuda_group_set {
    int64_t size, room;
    bf_cuda_buffer ranks, counts;                    /* by number; counts are int64_t */
    bf_cuda_aggregate aggregates[BF_AGGREGATES_MAX]; /* the columns */
    bf_cuda_buffer slots; /* the index: unsigned, a number + 1; 0: an empty slot */
    uint64_t slot_count;  /* slots of the index; 0: there is no index */
    uint64_t rank_bits;   /* no rank has others */
    bf_hash_seed seed;
};

/* The scratch of a call, by its use. */
enum bf_cuda_group_scratch {
    BF_CUDA_SCRATCH_COPIES,
    BF_CUDA_SCRATCH_RANKS,
    BF_CUDA_SCRATCH_NUMBERS,
    BF_CUDA_SCRATCH_OUT,
    BF_CUDA_SCRATCH_BATCHES,
    BF_CUDA_SCRATCH_ENTRY_RANKS,
    BF_CUDA_SCRATCH_ENTRY_COUNTS,
    BF_CUDA_SCRATCH_SLOTS,
    BF_CUDA_SCRATCH_PARTITIONED,
    BF_CUDA_SCRATCHES
};

struct bf_cuda_groups {
    bf_dtype key;
    int rank_bytes;
    int asked; /* how many aggregates the caller asked for */
    bf_aggregate wanted[BF_AGGREGATES_MAX];
    int of[BF_AGGREGATES_MAX]; /* the column that each of them has (share.cu) */
    int count;
    bf_aggregate columns[BF_AGGREGATES_MAX]; /* for each, an aggregate that has it */
    int array_of[BF_AGGREGATES_MAX][2];      /* its arrays of values among those of the call */
    int arrays;                              /* different arrays of values of the call */
    bf_dtype dtypes[BF_GROUP_ARRAYS];
    bf_hash_seed seed;
    bf_cuda_group_set set, fresh;
    bf_cuda_buffer scratch[BF_CUDA_SCRATCHES];
    uint64_t noted[BF_CUDA_NOTES]; /* the notes that were fetched last */
    bf_cuda_buffer order;          /* the numbers (unsigned) of the groups, by rank */
    bool ordered;
    double guess; /* an estimate of the number of groups of the next rows; 0: unknown */
    bool uneven;  /* some groups are far larger than most */
};

/* --- group.cu --- */

extern const bf_group_backend bf_cuda_group_backend;

/* Checks as bf_cuda_check, with a message about groups. */
bf_status bf_cuda_group_check(bf_context *context, cudaError_t error);

/* Returns scratch of at least so many bytes; NULL: no memory, with a message. */
void *bf_cuda_group_scratch_of(bf_context *context, bf_cuda_groups *groups,
                               bf_cuda_group_scratch what, size_t bytes);

/* Fetches the notes of the enqueued kernels to groups->noted. */
bf_status bf_cuda_group_fetch_notes(bf_context *context, bf_cuda_groups *groups);

/* --- set.cu: sets and their index --- */

void bf_cuda_set_destroy(bf_context *context, bf_cuda_group_set *set);
void bf_cuda_set_empty(const bf_cuda_groups *groups, bf_cuda_group_set *set);

/* Makes room for so many groups in all. Errors: BF_E_MEMORY. */
bf_status bf_cuda_set_reserve(bf_context *context, const bf_cuda_groups *groups,
                              bf_cuda_group_set *set, int64_t room);

/* Finds ranks [0, n) in the index, or claims slots for new ones: *fresh of them. numbers: slots,
 * until settled. A set that is not settled then has lost its index. */
bf_status bf_cuda_set_claim(bf_context *context, bf_cuda_groups *groups, bf_cuda_group_set *set,
                            const void *ranks, int64_t n, unsigned *numbers, int64_t *fresh);
bf_status bf_cuda_set_settle(bf_context *context, bf_cuda_groups *groups, bf_cuda_group_set *set,
                             const void *ranks, int64_t n, unsigned *numbers, int64_t fresh,
                             const int64_t *counts);

/* Claims and settles at once. The set has room for n more groups. */
bf_status bf_cuda_set_insert(bf_context *context, bf_cuda_groups *groups, bf_cuda_group_set *set,
                             const void *ranks, const int64_t *counts, int64_t n,
                             unsigned *numbers);

/* Merges the groups of `from`, which is on this device: its column map[c] into column c; NULL: each
 * into the same. On failure `into` is as it was. */
bf_status bf_cuda_set_merge(bf_context *context, bf_cuda_groups *groups, bf_cuda_group_set *into,
                            const bf_cuda_group_set *from, const int map[]);

/* Adds groups [size, size + fresh), all empty. */
bf_status bf_cuda_set_extend(bf_context *context, const bf_cuda_groups *groups,
                             bf_cuda_group_set *set, int64_t fresh);

/* --- share.cu: columns --- */

/* Makes columns for the aggregates of empty groups, by the column of each. */
void bf_cuda_groups_set_columns(bf_context *context, bf_cuda_groups *groups, const int of[]);
/* Makes sure that aggregates share a column only if they do by `columns` and keep the same. Errors:
 * BF_E_MEMORY, BF_E_DEVICE; the groups are as they were. */
bf_status bf_cuda_groups_share(bf_context *context, bf_cuda_groups *groups, const int columns[]);
/* Sets the arrays of a call. */
void bf_cuda_groups_take_arrays(bf_cuda_groups *groups, const bf_group_job *job);

/* The arrays of column c. */
struct bf_cuda_column_values {
    const void *of[2];
};
static inline bf_cuda_column_values bf_cuda_values_of(const bf_cuda_groups *groups, int c,
                                                      const void *const values[]) {
    return {{values[groups->array_of[c][0]], values[groups->array_of[c][1]]}};
}

/* --- keys.cu: keys as ranks --- */

/* Returns the ranks of n keys in device memory: the keys themselves, or scratch. NULL: no memory.
 */
const void *bf_cuda_group_ranks(bf_context *context, bf_cuda_groups *groups, const void *keys,
                                int64_t n);
/* Writes the keys of ranks order[0, n). order NULL: of the first n, which are not pairs. */
cudaError_t bf_cuda_group_unrank(bf_context *context, const bf_cuda_groups *groups,
                                 const void *ranks, const unsigned *order, int64_t n, void *keys);
/* Returns whether keys are ranks: unsigned numbers as wide as ranks, and pairs. */
bool bf_cuda_group_are_ranks(bf_dtype key);

/* Adds 1 to counts[number] for each of n numbers. */
cudaError_t bf_cuda_group_count(bf_context *context, const unsigned *numbers, int64_t n,
                                int64_t *counts);

/* --- list.cu --- */

/* Makes the groups' order by key, if it is not made yet. */
bf_status bf_cuda_groups_sort(bf_context *context, bf_cuda_groups *groups);

bf_status bf_cuda_groups_list(bf_context *context, void *groups, void *keys, void *counts);
bf_status bf_cuda_groups_words(bf_context *context, void *groups, int which, int64_t first,
                               int64_t n, int64_t *words);
bf_status bf_cuda_groups_insert(bf_context *context, void *groups, const void *keys,
                                const int64_t *counts, const int64_t *const words[], int64_t n);

/* --- result.cu --- */

bf_status bf_cuda_groups_aggregate(bf_context *context, void *groups, int which, bf_reduction op,
                                   const bf_reduce_options *options, bf_dtype to, void *values,
                                   uint8_t *fits);

#endif
