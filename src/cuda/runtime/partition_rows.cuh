/* Sizes of tiles; entries as a source of rows; digits of ranks. A source of rows has the functions
 * of `entries`; a digit is called with a key. */
#ifndef BF_CUDA_RUNTIME_PARTITION_ROWS_CUH
#define BF_CUDA_RUNTIME_PARTITION_ROWS_CUH

#include "cuda/runtime/entry.cuh"

namespace bf_cuda_partition {

/* Tiles: threads of a block, bytes of rows of a thread, and blocks of a multiprocessor. Two blocks
 * fit: one ranks its rows while the other loads. (Larger tiles are written in longer runs, but only
 * one block fits, which is slower.) */
enum { THREADS = 384, WARPS = THREADS / 32, BYTES = 96, BLOCKS = 2 };
template <class W> constexpr int items = BYTES / (2 * (int)sizeof(W));
template <class W> constexpr int tile = THREADS *items<W>;

/* Prefetches n rows from row `first` on into the L2 cache. */
static __device__ __forceinline__ void prefetch_rows(const void *rows, int bytes, uint32_t first,
                                                     int n) {
    constexpr int LINE = 128;
    const char *p = (const char *)rows + (size_t)first * bytes;
    for (int at = threadIdx.x * LINE; at < n * bytes; at += blockDim.x * LINE)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(p + at));
}

/* Entries as they are. A source first loads rows, and then makes keys and values of them, so that
 * many loads are under way at once. */
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

/* A digit: eight bits of a rank, from bit `shift` on. */
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
