/* Scans on the CPU. */
#ifndef BF_CPU_SCAN_SCAN_H
#define BF_CPU_SCAN_SCAN_H

#include "cpu/runtime/context.h"
#include "seam/scan.h"

bf_status bf_cpu_scan(bf_context *context, const bf_scan_job *job);

#endif
