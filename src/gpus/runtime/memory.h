/* Memory of the GPUs: allocated on the first, copied by the GPU that it is on. */
#ifndef BF_GPUS_RUNTIME_MEMORY_H
#define BF_GPUS_RUNTIME_MEMORY_H

#include "seam/memory.h"

extern const bf_memory_backend bf_gpus_memory_backend;

#endif
