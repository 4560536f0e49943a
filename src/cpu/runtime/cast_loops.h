/* The loops of casts, and their table, for the instruction set that includes this after it has
 * defined widen_f16. */
#include "cpu/runtime/cast.h"
#include "cpu/runtime/vector.h"

#define TEMPLATE "cpu/runtime/cast_integer_loops.h"
#include "cpu/runtime/each_integer.h"

static bool cast_bool_to_i64(const void *from, void *to, size_t n) {
    const u8_element *x = from;
    i64_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = x[i] != 0;
    return false;
}

static bool cast_bool_to_f64(const void *from, void *to, size_t n) {
    const u8_element *x = from;
    f64_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = x[i] != 0;
    return false;
}

static bool cast_to_f64_f32(const void *from, void *to, size_t n) {
    const f32_element *x = from;
    f64_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = canonical_f64((double)x[i]);
    return false;
}

static bool cast_from_f64_f32(const void *from, void *to, size_t n) {
    const f64_element *x = from;
    f32_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = canonical_f32((float)x[i]);
    return false;
}

static bool cast_from_i64_f32(const void *from, void *to, size_t n) {
    const i64_element *x = from;
    f32_element *out = to;
    for (size_t i = 0; i < n; i++) out[i] = (float)x[i];
    return false;
}

static bool cast_from_u64_f32(const void *from, void *to, size_t n) {
    const u64_element *x = from;
    f32_element *out = to;
    for (size_t i = 0; i < n; i++) out[i] = (float)x[i];
    return false;
}

static bool cast_f64_to_bool(const void *from, void *to, size_t n) {
    const f64_element *x = from;
    u8_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = x[i] != 0;
    return false;
}

static bool cast_i64_to_bool(const void *from, void *to, size_t n) {
    const i64_element *x = from;
    u8_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = x[i] != 0;
    return false;
}

/* A double between two floats becomes the one whose last bit is 1: it keeps telling on which side
 * of a tie between shorter numbers it was. */
static bool cast_f64_to_odd(const void *from, void *to, size_t n) {
    const f64_element *x = from;
    f32_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) {
        float nearest = (float)x[i];
        double back = (double)nearest, size = __builtin_fabs(back), exact = __builtin_fabs(x[i]);
        uint32_t bits = bits_f32(nearest);
        bits = (size > exact ? bits - 1 : bits) | (size != exact);
        out[i] = x[i] == x[i] ? of_bits_f32(bits) : of_bits_f32(0x7fc00000);
    }
    return false;
}

static bool cast_to_f32_bf16(const void *from, void *to, size_t n) {
    const u16_element *x = from;
    u32_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = (uint32_t)x[i] << 16;
    return false;
}

static bool cast_from_f32_bf16(const void *from, void *to, size_t n) {
    const u32_element *x = from;
    u16_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) {
        uint32_t rounded = (x[i] + 0x7fff + (x[i] >> 16 & 1)) >> 16;
        out[i] = (uint16_t)((x[i] & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
    }
    return false;
}

static bool cast_to_f32_f16(const void *from, void *to, size_t n) {
    widen_f16(from, to, n);
    return false;
}

/* A normal result: the exponent is moved by 112, and 13 bits are rounded off. A subnormal one: the
 * addition of 0.5 rounds at the last bit of the subnormals, and leaves them as its own last bits.
 */
INLINE uint16_t half_of(uint32_t bits) {
    uint32_t size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    uint32_t normal = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    uint32_t small = bits_f32(of_bits_f32(size) + 0.5f) - 0x3f000000;
    uint32_t half = size < 113u << 23 ? small : size >= 143u << 23 ? 0x7c00 : normal;
    return (uint16_t)(size > 0x7f800000 ? 0x7e00 : half | sign);
}

static bool cast_from_f32_f16(const void *from, void *to, size_t n) {
    const u32_element *x = from;
    u16_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = half_of(x[i]);
    return false;
}

static bool cast_copy_f32(const void *from, void *to, size_t n) {
    const f32_element *x = from;
    f32_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = canonical_f32(x[i]);
    return false;
}

static bool cast_copy_f64(const void *from, void *to, size_t n) {
    const f64_element *x = from;
    f64_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = canonical_f64(x[i]);
    return false;
}

static const bf_cast_loops cast_loops = {
    .to_f32 = {[BF_F16] = cast_to_f32_f16, [BF_BF16] = cast_to_f32_bf16},
    .to_f64 =
        {[BF_BOOL] = cast_bool_to_f64, [BF_F32] = cast_to_f64_f32, INTEGER_ENTRIES(cast_to_f64_)},
    .to_i64 = {[BF_BOOL] = cast_bool_to_i64, SMALL_INTEGER_ENTRIES(cast_to_i64_)},
    .from_f32 =
        {[BF_F16] = cast_from_f32_f16, [BF_BF16] = cast_from_f32_bf16, [BF_F32] = cast_copy_f32},
    .from_f64 = {[BF_BOOL] = cast_f64_to_bool,
                 [BF_F32] = cast_from_f64_f32,
                 [BF_F64] = cast_copy_f64,
                 INTEGER_ENTRIES(cast_from_f64_)},
    .from_i64 = {[BF_BOOL] = cast_i64_to_bool,
                 [BF_F32] = cast_from_i64_f32,
                 INTEGER_ENTRIES(cast_from_i64_)},
    .from_u64 = {[BF_BOOL] = cast_i64_to_bool,
                 [BF_F32] = cast_from_u64_f32,
                 INTEGER_ENTRIES(cast_from_u64_)},
    .f64_to_odd = cast_f64_to_odd,
};
