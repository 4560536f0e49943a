/* Tables of few groups (step 1 of batch.cuh), for ranks of 4 bytes without values.
 *
 * Shared memory limits tables: lanes whose words lie in one bank wait for each other. Here each
 * lane has a counter of its own for each group, by its number, and the table gives the number. The
 * hash is a permutation whose upper bits are the slot, so a slot holds only the lower bits, and has
 * room for the number beside them. */
#include "cuda/group/batch.cuh"
#include "cuda/runtime/grid.cuh"

namespace {

enum {
    FEW_AHEAD = 8,  /* rows of a lane that are loaded while as many are counted */
    FEW_PUSHED = 4, /* so many of these rows may start to wait before some are looked up */
    WAITING = 8,    /* rows that a lane may keep waiting */
    BITS = 13,      /* the bits of a slot's index */
    FEW_SLOTS = 1 << BITS,
    NUMBERS = BF_CUDA_FEW_GROUPS,
    FAR_BITS =
        3, /* the bits of the distance from home; at low load only hostile keys are further */
    FAR_MOST = (1 << FAR_BITS) - 1
};

/* A slot has, from the top: the lower bits of a hash, its distance from home, and the group's
 * number or one of these. */
const int NUMBER_BITS = BITS - FAR_BITS;
const uint32_t NUMBER_MASK = (1u << NUMBER_BITS) - 1,
               PENDING = NUMBER_MASK, /* a group that is about to get its number */
    EMPTY = NUMBER_MASK - 1;          /* the whole slot */

static_assert((unsigned)NUMBERS < EMPTY, "numbers have room");

struct few_params {
    const uint32_t *ranks;
    bf_cuda_batch *batches;
    const unsigned
        *batch_count; /* two numbers: of batches; whether a partition had too little room */
    uint32_t factor;
    uint32_t *entry_ranks;
    int64_t *entry_counts;
    unsigned entries;
    unsigned long long *notes;
};

struct few_table {
    uint32_t slots[FEW_SLOTS];
    unsigned counters[NUMBERS + 1][BF_CUDA_WARP]; /* the last are for rows that are not counted */
    uint32_t
        waiting[WAITING * BF_CUDA_BATCH_THREADS]; /* each lane's stack, in steps of BF_CUDA_WARP */
    uint32_t ranks[NUMBERS];
    unsigned used, overflow, batch, entry;
    bool fits;
};

extern __shared__ few_table few_memory[];

/* A lane's view of the table. */
struct Few {
    const few_params &p;
    few_table &table;
    unsigned lane, top, bottom;

    __device__ Few(const few_params &params) : p(params), table(few_memory[0]) {
        lane = threadIdx.x % BF_CUDA_WARP;
        top = bottom = threadIdx.x / BF_CUDA_WARP * (WAITING * BF_CUDA_WARP) + lane;
    }
    __device__ __forceinline__ uint32_t read_slot(unsigned slot) const {
        return *(volatile uint32_t *)(table.slots + slot);
    }
    __device__ __forceinline__ bool failed() const { return *(volatile unsigned *)&table.overflow; }
    __device__ __forceinline__ void count_row(unsigned number) {
        atomicAdd(&table.counters[number][lane], 1u);
    }
    __device__ void clear() {
        for (unsigned i = threadIdx.x; i < FEW_SLOTS; i += BF_CUDA_BATCH_THREADS)
            table.slots[i] = EMPTY;
        for (unsigned i = threadIdx.x; i < NUMBERS * BF_CUDA_WARP; i += BF_CUDA_BATCH_THREADS)
            table.counters[i / BF_CUDA_WARP][i % BF_CUDA_WARP] = 0;
    }
    __device__ __forceinline__ void load_rows(unsigned row, uint32_t *rank) const {
#pragma unroll
        for (int k = 0; k < FEW_AHEAD; k++)
            rank[k] = __ldcs(p.ranks + row + k * BF_CUDA_BATCH_THREADS);
    }
    /* Counts N rows, if they are `mine`. Rows that are not in their home slots wait. */
    template <int N> __device__ __forceinline__ void count_rows(const uint32_t *rank, bool mine) {
        uint32_t found[N], lower[N];
#pragma unroll
        for (int k = 0; k < N; k++) {
            uint32_t hash = rank[k] * p.factor;
            found[k] = read_slot(hash >> (32 - BITS));
            lower[k] = hash << BITS;
        }
#pragma unroll
        for (int k = 0; k < N; k++) {
            uint32_t number = found[k] - lower[k];
            bool hit = mine && number < NUMBERS;
            count_row(hit ? number : NUMBERS);
            if (mine && !hit) {
                table.waiting[top] = rank[k];
                top += BF_CUDA_WARP;
            }
            if (k % FEW_PUSHED == FEW_PUSHED - 1 || k == N - 1) {
                __syncwarp();
                while (
                    __any_sync(0xffffffffu, top - bottom > (WAITING - FEW_PUSHED) * BF_CUDA_WARP))
                    step_waiting();
            }
        }
    }
    /* Looks up the last row that waits, if there is one. It keeps waiting while its group has no
     * number. */
    __device__ __forceinline__ void step_waiting() {
        if (top == bottom) return;
        uint32_t rank = table.waiting[top - BF_CUDA_WARP], hash = rank * p.factor;
        for (unsigned far = 0; far <= FAR_MOST; far++) {
            unsigned slot = ((hash >> (32 - BITS)) + far) % FEW_SLOTS;
            uint32_t wanted = hash << BITS | far << NUMBER_BITS, found = read_slot(slot);
            if (found == EMPTY) found = atomicCAS(table.slots + slot, EMPTY, wanted | PENDING);
            if (found == EMPTY) return number_group(rank, slot, wanted);
            if ((found & ~NUMBER_MASK) != wanted) continue;
            bool pending = (found & NUMBER_MASK) == PENDING;
            if (!pending) count_row(found & NUMBER_MASK);
            if (!pending || failed()) top -= BF_CUDA_WARP;
            return;
        }
        atomicExch(&table.overflow, 1u);
        top -= BF_CUDA_WARP;
    }
    __device__ __forceinline__ void number_group(uint32_t rank, unsigned slot, uint32_t wanted) {
        unsigned number = atomicAdd(&table.used, 1u);
        top -= BF_CUDA_WARP;
        if (number >= NUMBERS) {
            atomicExch(&table.overflow, 1u);
            return;
        }
        table.ranks[number] = rank;
        atomicExch(table.slots + slot, wanted | number);
        count_row(number);
    }
    __device__ __forceinline__ void count_batch(unsigned begin, unsigned end) {
        enum { TILE = FEW_AHEAD * BF_CUDA_BATCH_THREADS };
        unsigned row = begin + threadIdx.x, tiles = (end - begin) / TILE;
        uint32_t next[FEW_AHEAD];
        if (tiles > 0) load_rows(row, next);
        for (; tiles > 0 && !__any_sync(0xffffffffu, failed()); tiles--, row += TILE) {
            uint32_t rank[FEW_AHEAD];
#pragma unroll
            for (int k = 0; k < FEW_AHEAD; k++) rank[k] = next[k];
            if (tiles > 1) load_rows(row + TILE, next);
            count_rows<FEW_AHEAD>(rank, true);
        }
        for (; row - lane < end && !__any_sync(0xffffffffu, failed());
             row += BF_CUDA_BATCH_THREADS) {
            uint32_t rank = row < end ? p.ranks[row] : 0;
            count_rows<1>(&rank, row < end);
        }
        while (__any_sync(0xffffffffu, top != bottom)) step_waiting();
    }
    /* Writes all groups as entries. Returns whether there was room for them. */
    __device__ bool list_groups(bf_cuda_batch *batch) {
        const unsigned n = table.used;
        if (threadIdx.x == 0) {
            table.fits = bf_cuda_alloc_entries(batch, n, p.entries, p.notes);
            table.entry = batch->entry;
        }
        __syncthreads();
        if (!table.fits) return false;
        for (unsigned i = threadIdx.x; i < n; i += BF_CUDA_BATCH_THREADS) {
            unsigned sum = 0;
            for (unsigned k = 0; k < BF_CUDA_WARP; k++)
                sum += table.counters[i][(k + lane) % BF_CUDA_WARP];
            p.entry_ranks[table.entry + i] = table.ranks[i];
            p.entry_counts[table.entry + i] = sum;
        }
        return true;
    }
};

__global__ void __launch_bounds__(BF_CUDA_BATCH_THREADS)
    tabulate_few(const __grid_constant__ few_params p) {
    const unsigned batches = p.batch_count[0], lost = p.batch_count[1];
    Few few(p);
    few_table &table = few.table;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            volatile unsigned long long *overflow = p.notes + BF_CUDA_NOTE_OVERFLOW;
            table.used = 0;
            table.overflow = lost != 0 || *overflow != 0;
            table.batch = (unsigned)atomicAdd(p.notes + BF_CUDA_NOTE_NEXT, 1ull);
        }
        few.clear();
        __syncthreads();
        unsigned i = table.batch;
        if (lost && threadIdx.x == 0) p.notes[BF_CUDA_NOTE_OVERFLOW] = 1;
        if (i >= batches || few.failed()) return;
        few.count_batch(p.batches[i].begin, p.batches[i].end);
        __syncthreads();
        bool done = !few.failed() && few.list_groups(p.batches + i);
        if (!done) p.notes[BF_CUDA_NOTE_OVERFLOW] = 1;
    }
}

} // namespace

cudaError_t bf_cuda_tabulate_few(bf_context *context, const bf_cuda_groups *g,
                                 const bf_cuda_batch_plan *plan) {
    few_params p = {};
    p.ranks = (const uint32_t *)plan->ranks;
    p.batches = plan->batches;
    p.batch_count = plan->batch_count;
    p.factor = (uint32_t)(plan->factor * BF_CUDA_PARTITION_SPREAD);
    p.entry_ranks = (uint32_t *)plan->entry_ranks;
    p.entry_counts = plan->entry_counts;
    p.entries = plan->entries;
    p.notes = bf_cuda_notes(context);
    unsigned blocks = (unsigned)context->cuda->multiprocessors;
    if (blocks > plan->batch_most) blocks = plan->batch_most;
    bf_cuda_shape shape = {blocks, BF_CUDA_BATCH_THREADS, sizeof(few_table)};
    return bf_cuda_launch(context->cuda, tabulate_few, shape, p);
}
