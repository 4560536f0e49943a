/* Reductions along axes. Fibres that kernels do not reach where they are become rows of device
 * memory, some at a time. */
#include "cuda/axis/axis.cuh"
#include "cuda/runtime/memory.cuh"

extern "C" {
#include "rules/number/dtype.h"
}

enum { A, B };
static const int64_t COPIED = (int64_t)1 << 30; /* bytes of fibres that are copied at a time */

static void set_layout(bf_cuda_axis_layout *at, const bf_fibres *fibres) {
    at->results = fibres->count;
    at->length = fibres->length;
    at->kept = fibres->kept;
    at->reduced = fibres->reduced;
    memcpy(at->kept_shape, fibres->kept_shape, sizeof at->kept_shape);
    memcpy(at->reduced_shape, fibres->reduced_shape, sizeof at->reduced_shape);
    memcpy(at->kept_strides, fibres->kept_strides, sizeof at->kept_strides);
    memcpy(at->reduced_strides, fibres->reduced_strides, sizeof at->reduced_strides);
    at->width = 1;
    if (at->reduced > 0) return;
    at->reduced = 1; /* a line of one element */
    at->reduced_shape[0] = at->reduced_strides[A][0] = at->reduced_strides[B][0] = 1;
}

/* `count` fibres, one behind another. */
static void set_rows(bf_cuda_axis_layout *at, int64_t count, int64_t length) {
    at->results = count;
    at->length = length;
    at->kept = at->reduced = 1;
    at->kept_shape[0] = count;
    at->reduced_shape[0] = length;
    at->kept_strides[A][0] = at->kept_strides[B][0] = length;
    at->reduced_strides[A][0] = at->reduced_strides[B][0] = 1;
    at->width = 1;
}

/* All of an operand's elements, in the order of fibres. */
static bf_strided strided_of(const bf_fibres *f, int operand, const void *data, int bytes) {
    bf_strided s = {};
    s.data = (char *)(uintptr_t)data;
    s.bytes = bytes;
    for (int d = 0; d < f->kept; d++, s.ndim++) {
        s.shape[s.ndim] = f->kept_shape[d];
        s.strides[s.ndim] = f->kept_strides[operand][d];
    }
    for (int d = 0; d < f->reduced; d++, s.ndim++) {
        s.shape[s.ndim] = f->reduced_shape[d];
        s.strides[s.ndim] = f->reduced_strides[operand][d];
    }
    if (s.ndim > 0) return s;
    s.ndim = 1;
    s.shape[0] = s.strides[0] = 1;
    return s;
}

static bf_status reduce_in_place(bf_cuda_axis_call *call, const bf_fibres *fibres) {
    bf_cuda_axis_params *p = &call->params;
    p->a = call->operands->a;
    p->b = call->operands->b;
    set_layout(&p->at, fibres);
    bf_status status = bf_cuda_axis_enqueue(call->context, p, NULL);
    return status == BF_OK ? bf_cuda_axis_conclude(call, NULL) : status;
}

/* Fibres [first, first + n), in the copies. */
static bf_status reduce_copied(bf_cuda_axis_call *call, const bf_fibres *fibres, int64_t first,
                               int64_t n) {
    const bf_operands *o = call->operands;
    bf_cuda_axis_params p = call->params;
    const void *data[] = {o->a, o->b};
    for (int i = A; i <= B && data[i] != NULL; i++) {
        const bf_strided from = strided_of(fibres, i, data[i], bf_dtype_bytes(o->dtype));
        bf_status status = bf_cuda_gather(call->context, &from, first * fibres->length,
                                          n * fibres->length, call->copies[i]);
        if (status != BF_OK) return status;
    }
    p.a = call->copies[A];
    p.b = call->copies[B];
    p.values = (char *)p.values + first * p.bytes;
    p.fits = p.fits != NULL ? p.fits + first : NULL;
    set_rows(&p.at, n, fibres->length);
    bf_status status = bf_cuda_axis_enqueue(call->context, &p, NULL);
    call->params.board = p.board;
    return status == BF_OK ? bf_cuda_axis_wait(call, first) : status;
}

static bf_status reduce_copies(bf_cuda_axis_call *call, const bf_fibres *fibres) {
    const int64_t bytes = fibres->length * bf_dtype_bytes(call->operands->dtype);
    int64_t some = bytes < COPIED ? COPIED / bytes : 1;
    if (some > fibres->count) some = fibres->count;
    for (int i = A; i <= (call->operands->b != NULL ? B : A); i++) {
        call->copies[i] = bf_cuda_alloc(call->context, (size_t)(some * bytes));
        if (call->copies[i] == NULL) return BF_E_MEMORY;
    }
    bf_status status = BF_OK;
    for (int64_t first = 0; first < fibres->count && status == BF_OK; first += some) {
        const int64_t left = fibres->count - first;
        status = reduce_copied(call, fibres, first, left < some ? left : some);
    }
    return status;
}

static bf_status reduce_fibres(bf_context *context, const bf_operands *operands,
                               const bf_fibres *fibres, const bf_results *results) {
    bf_cuda_axis_call call;
    const int bytes = bf_dtype_bytes(operands->dtype);
    const bool reached = bf_cuda_in_place(context, operands->a, bytes) &&
                         (operands->b == NULL || bf_cuda_in_place(context, operands->b, bytes));
    if (!reached && results->queued)
        return bf_fail(context, BF_E_ARGUMENT, "the GPU cannot reach the memory where it is");
    bf_status status = bf_cuda_axis_begin(&call, context, operands, results, fibres->count);
    if (status == BF_OK)
        status = reached ? reduce_in_place(&call, fibres) : reduce_copies(&call, fibres);
    return bf_cuda_axis_end(&call, status, fibres->count);
}

bf_status bf_cuda_reduce_fibres(bf_context *context, const bf_operands *operands,
                                const bf_fibres *fibres, const bf_results *results) {
    int previous = bf_cuda_enter(context);
    bf_status status = results->queued ? BF_OK : bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = reduce_fibres(context, operands, fibres, results);
    bf_cuda_leave(previous);
    return status;
}
