/* Calls: their memory, where kernels reach it. */
#include "cuda/runtime/call.cuh"

#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/pipeline.cuh"

extern "C" {
#include "base/where.h"
}

/* Kernels pass over the data several times: pinned memory is copied. */
static bool is_near(const bf_context *context, const void *memory, int align) {
    return bf_cuda_in_place(context, memory, align) && bf_where_is(memory, NULL) != BF_WHERE_PINNED;
}

bf_status bf_cuda_call_begin(bf_cuda_call *call, bf_context *context, bool queued) {
    *call = {};
    call->context = context;
    call->queued = queued;
    call->previous = bf_cuda_enter(context);
    return queued ? BF_OK : bf_cuda_refuse_captured(context);
}

bf_status bf_cuda_call_end(bf_cuda_call *call, bf_status status) {
    bf_context *context = call->context;
    for (int i = 0; i < call->results && status == BF_OK; i++)
        status =
            bf_cuda_copy(context, call->result[i].to, call->result[i].from, call->result[i].bytes);
    bf_cuda_call_free(call, 0);
    if (context->cuda->capture == 0 && !call->queued) {
        cudaError_t error = cudaStreamSynchronize(context->cuda->stream);
        if (status == BF_OK) status = bf_cuda_check(context, error, "a call on a GPU");
    }
    bf_cuda_leave(call->previous);
    return status;
}

void *bf_cuda_call_alloc(bf_cuda_call *call, size_t bytes) {
    void *memory = bf_cuda_alloc(call->context, bytes);
    if (memory != NULL) call->memory[call->memories++] = memory;
    return memory;
}

void bf_cuda_call_free(bf_cuda_call *call, int memories) {
    while (call->memories > memories) bf_cuda_free(call->context, call->memory[--call->memories]);
}

bf_status bf_cuda_call_read(bf_cuda_call *call, const void *from, size_t bytes, int align,
                            const void **at) {
    *at = from;
    if (bytes == 0 || is_near(call->context, from, align)) return BF_OK;
    void *copy = bf_cuda_call_alloc(call, bytes);
    if (copy == NULL) return BF_E_MEMORY;
    *at = copy;
    return bf_cuda_copy(call->context, copy, from, bytes);
}

bf_status bf_cuda_call_write(bf_cuda_call *call, void *to, size_t bytes, int align, void **at) {
    *at = to;
    if (to == NULL || bytes == 0 || is_near(call->context, to, align)) return BF_OK;
    *at = bf_cuda_call_alloc(call, bytes);
    if (*at == NULL) return BF_E_MEMORY;
    call->result[call->results++] = {to, *at, bytes};
    return BF_OK;
}

bf_status bf_cuda_call_update(bf_cuda_call *call, void *memory, size_t bytes, int align,
                              void **at) {
    const void *from = NULL;
    bf_status status = bf_cuda_call_read(call, memory, bytes, align, &from);
    *at = (void *)from;
    if (status == BF_OK && from != memory) call->result[call->results++] = {memory, from, bytes};
    return status;
}
