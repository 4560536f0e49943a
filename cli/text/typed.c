#include "text/typed.h"

#include <string.h>

/* What follows the mark. */
enum { MARK = 0xff, IS_STRING = 's', IS_FALSE = 'v', IS_TRUE = 'w', IS_NUMBER = 'x' };

/* Behind them, a number has 16 bytes that order it, its dtype, and the value. */
enum {
    HEAD = TYPED_MARK,
    ORDER = 16,
    DTYPE_AT = HEAD + ORDER,
    VALUE_AT,
    NUMBER_BYTES = VALUE_AT + 8
};
_Static_assert((int)NUMBER_BYTES <= (int)TYPED_MOST, "room for a number");

static char *put_mark(char *to, int kind) {
    to[0] = (char)MARK;
    to[1] = (char)kind;
    return to + HEAD;
}

size_t typed_put_bool(char to[TYPED_MOST], bool truth) {
    return (size_t)(put_mark(to, truth ? IS_TRUE : IS_FALSE) - to);
}

bool typed_wants_mark(const char *at, const char *end) {
    return at < end && (unsigned char)*at == MARK;
}

void typed_put_string(char *to, const char *at, const char *end) {
    memcpy(put_mark(to, IS_STRING), at, (size_t)(end - at));
}

/* An integer if it is one, however it is written; else the double, of which there is one NaN. */
static bf_value value_of(const text_number *n) {
    const double x = text_double(n), size = x < 0 ? -x : x;
    const bool whole = !n->integer && size < 0x1p64 && (double)(uint64_t)size == size;
    const uint64_t digits = whole ? (uint64_t)size : n->digits, most = (uint64_t)INT64_MAX;
    if (!(whole || n->integer) || (n->negative && digits > most + 1))
        return (bf_value){.dtype = BF_F64, .as.f64 = x == x ? x : __builtin_nan("")};
    if (n->negative) return (bf_value){.dtype = BF_I64, .as.u64 = 0 - digits};
    return (bf_value){.dtype = digits > most ? BF_U64 : BF_I64, .as.u64 = digits};
}

/* The highest byte first. */
static void put_word(char *to, uint64_t word) {
    for (int i = 0; i < 8; i++) to[i] = (char)(word >> (56 - 8 * i));
}

/* In the order of doubles, NaN at last; and integers of one double by themselves. */
static void put_order(char to[ORDER], const bf_value *v) {
    const double x = bf_value_f64(v);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const bool negative = bits >> 63;
    put_word(to, x != x ? UINT64_MAX : negative ? ~bits : bits | UINT64_C(1) << 63);
    put_word(to + 8, v->dtype == BF_F64 ? 0 : v->as.u64);
}

size_t typed_put_number(char to[TYPED_MOST], const text_number *number) {
    const bf_value v = value_of(number);
    put_order(put_mark(to, IS_NUMBER), &v);
    to[DTYPE_AT] = (char)v.dtype;
    memcpy(to + VALUE_AT, &v.as.u64, 8);
    return NUMBER_BYTES;
}

typed_value typed_take(const char *at, size_t length) {
    if (length < HEAD || (unsigned char)*at != MARK)
        return (typed_value){.kind = TYPED_STRING, .at = at, .length = length};
    typed_value v = {.kind = TYPED_BOOL, .truth = at[1] == IS_TRUE};
    if (at[1] == IS_STRING)
        return (typed_value){TYPED_STRING, at + HEAD, length - HEAD, false, {0}};
    if (at[1] != IS_NUMBER) return v;
    v.kind = TYPED_NUMBER;
    v.number.dtype = (bf_dtype)at[DTYPE_AT];
    memcpy(&v.number.as.u64, at + VALUE_AT, 8);
    return v;
}
