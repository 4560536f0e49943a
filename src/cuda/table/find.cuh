/* Lookup. Two lanes read a bucket at once, half each. A pair of lanes starts its next key as soon
 * as it has done one, so no lane waits for the longest search of its warp. */
#ifndef BF_CUDA_TABLE_FIND_CUH
#define BF_CUDA_TABLE_FIND_CUH

#include "cuda/runtime/warp.cuh"
#include "cuda/table/table.cuh"

namespace bf_cuda_find {

enum {
    THREADS = 256,
    KEYS = 128 /* keys of a warp */
};

/* Blocks that share a multiprocessor. GPUs for servers (8.0, 9.0, 10.0) have the threads for eight.
 */
#if defined(__CUDA_ARCH__) &&                                                                      \
    (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ % 100 != 0 || __CUDA_ARCH__ >= 1200)
enum { FIND_BLOCKS = 4 };
#else
enum { FIND_BLOCKS = 8 };
#endif

/* A lane's half of a bucket. */
template <class W> struct half {
    static constexpr int slots = bf_cuda_region<W>::bucket / 2;
    bf_cuda_entry<W> e[slots];

    __device__ __forceinline__ void load(const bf_cuda_entry<W> *table, uint64_t bucket) {
        const bf_cuda_entry<W> *at = table + (bucket * 2 + threadIdx.x % 2) * slots;
        constexpr int vectors = sizeof e / 16;
        uint4 v[vectors];
#pragma unroll
        for (int k = 0; k < vectors; k++) v[k] = ((const uint4 *)at)[k];
        memcpy(e, v, sizeof e);
    }
    __device__ __forceinline__ bool match_key(W key, W *value) const {
        bool found = false;
#pragma unroll
        for (int k = 0; k < slots; k++)
            if (e[k].key == key) {
                *value = e[k].value;
                found = true;
            }
        return found;
    }
    __device__ __forceinline__ bool is_full(W empty) const {
        bool is = true;
#pragma unroll
        for (int k = 0; k < slots; k++) is = is && !(e[k].key == empty);
        return is;
    }
};

/* In the even lane: returns whether the bucket's first key is above its second. */
static __device__ __forceinline__ bool is_above(const half<uint32_t> &h) {
    return h.e[0].key > h.e[1].key;
}
static __device__ __forceinline__ bool is_above(const half<uint64_t> &h) {
    return h.e[0].key > __shfl_down_sync(~0u, (unsigned long long)h.e[0].key, 1);
}
static __device__ __forceinline__ bool is_above(const half<bf_cuda_wide> &h) {
    bf_cuda_wide a = h.e[0].key;
    uint64_t lo = __shfl_down_sync(~0u, (unsigned long long)a.lo, 1);
    uint64_t hi = __shfl_down_sync(~0u, (unsigned long long)a.hi, 1);
    return a.lo != lo ? a.lo > lo : a.hi > hi;
}

/* The keys of a warp, and the answers. */
template <class W> struct sought {
    W key[KEYS], value[KEYS];
    uint32_t home[KEYS];
    uint8_t found[KEYS];
};

/* Finds the first n keys of w. Each pair of lanes takes every 16th, from its own number on. */
template <class W>
__device__ __forceinline__ void find_keys(sought<W> &w, int n, const bf_cuda_entry<W> *table) {
    constexpr uint32_t in_region = bf_cuda_region<W>::buckets;
    int at = threadIdx.x % 32 / 2;
    uint32_t step = 0, pair = 3u << (threadIdx.x & 30);
    while (__any_sync(~0u, at < n)) {
        bool active = at < n, match = false, goes_on = false;
        half<W> h;
        W value;
        uint32_t region = 0;
        if (active) {
            uint32_t home = w.home[at];
            region = home / in_region;
            h.load(table,
                   (uint64_t)region * in_region + bf_cuda_bucket_at<W>(home % in_region, step));
            match = h.match_key(w.key[at], &value);
        }
        bool higher = is_above(h);
        if (active)
            goes_on = h.is_full(bf_cuda_empty_key<W>(region)) && (higher || threadIdx.x % 2);
        uint32_t matches = __ballot_sync(~0u, match) & pair;
        bool full = (__ballot_sync(~0u, goes_on) & pair) == pair;
        step++;
        if (!active || (full && matches == 0 && step < in_region)) continue;
        if (match) w.value[at] = value;
        if (threadIdx.x % 2 == 0) w.found[at] = matches != 0;
        at += 16;
        step = 0;
    }
}

template <class W>
__global__ void __launch_bounds__(THREADS, sizeof(W) == 16 ? 4 : FIND_BLOCKS)
    find_kernel(const bf_cuda_entry<W> *table, uint64_t buckets, bf_hash_seed seed,
                bf_cuda_format format, const void *keys, int64_t n, bf_cuda_answers answers,
                bf_cuda_table_notes *notes) {
    extern __shared__ __align__(16) char shared[];
    sought<W> &w = ((sought<W> *)shared)[threadIdx.x / 32];
    int lane = threadIdx.x % 32, total = 0;
    int64_t first = ((int64_t)blockIdx.x * (THREADS / 32) + threadIdx.x / 32) * KEYS;
    int mine = n - first < KEYS ? n - first > 0 ? (int)(n - first) : 0 : KEYS;
    for (int k = lane; k < mine; k += 32) {
        W key = bf_cuda_hash(seed, bf_cuda_load_rank<W>(format, keys, first + k));
        w.key[k] = key;
        w.home[k] = bf_cuda_scale_hash(key, buckets);
    }
    __syncwarp();
    find_keys(w, mine, table);
    __syncwarp();
    for (int k = lane; k < mine; k += 32) {
        bool found = w.found[k];
        if (found && answers.values != NULL)
            bf_cuda_store_value(format, answers.values, first + k, w.value[k]);
        if (answers.found != NULL) answers.found[first + k] = found;
        if (answers.counts != NULL) answers.counts[first + k] = found;
        if (answers.numbers != NULL)
            answers.numbers[first + k] = found ? (uint32_t)bf_cuda_bits(w.value[k]) : ~(uint32_t)0;
        total += found;
    }
    if (notes != NULL) bf_cuda_warp_add(total, &notes->total);
}

template <class W>
static cudaError_t launch_find(const bf_cuda *cuda, const bf_cuda_table *t, const void *keys,
                               int64_t n, const bf_cuda_answers *answers,
                               bf_cuda_table_notes *notes) {
    uint64_t buckets = (uint64_t)t->buckets.regions * bf_cuda_region<W>::buckets;
    int64_t in_block = THREADS / 32 * KEYS;
    find_kernel<W><<<(unsigned)((n - 1) / in_block + 1), THREADS, THREADS / 32 * sizeof(sought<W>),
                     cuda->stream>>>((const bf_cuda_entry<W> *)t->buckets.entries, buckets,
                                     t->buckets.seed, t->format, keys, n, *answers, notes);
    return cudaGetLastError();
}

} // namespace bf_cuda_find

#endif
