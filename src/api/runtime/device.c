/* The GPUs of a build that can use none; with CUDA, src/cuda/runtime/devices.cu has these calls. */
#include <bitfold/device.h>

#include "api/runtime/sized.h"

#ifndef BITFOLD_CUDA

int bf_device_count(void) { return 0; }

bf_status bf_device_describe(int device, bf_device_info *info) {
    (void)device;
    bool fits = info != NULL && bf_sized_fits(info, BF_SIZE_TO(bf_device_info, bandwidth));
    return fits ? BF_E_DEVICE : BF_E_ARGUMENT;
}

int bf_device_peer(int device, int peer) {
    (void)device, (void)peer;
    return 0;
}

int bf_driver_version(void) { return 0; }
int bf_runtime_version(void) { return 0; }

const char *bf_device_reason(void) {
    return "this build has no CUDA backend; built with the CUDA toolkit, bitfold has one";
}

#endif
