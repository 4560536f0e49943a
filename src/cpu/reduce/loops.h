/* The loops of reductions over every integer type, and the table of all, for the instruction set
 * that includes this after sum_loops.h, product_loops.h and, for f32 and f64, extreme_loops.h. */
#include "cpu/reduce/exponent_loops.h"
#include "cpu/reduce/measure_loops.h"
#include "cpu/reduce/reduce.h"
#include "cpu/runtime/vector.h"

enum {
    INTEGER_BYTES = 256, /* what lanes take: four AVX-512 registers */
    INTEGER_ROWS = 128   /* additions before lanes are added up in 64 bits */
};

#define TEMPLATE "cpu/reduce/integer_loops.h"
#include "cpu/runtime/each_integer.h"

static const bf_reduce_loops reduce_loops = {
    .one_level_bits = ONE_LEVEL_BITS,
    .sum_f64 = sum_f64,
    .sum_f32 = sum_f32,
    .dot_f64 = dot_f64,
    .dot_f32 = dot_f32,
    .sum_terms_f64 = sum_terms_f64,
    .sum_terms_f32 = sum_terms_f32,
    .measure_f64 = measure_f64,
    .measure_f32 = measure_f32,
    .by_exponent_f64 = by_exponent_f64,
    .by_exponent_f32 = by_exponent_f32,
    .split_f64 = split_f64,
    .split_f32 = split_f32,
    .integer_sum = {INTEGER_ENTRIES(sum_)},
    .integer_dot = {SMALL_INTEGER_ENTRIES(dot_)},
    .least = {INTEGER_ENTRIES(least_), FLOAT_ENTRIES(least_)},
    .greatest = {INTEGER_ENTRIES(greatest_), FLOAT_ENTRIES(greatest_)},
    .product_folds = product_folds,
};
