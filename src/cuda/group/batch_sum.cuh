/* Terms of exact sums, and their addition to accumulators in shared memory (batch_values.cu).
 *
 * A sum has limbs of 32 bits there, because shared memory adds these fast. They are a number in
 * two's complement: the word that an addition returns shows whether it wrapped around, and the next
 * limb gets the carry. Each limb starts in the middle of its range, so that carries beyond a
 * value's own limbs are rare if signs mix. A thread adds several rows at a time, limb by limb, so
 * that additions overlap; none branches: a lane without a term adds to a word of its own. */
#ifndef BF_CUDA_GROUP_BATCH_SUM_CUH
#define BF_CUDA_GROUP_BATCH_SUM_CUH

#include "cuda/group/batch_view.cuh"
#include "cuda/runtime/warp.cuh"

namespace {

/* Rows of f64, or of integers, at a time: as many as registers allow. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
const int ROWS_AHEAD = 3;
#else
const int ROWS_AHEAD = 4;
#endif

/* Terms of floats of dtype D, or of integers (BF_NONE). Factors: 1, or 2 for squares. */
template <bf_dtype D, int Factors> struct Terms {
    static constexpr bool is_float = D != BF_NONE;
    static constexpr int PARTS =
        D == BF_F64 || D == BF_NONE ? (Factors == 1 ? 3 : 5) : (Factors == 1 ? 2 : 3);

    /* Rows at a time: as many as registers allow. */
    static constexpr int AHEAD = Factors == 2 || D == BF_F16 || D == BF_BF16 ? 2
                                 : D == BF_F32                               ? 3
                                                                             : ROWS_AHEAD;

    /* A term: its limbs, shifted to their position in the first, which is limb number `limb`. */
    struct term {
        unsigned part[PARTS], position; /* position: before the value is squared and shifted */
        int limb;
        unsigned sign; /* all ones: it is subtracted */
    };
    static __device__ __forceinline__ bool is_special(uint64_t bits) {
        if (D == BF_F64) return bf_cuda_is_special(bf_format_of(D), bits);
        unsigned sign = (unsigned)bf_format_sign(bf_format_of(D)),
                 inf = (unsigned)bf_format_inf(bf_format_of(D));
        return ((unsigned)bits & ~sign) - 1 >= inf - 1;
    }
    static __device__ __forceinline__ bool is_negative_zero(uint64_t bits) {
        return is_float && bits == bf_format_sign(bf_format_of(D));
    }
    /* Decodes as bf_decode and bf_decode_integer, in words of 32 bits. */
    static __device__ __forceinline__ void decode(const bf_cuda_aggregate_params &p, uint64_t bits,
                                                  unsigned *low, unsigned *high, unsigned *position,
                                                  unsigned *sign) {
        if (!is_float) {
            bf_finite d = bf_decode_integer(p.dtype, bits);
            *low = (unsigned)d.magnitude;
            *high = (unsigned)(d.magnitude >> 32);
            *position = 0;
            *sign = d.negative ? ~0u : 0;
            return;
        }
        const bf_format f = bf_format_of(D);
        const int fraction = D == BF_F64 ? 20 : f.fraction;
        unsigned top = D == BF_F64 ? (unsigned)(bits >> 32) : (unsigned)bits;
        unsigned field = top >> fraction & ((1u << f.exponent) - 1), normal = min(field, 1u);
        unsigned magnitude = (top & ((1u << fraction) - 1)) | normal << fraction;
        *low = D == BF_F64 ? (unsigned)bits : magnitude;
        *high = D == BF_F64 ? magnitude : 0;
        *position = field - normal;
        *sign = (unsigned)((int)(top << (31 - fraction - f.exponent)) >> 31);
    }
    static __device__ __forceinline__ term make_term(const bf_cuda_aggregate_params &p,
                                                     uint64_t bits) {
        unsigned word[5] = {0, 0, 0, 0, 0}, position;
        term t;
        decode(p, bits, &word[0], &word[1], &position, &t.sign);
        t.position = position;
        if (Factors == 2) {
            uint64_t x = (uint64_t)word[1] << 32 | word[0], low = x * x, high = __umul64hi(x, x);
            word[0] = (unsigned)low;
            word[1] = (unsigned)(low >> 32);
            word[2] = (unsigned)high;
            word[3] = (unsigned)(high >> 32);
            t.sign = 0;
        }
        bf_layout layout = Factors == 1 ? bf_layout_sum(D) : bf_layout_products(D);
        int offset = is_float ? bf_sum_position(bf_format_of(D), layout, 0, Factors) : 0;
        position = Factors * position + (unsigned)offset;
        t.limb = (int)(position >> 5);
#pragma unroll
        for (int k = 0; k < PARTS; k++)
            t.part[k] = __funnelshift_l(k > 0 ? word[k - 1] : 0, word[k], position);
        return t;
    }
    /* Sets the range of positions whose terms begin in limb `low` or above and are finite. */
    static __device__ __forceinline__ void set_range(batch_view *v, int end) {
        bf_layout layout = Factors == 1 ? bf_layout_sum(D) : bf_layout_products(D);
        int offset = is_float ? bf_sum_position(bf_format_of(D), layout, 0, Factors) : 0;
        int least = (32 * v->low - offset + Factors - 1) / Factors;
        least = 32 * v->low <= offset ? 0 : min(least, end);
        v->least = (unsigned)least;
        v->range = (unsigned)(end - least);
    }
    /* Adds terms to the accumulators of their groups; `at`: this lane's copies. It adds one limb of
     * all terms at a time, so that they do not wait for each other. */
    static __device__ __forceinline__ void add_terms(const batch_view &v, term *t, unsigned *at) {
        const unsigned step = 4 * v.stride;
        unsigned carry[AHEAD], before[AHEAD];
#pragma unroll
        for (int j = 0; j < PARTS; j++) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                unsigned x = t[k].part[j] + (j > 0 ? carry[k] : 0),
                         signed_x = (x ^ t[k].sign) - t[k].sign;
                bool idle = x == 0; /* there may be no such limb */
                before[k] = bf_cuda_shared_add(idle ? v.none_at : at[k], signed_x);
                t[k].part[j] = x;
                at[k] += step;
            }
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                bool wrapped = j > 0 && t[k].part[j] < carry[k];
                carry[k] = (before[k] ^ t[k].sign) > ~t[k].part[j] || wrapped;
            }
        }
        unsigned any = 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) any |= carry[k];
        if (any == 0) return;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (carry[k] != 0)
                bf_cuda_limbs_carry(at[k], step, v.limbs - (t[k].limb - v.low) - PARTS, t[k].sign);
    }
    /* Returns the end of the positions that the band was prepared for. The last limb is for
     * carries. */
    static __host__ int end_of(const bf_cuda_band *band) {
        bf_format f = bf_format_of(D);
        int all = is_float ? (1 << f.exponent) - 2 : 1, top = band->to - 1;
        if (!is_float || top + 1 == band->layout.limbs) return all;
        int offset = bf_sum_position(f, band->layout, 0, Factors);
        int room = 32 * top - offset - Factors * (f.fraction + 1),
            end = room < 0 ? 0 : room / Factors + 1;
        return end < all ? end : all;
    }
    /* Adds a value below the accumulators' limbs to the limbs of its group. */
    static __device__ __noinline__ void add_far(const batch_values_params &p, uint64_t bits,
                                                int64_t number) {
        term t = make_term(p.aggregate, bits);
        int64_t *to = p.words + number * p.limbs + (t.limb - p.first);
        for (int k = 0; k < PARTS; k++)
            bf_cuda_add_word(to + k, t.sign != 0 ? -(int64_t)t.part[k] : (int64_t)t.part[k]);
    }
    /* Absorbs a value that accumulators do not hold: NaN, infinity, -0, or one far below. Notes a
     * value that was not prepared for. */
    static __device__ __noinline__ void absorb_special(const batch_values_params &p, uint64_t bits,
                                                       int64_t number) {
        bool special = is_float && is_special(bits);
        term t = make_term(p.aggregate, bits);
        if (special && !p.counts_specials) return;
        if (special ? p.aggregate.specials == NULL : t.limb < p.first || (int)t.position >= p.end)
            p.notes[NOTE_OUTSIDE] = 1;
        else if (special)
            bf_cuda_count_special(p.aggregate, bf_format_of(D), bits, number);
        else
            add_far(p, bits, number);
    }
    /* Absorbs a value that was not prepared for in the first pass. */
    static __device__ __noinline__ void absorb_outside(const batch_values_params &p, uint64_t bits,
                                                       int64_t number) {
        bool special = is_float && is_special(bits);
        term t = make_term(p.aggregate, bits);
        bool before =
            special ? p.had_specials : t.limb >= p.done_first && (int)t.position < p.done_end;
        if (!before) absorb_special(p, bits, number);
    }
    static __device__ __forceinline__ void absorb(const batch_values_params &p, const batch_view &v,
                                                  const uint64_t *bits, const unsigned *entry,
                                                  int) {
        term t[AHEAD];
        unsigned at[AHEAD];
        bool far[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            t[k] = make_term(p.aggregate, bits[k]);
            far[k] = t[k].position - v.least >= v.range || is_negative_zero(bits[k]);
            if (far[k]) t[k].limb = v.low;
#pragma unroll
            for (int j = 0; j < PARTS; j++) t[k].part[j] = far[k] ? 0 : t[k].part[j];
            at[k] = v.words_at + entry[k] * (4 * v.copies) +
                    (unsigned)(t[k].limb - v.low) * (4 * v.stride);
        }
        add_terms(v, t, at);
        bool any = false;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) any = any || far[k];
        if (!any) return;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (far[k] && bits[k] != 0) absorb_special(p, bits[k], v.number(p, entry[k]));
    }
    static constexpr int WORDS = 1;
    static __device__ void clear(const batch_values_params &p, batch_view &v) {
        set_range(&v, p.end);
        for (unsigned i = threadIdx.x; i < v.stride * (unsigned)v.limbs; i += BF_CUDA_BATCH_THREADS)
            v.words[i] = BF_CUDA_LIMB_MIDDLE;
    }
    static __device__ void finish(const batch_values_params &p, const batch_view &v) {
        for (unsigned i = threadIdx.x; i < v.batch.groups; i += BF_CUDA_BATCH_THREADS) {
            int64_t *to = p.words + v.number(p, i) * p.limbs + (v.low - p.first);
            for (int k = 0; k < v.limbs; k++) {
                const int64_t sum = bf_cuda_sum_of_copies(
                    v.words + (unsigned)k * v.stride + i * v.copies, v.copies, BF_CUDA_LIMB_MIDDLE);
                if (v.batch.alone)
                    to[k] += sum;
                else
                    bf_cuda_add_word(to + k, sum);
            }
        }
    }
};

} // namespace

#endif
