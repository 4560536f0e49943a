/* Step 3 of bracket.cu: ranks, or the first k, are found among the elements that were kept. */
#include "cuda/order/bracket_steps.cuh"
#include "cuda/runtime/launch.cuh"

using namespace bf_cuda_bracket;

namespace {

/* The ranks of a bracket among what it kept: the first and the last that are inside. */
struct inner_ranks {
    where_found where[2];
    int64_t rank[2];
    bool any;
};

/* kept: how many elements the bracket has. */
__device__ inner_ranks find_ranks(const bracket_params &p, int bracket, int64_t kept) {
    const board &at = *p.at;
    const int64_t numbers = p.count - (p.skips ? (int64_t)at.nans : 0);
    inner_ranks r = {};
    bf_between between = {0, 0, 0};
    if (numbers > 0)
        between =
            bf_cuda_between(p.statistic, p.method, p.q[bracket], p.position[bracket], numbers);
    const int64_t rank[2] = {between.below, between.above};
    for (int i = 0; i < 2; i++) {
        r.rank[i] = rank[i] - (int64_t)at.below[bracket];
        r.where[i] = r.rank[i] < 0                 ? BEFORE
                     : (int64_t)at.pooled > p.room ? OVERFLOWN
                     : r.rank[i] >= kept           ? BEHIND
                                                   : FOUND;
    }
    r.any = r.where[0] == FOUND || r.where[1] == FOUND;
    if (r.where[0] != FOUND) r.rank[0] = r.rank[1];
    if (r.where[1] != FOUND) r.rank[1] = r.rank[0];
    return r;
}

/* Calls f for each element that was kept, and each bracket whose range holds it. */
template <int Brackets, class K, class F>
__device__ __forceinline__ void for_kept(const bracket_params &p, uint64_t n,
                                         const place_range<K> (&ranges)[Brackets], F f) {
    for_each((const K *)p.kept, n, (uint64_t)blockIdx.x * SELECTORS + threadIdx.x,
             (uint64_t)gridDim.x * SELECTORS, [&](K x, uint64_t) {
#pragma unroll
                 for (int b = 0; b < Brackets; b++)
                     if (ranges[b].holds(x)) f(b, x);
             });
}

/* Finds the part of a rank, by a warp, and the elements before it. sum: of the parts up to the last
 * of this lane, of which it has `mine`. */
__device__ unsigned find_part(const unsigned *counts, int64_t rank, unsigned sum, unsigned mine,
                              unsigned *before) {
    enum { EACH = PARTS / WARP };
    const unsigned lane = threadIdx.x % WARP;
    const int there = __ffs((int)__ballot_sync(~0u, rank < sum)) - 1;
    const unsigned base = __shfl_sync(~0u, sum - mine, there);
    const unsigned count = lane < EACH ? counts[there * EACH + lane] : 0;
    const unsigned up_to = base + bf_cuda_warp_sum_up_to(count);
    const int at = __ffs((int)__ballot_sync(~0u, rank < up_to)) - 1;
    *before = __shfl_sync(~0u, up_to - count, at);
    return (unsigned)(there * EACH + at);
}

/* Sets *range to that of the parts of a bracket's ranks, by a warp: between them there is no
 * element. */
template <class K>
__device__ void find_parts(const bracket_params &p, int bracket, place_range<K> *range) {
    enum { EACH = PARTS / WARP };
    const unsigned lane = threadIdx.x % WARP, *counts = p.at->counts[bracket];
    unsigned mine = 0, before[2], part[2];
#pragma unroll
    for (int k = 0; k < EACH / 4; k++) {
        const uint4 four = ((const uint4 *)counts)[lane * (EACH / 4) + k];
        mine += four.x + four.y + four.z + four.w;
    }
    const unsigned sum = bf_cuda_warp_sum_up_to(mine), kept = __shfl_sync(~0u, sum, WARP - 1);
    const inner_ranks ranks = find_ranks(p, bracket, kept);
    place_range<K> all(*p.at, bracket);
    if (blockIdx.x == 0) p.at->kept[bracket] = kept;
    range->width = 0;
    if (!ranks.any) return;
    for (int i = 0; i < 2; i++) part[i] = find_part(counts, ranks.rank[i], sum, mine, &before[i]);
    if (all.shift == 0) {
        if (blockIdx.x != 0 || lane >= 2) return;
        p.at->exact[bracket] = true;
        p.at->place[2 * bracket + lane] = all.low + (lane == 0 ? part[0] : part[1]);
        return;
    }
    const K begin = (K)part[0] << all.shift,
            end = ((K)part[1] << all.shift) + (((K)1 << all.shift) - 1); /* the last */
    range->low = all.low + begin;
    range->width = (end < all.width ? end + 1 : all.width) - begin;
    if (blockIdx.x != 0) return;
    p.at->before[bracket] = before[0];
    p.at->part_low[bracket] = range->low;
    p.at->part_bits[bracket] = bf_bit_length((uint64_t)(range->width - 1));
}

/* What a block takes is listed in its memory first. */
template <class K, int Brackets> struct take_memory {
    enum { LISTS = 512 };
    place_range<K> found[Brackets];
    K list[Brackets][LISTS];
    unsigned listed[Brackets], to[Brackets];
};

/* Puts an element of a bracket's parts where the bracket's are selected from. */
template <class K>
__device__ __forceinline__ void put_taken(const bracket_params &p, int b, unsigned to, K x) {
    if (to < SMALL) ((K *)p.small)[b * SMALL + to] = x;
    if (to > 0 && to < SMALL) return;
    raise(&p.at->least[b], ~(unsigned long long)x);
    raise(&p.at->most[b], (unsigned long long)x);
}

/* Adds 1 for each lane that is here, and returns the sum before the lane's. */
__device__ __forceinline__ unsigned add_one_together(unsigned *sum) {
    const unsigned here = __activemask(), lane = threadIdx.x % WARP;
    const int first = __ffs((int)here) - 1;
    unsigned before = 0;
    if ((int)lane == first) before = atomicAdd(sum, (unsigned)__popc(here));
    return __shfl_sync(here, before, first) + (unsigned)__popc(here & ((1u << lane) - 1));
}

template <class K, int Brackets>
__global__ void __launch_bounds__(SELECTORS, 1) take_parts(const bracket_params p) {
    typedef take_memory<K, Brackets> memory;
    extern __shared__ uint64_t shared[];
    memory &s = *(memory *)shared;
    const int warp = (int)threadIdx.x / WARP;
    bf_cuda_wait_for_previous();
    const uint64_t n = p.at->pooled;
    place_range<K> ranges[Brackets];
    if (n > (uint64_t)p.room) return;
    if (threadIdx.x < Brackets) s.listed[threadIdx.x] = 0;
    if (warp < Brackets) {
        if (warp < p.brackets)
            find_parts(p, warp, &s.found[warp]);
        else
            s.found[warp].width = 0;
    }
    __syncthreads();
#pragma unroll
    for (int b = 0; b < Brackets; b++) ranges[b] = s.found[b];
    for_kept<Brackets>(p, n, ranges, [&](int b, K x) {
        const unsigned at = atomicAdd(&s.listed[b], 1u);
        if (at < memory::LISTS) {
            s.list[b][at] = x;
            return;
        }
        unsigned to = *(volatile unsigned *)&p.at->taken[b];
        if (to <= SMALL) to = add_one_together(&p.at->taken[b]);
        put_taken(p, b, to, x);
    });
    __syncthreads();
    if (threadIdx.x < Brackets) {
        unsigned &listed = s.listed[threadIdx.x];
        if (listed > memory::LISTS) listed = memory::LISTS;
        s.to[threadIdx.x] = listed > 0 ? atomicAdd(&p.at->taken[threadIdx.x], listed) : 0;
    }
    __syncthreads();
    for (int b = 0; b < Brackets; b++)
        if (threadIdx.x < s.listed[b])
            put_taken(p, b, s.to[b] + threadIdx.x, s.list[b][threadIdx.x]);
}

/* Returns whether n elements are equal to x. */
template <class K> __device__ bool all_equal(const K *from, unsigned n, K x) {
    bool differs = false;
    for_each(from, n, threadIdx.x, SELECTORS, [&](K y, uint64_t) { differs |= y != x; });
    return !__syncthreads_or(differs);
}

template <class K>
__global__ void __launch_bounds__(SELECTORS, 1) finish_ranks(const bracket_params p) {
    __shared__ select_memory<K> shared;
    const int i = blockIdx.x, bracket = i / 2, side = i % 2;
    bf_cuda_wait_for_previous();
    const inner_ranks ranks = find_ranks(p, bracket, (int64_t)p.at->kept[bracket]);
    unsigned long long where = ranks.where[side], place = 0;
    const board &at = *p.at;
    const K *small = (const K *)p.small + bracket * SMALL;
    if (where == FOUND && at.exact[bracket]) {
        place = at.place[i];
    } else if (where == FOUND) {
        const unsigned taken = at.taken[bracket];
        const bool alike = at.most[bracket] == ~at.least[bracket];
        if (taken > SMALL && alike && all_equal(small, SMALL, (K)at.most[bracket]))
            place = at.most[bracket];
        else if (taken > SMALL)
            where = CROWDED;
        else
            place = select_in_block(shared, small, taken,
                                    (unsigned)(ranks.rank[side] - (int64_t)at.before[bracket]),
                                    (K)at.part_low[bracket], at.part_bits[bracket]);
    }
    if (threadIdx.x != 0) return;
    p.at->place[i] = place;
    p.at->where[i] = where;
}

/* The first k of what was kept, by one block. */
template <class K> struct first_memory {
    union {
        select_memory<K> places;
        select_memory<uint32_t> positions;
        struct {
            K place[FIRST_MOST];
            uint32_t position[FIRST_MOST];
        };
    };
    unsigned less, equal;
    unsigned long long least;
};

/* Lists the first k: those before the place of the last, and the first of those that have it. */
template <class K>
__device__ bool list_first(first_memory<K> &s, const bracket_params &p, unsigned n) {
    const K *kept = (const K *)p.kept;
    uint32_t *ties = (uint32_t *)p.small;
    const unsigned k = (unsigned)p.first;
    K least = (K) ~(K)0;
    if (threadIdx.x == 0) {
        s.least = ~0ull;
        s.less = s.equal = 0;
    }
    __syncthreads();
    for_each(kept, n, threadIdx.x, SELECTORS,
             [&](K x, uint64_t) { least = x < least ? x : least; });
    atomicMin(&s.least, (unsigned long long)least);
    __syncthreads();
    least = (K)s.least;
    const K last = select_in_block(s.places, kept, n, k - 1, least,
                                   bf_bit_length((uint64_t)((K)p.at->high[0] - least)));
    unsigned before = 0;
    for_each(kept, n, threadIdx.x, SELECTORS, [&](K x, uint64_t i) {
        before += x < last;
        if (x != last) return;
        const unsigned to = atomicAdd(&s.equal, 1u);
        if (to < SMALL) ties[to] = p.numbers[i];
    });
    atomicAdd(&s.less, before);
    __syncthreads();
    const unsigned equal = s.equal, less = s.less;
    if (equal > SMALL) return false;
    const uint32_t last_tie =
        select_in_block(s.positions, ties, equal, k - 1 - less, (uint32_t)0, 32);
    if (threadIdx.x == 0) s.less = 0;
    __syncthreads();
    for_each(kept, n, threadIdx.x, SELECTORS, [&](K x, uint64_t i) {
        if (x > last) return;
        const uint32_t position = p.numbers[i];
        if (x == last && position > last_tie) return;
        const unsigned to = atomicAdd(&s.less, 1u);
        s.place[to] = x;
        s.position[to] = position;
    });
    __syncthreads();
    return true;
}

/* Writes the first k in order: each behind as many as are before it. */
template <bf_dtype D>
__global__ void __launch_bounds__(SELECTORS, 1) finish_first(const bracket_params p) {
    typedef bf_cuda_place_type<D> K;
    typedef bf_cuda_bits_type<D> E;
    __shared__ first_memory<K> s;
    bf_cuda_wait_for_previous();
    const uint64_t n = p.at->pooled;
    const unsigned k = (unsigned)p.first;
    if (n < k || n > (uint64_t)p.room) return;
    if (!list_first(s, p, (unsigned)n)) {
        if (threadIdx.x == 0) p.at->where[0] = CROWDED;
        return;
    }
    if (threadIdx.x >= k) return;
    const K mine = s.place[threadIdx.x];
    const uint32_t position = s.position[threadIdx.x];
    unsigned to = 0;
    for (unsigned i = 0; i < k; i++)
        to += s.place[i] < mine || (s.place[i] == mine && s.position[i] < position);
    const E element = ((const E *)p.a)[position];
    if (p.values != NULL) ((E *)p.values)[to] = D == BF_BOOL ? (E)(element != 0) : element;
    if (p.index != NULL) p.index[to] = position;
}

template <class K, int Brackets>
cudaError_t enqueue_ranks(const bf_cuda *cuda, const bracket_params &p) {
    bf_cuda_shape shape = {};
    shape.blocks = cuda->multiprocessors;
    shape.threads = SELECTORS;
    shape.shared = sizeof(take_memory<K, Brackets>);
    shape.overlaps = true;
    cudaError_t error = bf_cuda_launch(cuda, take_parts<K, Brackets>, shape, p);
    if (error != cudaSuccess) return error;
    shape.blocks = 2 * p.brackets;
    shape.shared = 0;
    return bf_cuda_launch(cuda, finish_ranks<K>, shape, p);
}

template <bf_dtype D> cudaError_t enqueue_finish(const bf_cuda *cuda, const bracket_params &p) {
    typedef bf_cuda_place_type<D> K;
    if (p.first == 0)
        return p.brackets == 1 ? enqueue_ranks<K, 1>(cuda, p) : enqueue_ranks<K, MOST>(cuda, p);
    bf_cuda_shape shape = {};
    shape.threads = SELECTORS;
    shape.overlaps = true;
    return p.first <= FIRST_MOST ? bf_cuda_launch(cuda, finish_first<D>, shape, p) : cudaSuccess;
}

} // namespace

cudaError_t bf_cuda_bracket::finish(const bf_cuda *cuda, bf_dtype dtype, const bracket_params &p) {
    return bf_cuda_by_dtype(dtype,
                            [&](auto d) { return enqueue_finish<decltype(d)::value>(cuda, p); });
}
