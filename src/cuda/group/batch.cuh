/* Rows absorbed batch by batch. A batch is the rows that fill one table in a block's shared memory.
 *
 * 1. A table finds the groups of a batch and counts their rows. It is open addressing at low load,
 * by a multiplicative hash. A row whose key is not in its home slot waits until most lanes have
 * such a row, so warps rarely diverge. If there are values, each row's slot is kept.
 *
 * 2. The groups of each table become entries, and entries get the numbers of groups.
 *
 * 3. Values are added to accumulators in shared memory, by the slots of their rows, and
 * accumulators to the groups.
 *
 * If one table cannot hold all groups, rows are partitioned by the hash of their keys first. */
#ifndef BF_CUDA_GROUP_BATCH_CUH
#define BF_CUDA_GROUP_BATCH_CUH

#include "cuda/group/group.cuh"

/* Blocks that share a multiprocessor, if the GPU has the threads for it. GPUs with enough shared
 * memory for batches do. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ % 100 != 0)
#define BF_CUDA_HALVES 1
#else
#define BF_CUDA_HALVES 2
#endif

enum {
    BF_CUDA_BATCH_THREADS = 1024,
    BF_CUDA_HALF_THREADS_4 = 768, /* threads of a block that shares a multiprocessor: ranks of 4
                                     bytes */
    BF_CUDA_HALF_THREADS_8 = 512,
    BF_CUDA_PARTITIONS_MOST = 2048,
    BF_CUDA_FEW_GROUPS = 640, /* the most groups of a table of few */
    BF_CUDA_WAITING = 8       /* rows that a lane of a table may keep waiting */
};

/* The notes of tables: entries in front and at the back, whether a table overflowed, the next
 * batch, the bits that ranks have. */
enum {
    BF_CUDA_NOTE_FRONT,
    BF_CUDA_NOTE_BACK,
    BF_CUDA_NOTE_OVERFLOW,
    BF_CUDA_NOTE_NEXT,
    BF_CUDA_NOTE_BITS
};

/* The ranks of a partition are neighbours when multiplied by the plan's factor. Multiplied by this
 * as well (2^64 by the golden ratio; odd, as its lower half is), they are spread evenly: tables
 * hash by the product. */
static const uint64_t BF_CUDA_PARTITION_SPREAD = 0x9e3779b97f4a7c15u;

/* Rows [begin, end), the number of their groups, and the first of their entries. No other batch has
 * groups of a batch that is alone: its entries go to the front, those of others to the back. */
struct bf_cuda_batch {
    unsigned begin, end, alone, groups, entry;
};

/* Allocates n of so many entries to a batch. Returns whether there are enough. One thread calls it.
 */
static __device__ __forceinline__ bool bf_cuda_alloc_entries(bf_cuda_batch *batch, unsigned n,
                                                             unsigned entries,
                                                             unsigned long long *notes) {
    unsigned long long *end = notes + (batch->alone ? BF_CUDA_NOTE_FRONT : BF_CUDA_NOTE_BACK);
    uint64_t before = atomicAdd(end, (unsigned long long)n);
    batch->groups = n;
    batch->entry = (unsigned)(batch->alone ? before : entries - before - n);
    return before + n <= entries;
}

/* How rows are absorbed. */
struct bf_cuda_batch_plan {
    int rank_bytes;
    const void *ranks; /* the ranks of n rows; later, partitioned */
    int64_t n;
    const void *values[BF_GROUP_ARRAYS]; /* each array's of n rows; later, partitioned */
    int partitions;                      /* 1: rows are not partitioned */
    unsigned room;    /* rows of each partition, if these are about equal; 0: rows are counted */
    int64_t capacity; /* rows of all partitions: n, or more if they have room to spare */
    int threads, blocks_each; /* how many a block has; how many blocks a multiprocessor has */
    int slots, limit;         /* how many a table has; groups that it holds at most */
    unsigned batch_most, batch_rows; /* at most */
    uint64_t factor;                 /* odd: the multiplier that chooses partitions */
    bool keeps_slots;
    bool few;   /* a table is one of few groups (few.cu) */
    bool mixes; /* entries may be of groups that the set has: no batch is alone */

    bf_cuda_batch *batches; /* on the device */
    unsigned *batch_count;  /* two numbers: of batches; whether a partition had too little room */
    uint16_t *row_slots;    /* the slot of each row, if they are kept */
    uint16_t *slot_entry;   /* the entry of each batch's slots, counted from the batch's first */
    void *entry_ranks;
    int64_t *entry_counts;
    unsigned entries; /* for which there is room */

    uint64_t rank_bits; /* the bits that entries have */
    /* Entries [0, front) are groups base, base + 1, ...; entry back + i is of group numbers[i]. */
    unsigned front, back, base;
    const unsigned *numbers;
};

/* --- batch.cu --- */

/* Absorbs rows in device memory into g->fresh, unless batches do not suit them. *absorbed: whether
 * it did. */
bf_status bf_cuda_groups_absorb_batches(bf_context *context, bf_cuda_groups *groups,
                                        const void *ranks, const void *const values[], int64_t n,
                                        bool *absorbed);

/* --- sample.cu --- */

/* Estimates the number of groups by a sample: g->guess, and g->uneven if some are far larger than
 * most. */
bf_status bf_cuda_groups_sample(bf_context *context, bf_cuda_groups *groups, const void *ranks,
                                int64_t n);

/* --- partition.cu --- */

/* Partitions the rows of a plan: copies ranks and values to scratch, and makes batches of the
 * partitions. */
bf_status bf_cuda_groups_partition(bf_context *context, bf_cuda_groups *groups,
                                   bf_cuda_batch_plan *plan);

/* --- table.cu --- */

/* Finds the groups of all batches, counts their rows, and sets the entries. *overflow: a table had
 * too many groups, or keys that crowd; nothing else is then set. */
bf_status bf_cuda_groups_tabulate(bf_context *context, bf_cuda_groups *groups,
                                  bf_cuda_batch_plan *plan, bool *overflow);
/* Returns the bytes of shared memory of a table. */
static inline int bf_cuda_table_bytes(int rank_bytes, int slots, int threads) {
    return slots * (rank_bytes + 4) + rank_bytes + threads * BF_CUDA_WAITING * 2 * rank_bytes;
}

/* --- few.cu --- */

/* Enqueues the same for a plan of few groups. The results are in the notes. */
cudaError_t bf_cuda_tabulate_few(bf_context *context, const bf_cuda_groups *groups,
                                 const bf_cuda_batch_plan *plan);

/* --- batch_values.cu --- */

/* Absorbs partitioned values, of pairs those of two arrays, into an aggregate of g->fresh, which
 * has been prepared, maybe by a guess. unpartitioned: the values in their first order. */
bf_status bf_cuda_batch_values(bf_context *context, bf_cuda_groups *groups,
                               const bf_cuda_batch_plan *plan, bf_cuda_aggregate *aggregate,
                               const void *const values[], const void *const unpartitioned[]);

#endif
