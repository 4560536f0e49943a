/* The CUDA backend's table, and its functions for contexts and streams. */
#include "cuda/axis/axis.cuh"
#include "cuda/comm/link.cuh"
#include "cuda/expression/expression.cuh"
#include "cuda/group/group.cuh"
#include "cuda/histogram/histogram.cuh"
#include "cuda/julia/julia.cuh"
#include "cuda/map/map.cuh"
#include "cuda/order/order.cuh"
#include "cuda/reduce/reduce.cuh"
#include "cuda/runtime/devices.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/pipeline.cuh"
#include "cuda/runtime/workspace.cuh"
#include "cuda/scan/scan.cuh"
#include "cuda/table/table.cuh"

#include <stdlib.h>

/* --- streams --- */

/* Sets the stream in use. It waits for the old one, unless either is being captured: a graph waits
 * only as its owner says. Its handle may be that of a stream that is gone. */
static bf_status set_stream(bf_context *context, void *stream) {
    bf_cuda *cuda = context->cuda;
    cudaStream_t before = cuda->stream, next = stream != NULL ? (cudaStream_t)stream : cuda->own;
    int previous = bf_cuda_use_device(cuda);
    if (next != before) bf_cuda_order_leave(cuda);
    cuda->calls++;
    cuda->stream = next;
    cuda->stream_id = 0;
    cudaError_t error = bf_cuda_order_follow(cuda);
    bf_cuda_workspaces_sweep(cuda);
    bf_status status = error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "set_stream");
    if (error != cudaSuccess) {
        cuda->stream = before;
        cuda->stream_id = 0;
    }
    bf_cuda_leave(previous);
    return status;
}

/* The order stays with the stream that it leaves, until a call joins it to another. */
static void leave_stream(bf_context *context) {
    bf_cuda *cuda = context->cuda;
    int previous = bf_cuda_use_device(cuda);
    bf_cuda_order_leave(cuda);
    cuda->calls++;
    cuda->stream = cuda->own;
    cuda->stream_id = 0;
    bf_cuda_leave(previous);
}

/* What enqueued calls have left. */
static bf_status find_failure(bf_context *context) {
    bf_status status = bf_cuda_map_failure(context);
    if (status == BF_OK) status = bf_cuda_late_failure(context);
    return status == BF_OK ? bf_cuda_link_failure(context) : status;
}

static bf_status wait_for_order(bf_context *context) {
    cudaError_t error = cudaStreamSynchronize(context->cuda->stream);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "synchronize");
    context->cuda->order->busy = false;
    bf_cuda_workspaces_sweep(context->cuda);
    return find_failure(context);
}

static bf_status synchronize_stream(bf_context *context) {
    int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = wait_for_order(context);
    bf_cuda_leave(previous);
    return status;
}

/* --- opening and closing --- */

static void close_cuda(bf_context *context) {
    bf_cuda *cuda = context->cuda;
    if (cuda == NULL) return;
    int previous = bf_cuda_use_device(cuda);
    bf_cuda_workspaces_close(cuda); /* waits for all that the GPU does; the stream may be gone */
    bf_cuda_pipeline_close(cuda);
    bf_cuda_mailbox_close(cuda);
    bf_cuda_launch_close(cuda);
    bf_cuda_memory_close(cuda);
    if (cuda->own != NULL) cudaStreamDestroy(cuda->own);
    cudaGetLastError();
    bf_cuda_leave(previous);
    free(cuda);
    context->cuda = NULL;
}

static cudaError_t query_device(bf_cuda *cuda) {
    cudaError_t error = cudaDeviceGetAttribute(&cuda->multiprocessors,
                                               cudaDevAttrMultiProcessorCount, cuda->device);
    if (error == cudaSuccess)
        error =
            cudaDeviceGetAttribute(&cuda->major, cudaDevAttrComputeCapabilityMajor, cuda->device);
    if (error == cudaSuccess)
        error =
            cudaDeviceGetAttribute(&cuda->minor, cudaDevAttrComputeCapabilityMinor, cuda->device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&cuda->shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                       cuda->device);
    return error;
}

/* Opens what a context has on its device. By default streams are ordered with the legacy default
 * stream, both ways; so is the context's own. */
static cudaError_t set_up_device(bf_cuda *cuda, void *stream) {
    cudaError_t error = query_device(cuda);
    if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&cuda->own, cudaStreamDefault);
    cuda->stream = stream != NULL ? (cudaStream_t)stream : cuda->own;
    if (error == cudaSuccess) error = bf_cuda_launch_open(cuda);
    if (error == cudaSuccess) error = bf_cuda_mailbox_open(cuda);
    if (error == cudaSuccess) error = bf_cuda_workspaces_open(cuda);
    return error;
}

static bf_status open_cuda(bf_context *context, int device, const bf_options *options) {
    char name[BF_DEVICE_TEXT];
    int count = 0, previous = 0;
    bf_device_format(device, name);
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "no GPU can be used");
    if (device >= count)
        return bf_fail(context, BF_E_DEVICE, "there is no %s: GPUs that can be used: %d", name,
                       count);
    bf_cuda *cuda = (bf_cuda *)calloc(1, sizeof *cuda);
    if (cuda == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a context");
    cuda->device = device;
    context->cuda = cuda;
    cudaGetDevice(&previous);
    error = cudaSetDevice(device);
    cudaStreamCaptureMode mode = bf_cuda_relax(); /* the first call may be captured */
    if (error == cudaSuccess) error = set_up_device(cuda, options->stream);
    bf_cuda_restore(mode);
    bf_cuda_leave(previous);
    if (error == cudaSuccess) return BF_OK;
    bf_status status = bf_cuda_fail(context, error, name);
    close_cuda(context);
    return status;
}

extern "C" const bf_backend bf_backend_cuda = {
    .name = "cuda",
    .open = open_cuda,
    .close = close_cuda,
    .set_stream = set_stream,
    .leave_stream = leave_stream,
    .synchronize = synchronize_stream,
    .failure = find_failure,
    .devices = &bf_cuda_devices,
    .memory = &bf_cuda_memory_backend,
    .reduce = &bf_cuda_reduce_backend,
    .map = &bf_cuda_map_backend,
    .histogram = &bf_cuda_histogram_backend,
    .table = &bf_cuda_table_backend,
    .group = &bf_cuda_group_backend,
    .axis = &bf_cuda_axis_backend,
    .order = &bf_cuda_order_backend,
    .scan = &bf_cuda_scan_backend,
    .julia = &bf_cuda_julia_backend,
    .expression = &bf_cuda_expression_backend,
    .comm = &bf_cuda_comm_backend,
};
