/* Reductions on several GPUs. */
#ifndef BF_GPUS_REDUCE_REDUCE_H
#define BF_GPUS_REDUCE_REDUCE_H

#include "seam/reduce.h"

extern const bf_reduce_backend bf_gpus_reduce_backend;

#endif
