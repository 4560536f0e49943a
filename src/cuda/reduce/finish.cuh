/* From the whole of a grid to words of a state, sent to the host, or to the result. */
#ifndef BF_CUDA_REDUCE_FINISH_CUH
#define BF_CUDA_REDUCE_FINISH_CUH

#include "cuda/reduce/kernel.cuh"

#include "rules/reduce/result.h"
#include "rules/reduce/sum_window.h"

/* --- results --- */

static __device__ bf_reduce_options bf_cuda_options(const bf_cuda_request &r) {
    bf_reduce_options o;
    o.size = sizeof o;
    o.nan = r.nan;
    o.out_dtype = r.out_dtype;
    o.ddof = r.ddof;
    o.overflow = r.overflow;
    return o;
}

/* Shared memory, since a stack would be one for every thread of the GPU. */
struct bf_cuda_desk {
    bf_work work;
    int64_t words[BF_SUM_WORDS_MAX + 4]; /* of a state; a carry of nothing may touch the last */
};

/* The result of words of an exact kind, which the compiler knows: code for all of them in every
 * kernel would be most of it. */
template <bf_kind Kind>
static __device__ void bf_cuda_finish_words(const bf_cuda_params &p, bf_cuda_desk *desk) {
    bf_reduce_options options = bf_cuda_options(p.request);
    bf_value value = bf_value_from_bits(BF_U64, 0);
    bf_status status = bf_result_of_kind(Kind, p.request.op, p.request.dtype, desk->words, &options,
                                         &value, &desk->work);
    if (status != BF_OK) value.dtype = BF_NONE;
    *p.value = value;
}

/* --- exact kinds --- */

/* What the sums of an exact kind are: first those of x, then those of products. Sum i of a series
 * weighs 2^(bottom - spacing * i). */
struct bf_cuda_series {
    int sums, products;
    int sum_bottom, product_bottom, spacing;

    __host__ __device__ int count() const { return sums + products; }
    __host__ __device__ int exponent(int i) const {
        return i < sums ? sum_bottom - spacing * i : product_bottom - spacing * (i - sums);
    }
};

/* Adds sums [first, end) to limbs whose last bit weighs 2^exponent. */
static __host__ __device__ inline void bf_cuda_add_sums(const bf_cuda_series &s, int first, int end,
                                                        const bf_cuda_pair *pairs, int exponent,
                                                        int64_t *limbs) {
    BF_ROLLED
    for (int i = first; i < end; i++) {
        bf_limbs_add_signed(limbs, s.exponent(i) - exponent, pairs[i].lo);
        bf_limbs_add_signed(limbs, s.exponent(i) - exponent + 32, pairs[i].hi);
    }
}

/* BF_CUDA_ZEROS_ALL: sets the number of -0 in words that have taken all else: of all finite terms,
 * or of none. Terms with minus signs alone sum to zero only if all are -0. */
static __host__ __device__ inline void bf_cuda_count_if_all(bf_kind kind, bf_dtype dtype,
                                                            const bf_cuda_series &s,
                                                            const bf_cuda_pair *pairs,
                                                            unsigned flags, int64_t *words) {
    if (!bf_sum_counts_zeros(kind, dtype)) return;
    bool zero = words[BF_SUM_NEG_ZERO] == 0 && (flags & BF_CUDA_POSITIVE) == 0;
    for (int i = 0; i < s.count(); i++) zero = zero && pairs[i].lo == 0 && pairs[i].hi == 0;
    words[BF_SUM_NEG_ZERO] = zero ? bf_sum_finite(words) : 0;
}

/* Adds `count` elements with these sums to words, which have taken the rest of them. -0 are counted
 * elsewhere. */
static __host__ __device__ inline void bf_cuda_add_to_words(bf_kind kind, bf_dtype dtype,
                                                            const bf_cuda_series &s,
                                                            const bf_cuda_pair *pairs,
                                                            int64_t count, int64_t *words) {
    bf_sum_shape shape = bf_sum_shape_of(kind, dtype);
    words[BF_SUM_COUNT] += count;
    bf_cuda_add_sums(s, 0, s.sums, pairs, shape.sum.exponent, words + shape.sum_at);
    bf_cuda_add_sums(s, s.sums, s.count(), pairs, shape.products.exponent,
                     words + shape.products_at);
    bf_sum_carry(kind, dtype, words);
}

/* --- results of sums alone, in registers --- */

/* An integer of W 64-bit words, two's complement. */
template <int W> struct bf_cuda_long {
    uint64_t w[W];

    /* x = x * 2^shift + y, for 0 < shift < 64. */
    __device__ __forceinline__ void push(int shift, bf_i128 y) {
        uint64_t below = 0, carry = 0;
        bf_i128 sign = y < 0 ? -1 : 0;
#pragma unroll
        for (int i = 0; i < W; i++) {
            uint64_t shifted = w[i] << shift | below;
            below = w[i] >> (64 - shift);
            uint64_t part = i == 0 ? (uint64_t)y : i == 1 ? (uint64_t)(y >> 64) : (uint64_t)sign;
            bf_u128 sum = (bf_u128)shifted + part + carry;
            w[i] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
    }
    /* x = x * factor, for x >= 0. */
    __device__ __forceinline__ void multiply(uint64_t factor) {
        uint64_t carry = 0;
#pragma unroll
        for (int i = 0; i < W; i++) {
            bf_u128 product = (bf_u128)w[i] * factor + carry;
            w[i] = (uint64_t)product;
            carry = (uint64_t)(product >> 64);
        }
    }
    /* x = x * 2^shift, for 0 <= shift < 128. */
    __device__ __forceinline__ void shift_up(int shift) {
        const bool word = shift >= 64;
        const int bits = shift % 64;
#pragma unroll
        for (int i = W - 1; i >= 0; i--) {
            uint64_t high = word ? (i > 0 ? w[i - 1] : 0) : w[i];
            uint64_t low = word ? (i > 1 ? w[i - 2] : 0) : i > 0 ? w[i - 1] : 0;
            w[i] = high << bits | low >> 1 >> (63 - bits);
        }
    }
    __device__ __forceinline__ void subtract(const bf_cuda_long &x) {
        uint64_t borrow = 0;
#pragma unroll
        for (int i = 0; i < W; i++) {
            bf_u128 difference = (bf_u128)w[i] - x.w[i] - borrow;
            w[i] = (uint64_t)difference;
            borrow = (uint64_t)(difference >> 64) & 1;
        }
    }
    __device__ __forceinline__ bool is_negative() const { return w[W - 1] >> 63 != 0; }
    __device__ __forceinline__ void negate() {
        uint64_t carry = 1;
#pragma unroll
        for (int i = 0; i < W; i++) {
            w[i] = ~w[i] + carry;
            carry = carry != 0 && w[i] == 0;
        }
    }
    /* The leading 128 bits of an integer that is not negative, in units of 2^exponent. */
    __device__ __forceinline__ bf_leading leading(int exponent) {
        bf_leading r;
        int zeros = 0;
#pragma unroll
        for (int k = 1; k < W; k++) {
            bool empty = w[W - 1] == 0;
#pragma unroll
            for (int i = W - 1; i >= 0; i--) w[i] = !empty ? w[i] : i > 0 ? w[i - 1] : 0;
            zeros += empty ? 64 : 0;
        }
        int shift = w[W - 1] != 0 ? __clzll((long long)w[W - 1]) : 0;
        uint64_t rest = W > 2 ? w[W - 3] : 0, sticky = rest << shift;
        for (int i = 0; i < W - 3; i++) sticky |= w[i];
        r.bits = (bf_u128)w[W - 1] << 64 | w[W - 2];
        if (shift > 0) r.bits = r.bits << shift | rest >> (64 - shift);
        r.exponent = exponent + 64 * (W - 2) - zeros - shift;
        r.sticky = sticky != 0;
        return r;
    }
};

/* The sums of a series as one integer, in units of the last one's weight. */
template <int W>
static __device__ bf_cuda_long<W> bf_cuda_total(const bf_cuda_series &s,
                                                const bf_cuda_pair *pairs) {
    bf_cuda_long<W> x = {};
    bool descending = s.spacing > 0;
    BF_ROLLED
    for (int i = 0; i < s.count(); i++) {
        bf_cuda_pair p = pairs[descending ? i : s.count() - 1 - i];
        x.push(descending ? s.spacing : -s.spacing, ((bf_i128)p.hi << 32) + p.lo);
    }
    return x;
}

/* The format of a result that is rounded. */
static __device__ bf_dtype bf_cuda_out_dtype(const bf_cuda_request &r) {
    return r.out_dtype == BF_F32 ? BF_F32 : BF_F64;
}

template <int W>
static __device__ void bf_cuda_finish_integer(const bf_cuda_params &p, const bf_cuda_series &s,
                                              const bf_cuda_pair *pairs) {
    bf_cuda_long<W> x = bf_cuda_total<W>(s, pairs);
    bf_value v = bf_value_from_bits(BF_U64, 0);
    v.dtype = BF_I192;
    for (int i = 0; i < 3; i++) v.as.i192[i] = x.w[i];
    *p.value = v;
}

/* The magnitude of the sums of a series, and its sign. */
template <int W>
static __device__ bf_leading bf_cuda_leading(const bf_cuda_series &s, const bf_cuda_pair *pairs,
                                             bool *negative) {
    bf_cuda_long<W> x = bf_cuda_total<W>(s, pairs);
    *negative = x.is_negative();
    if (*negative) x.negate();
    return x.leading(s.spacing > 0 ? s.exponent(s.count() - 1) : 0);
}

/* A sum, a mean, a dot product, a norm: of one series. */
template <bf_dtype D, bf_kind Kind>
static __device__ void bf_cuda_finish_one(const bf_cuda_params &p, const bf_cuda_series &s,
                                          const bf_cuda_pair *pairs, unsigned flags) {
    const bf_cuda_request &r = p.request;
    if (bf_result_is_integer(r.op, D, r.out_dtype)) {
        if (s.count() <= 3)
            bf_cuda_finish_integer<3>(p, s, pairs);
        else
            bf_cuda_finish_integer<6>(p, s, pairs);
        return;
    }
    bf_format f = bf_format_of(bf_cuda_out_dtype(r));
    bool negative;
    bf_leading l = s.count() <= 3 ? bf_cuda_leading<3>(s, pairs, &negative)
                                  : bf_cuda_leading<6>(s, pairs, &negative);
    if (Kind == BF_KIND_SUM && r.op == BF_MEAN && l.bits != 0)
        l = bf_leading_divide(l, (uint64_t)p.count);
    if (Kind == BF_KIND_SQUARES && r.op == BF_NORM && l.bits != 0) l = bf_leading_root(l);
    bool minus_zero =
        l.bits == 0 && bf_sum_counts_zeros(Kind, D) && (flags & BF_CUDA_POSITIVE) == 0;
    uint64_t bits = l.bits != 0  ? bf_leading_round(f, negative, l)
                    : minus_zero ? bf_format_sign(f)
                                 : 0;
    *p.value = bf_value_from_bits(bf_cuda_out_dtype(r), bits);
}

/* --- variances --- */

/* The first n words of x, which is not negative, squared. */
template <int n, int W>
static __device__ __forceinline__ bf_cuda_long<W> bf_cuda_square(const bf_cuda_long<n> &x) {
    bf_cuda_long<W> r = {};
#pragma unroll
    for (int i = 0; i < n; i++) {
        uint64_t carry = 0;
#pragma unroll
        for (int j = 0; j < n; j++) {
            bf_u128 product = (bf_u128)x.w[i] * x.w[j] + r.w[i + j] + carry;
            r.w[i + j] = (uint64_t)product;
            carry = (uint64_t)(product >> 64);
        }
        r.w[i + n] = carry;
    }
    return r;
}

/* The variance n * sum x^2 - (sum x)^2 = l, by n * m, or its root, in registers. The quotient keeps
 * 55 bits of 128: as many as its rounding needs, if n is below 2^36. What is cut off may make the
 * root larger by less than `more` in 2^64, and formats' values, and the middles between them, are
 * 2^10 of these apart. False: it needs more bits. */
static __device__ bool bf_cuda_quick_quotient(bf_leading l, uint64_t n, uint64_t m, bool root,
                                              bf_leading *q) {
    const bf_u128 by_n = l.bits / n;
    q->bits = by_n / m;
    q->sticky = l.sticky || by_n * n != l.bits || q->bits * m != by_n;
    const int shift = 128 - bf_bit_length128(q->bits);
    q->bits <<= shift;
    q->exponent = l.exponent - shift;
    if (!root) return true;
    const bool is_cut = q->sticky;
    const uint64_t more = 2 + (shift > 64 ? (uint64_t)1 << (shift - 64) : 0);
    *q = bf_leading_root(*q);
    return !is_cut || (uint64_t)(q->bits >> 64) % 1024 + more < 1024;
}

/* (n * sum x^2 - (sum x)^2) / (n * (n - ddof)) in registers. False: their weights are so far apart,
 * or n is so large, that it needs more bits. Else products are below 2^356, and all of it is below
 * 2^484. */
static __device__ bool bf_cuda_quick_moments(const bf_cuda_params &p, const bf_cuda_series &s,
                                             const bf_cuda_pair *pairs, bf_format f,
                                             uint64_t *bits) {
    const int weight_0 = s.spacing > 0 ? s.exponent(s.sums - 1) : 0;
    const int weight_1 = s.spacing > 0 ? s.exponent(s.count() - 1) : 0;
    const int up = weight_1 - 2 * weight_0;
    const uint64_t n = (uint64_t)p.count, m = n - (uint64_t)p.request.ddof;
    if (up <= -128 || up >= 128 || n >> 36 != 0) return false;
    *bits = bf_format_nan(f);
    if (p.count <= p.request.ddof) return true;
    const bf_cuda_series of_sums = {s.sums, 0, 0, 0, s.spacing};
    const bf_cuda_series of_squares = {s.products, 0, 0, 0, s.spacing};
    bf_cuda_long<3> sum = bf_cuda_total<3>(of_sums, pairs);
    if (sum.is_negative()) sum.negate();
    bf_cuda_long<8> x = bf_cuda_total<8>(of_squares, pairs + s.sums);
    bf_cuda_long<8> square = bf_cuda_square<3, 8>(sum);
    x.multiply(n);
    if (up > 0) x.shift_up(up);
    if (up < 0) square.shift_up(-up);
    x.subtract(square);
    bf_leading l = x.leading(up > 0 ? 2 * weight_0 : weight_1);
    *bits = 0;
    if (l.bits == 0) return true;
    if (!bf_cuda_quick_quotient(l, n, m, p.request.op == BF_STD, &l)) return false;
    *bits = bf_leading_round(f, false, l);
    return true;
}

/* False: not in registers. */
static __device__ __noinline__ bool bf_cuda_finish_moments(const bf_cuda_params &p,
                                                           const bf_cuda_series &s,
                                                           const bf_cuda_pair *pairs) {
    bf_dtype out = bf_cuda_out_dtype(p.request);
    uint64_t bits;
    if (!bf_cuda_quick_moments(p, s, pairs, bf_format_of(out), &bits)) return false;
    *p.value = bf_value_from_bits(out, bits);
    return true;
}

/* --- results of everything else, through the words of a state --- */

/* The words that went by exponent, and those of sums. */
template <bf_kind Kind>
static __device__ void bf_cuda_finish_state(const bf_cuda_params &p, const bf_cuda_series &s,
                                            const bf_cuda_pair *pairs, unsigned flags,
                                            bf_cuda_desk *d) {
    const int words = bf_sum_shape_of(Kind, p.request.dtype).words;
    for (int i = (int)threadIdx.x; i < words; i += (int)blockDim.x) {
        bool some = (flags & BF_CUDA_BY_RULES) != 0;
        d->words[i] = some ? *(volatile int64_t *)&p.scratch->words[i] : 0;
        if (some) p.scratch->words[i] = 0;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    bf_cuda_add_to_words(Kind, p.request.dtype, s, pairs, p.count, d->words);
    bf_cuda_count_if_all(Kind, p.request.dtype, s, pairs, flags, d->words);
    bf_cuda_finish_words<Kind>(p, d);
}

/* Moves the grid's words to the letter, where they stay until the host has read them. */
static __device__ void bf_cuda_send_words(const bf_cuda_params &p) {
    BF_ROLLED
    for (int i = (int)threadIdx.x; i < BF_SUM_WORDS_MAX; i += (int)blockDim.x) {
        *(volatile int64_t *)&p.letter->plain[i] = *(volatile int64_t *)&p.scratch->words[i];
        p.scratch->words[i] = 0;
    }
    __threadfence_system();
    __syncthreads();
}

/* The letter of an exact kind: flags and counts, bottoms, the number of -0, the pairs, the side's
 * words. */
enum { BF_CUDA_LETTER_HEAD = 4 };

static __device__ void bf_cuda_send_sum(const bf_cuda_params &p, const bf_cuda_series &s,
                                        const bf_cuda_pair *pairs, int64_t zeros, unsigned flags,
                                        const int64_t *side, int n_side) {
    __shared__ int64_t words[BF_CUDA_LETTER_WORDS];
    if (flags & BF_CUDA_BY_RULES) bf_cuda_send_words(p);
    if (threadIdx.x >= BF_CUDA_WARP) return;
    if (threadIdx.x == 0) {
        words[0] = flags | (int64_t)s.sums << 8 | (int64_t)s.products << 16 |
                   (int64_t)n_side << 24 | (int64_t)s.spacing << 32;
        words[1] = s.sum_bottom;
        words[2] = s.product_bottom;
        words[3] = zeros;
    }
    BF_ROLLED
    for (int i = (int)threadIdx.x; i < 2 * s.count(); i += BF_CUDA_WARP)
        words[BF_CUDA_LETTER_HEAD + i] = i % 2 ? pairs[i / 2].hi : pairs[i / 2].lo;
    BF_ROLLED
    for (int i = (int)threadIdx.x; i < n_side; i += BF_CUDA_WARP)
        words[BF_CUDA_LETTER_HEAD + 2 * s.count() + i] = side[i];
    __syncwarp();
    bf_cuda_send(p.letter, p.number, words, BF_CUDA_LETTER_HEAD + 2 * s.count() + n_side);
}

/* All threads of the last block: sends the whole, or computes the result. Sends: never computes a
 * result, for a state that lasts. */
template <bf_dtype D, bf_kind Kind, class Side, bool Sends>
static __device__ void bf_cuda_finish(const bf_cuda_params &p, const bf_cuda_series &s,
                                      const bf_cuda_pair *pairs, int64_t zeros, unsigned flags,
                                      const int64_t *side) {
    __shared__ bf_cuda_desk desk;
    bool by_words = (flags & BF_CUDA_BY_RULES) != 0;
    if (by_words) __threadfence();
    if (Sends || Kind == BF_KIND_DESCRIPTION || p.value == nullptr) {
        bf_cuda_send_sum(p, s, pairs, zeros, flags, side, Side::words);
        return;
    }
    if (!by_words && Kind == BF_KIND_MOMENTS)
        by_words = !__syncthreads_or(threadIdx.x == 0 && bf_cuda_finish_moments(p, s, pairs));
    else if (!by_words && threadIdx.x == 0)
        bf_cuda_finish_one<D, Kind>(p, s, pairs, flags);
    if (by_words) bf_cuda_finish_state<Kind>(p, s, pairs, flags, &desk);
}

/* --- on the host --- */

/* The words of the state of what a job had, from the letter: its plain words, and those of the
 * chunks. */
template <class Side>
static void bf_cuda_receive(const bf_job *job, const int64_t *chunks, const int64_t *plain,
                            int64_t *words) {
    unsigned flags = (unsigned)chunks[0] & 0xff;
    bf_cuda_series s = {(int)(chunks[0] >> 8 & 0xff), (int)(chunks[0] >> 16 & 0xff), (int)chunks[1],
                        (int)chunks[2], (int)(chunks[0] >> 32)};
    bf_cuda_pair pairs[2 * BF_LEVELS_MAX];
    const int64_t *at = chunks + BF_CUDA_LETTER_HEAD;
    for (int i = 0; i < s.count(); i++, at += 2) pairs[i] = {at[0], at[1]};
    int exact = job->kind == BF_KIND_DESCRIPTION ? bf_extreme_at(job->kind, job->dtype) : 0;
    if (s.count() > 0) {
        bf_kind kind = exact > 0 ? BF_KIND_MOMENTS : job->kind;
        bf_sum_shape shape = bf_sum_shape_of(kind, job->dtype);
        for (int i = 0; i < shape.words; i++) words[i] = flags & BF_CUDA_BY_RULES ? plain[i] : 0;
        bf_cuda_add_to_words(kind, job->dtype, s, pairs, job->count, words);
        if (job->every_zero)
            words[BF_SUM_NEG_ZERO] += chunks[3];
        else
            bf_cuda_count_if_all(kind, job->dtype, s, pairs, flags, words);
    }
    Side::state(at, job->count, job->index, words + exact);
}

#endif
