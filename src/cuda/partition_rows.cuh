/* Where the rows of a partition come from, and what digits they go by. */
#ifndef BF_CUDA_PARTITION_ROWS_CUH
#define BF_CUDA_PARTITION_ROWS_CUH

#include "table_word.cuh"

namespace bf_cuda_partition {

enum { THREADS = 512, WARPS = THREADS / 32, AT_ONCE = 8 };

/* Rows of a tile that a thread has: 32 KiB of entries in all. */
template <class W> constexpr int items = 32 / (int)sizeof(W);
template <class W> constexpr int tile = THREADS *items<W>;

/* Has a tile's rows from row `first` on brought closer. */
template <class W>
static __device__ __forceinline__ void prefetch_tile(const void *rows, int bytes, uint32_t first) {
    constexpr int LINE = 128;
    const char *p = (const char *)rows + (size_t)first * bytes;
    for (int at = threadIdx.x * LINE; at < tile<W> * bytes; at += THREADS * LINE)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(p + at));
}

/* Where rows come from: loading them is apart from what is made of them, so that many loads are
 * under way at once. Of arrays keys are hashed; */
template <class W> struct arrays {
    bf_cuda_format format;
    bf_hash_seed seed;
    const void *keys, *values;
    __device__ __forceinline__ W load_key(uint32_t i) const {
        W word;
        bf_cuda_load_word(keys, format.key_bytes, i, &word);
        return word;
    }
    __device__ __forceinline__ bf_cuda_entry<W> load(uint32_t i) const {
        bf_cuda_entry<W> e = {load_key(i)};
        bf_cuda_load_word(values, format.value_bytes, i, &e.value);
        return e;
    }
    __device__ __forceinline__ void prefetch(uint32_t first) const {
        prefetch_tile<W>(keys, format.key_bytes, first);
        prefetch_tile<W>(values, format.value_bytes, first);
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
    __device__ __forceinline__ W load_key(uint32_t i) const { return keys[i]; }
    __device__ __forceinline__ bf_cuda_entry<W> load(uint32_t i) const {
        bf_cuda_entry<W> e = {keys[i], values[i]};
        return e;
    }
    __device__ __forceinline__ void prefetch(uint32_t first) const {
        prefetch_tile<W>(keys, sizeof(W), first);
        prefetch_tile<W>(values, sizeof(W), first);
    }
    __device__ __forceinline__ W key(W word) const { return bf_cuda_hash(seed, word); }
    __device__ __forceinline__ W value(W word) const { return word; }
};

/* of entries they are taken as they are, */
template <class W> struct entries {
    const bf_cuda_entry<W> *from;
    __device__ __forceinline__ W load_key(uint32_t i) const { return from[i].key; }
    __device__ __forceinline__ bf_cuda_entry<W> load(uint32_t i) const { return from[i]; }
    __device__ __forceinline__ void prefetch(uint32_t first) const {
        prefetch_tile<W>(from, sizeof *from, first);
    }
    __device__ __forceinline__ W key(W word) const { return word; }
    __device__ __forceinline__ W value(W word) const { return word; }
};

/* or as ranks, which are hashed. */
template <class W> struct ranked {
    bf_hash_seed seed;
    const bf_cuda_entry<W> *from;
    __device__ __forceinline__ W load_key(uint32_t i) const { return from[i].key; }
    __device__ __forceinline__ bf_cuda_entry<W> load(uint32_t i) const { return from[i]; }
    __device__ __forceinline__ void prefetch(uint32_t first) const {
        prefetch_tile<W>(from, sizeof *from, first);
    }
    __device__ __forceinline__ W key(W word) const { return bf_cuda_hash(seed, word); }
    __device__ __forceinline__ W value(W word) const { return word; }
};

/* The number of a hash's region, less `base`, without its low `shift` bits. */
template <class W> struct region_digit {
    uint32_t regions, base;
    int shift;
    __device__ __forceinline__ uint32_t operator()(W hash) const {
        return (bf_cuda_place(hash, regions) >> shift) - base;
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
