/* The loops for windows, for AVX2. */
#define LOOPS bf_rolling_loops_avx2
#include "cpu/scan/rolling_loops.h"
