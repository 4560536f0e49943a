/* The loops of tables for AVX2 and BMI2. */
#define LOOPS_OF bf_table_loops_avx2
#include "cpu/table/loops.c"
