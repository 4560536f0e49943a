/* The loops of scans for NEON. */
#define LANES 2
#define LOOPS bf_scan_loops_neon
#include "cpu/scan/sum_loops.h"
