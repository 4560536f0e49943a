/* The first elements of each line: of lines in order. */
#include "cuda/order/order.cuh"
#include "cuda/runtime/entry.cuh"

namespace {

enum { THREADS = 256 };

/* Copies the first k of each line. */
template <class T>
__global__ void __launch_bounds__(THREADS)
    copy_first(const T *from, int64_t length, int64_t k, int64_t n, T *to) {
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        to[i] = from[i / k * length + i % k];
}

cudaError_t copy(const bf_context *context, int bytes, const void *from, int64_t length, int64_t k,
                 int64_t n, void *to) {
    const unsigned blocks = bf_cuda_order_blocks(context, n, THREADS);
    cudaStream_t stream = context->cuda->stream;
    switch (bytes) {
    case 1:
        copy_first<<<blocks, THREADS, 0, stream>>>((const uint8_t *)from, length, k, n,
                                                   (uint8_t *)to);
        break;
    case 2:
        copy_first<<<blocks, THREADS, 0, stream>>>((const uint16_t *)from, length, k, n,
                                                   (uint16_t *)to);
        break;
    case 4:
        copy_first<<<blocks, THREADS, 0, stream>>>((const uint32_t *)from, length, k, n,
                                                   (uint32_t *)to);
        break;
    case 8:
        copy_first<<<blocks, THREADS, 0, stream>>>((const uint64_t *)from, length, k, n,
                                                   (uint64_t *)to);
        break;
    default:
        copy_first<<<blocks, THREADS, 0, stream>>>((const bf_cuda_wide *)from, length, k, n,
                                                   (bf_cuda_wide *)to);
    }
    return cudaGetLastError();
}

/* Sorts the lines, and copies the first k of each. */
bf_status sort_all(bf_cuda_order_call *call, const bf_cuda_order_array *array, int64_t k,
                   void *values, void *index) {
    bf_context *context = call->context;
    const int bytes = bf_key_bytes(array->dtype);
    const int64_t n = array->lines.n, length = array->lines.length, wanted = array->lines.count * k;
    void *sorted = values == NULL ? NULL : bf_cuda_order_alloc(call, (size_t)(n * bytes));
    void *numbers = index == NULL ? NULL : bf_cuda_order_alloc(call, (size_t)n * 8);
    if ((values != NULL && sorted == NULL) || (index != NULL && numbers == NULL))
        return BF_E_MEMORY;
    bf_status status = bf_cuda_order_sort(context, array, sorted, (int64_t *)numbers);
    cudaError_t error = cudaSuccess;
    if (status == BF_OK && values != NULL)
        error = copy(context, bytes, sorted, length, k, wanted, values);
    if (status == BF_OK && error == cudaSuccess && index != NULL)
        error = copy(context, 8, numbers, length, k, wanted, index);
    return status == BF_OK ? bf_cuda_order_check(context, error) : status;
}

} // namespace

bf_status bf_cuda_top(bf_context *context, const bf_order_lines *lines, int64_t k, void *values,
                      void *index) {
    const size_t wanted = (size_t)(lines->count * k), bytes = (size_t)bf_key_bytes(lines->dtype);
    bf_cuda_order_call call;
    bf_cuda_order_array array = {};
    void *out = NULL, *positions = NULL;
    bf_status status = bf_cuda_order_begin(&call, context);
    if (status == BF_OK) status = bf_cuda_order_reach(&call, lines, &array);
    if (status == BF_OK)
        status = bf_cuda_order_write(&call, values, wanted * bytes,
                                     bf_cuda_order_align(lines->dtype), &out);
    if (status == BF_OK) status = bf_cuda_order_write(&call, index, wanted * 8, 8, &positions);
    if (status == BF_OK) status = sort_all(&call, &array, k, out, positions);
    return bf_cuda_order_end(&call, status);
}
