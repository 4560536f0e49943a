/* Reductions of many at once. The GPU whose memory the data are in does a call. Fibres in the
 * host's memory are split among the GPUs; rows by offsets or by index go to the first. */
#ifndef BF_GPUS_AXIS_AXIS_H
#define BF_GPUS_AXIS_AXIS_H

#include "seam/axis.h"

extern const bf_axis_backend bf_gpus_axis_backend;

#endif
