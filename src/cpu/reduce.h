/* The CPU backend's context and its reduction. */
#ifndef BF_CPU_REDUCE_H
#define BF_CPU_REDUCE_H

#include "cpu.h"

typedef struct bf_cpu {
    const bf_isa *isa;
    bf_pool *pool;
} bf_cpu;

bf_status bf_cpu_reduce(bf_context *context, const bf_job *job, int64_t *words);

#endif
