/* The loops of sorting, for every width of keys and of values. Compiled for the baseline, and by
 * isa/avx2_sort.c for AVX2. */
#include "cpu/runtime/sort.h"
#include "rules/key/rank.h"

#ifndef BF_LOOPS_OF
#define BF_LOOPS_OF bf_sort_loops_generic
#endif

#define KEY 4
#define VALUE 0
#include "cpu/runtime/sort_loops.h"
#define VALUE 4
#include "cpu/runtime/sort_loops.h"
#define VALUE 8
#include "cpu/runtime/sort_loops.h"
#define VALUE 16
#include "cpu/runtime/sort_loops.h"
#undef KEY

#define KEY 8
#define VALUE 0
#include "cpu/runtime/sort_loops.h"
#define VALUE 4
#include "cpu/runtime/sort_loops.h"
#define VALUE 8
#include "cpu/runtime/sort_loops.h"
#define VALUE 16
#include "cpu/runtime/sort_loops.h"
#undef KEY

#define KEY 16
#define VALUE 0
#include "cpu/runtime/sort_loops.h"
#define VALUE 4
#include "cpu/runtime/sort_loops.h"
#define VALUE 8
#include "cpu/runtime/sort_loops.h"
#define VALUE 16
#include "cpu/runtime/sort_loops.h"
#undef KEY

const bf_sort_loops *BF_LOOPS_OF(int key_bytes, int value_bytes) {
    static const bf_sort_loops *const all[3][4] = {
        {&loops_4_0, &loops_4_4, &loops_4_8, &loops_4_16},
        {&loops_8_0, &loops_8_4, &loops_8_8, &loops_8_16},
        {&loops_16_0, &loops_16_4, &loops_16_8, &loops_16_16}};
    int key = key_bytes == 16 ? 2 : key_bytes / 8;
    return all[key][value_bytes == 16 ? 3 : value_bytes / 4];
}
