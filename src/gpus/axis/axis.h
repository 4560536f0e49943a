/* Reductions of many at once: the GPU whose memory the data are in, or else the first, does each
 * call. States live on the first. */
#ifndef BF_GPUS_AXIS_AXIS_H
#define BF_GPUS_AXIS_AXIS_H

#include "seam/axis.h"

extern const bf_axis_backend bf_gpus_axis_backend;

#endif
