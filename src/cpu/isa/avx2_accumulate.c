/* The loops of accumulators for AVX2 and BMI2. */
#define LOOPS bf_accumulate_loops_avx2
#include "cpu/reduce/accumulate.c"
