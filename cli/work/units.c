#include "work/units.h"

#include <string.h>

bool units_are_same(units_form a, units_form b) { return a.dtype == b.dtype && a.scale == b.scale; }

units_form units_of_rows(const rows *r, int column) {
    return (units_form){rows_dtype(r, column), rows_scale(r, column)};
}

bool units_are_integers(bf_dtype dtype) {
    return dtype == BF_I64 || dtype == BF_U64 || dtype == BF_I128;
}

bool units_join(units_form *into, units_form other) {
    if (units_are_same(*into, other)) return true;
    if (!units_are_integers(into->dtype) || !units_are_integers(other.dtype)) return false;
    into->dtype = BF_I128;
    if (other.scale > into->scale) into->scale = other.scale;
    return true;
}

text_i128 units_at(bf_dtype dtype, const void *numbers, int64_t i) {
    text_i128 wide;
    int64_t narrow;
    const char *at = (const char *)numbers + (size_t)i * bf_dtype_size(dtype);
    memcpy(&narrow, at, sizeof narrow);
    if (dtype == BF_I128) memcpy(&wide, at, sizeof wide);
    return dtype == BF_I128 ? wide : dtype == BF_U64 ? (text_i128)(uint64_t)narrow : narrow;
}

/* From the last number on, so that none is overwritten before it is read. */
bool units_bring(units_form from, const void *numbers, int64_t n, units_form to, void *out) {
    const text_i128 power = text_power_of_ten(to.scale - from.scale);
    if (units_are_same(from, to)) {
        if (n > 0) memmove(out, numbers, (size_t)n * bf_dtype_size(to.dtype));
        return true;
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        text_i128 wide;
        if (__builtin_mul_overflow(units_at(from.dtype, numbers, i), power, &wide)) return false;
        memcpy((char *)out + (size_t)i * sizeof wide, &wide, sizeof wide);
    }
    return true;
}
