/* From the whole of a grid to words of a state, sent to the host, or to the result. */
#ifndef BF_CUDA_REDUCE_FINISH_CUH
#define BF_CUDA_REDUCE_FINISH_CUH

#include "cuda/reduce/sum_result.cuh"

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
    int64_t words[BF_SUM_WORDS_MAX + 4]; /* a state's; a carry of nothing may touch the last */
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

/* False: not in registers. */
static __device__ __noinline__ bool bf_cuda_finish_moments(const bf_cuda_params &p,
                                                           const bf_cuda_series &s,
                                                           const bf_cuda_pair *pairs) {
    bf_dtype out = bf_cuda_out_dtype(p.request);
    uint64_t bits;
    if (!bf_cuda_quick_moments(p.count, p.request.ddof, p.request.op == BF_STD, s, pairs,
                               bf_format_of(out), &bits))
        return false;
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
