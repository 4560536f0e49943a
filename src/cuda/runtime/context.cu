/* Functions that all calls share: errors, the device and stream of a call, and where memory is. */
#include "cuda/runtime/context.cuh"

#include "cuda/runtime/workspace.cuh"

extern "C" {
#include "base/where.h"
}

/* --- errors --- */

bf_status bf_cuda_fail(bf_context *context, cudaError_t error, const char *what) {
    cudaGetLastError(); /* errors of a launch or an allocation do not last */
    bf_status status = error == cudaErrorMemoryAllocation ? BF_E_MEMORY : BF_E_DEVICE;
    return bf_fail(context, status, "%s: %s", what, cudaGetErrorString(error));
}

bf_status bf_cuda_check(bf_context *context, cudaError_t error, const char *what) {
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, what);
}

bf_status bf_cuda_wait(bf_context *context, cudaError_t error, const char *what) {
    if (error == cudaSuccess) error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaStreamSynchronize(context->cuda->stream);
    return bf_cuda_check(context, error, what);
}

/* --- calls --- */

int bf_cuda_use_device(const bf_cuda *cuda) {
    int previous = 0;
    cudaGetDevice(&previous);
    if (previous == cuda->device) return -1;
    cudaSetDevice(cuda->device);
    return previous;
}

int bf_cuda_enter(const bf_context *context) {
    bf_cuda *cuda = context->cuda;
    int previous = bf_cuda_use_device(cuda);
    cuda->calls++;
    bf_cuda_order_follow(cuda); /* a stream that it cannot join fails at the launch, too */
    if (cuda->capture == 0) cuda->order->busy = true;
    return previous;
}

void bf_cuda_leave(int previous) {
    if (previous >= 0) cudaSetDevice(previous);
}

bf_status bf_cuda_refuse_captured(bf_context *context) {
    if (context->cuda->capture == 0) return BF_OK;
    return bf_fail(context, BF_E_ARGUMENT,
                   "the stream is being captured, which only calls that end in _async can be");
}

bf_cuda_visit bf_cuda_enter_idle(const bf_context *context) {
    bf_cuda *cuda = context->cuda;
    bf_cuda_visit visit = {bf_cuda_use_device(cuda), cuda->stream};
    cuda->stream = cuda->own;
    return visit;
}

void bf_cuda_leave_idle(const bf_context *context, bf_cuda_visit visit) {
    context->cuda->stream = visit.stream;
    bf_cuda_leave(visit.previous);
}

/* --- memory --- */

bool bf_cuda_in_place(const bf_context *context, const void *p, int align) {
    int device = context->cuda->device;
    bf_where where = bf_where_is(p, &device);
    bool elsewhere = where == BF_WHERE_DEVICE && device != context->cuda->device;
    return (uintptr_t)p % (unsigned)align == 0 && where != BF_WHERE_HOST && !elsewhere;
}

bool bf_cuda_best_in_place(const bf_context *context, const void *p, int align, int64_t bytes) {
    const int64_t much = (int64_t)64 << 20;
    if (!bf_cuda_in_place(context, p, align)) return false;
    return bytes < much || bf_where_is(p, NULL) != BF_WHERE_PINNED;
}
