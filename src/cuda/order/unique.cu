/* Different values: groups of a key without aggregates. */
#include "cuda/order/order.cuh"
#include "cuda/runtime/memory.cuh"

extern "C" {
#include "seam/group.h"
}

namespace {

/* Lists all groups, or those that there is room for. */
bf_status list_some(bf_cuda_call *call, void *groups, bf_dtype dtype, void *keys, void *counts,
                    int64_t n, int64_t room) {
    const bf_group_backend *by = bf_backend_cuda.group;
    const size_t bytes = (size_t)bf_key_bytes(dtype), some = (size_t)(room < n ? room : n);
    if (room >= n) return by->list(call->context, groups, keys, counts);
    if (room <= 0) return BF_OK;
    void *all_keys = keys == NULL ? NULL : bf_cuda_call_alloc(call, (size_t)n * bytes);
    void *all_counts = counts == NULL ? NULL : bf_cuda_call_alloc(call, (size_t)n * 8);
    if ((keys != NULL && all_keys == NULL) || (counts != NULL && all_counts == NULL))
        return BF_E_MEMORY;
    if (keys != NULL) call->result[call->results++] = {keys, all_keys, some * bytes};
    if (counts != NULL) call->result[call->results++] = {counts, all_counts, some * 8};
    return by->list(call->context, groups, all_keys, all_counts);
}

} // namespace

bf_status bf_cuda_unique(bf_context *context, bf_dtype dtype, const void *values, int64_t n,
                         void *keys, void *counts, int64_t room, int64_t *different) {
    const bf_group_backend *by = bf_backend_cuda.group;
    const bf_group_kind kind = {dtype, 0, NULL, 0};
    const bf_group_job job = {.n = n, .keys = values};
    bf_cuda_call call;
    void *groups = NULL;
    bf_status status = bf_cuda_call_begin(&call, context);
    context->cuda->holders++; /* the pool keeps the groups' memory for later calls */
    if (status == BF_OK) status = by->create(context, &kind, &groups);
    if (status == BF_OK) status = by->absorb(context, groups, &job);
    if (status == BF_OK) {
        *different = by->size(groups);
        if (keys != NULL || counts != NULL)
            status = list_some(&call, groups, dtype, keys, counts, *different, room);
    }
    status = bf_cuda_call_end(&call, status);
    if (groups != NULL) by->destroy(context, groups);
    context->cuda->holders--;
    return status;
}
