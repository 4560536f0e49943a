/* The loops of groups for AVX-512 and BMI2. */
#define LOOPS_OF bf_group_loops_avx512
#include "cpu/group/loops.c"
