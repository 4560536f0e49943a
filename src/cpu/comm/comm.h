/* Sums of arrays on the CPU. */
#ifndef BF_CPU_COMM_COMM_H
#define BF_CPU_COMM_COMM_H

#include "cpu/runtime/context.h"
#include "seam/comm.h"

enum { BF_COMM_BLOCK = 256 /* elements at a time: the sums stay in the nearest cache */ };

/* A block of sums of doubles, as in rules/reduce/terms.h. lost: not 0 where one is not exact. */
typedef struct bf_comm_block {
    _Alignas(64) double s[BF_COMM_BLOCK];
    double e[BF_COMM_BLOCK], g[BF_COMM_BLOCK];
    int64_t lost[BF_COMM_BLOCK];
} bf_comm_block;

/* Loops over the first n sums. NULL: the rules are applied element by element instead. add_pair:
 * adds x to s where there are two terms; s is to be rounded, and there is no more to do. add: adds
 * x. finish: s becomes what is to be rounded to the dtype, and lost not 0 where that is not valid;
 * it returns whether that is so anywhere. */
typedef struct bf_comm_loops {
    void (*add_pair)(bf_comm_block *b, const double *x, int n);
    void (*add)(bf_comm_block *b, const double *x, int n);
    bool (*finish)(bf_comm_block *b, int n);
    void (*add_f64)(bf_comm_block *b, const double *x, int n);
    bool (*finish_f64)(bf_comm_block *b, int n);
} bf_comm_loops;

bf_status bf_cpu_comm_add(bf_context *context, const bf_comm_job *job);

#endif
