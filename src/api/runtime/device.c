/* Questions to the backend of GPUs. */
#include "seam/device.h"

#include "api/runtime/sized.h"
#include "seam/backend.h"

/* Returns NULL if this build has no backend of GPUs. */
static const bf_device_backend *gpu_backend(void) {
    const bf_backend *gpu = bf_backend_gpu();
    return gpu == NULL ? NULL : gpu->devices;
}

int bf_device_count(void) { return gpu_backend() == NULL ? 0 : gpu_backend()->count(); }

bf_status bf_device_describe(int device, bf_device_info *info) {
    bf_device_info found;
    if (info == NULL || !bf_sized_fits(info, BF_SIZE_TO(bf_device_info, bandwidth)))
        return BF_E_ARGUMENT;
    if (gpu_backend() == NULL || !gpu_backend()->describe(device, &found)) return BF_E_DEVICE;
    BF_WRITE(info, &found, bandwidth);
    return BF_OK;
}

int bf_device_peer(int device, int peer) {
    return gpu_backend() == NULL ? 0 : gpu_backend()->peer(device, peer);
}

int bf_driver_version(void) { return gpu_backend() == NULL ? 0 : gpu_backend()->driver_version(); }

int bf_runtime_version(void) {
    return gpu_backend() == NULL ? 0 : gpu_backend()->runtime_version();
}

const char *bf_device_reason(void) {
    return gpu_backend() == NULL
               ? "this build has no CUDA backend; built with the CUDA toolkit, bitfold has one"
               : gpu_backend()->reason();
}
