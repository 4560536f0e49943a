/* Histograms on several GPUs. */
#ifndef BF_GPUS_HISTOGRAM_HISTOGRAM_H
#define BF_GPUS_HISTOGRAM_HISTOGRAM_H

#include "seam/histogram.h"

extern const bf_histogram_backend bf_gpus_histogram_backend;

#endif
