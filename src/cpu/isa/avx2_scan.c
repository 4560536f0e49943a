/* The loops of scans for AVX2. */
#define LANES 4
#define LOOPS bf_scan_loops_avx2
#include "cpu/scan/sum_loops.h"
