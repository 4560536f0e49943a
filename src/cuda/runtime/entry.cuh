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

/* The word of so many bytes. */
template <int bytes> struct bf_cuda_word_of;
template <> struct bf_cuda_word_of<4> { typedef uint32_t type; };
template <> struct bf_cuda_word_of<8> { typedef uint64_t type; };
template <> struct bf_cuda_word_of<16> { typedef bf_cuda_wide type; };
template <int bytes> using bf_cuda_word = typename bf_cuda_word_of<bytes>::type;

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
