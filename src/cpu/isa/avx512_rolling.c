/* The loops for windows, for AVX-512. */
#define LOOPS bf_rolling_loops_avx512
#include "cpu/scan/rolling_loops.h"
