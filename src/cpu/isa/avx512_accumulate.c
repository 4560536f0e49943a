/* The loops of accumulators for AVX-512 and BMI2. */
#define LOOPS bf_accumulate_loops_avx512
#include "cpu/reduce/accumulate.c"
