#include "runtime/value.h"

#include <stdio.h>
#include <string.h>

__extension__ typedef __int128 i128;

enum { KIND = 8, DAY = 86400 }; /* the bits of a scale, of squares too; the seconds of a day */

bf_value value_of_time(bf_value value, bf_time_kind kind) {
    if (bf_dtype_kind(value.dtype) != 'f') value.scale |= (int32_t)kind << KIND;
    return value;
}

bf_time_kind value_time(const bf_value *value) { return (bf_time_kind)(value->scale >> KIND); }

static i128 units_of(const bf_value *value) {
    i128 wide;
    memcpy(&wide, value->as.i192, sizeof wide);
    return value->dtype == BF_I192 ? wide : value->as.i64;
}

static void put_fraction(char *text, int64_t fraction, int digits) {
    for (; digits > 0 && fraction % 10 == 0; digits--) fraction /= 10;
    if (digits > 0) sprintf(text, ".%0*lld", digits, (long long)fraction);
}

/* The seconds of times of any year fit 64 bits. What is between two dates may be none. */
static void format_time(const bf_value *value, bf_time_kind kind, char text[BF_VALUE_TEXT]) {
    const int scale = value->scale & ((1 << KIND) - 1);
    const i128 units = units_of(value);
    i128 power = 1;
    for (int i = 0; i < scale; i++) power *= 10;
    const i128 seconds = units / power - (units % power < 0);
    const bool date = kind == BF_TIME_DATE && units % (DAY * power) == 0;
    const bf_time whole = {(int64_t)seconds, 0, date ? BF_TIME_DATE : BF_TIME_LOCAL};
    const int n = bf_time_format(&whole, text);
    if (date) return;
    put_fraction(text + n, (int64_t)(units - seconds * power), scale);
    if (kind == BF_TIME_UTC) strcat(text, "Z");
}

void value_format(const bf_value *value, char text[BF_VALUE_TEXT]) {
    const bf_time_kind kind = value_time(value);
    if (kind)
        format_time(value, kind, text);
    else
        bf_value_format(value, text);
}
