/* A table of a batch's groups in shared memory (step 1 of batch.cuh). */
#include "cuda/group/batch.cuh"
#include "cuda/runtime/grid.cuh"

namespace {

enum {
    TABLE_AHEAD = 8,  /* rows of a lane that are looked up at once */
    TABLE_PUSHED = 4, /* so many of these rows may start to wait before some are looked up */
    TILE = TABLE_AHEAD * BF_CUDA_WARP,
    TABLE_FAR = 256 /* slots: at low load no key is so far from home */
};

template <class R> struct table_params {
    const R *ranks;
    bf_cuda_batch *batches;
    const unsigned
        *batch_count; /* two numbers: of batches; whether a partition had too little room */
    unsigned slots, limit;
    R factor;
    uint16_t *row_slots, *slot_entry;
    R *entry_ranks;
    int64_t *entry_counts;
    unsigned entries;
    unsigned long long *notes;
};

/* A product alone crowds ranks that are evenly spaced, as dense ones are. */
__device__ __forceinline__ unsigned home_of_product(uint32_t x, unsigned slots) {
    return __umulhi((x ^ x >> 15) * 0x2c1b3c6du, slots);
}
__device__ __forceinline__ unsigned home_of(uint32_t rank, uint32_t factor, unsigned slots) {
    return home_of_product(rank * factor, slots);
}
__device__ __forceinline__ unsigned home_of(uint64_t rank, uint64_t factor, unsigned slots) {
    return home_of_product((uint32_t)(rank * factor >> 32), slots);
}
__device__ __forceinline__ uint32_t swap_if(uint32_t *at, uint32_t from, uint32_t to) {
    return atomicCAS(at, from, to);
}
__device__ __forceinline__ uint64_t swap_if(uint64_t *at, uint64_t from, uint64_t to) {
    return atomicCAS((unsigned long long *)at, (unsigned long long)from, (unsigned long long)to);
}

extern __shared__ uint64_t table_memory[];

/* The state that a block's warps share, besides the slots. */
struct table_state {
    unsigned used, overflow, batch, entry, cursor;
    unsigned long long bits; /* the bits that the ranks of all batches have */
    bool fits;               /* there are entries for its groups */
};

/* A row that waits. Each lane has a stack of them. */
template <class R> struct Waiting;
template <> struct Waiting<uint32_t> { uint32_t rank, slot_and_row; };
template <> struct Waiting<uint64_t> {
    uint64_t rank;
    uint32_t slot_and_row, unused;
};

/* A lane's view of the table. An empty slot has the rank EMPTY. The home slot of that rank is
 * reserved for it, so that it is found there, and every rank is legal. Keeps: each row's slot is
 * kept. */
template <class R, bool Keeps, bool Large> struct Table {
    static constexpr R EMPTY = (R)0x9e3779b97f4a7c15u;
    typedef Waiting<R> Wait;
    const table_params<R> &p;
    table_state &state;
    R *ranks;
    unsigned *counts;
    Wait *waiting; /* the stacks of all lanes; this lane's from `bottom` to `top`, in steps of
                      BF_CUDA_WARP */
    unsigned bottom, top;
    unsigned reserved, lane;
    unsigned first, stride; /* the lane's rows: index in a tile; from tile to tile */

    __device__ Table(const table_params<R> &params, table_state &shared)
        : p(params), state(shared) {
        lane = threadIdx.x % BF_CUDA_WARP;
        ranks = (R *)table_memory;
        waiting = (Wait *)(ranks + ((p.slots + 1) & ~1u));
        bottom = top = threadIdx.x / BF_CUDA_WARP * (BF_CUDA_WAITING * BF_CUDA_WARP) + lane;
        counts = (unsigned *)(waiting + blockDim.x * BF_CUDA_WAITING);
        reserved = home_of(EMPTY, p.factor, p.slots);
        first = threadIdx.x / BF_CUDA_WARP * TILE + lane;
        stride = blockDim.x / BF_CUDA_WARP * TILE;
    }
    __device__ __forceinline__ R read_slot(unsigned slot) const {
        return *(volatile R *)(ranks + slot);
    }
    __device__ __forceinline__ bool failed() const { return *(volatile unsigned *)&state.overflow; }
    __device__ __forceinline__ unsigned next_slot(unsigned slot) const {
        return slot + 1 == p.slots ? 0 : slot + 1;
    }

    __device__ void clear() {
        for (unsigned i = threadIdx.x; i < p.slots; i += blockDim.x) {
            ranks[i] = EMPTY;
            counts[i] = 0;
        }
    }
    /* Adds 1 to the slot's count if `mine`, without a branch. */
    __device__ __forceinline__ void count_row(unsigned slot, bool mine) {
        bf_cuda_shared_count_if(bf_cuda_shared_address(counts + slot), mine);
    }
    /* Returns the row with this number, of 16 bits, among those of the lane in the batch. */
    __device__ __forceinline__ unsigned row_of(unsigned begin, unsigned sequence) const {
        return begin + first + sequence / TABLE_AHEAD * stride +
               sequence % TABLE_AHEAD * BF_CUDA_WARP;
    }
    /* Looks the last row that waits, if there is one, up in its slot and in the next. */
    __device__ __forceinline__ void step_waiting(unsigned begin) {
        if (top == bottom) return;
        Wait *at = waiting + (top - BF_CUDA_WARP);
        R rank = at->rank;
        unsigned slot = at->slot_and_row & 0xffff;
        bool found = try_slot(rank, slot);
        if (!found) {
            slot = next_slot(slot);
            found = try_slot(rank, slot);
        }
        if (found) {
            top -= BF_CUDA_WARP;
            count_row(slot, true);
            if (Keeps) p.row_slots[row_of(begin, at->slot_and_row >> 16)] = (uint16_t)slot;
            return;
        }
        unsigned next = next_slot(slot), home = home_of(rank, p.factor, p.slots);
        at->slot_and_row = (at->slot_and_row & 0xffff0000u) | next;
        if ((next < home ? next + p.slots : next) - home > TABLE_FAR)
            atomicExch(&state.overflow, 1u);
        if (failed()) top -= BF_CUDA_WARP;
    }
    /* Returns whether the slot holds this group; an empty one then does. */
    __device__ __forceinline__ bool try_slot(R rank, unsigned slot) {
        R found = read_slot(slot);
        if (found == EMPTY && slot != reserved) {
            found = swap_if(ranks + slot, EMPTY, rank);
            if (found == EMPTY) {
                if (atomicAdd(&state.used, 1u) >= p.limit) atomicExch(&state.overflow, 1u);
                return true;
            }
        }
        return found == rank;
    }
    __device__ __forceinline__ bool must_step_waiting() const {
        return __any_sync(0xffffffffu,
                          top - bottom > (BF_CUDA_WAITING - TABLE_PUSHED) * BF_CUDA_WARP);
    }
    /* Counts a tile, of which this lane has every 32nd row. tile: its number; All: all its rows are
     * below `end`. */
    template <bool All>
    __device__ __forceinline__ void count_tile(unsigned begin, unsigned row, unsigned end,
                                               unsigned tile, R *rank) {
        R found[TABLE_AHEAD];
        unsigned slot[TABLE_AHEAD];
#pragma unroll
        for (int k = 0; k < TABLE_AHEAD; k++) {
            slot[k] = home_of(rank[k], p.factor, p.slots);
            found[k] = read_slot(slot[k]);
        }
#pragma unroll
        for (int k = 0; k < TABLE_AHEAD; k++) {
            bool mine = All || row + k * BF_CUDA_WARP < end, hit = found[k] == rank[k];
            count_row(slot[k], mine && hit);
            if (Keeps && mine) p.row_slots[row + k * BF_CUDA_WARP] = (uint16_t)slot[k];
            if (mine && !hit) {
                waiting[top].rank = rank[k];
                waiting[top].slot_and_row = slot[k] | (Keeps ? (tile * TABLE_AHEAD + k) << 16 : 0);
                top += BF_CUDA_WARP;
            }
            if (k % TABLE_PUSHED == TABLE_PUSHED - 1) {
                __syncwarp();
                while (must_step_waiting()) step_waiting(begin);
            }
        }
    }
    template <bool All>
    __device__ __forceinline__ void load_tile(unsigned row, unsigned end, R *rank) const {
#pragma unroll
        for (int k = 0; k < TABLE_AHEAD; k++)
            rank[k] = All || row + k * BF_CUDA_WARP < end ? __ldcs(p.ranks + row + k * BF_CUDA_WARP)
                                                          : EMPTY;
    }
    /* Counts the rows of a batch: whole tiles first. If there are registers for it, the next tile
     * is loaded while one is counted. */
    __device__ __forceinline__ void count_batch(unsigned begin, unsigned end) {
        constexpr bool ahead = Large && sizeof(R) == 4;
        unsigned row = begin + first, tile = 0;
        R rank[TABLE_AHEAD], next[TABLE_AHEAD];
        if (ahead && is_whole(row, end)) load_tile<true>(row, end, next);
        for (; is_whole(row, end) && !failed(); row += stride, tile++) {
#pragma unroll
            for (int k = 0; k < TABLE_AHEAD; k++)
                if (ahead) rank[k] = next[k];
            if (!ahead) load_tile<true>(row, end, rank);
            if (ahead && is_whole(row + stride, end)) load_tile<true>(row + stride, end, next);
            count_tile<true>(begin, row, end, tile, rank);
        }
        if (row - lane < end && !failed()) {
            load_tile<false>(row, end, rank);
            count_tile<false>(begin, row, end, tile, rank);
        }
        while (top != bottom) step_waiting(begin);
    }
    __device__ __forceinline__ bool is_whole(unsigned row, unsigned end) const {
        return row - lane < end && end - (row - lane) >= TILE;
    }

    __device__ __forceinline__ bool is_group(unsigned slot) const {
        return slot < p.slots && (ranks[slot] != EMPTY || (slot == reserved && counts[slot] > 0));
    }
    /* Writes all groups as entries. Returns whether there was room for them. */
    __device__ bool list_groups(bf_cuda_batch *batch, uint16_t *slot_entry) {
        if (threadIdx.x == 0) {
            unsigned n = state.used + (counts[reserved] > 0);
            state.fits = bf_cuda_alloc_entries(batch, n, p.entries, p.notes);
            state.entry = batch->entry;
        }
        __syncthreads();
        if (!state.fits) return false;
        R bits = 0;
        for (unsigned slot = threadIdx.x; slot - threadIdx.x < p.slots; slot += blockDim.x) {
            bool mine = is_group(slot);
            unsigned lanes = __ballot_sync(0xffffffffu, mine), first = 0;
            if (lane == 0 && lanes != 0) first = atomicAdd(&state.cursor, (unsigned)__popc(lanes));
            first = __shfl_sync(0xffffffffu, first, 0) + __popc(lanes & ((1u << lane) - 1));
            if (Keeps && slot < p.slots) slot_entry[slot] = mine ? (uint16_t)first : 0;
            if (!mine) continue;
            bits |= ranks[slot];
            p.entry_ranks[state.entry + first] = ranks[slot];
            p.entry_counts[state.entry + first] = counts[slot];
        }
        if ((bits & ~*(volatile unsigned long long *)&state.bits) != 0)
            atomicOr(&state.bits, (unsigned long long)bits);
        return true;
    }
};

template <class R>
constexpr int HALF_THREADS = sizeof(R) == 4 ? BF_CUDA_HALF_THREADS_4 : BF_CUDA_HALF_THREADS_8;

/* Large: the table has all of a multiprocessor's shared memory. */
template <class R, bool Keeps, bool Large>
__global__ void __launch_bounds__(Large ? BF_CUDA_BATCH_THREADS : HALF_THREADS<R>,
                                  Large ? 1 : BF_CUDA_HALVES)
    tabulate(const __grid_constant__ table_params<R> p) {
    __shared__ table_state state;
    const unsigned batches = p.batch_count[0], failed = p.batch_count[1];
    Table<R, Keeps, Large> table(p, state);
    if (threadIdx.x == 0) state.bits = 0;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            state.used = state.cursor = 0;
            state.overflow =
                failed || *(volatile unsigned long long *)(p.notes + BF_CUDA_NOTE_OVERFLOW) != 0;
            state.batch = (unsigned)atomicAdd(p.notes + BF_CUDA_NOTE_NEXT, 1ull);
        }
        table.clear();
        __syncthreads();
        unsigned i = state.batch;
        if (failed && threadIdx.x == 0) p.notes[BF_CUDA_NOTE_OVERFLOW] = 1;
        if (i >= batches || table.failed()) break;
        table.count_batch(p.batches[i].begin, p.batches[i].end);
        __syncthreads();
        bool done =
            !table.failed() && table.list_groups(p.batches + i, p.slot_entry + (size_t)i * p.slots);
        if (!done) p.notes[BF_CUDA_NOTE_OVERFLOW] = 1;
    }
    if (threadIdx.x == 0 && state.bits != 0) atomicOr(p.notes + BF_CUDA_NOTE_BITS, state.bits);
}

template <class R, bool Keeps, bool Large>
cudaError_t launch_tabulate_as(bf_context *context, bf_cuda_groups *g,
                               const bf_cuda_batch_plan *plan) {
    table_params<R> p = {};
    p.ranks = (const R *)plan->ranks;
    p.batches = plan->batches;
    p.batch_count = plan->batch_count;
    p.slots = (unsigned)plan->slots;
    p.limit = (unsigned)plan->limit;
    p.factor = (R)(plan->factor * BF_CUDA_PARTITION_SPREAD);
    p.row_slots = plan->row_slots;
    p.slot_entry = plan->slot_entry;
    p.entry_ranks = (R *)plan->entry_ranks;
    p.entry_counts = plan->entry_counts;
    p.entries = plan->entries;
    p.notes = bf_cuda_notes(context);
    int bytes = bf_cuda_table_bytes((int)sizeof(R), plan->slots, plan->threads);
    unsigned blocks = (unsigned)(context->cuda->multiprocessors * plan->blocks_each);
    if (blocks > plan->batch_most) blocks = plan->batch_most;
    bf_cuda_shape shape = {blocks, plan->threads, (size_t)bytes};
    return bf_cuda_launch(context->cuda, tabulate<R, Keeps, Large>, shape, p);
}

template <class R, bool Keeps>
cudaError_t launch_tabulate(bf_context *context, bf_cuda_groups *g,
                            const bf_cuda_batch_plan *plan) {
    return plan->blocks_each == 1 ? launch_tabulate_as<R, Keeps, true>(context, g, plan)
                                  : launch_tabulate_as<R, Keeps, false>(context, g, plan);
}

} // namespace

bf_status bf_cuda_groups_tabulate(bf_context *context, bf_cuda_groups *g, bf_cuda_batch_plan *plan,
                                  bool *overflow) {
    cudaError_t error = bf_cuda_clear_notes(context);
    if (error == cudaSuccess && plan->few)
        error = bf_cuda_tabulate_few(context, g, plan);
    else if (error == cudaSuccess && plan->rank_bytes == 4)
        error = plan->keeps_slots ? launch_tabulate<uint32_t, true>(context, g, plan)
                                  : launch_tabulate<uint32_t, false>(context, g, plan);
    else if (error == cudaSuccess)
        error = plan->keeps_slots ? launch_tabulate<uint64_t, true>(context, g, plan)
                                  : launch_tabulate<uint64_t, false>(context, g, plan);
    bf_status status = bf_cuda_group_check(context, error);
    if (status == BF_OK) status = bf_cuda_group_fetch_notes(context, g);
    if (status != BF_OK) return status;
    uint64_t front = g->noted[BF_CUDA_NOTE_FRONT], behind = g->noted[BF_CUDA_NOTE_BACK];
    *overflow = g->noted[BF_CUDA_NOTE_OVERFLOW] != 0 || front + behind > plan->entries;
    plan->rank_bits = plan->few ? ~(uint64_t)0 : g->noted[BF_CUDA_NOTE_BITS];
    plan->front = (unsigned)front;
    plan->back = (unsigned)(plan->entries - behind);
    return BF_OK;
}
