/* Casts between the float formats, of bools, and from 64-bit integers to f32. */

static bool map_bool_to_i64(const void *from, void *to, size_t n) {
    const u8_element *x = from;
    i64_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = x[i] != 0;
    return false;
}

static bool map_bool_to_f64(const void *from, void *to, size_t n) {
    const u8_element *x = from;
    f64_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = x[i] != 0;
    return false;
}

static bool map_to_f64_f32(const void *from, void *to, size_t n) {
    const f32_element *x = from;
    f64_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = map_canonical_f64((double)x[i]);
    return false;
}

static bool map_from_f64_f32(const void *from, void *to, size_t n) {
    const f64_element *x = from;
    f32_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = map_canonical_f32((float)x[i]);
    return false;
}

static bool map_from_i64_f32(const void *from, void *to, size_t n) {
    const i64_element *x = from;
    f32_element *out = to;
    for (size_t i = 0; i < n; i++) out[i] = (float)x[i];
    return false;
}

static bool map_from_u64_f32(const void *from, void *to, size_t n) {
    const u64_element *x = from;
    f32_element *out = to;
    for (size_t i = 0; i < n; i++) out[i] = (float)x[i];
    return false;
}

static bool map_f64_to_bool(const void *from, void *to, size_t n) {
    const f64_element *x = from;
    u8_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = x[i] != 0;
    return false;
}

static bool map_i64_to_bool(const void *from, void *to, size_t n) {
    const i64_element *x = from;
    u8_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = x[i] != 0;
    return false;
}

/* A double between two floats becomes the one whose last bit is 1: it keeps telling on which side
 * of a tie between shorter numbers it was. */
static bool map_f64_to_odd(const void *from, void *to, size_t n) {
    const f64_element *x = from;
    f32_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) {
        float nearest = (float)x[i];
        double back = (double)nearest, size = __builtin_fabs(back), exact = __builtin_fabs(x[i]);
        uint32_t bits = map_bits_f32(nearest);
        bits = (size > exact ? bits - 1 : bits) | (size != exact);
        out[i] = x[i] == x[i] ? map_of_bits_f32(bits) : map_of_bits_f32(0x7fc00000);
    }
    return false;
}

static bool map_to_f32_bf16(const void *from, void *to, size_t n) {
    const u16_element *x = from;
    u32_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = (uint32_t)x[i] << 16;
    return false;
}

static bool map_from_f32_bf16(const void *from, void *to, size_t n) {
    const u32_element *x = from;
    u16_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) {
        uint32_t rounded = (x[i] + 0x7fff + (x[i] >> 16 & 1)) >> 16;
        out[i] = (uint16_t)((x[i] & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
    }
    return false;
}

/* widen_f16 takes what is not a whole vector element by element, which must be aligned. */
static bool map_to_f32_f16(const void *from, void *to, size_t n) {
    uint16_t rest[16];
    size_t whole = n - n % 16;
    widen_f16(from, to, whole);
    memcpy(rest, (const char *)from + 2 * whole, 2 * (n - whole));
    widen_f16(rest, (float *)to + whole, n - whole);
    return false;
}

/* A normal result: the exponent is moved by 112, and 13 bits are rounded off. A subnormal one: the
 * addition of 0.5 rounds at the last bit of the subnormals, and leaves them as its own last bits.
 */
INLINE uint16_t half_of(uint32_t bits) {
    uint32_t size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    uint32_t normal = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    uint32_t small = map_bits_f32(map_of_bits_f32(size) + 0.5f) - 0x3f000000;
    uint32_t half = size < 113u << 23 ? small : size >= 143u << 23 ? 0x7c00 : normal;
    return (uint16_t)(size > 0x7f800000 ? 0x7e00 : half | sign);
}

static bool map_from_f32_f16(const void *from, void *to, size_t n) {
    const u32_element *x = from;
    u16_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = half_of(x[i]);
    return false;
}

/* x * y is exact; the sum's rounding error is exact too (Knuth's TwoSum), and turns it to odd. */
static bool map_fma_half(const void *a, const void *b, const void *c, void *out, size_t n) {
    const f64_element *x = a, *y = b, *z = c;
    f64_element *to = out;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) {
        double p = x[i] * y[i], s = p + z[i], q = s - p;
        double error = (p - (s - q)) + (z[i] - q); /* NaN if s is not finite */
        uint64_t bits = map_bits_f64(s), odd = bits & 1;
        uint64_t other = (error > 0) == (s > 0) ? bits + 1 : bits - 1;
        bool inexact = error > 0 || error < 0;
        to[i] = map_canonical_f64(map_of_bits_f64(inexact && !odd ? other : bits));
    }
    return false;
}
