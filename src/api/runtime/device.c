/* The GPUs of the machine, as the backend of GPUs tells of them; a build without one has none. */
#include <bitfold/device.h>

#include "api/runtime/sized.h"
#include "seam/backend.h"
#include "seam/devices.h"

/* NULL: this build has no backend of GPUs. */
static const bf_devices_backend *devices(void) {
    const bf_backend *gpu = bf_backend_gpu();
    return gpu != NULL ? gpu->devices : NULL;
}

int bf_device_count(void) { return devices() != NULL ? devices()->count() : 0; }

bf_status bf_device_describe(int device, bf_device_info *info) {
    bf_device_info found = {.size = sizeof found};
    if (info == NULL || !bf_sized_fits(info, BF_SIZE_TO(bf_device_info, bandwidth)))
        return BF_E_ARGUMENT;
    bf_status status = devices() != NULL ? devices()->describe(device, &found) : BF_E_DEVICE;
    if (status == BF_OK) BF_WRITE(info, &found, bandwidth);
    return status;
}

int bf_device_peer(int device, int peer) {
    return devices() != NULL ? devices()->peer(device, peer) : 0;
}

int bf_driver_version(void) { return devices() != NULL ? devices()->driver_version() : 0; }

int bf_runtime_version(void) { return devices() != NULL ? devices()->runtime_version() : 0; }

const char *bf_device_reason(void) {
    if (devices() != NULL) return devices()->reason();
    return "this build has no CUDA backend; built with the CUDA toolkit, bitfold has one";
}
