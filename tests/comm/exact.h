/* Exact sums of few elements, rounded once: the oracle of sums over ranks. It adds in one integer
 * of 2304 bits, whose unit is the least f64. */
#ifndef BITFOLD_TESTS_COMM_EXACT_H
#define BITFOLD_TESTS_COMM_EXACT_H

#include "tests/support/data.h"

enum { DIGITS = 72, LEAST_POSITION = 1074 };

typedef struct exact {
    uint32_t digit[DIGITS]; /* two's complement */
    int nans, plus, minus, terms, minus_zeros;
} exact;

static inline void exact_add_bits(exact *x, uint64_t magnitude, int position, bool negative) {
    __extension__ unsigned __int128 part = magnitude;
    int64_t carry = 0;
    part <<= position % 32;
    for (int i = position / 32; i < DIGITS && (part != 0 || carry != 0); i++) {
        int64_t digit = (int64_t)(uint32_t)part;
        carry += (int64_t)x->digit[i] + (negative ? -digit : digit);
        x->digit[i] = (uint32_t)carry;
        carry >>= 32;
        part >>= 32;
    }
}

static inline void exact_add(exact *x, bf_dtype dtype, uint64_t bits) {
    int fraction = fraction_bits(dtype), field, bias = (1 << (exponent_bits(dtype) - 1)) - 1;
    bool negative = (bits & sign_bit(dtype)) != 0;
    uint64_t rest = bits & ~sign_bit(dtype), low = rest & ((1ull << fraction) - 1);
    x->terms++;
    if (rest > infinity_bits(dtype))
        x->nans++;
    else if (rest == infinity_bits(dtype))
        negative ? x->minus++ : x->plus++;
    else if (rest == 0)
        x->minus_zeros += negative;
    else {
        field = (int)(rest >> fraction);
        uint64_t magnitude = field ? low | 1ull << fraction : low;
        int position = (field ? field : 1) - bias - fraction + LEAST_POSITION;
        exact_add_bits(x, magnitude, position, negative);
    }
}

static inline bool exact_bit(const exact *x, int i) {
    return i >= 0 && (x->digit[i / 32] >> i % 32 & 1) != 0;
}

static inline uint64_t exact_round(const exact *sum, bf_dtype dtype) {
    exact x = *sum;
    int fraction = fraction_bits(dtype), bias = (1 << (exponent_bits(dtype) - 1)) - 1;
    uint64_t infinity = infinity_bits(dtype);
    if (x.nans || (x.plus && x.minus)) return infinity | 1ull << (fraction - 1);
    if (x.plus || x.minus) return infinity | (x.minus ? sign_bit(dtype) : 0);
    bool negative = x.digit[DIGITS - 1] >> 31;
    if (negative) {
        uint64_t carry = 1;
        for (int i = 0; i < DIGITS; i++) {
            carry += (uint32_t)~x.digit[i];
            x.digit[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    int top = 32 * DIGITS - 1, least = 1 - bias - fraction + LEAST_POSITION;
    while (top >= 0 && !exact_bit(&x, top)) top -= x.digit[top / 32] == 0 ? top % 32 + 1 : 1;
    if (top < 0) return x.terms > 0 && x.minus_zeros == x.terms ? sign_bit(dtype) : 0;
    int last = top - fraction > least ? top - fraction : least; /* the last bit that is kept */
    uint64_t kept = 0;
    bool sticky = false;
    for (int i = top; i >= last; i--) kept = kept << 1 | exact_bit(&x, i);
    for (int i = 0; i < last - 1; i += x.digit[i / 32] == 0 ? 32 - i % 32 : 1)
        sticky |= exact_bit(&x, i);
    kept += exact_bit(&x, last - 1) && (sticky || (kept & 1));
    uint64_t bits = kept + ((uint64_t)(last - least) << fraction);
    if (bits > infinity) bits = infinity;
    return bits | (negative ? sign_bit(dtype) : 0);
}

/* Returns the sum of elements at[0 .. n) of a dtype. *misfit: an integer does not fit. */
static inline uint64_t exact_sum(bf_dtype dtype, const void *const at[], int n, bool *misfit) {
    size_t bytes = bf_dtype_size(dtype);
    uint64_t mask = ~0ull >> (64 - 8 * bytes);
    exact x = {.terms = 0};
    __extension__ __int128 total = 0, half = (__int128)1 << (8 * bytes - 1);
    for (int t = 0; t < n; t++) {
        uint64_t bits = load_bits(at[t], bytes);
        if (is_float(dtype)) {
            exact_add(&x, dtype, bits);
            continue;
        }
        total += bits;
        if (is_signed(dtype) && (bits & sign_bit(dtype))) total -= 2 * half;
    }
    if (is_float(dtype)) return exact_round(&x, dtype);
    if (is_signed(dtype) ? total < -half || total >= half : total < 0 || total >= 2 * half)
        *misfit = true;
    return (uint64_t)total & mask;
}

#endif
