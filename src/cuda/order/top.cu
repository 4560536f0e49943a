/* The first elements of each line: of long lines those that come before a place which a sample
 * shows; or else of lines in order. */
#include "cuda/order/bracket.cuh"
#include "cuda/order/order.cuh"
#include "cuda/runtime/entry.cuh"

namespace {

enum { TOP_THREADS = 256 };

/* Copies the first k of each line. */
template <class T>
__global__ void __launch_bounds__(TOP_THREADS)
    copy_first(const T *from, int64_t length, int64_t k, int64_t n, T *to) {
    for (const int64_t i : bf_cuda_indices<TOP_THREADS>(n)) to[i] = from[i / k * length + i % k];
}

cudaError_t copy(const bf_context *context, int bytes, const void *from, int64_t length, int64_t k,
                 int64_t n, void *to) {
    const unsigned blocks = bf_cuda_blocks(context->cuda, n, TOP_THREADS);
    cudaStream_t stream = context->cuda->stream;
    switch (bytes) {
    case 1:
        copy_first<<<blocks, TOP_THREADS, 0, stream>>>((const uint8_t *)from, length, k, n,
                                                       (uint8_t *)to);
        break;
    case 2:
        copy_first<<<blocks, TOP_THREADS, 0, stream>>>((const uint16_t *)from, length, k, n,
                                                       (uint16_t *)to);
        break;
    case 4:
        copy_first<<<blocks, TOP_THREADS, 0, stream>>>((const uint32_t *)from, length, k, n,
                                                       (uint32_t *)to);
        break;
    case 8:
        copy_first<<<blocks, TOP_THREADS, 0, stream>>>((const uint64_t *)from, length, k, n,
                                                       (uint64_t *)to);
        break;
    default:
        copy_first<<<blocks, TOP_THREADS, 0, stream>>>((const bf_cuda_wide *)from, length, k, n,
                                                       (bf_cuda_wide *)to);
    }
    return cudaGetLastError();
}

/* Sorts the lines, and copies the first k of each. */
bf_status sort_all(bf_cuda_call *call, const bf_cuda_order_array *array, int64_t k, void *values,
                   void *index) {
    bf_context *context = call->context;
    const int bytes = bf_key_bytes(array->dtype);
    const int64_t n = array->lines.n, length = array->lines.length, wanted = array->lines.count * k;
    void *sorted = values == NULL ? NULL : bf_cuda_call_alloc(call, (size_t)(n * bytes));
    void *numbers = index == NULL ? NULL : bf_cuda_call_alloc(call, (size_t)n * 8);
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

/* Finds the first k of each line, one after another; or sets *found to false. */
bf_status find_all(bf_cuda_call *call, const bf_cuda_order_array *array, int64_t k, char *values,
                   int64_t *index, bool *found) {
    const bf_cuda_order_lines &lines = array->lines;
    const int bytes = bf_dtype_bytes(array->dtype);
    bf_status status = BF_OK;
    *found = true;
    for (int64_t l = 0; l < lines.count && status == BF_OK && *found; l++)
        status =
            bf_cuda_order_first(call, array->dtype, array->order,
                                (const char *)array->values + l * lines.length * bytes,
                                lines.length, k, values == NULL ? NULL : values + l * k * bytes,
                                index == NULL ? NULL : index + l * k, found);
    return status;
}

/* Is a sample worth it? Of bytes too many are equal. */
bool is_long(const bf_cuda_order_array *array, int64_t k) {
    const int64_t length = array->lines.length;
    return array->dtype != BF_PAIR && bf_dtype_bytes(array->dtype) > 1 &&
           length >= BF_CUDA_BRACKET_LEAST && length <= UINT32_MAX && k <= length / 64;
}

bf_status find_or_sort(bf_cuda_call *call, const bf_cuda_order_array *array, int64_t k,
                       void *values, void *index) {
    bool found = false;
    bf_status status = BF_OK;
    if (is_long(array, k))
        status = find_all(call, array, k, (char *)values, (int64_t *)index, &found);
    return status != BF_OK || found ? status : sort_all(call, array, k, values, index);
}

} // namespace

bf_status bf_cuda_top(bf_context *context, const bf_order_lines *lines, int64_t k, void *values,
                      void *index) {
    const size_t wanted = (size_t)(lines->count * k), bytes = (size_t)bf_key_bytes(lines->dtype);
    bf_cuda_call call;
    bf_cuda_order_array array = {};
    void *out = NULL, *positions = NULL;
    bf_status status = bf_cuda_call_begin(&call, context);
    if (status == BF_OK) status = bf_cuda_order_reach(&call, lines, &array);
    if (status == BF_OK)
        status = bf_cuda_call_write(&call, values, wanted * bytes,
                                    bf_cuda_order_align(lines->dtype), &out);
    if (status == BF_OK) status = bf_cuda_call_write(&call, index, wanted * 8, 8, &positions);
    if (status == BF_OK) status = find_or_sort(&call, &array, k, out, positions);
    return bf_cuda_call_end(&call, status);
}
