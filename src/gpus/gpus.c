/* The table of the backend of several GPUs. */
#include "gpus/axis/axis.h"
#include "gpus/expression/expression.h"
#include "gpus/group/group.h"
#include "gpus/histogram/histogram.h"
#include "gpus/julia/julia.h"
#include "gpus/map/map.h"
#include "gpus/order/order.h"
#include "gpus/reduce/reduce.h"
#include "gpus/runtime/context.h"
#include "gpus/runtime/memory.h"
#include "gpus/scan/scan.h"
#include "gpus/table/table.h"
#include "seam/device.h"

const bf_backend *bf_backend_gpu(void) {
#ifdef BITFOLD_CUDA
    return &bf_backend_cuda;
#else
    return NULL;
#endif
}

/* Opens all GPUs; there are several. */
static bf_status open_gpus(bf_context *context, int device, const bf_options *options) {
    (void)device, (void)options;
    const bf_backend *gpu = bf_backend_gpu();
    return bf_gpus_open(context, gpu, gpu->devices->count());
}

static bf_status refuse_stream(bf_context *context, void *stream) {
    if (stream == NULL) return BF_OK;
    return bf_fail(context, BF_E_DEVICE,
                   "a stream belongs to one GPU, and this context has %d: use cuda:N",
                   context->gpus->count);
}

static void leave_no_stream(bf_context *context) { (void)context; }

const bf_backend bf_backend_gpus = {
    .name = "cuda:all",
    .open = open_gpus,
    .close = bf_gpus_close,
    .set_stream = refuse_stream,
    .leave_stream = leave_no_stream,
    .synchronize = bf_gpus_synchronize,
    .failure = bf_gpus_failure,
    .memory = &bf_gpus_memory_backend,
    .reduce = &bf_gpus_reduce_backend,
    .map = &bf_gpus_map_backend,
    .histogram = &bf_gpus_histogram_backend,
    .table = &bf_gpus_table_backend,
    .group = &bf_gpus_group_backend,
    .axis = &bf_gpus_axis_backend,
    .order = &bf_gpus_order_backend,
    .scan = &bf_gpus_scan_backend,
    .julia = &bf_gpus_julia_backend,
    .expression = &bf_gpus_expression_backend,
};
