/* Reductions of segments: rows by offsets. */
#include "cuda/axis/axis.cuh"

extern "C" {
#include "rules/number/dtype.h"
#include "seam/memory.h"
}

static void set_layout(bf_cuda_axis_layout *at, const bf_rows *rows) {
    at->results = rows->slots * rows->width;
    at->length = -1;
    at->offsets = rows->places;
    at->wide = rows->places_dtype == BF_I64;
    at->rows = rows->count;
    at->width = rows->width;
}

static bf_status reach_inputs(bf_cuda_axis_call *call, bf_rows *rows) {
    const bf_operands *o = call->operands;
    const int64_t n = rows->count * rows->width;
    const int bytes = bf_dtype_bytes(o->dtype);
    bf_cuda_axis_params *p = &call->params;
    bf_status status = bf_cuda_axis_reach(call, 0, o->a, n, bytes, &p->a);
    if (status == BF_OK && o->b != NULL)
        status = bf_cuda_axis_reach(call, 1, o->b, n, bytes, &p->b);
    if (status == BF_OK)
        status = bf_cuda_axis_reach(call, 2, rows->places, rows->slots + 1,
                                    bf_dtype_bytes(rows->places_dtype), &rows->places);
    return status;
}

/* The offset that is wrong is fetched for the message. */
static bf_status refuse_offset(bf_context *context, const bf_rows *rows, int64_t at) {
    const size_t bytes = (size_t)bf_dtype_bytes(rows->places_dtype);
    int64_t wide = 0;
    int32_t narrow = 0;
    void *to = bytes == 8 ? (void *)&wide : &narrow;
    bf_status status = bf_cuda_check(
        context,
        cudaMemcpy(to, (const char *)rows->places + (size_t)at * bytes, bytes, cudaMemcpyDefault),
        "an offset");
    if (status != BF_OK) return status;
    return bf_axis_wrong_place(context, rows, at, bytes == 8 ? wide : narrow);
}

static bf_status reduce_rows(bf_cuda_axis_call *call, bf_rows *rows) {
    bf_context *context = call->context;
    const bf_results *results = call->results;
    int64_t wrong = -1;
    bf_status status = reach_inputs(call, rows);
    if (status != BF_OK) return status;
    set_layout(&call->params.at, rows);
    call->params.report = results->queued ? results->wrong : NULL;
    status = bf_cuda_axis_enqueue(context, &call->params, results->queued ? NULL : &wrong);
    if (status != BF_OK) return status;
    if (wrong >= 0) return refuse_offset(context, rows, wrong);
    return bf_cuda_axis_conclude(call, rows);
}

bf_status bf_cuda_reduce_segments(bf_context *context, const bf_operands *operands,
                                  const bf_rows *rows, const bf_results *results) {
    bf_cuda_axis_call call;
    bf_rows reached = *rows;
    const int64_t count = rows->slots * rows->width;
    int previous = bf_cuda_enter(context);
    bf_status status = results->queued ? BF_OK : bf_cuda_refuse_captured(context);
    if (status == BF_OK) {
        status = bf_cuda_axis_begin(&call, context, operands, results, count);
        if (status == BF_OK) status = reduce_rows(&call, &reached);
        status = bf_cuda_axis_end(&call, status, count);
    }
    bf_cuda_leave(previous);
    return status;
}
