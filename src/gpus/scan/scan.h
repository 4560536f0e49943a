/* Scans on several GPUs: the one that holds the data does a call. */
#ifndef BF_GPUS_SCAN_SCAN_H
#define BF_GPUS_SCAN_SCAN_H

#include "seam/scan.h"

extern const bf_scan_backend bf_gpus_scan_backend;

#endif
