/* What DLPack and Arrow have in common: the numbers of kinds of memory. */
#ifndef BF_API_RUNTIME_EXCHANGE_H
#define BF_API_RUNTIME_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum bf_device_type {
    BF_TYPE_CPU = 1,
    BF_TYPE_CUDA = 2,
    BF_TYPE_CUDA_HOST = 3,
    BF_TYPE_CUDA_MANAGED = 13
} bf_device_type;

/* Is it memory that the CPU or an NVIDIA GPU can use? */
static inline bool bf_type_is_reached(int32_t type) {
    return type == BF_TYPE_CPU || type == BF_TYPE_CUDA || type == BF_TYPE_CUDA_HOST ||
           type == BF_TYPE_CUDA_MANAGED;
}

#endif
