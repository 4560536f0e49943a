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
    n += npy_write_dtype(text + n, h->dtype);
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
