/* Groups in a GPU's memory.
 *
 * A set numbers its groups 0, 1, 2, ...: it has each one's rank, the count of its rows, and its
 * aggregates, column by column, as src/cpu/group/group.h has them. An index finds the number of a
 * rank. Rows become a new set, which then merges into the groups' own: first all memory is made,
 * then nothing can fail. */
#ifndef BF_CUDA_GROUP_GROUP_CUH
#define BF_CUDA_GROUP_GROUP_CUH

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
    BF_CUDA_GROUPS_MOST = 1 << 30,   /* numbers have 31 bits */
    BF_CUDA_BAND_DEPOSITS = 1 << 30, /* additions to a limb between carries (limbs.h) */
    BF_CUDA_BATCH_ROWS = 1 << 28     /* most that are taken at a time */
};

/* What values of a group count apart. */
enum {
    BF_CUDA_OTHER_NAN,
    BF_CUDA_OTHER_POS_INF,
    BF_CUDA_OTHER_NEG_INF,
    BF_CUDA_OTHER_NEG_ZERO,
    BF_CUDA_OTHERS
};

/* Limbs [first, first + limbs) of the exact sums of all groups, one group after another. The limb
 * after the highest that a term reaches is always among them, so that 2^62 terms have room. */
struct bf_cuda_band {
    bf_layout layout;
    int first, limbs;
    int from, to;     /* limbs [from, to) are all that the values prepared last need */
    int64_t deposits; /* additions to any one limb since the last carry */
    bf_cuda_buffer words;
};

struct bf_cuda_column {
    bf_kind kind;
    bf_dtype dtype;
    bool greatest;              /* BF_KIND_EXTREME: keys are complemented */
    bf_cuda_band sum, products; /* those that the kind has */
    bf_cuda_buffer keys;        /* BF_KIND_EXTREME: the least, int64_t */
    bf_cuda_buffer others;      /* int64_t[BF_CUDA_OTHERS] of each group, once has_others */
    bool has_others;
};

struct bf_cuda_group_set {
    int64_t size, room;
    bf_cuda_buffer ranks, counts; /* by number; counts are int64_t */
    bf_cuda_column columns[BF_AGGREGATES_MAX];
    bf_cuda_buffer slots; /* the index: unsigned, a number + 1, or 0 */
    uint64_t places;      /* slots in use; 0: there is no index */
    bf_hash_seed seed;
};

/* Scratch of a call, by what it is for. */
enum bf_cuda_group_scratch {
    BF_CUDA_SCRATCH_COPIES,
    BF_CUDA_SCRATCH_RANKS,
    BF_CUDA_SCRATCH_NUMBERS,
    BF_CUDA_SCRATCH_OUT,
    BF_CUDA_SCRATCH_UNITS,
    BF_CUDA_SCRATCH_ENTRY_RANKS,
    BF_CUDA_SCRATCH_ENTRY_COUNTS,
    BF_CUDA_SCRATCH_PLACES,
    BF_CUDA_SCRATCH_PARTED,
    BF_CUDA_SCRATCHES
};

struct bf_cuda_groups {
    bf_dtype key;
    int rank_bytes, columns;
    bf_aggregate aggregates[BF_AGGREGATES_MAX];
    bf_hash_seed seed;
    bf_cuda_group_set set, fresh;
    bf_cuda_buffer scratch[BF_CUDA_SCRATCHES];
    uint64_t noted[BF_CUDA_NOTES]; /* the notes that were fetched last */
    bf_cuda_buffer order;          /* the numbers, unsigned, by rank */
    bool ordered;
    double guess; /* how many groups the next rows are of; 0: nobody knows */
    bool uneven;  /* and are some of these far larger than most? */
};

/* --- group.cu --- */

extern const bf_group_backend bf_cuda_group_backend;

/* As bf_cuda_check. */
bf_status bf_cuda_group_check(bf_context *context, cudaError_t error);

/* Scratch of at least so many bytes; NULL: no memory, with a message. */
void *bf_cuda_group_scratch_of(bf_context *context, bf_cuda_groups *groups,
                               bf_cuda_group_scratch what, size_t bytes);

/* Fetches the notes of the kernels that were enqueued. */
bf_status bf_cuda_group_fetch_notes(bf_context *context, bf_cuda_groups *groups);

/* Blocks for n elements at so many a block, of which multiprocessors take several. */
static inline unsigned bf_cuda_group_blocks(const bf_context *context, int64_t n, int64_t each) {
    int64_t blocks = (n + each - 1) / each, most = (int64_t)context->cuda->multiprocessors * 16;
    return (unsigned)(blocks < most ? blocks > 0 ? blocks : 1 : most);
}

/* --- set.cu: sets and their index --- */

void bf_cuda_set_init(const bf_cuda_groups *groups, bf_cuda_group_set *set);
void bf_cuda_set_destroy(bf_context *context, bf_cuda_group_set *set);
void bf_cuda_set_empty(const bf_cuda_groups *groups, bf_cuda_group_set *set);

/* Memory for so many groups in all. */
bf_status bf_cuda_set_reserve(bf_context *context, const bf_cuda_groups *groups,
                              bf_cuda_group_set *set, int64_t room);

/* Finds ranks [0, n), or claims places in the index for those that are new: *fresh of them. Then,
 * when there is memory for these too, settles: numbers become those of the groups, and if rows have
 * counts, the groups' counts grow by these. A set that was not settled has lost its index. */
bf_status bf_cuda_set_claim(bf_context *context, bf_cuda_groups *groups, bf_cuda_group_set *set,
                            const void *ranks, int64_t n, unsigned *numbers, int64_t *fresh);
bf_status bf_cuda_set_settle(bf_context *context, bf_cuda_groups *groups, bf_cuda_group_set *set,
                             const void *ranks, int64_t n, unsigned *numbers, int64_t fresh,
                             const int64_t *counts);

/* Both at once, where the set has memory for n more groups. */
bf_status bf_cuda_set_enter(bf_context *context, bf_cuda_groups *groups, bf_cuda_group_set *set,
                            const void *ranks, const int64_t *counts, int64_t n, unsigned *numbers);

/* Adds the groups of `from`, of this device. */
bf_status bf_cuda_set_merge(bf_context *context, bf_cuda_groups *groups, bf_cuda_group_set *into,
                            const bf_cuda_group_set *from);

/* Makes groups [size, size + fresh) empty ones, and counts them. */
bf_status bf_cuda_set_extend(bf_context *context, const bf_cuda_groups *groups,
                             bf_cuda_group_set *set, int64_t fresh);

/* --- keys.cu: keys as ranks --- */

/* The ranks of n keys in device memory; they may be the keys themselves. NULL: no memory. */
const void *bf_cuda_group_ranks(bf_context *context, bf_cuda_groups *groups, const void *keys,
                                int64_t n);
/* The keys of groups order[0, n). */
cudaError_t bf_cuda_group_unrank(bf_context *context, const bf_cuda_groups *groups,
                                 const unsigned *order, int64_t n, void *keys);

/* Adds 1 to the count of each number. */
cudaError_t bf_cuda_group_count(bf_context *context, const unsigned *numbers, int64_t n,
                                int64_t *counts);

/* --- aggregate.cu: aggregates --- */

void bf_cuda_column_init(bf_cuda_column *column, bf_aggregate aggregate);
void bf_cuda_column_destroy(bf_context *context, bf_cuda_column *column);
void bf_cuda_column_empty(bf_cuda_column *column);

/* Memory for `room` groups, of which there are `size`. */
bf_status bf_cuda_column_reserve(bf_context *context, bf_cuda_column *column, int64_t size,
                                 int64_t room);
/* Groups [size, size + fresh) have nothing. */
cudaError_t bf_cuda_column_extend(bf_context *context, bf_cuda_column *column, int64_t size,
                                  int64_t fresh);
/* Lets a band hold limbs [first, end) of all groups. */
bf_status bf_cuda_band_widen(bf_context *context, bf_cuda_band *band, int64_t size, int64_t room,
                             int first, int end);
/* Memory for what is counted apart. */
bf_status bf_cuda_column_count_apart(bf_context *context, bf_cuda_column *column, int64_t size,
                                     int64_t room);

/* Carries, if need be, before so many additions to any one limb of the `size` groups. */
cudaError_t bf_cuda_column_deposit(bf_context *context, bf_cuda_column *column, int64_t size,
                                   int64_t deposits);
/* Values enter the groups of these numbers, of `size`, as prepared. */
cudaError_t bf_cuda_column_take(bf_context *context, bf_cuda_column *column, const void *values,
                                const unsigned *numbers, int64_t n, int64_t size);

/* Prepares a merge, and merges: group i of `from` enters group numbers[i], each another, of `size`.
 */
bf_status bf_cuda_column_widen(bf_context *context, bf_cuda_column *into,
                               const bf_cuda_column *from, int64_t size, int64_t room);
cudaError_t bf_cuda_column_merge(bf_context *context, bf_cuda_column *into,
                                 const bf_cuda_column *from, const unsigned *numbers, int64_t n,
                                 int64_t size);

/* The words of groups order[0, n). */
cudaError_t bf_cuda_column_words(bf_context *context, const bf_cuda_column *column,
                                 const unsigned *order, const int64_t *counts, int64_t n,
                                 int64_t *words);

/* --- band.cu --- */

/* What limbs and what else n values need; these are given to the column for its `room` groups. */
bf_status bf_cuda_column_prepare(bf_context *context, bf_cuda_groups *groups,
                                 bf_cuda_column *column, const void *values, int64_t n,
                                 int64_t size, int64_t room);
/* The same by a sample, where there are many: others may need more. */
bf_status bf_cuda_column_guess(bf_context *context, bf_cuda_groups *groups, bf_cuda_column *column,
                               const void *values, int64_t n, int64_t size, int64_t room);

/* --- list.cu --- */

/* Makes the groups' order by key, where there is none. */
bf_status bf_cuda_groups_sort(bf_context *context, bf_cuda_groups *groups);

bf_status bf_cuda_groups_list(bf_context *context, void *groups, void *keys, void *counts);
bf_status bf_cuda_groups_words(bf_context *context, void *groups, int which, int64_t first,
                               int64_t n, int64_t *words);
bf_status bf_cuda_groups_enter(bf_context *context, void *groups, const void *keys,
                               const int64_t *counts, const int64_t *const words[], int64_t n);

/* --- result.cu --- */

bf_status bf_cuda_groups_aggregate(bf_context *context, void *groups, int which,
                                   const bf_reduce_options *options, bf_dtype to, void *values,
                                   uint8_t *fits);

#endif
