/* The reduction kernel: one launch from elements to a result.
 *
 * template <class Loop>: a Loop says what a thread does with elements. It has
 *   sums      how many exact integer sums a thread keeps, as int64 values
 *   Side      a Fold whose words merge in another way (extremes, factors), or bf_cuda_none
 *   threads   most threads of a block, and
 *   blocks    how many of those a multiprocessor should hold
 *   tile      vectors that a thread takes at a time
 *   Shared    what its block shares beside
 *   run()     takes all elements that are this block's; returns its flags, to each thread
 *   finish()  the last block: from the whole to words of a state, or to the result (finish.cuh)
 *
 * template <class Fold>: what a thread keeps of elements, as int64 words. start() makes it empty,
 * take() takes elements that stand next to each other, part() gives the words, merge(into, from),
 * which commutes, joins those of two threads, and state() makes them words of a state. */
#ifndef BF_CUDA_REDUCE_KERNEL_CUH
#define BF_CUDA_REDUCE_KERNEL_CUH

#include "cuda/reduce/reduce.cuh"
#include "cuda/runtime/grid.cuh"

enum {
    BF_CUDA_WARPS = 20, /* most of a block */
    /* Flags of a block, and of the whole: "or" merges them. */
    BF_CUDA_POSITIVE = 1, /* a term has a plus sign; of BF_CUDA_ZEROS_ALL alone */
    BF_CUDA_BY_RULES = 2  /* scratch->words has more */
};

/* How a kernel looks at terms that are -0. */
enum bf_cuda_zeros {
    BF_CUDA_ZEROS_NONE, /* not at all: squares, moments */
    BF_CUDA_ZEROS_ALL,  /* for a result: finds out whether all are -0. In scratch->words,
                           BF_SUM_NEG_ZERO is not 0 if a term is not -0 */
    BF_CUDA_ZEROS_EVERY /* for a state that lasts: counts them */
};

/* A Fold of nothing. */
struct bf_cuda_none {
    static constexpr int words = 0;
    __device__ void start() {}
    template <class E, int N> __device__ void take(const E (&)[N], int64_t) {}
    template <class E> __device__ void take_one(E, int64_t) {}
    __device__ void part(int64_t *) const {}
    static __device__ void merge(int64_t *, const int64_t *) {}
    static __host__ __device__ void state(const int64_t *, int64_t, int64_t, int64_t *) {}
};

static __host__ __device__ constexpr int bf_cuda_some(int n) { return n > 0 ? n : 1; }

/* --- sums: of the block, of the grid --- */

template <int Sums> struct bf_cuda_sums {
    bf_cuda_pair warps[BF_CUDA_WARPS][bf_cuda_some(Sums)];
    bf_cuda_pair total[bf_cuda_some(Sums)];
};

/* Adds up what `rows` warps have left of `sums` sums: a warp takes one. */
template <int Sums>
static __device__ void bf_cuda_sum_rows(bf_cuda_sums<Sums> *s, int sums, int rows, bool to_total) {
    int warps = (int)blockDim.x / BF_CUDA_WARP, lane = (int)threadIdx.x % BF_CUDA_WARP;
    const bf_cuda_pair zero = {0, 0};
    BF_ROLLED
    for (int i = (int)threadIdx.x / BF_CUDA_WARP; i < sums; i += warps) {
        bf_cuda_pair sum = bf_cuda_warp_sum_pair(lane < rows ? s->warps[lane][i] : zero);
        if (lane == 0) s->total[i] = to_total ? bf_cuda_pair_add(s->total[i], sum) : sum;
    }
}

/* Makes the warps' sums from those of threads. */
template <int Sums>
static __device__ void bf_cuda_warp_sums(bf_cuda_sums<Sums> *s, const int64_t *values) {
    int warp = (int)threadIdx.x / BF_CUDA_WARP;
#pragma unroll
    for (int i = 0; i < Sums; i++) {
        bf_cuda_pair sum = bf_cuda_warp_sum(values[i]);
        if (threadIdx.x % BF_CUDA_WARP == 0) s->warps[warp][i] = sum;
    }
}

/* Waits until the first `count` of some packets from `first` on are in slot t: they come together.
 */
template <int some>
static __device__ __forceinline__ void bf_cuda_await(const bf_cuda_scratch *scratch, int first,
                                                     int count, int t,
                                                     bf_cuda_packet (&packets)[some]) {
    bool there;
    do {
        there = true;
#pragma unroll
        for (int i = 0; i < some; i++)
            if (i < count) packets[i] = bf_cuda_load_packet(&scratch->slots[first + i][t]);
#pragma unroll
        for (int i = 0; i < some; i++) there = there && (i >= count || (packets[i].y & 1) != 0);
    } while (!there);
}

/* Adds the sums of all other blocks: a thread those of one after another. */
template <int Sums>
static __device__ void bf_cuda_collect_sums(bf_cuda_scratch *scratch, bf_cuda_sums<Sums> *s,
                                            int sums, unsigned *flags) {
    const int some = Sums < 4 ? bf_cuda_some(Sums) : 4;
    int warp = (int)threadIdx.x / BF_CUDA_WARP, end = (int)gridDim.x - 1;
    unsigned all = 0;
    for (int first = 0; first < sums; first += some) {
        bf_cuda_pair sum[some] = {}, x;
        for (int t = (int)threadIdx.x; t < end; t += (int)blockDim.x) {
            bf_cuda_packet packets[some];
            bf_cuda_await<some>(scratch, first, sums - first, t, packets);
#pragma unroll
            for (int i = 0; i < some; i++) {
                if (first + i >= sums) break;
                unsigned f;
                bf_cuda_collect(&scratch->slots[first + i][(unsigned)t], packets[i], &x.lo, &x.hi,
                                &f);
                sum[i] = bf_cuda_pair_add(sum[i], x);
                all |= f;
            }
        }
#pragma unroll
        for (int i = 0; i < some; i++) {
            x = bf_cuda_warp_sum_pair(sum[i]);
            if (threadIdx.x % BF_CUDA_WARP == 0 && first + i < sums) s->warps[warp][first + i] = x;
        }
    }
    if (all) atomicOr(flags, all);
    __syncthreads();
    bf_cuda_sum_rows(s, sums, (int)blockDim.x / BF_CUDA_WARP, true);
}

/* --- words that merge in another way: of the block, of the grid --- */

template <class Side> struct bf_cuda_words { int64_t at[bf_cuda_some(Side::words)]; };

template <class Side> struct bf_cuda_merged { bf_cuda_words<Side> warps[BF_CUDA_WARPS], total; };

/* Merges the words of `lanes` lanes of a warp, to its first. */
template <class Side>
static __device__ bf_cuda_words<Side> bf_cuda_warp_merge(bf_cuda_words<Side> w, int lanes) {
    int lane = (int)threadIdx.x % BF_CUDA_WARP;
    BF_ROLLED
    for (int d = BF_CUDA_WARP / 2; d > 0; d /= 2) {
        bf_cuda_words<Side> other;
#pragma unroll
        for (int i = 0; i < Side::words; i++)
            other.at[i] = __shfl_down_sync(0xffffffffu, w.at[i], d);
        if (lane + d < lanes) Side::merge(w.at, other.at);
    }
    return w;
}

template <class Side>
static __device__ void bf_cuda_block_merge(bf_cuda_merged<Side> *m, bf_cuda_words<Side> w) {
    int warps = (int)blockDim.x / BF_CUDA_WARP, lane = (int)threadIdx.x % BF_CUDA_WARP;
    w = bf_cuda_warp_merge<Side>(w, BF_CUDA_WARP);
    if (lane == 0) m->warps[threadIdx.x / BF_CUDA_WARP] = w;
    __syncthreads();
    if (threadIdx.x >= BF_CUDA_WARP) return;
    w = bf_cuda_warp_merge<Side>(m->warps[lane < warps ? lane : 0], warps);
    if (lane == 0) m->total = w;
}

/* Merges the words of all other blocks: a thread those of one after another. */
template <class Side>
static __device__ void bf_cuda_collect_words(bf_cuda_scratch *scratch, int first,
                                             bf_cuda_merged<Side> *m) {
    bf_cuda_words<Side> w;
    Side empty;
    empty.start();
    empty.part(w.at);
    if (threadIdx.x == 0) w = m->total;
    BF_ROLLED
    for (int t = (int)threadIdx.x; t < (int)gridDim.x - 1; t += (int)blockDim.x) {
        bf_cuda_words<Side> other;
        int64_t y;
        unsigned f;
#pragma unroll
        for (int i = 0; i < Side::words; i++)
            bf_cuda_collect(&scratch->slots[first + i][(unsigned)t],
                            bf_cuda_load_packet(&scratch->slots[first + i][t]), &other.at[i], &y,
                            &f);
        Side::merge(w.at, other.at);
    }
    bf_cuda_block_merge(m, w);
}

/* --- the kernel --- */

/* What a block knows of its elements, and the last one of all. */
template <class Loop> struct bf_cuda_block {
    bf_cuda_sums<Loop::sums> sums;
    bf_cuda_merged<typename Loop::Side> side;
    typename Loop::Shared own;
    unsigned ticket, flags;
    int sums_in_use;
};

/* What a block reads before all else, for run(): nothing. Where it lies is found out before
 * elements may be read. */
struct bf_cuda_no_look {
    __device__ void place(const bf_cuda_params &) {}
    __device__ void read(const bf_cuda_params &) {}
};

/* What a Loop does beside. */
template <class Loop> struct bf_cuda_extras {
    static constexpr bool leaves_warp_sums = false; /* run() leaves sums in block->sums.warps */
    using Look = bf_cuda_no_look;
    using Params = bf_cuda_params; /* a type that has bf_cuda_params as its base will do, too */
    /* Shared memory of a block behind the loop's own. */
    static int shared_bytes(const Params &, int) { return 0; }
};

template <class Loop>
static __device__ void bf_cuda_publish_block(bf_cuda_scratch *scratch,
                                             const bf_cuda_block<Loop> *b) {
    int t = (int)threadIdx.x;
    if (t < b->sums_in_use)
        bf_cuda_publish(&scratch->slots[t][b->ticket], b->sums.total[t].lo, b->sums.total[t].hi,
                        b->flags);
    else if (t >= Loop::sums && t < Loop::sums + Loop::Side::words)
        bf_cuda_publish(&scratch->slots[t][b->ticket], b->side.total.at[t - Loop::sums], 0, 0);
}

/* From what threads have to what the block has. Adds `flags` to its flags. */
template <class Loop>
static __device__ void bf_cuda_reduce_block(bf_cuda_block<Loop> *b, const int64_t *values,
                                            const typename Loop::Side &side, unsigned flags) {
    if (!bf_cuda_extras<Loop>::leaves_warp_sums) bf_cuda_warp_sums<Loop::sums>(&b->sums, values);
    __syncthreads();
    if (threadIdx.x == 0) b->flags |= flags;
    if (Loop::sums > 0)
        bf_cuda_sum_rows(&b->sums, b->sums_in_use, (int)blockDim.x / BF_CUDA_WARP, false);
    if (Loop::Side::words > 0) {
        bf_cuda_words<typename Loop::Side> w;
        side.part(w.at);
        bf_cuda_block_merge<typename Loop::Side>(&b->side, w);
    }
    __syncthreads();
}

template <class Loop>
static __device__ void bf_cuda_reduce_grid(bf_cuda_scratch *scratch, bf_cuda_block<Loop> *b) {
    if (Loop::sums > 0)
        bf_cuda_collect_sums<Loop::sums>(scratch, &b->sums, b->sums_in_use, &b->flags);
    if (Loop::Side::words > 0)
        bf_cuda_collect_words<typename Loop::Side>(scratch, Loop::sums, &b->side);
    __syncthreads();
}

/* The first tile of each block, while the launch before this one ends: each eighth thread's vector
 * begins a line of the cache. */
static __device__ __forceinline__ void bf_cuda_prefetch_tile(const bf_cuda_params &p, int tile) {
    if (threadIdx.x % 8 != 0 || p.a == nullptr) return;
    BF_ROLLED
    for (int k = 0; k < tile; k++) {
        int64_t i = ((int64_t)blockIdx.x * tile + k) * blockDim.x + threadIdx.x;
        if (16 * i >= p.bytes) return;
        bf_cuda_prefetch((const char *)p.a + 16 * i);
        if (p.b != nullptr) bf_cuda_prefetch((const char *)p.b + 16 * i);
    }
}

/* For the last thread. Waits for the end of the launch before this one, whose scratch it is until
 * then. Where registers are short the ticket goes to memory, and its thread waits for it: not one
 * of the first warp, which the others wait for (sum_float.cuh). */
static __device__ __forceinline__ unsigned bf_cuda_draw_ticket(bf_cuda_scratch *scratch) {
    bf_cuda_wait_for_end();
    return threadIdx.x == blockDim.x - 1 && gridDim.x > 1
               ? atomicInc(&scratch->ticket, gridDim.x - 1)
               : 0;
}

template <class Loop>
__global__ void __launch_bounds__(Loop::threads, Loop::blocks)
    bf_cuda_reduce_kernel(const __grid_constant__ typename bf_cuda_extras<Loop>::Params p) {
    __shared__ bf_cuda_block<Loop> block;
    typename bf_cuda_extras<Loop>::Look look;
    look.place(p);
    bf_cuda_prefetch_tile(p, Loop::tile);
    unsigned ticket = 0; /* is on its way while elements are taken */
    if (!p.early) bf_cuda_wait_for_end();
    look.read(p);
    if (!p.early) ticket = bf_cuda_draw_ticket(p.scratch);
    bf_cuda_let_next_begin();
    if (threadIdx.x == 0) {
        block.flags = 0;
        block.sums_in_use = Loop::sums;
    }
    int64_t values[bf_cuda_some(Loop::sums)];
    typename Loop::Side side;
    const unsigned flags = Loop::run(p, &block, look, values, side);
    if (p.early) ticket = bf_cuda_draw_ticket(p.scratch);
    if (threadIdx.x == blockDim.x - 1) block.ticket = ticket;
    bf_cuda_reduce_block<Loop>(&block, values, side, flags);
    if (block.ticket != gridDim.x - 1) {
        bf_cuda_publish_block<Loop>(p.scratch, &block);
        return;
    }
    if (gridDim.x > 1) bf_cuda_reduce_grid<Loop>(p.scratch, &block);
    Loop::finish(p, &block);
}

#endif
