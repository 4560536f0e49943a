/* Copies between memory of any strides and contiguous memory. A thread computes the address of an
 * element from its number. */
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/pipeline.cuh"

extern "C" {
#include "base/where.h"
}

namespace {

enum { STRIDED_THREADS = 256, ELEMENTS = 4 /* elements of a thread */ };

struct strided_params {
    char *strided, *flat;
    int64_t first, count;
    int ndim, bytes;
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[BF_MAX_DIMS]; /* in bytes */
};

/* Returns the offset of element `number`. I: a type that holds every number and extent; 32 bits
 * divide much faster than 64. */
template <class I>
__device__ __forceinline__ int64_t offset_of(const strided_params &p, int64_t number) {
    I rest = (I)number;
    int64_t at = 0;
#pragma unroll
    for (int d = BF_MAX_DIMS - 1; d > 0; d--) {
        if (d >= p.ndim) continue;
        I quotient = rest / (I)p.shape[d];
        at += (int64_t)(rest - quotient * (I)p.shape[d]) * p.strides[d];
        rest = quotient;
    }
    return at + (int64_t)rest * p.strides[0];
}

/* W: the type that is copied at once; misaligned elements are copied as bytes. */
template <class W, class I, bool GATHER>
__global__ void __launch_bounds__(STRIDED_THREADS)
    copy_strided(const __grid_constant__ strided_params p) {
    bf_cuda_wait_for_previous();
    int64_t i = (int64_t)blockIdx.x * (STRIDED_THREADS * ELEMENTS) + threadIdx.x;
    int words = p.bytes / (int)sizeof(W);
#pragma unroll
    for (int e = 0; e < ELEMENTS; e++, i += STRIDED_THREADS) {
        if (i >= p.count) return;
        W *strided = (W *)(p.strided + offset_of<I>(p, p.first + i));
        W *flat = (W *)(p.flat + i * p.bytes);
        for (int w = 0; w < words; w++) {
            if (GATHER)
                flat[w] = strided[w];
            else
                strided[w] = flat[w];
        }
    }
}

template <class W, bool GATHER> const void *choose_width(bool narrow) {
    return narrow ? (const void *)copy_strided<W, uint32_t, GATHER>
                  : (const void *)copy_strided<W, uint64_t, GATHER>;
}

template <bool GATHER> const void *choose_kernel(const strided_params &p) {
    bool aligned = (((uintptr_t)p.strided | (uintptr_t)p.flat) & (unsigned)(p.bytes - 1)) == 0;
    bool narrow = p.first + p.count <= INT64_C(1) << 32;
    for (int d = 0; d < p.ndim; d++) narrow = narrow && p.shape[d] < INT64_C(1) << 32;
    switch (aligned ? p.bytes : 1) {
    case 2: return choose_width<uint16_t, GATHER>(narrow);
    case 4: return choose_width<uint32_t, GATHER>(narrow);
    case 8: return choose_width<uint64_t, GATHER>(narrow);
    default: return choose_width<uint8_t, GATHER>(narrow);
    }
}

strided_params params_of(const bf_strided *memory, int64_t first, int64_t count, char *flat) {
    strided_params p = {};
    p.strided = memory->data;
    p.flat = flat;
    p.first = first;
    p.count = count;
    p.ndim = memory->ndim;
    p.bytes = memory->bytes;
    for (int d = 0; d < p.ndim; d++) {
        p.shape[d] = memory->shape[d];
        p.strides[d] = memory->strides[d] * memory->bytes;
    }
    return p;
}

cudaError_t launch_copy(const bf_context *context, const void *kernel, strided_params *p) {
    void *arguments[] = {p};
    int64_t tile = STRIDED_THREADS * ELEMENTS;
    bf_cuda_shape shape = {
        .blocks = (p->count + tile - 1) / tile, .threads = STRIDED_THREADS, .overlaps = true};
    return bf_cuda_launch(context->cuda, kernel, shape, arguments);
}

} // namespace

static bool is_on_host(const bf_strided *memory) {
    return bf_where_is(memory->data, NULL) == BF_WHERE_HOST;
}

static bf_status gather_elements(bf_context *context, const bf_strided *from, int64_t first,
                                 int64_t count, void *to) {
    bf_status status = bf_cuda_refuse_captured(context);
    if (status != BF_OK) return status;
    if (is_on_host(from)) return bf_cuda_gather_host(context, from, first, count, to);
    strided_params p = params_of(from, first, count, (char *)to);
    return bf_cuda_check(context, launch_copy(context, choose_kernel<true>(p), &p), "a copy");
}

bf_status bf_cuda_gather(bf_context *context, const bf_strided *from, int64_t first, int64_t count,
                         void *to) {
    int previous = bf_cuda_enter(context);
    bf_status status = gather_elements(context, from, first, count, to);
    bf_cuda_leave(previous);
    return status;
}

static bf_status scatter_elements(bf_context *context, const bf_strided *to, int64_t first,
                                  int64_t count, const void *from) {
    if (is_on_host(to)) return bf_cuda_scatter_host(context, to, first, count, from);
    strided_params p = params_of(to, first, count, (char *)(uintptr_t)from);
    return bf_cuda_wait(context, launch_copy(context, choose_kernel<false>(p), &p), "a copy");
}

bf_status bf_cuda_scatter(bf_context *context, const bf_strided *to, int64_t first, int64_t count,
                          const void *from) {
    int previous = bf_cuda_enter(context);
    bf_status status = scatter_elements(context, to, first, count, from);
    bf_cuda_leave(previous);
    return status;
}
