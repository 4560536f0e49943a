/* The loops of reductions over every integer type, and the table of all, for the instruction set
 * that includes this after sum_loops.h, product_loops.h and, for f32 and f64, extreme_loops.h. */
#include "cpu/reduce/reduce.h"
#include "cpu/runtime/vector.h"

enum {
    INTEGER_BYTES = 256, /* of lanes: four AVX-512 registers */
    INTEGER_ROWS = 128   /* additions before lanes are added up in 64 bits */
};

#define NAME i8
#define T i8_element
#define BITS 8
#define LANE int16_t
#define WIDE int64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME i16
#define T i16_element
#define BITS 16
#define LANE int32_t
#define WIDE int64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME i32
#define T i32_element
#define BITS 32
#define LANE int64_t
#define WIDE int64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME i64
#define T i64_element
#define BITS 64
#define WIDE int64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME u8
#define T u8_element
#define BITS 8
#define LANE uint16_t
#define WIDE uint64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME u16
#define T u16_element
#define BITS 16
#define LANE uint32_t
#define WIDE uint64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME u32
#define T u32_element
#define BITS 32
#define LANE uint64_t
#define WIDE uint64_t
#define KEY(x) (x)
#include "cpu/reduce/integer_loops.h"

#define NAME u64
#define T u64_element
#define BITS 64
#define WIDE uint64_t
#define KEY(x) (int64_t)((x) ^ (uint64_t)1 << 63)
#include "cpu/reduce/integer_loops.h"

static const bf_reduce_loops reduce_loops = {
    .sum_f64 = sum_f64,
    .sum_f32 = sum_f32,
    .dot_f64 = dot_f64,
    .dot_f32 = dot_f32,
    .integer_sum = {INTEGER_ENTRIES(sum_)},
    .integer_dot = {SMALL_INTEGER_ENTRIES(dot_)},
    .least = {INTEGER_ENTRIES(least_), FLOAT_ENTRIES(least_)},
    .greatest = {INTEGER_ENTRIES(greatest_), FLOAT_ENTRIES(greatest_)},
    .product_leaf = product_leaf,
};
