/* Pictures on several GPUs. */
#ifndef BF_GPUS_JULIA_JULIA_H
#define BF_GPUS_JULIA_JULIA_H

#include "seam/julia.h"

extern const bf_julia_backend bf_gpus_julia_backend;

#endif
