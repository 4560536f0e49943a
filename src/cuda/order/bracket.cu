/* Ranks in a long line (after Floyd and Rivest, SELECT, 1975).
 *
 * 1. A sample tells for each wanted rank two places between which it almost surely lies.
 * 2. One read of the line counts the elements below each such bracket, and keeps those inside.
 * 3. What was kept is counted by its leading bits, the elements that have those of the wanted rank
 *    are taken, and one block finds the rank among these.
 *
 * The counts prove the result. The ends of a bracket are not kept, so that equal elements cost no
 * memory: a rank that is not inside is looked for at the ends, by a second read that counts the
 * elements equal to them. If it is not there, another sample is taken, and in the end the line is
 * sorted. Neither the sample nor the order in which elements are kept shows in the result. */
#include "cuda/order/bracket.cuh"
#include "cuda/order/places.cuh"
#include "cuda/order/radix.cuh"
#include "cuda/runtime/elements.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"

#include "rules/key/hash.h"

namespace {

enum {
    MOST = BF_CUDA_BRACKETS,
    RANKS = 2 * MOST,
    WARP = 32,
    SELECTORS = 1024, /* threads of a block that selects by itself */
    DIGITS = 256,
    KEEPERS = 512, /* threads of a block that keeps elements */
    BUCKET_BITS = 11,
    BUCKETS = 1 << BUCKET_BITS,
    SMALL = 1 << 14, /* elements of the buckets of a rank: more are sorted */
    SAMPLE_MOST = 1 << 16,
    TRIES = 2
};

/* Where a rank is: found; before or behind its bracket; in a bracket that kept too much, or in a
 * bucket that has too much. */
enum where_found { FOUND, BEFORE, BEHIND, OVERFLOWN, CROWDED };

/* What the kernels of a try tell each other, and the host: the first BOARD_WORDS words. */
struct board {
    unsigned long long nans;
    unsigned long long low[MOST], high[MOST];   /* places from low on are kept, before high */
    unsigned long long below[MOST], kept[MOST]; /* elements before low, and those kept */
    unsigned long long place[RANKS], where[RANKS];
    unsigned long long sampled_nans;
    unsigned long long before[MOST];            /* of those kept, before the bucket */
    unsigned long long least[MOST], most[MOST]; /* of the bucket's; least is complemented */
    unsigned taken[MOST];                       /* elements of the buckets */
    unsigned counts[MOST][BUCKETS];
};
enum { BOARD_WORDS = 1 + 4 * MOST + 2 * RANKS };

struct bracket_params {
    const void *a, *b; /* the elements, as bf_cuda_operands has them: b is not used */
    int64_t count;
    bf_order order;
    int brackets;
    /* of results */
    bf_statistic statistic;
    bf_quantile_method method;
    bool skips; /* NaNs */
    double q[MOST];
    int64_t position[MOST];
    /* of the first k, instead */
    int64_t first;
    void *sample;
    unsigned sampled;
    uint64_t seed;
    void *kept; /* `room` places for each bracket, */
    uint32_t *index;
    int64_t room;
    void *small; /* and SMALL */
    board *at;
};

/* --- 1. the sample --- */

template <bf_dtype D> __global__ void __launch_bounds__(256) take_sample(const bracket_params p) {
    const unsigned i = blockIdx.x * 256 + threadIdx.x;
    if (i >= p.sampled) return;
    const uint64_t n = (uint64_t)p.count, begin = n * i / p.sampled, end = n * (i + 1) / p.sampled;
    const uint64_t random = bf_hash_mix(p.seed + i);
    const uint64_t at = begin + bf_hash_place(random, end - begin);
    const bf_cuda_bits_type<D> element = ((const bf_cuda_bits_type<D> *)p.a)[at];
    ((bf_cuda_place_type<D> *)p.sample)[i] = bf_cuda_place_of<D>(p.order, element);
    if (bf_cuda_is_nan<D>(element)) atomicAdd(&p.at->sampled_nans, 1ull);
}

/* Finds the element of a rank among n places, by a block: digit after digit, until one is left. */
template <class K> __device__ K select_in_block(const K *places, unsigned n, unsigned rank) {
    __shared__ unsigned counts[DIGITS], chosen[3];
    __shared__ K only;
    K prefix = 0, mask = 0;
    for (int shift = 8 * (int)sizeof(K) - 8; shift >= 0; shift -= 8) {
        if (threadIdx.x < DIGITS) counts[threadIdx.x] = 0;
        __syncthreads();
        for (unsigned i = threadIdx.x; i < n; i += SELECTORS) {
            const K x = places[i];
            if ((x & mask) == prefix) atomicAdd(&counts[(unsigned)(x >> shift) % DIGITS], 1u);
        }
        __syncthreads();
        if (threadIdx.x < WARP) {
            enum { EACH = DIGITS / WARP };
            unsigned mine = 0, sum;
            for (int k = 0; k < EACH; k++) mine += counts[threadIdx.x * EACH + k];
            sum = mine;
            for (int d = 1; d < WARP; d *= 2) {
                unsigned other = __shfl_up_sync(~0u, sum, d);
                if (threadIdx.x >= (unsigned)d) sum += other;
            }
            sum -= mine;
            for (int k = 0; k < EACH; k++) {
                const unsigned digit = threadIdx.x * EACH + k, c = counts[digit];
                if (rank >= sum && rank - sum < c) {
                    chosen[0] = digit;
                    chosen[1] = rank - sum;
                    chosen[2] = c;
                }
                sum += c;
            }
        }
        __syncthreads();
        prefix |= (K)chosen[0] << shift;
        mask |= (K)(DIGITS - 1) << shift;
        rank = chosen[1];
        if (chosen[2] == 1 && shift > 0) {
            for (unsigned i = threadIdx.x; i < n; i += SELECTORS)
                if ((places[i] & mask) == prefix) only = places[i];
            __syncthreads();
            return only;
        }
        __syncthreads();
    }
    return prefix;
}

/* Where the elements of a result should be among m sampled ones, and how far they may be off: by
 * four and a half standard deviations. */
__device__ void guess_range(const bracket_params &p, int bracket, double m, double *from,
                            double *to) {
    const double n = (double)p.count;
    double part = 0.5;
    if (p.first > 0)
        part = (double)p.first / n;
    else if (p.statistic == BF_STATISTIC_NTH)
        part = (double)p.position[bracket] / n;
    else if (p.statistic == BF_STATISTIC_QUANTILE)
        part = p.q[bracket];
    const double margin = 4.5 * sqrt(m * part * (1 - part)) + 8;
    *from = part * m - margin;
    *to = part * m + margin;
}

/* Block 2 b sets the low end of bracket b, and block 2 b + 1 the high one. */
template <class K> __global__ void __launch_bounds__(SELECTORS) place_ends(const bracket_params p) {
    const int bracket = blockIdx.x / 2;
    const bool is_low = blockIdx.x % 2 == 0;
    const unsigned m = p.sampled - (p.skips ? (unsigned)p.at->sampled_nans : 0);
    double from, to;
    guess_range(p, bracket, (double)m, &from, &to);
    const double wanted = is_low ? from : to;
    unsigned long long *end = is_low ? &p.at->low[bracket] : &p.at->high[bracket];
    unsigned long long value = is_low ? 0 : (K) ~(K)0;
    const bool inside = wanted >= 0 && wanted < (double)m && !(is_low && p.first > 0);
    if (inside)
        value =
            (unsigned long long)select_in_block((const K *)p.sample, p.sampled, (unsigned)wanted) +
            (is_low ? 1 : 0);
    if (threadIdx.x == 0) *end = value;
}

/* --- 2. the read --- */

/* Vectors that a thread loads at a time. */
template <bf_dtype D, bool Indexed> constexpr int vectors_of() {
    constexpr int bytes = (int)sizeof(bf_cuda_element::stored_of<D>), most = Indexed ? 2 : 4;
    return bytes < most ? bytes : most;
}

template <bf_dtype D, int Brackets, bool Indexed> struct Keeper {
    typedef bf_cuda_bits_type<D> E;
    typedef bf_cuda_place_type<D> K;
    typedef bf_cuda_operands<E, false> Operands;
    static constexpr int VECTORS = vectors_of<D, Indexed>(), N = 16 / (int)sizeof(E);
    static constexpr bool FLOAT = bf_cuda_element::is_float(D);
    typedef bf_cuda_tile<Operands, VECTORS> Tile;
    enum { TILE = KEEPERS * VECTORS * N, ROOM = TILE + TILE / 2 };
    struct memory {
        K staged[ROOM];
        uint32_t index[Indexed ? ROOM : 1];
        unsigned count, kept[Brackets];
        unsigned long long at[Brackets];
    };
    const bracket_params &p;
    memory &s;
    K low[Brackets], width[Brackets];
    uint32_t below[Brackets], nans;

    __device__ __forceinline__ Keeper(const bracket_params &params, memory &shared)
        : p(params), s(shared), nans(0) {
#pragma unroll
        for (int b = 0; b < Brackets; b++) {
            const K high = (K)p.at->high[b];
            low[b] = (K)p.at->low[b];
            width[b] = b < p.brackets && high > low[b] ? high - low[b] : 0;
            below[b] = 0;
        }
    }
    /* Counts an element, and returns whether it is to be kept. */
    __device__ __forceinline__ bool count(E element) {
        const K x = bf_cuda_place_of<D>(p.order, element);
        bool inside = false;
        if (FLOAT && !Indexed) nans += bf_cuda_is_nan<D>(element);
#pragma unroll
        for (int b = 0; b < Brackets; b++) {
            if (!Indexed) below[b] += x < low[b];
            inside |= (K)(x - low[b]) < width[b];
        }
        return inside;
    }
    /* Counts the elements of a tile. The few that are kept are loaded again, from the cache. */
    template <bool Whole>
    __device__ __forceinline__ void take_tile(const Operands &e, const Tile &tile, int64_t number) {
        unsigned hits = 0;
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            const bf_cuda_elements<E> elements(tile.a[v]);
            const int64_t first = Tile::vector(number, v) * N;
#pragma unroll
            for (int k = 0; k < N; k++)
                if (Whole || e.holds(first + k))
                    hits |= (unsigned)count(elements.e[k]) << (v * N + k);
        }
        if (hits == 0) return;
        unsigned at = atomicAdd(&s.count, (unsigned)__popc(hits));
        for (; hits != 0; hits &= hits - 1, at++) {
            const int hit = __ffs((int)hits) - 1;
            const int64_t i = Tile::vector(number, hit / N) * N + hit % N;
            s.staged[at] = bf_cuda_place_of<D>(p.order, e.element(i));
            if (Indexed) s.index[at] = (uint32_t)(i - e.before);
        }
    }
    /* Moves what is staged to the brackets' memory. */
    __device__ __forceinline__ void flush() {
        const unsigned n = s.count;
        unsigned mine[Brackets] = {};
        for (unsigned i = threadIdx.x; i < n; i += KEEPERS)
#pragma unroll
            for (int b = 0; b < Brackets; b++) mine[b] += (K)(s.staged[i] - low[b]) < width[b];
#pragma unroll
        for (int b = 0; b < Brackets; b++) {
            for (int d = WARP / 2; d > 0; d /= 2) mine[b] += __shfl_xor_sync(~0u, mine[b], d);
            if (threadIdx.x % WARP == 0) atomicAdd(&s.kept[b], mine[b]);
        }
        __syncthreads();
        if (threadIdx.x < Brackets) {
            s.at[threadIdx.x] =
                atomicAdd(&p.at->kept[threadIdx.x], (unsigned long long)s.kept[threadIdx.x]);
            s.kept[threadIdx.x] = 0;
        }
        __syncthreads();
        for (unsigned i = threadIdx.x; i < n; i += KEEPERS)
#pragma unroll
            for (int b = 0; b < Brackets; b++) {
                if (!((K)(s.staged[i] - low[b]) < width[b])) continue;
                const int64_t to = (int64_t)s.at[b] + atomicAdd(&s.kept[b], 1u);
                if (to >= p.room) continue;
                ((K *)p.kept)[b * p.room + to] = s.staged[i];
                if (Indexed) p.index[to] = s.index[i];
            }
        __syncthreads();
        if (threadIdx.x < Brackets) s.kept[threadIdx.x] = 0;
        if (threadIdx.x == 0) s.count = 0;
        __syncthreads();
    }
    static __device__ __forceinline__ void add_count(unsigned long long sum,
                                                     unsigned long long *to) {
        for (int d = WARP / 2; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
        if (threadIdx.x % WARP == 0 && sum > 0) atomicAdd(to, sum);
    }
    __device__ __forceinline__ void add_counts() {
        add_count(nans, &p.at->nans);
#pragma unroll
        for (int b = 0; b < Brackets; b++) add_count(below[b], &p.at->below[b]);
    }
    __device__ __forceinline__ void run() {
        if (threadIdx.x < Brackets) s.kept[threadIdx.x] = 0;
        if (threadIdx.x == 0) s.count = 0;
        __syncthreads();
        const Operands e(p);
        const int64_t tiles = Tile::number_of(e);
        for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
            Tile tile;
            tile.load(e, number);
            if (Tile::whole(e, number))
                take_tile<true>(e, tile, number);
            else
                take_tile<false>(e, tile, number);
            /* the thread that staged last sees all */
            if (__syncthreads_or(*(volatile unsigned *)&s.count > ROOM - TILE)) flush();
        }
        __syncthreads();
        if (s.count > 0) flush();
        if (!Indexed) add_counts();
    }
};

template <bf_dtype D, int Brackets, bool Indexed>
__global__ void __launch_bounds__(KEEPERS, 2) keep_elements(const bracket_params p) {
    extern __shared__ uint64_t shared[];
    typedef Keeper<D, Brackets, Indexed> keeper;
    keeper(p, *(typename keeper::memory *)shared).run();
}

/* --- 3. what was kept --- */

/* The ranks of a bracket among what it kept: the first and the last that are inside. */
struct inner_ranks {
    where_found where[2];
    int64_t rank[2];
    bool any;
};

__device__ inner_ranks find_ranks(const bracket_params &p, int bracket) {
    const board &at = *p.at;
    const int64_t numbers = p.count - (p.skips ? (int64_t)at.nans : 0);
    const int64_t kept = (int64_t)at.kept[bracket];
    inner_ranks r = {};
    bf_between between = {0, 0, 0};
    if (numbers > 0)
        between = bf_cuda_between(p.statistic, p.method, p.q[bracket], p.position[bracket],
                                  numbers);
    const int64_t rank[2] = {between.below, between.above};
    for (int i = 0; i < 2; i++) {
        r.rank[i] = rank[i] - (int64_t)at.below[bracket];
        r.where[i] = r.rank[i] < 0       ? BEFORE
                     : r.rank[i] >= kept ? BEHIND
                     : kept > p.room     ? OVERFLOWN
                                         : FOUND;
    }
    r.any = r.where[0] == FOUND || r.where[1] == FOUND;
    if (r.where[0] != FOUND) r.rank[0] = r.rank[1];
    if (r.where[1] != FOUND) r.rank[1] = r.rank[0];
    return r;
}

/* The bits by which the places of a bracket are shifted to become buckets. */
__device__ int bucket_shift(const board &at, int bracket) {
    const int bits = bf_bit_length(at.high[bracket] - at.low[bracket] - 1) - BUCKET_BITS;
    return bits > 0 ? bits : 0;
}

template <class K>
__global__ void __launch_bounds__(SELECTORS) count_buckets(const bracket_params p) {
    __shared__ unsigned counts[BUCKETS];
    const int bracket = blockIdx.y;
    if (!find_ranks(p, bracket).any) return;
    const int64_t n = (int64_t)p.at->kept[bracket];
    const int shift = bucket_shift(*p.at, bracket);
    const K low = (K)p.at->low[bracket], *kept = (const K *)p.kept + bracket * p.room;
    for (int i = (int)threadIdx.x; i < BUCKETS; i += SELECTORS) counts[i] = 0;
    __syncthreads();
    for (int64_t i = (int64_t)blockIdx.x * SELECTORS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * SELECTORS)
        atomicAdd(&counts[(unsigned)((K)(kept[i] - low) >> shift)], 1u);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < BUCKETS; i += SELECTORS)
        if (counts[i] > 0) atomicAdd(&p.at->counts[bracket][i], counts[i]);
}

/* Finds the buckets of two ranks, and the elements before the first. */
__device__ void find_buckets(const unsigned *counts, const int64_t rank[2], unsigned bucket[2],
                             int64_t *before) {
    enum { EACH = BUCKETS / SELECTORS };
    __shared__ unsigned warps[SELECTORS / WARP], found[2], front;
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    unsigned count[EACH], mine = 0, sum;
    for (int k = 0; k < EACH; k++) mine += count[k] = counts[threadIdx.x * EACH + k];
    sum = mine;
    for (int d = 1; d < WARP; d *= 2) {
        unsigned other = __shfl_up_sync(~0u, sum, d);
        if (lane >= (unsigned)d) sum += other;
    }
    if (lane == WARP - 1) warps[warp] = sum;
    __syncthreads();
    sum -= mine;
    for (unsigned w = 0; w < warp; w++) sum += warps[w];
    for (int k = 0; k < EACH; k++) {
        for (int i = 0; i < 2; i++)
            if (rank[i] >= sum && rank[i] - sum < count[k]) {
                found[i] = threadIdx.x * EACH + k;
                if (i == 0) front = sum;
            }
        sum += count[k];
    }
    __syncthreads();
    bucket[0] = found[0];
    bucket[1] = found[1];
    *before = front;
}

template <class K>
__global__ void __launch_bounds__(SELECTORS) take_buckets(const bracket_params p) {
    const int bracket = blockIdx.y;
    const inner_ranks ranks = find_ranks(p, bracket);
    if (!ranks.any) return;
    unsigned bucket[2];
    int64_t before;
    find_buckets(p.at->counts[bracket], ranks.rank, bucket, &before);
    if (blockIdx.x == 0 && threadIdx.x == 0) p.at->before[bracket] = (unsigned long long)before;
    const int64_t n = (int64_t)p.at->kept[bracket];
    const int shift = bucket_shift(*p.at, bracket);
    const K low = (K)p.at->low[bracket], *kept = (const K *)p.kept + bracket * p.room;
    K *small = (K *)p.small + bracket * SMALL;
    unsigned long long least = 0, most = 0;
    for (int64_t i = (int64_t)blockIdx.x * SELECTORS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * SELECTORS) {
        const K x = kept[i];
        const unsigned b = (unsigned)((K)(x - low) >> shift);
        if (b != bucket[0] && b != bucket[1]) continue;
        const unsigned to = atomicAdd(&p.at->taken[bracket], 1u);
        if (to < SMALL) small[to] = x;
        if (~(unsigned long long)x > least) least = ~(unsigned long long)x;
        if (x > most) most = x;
    }
    if (least == 0) return; /* none: a complement is not 0 for those kept are not the greatest */
    atomicMax(&p.at->least[bracket], least);
    atomicMax(&p.at->most[bracket], most);
}

template <class K>
__global__ void __launch_bounds__(SELECTORS) finish_ranks(const bracket_params p) {
    const int i = blockIdx.x, bracket = i / 2, side = i % 2;
    const inner_ranks ranks = find_ranks(p, bracket);
    unsigned long long where = ranks.where[side], place = 0;
    const board &at = *p.at;
    if (where == FOUND) {
        const unsigned taken = at.taken[bracket];
        if (at.most[bracket] == ~at.least[bracket])
            place = at.most[bracket];
        else if (taken > SMALL)
            where = CROWDED;
        else
            place = select_in_block((const K *)p.small + bracket * SMALL, taken,
                                    (unsigned)(ranks.rank[side] - (int64_t)at.before[bracket]));
    }
    if (threadIdx.x != 0) return;
    p.at->place[i] = place;
    p.at->where[i] = where;
}

/* --- the ends --- */

enum { ENDS = RANKS };

struct end_counts {
    unsigned long long before[ENDS], equal[ENDS];
};

struct end_params {
    const void *a;
    int64_t count;
    bf_order order;
    int ends;
    uint64_t place[ENDS];
    end_counts *counts;
};

/* Counts the elements before each end, and those equal to it. */
template <bf_dtype D> __global__ void __launch_bounds__(256) count_ends(const end_params p) {
    typedef bf_cuda_bits_type<D> E;
    typedef bf_cuda_place_type<D> K;
    const E *from = (const E *)p.a;
    for (int i = 0; i < p.ends; i += 2) {
        const K one = (K)p.place[i], two = (K)p.place[i + 1];
        unsigned long long sums[4] = {};
        for (int64_t k = (int64_t)blockIdx.x * 256 + threadIdx.x; k < p.count;
             k += (int64_t)gridDim.x * 256) {
            const K x = bf_cuda_place_of<D>(p.order, from[k]);
            sums[0] += x < one;
            sums[1] += x == one;
            sums[2] += x < two;
            sums[3] += x == two;
        }
        for (int j = 0; j < 4; j++) {
            for (int d = WARP / 2; d > 0; d /= 2) sums[j] += __shfl_xor_sync(~0u, sums[j], d);
            if (threadIdx.x % WARP != 0 || sums[j] == 0) continue;
            unsigned long long *to = j % 2 == 0 ? p.counts->before : p.counts->equal;
            atomicAdd(&to[i + j / 2], sums[j]);
        }
    }
}

/* --- the host's part --- */

bf_status check(const bf_cuda_order_call *call, cudaError_t error) {
    return bf_cuda_order_check(call->context, error);
}

template <class K> cudaError_t enqueue_search(const bf_cuda *cuda, const bracket_params &p) {
    const dim3 grid((unsigned)cuda->multiprocessors, (unsigned)p.brackets);
    count_buckets<K><<<grid, SELECTORS, 0, cuda->stream>>>(p);
    take_buckets<K><<<grid, SELECTORS, 0, cuda->stream>>>(p);
    finish_ranks<K><<<2 * (unsigned)p.brackets, SELECTORS, 0, cuda->stream>>>(p);
    return cudaGetLastError();
}

template <bf_dtype D, int Brackets, bool Indexed>
cudaError_t enqueue_read(const bf_cuda *cuda, const bracket_params &p) {
    bf_cuda_shape shape = {};
    int blocks = 1;
    shape.threads = KEEPERS;
    shape.shared = sizeof(typename Keeper<D, Brackets, Indexed>::memory);
    shape.spares_cache = true;
    cudaError_t error =
        bf_cuda_occupancy(cuda, (const void *)keep_elements<D, Brackets, Indexed>, shape, &blocks);
    if (error != cudaSuccess) return error;
    shape.blocks = (int64_t)cuda->multiprocessors * (blocks > 0 ? blocks : 1);
    return bf_cuda_launch(cuda, keep_elements<D, Brackets, Indexed>, shape, p);
}

/* Enqueues the kernels of a try. */
template <bf_dtype D> cudaError_t enqueue_try(const bf_cuda *cuda, const bracket_params &p) {
    typedef bf_cuda_place_type<D> K;
    cudaError_t error = cudaMemsetAsync(p.at, 0, sizeof *p.at, cuda->stream);
    if (error != cudaSuccess) return error;
    take_sample<D><<<(p.sampled - 1) / 256 + 1, 256, 0, cuda->stream>>>(p);
    place_ends<K><<<2 * (unsigned)p.brackets, SELECTORS, 0, cuda->stream>>>(p);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    if (p.first > 0) return enqueue_read<D, 1, true>(cuda, p); /* not of bytes */
    error = p.brackets == 1 ? enqueue_read<D, 1, false>(cuda, p)
                            : enqueue_read<D, MOST, false>(cuda, p);
    return error == cudaSuccess ? enqueue_search<K>(cuda, p) : error;
}

bf_status run_try(bf_cuda_order_call *call, bf_dtype dtype, const bracket_params &p, board *found) {
    const bf_cuda *cuda = call->context->cuda;
    const cudaError_t error =
        bf_cuda_by_dtype(dtype, [&](auto d) { return enqueue_try<decltype(d)::value>(cuda, p); });
    return bf_cuda_fetch_words(call->context, error, p.at, BOARD_WORDS, found, "order on a GPU");
}

/* Finds ranks in a bracket whose bucket has too many elements, by sorting what was kept. */
bf_status sort_crowded(bf_cuda_order_call *call, int bytes, const bracket_params &p, int bracket,
                       const int64_t rank[2], board *found) {
    char *kept = (char *)p.kept + bracket * p.room * bytes;
    bf_cuda_radix r = {};
    r.n = (int64_t)found->kept[bracket];
    r.bits = 8 * bytes;
    r.key_bytes = bytes;
    r.keys = r.sorted = kept;
    bf_status status = bf_cuda_radix_sort(call->context, &r);
    for (int side = 0; side < 2 && status == BF_OK; side++) {
        const int i = 2 * bracket + side;
        const int64_t inner = rank[side] - (int64_t)found->below[bracket];
        if (found->where[i] != CROWDED) continue;
        found->place[i] = 0;
        found->where[i] = FOUND;
        status = check(call, cudaMemcpyAsync(&found->place[i], kept + inner * bytes, (size_t)bytes,
                                             cudaMemcpyDeviceToHost, call->context->cuda->stream));
        if (status == BF_OK) status = bf_cuda_wait(call->context, cudaSuccess, "order on a GPU");
    }
    return status;
}

/* Looks for ranks that are outside their brackets at these brackets' ends. */
bf_status look_at_ends(bf_cuda_order_call *call, bf_dtype dtype, const bracket_params &p,
                       const int64_t rank[RANKS], board *found) {
    bf_context *context = call->context;
    end_counts counts;
    end_params e = {p.a, p.count, p.order, 0, {}, NULL};
    int of[ENDS];
    for (int i = 0; i < 2 * p.brackets; i++) {
        if (found->where[i] != BEFORE && found->where[i] != BEHIND) continue;
        of[e.ends] = i;
        e.place[e.ends++] = found->where[i] == BEFORE ? found->low[i / 2] - 1 : found->high[i / 2];
    }
    if (e.ends == 0) return BF_OK;
    e.counts = (end_counts *)bf_cuda_alloc(context, sizeof counts);
    if (e.counts == NULL) return BF_E_MEMORY;
    cudaError_t error = cudaMemsetAsync(e.counts, 0, sizeof counts, context->cuda->stream);
    bf_cuda_by_dtype(dtype, [&](auto d) {
        count_ends<decltype(d)::value>
            <<<bf_cuda_order_blocks(context, p.count, 256), 256, 0, context->cuda->stream>>>(e);
    });
    if (error == cudaSuccess) error = cudaGetLastError();
    bf_status status = bf_cuda_fetch_words(context, error, e.counts, (int)(sizeof counts / 8),
                                           &counts, "order on a GPU");
    bf_cuda_free(context, e.counts);
    for (int k = 0; k < e.ends && status == BF_OK; k++) {
        const uint64_t r = (uint64_t)rank[of[k]];
        if (r < counts.before[k] || r - counts.before[k] >= counts.equal[k]) continue;
        found->place[of[k]] = e.place[k];
        found->where[of[k]] = FOUND;
    }
    return status;
}

/* The sample: of long lines so large that it costs little beside the read. */
unsigned sample_size(int64_t n) {
    return n / 16 < SAMPLE_MOST ? (unsigned)(n / 16) : (unsigned)SAMPLE_MOST;
}

bf_status set_memory(bf_cuda_order_call *call, bf_dtype dtype, bracket_params *p, bool indexed) {
    const size_t bytes = (size_t)bf_cuda_place_bytes(dtype), brackets = (size_t)p->brackets;
    p->sampled = sample_size(p->count);
    p->room = p->count / 16 + (1 << 17);
    p->sample = bf_cuda_order_alloc(call, p->sampled * bytes);
    p->kept = bf_cuda_order_alloc(call, brackets * (size_t)p->room * bytes);
    p->small = bf_cuda_order_alloc(call, brackets * SMALL * bytes);
    p->at = (board *)bf_cuda_order_alloc(call, sizeof *p->at);
    if (p->sample == NULL || p->kept == NULL || p->small == NULL || p->at == NULL)
        return BF_E_MEMORY;
    if (!indexed) return BF_OK;
    p->index = (uint32_t *)bf_cuda_order_alloc(call, (size_t)p->room * sizeof *p->index);
    return p->index != NULL ? BF_OK : BF_E_MEMORY;
}

uint64_t next_seed(const bf_cuda_order_call *call, int attempt) {
    return bf_hash_mix((uint64_t)(uintptr_t)call->context->cuda + call->context->cuda->calls) +
           (uint64_t)attempt;
}

/* Makes the places of all ranks known, or sets *found to false. */
bf_status settle_ranks(bf_cuda_order_call *call, bf_dtype dtype, const bracket_params &p, board *at,
                       bool *found) {
    const int64_t numbers = p.count - (p.skips ? (int64_t)at->nans : 0);
    int64_t rank[RANKS];
    bf_status status = BF_OK;
    for (int b = 0; b < p.brackets; b++) {
        const bf_between between =
            bf_cuda_between(p.statistic, p.method, p.q[b], p.position[b], numbers);
        rank[2 * b] = between.below;
        rank[2 * b + 1] = between.above;
        if (status == BF_OK && (at->where[2 * b] == CROWDED || at->where[2 * b + 1] == CROWDED))
            status = sort_crowded(call, bf_cuda_place_bytes(dtype), p, b, &rank[2 * b], at);
    }
    if (status == BF_OK) status = look_at_ends(call, dtype, p, rank, at);
    *found = status == BF_OK;
    for (int i = 0; i < 2 * p.brackets; i++) *found &= at->where[i] == FOUND;
    return status;
}

} // namespace

bf_status bf_cuda_order_brackets(bf_cuda_order_call *call, bf_dtype dtype, bf_order order,
                                 const void *values, int64_t n, const bf_selection *selection,
                                 int first, int results, uint64_t places[][2], int64_t *nans,
                                 bool *found) {
    const bool nth = selection->statistic == BF_STATISTIC_NTH;
    bracket_params p = {};
    board at;
    p.a = values;
    p.count = n;
    p.order = order;
    p.brackets = results;
    p.statistic = selection->statistic;
    p.method = selection->method;
    p.skips = selection->nan == BF_NAN_SKIP && !nth;
    for (int i = 0; i < results; i++) {
        if (nth) p.position[i] = selection->positions[first + i];
        if (selection->statistic == BF_STATISTIC_QUANTILE)
            p.q[i] = selection->q[first + i];
    }
    const int memories = call->memories;
    bf_status status = set_memory(call, dtype, &p, false);
    *found = false;
    for (int attempt = 0; attempt < TRIES && status == BF_OK && !*found; attempt++) {
        p.seed = next_seed(call, attempt);
        status = run_try(call, dtype, p, &at);
        if (status != BF_OK) break;
        *nans = (int64_t)at.nans;
        if (!nth && (at.nans == (uint64_t)n || (at.nans > 0 && !p.skips))) { /* no ranks */
            *found = true;
            break;
        }
        status = settle_ranks(call, dtype, p, &at, found);
    }
    bf_cuda_order_free(call, memories);
    for (int i = 0; i < results; i++) {
        places[i][0] = at.place[2 * i];
        places[i][1] = at.place[2 * i + 1];
    }
    return status;
}

/* --- the first k --- */

namespace {

template <bf_dtype D>
__global__ void __launch_bounds__(256)
    write_first(const void *values, const uint32_t *order, int64_t k, void *first, int64_t *index) {
    typedef bf_cuda_bits_type<D> E;
    for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < k;
         i += (int64_t)gridDim.x * 256) {
        const E element = ((const E *)values)[order[i]];
        if (first != NULL) ((E *)first)[i] = D == BF_BOOL ? (E)(element != 0) : element;
        if (index != NULL) index[i] = order[i];
    }
}

/* Sorts n kept elements by place and then by index. */
bf_status sort_kept(bf_cuda_order_call *call, bf_dtype dtype, const bracket_params &p, int64_t n) {
    const int bytes = bf_cuda_place_bytes(dtype);
    bf_cuda_radix r = {};
    r.n = n;
    r.bits = bf_bit_length((uint64_t)p.count - 1);
    r.key_bytes = 4;
    r.keys = r.sorted = p.index;
    r.value_bytes = bytes;
    r.values = r.moved = p.kept;
    bf_status status = bf_cuda_radix_sort(call->context, &r);
    r.bits = 8 * bytes;
    r.key_bytes = bytes;
    r.keys = r.sorted = p.kept;
    r.value_bytes = 4;
    r.values = r.moved = p.index;
    return status == BF_OK ? bf_cuda_radix_sort(call->context, &r) : status;
}

} // namespace

bf_status bf_cuda_order_first(bf_cuda_order_call *call, bf_dtype dtype, bf_order order,
                              const void *values, int64_t n, int64_t k, void *first, int64_t *index,
                              bool *found) {
    bf_context *context = call->context;
    const int memories = call->memories;
    bracket_params p = {};
    board at;
    p.a = values;
    p.count = n;
    p.order = order;
    p.brackets = 1;
    p.first = k;
    p.seed = next_seed(call, 0);
    bf_status status = set_memory(call, dtype, &p, true);
    if (status == BF_OK) status = run_try(call, dtype, p, &at);
    *found = status == BF_OK && (int64_t)at.kept[0] >= k && (int64_t)at.kept[0] <= p.room;
    if (*found) status = sort_kept(call, dtype, p, (int64_t)at.kept[0]);
    if (*found && status == BF_OK) {
        bf_cuda_by_dtype(dtype, [&](auto d) {
            write_first<decltype(d)::value>
                <<<bf_cuda_order_blocks(context, k, 256), 256, 0, context->cuda->stream>>>(
                    values, p.index, k, first, index);
        });
        status = check(call, cudaGetLastError());
    }
    bf_cuda_order_free(call, memories);
    return status;
}
