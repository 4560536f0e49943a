#include "rows/encode.h"

#include "sheet/output.h"

#include <string.h>

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

/* The first byte of NULL is greater than that of any value: an ascending one, or a descending one.
 * Bytes of a string are 0 at its end, and less than NULL's; two bytes stand for one that is not. */
enum { VALUE_NULL = 0xff, VALUE_ZERO = 0x80, STRING_LOW = 1, STRING_HIGH = 0xfe };

/* Bytes that a number takes at most, and some to spare. */
enum { NUMBER_BYTES = 32 };

/* ---- numbers --------------------------------------------------------------------------------- */

/* How many bytes the number has, and these. Those of a negative one are complements. */
static char *put_integer(char *at, i128 x) {
    const u128 sign = x < 0 ? ~(u128)0 : 0, size = (u128)x ^ sign;
    const uint64_t high = (uint64_t)(size >> 64), low = (uint64_t)size;
    const int bits = high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
    const int bytes = (bits + 7) / 8;
    *at++ = (char)(x < 0 ? VALUE_ZERO - 1 - bytes : VALUE_ZERO + bytes);
    const u128 top = bytes > 0 ? (u128)x << 8 * (16 - bytes) : 0;
    encode_word(at, (uint64_t)(top >> 64));
    encode_word(at + 8, (uint64_t)top);
    return at + bytes;
}

/* From -inf to inf, -0 before 0, NaN at last. */
static char *put_double(char *at, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    *at++ = (char)VALUE_ZERO;
    encode_word(at, x != x ? UINT64_MAX : bits >> 63 ? ~bits : bits | UINT64_C(1) << 63);
    return at + sizeof bits;
}

static char *put_number(char *at, bf_dtype dtype, const void *numbers, int64_t i) {
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
static char *put_string(char *to, const char *at, const char *end) {
    for (; at < end; at++) {
        const unsigned char byte = (unsigned char)*at;
        const bool low = byte <= STRING_LOW, high = byte >= STRING_HIGH;
        *to++ = (char)(low ? STRING_LOW : high ? STRING_HIGH : byte);
        if (low || high) *to++ = (char)(low ? 1 + byte : 1 + byte - STRING_HIGH);
    }
    *to++ = '\0';
    return to;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Turns the order around: no value becomes NULL. */
static void reverse(unsigned char *at, const char *end, bool string) {
    for (; at < (const unsigned char *)end; at++)
        *at = (unsigned char)(string ? STRING_HIGH - *at : ~*at);
}

static char *put_key(char *at, const table_column *c, int64_t i, bool descending) {
    char *const begin = at;
    const bf_column *column = &c->view.column;
    const int64_t *offsets = c->view.strings.offsets;
    const char *const bytes = c->view.strings.bytes;
    const bool string = c->dtype == BF_NONE;
    if (column->valid && !text_has_bit(column->valid, column->first + i)) {
        *at++ = (char)VALUE_NULL;
        return at;
    }
    at = string ? put_string(at, bytes + offsets[i], bytes + offsets[i + 1])
                : put_number(at, c->dtype, c->view.numbers.data, i);
    if (descending) reverse((unsigned char *)begin, at, string);
    return at;
}

static size_t room_of(const table_column *c, int64_t i) {
    const int64_t *offsets = c->view.strings.offsets;
    return NUMBER_BYTES + (c->dtype == BF_NONE ? 2 * (size_t)(offsets[i + 1] - offsets[i]) : 0);
}

const char *encode_keys(const table *t, int64_t i, buffer *to, size_t *bytes) {
    const asked *a = t->asked;
    size_t room = 0;
    for (int k = 0; k < a->keys; k++) room += room_of(&t->columns[t->key_columns[k]], i);
    char *const begin = buffer_take(to, room), *at = begin;
    if (!begin) return NULL;
    for (int k = 0; k < a->keys; k++)
        at = put_key(at, &t->columns[t->key_columns[k]], i, a->key[k].descending);
    *bytes = (size_t)(at - begin);
    return begin;
}
