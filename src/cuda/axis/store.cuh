/* How a thread writes a result, or notes that there is none. */
#ifndef BF_CUDA_AXIS_STORE_CUH
#define BF_CUDA_AXIS_STORE_CUH

#include "cuda/axis/axis.cuh"

static __device__ __forceinline__ void bf_cuda_axis_store(const bf_cuda_axis_params &p, int64_t r,
                                                          uint64_t bits) {
    if (!p.aligned) {
        char *to = (char *)p.values + r * p.bytes;
        for (int i = 0; i < p.bytes; i++) to[i] = (char)(bits >> 8 * i);
    } else if (p.bytes == 4) {
        ((uint32_t *)p.values)[r] = (uint32_t)bits;
    } else if (p.bytes == 8) {
        ((uint64_t *)p.values)[r] = bits;
    } else if (p.bytes == 2) {
        ((uint16_t *)p.values)[r] = (uint16_t)bits;
    } else {
        ((uint8_t *)p.values)[r] = (uint8_t)bits;
    }
}

static __device__ __forceinline__ void bf_cuda_axis_fail(const bf_cuda_axis_params &p, int64_t r,
                                                         int why) {
    atomicMin(&p.board->failure, 4 * (unsigned long long)r + (unsigned)why);
}

/* A result with its element of fits. */
static __device__ __forceinline__ void bf_cuda_axis_store_fit(const bf_cuda_axis_params &p,
                                                              int64_t r, uint64_t bits, bool fits) {
    bf_cuda_axis_store(p, r, bits);
    if (p.fits != nullptr)
        p.fits[r] = fits;
    else if (!fits && !p.wraps)
        bf_cuda_axis_fail(p, r, BF_CUDA_AXIS_OVERFLOW);
}

/* There is no value. */
static __device__ __forceinline__ void bf_cuda_axis_store_empty(const bf_cuda_axis_params &p,
                                                                int64_t r) {
    bf_cuda_axis_store_fit(p, r, p.empty, true);
    if (!p.has_empty) bf_cuda_axis_fail(p, r, BF_CUDA_AXIS_EMPTY);
}

/* Sets a flag of the board. A multiprocessor that has set it sees that in its cache: where all do
 * it all the time, they wait for each other. */
static __device__ __forceinline__ void bf_cuda_axis_raise(unsigned long long *flag) {
    if (__ldca(flag) == 0) *flag = 1;
}

/* Leaves a result to the kernels of exact/. */
static __device__ __forceinline__ void bf_cuda_axis_mark(const bf_cuda_axis_params &p, int64_t r) {
    atomicOr(&p.marks[r / 32], 1u << (r % 32));
    bf_cuda_axis_raise(&p.board->failed);
}

/* Leaves those of up to 32 neighbouring results that have a bit. */
static __device__ __forceinline__ void bf_cuda_axis_mark_some(const bf_cuda_axis_params &p,
                                                              int64_t first, unsigned bits) {
    const uint64_t marks = (uint64_t)bits << (first % 32);
    if (bits == 0) return;
    if ((unsigned)marks != 0) atomicOr(&p.marks[first / 32], (unsigned)marks);
    if (marks >> 32 != 0) atomicOr(&p.marks[first / 32 + 1], (unsigned)(marks >> 32));
    bf_cuda_axis_raise(&p.board->failed);
}

/* Leaves a result that is not proven: a sum to settle.cu. Returns whether it was left there. */
template <bool settles>
static __device__ __forceinline__ bool bf_cuda_axis_leave(const bf_cuda_axis_params &p, int64_t r) {
    if (settles) bf_cuda_axis_mark(p, r);
    return settles;
}

/* Leaves a tile or a chunk to the second kernel. */
static __device__ __forceinline__ void bf_cuda_axis_defer(const bf_cuda_axis_params &p, int64_t i) {
    p.deferred_list[atomicAdd(&p.board->deferred, 1ull)] = i;
}

/* Leaves one of its results, others of which may have been left. */
static __device__ __forceinline__ void bf_cuda_axis_defer_once(const bf_cuda_axis_params &p,
                                                               int64_t r) {
    int64_t i = p.tile > 0 ? r / p.tile : r / p.inner * p.parts + r % p.inner / p.columns;
    if ((atomicOr(&p.deferred[i / 32], 1u << (i % 32)) >> (i % 32) & 1) == 0)
        bf_cuda_axis_defer(p, i);
}

/* Number i of those that have been left; its bit is cleared, where there are bits. */
static __device__ __forceinline__ int64_t bf_cuda_axis_deferred(const bf_cuda_axis_params &p,
                                                                int64_t i) {
    const int64_t tile = p.deferred_list[i];
    if (p.deferred != nullptr) atomicAnd(&p.deferred[tile / 32], ~(1u << (tile % 32)));
    return tile;
}

#endif
