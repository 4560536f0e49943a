/* Reductions on the CPU. */
#ifndef BF_CPU_REDUCE_H
#define BF_CPU_REDUCE_H

#include "cpu.h"

bf_status bf_cpu_reduce(bf_context *context, const bf_job *job, int64_t *words);

#endif
