/* The loops of scans for AVX-512. */
#define LANES 8
#define LOOPS bf_scan_loops_avx512
#include "cpu/scan/sum_loops.h"
