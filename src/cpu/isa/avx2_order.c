/* The loops of sorting for AVX2 and BMI2. */
#include "cpu/isa/avx2_words.h"
#define LOOPS bf_order_loops_avx2
#define QUICK
#include "cpu/order/loops.c"
