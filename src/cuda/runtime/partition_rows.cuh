/* Where the rows of a partition come from, and what digits they go by. */
#ifndef BF_CUDA_RUNTIME_PARTITION_ROWS_CUH
#define BF_CUDA_RUNTIME_PARTITION_ROWS_CUH

#include "cuda/table/word.cuh"

namespace bf_cuda_partition {

/* Tiles: the threads of a block, the bytes of rows that each has, and the blocks of an SM that
 * these leave registers for: one ranks its rows while the other's are on their way. (Larger tiles
 * are written in longer runs, but leave room for one block only, which is slower.) */
enum { THREADS = 384, WARPS = THREADS / 32, BYTES = 96, BLOCKS = 2 };
template <class W> constexpr int items = BYTES / (2 * (int)sizeof(W));
template <class W> constexpr int tile = THREADS *items<W>;

/* Has n rows from row `first` on brought closer. */
static __device__ __forceinline__ void prefetch_rows(const void *rows, int bytes, uint32_t first,
                                                     int n) {
    constexpr int LINE = 128;
    const char *p = (const char *)rows + (size_t)first * bytes;
    for (int at = threadIdx.x * LINE; at < n * bytes; at += blockDim.x * LINE)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(p + at));
}

/* Where rows come from: loading them is apart from what is made of them, so that many loads are
 * under way at once. Of arrays keys are hashed; */
template <class W> struct arrays {
    bf_cuda_format format;
    bf_hash_seed seed;
    const void *keys, *values;
    __device__ __forceinline__ W load_key(size_t i) const {
        W word;
        bf_cuda_load_word(keys, format.key_bytes, (int64_t)i, &word);
        return word;
    }
    __device__ __forceinline__ bf_cuda_entry<W> load(size_t i) const {
        bf_cuda_entry<W> e = {load_key(i)};
        bf_cuda_load_word(values, format.value_bytes, (int64_t)i, &e.value);
        return e;
    }
    __device__ __forceinline__ void prefetch(uint32_t first, int n) const {
        prefetch_rows(keys, format.key_bytes, first, n);
        prefetch_rows(values, format.value_bytes, first, n);
    }
    __device__ __forceinline__ W key(W word) const {
        return bf_cuda_hash(seed, bf_cuda_rank_word(format, word));
    }
    __device__ __forceinline__ W value(W word) const { return bf_cuda_value_word(format, word); }
};

/* of arrays of unsigned keys and plain values, as wide as words, there is no more to do; */
template <class W> struct plain_arrays {
    bf_hash_seed seed;
    const W *keys, *values;
    __device__ __forceinline__ W load_key(size_t i) const { return keys[i]; }
    __device__ __forceinline__ bf_cuda_entry<W> load(size_t i) const {
        bf_cuda_entry<W> e = {keys[i], values[i]};
        return e;
    }
    __device__ __forceinline__ void prefetch(uint32_t first, int n) const {
        prefetch_rows(keys, sizeof(W), first, n);
        prefetch_rows(values, sizeof(W), first, n);
    }
    __device__ __forceinline__ W key(W word) const { return bf_cuda_hash(seed, word); }
    __device__ __forceinline__ W value(W word) const { return word; }
};

/* of entries they are taken as they are, */
template <class W> struct entries {
    const bf_cuda_entry<W> *from;
    __device__ __forceinline__ W load_key(size_t i) const { return from[i].key; }
    __device__ __forceinline__ bf_cuda_entry<W> load(size_t i) const { return from[i]; }
    __device__ __forceinline__ void prefetch(uint32_t first, int n) const {
        prefetch_rows(from, sizeof *from, first, n);
    }
    __device__ __forceinline__ W key(W word) const { return word; }
    __device__ __forceinline__ W value(W word) const { return word; }
};

/* or as ranks, which are hashed. */
template <class W> struct ranked {
    bf_hash_seed seed;
    const bf_cuda_entry<W> *from;
    __device__ __forceinline__ W load_key(size_t i) const { return from[i].key; }
    __device__ __forceinline__ bf_cuda_entry<W> load(size_t i) const { return from[i]; }
    __device__ __forceinline__ void prefetch(uint32_t first, int n) const {
        prefetch_rows(from, sizeof *from, first, n);
    }
    __device__ __forceinline__ W key(W word) const { return bf_cuda_hash(seed, word); }
    __device__ __forceinline__ W value(W word) const { return word; }
};

/* The part that a hash's region is in, of parts of so many regions: times is 2^31 / so many,
 * rounded up (exact where regions * so many < 2^31, or that is a power of 2). */
template <class W> struct part_digit {
    uint32_t regions, times;
    __device__ __forceinline__ uint32_t operator()(W hash) const {
        return __umulhi(2 * bf_cuda_place(hash, regions), times);
    }
};

/* The number of a hash's region, less `base`. */
template <class W> struct region_digit {
    uint32_t regions, base;
    __device__ __forceinline__ uint32_t operator()(W hash) const {
        return bf_cuda_place(hash, regions) - base;
    }
};

/* Eight bits of a rank. */
template <class W> struct rank_digit {
    int shift;
    __device__ __forceinline__ uint32_t operator()(W rank) const {
        return (uint32_t)(rank >> shift) & 255;
    }
};
template <> struct rank_digit<bf_cuda_wide> {
    int shift;
    __device__ __forceinline__ uint32_t operator()(bf_cuda_wide rank) const {
        return (uint32_t)((shift < 64 ? rank.lo : rank.hi) >> shift % 64) & 255;
    }
};

} // namespace bf_cuda_partition

#endif
