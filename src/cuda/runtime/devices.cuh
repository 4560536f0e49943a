/* The GPUs of this machine. */
#ifndef BF_CUDA_RUNTIME_DEVICES_CUH
#define BF_CUDA_RUNTIME_DEVICES_CUH

extern "C" {
#include "seam/device.h"
extern const bf_device_backend bf_cuda_devices;
}

#endif
