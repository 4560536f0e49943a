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
#include "cuda/reduce/joint/terms.cuh"
#include "cuda/runtime/warp.cuh"

namespace {

/* Rows of f64, or of integers, at a time: as many as registers allow. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
const int ROWS_AHEAD = 3;
#else
const int ROWS_AHEAD = 4;
#endif

/* The values of a row, as bits: b is that of pairs. */
struct row_bits {
    uint64_t a, b;
};

/* An element: its magnitude, at this position against the least, and whether it is not finite. */
struct magnitude {
    bf_cuda_joint_term<1> size;
    bool special;
};

/* Terms a^A * b^B of elements of dtype D: BF_F32, BF_F64, or BF_NONE for integers. Pairs: there are
 * two arrays, and no term of a pair of which one is not finite; B may be 0 nevertheless. */
template <bf_dtype D, int A, int B, bool Pairs> struct Terms {
    static constexpr bf_dtype dtype = D;
    static constexpr bool is_float = D != BF_NONE, pairs = Pairs;
    static constexpr int FACTORS = A + B;
    /* Limbs of a term: its bits may begin anywhere in the first. */
    static constexpr int BITS = D == BF_F32   ? 24 * FACTORS
                                : D == BF_F64 ? 53 * FACTORS
                                              : 64 * FACTORS;
    static constexpr int PARTS = (BITS + 31 + 31) / 32;

    /* Rows at a time: as many as registers allow. */
    static constexpr int AHEAD = FACTORS > 2             ? 1
                                 : FACTORS == 2 || Pairs ? 2
                                 : D == BF_F32           ? 3
                                                         : ROWS_AHEAD;

    /* A term: its limbs, shifted to their position in the first, which is limb number `limb`. */
    struct term {
        unsigned part[PARTS], position;
        int limb;
        unsigned sign; /* all ones: it is subtracted */
        bool apart;    /* it has no limbs, and may have a counter */
        bool nothing;  /* it is 0, without a counter */
    };
    /* Decodes as bf_decode and bf_decode_integer; floats in words of 32 bits. */
    static __device__ __forceinline__ magnitude decode(const bf_cuda_aggregate_params &p,
                                                       uint64_t bits) {
        if (!is_float) {
            const bf_finite d = bf_decode_integer(p.dtype, bits);
            return {{{d.magnitude}, 0, d.negative}, false};
        }
        const bf_format f = bf_format_of(D);
        const int fraction = D == BF_F64 ? 20 : f.fraction;
        const unsigned top = D == BF_F64 ? (unsigned)(bits >> 32) : (unsigned)bits;
        const unsigned fields = (1u << f.exponent) - 1;
        const unsigned field = top >> fraction & fields, normal = min(field, 1u);
        const unsigned high = (top & ((1u << fraction) - 1)) | normal << fraction;
        const uint64_t size = D == BF_F64 ? (uint64_t)high << 32 | (unsigned)bits : high;
        return {{{size}, (int)(field - normal), (int)top < 0}, field == fields};
    }
    static __device__ __forceinline__ auto product(const bf_cuda_joint_term<1> &x,
                                                   const bf_cuda_joint_term<1> &y) {
        if constexpr (B == 1 && A == 1)
            return x * y;
        else if constexpr (B == 1)
            return x * x * y;
        else if constexpr (A == 1)
            return x;
        else if constexpr (A == 2)
            return x * x;
        else if constexpr (A == 3)
            return x * x * x;
        else
            return x * x * x * x;
    }
    static __device__ __forceinline__ term make_term(const bf_cuda_aggregate_params &p,
                                                     const row_bits &row) {
        const magnitude x = decode(p, row.a), y = B > 0 ? decode(p, row.b) : magnitude{};
        const bf_cuda_joint_term<FACTORS> xy = product(x.size, y.size);
        term t;
        t.position = (unsigned)xy.position;
        t.limb = xy.position >> 5;
        t.sign = xy.negative ? ~0u : 0;
        unsigned below = 0;
#pragma unroll
        for (int k = 0; k < PARTS; k++) {
            const unsigned word = k < 2 * FACTORS ? (unsigned)(xy.word[k / 2] >> 32 * (k % 2)) : 0;
            t.part[k] = __funnelshift_l(below, word, t.position);
            below = word;
        }
        t.nothing = x.size.word[0] == 0 || (B > 0 && y.size.word[0] == 0);
        t.apart = is_float && !Pairs && FACTORS == 1 && t.nothing && x.size.negative;
        if (Pairs && is_float) t.apart = x.special || is_special(row.b);
        t.nothing = t.nothing && !t.apart;
        return t;
    }
    static __device__ __forceinline__ bool is_special(uint64_t bits) {
        const unsigned inf = (unsigned)(bf_format_inf(bf_format_of(D)) >> (D == BF_F64 ? 32 : 0));
        return ((unsigned)(bits >> (D == BF_F64 ? 32 : 0)) & inf) == inf;
    }
    /* The positions of finite terms end here. */
    static constexpr int END = D == BF_F32   ? FACTORS * ((1 << 8) - 3) + 1
                               : D == BF_F64 ? FACTORS * ((1 << 11) - 3) + 1
                                             : 1;
    /* Sets the range of positions whose terms begin in limb `low` or above and are finite. */
    static __device__ __forceinline__ void set_range(batch_view *v, int end) {
        const int least = min(32 * v->low, end);
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
        const int top = band->to - 1, room = 32 * top - BITS;
        if (band->limbs == 0) return 0;
        if (!is_float || top + 1 == band->part.layout.limbs) return END;
        return room < 0 ? 0 : room + 1 < END ? room + 1 : END;
    }
    /* Adds a term to the limbs of its group. */
    static __device__ __forceinline__ void add_far(const batch_values_params &p, const term &t,
                                                   int64_t number) {
        int64_t *to = p.words + number * p.limbs + (t.limb - p.first);
        for (int k = 0; k < PARTS; k++)
            bf_cuda_add_word(to + k, t.sign != 0 ? -(int64_t)t.part[k] : (int64_t)t.part[k]);
    }
    /* The counter of a row, or 0. What then has no term becomes zero: all of the row, or the
     * infinite element of a weight. */
    static __device__ __forceinline__ int special_of(const batch_values_params &p, row_bits *row) {
        if (!is_float) return 0;
        const bf_kind kind = p.aggregate.kind;
        const int special = bf_cuda_special_of(kind, bf_format_of(D), p.swapped ? row->b : row->a,
                                               p.swapped ? row->a : row->b);
        if (special == 0) return 0;
        *row = {p.swapped && bf_sum_keeps_weight(kind, special) ? row->a : 0, 0};
        return special;
    }
    /* Absorbs a row that accumulators do not hold: NaN, infinity, -0, or one far below. Notes what
     * was not prepared for. */
    static __device__ __noinline__ void absorb_apart(const batch_values_params &p, row_bits row,
                                                     int64_t number) {
        const int special = special_of(p, &row);
        const term t = make_term(p.aggregate, row);
        if (special != 0 && p.counts_specials && p.aggregate.specials == NULL)
            p.notes[NOTE_OUTSIDE] = 1;
        else if (special != 0 && p.counts_specials)
            bf_cuda_count_special(p.aggregate, number, special, 1);
        if (t.nothing || t.apart) return;
        if (t.limb < p.first || (int)t.position >= p.end)
            p.notes[NOTE_OUTSIDE] = 1;
        else
            add_far(p, t, number);
    }
    /* Absorbs what was not prepared for in the first pass. */
    static __device__ __noinline__ void absorb_outside(const batch_values_params &p, row_bits row,
                                                       int64_t number) {
        const int special = special_of(p, &row);
        const term t = make_term(p.aggregate, row);
        if (special != 0 && p.counts_specials && !p.had_specials)
            bf_cuda_count_special(p.aggregate, number, special, 1);
        if (t.nothing || t.apart || (t.limb >= p.done_first && (int)t.position < p.done_end))
            return;
        add_far(p, t, number);
    }
    static __device__ __forceinline__ void absorb(const batch_values_params &p, const batch_view &v,
                                                  const row_bits *rows, const unsigned *entry,
                                                  int) {
        term t[AHEAD];
        unsigned at[AHEAD];
        bool far[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            t[k] = make_term(p.aggregate, rows[k]);
            far[k] = t[k].position - v.least >= v.range || t[k].apart;
            if (far[k]) t[k].limb = v.low;
#pragma unroll
            for (int j = 0; j < PARTS; j++) t[k].part[j] = far[k] ? 0 : t[k].part[j];
            at[k] = v.words_at + entry[k] * (4 * v.copies) +
                    (unsigned)(t[k].limb - v.low) * (4 * v.stride);
            far[k] = far[k] && !t[k].nothing;
        }
        add_terms(v, t, at);
        bool any = false;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) any = any || far[k];
        if (!any) return;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (far[k]) absorb_apart(p, rows[k], v.number(p, entry[k]));
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
