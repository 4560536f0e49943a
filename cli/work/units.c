#include "work/units.h"

bool units_refine(int64_t *units, int64_t n, int by) {
    int64_t power = 1;
    for (; by > 0; by--) power *= 10;
    for (int64_t i = 0; i < n && power > 1; i++)
        if (__builtin_mul_overflow(units[i], power, &units[i])) return false;
    return true;
}
