/* Doubles and their bits. */
#ifndef BF_BASE_DOUBLE_H
#define BF_BASE_DOUBLE_H

#include <stdint.h>
#include <string.h>

static inline double bf_double_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t bf_bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 2^exponent, a normal double. */
static inline double bf_power_of_two(int exponent) {
    return bf_double_of_bits((uint64_t)(exponent + 1023) << 52);
}

#endif
