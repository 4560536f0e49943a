/* The loops of sorting, for every width. Compiled for the baseline, and by isa/avx2_order.c and
 * isa/avx512_order.c for their instruction sets. */
#include "cpu/order/sorting.h"
#include "cpu/runtime/vector.h"

#ifndef LOOPS
#define LOOPS bf_order_loops_generic
#endif

enum {
    BLOCK = 256,          /* elements that are looked at before they are worked on */
    RADIX_BITS = 11,      /* the size of a digit */
    RADIX_INSERTED = 24,  /* words that are sorted by insertion */
    RADIX_FEW = 1024,     /* words below which digits have 8 bits */
    RADIX_SMALL = 1 << 17 /* words that fit a cache, and digits in their registers */
};

#define BYTES 1
#define T u8_element
#define S int8_t
#define WORD u32_element
#include "cpu/order/element_loops.h"

#define BYTES 2
#define T u16_element
#define S int16_t
#define WORD u32_element
#include "cpu/order/element_loops.h"

#define BYTES 4
#define T u32_element
#define S int32_t
#define WORD u32_element
#include "cpu/order/element_loops.h"

#define BYTES 8
#define T u64_element
#define S int64_t
#define WORD u64_element
#include "cpu/order/element_loops.h"

#define BYTES 16
#define T u64_element
#define S int64_t
#include "cpu/order/element_loops.h"

#define BYTES 4
#define W u32_element
#include "cpu/order/word_loops.h"

#define BYTES 8
#define W u64_element
#include "cpu/order/word_loops.h"

#ifdef QUICK
#include "cpu/order/networks.h"

#define NOINLINE __attribute__((noinline))
#if defined(__clang__) || defined(BITFOLD_OUTLINED)
#define UNROLLED UNROLL
#else
#define UNROLLED _Pragma("GCC unroll 32")
#endif

#define BYTES 4
#define W u32_element
#include "cpu/order/leaf_loops.h"
#include "cpu/order/quick_loops.h"

#define BYTES 8
#define W u64_element
#include "cpu/order/leaf_loops.h"
#include "cpu/order/quick_loops.h"
#endif

#define ELEMENT_LOOPS(bytes)                                                                       \
    .split = split_##bytes, .join = join_##bytes, .keys = keys_##bytes, .range = range_##bytes,    \
    .pack = pack_##bytes, .unpack = unpack_##bytes, .ordered = ordered_##bytes,                    \
    .search = search_##bytes
#ifdef QUICK
#define LINE_LOOPS(bytes) .lines = leaf_lines_##bytes, .few = 16 * LANES_##bytes
#define WORD_LOOPS(bytes)                                                                          \
    {                                                                                              \
        quick_sort_##bytes, quick_CACHED_##bytes, quick_pivot_##bytes,                             \
            quick_partition_any_##bytes, word_count_steps_##bytes, quick_steps_##bytes             \
    }
#else
#define LINE_LOOPS(bytes) .lines = NULL
#define WORD_LOOPS(bytes)                                                                          \
    {                                                                                              \
        word_sort_##bytes, INT64_MAX, word_pivot_##bytes, word_partition_##bytes,                  \
            word_count_steps_##bytes, word_steps_##bytes                                           \
    }
#endif

const bf_order_loops LOOPS = {
    .element = {{ELEMENT_LOOPS(1)},
                {ELEMENT_LOOPS(2)},
                {ELEMENT_LOOPS(4), LINE_LOOPS(4)},
                {ELEMENT_LOOPS(8), LINE_LOOPS(8)},
                {.range = range_16, .pack = pack_16, .ordered = ordered_16, .search = search_16}},
    .word = {WORD_LOOPS(4), WORD_LOOPS(8)},
};
