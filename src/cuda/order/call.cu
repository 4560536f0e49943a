/* The array of a call, where kernels reach it. */
#include "cuda/order/order.cuh"
#include "cuda/runtime/pipeline.cuh"

bf_status bf_cuda_order_check(bf_context *context, cudaError_t error) {
    return bf_cuda_check(context, error, "order on a GPU");
}

bf_status bf_cuda_order_reach(bf_cuda_call *call, const bf_order_lines *lines,
                              bf_cuda_order_array *array) {
    const int64_t *offsets = lines->offsets;
    const int bytes = bf_key_bytes(lines->dtype);
    *array = {};
    array->dtype = lines->dtype;
    array->order = lines->order;
    array->queued = lines->queued;
    array->lines.count = lines->count;
    array->lines.length = lines->length;
    array->lines.first = offsets == NULL ? 0 : offsets[0];
    array->lines.n =
        offsets == NULL ? lines->count * lines->length : offsets[lines->count] - offsets[0];
    bf_status status = bf_cuda_call_read(
        call, (const char *)lines->values + array->lines.first * bytes,
        (size_t)(array->lines.n * bytes), bf_cuda_order_align(lines->dtype), &array->values);
    if (offsets == NULL || status != BF_OK) return status;
    const size_t all = (size_t)(lines->count + 1) * sizeof *offsets;
    void *copy = bf_cuda_call_alloc(call, all);
    if (copy == NULL) return BF_E_MEMORY;
    array->lines.offsets = (const int64_t *)copy;
    return bf_cuda_copy(call->context, copy, offsets, all);
}
