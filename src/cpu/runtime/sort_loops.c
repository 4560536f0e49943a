/* The loops of sorting, for every width of keys and of values. Compiled for the baseline, and by
 * isa/avx2_sort.c for AVX2. */
#include "cpu/runtime/sort.h"
#include "rules/key/rank.h"

#ifndef LOOPS_OF
#define LOOPS_OF bf_sort_loops_generic
#endif

#define TEMPLATE "cpu/runtime/sort_loops.h"
#define LOOPS bf_sort_loops
#include "cpu/runtime/each_width.h"
