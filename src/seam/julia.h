/* Julia and Mandelbrot sets: count the steps of each pixel of a rectangle. */
#ifndef BF_SEAM_JULIA_H
#define BF_SEAM_JULIA_H

#include "rules/julia/mirror.h"
#include <bitfold/context.h>

/* A rectangle of a picture: its pixel (i, j) goes to counts[j * stride + i]. */
typedef struct bf_julia_job {
    bf_julia_view view;
    bf_rectangle at;
    uint16_t *counts; /* aligned */
    int64_t stride;
} bf_julia_job;

typedef struct bf_julia_backend {
    /* Counts the job's pixels. Errors: BF_E_MEMORY, BF_E_DEVICE. */
    bf_status (*count)(bf_context *context, const bf_julia_job *job);
    /* Enqueues the count. NULL: there is no queue. */
    bf_status (*enqueue)(bf_context *context, const bf_julia_job *job);
} bf_julia_backend;

#endif
