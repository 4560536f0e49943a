#include "work/units.h"

#include "sheet/output.h"

#include <string.h>

static bool are_alike(units_form a, units_form b) {
    return a.dtype == b.dtype && a.scale == b.scale;
}

bool units_are_same(units_form a, units_form b) { return are_alike(a, b) && a.time == b.time; }

units_form units_of_rows(const rows *r, int column) {
    return (units_form){rows_dtype(r, column), rows_scale(r, column), rows_time(r, column)};
}

bool units_are_integers(bf_dtype dtype) {
    return dtype == BF_I64 || dtype == BF_U64 || dtype == BF_I128;
}

/* Dates and local times are local times. A column without a value is what the other is. */
bool units_join_times(bf_time_kind *into, bf_time_kind other) {
    if (other == BF_TIME_ANY) return true;
    if (*into == BF_TIME_ANY) *into = other;
    const bool local = *into && other && *into != BF_TIME_UTC && other != BF_TIME_UTC,
               same = *into == other;
    if (other > *into) *into = other;
    return local || same;
}

bool units_have(bf_time_kind time, bf_reduction op) {
    const bf_result_class gives = bf_reduction_result(op);
    return !time || gives == BF_RESULT_ELEMENT || gives == BF_RESULT_INDEX;
}

bool units_join(units_form *into, units_form other) {
    if (!units_join_times(&into->time, other.time)) return false;
    if (are_alike(*into, other)) return true;
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

double units_double(bf_dtype dtype, int scale, const void *numbers, int64_t i) {
    const int64_t most = (int64_t)1 << 53;
    if (dtype == BF_I64 && scale <= 22) { /* both are doubles: one rounding */
        const int64_t x = ((const int64_t *)numbers)[i];
        if (x >= -most && x <= most) return (double)x / (double)text_power_of_ten(scale);
    }
    const bf_value value = output_element(dtype, scale, numbers, i);
    return bf_value_f64(&value);
}

/* From the last number on, so that none is overwritten before it is read. */
bool units_bring(units_form from, const void *numbers, int64_t n, units_form to, void *out) {
    const text_i128 power = text_power_of_ten(to.scale - from.scale);
    if (are_alike(from, to)) {
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

void units_put(checkpoint_writer *to, units_form form) {
    checkpoint_put_number(to, form.dtype);
    checkpoint_put_number(to, form.scale);
    checkpoint_put_number(to, form.time);
}

units_form units_take(checkpoint_reader *from) {
    const bf_dtype dtype = (bf_dtype)checkpoint_number(from, 0, INT32_MAX);
    const int scale = (int)checkpoint_number(from, 0, BF_SCALE_MOST_I128);
    from->bad = from->bad || (dtype != BF_NONE && bf_dtype_size(dtype) == 0) || dtype == BF_PAIR;
    return (units_form){dtype, scale, (bf_time_kind)checkpoint_number(from, 0, BF_TIME_UTC)};
}
