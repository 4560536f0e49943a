/* Exact sums as limbs, 32 bits apart (rules/reduce/sum.h), to which threads add at once: int64
 * words in any memory, and limbs of 32 bits in shared memory, which take less of it. */
#ifndef BF_CUDA_REDUCE_SUM_LIMBS_CUH
#define BF_CUDA_REDUCE_SUM_LIMBS_CUH

#include "cuda/runtime/ptx.cuh"

#include "rules/number/wide.h"
#include "rules/reduce/sum.h"

/* --- words --- */

static __device__ __forceinline__ void bf_cuda_add_word(int64_t *word, int64_t x) {
    if (x != 0) atomicAdd((unsigned long long *)word, (unsigned long long)x);
}

/* Adds magnitude * 2^position to the three limbs from that of the position on. */
static __device__ __forceinline__ void bf_cuda_add_term(int64_t *limbs, int position,
                                                        uint64_t magnitude, bool negative) {
    int64_t part[3] = {0, 0, 0};
    bf_limbs_add(part, position % 32, magnitude, negative);
    for (int i = 0; i < 3; i++) bf_cuda_add_word(limbs + position / 32 + i, part[i]);
}

/* --- limbs in shared memory ---
 *
 * Each starts in the middle of its range, so that few additions wrap around; what an addition
 * returns shows whether it did, and then the next limb gets the carry. Other accesses to that
 * memory are barriers away. */

static const unsigned BF_CUDA_LIMB_MIDDLE = 1u << 31;

/* Limbs of a number: the shared address of the lowest, and bytes from one to the next. */
struct bf_cuda_limbs {
    unsigned at, step;
};

/* Returns how many limbs of a layout so many are kept: floats have one for more than 2^40 terms. */
static __host__ __device__ constexpr int bf_cuda_limbs_of(int layout) {
    return layout > 10 ? layout - 1 : layout;
}

/* Carries into at most so many limbs. */
static __device__ __noinline__ void bf_cuda_limbs_carry(unsigned at, unsigned step, int limbs,
                                                        unsigned sign) {
    for (; limbs > 0 && (bf_cuda_shared_add(at, sign | 1) ^ sign) == ~0u; limbs--) at += step;
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
    if (carry) bf_cuda_limbs_carry(at, to.step, BF_SUM_WORDS_MAX, sign);
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

static __device__ __forceinline__ int64_t bf_cuda_limb_value(unsigned at) {
    return (int64_t)bf_cuda_shared_load(at) - BF_CUDA_LIMB_MIDDLE;
}

/* The leading bits of the magnitude of a number of so many limbs. All limbs below one are less than
 * a unit of it together, and have the sign of the first that is not 0. */
static __device__ __noinline__ bf_leading bf_cuda_limbs_leading(bf_cuda_limbs from, int limbs,
                                                                int exponent, bool *negative) {
    bf_leading r = {0, exponent, false};
    int top = limbs - 1;
    while (top >= 0 && bf_cuda_limb_value(from.at + (unsigned)top * from.step) == 0) top--;
    *negative = top >= 0 && bf_cuda_limb_value(from.at + (unsigned)top * from.step) < 0;
    if (top < 0) return r;
    int64_t below = 0;
    for (int i = top - 6; i >= 0 && below == 0; i--)
        below = bf_cuda_limb_value(from.at + (unsigned)i * from.step);
    int64_t carry = below != 0 && (below < 0) != *negative ? -1 : 0;
    uint64_t word[3] = {0, 0, 0};
#pragma unroll
    for (int i = 0; i < 6; i++) {
        const int limb = top - 5 + i;
        const int64_t x = limb >= 0 ? bf_cuda_limb_value(from.at + (unsigned)limb * from.step) : 0;
        carry += *negative ? -x : x;
        word[i / 2] |= (uint64_t)(uint32_t)carry << 32 * (i % 2);
        carry >>= 32;
    }
    const int shift = __clzll((long long)word[2]);
    r.bits = ((bf_u128)word[2] << 64 | word[1]) << shift | word[0] >> 1 >> (63 - shift);
    r.exponent = exponent + 32 * (top - 3) - shift;
    r.sticky = below != 0 || word[0] << shift != 0;
    return r;
}

/* Sums of elements, or of products of two, in limbs: those of one thread, or of several that share
 * the limbs, each with counters of its own. */
struct bf_cuda_limb_sums {
    bf_cuda_limbs sum, products;
    bf_sum_shape shape;
    unsigned nans, pos_infs, neg_infs, invalid, neg_zeros;

    __device__ __forceinline__ void start(bf_kind kind, bf_dtype dtype, unsigned at,
                                          unsigned step) {
        shape = bf_sum_shape_of(kind, dtype);
        sum = {at, step};
        products = {at + (unsigned)bf_cuda_limbs_of(shape.sum.limbs) * step, step};
        nans = pos_infs = neg_infs = invalid = neg_zeros = 0;
    }
    __device__ __forceinline__ int limbs() const {
        return bf_cuda_limbs_of(shape.sum.limbs) + bf_cuda_limbs_of(shape.products.limbs);
    }
    __device__ __forceinline__ void count(int special) {
        nans += special == BF_SUM_NAN;
        pos_infs += special == BF_SUM_POS_INF;
        neg_infs += special == BF_SUM_NEG_INF;
        invalid += special == BF_SUM_INVALID;
    }
    __device__ __forceinline__ void add_product(int position, uint64_t a, uint64_t b,
                                                bool negative) {
        const bf_u128 x = (bf_u128)a * b;
        if (x != 0) bf_cuda_limbs_add_wide(products, position, (uint64_t)x, negative);
        if (x >> 64 != 0)
            bf_cuda_limbs_add_wide(products, position + 64, (uint64_t)(x >> 64), negative);
    }
    __device__ __forceinline__ void take_float(bf_kind kind, bf_dtype dtype, uint64_t x,
                                               uint64_t y) {
        const bf_format f = bf_format_of(dtype);
        const bool pair = shape.sum.limbs == 0;
        const int special = pair ? bf_sum_special_pair(f, x, y) : bf_sum_special(f, x);
        if (special != 0) {
            count(special);
            return;
        }
        const bf_finite a = bf_decode(f, x), b = bf_decode(f, y);
        if (kind == BF_KIND_SUM) neg_zeros += bf_sum_neg_zero(f, x);
        if (pair) neg_zeros += bf_sum_neg_zero_pair(f, x, y);
        if (!pair && a.magnitude != 0)
            bf_cuda_limbs_add_wide(sum, bf_sum_position(f, shape.sum, a.position, 1), a.magnitude,
                                   a.negative);
        if (kind != BF_KIND_SUM)
            add_product(bf_sum_position(f, shape.products, a.position + b.position, 2), a.magnitude,
                        b.magnitude, a.negative != b.negative);
    }
    __device__ __forceinline__ void take_integer(bf_kind kind, bf_dtype dtype, uint64_t x,
                                                 uint64_t y) {
        const bf_finite a = bf_decode_integer(dtype, x), b = bf_decode_integer(dtype, y);
        if (shape.sum.limbs > 0) bf_cuda_limbs_add_wide(sum, 0, a.magnitude, a.negative);
        if (kind != BF_KIND_SUM) add_product(0, a.magnitude, b.magnitude, a.negative != b.negative);
    }
    __device__ __forceinline__ void take(bf_kind kind, bf_dtype dtype, uint64_t x, uint64_t y) {
        if (bf_dtype_is_float(dtype))
            take_float(kind, dtype, x, y);
        else
            take_integer(kind, dtype, x, y);
    }
    /* The leading bits of the sum, or of the products. */
    __device__ __forceinline__ bf_leading leading(bool of_products, bool *negative) const {
        const bf_layout layout = of_products ? shape.products : shape.sum;
        return bf_cuda_limbs_leading(of_products ? products : sum, bf_cuda_limbs_of(layout.limbs),
                                     layout.exponent, negative);
    }
    /* Calls visit(word of a state, what it holds) for each limb. */
    template <class Visit> __device__ __forceinline__ void each_limb(const Visit &visit) const {
        const int sums = bf_cuda_limbs_of(shape.sum.limbs);
        for (int i = 0; i < limbs(); i++)
            visit(i < sums ? shape.sum_at + i : shape.products_at + i - sums,
                  bf_cuda_limb_value(sum.at + (unsigned)i * sum.step));
    }
};

#endif
