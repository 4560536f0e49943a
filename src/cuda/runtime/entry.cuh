/* Entries: a key and a value, two words of 4, 8 or 16 bytes. */
#ifndef BF_CUDA_RUNTIME_ENTRY_CUH
#define BF_CUDA_RUNTIME_ENTRY_CUH

#include "cuda/runtime/context.cuh"

/* A word of 16 bytes. hi is the first half of a key or a pair. */
struct bf_cuda_wide {
    uint64_t hi, lo;
};

static __host__ __device__ __forceinline__ bool operator==(bf_cuda_wide a, bf_cuda_wide b) {
    return a.hi == b.hi && a.lo == b.lo;
}

template <class W> struct alignas(sizeof(W) == 4 ? 8 : 16) bf_cuda_entry { W key, value; };

/* --- words from 64 bits, and back: their low ends --- */

static __device__ __forceinline__ void bf_cuda_narrow(uint64_t bits, uint32_t *word) {
    *word = (uint32_t)bits;
}
static __device__ __forceinline__ void bf_cuda_narrow(uint64_t bits, uint64_t *word) {
    *word = bits;
}
static __device__ __forceinline__ void bf_cuda_narrow(uint64_t bits, bf_cuda_wide *word) {
    word->hi = 0;
    word->lo = bits;
}
static __device__ __forceinline__ uint64_t bf_cuda_bits(uint32_t word) { return word; }
static __device__ __forceinline__ uint64_t bf_cuda_bits(uint64_t word) { return word; }
static __device__ __forceinline__ uint64_t bf_cuda_bits(bf_cuda_wide word) { return word.lo; }

#endif
