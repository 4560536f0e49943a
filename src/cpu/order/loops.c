/* The loops of sorting, for every width. Compiled for the baseline, and by isa/avx2_order.c and
 * isa/avx512_order.c for their instruction sets. */
#include "cpu/order/sorting.h"
#include "cpu/runtime/vector.h"

#ifndef LOOPS
#define LOOPS bf_order_loops_generic
#endif

enum {
    BLOCK = 256,          /* elements that are looked at before they are worked on */
    RADIX_BITS = 11,      /* of a digit */
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

#define ELEMENT_LOOPS(bytes)                                                                       \
    {                                                                                              \
        split_##bytes, join_##bytes, keys_##bytes, range_##bytes, pack_##bytes, unpack_##bytes,    \
            ordered_##bytes, search_##bytes                                                        \
    }
#define WORD_LOOPS(bytes)                                                                          \
    { word_sort_##bytes, word_count_##bytes, word_divide_##bytes, word_different_##bytes }

const bf_order_loops LOOPS = {
    .element = {ELEMENT_LOOPS(1),
                ELEMENT_LOOPS(2),
                ELEMENT_LOOPS(4),
                ELEMENT_LOOPS(8),
                {.range = range_16, .pack = pack_16}},
    .word = {WORD_LOOPS(4), WORD_LOOPS(8)},
};
