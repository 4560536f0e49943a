/* Exact sums as 32-bit limbs in shared memory, which take every exponent. Each limb starts in the
 * middle of its range, so that few additions wrap around; those that do carry to the next limb.
 * Other accesses to that memory are barriers away. */
#ifndef BF_CUDA_AXIS_INDEX_LIMBS_CUH
#define BF_CUDA_AXIS_INDEX_LIMBS_CUH

#include "rules/number/wide.h"
#include "rules/reduce/sum.h"

static const unsigned BF_CUDA_LIMB_MIDDLE = 1u << 31;

/* Limbs of a number: the shared address of the lowest, and bytes from one to the next. */
struct bf_cuda_limbs {
    unsigned at, step;
};

/* Returns how many limbs of a layout so many are kept: those of 2^31 terms. */
static __host__ __device__ constexpr int bf_cuda_limbs_of(int layout) {
    return layout > 0 ? layout - 1 : 0;
}

static __device__ __forceinline__ unsigned bf_cuda_shared_add(unsigned at, unsigned x) {
    unsigned before;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(at), "r"(x));
    return before;
}
static __device__ __forceinline__ unsigned bf_cuda_shared_load(unsigned at) {
    unsigned x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at));
    return x;
}
static __device__ __forceinline__ void bf_cuda_shared_store(unsigned at, unsigned x) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(x));
}

static __device__ __noinline__ void bf_cuda_limbs_carry(unsigned at, unsigned step, unsigned sign) {
    while ((bf_cuda_shared_add(at, sign | 1) ^ sign) == ~0u) at += step;
}

/* Adds a number of n limbs, or subtracts it (sign ~0), from limb number `limb` on. */
template <int n>
static __device__ __forceinline__ void bf_cuda_limbs_add(const bf_cuda_limbs &to, unsigned limb,
                                                         const unsigned (&part)[n], unsigned sign) {
    unsigned at = to.at + limb * to.step;
    bool carry = false;
#pragma unroll
    for (int k = 0; k < n; k++) {
        const unsigned x = part[k] + carry;
        carry = x < part[k];
        if (k < 2 || x != 0) carry |= (bf_cuda_shared_add(at, (x ^ sign) - sign) ^ sign) > ~x;
        at += to.step;
    }
    if (carry) bf_cuda_limbs_carry(at, to.step, sign);
}

/* Adds magnitude * 2^position, of up to 64 bits. */
static __device__ __forceinline__ void bf_cuda_limbs_add_wide(const bf_cuda_limbs &to, int position,
                                                              uint64_t magnitude, bool negative) {
    const unsigned shift = (unsigned)position % 32;
    const uint64_t low = magnitude << shift;
    const unsigned part[3] = {(unsigned)low, (unsigned)(low >> 32),
                              (unsigned)(magnitude >> 1 >> (63 - shift))};
    bf_cuda_limbs_add(to, (unsigned)position / 32, part, negative ? ~0u : 0);
}

/* Returns the leading bits of a number of so many limbs, which it makes those of its magnitude. */
static __device__ __noinline__ bf_leading bf_cuda_limbs_leading(bf_cuda_limbs from, int limbs,
                                                                int exponent, bool *negative) {
    int64_t carry = 0;
    unsigned at = from.at;
    for (int i = 0; i < limbs; i++, at += from.step) {
        carry += (int64_t)bf_cuda_shared_load(at) - BF_CUDA_LIMB_MIDDLE;
        bf_cuda_shared_store(at, (unsigned)carry);
        carry >>= 32;
    }
    *negative = carry < 0;
    const unsigned flip = (unsigned)carry;
    unsigned one = flip & 1;
    int top = -1, lowest = limbs;
    at = from.at;
    for (int i = 0; i < limbs; i++, at += from.step) {
        const unsigned x = (bf_cuda_shared_load(at) ^ flip) + one;
        one = one != 0 && x == 0;
        bf_cuda_shared_store(at, x);
        if (x != 0) {
            top = i;
            lowest = min(lowest, i);
        }
    }
    bf_leading r = {0, exponent, false};
    if (top < 0) return r;
    unsigned x[5];
#pragma unroll
    for (int i = 0; i < 5; i++)
        x[i] = top >= i ? bf_cuda_shared_load(from.at + (unsigned)(top - i) * from.step) : 0;
    const unsigned shift = (unsigned)__clz((int)x[0]);
    r.bits = (bf_u128)((uint64_t)x[0] << 32 | x[1]) << 64 | ((uint64_t)x[2] << 32 | x[3]);
    r.bits = r.bits << shift | (uint64_t)x[4] >> (32 - shift);
    r.exponent = exponent + 32 * (top - 3) - (int)shift;
    r.sticky = lowest < top - 4 || x[4] << shift != 0;
    return r;
}

#endif
