/* Variances, sums of squares and their roots, of floats in registers.
 *
 * Those of elements that differ by less than some 2^8 (f32: 2^32) are found in integers of 128
 * bits: such a result often lies in the middle of two. Of others, two doubles each prove most, of
 * elements that are scaled so that the greatest one is about 1; of a variance, if these cancel, of
 * what the elements have more than the first one. Integers of 576 bits settle what these do not: an
 * element far below the others may tell on which side of the middle of two a result lies. They hold
 * all f32, and f64 that differ by less than some 2^220. The rest stays marked, and is left to
 * by_exponent.cu. */
#ifndef BF_CUDA_AXIS_EXACT_SPREADS_CUH
#define BF_CUDA_AXIS_EXACT_SPREADS_CUH

#include "cuda/axis/doubles/moments.cuh"
#include "cuda/axis/exact/terms.cuh"

#include "rules/reduce/totals.h"

namespace {

/* Leaves a result to by_exponent.cu. */
__device__ void leave(const bf_cuda_axis_params &p, int64_t r) {
    bf_cuda_axis_mark(p, r);
    bf_cuda_axis_raise(&p.board->left);
}

/* Their variance, the sum of their squares, or the root of one. */
template <class C> struct spread : elements<C> {
    using Value = typename C::Value;
    using elements<C>::elements;
    using elements<C>::p, elements<C>::n, elements<C>::lanes, elements<C>::each_value;

    enum { ZEROS = INT_MIN / 2, INFINITE = INT_MAX / 2, NO_NUMBER }; /* for `top` */

    /* All elements are less than 2^top, and multiples of 2^unit. */
    struct extent {
        int top, unit;
    };
    __device__ extent look() const {
        int top = ZEROS, last = INFINITE;
        each_value([&](Value v) {
            const magnitude x = decode(v);
            const int above = x.finite ? x.place + 64 - __clzll((long long)x.m)
                              : v != v ? NO_NUMBER
                                       : INFINITE;
            if (x.finite && x.m == 0) return;
            top = max(top, above);
            last = min(last, x.place + __ffsll((long long)x.m) - 1);
        });
        top = lanes.most(top);
        return {top, -lanes.most(-last)};
    }
    /* The bits of a number that no sum of magnitudes reaches, in units. */
    __device__ int room(const extent &e) const {
        return e.top - e.unit + bf_bit_length((uint64_t)n);
    }

    /* What a first look tells. */
    struct signs {
        bool differ;     /* some element differs from the first one */
        bool no_numbers; /* some are no numbers */
        bool tiny;       /* a square is less than doubles hold */
    };
    /* Unless a kernel before has tried doubles, it adds them up, too. */
    __device__ signs look_quickly(double origin, bf_cuda_axis_moments_f64 *sums) const {
        bool differ = false, tiny = false;
        double zero = 0;
        sums->reset();
        each_value([&](Value v) {
            const double x = (double)v;
            zero = fma(x, 0.0, zero);
            differ = differ || x != origin;
            if (p.direct) return;
            tiny = tiny || (x * x == 0 && x != 0);
            sums->add(x);
        });
        int seen = differ | (int)(zero != 0) << 1 | (int)tiny << 2;
        lanes.join([&](int d) { seen |= (int)lanes.other((uint64_t)seen, d); });
        return {(seen & 1) != 0, (seen & 2) != 0, (seen & 4) != 0};
    }
    __device__ bool is_root() const { return p.op == BF_STD || p.op == BF_NORM; }
    static __device__ double power(int exponent) {
        return __hiloint2double((1023 + exponent) << 20, 0);
    }
    /* From sums of elements times 2^scale, of which each lane has some. */
    __device__ bool prove(bf_cuda_axis_moments_f64 sums, int scale, uint64_t *bits) const {
        lanes.join([&](int d) {
            bf_cuda_axis_moments_f64 other;
            other.set_other(sums, lanes.mask, d);
            sums.merge(other);
        });
        return lanes.first(sums.find(p, n, n, bits) &&
                           bf_cuda_axis_scale(p.to, is_root() ? -scale : -2 * scale, bits));
    }
    /* From the elements less `origin`, if these are doubles, the greatest of which has the exponent
     * `most`. Scaling cuts off less than 2^-1000 of the squares. */
    __device__ bool prove_scaled(double origin, int most, uint64_t *bits) const {
        if (most <= 0 || most >= 2047) return false; /* tiny, or rounded */
        const int scale = 1023 - most;
        const double first = power(scale / 2), second = power(scale - scale / 2);
        bf_cuda_axis_moments_f64 sums;
        sums.reset();
        each_value([&](Value v) { sums.add(((double)v - origin) * first * second); });
        return prove(sums, scale, bits);
    }
    __device__ bool prove_from(double origin, uint64_t *bits) const {
        int most = 0;
        bool rounds = false;
        each_value([&](Value v) {
            double rest;
            const double x = bf_two_sum((double)v, -origin, &rest);
            if (x != 0) most = max(most, this->top_of(x));
            rounds = rounds || rest != 0;
        });
        return prove_scaled(origin, lanes.most(rounds ? INT_MAX : most) >> 20, bits);
    }
    /* Calls visit(magnitude in units of 2^unit, less what is below; how far up it lies; whether it
     * is negative). */
    template <class Visit>
    __device__ __forceinline__ void each_unit(int unit, const Visit &visit) const {
        each_value([&](Value v) {
            const magnitude x = decode(v);
            const int up = x.place - unit;
            visit(up >= 0 ? x.m : x.m >> min(-up, 63), max(up, 0), x.negative);
        });
    }
    /* Their sum of squares, or n times that less the square of their sum, exactly: in 128 bits, if
     * the sum has 64. */
    __device__ bf_leading find_narrow(int unit) const {
        uint64_t sum = 0;
        bf_u128 squares = 0;
        bool negative;
        each_unit(unit, [&](uint64_t m, int up, bool is_negative) {
            const uint64_t size = m << min(up, 63);
            sum += is_negative ? 0 - size : size;
            squares += (bf_u128)size * size;
        });
        lanes.join([&](int d) {
            sum += lanes.other(sum, d);
            squares += lanes.other(squares, d);
        });
        if (p.kind == BF_KIND_MOMENTS) {
            if ((int64_t)sum < 0) sum = 0 - sum;
            squares = squares * (uint64_t)n - (bf_u128)sum * sum;
        }
        return bf_leading_of_i128((bf_i128)squares, 2 * unit, &negative);
    }
    /* x += m * 2^up, or x -= that, modulo 2^576 */
    static __device__ void add_to(bf_magnitude *x, bf_u128 m, int up, bool negative) {
        const int rest = up % 64;
        uint64_t part[3] = {(uint64_t)(m << rest), (uint64_t)(m << rest >> 64),
                            rest == 0 ? 0 : (uint64_t)(m >> (128 - rest))};
        bf_u128 sum = negative; /* what is carried */
        for (int k = 0, i = up / 64; i < BF_TOTALS_WORDS; k++, i++) {
            const uint64_t more = k < 3 ? part[k] : 0;
            sum += (bf_u128)x->word[i] + (negative ? ~more : more);
            x->word[i] = (uint64_t)sum;
            sum >>= 64;
        }
    }
    __device__ void join(bf_magnitude *x) const {
        lanes.join([&](int d) {
            bf_u128 sum = 0;
            for (int i = 0; i < BF_TOTALS_WORDS; i++) {
                sum += (bf_u128)x->word[i] + lanes.other(x->word[i], d);
                x->word[i] = (uint64_t)sum;
                sum >>= 64;
            }
        });
    }
    /* Finds it in 576 bits. */
    __device__ bf_leading find_long(int unit) const {
        bf_magnitude sum = {}, squares = {}, square;
        each_unit(unit, [&](uint64_t m, int up, bool is_negative) {
            add_to(&sum, m, up, is_negative);
            add_to(&squares, (bf_u128)m * m, 2 * up, false);
        });
        join(&squares);
        squares.exponent = 2 * unit;
        if (p.kind == BF_KIND_MOMENTS) {
            join(&sum);
            if ((int64_t)sum.word[BF_TOTALS_WORDS - 1] < 0) bf_magnitude_negate(sum.word);
            bf_magnitude_square(&square, &sum);
            bf_magnitude_multiply(&squares, (uint64_t)n);
            bf_magnitude_subtract(&squares, &square);
        }
        return bf_leading_of_magnitude(&squares);
    }
    /* Most results that are settled lie in the middle of two: of few bits, which 128 hold. n times
     * the squares is less than the square of 2^room. */
    __device__ bool find(uint64_t *bits) const {
        const bool moments = p.kind == BF_KIND_MOMENTS;
        const bf_format f = bf_format_of(p.to);
        const double origin = (double)C::value(p, *this->from);
        if (moments || !p.direct) {
            bf_cuda_axis_moments_f64 sums;
            const signs s = look_quickly(origin, &sums);
            *bits = s.no_numbers || n <= p.ddof ? bf_format_nan(f) : 0;
            if (moments && (s.no_numbers ? p.nan == BF_NAN_PROPAGATE : n <= p.ddof || !s.differ))
                return true;
            if (!p.direct && !s.tiny && prove(sums, 0, bits)) return true;
        }
        const extent e = look();
        if (e.top >= INFINITE) {
            *bits = moments || e.top == NO_NUMBER ? bf_format_nan(f) : bf_format_inf(f);
            return e.top == INFINITE || p.nan == BF_NAN_PROPAGATE;
        }
        *bits = 0;
        if (e.top == ZEROS) return true;
        const bool is_narrow = room(e) <= 63;
        if (!is_narrow &&
            (prove_scaled(0, e.top + 1022, bits) || (moments && prove_from(origin, bits))))
            return true;
        if (2 * room(e) > 64 * BF_TOTALS_WORDS) return false;
        const bf_leading x = is_narrow ? find_narrow(e.unit) : find_long(e.unit);
        *bits = bf_spread_round(x, moments ? n : 1, moments ? p.ddof : 0, is_root(), f);
        return true;
    }
    __device__ void write(int64_t r) const {
        uint64_t bits;
        const bool good = find(&bits);
        if (lanes.lane > 0) return;
        if (good)
            bf_cuda_axis_store_fit(p, r, bits, true);
        else
            leave(p, r);
    }
};

} // namespace

#endif
