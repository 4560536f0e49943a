/* Element-wise operations on several GPUs. */
#ifndef BF_GPUS_MAP_MAP_H
#define BF_GPUS_MAP_MAP_H

#include "seam/map.h"

extern const bf_map_backend bf_gpus_map_backend;

#endif
