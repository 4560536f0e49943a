/* Elements by index. */
#include "cuda/order/order.cuh"
#include "cuda/runtime/entry.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/warp.cuh"

namespace {

enum { TAKE_THREADS = 256 };

template <class T, class I>
__global__ void __launch_bounds__(TAKE_THREADS)
    take_elements(const T *from, const I *index, int64_t n, T *to) {
    for (const int64_t i : bf_cuda_indices<TAKE_THREADS>(n)) to[i] = from[index[i]];
}

__global__ void __launch_bounds__(TAKE_THREADS)
    find_greatest(const int64_t *index, int64_t n, unsigned long long *greatest) {
    unsigned long long mine = 0;
    for (const int64_t i : bf_cuda_indices<TAKE_THREADS>(n))
        if ((unsigned long long)index[i] > mine) mine = (unsigned long long)index[i];
    mine = bf_cuda_warp_most(mine);
    if (threadIdx.x % 32 == 0) atomicMax(greatest, mine);
}

/* Brings the elements that the index names to the GPU: those up to the greatest one. */
bf_status read_elements(bf_cuda_call *call, int bytes, int align, const int64_t *index, int64_t n,
                        const void **from) {
    bf_context *context = call->context;
    unsigned long long most, *greatest;
    if (bf_cuda_in_place(context, *from, align)) return BF_OK;
    greatest = (unsigned long long *)bf_cuda_call_alloc(call, sizeof *greatest);
    if (greatest == NULL) return BF_E_MEMORY;
    cudaError_t error = cudaMemsetAsync(greatest, 0, sizeof *greatest, context->cuda->stream);
    find_greatest<<<bf_cuda_blocks(context->cuda, n, TAKE_THREADS), TAKE_THREADS, 0,
                    context->cuda->stream>>>(index, n, greatest);
    if (error == cudaSuccess) error = cudaGetLastError();
    bf_status status = bf_cuda_fetch_words(context, error, greatest, 1, &most, "order on a GPU");
    if (status != BF_OK) return status;
    return bf_cuda_call_read(call, *from, ((size_t)most + 1) * (size_t)bytes, align, from);
}

template <class T>
cudaError_t take(const bf_context *context, const void *from, const void *index, int index_bytes,
                 int64_t n, void *to) {
    const unsigned blocks = bf_cuda_blocks(context->cuda, n, TAKE_THREADS);
    cudaStream_t stream = context->cuda->stream;
    if (index_bytes == 4)
        take_elements<<<blocks, TAKE_THREADS, 0, stream>>>((const T *)from, (const uint32_t *)index,
                                                           n, (T *)to);
    else
        take_elements<<<blocks, TAKE_THREADS, 0, stream>>>((const T *)from, (const uint64_t *)index,
                                                           n, (T *)to);
    return cudaGetLastError();
}

} // namespace

cudaError_t bf_cuda_order_take(const bf_context *context, int bytes, const void *from,
                               const void *index, int index_bytes, int64_t n, void *to) {
    if (n == 0) return cudaSuccess;
    switch (bytes) {
    case 1: return take<uint8_t>(context, from, index, index_bytes, n, to);
    case 2: return take<uint16_t>(context, from, index, index_bytes, n, to);
    case 4: return take<uint32_t>(context, from, index, index_bytes, n, to);
    case 8: return take<uint64_t>(context, from, index, index_bytes, n, to);
    default: return take<bf_cuda_wide>(context, from, index, index_bytes, n, to);
    }
}

bf_status bf_cuda_take(bf_context *context, int bytes, const void *from, const void *index,
                       int64_t n, void *to) {
    const int align = bytes > 8 ? 8 : bytes;
    bf_cuda_call call;
    const void *numbers = NULL;
    void *out = NULL;
    if (n == 0) return BF_OK;
    bf_status status = bf_cuda_call_begin(&call, context);
    if (status == BF_OK) status = bf_cuda_call_read(&call, index, (size_t)n * 8, 8, &numbers);
    if (status == BF_OK)
        status = read_elements(&call, bytes, align, (const int64_t *)numbers, n, &from);
    if (status == BF_OK)
        status = bf_cuda_call_write(&call, to, (size_t)n * (size_t)bytes, align, &out);
    if (status == BF_OK)
        status = bf_cuda_order_check(context,
                                     bf_cuda_order_take(context, bytes, from, numbers, 8, n, out));
    return bf_cuda_call_end(&call, status);
}
