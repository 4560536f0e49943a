/* The loops of sorting for AVX2 and BMI2. */
#define LOOPS_OF bf_sort_loops_avx2
#include "cpu/runtime/sort_loops.c"
