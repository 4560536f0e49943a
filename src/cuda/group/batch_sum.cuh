/* Terms of exact sums as they enter accumulators in shared memory (batch_values.cu).
 *
 * A sum has limbs of 32 bits there, since these are what shared memory adds fast. They are a number
 * in two's complement: an addition that wraps around is seen by what was there before, and carries.
 * Every limb starts in the middle of its range, so that carries past the value's own limbs are rare
 * where signs mix. A thread takes several rows at a time, limb by limb, so that their additions
 * overlap, and none of them branches: what is nothing is added to a word of its own. */
#ifndef BF_CUDA_GROUP_BATCH_SUM_CUH
#define BF_CUDA_GROUP_BATCH_SUM_CUH

#include "cuda/group/batch_view.cuh"

namespace {

const unsigned MIDDLE = 1u << 31;

/* Rows of f64, or of integers, for which a thread has registers. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
const int ROWS_AHEAD = 3;
#else
const int ROWS_AHEAD = 4;
#endif

/* Of floats of dtype D, or of integers (BF_NONE): `Factors` 1, or 2 for squares. */
template <bf_dtype D, int Factors> struct Terms {
    static constexpr bool is_float = D != BF_NONE;
    static constexpr int PARTS =
        D == BF_F64 || D == BF_NONE ? (Factors == 1 ? 3 : 5) : (Factors == 1 ? 2 : 3);

    /* Rows at once: as many as registers allow. */
    static constexpr int AHEAD = Factors == 2 || D == BF_F16 || D == BF_BF16 ? 2
                                 : D == BF_F32                               ? 3
                                                                             : ROWS_AHEAD;

    /* The value's limbs, shifted to their place in the first, which is limb number `limb`. */
    struct term {
        unsigned part[PARTS], position; /* before it is multiplied and moved */
        int limb;
        unsigned sign; /* all ones: it is taken away */
    };
    static __device__ __forceinline__ bool is_apart(uint64_t bits) {
        if (D == BF_F64) return bf_cuda_is_apart(bf_format_of(D), bits);
        unsigned sign = (unsigned)bf_format_sign(bf_format_of(D)),
                 inf = (unsigned)bf_format_inf(bf_format_of(D));
        return ((unsigned)bits & ~sign) - 1 >= inf - 1;
    }
    static __device__ __forceinline__ bool is_negative_zero(uint64_t bits) {
        return is_float && bits == bf_format_sign(bf_format_of(D));
    }
    /* As bf_decode and bf_decode_integer, in words of 32 bits. */
    static __device__ __forceinline__ void decode(const bf_cuda_column_params &p, uint64_t bits,
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
    static __device__ __forceinline__ term of(const bf_cuda_column_params &p, uint64_t bits) {
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
        int offset = is_float ? bf_exact_position(bf_format_of(D), layout, 0, Factors) : 0;
        position = Factors * position + (unsigned)offset;
        t.limb = (int)(position >> 5);
#pragma unroll
        for (int k = 0; k < PARTS; k++)
            t.part[k] = __funnelshift_l(k > 0 ? word[k - 1] : 0, word[k], position);
        return t;
    }
    /* The positions whose terms begin in limb `low` or above and are finite. */
    static __device__ __forceinline__ void set_range(unit_view *v, int end) {
        bf_layout layout = Factors == 1 ? bf_layout_sum(D) : bf_layout_products(D);
        int offset = is_float ? bf_exact_position(bf_format_of(D), layout, 0, Factors) : 0;
        int least = (32 * v->low - offset + Factors - 1) / Factors;
        least = 32 * v->low <= offset ? 0 : min(least, end);
        v->least = (unsigned)least;
        v->range = (unsigned)(end - least);
    }
    /* Terms enter the accumulators of their groups, of which `at` are this lane's, a limb of all at
     * a time, so that they do not wait for each other. */
    static __device__ __forceinline__ void enter(const unit_view &v, term *t, unsigned *at) {
        const unsigned step = 4 * v.stride;
        unsigned carry[AHEAD], before[AHEAD];
#pragma unroll
        for (int j = 0; j < PARTS; j++) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                unsigned x = t[k].part[j] + (j > 0 ? carry[k] : 0),
                         signed_x = (x ^ t[k].sign) - t[k].sign;
                bool idle = x == 0; /* there may be no such limb */
                before[k] = shared_add(idle ? v.none_at : at[k], signed_x);
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
                carry_on(at[k], step, v.limbs - (t[k].limb - v.low) - PARTS, t[k].sign);
    }
    static __device__ __noinline__ void carry_on(unsigned at, unsigned step, int limbs,
                                                 unsigned sign) {
        bool on = true;
        for (; on && limbs > 0; limbs--, at += step) on = (shared_add(at, sign | 1) ^ sign) == ~0u;
    }
    /* The positions that a band was prepared for end here. The last limb is for carries. */
    static __host__ int end_of(const bf_cuda_band *band) {
        bf_format f = bf_format_of(D);
        int all = is_float ? (1 << f.exponent) - 2 : 1, top = band->to - 1;
        if (!is_float || top + 1 == band->layout.limbs) return all;
        int offset = bf_exact_position(f, band->layout, 0, Factors);
        int room = 32 * top - offset - Factors * (f.fraction + 1),
            end = room < 0 ? 0 : room / Factors + 1;
        return end < all ? end : all;
    }
    /* A value below the accumulators' limbs goes to the groups' own. */
    static __device__ __noinline__ void enter_far(const unit_values_params &p, uint64_t bits,
                                                  int64_t number) {
        term t = of(p.column, bits);
        int64_t *to = p.words + number * p.limbs + (t.limb - p.first);
        for (int k = 0; k < PARTS; k++)
            bf_cuda_add(to + k, t.sign != 0 ? -(int64_t)t.part[k] : (int64_t)t.part[k]);
    }
    /* What does not enter accumulators: not finite, far below, or nothing that was prepared for. */
    static __device__ __noinline__ void take_far(const unit_values_params &p, uint64_t bits,
                                                 int64_t number) {
        bool apart = is_float && is_apart(bits);
        term t = of(p.column, bits);
        if (apart && !p.counts_apart) return;
        if (apart ? p.column.others == NULL : t.limb < p.first || (int)t.position >= p.end)
            p.notes[NOTE_OUTSIDE] = 1;
        else if (apart)
            bf_cuda_count_apart(p.column, bf_format_of(D), bits, number);
        else
            enter_far(p, bits, number);
    }
    /* Takes what was not prepared for at first, when it is. */
    static __device__ __noinline__ void take_outside(const unit_values_params &p, uint64_t bits,
                                                     int64_t number) {
        bool apart = is_float && is_apart(bits);
        term t = of(p.column, bits);
        bool before = apart ? p.had_others : t.limb >= p.taken && (int)t.position < p.past;
        if (!before) take_far(p, bits, number);
    }
    static __device__ __forceinline__ void take(const unit_values_params &p, const unit_view &v,
                                                const uint64_t *bits, const unsigned *entry, int) {
        term t[AHEAD];
        unsigned at[AHEAD];
        bool far[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            t[k] = of(p.column, bits[k]);
            far[k] = t[k].position - v.least >= v.range || is_negative_zero(bits[k]);
            if (far[k]) t[k].limb = v.low;
#pragma unroll
            for (int j = 0; j < PARTS; j++) t[k].part[j] = far[k] ? 0 : t[k].part[j];
            at[k] = v.words_at + entry[k] * (4 * v.copies) +
                    (unsigned)(t[k].limb - v.low) * (4 * v.stride);
        }
        enter(v, t, at);
        bool any = false;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) any = any || far[k];
        if (!any) return;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (far[k] && bits[k] != 0) take_far(p, bits[k], v.number(p, entry[k]));
    }
    static constexpr int WORDS = 1;
    static __device__ void clear(const unit_values_params &p, unit_view &v) {
        set_range(&v, p.end);
        for (unsigned i = threadIdx.x; i < v.stride * (unsigned)v.limbs; i += THREADS)
            v.words[i] = MIDDLE;
    }
    static __device__ void finish(const unit_values_params &p, const unit_view &v) {
        for (unsigned i = threadIdx.x; i < v.unit.groups; i += THREADS) {
            int64_t *to = p.words + v.number(p, i) * p.limbs + (v.low - p.first);
            for (int k = 0; k < v.limbs; k++) {
                int64_t sum = 0;
                for (unsigned c = 0; c < v.copies; c++) {
                    unsigned turn = (c + threadIdx.x) & (v.copies - 1);
                    unsigned at = (unsigned)k * v.stride + i * v.copies + turn;
                    sum += (int64_t)v.words[at] - (int64_t)MIDDLE;
                }
                if (v.unit.alone)
                    to[k] += sum;
                else
                    bf_cuda_add(to + k, sum);
            }
        }
    }
};

} // namespace

#endif
