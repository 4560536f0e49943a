/* The backends of this build, and opening a GPU when a context first needs it. */
#include "seam/backend.h"

#include "seam/device.h"

const bf_backend *bf_backend_gpu(void) {
#ifdef BITFOLD_CUDA
    return &bf_backend_cuda;
#else
    return NULL;
#endif
}

const bf_backend *bf_backend_open(const bf_context *context) {
    if (context->gpus != NULL) return &bf_backend_gpus;
    return context->cuda != NULL ? bf_backend_gpu() : NULL;
}

bf_status bf_backend_open_gpu(bf_context *context, int device) {
    const bf_backend *gpu = bf_backend_gpu();
    if (bf_backend_open(context) != NULL) return BF_OK;
    if (gpu == NULL) return bf_fail(context, BF_E_DEVICE, "this build has no CUDA backend");
    if (device == BF_DEVICE_ALL && gpu->devices->count() > 1)
        gpu = &bf_backend_gpus;
    else if (device == BF_DEVICE_ALL)
        device = 0;
    bf_status status = gpu->open(context, device, &BF_OPTIONS(.stream = context->stream));
    context->gpu_failed = status != BF_OK;
    context->gpu = device;
    bf_device_format(device, context->gpu_name);
    return status;
}
