/* Conversion of 16-bit floats to f32, which is exact. */
#include "cpu/runtime/context.h"

#include "rules/number/format.h"

void bf_widen_halves(const bf_isa *isa, bf_dtype dtype, const char *from, float *to, size_t n) {
    if (dtype == BF_F16 && isa->widen_f16) {
        isa->widen_f16(from, to, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, from + 2 * i, sizeof half);
        uint32_t bits = dtype == BF_BF16 ? (uint32_t)half << 16 : bf_f16_to_f32(half);
        memcpy(&to[i], &bits, sizeof bits);
    }
}
