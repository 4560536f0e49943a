#include "sheet/encode.h"

#include "runtime/bytes.h"
#include "sheet/output.h"

#include <string.h>

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

/* Bytes of a string are 0 at its end, and less than NULL's; two bytes stand for one that is not. */
enum { STRING_LOW = 1, STRING_HIGH = 0xfe };

/* ---- numbers --------------------------------------------------------------------------------- */

/* How many bytes the number has, and these. Those of a negative one are complements. */
static char *put_integer(char *at, i128 x) {
    const u128 sign = x < 0 ? ~(u128)0 : 0, size = (u128)x ^ sign;
    const uint64_t high = (uint64_t)(size >> 64), low = (uint64_t)size;
    const int bits = high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
    const int bytes = (bits + 7) / 8;
    *at++ = (char)(x < 0 ? ENCODED_ZERO - 1 - bytes : ENCODED_ZERO + bytes);
    const u128 top = bytes > 0 ? (u128)x << 8 * (16 - bytes) : 0;
    bytes_put_word(bytes_put_word(at, (uint64_t)(top >> 64)), (uint64_t)top);
    return at + bytes;
}

/* From -inf to inf, -0 before 0, NaN at last. */
static char *put_double(char *at, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    *at++ = (char)ENCODED_ZERO;
    return bytes_put_word(at, x != x ? UINT64_MAX : bits >> 63 ? ~bits : bits | UINT64_C(1) << 63);
}

char *encode_number(char *at, bf_dtype dtype, const void *numbers, int64_t i) {
    i128 wide;
    switch (dtype) {
    case BF_I64: return put_integer(at, ((const int64_t *)numbers)[i]);
    case BF_U64: return put_integer(at, ((const uint64_t *)numbers)[i]);
    case BF_F64: return put_double(at, ((const double *)numbers)[i]);
    case BF_I128:
        memcpy(&wide, (const char *)numbers + (size_t)i * sizeof wide, sizeof wide);
        return put_integer(at, wide);
    default: break;
    }
    const bf_value v = output_element(dtype, 0, numbers, i);
    switch (bf_dtype_kind(dtype)) {
    case 'f': return put_double(at, bf_value_f64(&v));
    case 'i': return put_integer(at, v.as.i64);
    default: return put_integer(at, v.as.u64);
    }
}

/* ---- strings --------------------------------------------------------------------------------- */

/* The bytes, and their end. A byte that has another meaning becomes two in its place. */
char *encode_string(char *to, const char *at, const char *end) {
    for (; at < end; at++) {
        const unsigned char byte = (unsigned char)*at;
        const bool low = byte <= STRING_LOW, high = byte >= STRING_HIGH;
        *to++ = (char)(low ? STRING_LOW : high ? STRING_HIGH : byte);
        if (low || high) *to++ = (char)(low ? 1 + byte : 1 + byte - STRING_HIGH);
    }
    *to++ = '\0';
    return to;
}

void encode_reverse(char *begin, const char *end, bool string) {
    for (unsigned char *at = (unsigned char *)begin; at < (const unsigned char *)end; at++)
        *at = (unsigned char)(string ? STRING_HIGH - *at : ~*at);
}
