/* Rows of few groups, or of many that were parted by hash: a block takes a unit of rows into a
 * table of its own in shared memory.
 *
 * 1. A table finds out which groups a unit has and counts their rows. It is open addressing at low
 *    load, by a multiplication; a row that is not at its place waits until most lanes have one, so
 *    that warps rarely diverge. Where there are values each row's slot is kept.
 * 2. Each table's groups become entries, and these get the numbers of groups.
 * 3. Values enter accumulators in shared memory, by the slots of their rows; these enter the
 * groups.
 *
 * Where there are too many groups for one table, rows are parted by the hash of their keys first.
 */
#ifndef BF_CUDA_GROUP_BATCH_CUH
#define BF_CUDA_GROUP_BATCH_CUH

#include "cuda/group/group.cuh"

/* Blocks that are to share a multiprocessor: of GPUs that have the threads for it, which are those
 * with enough shared memory for all of this. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ % 100 != 0)
#define BF_CUDA_HALVES 1
#else
#define BF_CUDA_HALVES 2
#endif

enum {
    BF_CUDA_UNIT_THREADS = 1024,
    BF_CUDA_HALF_THREADS_4 = 768, /* of a block that shares a multiprocessor: ranks of 4 bytes */
    BF_CUDA_HALF_THREADS_8 = 512,
    BF_CUDA_PARTS_MOST = 2048,
    BF_CUDA_FEW_GROUPS = 640, /* that a table of few takes */
    BF_CUDA_WAITING = 8       /* rows that a lane of a table can let wait */
};

/* What tables tell the host: entries in front and at the back, an overflow, the next unit. */
enum { BF_CUDA_NOTE_FRONT, BF_CUDA_NOTE_BACK, BF_CUDA_NOTE_OVERFLOW, BF_CUDA_NOTE_NEXT };

/* The ranks of a part times the plan's factor are neighbours. Times this as well (2^64 by the
 * golden ratio, odd, as is its lower half) they are as far apart as can be: tables go by that. */
static const uint64_t BF_CUDA_PART_SPREAD = 0x9e3779b97f4a7c15u;

/* Rows [begin, end); what became of them: groups, and the first of their entries. The groups of a
 * unit that is alone are in no other unit: their entries go to the front, others to the back. */
struct bf_cuda_unit {
    unsigned begin, end, alone, groups, entry;
};

/* Gives a unit room for n groups among so many entries. False: there is too little. By one thread.
 */
static __device__ __forceinline__ bool
bf_cuda_take_entries(bf_cuda_unit *unit, unsigned n, unsigned entries, unsigned long long *notes) {
    unsigned long long *end = notes + (unit->alone ? BF_CUDA_NOTE_FRONT : BF_CUDA_NOTE_BACK);
    uint64_t before = atomicAdd(end, (unsigned long long)n);
    unit->groups = n;
    unit->entry = (unsigned)(unit->alone ? before : entries - before - n);
    return before + n <= entries;
}

/* How rows are taken. */
struct bf_cuda_unit_plan {
    int rank_bytes;
    const void *ranks; /* of n rows; parted ones */
    int64_t n;
    const void *values[BF_AGGREGATES_MAX]; /* likewise */
    int parts;                             /* 1: not parted */
    unsigned room;             /* of each part, if they are about equal; 0: they are counted */
    int64_t places;            /* of rows, parted: n, or more where parts have room to spare */
    int threads, blocks_each;  /* of a block; blocks of a multiprocessor */
    int slots, limit;          /* of a table; groups that it takes */
    unsigned units, unit_rows; /* at most */
    uint64_t factor;           /* odd: what chooses parts */
    bool keeps_slots;
    bool few;   /* a table is one of few groups (few.cu) */
    bool mixes; /* there are groups that entries may be of: no unit is alone */

    bf_cuda_unit *unit;   /* on the device */
    unsigned *unit_count; /* then whether parts had too little room */
    uint16_t *row_slots;  /* of each row, if they are kept */
    uint16_t *slot_entry; /* of each unit's slots: the entry, counted from the unit's first */
    void *entry_ranks;
    int64_t *entry_counts;
    unsigned entries; /* that there is room for */

    /* Entries [0, front) are groups base, base + 1, ...; entry back + i is of group numbers[i]. */
    unsigned front, back, base;
    const unsigned *numbers;
};

/* --- batch.cu --- */

/* Takes rows in device memory into g->fresh, if this is the way to take them: *taken. */
bf_status bf_cuda_groups_take_units(bf_context *context, bf_cuda_groups *groups, const void *ranks,
                                    const void *const values[], int64_t n, bool *taken);

/* --- sample.cu --- */

/* About how many groups there are, by a sample: g->guess; g->uneven: some are far larger than most.
 */
bf_status bf_cuda_groups_sample(bf_context *context, bf_cuda_groups *groups, const void *ranks,
                                int64_t n);

/* --- partition.cu --- */

/* Parts the rows of a plan: ranks and values move to scratch, and units are made of the parts. */
bf_status bf_cuda_groups_part(bf_context *context, bf_cuda_groups *groups, bf_cuda_unit_plan *plan);

/* --- table.cu --- */

/* Finds the groups of all units, and counts. Sets the entries; BF_OK and *overflow: there were too
 * many groups for a table, or keys that crowd. */
bf_status bf_cuda_groups_tabulate(bf_context *context, bf_cuda_groups *groups,
                                  bf_cuda_unit_plan *plan, bool *overflow);
/* Bytes of shared memory of a table. */
static inline int bf_cuda_table_bytes(int rank_bytes, int slots, int threads) {
    return slots * (rank_bytes + 4) + rank_bytes + threads * BF_CUDA_WAITING * 2 * rank_bytes;
}

/* --- few.cu --- */

/* The same for a plan of few groups. Enqueued only: what was found is in the notes. */
cudaError_t bf_cuda_tabulate_few(bf_context *context, const bf_cuda_groups *groups,
                                 const bf_cuda_unit_plan *plan);

/* --- batch_values.cu --- */

/* The values of a column, parted, enter g->fresh's, which has been prepared for them, or for what
 * they seem to be: also given as they came. */
bf_status bf_cuda_unit_values(bf_context *context, bf_cuda_groups *groups,
                              const bf_cuda_unit_plan *plan, bf_cuda_column *column,
                              const void *values, const void *unparted);

#endif
