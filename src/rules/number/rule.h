/* The common subset of C and C++ in which all rules are written, for gcc, clang and nvcc, on the
 * host and on the device. Rules compute with integers only, so that no rounding mode, FTZ or
 * contraction can change them. The exceptions are rules/reduce/product_tree.h, the chains of
 * rules/reduce/terms.h, the guesses and edges of rules/histogram, the guess of a root in
 * rules/number/wide.h, the places of rules/order/quantile.h, the means of rules/order/tie.h, the
 * spans and middles of rules/scan, and rules/julia/escape.h. */
#ifndef BF_RULES_NUMBER_RULE_H
#define BF_RULES_NUMBER_RULE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define BF_RULE_ANYWHERE static __host__ __device__
#else
#define BF_RULE_ANYWHERE static
#endif
#define BF_RULE BF_RULE_ANYWHERE inline

/* A rule that is compiled into each caller, by the constants that it gives. */
#define BF_RULE_INLINE BF_RULE __attribute__((always_inline))

/* For rules with room for several large numbers, which would otherwise stand on the stack of their
 * callers. */
#define BF_RULE_APART BF_RULE_ANYWHERE __attribute__((noinline, unused))

/* For loops that run once for each result: nvcc would unroll them, and compile for minutes. */
#ifdef __CUDA_ARCH__
#define BF_ROLLED _Pragma("unroll 1")
#else
#define BF_ROLLED
#endif

#ifdef __CUDA_ARCH__
#define BF_SQRT(x) sqrt(x)
#else
#define BF_SQRT(x) __builtin_sqrt(x)
#endif

__extension__ typedef unsigned __int128 bf_u128;
__extension__ typedef __int128 bf_i128;

/* The element at p, of 1, 2, 4 or 8 bytes, as its bits. */
BF_RULE uint64_t bf_load_bits(const void *p, int bytes) {
    uint8_t b1;
    uint16_t b2;
    uint32_t b4;
    uint64_t b8;
    switch (bytes) {
    case 1: memcpy(&b1, p, 1); return b1;
    case 2: memcpy(&b2, p, 2); return b2;
    case 4: memcpy(&b4, p, 4); return b4;
    default: memcpy(&b8, p, 8); return b8;
    }
}

BF_RULE void bf_store_bits(void *p, int bytes, uint64_t bits) {
    uint8_t b1 = (uint8_t)bits;
    uint16_t b2 = (uint16_t)bits;
    uint32_t b4 = (uint32_t)bits;
    switch (bytes) {
    case 1: memcpy(p, &b1, 1); break;
    case 2: memcpy(p, &b2, 2); break;
    case 4: memcpy(p, &b4, 4); break;
    default: memcpy(p, &bits, 8); break;
    }
}

BF_RULE bf_i128 bf_load_i128(const void *p) {
    bf_i128 x;
    memcpy(&x, p, sizeof x);
    return x;
}

BF_RULE void bf_store_i128(void *p, bf_i128 x) { memcpy(p, &x, sizeof x); }

/* The low `bits` bits of x as a two's complement number. */
BF_RULE int64_t bf_sign_extend(uint64_t x, int bits) {
    return (int64_t)(x << (64 - bits)) >> (64 - bits);
}

/* The number of significant bits of x; 0 for 0. */
BF_RULE int bf_bit_length(uint64_t x) {
#ifdef __CUDA_ARCH__
    return 64 - __clzll((long long)x);
#else
    return x == 0 ? 0 : 64 - __builtin_clzll(x);
#endif
}

#endif
