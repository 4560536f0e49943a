/* The GPUs of a build that can use none; with CUDA, src/cuda/devices.cu has these calls. */
#include "../../include/bitfold/device.h"

#ifndef BITFOLD_CUDA

int bf_device_count(void) { return 0; }

bf_status bf_device_describe(int device, bf_device_info *info) {
    (void)device;
    if (info == NULL || info->size != sizeof *info) return BF_E_ARGUMENT;
    return BF_E_DEVICE;
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
