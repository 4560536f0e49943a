/* IEEE 754 binary formats as data: decoding to integers, and the one rounding of every result. */
#ifndef BF_RULES_NUMBER_FORMAT_H
#define BF_RULES_NUMBER_FORMAT_H

#include "rules/number/rule.h"

typedef struct bf_format {
    int fraction; /* bits of the fraction field */
    int exponent; /* bits of the exponent field */
} bf_format;

BF_RULE bf_format bf_format_make(int fraction, int exponent) {
    bf_format f;
    f.fraction = fraction;
    f.exponent = exponent;
    return f;
}

BF_RULE bf_format bf_format_f64(void) { return bf_format_make(52, 11); }
BF_RULE bf_format bf_format_f32(void) { return bf_format_make(23, 8); }
BF_RULE bf_format bf_format_f16(void) { return bf_format_make(10, 5); }
BF_RULE bf_format bf_format_bf16(void) { return bf_format_make(7, 8); }

BF_RULE int bf_format_bits(bf_format f) { return 1 + f.fraction + f.exponent; }
BF_RULE int bf_format_bias(bf_format f) { return (1 << (f.exponent - 1)) - 1; }
BF_RULE uint64_t bf_format_sign(bf_format f) { return (uint64_t)1 << (f.fraction + f.exponent); }
BF_RULE uint64_t bf_format_inf(bf_format f) {
    return (((uint64_t)1 << f.exponent) - 1) << f.fraction;
}
/* The canonical NaN: quiet, positive, no payload. */
BF_RULE uint64_t bf_format_nan(bf_format f) {
    return bf_format_inf(f) | (uint64_t)1 << (f.fraction - 1);
}
/* The exponent of the weight of the last bit of the subnormals: -1074 for f64. */
BF_RULE int bf_format_least(bf_format f) { return 1 - bf_format_bias(f) - f.fraction; }

BF_RULE bool bf_is_nan(bf_format f, uint64_t bits) {
    return (bits & ~bf_format_sign(f)) > bf_format_inf(f);
}
BF_RULE bool bf_is_inf(bf_format f, uint64_t bits) {
    return (bits & ~bf_format_sign(f)) == bf_format_inf(f);
}

/* A finite number: magnitude * 2^(position + bf_format_least(f)), with its sign. */
typedef struct bf_finite {
    uint64_t magnitude;
    int position;
    bool negative;
} bf_finite;

BF_RULE bf_finite bf_decode(bf_format f, uint64_t bits) {
    bf_finite x;
    int field = (int)(bits >> f.fraction) & ((1 << f.exponent) - 1);
    uint64_t hidden = field > 0 ? (uint64_t)1 << f.fraction : 0;
    x.magnitude = (bits & (((uint64_t)1 << f.fraction) - 1)) | hidden;
    x.position = field > 0 ? field - 1 : 0;
    x.negative = (bits & bf_format_sign(f)) != 0;
    return x;
}

/* Rounds (m + d) * 2^exponent to nearest, ties to even, and returns the bits. 0 <= d < 1, and d > 0
 * only if sticky. m has its top bit set, or m and d are 0. Overflow gives infinity. */
BF_RULE uint64_t bf_encode(bf_format f, bool negative, uint64_t m, int exponent, bool sticky) {
    uint64_t sign = negative ? bf_format_sign(f) : 0;
    int bias = bf_format_bias(f);
    int e = exponent + 63; /* 2^e <= value < 2^(e+1) */
    bool subnormal = e < 1 - bias;
    int drop = 63 - f.fraction + (subnormal ? 1 - bias - e : 0);
    if (m == 0 || drop > 64) return sign;
    if (e > bias) return sign | bf_format_inf(f);

    uint64_t kept = drop < 64 ? m >> drop : 0;
    uint64_t rest = m << (64 - drop);
    uint64_t half = (uint64_t)1 << 63;
    if (rest > half || (rest == half && (sticky || (kept & 1)))) kept++;
    /* The hidden bit of a normal number in `kept` adds one to the exponent field; so does a carry.
     */
    return sign | (kept + ((uint64_t)(subnormal ? 0 : e + bias - 1) << f.fraction));
}

/* The f32 that equals an f16, as bits. */
BF_RULE uint32_t bf_f16_to_f32(uint16_t half) {
    bf_format f16 = bf_format_f16(), f32 = bf_format_f32();
    bf_finite x = bf_decode(f16, half);
    uint32_t sign = x.negative ? (uint32_t)bf_format_sign(f32) : 0;
    if (bf_is_nan(f16, half)) return (uint32_t)bf_format_nan(f32);
    if (bf_is_inf(f16, half)) return sign | (uint32_t)bf_format_inf(f32);
    if (x.magnitude == 0) return sign;
    int shift = 64 - bf_bit_length(x.magnitude);
    int exponent = x.position + bf_format_least(f16) - shift;
    return (uint32_t)bf_encode(f32, x.negative, x.magnitude << shift, exponent, false);
}

#endif
