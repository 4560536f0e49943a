/* Minima and maxima of one float type: included for f32 and for f64 by each instruction set, which
 * defines
 *   NAME          f32 or f64
 *   T, T_BITS     the element; the integer type of its width
 *   VECTOR        a vector of T
 *   MIN(x, m), MAX(x, m)   of each lane; m where either is NaN
 *   nan_lanes     where NaNs were seen; all clear when zeroed
 *   NOTE_NANS(lanes, x, y) adds the NaNs of x and of y
 *   any_nan(lanes)
 * Which of two equal zeros comes out is open. */

#include "cpu/runtime/vector.h"
#include "rules/key/order.h"

#define FN(name) JOIN(name, NAME)

enum { FN(ROW_) = 4 * (int)(sizeof(VECTOR) / sizeof(T)) };

INLINE void FN(extreme_row_)(const char *row, VECTOR best[4], nan_lanes *nans, bool greatest) {
    UNROLL
    for (int k = 0; k < 4; k += 2) {
        VECTOR x, y;
        memcpy(&x, row + (size_t)k * sizeof x, sizeof x);
        memcpy(&y, row + (size_t)(k + 1) * sizeof y, sizeof y);
        best[k] = greatest ? MAX(x, best[k]) : MIN(x, best[k]);
        best[k + 1] = greatest ? MAX(y, best[k + 1]) : MIN(y, best[k + 1]);
        NOTE_NANS(*nans, x, y);
    }
}

INLINE int64_t FN(extreme_)(const char *p, size_t n, bool greatest, bool *nan) {
    T tail[FN(ROW_)], bound = greatest ? -(T)__builtin_inf() : (T)__builtin_inf();
    VECTOR best[4];
    nan_lanes nans = {0};
    T_BITS bits;
    for (int k = 0; k < 4; k++) best[k] = bound - (VECTOR){0};
    for (; n >= FN(ROW_); n -= FN(ROW_), p += sizeof tail) {
        prefetch_row(p, sizeof tail);
        FN(extreme_row_)(p, best, &nans, greatest);
    }
    for (int i = 0; i < FN(ROW_); i++) tail[i] = bound;
    memcpy(tail, p, n * sizeof(T));
    FN(extreme_row_)((const char *)tail, best, &nans, greatest);

    T result = bound;
    memcpy(tail, best, sizeof tail);
    for (int i = 0; i < FN(ROW_); i++)
        result = (greatest ? tail[i] > result : tail[i] < result) ? tail[i] : result;
    *nan |= any_nan(nans);
    memcpy(&bits, &result, sizeof bits);
    return bf_order_flip(bits, 8 * (int)sizeof bits);
}

static int64_t FN(least_)(const void *data, size_t n, bool *nan) {
    return FN(extreme_)(data, n, false, nan);
}

static int64_t FN(greatest_)(const void *data, size_t n, bool *nan) {
    return FN(extreme_)(data, n, true, nan);
}

#undef FN
#undef NAME
#undef T
#undef T_BITS
#undef VECTOR
#undef MIN
#undef MAX
#undef NOTE_NANS
