/* Scales: integers that stand for themselves times a power of ten. */
#ifndef BF_RULES_NUMBER_SCALE_H
#define BF_RULES_NUMBER_SCALE_H

#include "rules/number/rule.h"

/* 10^n, for n from 0 to 38 */
BF_RULE bf_i128 bf_power_of_ten(int n) {
    bf_i128 power = 1;
    for (; n > 0; n--) power *= 10;
    return power;
}

#endif
