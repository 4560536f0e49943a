#include "verify_data.h"

#include <string.h>

const char *const data_names[DATA_KINDS] = {"plain", "wide", "special"};

/* The bits of a float: sign, exponent, mantissa. */
typedef struct float_layout {
    bf_dtype dtype;
    int exponent, mantissa;
} float_layout;

static const float_layout layouts[] = {
    {BF_F16, 5, 10}, {BF_BF16, 8, 7}, {BF_F32, 8, 23}, {BF_F64, 11, 52}};

static const float_layout *layout_of(bf_dtype dtype) {
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].dtype == dtype) return &layouts[i];
    return NULL;
}

bool data_is_float(bf_dtype dtype) { return layout_of(dtype) != NULL; }

/* SplitMix64 (Steele, Lea and Flood, 2014): element i's bits, whatever the order of asking. */
static uint64_t random_bits(uint64_t i) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t float_bits(const float_layout *f, enum data_kind kind, int64_t i, int64_t n) {
    const uint64_t greatest = ((uint64_t)1 << f->exponent) - 1, bias = greatest / 2;
    const bool opposite = kind != DATA_PLAIN && i % 2 == 1;
    const uint64_t r = random_bits((uint64_t)(opposite ? i - 1 : i));
    uint64_t exponent = bias - 1 - (r >> 53) % 8, mantissa = r & (((uint64_t)1 << f->mantissa) - 1);
    uint64_t sign = r >> 63 ^ opposite;
    if (kind != DATA_PLAIN) exponent = (r >> 52 & 0x7ff) % greatest;
    if (kind == DATA_SPECIAL && random_bits((uint64_t)i) % 97 == 0)
        exponent = greatest; /* infinite, or NaN if the mantissa is not 0 */
    if (kind == DATA_SPECIAL && random_bits((uint64_t)i) % 194 == 0) mantissa = 0;
    if (kind == DATA_WIDE && i == n - 1) {
        exponent = bias;
        mantissa = sign = 0;
    }
    return sign << (f->exponent + f->mantissa) | exponent << f->mantissa | mantissa;
}

static void store(void *buffer, int64_t i, size_t element, uint64_t bits) {
    char *to = (char *)buffer + (size_t)i * element;
    const uint8_t b8 = (uint8_t)bits;
    const uint16_t b16 = (uint16_t)bits;
    const uint32_t b32 = (uint32_t)bits;
    switch (element) {
    case 1: memcpy(to, &b8, 1); break;
    case 2: memcpy(to, &b16, 2); break;
    case 4: memcpy(to, &b32, 4); break;
    default: memcpy(to, &bits, 8); break;
    }
}

void data_fill(enum data_kind kind, bf_dtype dtype, void *buffer, int64_t n) {
    const float_layout *f = layout_of(dtype);
    const size_t element = bf_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = f ? float_bits(f, kind, i, n) : random_bits((uint64_t)i);
        if (dtype == BF_BOOL) bits &= 1;
        store(buffer, i, element, bits);
    }
}
