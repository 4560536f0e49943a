/* The loops of tables, for every width of keys and of values. Compiled for the baseline, and by
 * isa/avx2_tables.c for AVX2. */
#include "cpu/runtime/match.h"
#include "cpu/table/table.h"

#ifndef LOOPS_OF
#define LOOPS_OF bf_table_loops_generic
#endif

#define TEMPLATE "cpu/table/loops.h"
#define LOOPS bf_table_loops
#include "cpu/runtime/each_width.h"
