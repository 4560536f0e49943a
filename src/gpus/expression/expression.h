/* Expressions on several GPUs: the one that holds the data computes. */
#ifndef BF_GPUS_EXPRESSION_EXPRESSION_H
#define BF_GPUS_EXPRESSION_EXPRESSION_H

#include "seam/expression.h"

extern const bf_expression_backend bf_gpus_expression_backend;

#endif
