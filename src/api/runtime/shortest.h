/* The shortest decimal of a float. */
#ifndef BF_API_RUNTIME_SHORTEST_H
#define BF_API_RUNTIME_SHORTEST_H

#include "rules/number/format.h"

/* digits * 10^exponent */
typedef struct bf_decimal {
    uint64_t digits;
    int exponent;
} bf_decimal;

/* Returns the decimal with the fewest digits that reads back, rounded to nearest even, as the float
 * with these bits. Of several, it is the nearest to the float; of two equally near, the one whose
 * last digit is even. The float is finite and not zero; its sign is ignored. digits has at most 17
 * digits and does not end in 0. Uses only integers. */
bf_decimal bf_shortest(bf_format f, uint64_t bits);

#endif
