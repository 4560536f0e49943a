/* The loops of groups for AVX2 and BMI2. */
#define LOOPS_OF bf_group_loops_avx2
#include "cpu/group/loops.c"
