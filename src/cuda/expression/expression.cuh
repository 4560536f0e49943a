/* Expressions on a GPU. */
#ifndef BF_CUDA_EXPRESSION_EXPRESSION_CUH
#define BF_CUDA_EXPRESSION_EXPRESSION_CUH

extern "C" {
#include "seam/expression.h"
}

extern const bf_expression_backend bf_cuda_expression_backend;

#endif
