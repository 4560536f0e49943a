/* The loops of sorting for AVX2 and BMI2. */
#define LOOPS bf_order_loops_avx2
#include "cpu/order/loops.c"
