/* The GPUs of this machine, as the CUDA runtime tells of them. */
#ifndef BF_CUDA_RUNTIME_DEVICES_CUH
#define BF_CUDA_RUNTIME_DEVICES_CUH

extern "C" {
#include "seam/devices.h"
}

extern const bf_devices_backend bf_cuda_devices_backend;

#endif
