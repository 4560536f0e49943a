/* Calls: their memory, where kernels reach it, and their failures. */
#include "cuda/axis/axis.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/pipeline.cuh"

extern "C" {
#include "base/where.h"
#include "rules/number/dtype.h"
}

enum { OUT = 3, FITS = 4 }; /* copies */

static bf_status refuse_place(bf_context *context) {
    return bf_fail(context, BF_E_ARGUMENT, "the GPU cannot reach the memory where it is");
}

static bf_status check(const bf_cuda_axis_call *call, cudaError_t error) {
    return bf_cuda_check(call->context, error, "reductions of many at once");
}

bf_status bf_cuda_axis_reach(bf_cuda_axis_call *call, int i, const void *from, int64_t n, int bytes,
                             const void **at) {
    bf_context *context = call->context;
    const size_t all = (size_t)n * (size_t)bytes;
    *at = from;
    if (n == 0 || bf_cuda_in_place(context, from, bytes)) return BF_OK;
    if (call->results->queued) return refuse_place(context);
    *at = call->copies[i] = bf_cuda_alloc(context, all);
    if (*at == NULL) return BF_E_MEMORY;
    if (bf_where_is(from, NULL) == BF_WHERE_HOST)
        return bf_cuda_copy(context, call->copies[i], from, all);
    return check(call, cudaMemcpyAsync(call->copies[i], from, all, cudaMemcpyDefault,
                                       context->cuda->stream));
}

/* Sets *at to memory for n bytes of results: `to`, if kernels reach it. */
static bf_status reach_results(bf_cuda_axis_call *call, int i, void *to, int64_t n, void **at) {
    *at = to;
    if (to == NULL || bf_cuda_in_place(call->context, to, 1)) return BF_OK;
    if (call->results->queued) return refuse_place(call->context);
    *at = call->copies[i] = bf_cuda_alloc(call->context, (size_t)n);
    return *at != NULL ? BF_OK : BF_E_MEMORY;
}

static void set_empty(bf_cuda_axis_params *p, const bf_results *results) {
    const bf_value *empty = results->options->empty;
    p->has_empty = empty != NULL || bf_results_go_on(results);
    if (empty != NULL)
        memcpy(&p->empty, &empty->as, (size_t)p->bytes); /* low bytes come first */
    else if (bf_dtype_is_float(p->to))
        p->empty = bf_format_nan(bf_format_of(p->to));
}

bf_status bf_cuda_axis_begin(bf_cuda_axis_call *call, bf_context *context,
                             const bf_operands *operands, const bf_results *results,
                             int64_t count) {
    const bf_reduce_options *options = results->options;
    bf_cuda_axis_params *p = &call->params;
    *call = {};
    call->context = context;
    call->operands = operands;
    call->results = results;
    p->op = operands->op;
    p->kind = operands->kind;
    p->dtype = operands->dtype;
    p->element = bf_dtype_bytes(p->dtype);
    p->to = results->to;
    p->bytes = bf_dtype_bytes(p->to);
    p->nan = options->nan;
    p->ddof = options->ddof;
    p->overflow = options->overflow;
    p->weights = options->weights;
    p->out_dtype = options->out_dtype;
    p->wraps = options->overflow == BF_OVERFLOW_WRAP || bf_results_go_on(results);
    p->unread = bf_results_go_on(results);
    set_empty(p, results);
    void *fits = NULL;
    bf_status status = reach_results(call, OUT, results->values, count * p->bytes, &p->values);
    if (status == BF_OK) status = reach_results(call, FITS, results->fits, count, &fits);
    p->fits = (uint8_t *)fits;
    p->aligned = (uintptr_t)p->values % (unsigned)p->bytes == 0;
    return status;
}

bf_status bf_cuda_axis_wait(bf_cuda_axis_call *call, int64_t first) {
    uint64_t failure;
    bf_status status = bf_cuda_fetch_words(call->context, cudaSuccess, &call->params.board->failure,
                                           1, &failure, "reductions of many at once");
    if (status != BF_OK || failure == ~(uint64_t)0) return status;
    return bf_axis_refuse(call->context, bf_cuda_axis_why(failure), call->operands->op,
                          call->results->to, call->results->first + first + (int64_t)(failure / 4));
}

bf_status bf_cuda_axis_conclude(bf_cuda_axis_call *call, const bf_rows *rows) {
    const bf_results *results = call->results;
    const bf_cuda_axis_board *board = call->params.board;
    if (!results->queued) return bf_cuda_axis_wait(call, 0);
    if (!results->later) return BF_OK;
    return bf_cuda_axis_report(call->context, call->operands, rows, results,
                               rows != NULL ? &board->wrong : NULL, &board->failure);
}

bf_status bf_cuda_axis_end(bf_cuda_axis_call *call, bf_status status, int64_t count) {
    bf_context *context = call->context;
    const bf_results *results = call->results;
    const int64_t bytes = count * call->params.bytes;
    if (status == BF_OK && call->copies[OUT] != NULL)
        status = bf_cuda_copy(context, results->values, call->copies[OUT], (size_t)bytes);
    if (status == BF_OK && call->copies[FITS] != NULL)
        status = bf_cuda_copy(context, results->fits, call->copies[FITS], (size_t)count);
    if (!results->queued) {
        const cudaError_t error = cudaStreamSynchronize(context->cuda->stream);
        if (status == BF_OK) status = check(call, error);
    }
    for (void *copy : call->copies) bf_cuda_free(context, copy);
    return status;
}
