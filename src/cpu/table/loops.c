/* The loops of tables, for every width of keys and of values. Compiled for the baseline, and by
 * isa/avx2_tables.c for AVX2. */
#include "cpu/runtime/match.h"
#include "cpu/table/table.h"

#ifndef BF_LOOPS_OF
#define BF_LOOPS_OF bf_table_loops_generic
#endif

#define KEY 4
#define VALUE 0
#include "cpu/table/loops.h"
#define VALUE 4
#include "cpu/table/loops.h"
#define VALUE 8
#include "cpu/table/loops.h"
#define VALUE 16
#include "cpu/table/loops.h"
#undef KEY

#define KEY 8
#define VALUE 0
#include "cpu/table/loops.h"
#define VALUE 4
#include "cpu/table/loops.h"
#define VALUE 8
#include "cpu/table/loops.h"
#define VALUE 16
#include "cpu/table/loops.h"
#undef KEY

#define KEY 16
#define VALUE 0
#include "cpu/table/loops.h"
#define VALUE 4
#include "cpu/table/loops.h"
#define VALUE 8
#include "cpu/table/loops.h"
#define VALUE 16
#include "cpu/table/loops.h"
#undef KEY

const bf_table_loops *BF_LOOPS_OF(int key_bytes, int value_bytes) {
    static const bf_table_loops *const all[3][4] = {
        {&loops_4_0, &loops_4_4, &loops_4_8, &loops_4_16},
        {&loops_8_0, &loops_8_4, &loops_8_8, &loops_8_16},
        {&loops_16_0, &loops_16_4, &loops_16_8, &loops_16_16}};
    int key = key_bytes == 16 ? 2 : key_bytes / 8;
    return all[key][value_bytes == 16 ? 3 : value_bytes / 4];
}
