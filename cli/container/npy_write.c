#include "container/npy_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 64, MAX_DIGITS = 19, FIXED = 10 };

int npy_write_dtype(char *out, bf_dtype dtype) {
    const size_t size = bf_dtype_size(dtype);
    const char kind = dtype == BF_BF16 ? 'V' : bf_dtype_kind(dtype);
    return sprintf(out, "%c%c%zu", size > 1 ? '<' : '|', kind, size);
}

/* The thousands that a scale takes; nanoseconds are the finest unit. */
static int thousands(bf_time_kind time, int scale) {
    return time == BF_TIME_DATE ? 0 : scale < BF_TIME_SCALE_MOST ? (scale + 2) / 3 : 3;
}

int npy_write_time(char *out, bf_time_kind time, int scale) {
    static const char *const units[] = {"s", "ms", "us", "ns"};
    return sprintf(out, "<M8[%s]", time == BF_TIME_DATE ? "D" : units[thousands(time, scale)]);
}

bool npy_time_units(const bf_value *value, bf_time_kind time, int scale, int64_t *units) {
    __extension__ __int128 x = value->as.i64;
    if (time != BF_TIME_DATE && scale > BF_TIME_SCALE_MOST) return false;
    if (value->dtype == BF_I192) memcpy(&x, value->as.i192, sizeof x);
    for (int i = scale; i < 3 * thousands(time, scale); i++) x *= 10;
    for (int i = 0; i < scale && time == BF_TIME_DATE; i++) x /= 10;
    if (time == BF_TIME_DATE) x /= 86400;
    *units = (int64_t)x;
    return *units == x && *units != INT64_MIN;
}

/* "(3, 4)", "(3,)" or "()". Returns the length. */
static int put_shape(char *out, const npy_header *h) {
    int n = sprintf(out, "(");
    for (int d = 0; d < h->ndim; d++)
        n += sprintf(out + n, "%s%" PRId64, d > 0 ? ", " : "", h->shape[d]);
    return n + sprintf(out + n, h->ndim == 1 ? ",)" : ")");
}

/* Room is left for the first extent to take any value. */
static int padding(const npy_header *h, int length) {
    char digits[MAX_DIGITS + 2] = "";
    if (h->ndim > 0) snprintf(digits, sizeof digits, "%" PRId64, h->shape[0]);
    int room = MAX_DIGITS - (int)strlen(digits);
    int total = FIXED + length + room + 1;
    return room + (ALIGNMENT - total % ALIGNMENT) % ALIGNMENT;
}

size_t npy_write_header(const npy_header *h, char out[NPY_WRITE_MAX]) {
    char *text = out + FIXED;
    int n = sprintf(text, "{'descr': '");
    n +=
        h->time ? npy_write_time(text + n, h->time, h->scale) : npy_write_dtype(text + n, h->dtype);
    n += sprintf(text + n, "', 'fortran_order': %s, 'shape': ", h->fortran ? "True" : "False");
    n += put_shape(text + n, h);
    n += sprintf(text + n, ", }");
    const int spaces = padding(h, n);
    memset(text + n, ' ', (size_t)spaces);
    n += spaces;
    text[n++] = '\n';
    memcpy(out, "\x93NUMPY\x01", 8);
    out[8] = (char)(n & 0xff);
    out[9] = (char)(n >> 8);
    return (size_t)(FIXED + n);
}
