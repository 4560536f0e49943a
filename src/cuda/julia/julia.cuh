/* Julia and Mandelbrot sets on a GPU. */
#ifndef BF_CUDA_JULIA_JULIA_CUH
#define BF_CUDA_JULIA_JULIA_CUH

#include "cuda/runtime/context.cuh"

extern "C" {
#include "seam/julia.h"
}

extern const bf_julia_backend bf_cuda_julia_backend;

#endif
