#include "works/data.h"

#include "runtime/random.h"

#include <string.h>

const char *const data_names[DATA_KINDS] = {"plain", "normal",    "2^+-100", "full range",
                                            "wide",  "subnormal", "special"};

#define BF_X(id, ...) BF_##id,
const bf_dtype data_dtypes[] = {BF_DTYPE_LIST(BF_X) BF_NONE};
const bf_reduction data_reductions[] = {BF_REDUCTION_LIST(BF_X) 0};
#undef BF_X

/* Widths in bits. */
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

size_t data_size(bf_dtype dtype) {
    return dtype == BF_PAIR ? 2 * sizeof(uint64_t) : bf_dtype_size(dtype);
}

/* Returns a normally distributed number, truncated to the mantissa; 0 if it is subnormal. It is the
 * sum of twelve uniform numbers minus 6, which is exact in 64 bits. */
static uint64_t normal_bits(const float_layout *f, int64_t i) {
    int64_t sum = -6 * ((int64_t)1 << 32);
    for (uint64_t k = 0; k < 12; k++)
        sum += (int64_t)(random_output(0, 12 * (uint64_t)i + k) >> 32);
    const double x = (double)sum * 0x1p-32;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int bias = (1 << (f->exponent - 1)) - 1, exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    const uint64_t sign = bits >> 63 << (f->exponent + f->mantissa);
    if (x == 0 || exponent + bias < 1) return sign;
    return sign | (uint64_t)(exponent + bias) << f->mantissa |
           (bits & (((uint64_t)1 << 52) - 1)) >> (52 - f->mantissa);
}

/* any: random bits, as many as an exponent of f64 has. greatest: the exponent of infinity. */
static uint64_t exponent_of(enum data_kind kind, uint64_t any, uint64_t greatest) {
    const uint64_t bias = greatest / 2, reach = bias - 1 < 100 ? bias - 1 : 100;
    switch (kind) {
    case DATA_PLAIN: return bias - 1 - (any >> 1) % 8;
    case DATA_SPREAD: return bias - reach + any % (2 * reach + 1);
    case DATA_SUBNORMAL: return any % 16 == 0;
    default: return any % greatest;
    }
}

static uint64_t float_bits(const float_layout *f, enum data_kind kind, int64_t i, int64_t n) {
    const uint64_t greatest = ((uint64_t)1 << f->exponent) - 1;
    const bool cancels = kind == DATA_WIDE || kind == DATA_SPECIAL;
    const bool opposite = cancels && i % 2 == 1;
    const uint64_t r = random_output(0, (uint64_t)(opposite ? i - 1 : i));
    uint64_t exponent = exponent_of(kind, r >> 52 & 0x7ff, greatest);
    uint64_t mantissa = r & (((uint64_t)1 << f->mantissa) - 1), sign = r >> 63 ^ opposite;
    if (kind == DATA_NORMAL) return normal_bits(f, i);
    if (kind == DATA_SPECIAL && random_output(0, (uint64_t)i) % 97 == 0)
        exponent = greatest; /* infinity, or NaN if the mantissa is not 0 */
    if (kind == DATA_SPECIAL && random_output(0, (uint64_t)i) % 194 == 0) mantissa = 0;
    if (kind == DATA_WIDE && i == n - 1) {
        exponent = greatest / 2;
        mantissa = sign = 0;
    }
    return sign << (f->exponent + f->mantissa) | exponent << f->mantissa | mantissa;
}

static void store_element(void *buffer, int64_t i, size_t element, uint64_t bits) {
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
        uint64_t bits = f ? float_bits(f, kind, i, n) : random_output(0, (uint64_t)i);
        if (dtype == BF_BOOL) bits &= 1;
        store_element(buffer, i, element, bits);
    }
}

void data_fill_keys(enum data_kind kind, bf_dtype dtype, void *buffer, int64_t n,
                    int64_t different) {
    const size_t element = data_size(dtype);
    char *keys = buffer;
    if (dtype == BF_PAIR) data_fill(kind, BF_U64, buffer, 2 * n);
    if (dtype != BF_PAIR && dtype != BF_NONE) data_fill(kind, dtype, buffer, n);
    for (int64_t i = different; i < n; i++) {
        const uint64_t from = random_output(0, (uint64_t)i) % (uint64_t)different;
        memcpy(keys + (size_t)i * element, keys + from * element, element);
    }
}
