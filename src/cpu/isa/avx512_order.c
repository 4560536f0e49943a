/* The loops of sorting for AVX-512 and BMI2. */
#include "cpu/isa/avx512_words.h"
#define LOOPS bf_order_loops_avx512
#define QUICK
#include "cpu/order/loops.c"
