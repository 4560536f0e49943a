#include "work/units.h"

#include <string.h>

__extension__ typedef __int128 i128;

static bool is_integer(bf_dtype dtype) {
    return dtype == BF_I64 || dtype == BF_U64 || dtype == BF_I128;
}

static bool are_same(units_form a, units_form b) {
    return a.dtype == b.dtype && a.scale == b.scale;
}

bool units_join(units_form *into, units_form other) {
    if (are_same(*into, other)) return true;
    if (!is_integer(into->dtype) || !is_integer(other.dtype)) return false;
    into->dtype = BF_I128;
    if (other.scale > into->scale) into->scale = other.scale;
    return true;
}

static i128 number_at(bf_dtype dtype, const void *numbers, int64_t i) {
    i128 wide;
    int64_t narrow;
    const char *at = (const char *)numbers + (size_t)i * bf_dtype_size(dtype);
    memcpy(&narrow, at, sizeof narrow);
    if (dtype == BF_I128) memcpy(&wide, at, sizeof wide);
    return dtype == BF_I128 ? wide : dtype == BF_U64 ? (i128)(uint64_t)narrow : narrow;
}

/* From the last number on, so that none is overwritten before it is read. */
bool units_bring(units_form from, const void *numbers, int64_t n, units_form to, void *out) {
    i128 power = 1;
    if (are_same(from, to)) {
        if (n > 0) memmove(out, numbers, (size_t)n * bf_dtype_size(to.dtype));
        return true;
    }
    for (int by = to.scale - from.scale; by > 0; by--) power *= 10;
    for (int64_t i = n - 1; i >= 0; i--) {
        i128 wide;
        if (__builtin_mul_overflow(number_at(from.dtype, numbers, i), power, &wide)) return false;
        memcpy((char *)out + (size_t)i * sizeof wide, &wide, sizeof wide);
    }
    return true;
}
