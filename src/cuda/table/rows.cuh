/* The sources of a table's rows, and the digits by which rows are partitioned. */
#ifndef BF_CUDA_TABLE_ROWS_CUH
#define BF_CUDA_TABLE_ROWS_CUH

#include "cuda/runtime/sort/partition.cuh"
#include "cuda/table/word.cuh"

namespace bf_cuda_sources {

using bf_cuda_partition::prefetch_rows;

/* Arrays: keys become ranks and are hashed. */
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

/* Arrays of unsigned keys and plain values, both as wide as words. */
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

/* Entries with ranks for keys: these are hashed. */
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

/* The coarse partition of a hash: region / each, by a multiplication with times = 2^31 / each,
 * rounded up. It is exact if regions * each < 2^31 or each is a power of 2. */
template <class W> struct coarse_digit {
    uint32_t regions, times;
    __device__ __forceinline__ uint32_t operator()(W hash) const {
        return __umulhi(2 * bf_cuda_scale_hash(hash, regions), times);
    }
};

/* The number of a hash's region, minus `base`. */
template <class W> struct region_digit {
    uint32_t regions, base;
    __device__ __forceinline__ uint32_t operator()(W hash) const {
        return bf_cuda_scale_hash(hash, regions) - base;
    }
};

} // namespace bf_cuda_sources

#endif
