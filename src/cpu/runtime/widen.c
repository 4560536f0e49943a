/* Conversion of 16-bit floats to f32, which is exact. */
#include "cpu/runtime/context.h"

#include "rules/number/format.h"

enum { BLOCK = 4096 };

static void widen_block(const bf_isa *isa, bf_dtype dtype, const uint16_t *from, float *to,
                        size_t n) {
    if (dtype == BF_F16 && isa->widen_f16) {
        isa->widen_f16(from, to, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = dtype == BF_BF16 ? (uint32_t)from[i] << 16 : bf_f16_to_f32(from[i]);
        memcpy(&to[i], &bits, sizeof bits);
    }
}

void bf_widen_halves(const bf_isa *isa, bf_dtype dtype, const char *from, float *to, size_t n) {
    uint16_t block[BLOCK]; /* from may be misaligned */
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        memcpy(block, from + 2 * at, count * sizeof *block);
        widen_block(isa, dtype, block, to + at, count);
    }
}
