/* The counts of a picture that is being computed. */
#ifndef BITFOLD_VIEW_PICTURE_H
#define BITFOLD_VIEW_PICTURE_H

#include "cli/julia/options.h"

typedef struct picture {
    bf_julia_params params;
    uint16_t *counts;   /* one for each pixel; NULL: there is no picture yet */
    int64_t first, end; /* rows that have changed since they were last taken */
    bool done;
    double seconds, steps; /* the steps and time of its pixels so far, without coarse grids */
    char device[32];       /* where */
} picture;

#endif
