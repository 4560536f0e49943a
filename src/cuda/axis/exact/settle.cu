/* Results of floats of any exponents, of few elements each, in registers: those that are marked.
 *
 * Three doubles prove most sums: a chain of two-sums, and one of its errors. For the others a pass
 * adds the elements as integers of 128 bits, in units of 2^unit, without what each has below a
 * unit. So the sum of n elements is less than n units away from what the pass finds. Where that
 * leaves open how the sum rounds, another pass takes smaller units. Integers wrap around: what is
 * asked of a pass is less than 2^127 units. A product of f64 is two terms of a dot product.
 *
 * Variances and sums of squares of elements that differ by less than some 2^8 (f32: 2^32) are
 * found in integers of 128 bits: such a result often lies in the middle of two. Of others, two
 * doubles each prove most, of elements that are scaled so that the greatest one is about 1; of a
 * variance, if these cancel, of what the elements have more than the first one. Integers of 576
 * bits settle what these do not: an element far below the others may tell on which side of the
 * middle of two a result lies. They hold all f32, and f64 that differ by less than some 2^220. The
 * rest stays marked, and is left to by_exponent.cu.
 *
 * Some lanes of a warp share a result: all of them ask, and have the first one's answer. */
#include "cuda/axis/doubles/moments.cuh"
#include "cuda/axis/exact/rounding.cuh"
#include "cuda/axis/exact/settle.cuh"
#include "cuda/axis/value.cuh"
#include "cuda/runtime/ptx.cuh"

#include "rules/reduce/totals.h"

namespace {

enum {
    SETTLE_THREADS = 256,
    SETTLE_BLOCKS = 4, /* a multiprocessor has so many */
    WORDS = 8,         /* words of marks whose results a warp takes together, at most */
    AHEAD = 4,         /* elements that a lane loads at a time */
    LANE_SHARE = 16,   /* elements of a lane, at least */
    TOP = 110,         /* the highest bit of an element in the first pass */
    ROOM = 122,        /* bits of all elements of a sum that is settled */
    DOUBT = 14,        /* low bits, which what is cut off changes by less than a unit of the next */
    SPARE = 5,         /* bits of a product that the first pass moves it up by, at most */
    ENOUGH = 84,       /* bits of a sum: but for those it rounds, and so does its mean */
    PLACE_LEAST = -2148 /* the exponent of the least product */
};

/* The lanes that share a result. */
struct group {
    int lane, lanes;
    unsigned mask;

    __device__ explicit group(int size) : lanes(size) {
        const int thread = (int)threadIdx.x % BF_CUDA_WARP;
        lane = thread % lanes;
        mask = (lanes < BF_CUDA_WARP ? (1u << lanes) - 1 : ~0u) << (thread - lane);
    }
    __device__ uint64_t other(uint64_t x, int distance) const {
        return __shfl_xor_sync(mask, (unsigned long long)x, distance);
    }
    /* Calls merge(distance) until all lanes have what each had. */
    template <class Merge> __device__ void join(const Merge &merge) const {
        BF_ROLLED
        for (int d = lanes / 2; d > 0; d /= 2) merge(d);
    }
    __device__ bf_u128 other(bf_u128 x, int distance) const {
        const uint64_t low = other((uint64_t)x, distance);
        return (bf_u128)other((uint64_t)(x >> 64), distance) << 64 | low;
    }
    __device__ double other(double x, int distance) const {
        return __shfl_xor_sync(mask, x, distance);
    }
    /* What the first lane has. Sums that lanes join may differ in what they lack. */
    __device__ bool first(bool x) const { return __shfl_sync(mask, (int)x, 0, lanes) != 0; }
    __device__ int most(int x) const {
        join([&](int d) { x = max(x, (int)other((uint64_t)x, d)); });
        return x;
    }
};

/* A sum as three doubles, each of which has what the one before lacks, and the last its own errors.
 */
struct three {
    double sum, error, rest;

    __device__ __forceinline__ void add_error(double x) {
        double lost;
        error = bf_two_sum(error, x, &lost);
        rest += lost;
    }
    __device__ __forceinline__ void add(double x) {
        double lost;
        sum = bf_two_sum(sum, x, &lost);
        add_error(lost);
    }
};

/* A float's magnitude m * 2^place, of 53 bits. */
struct magnitude {
    uint64_t m;
    int place;
    bool negative, finite;
};
__device__ __forceinline__ magnitude decode(bf_format f, uint64_t bits) {
    const bf_finite x = bf_decode(f, bits);
    const int shift = 52 - f.fraction;
    return {x.magnitude << shift, x.position + bf_format_least(f) - shift, x.negative,
            (bits & bf_format_inf(f)) != bf_format_inf(f)};
}
__device__ __forceinline__ magnitude decode(double x) {
    return decode(bf_format_f64(), (uint64_t)__double_as_longlong(x));
}
__device__ __forceinline__ magnitude decode(float x) {
    return decode(bf_format_f32(), __float_as_uint(x));
}

/* A sum in units, modulo 2^128, and whether some term had bits below. */
struct units_of_terms {
    bf_u128 units = 0; /* a negative number is a complement here */
    uint64_t cut = 0;
    unsigned negatives = 0;

    __device__ __forceinline__ void add(uint64_t high, uint64_t low, bool negative) {
        const uint64_t flip = negative ? ~(uint64_t)0 : 0;
        units += (bf_u128)(high ^ flip) << 64 | (low ^ flip);
        negatives += negative;
    }
    /* Adds high * 2^64, `right` bits further down. */
    __device__ __forceinline__ void add_high(uint64_t high, int right, bool negative) {
        cut |= bf_cuda_shift_left(high, 128 - right);
        add(bf_cuda_shift_right(high, right),
            bf_cuda_shift_left(high, 64 - right) | bf_cuda_shift_right(high, right - 64), negative);
    }
    /* Adds all terms, none of which is 2^64 units or more beside its highest 53 bits. */
    template <class Terms> __device__ __forceinline__ void add_all(const Terms &terms, int unit) {
        terms.each_magnitude([&](const magnitude &x) {
            add_high(x.finite ? x.m : 0, min(64 - (x.place - unit), 127), x.negative);
        });
    }
    /* Adds a number, `right` bits further down: 128 at most. */
    __device__ __forceinline__ void add_wide(bf_u128 x, int right, bool negative) {
        const uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;
        cut |= bf_cuda_shift_left(low, max(64 - right, 0)) | bf_cuda_shift_left(high, 128 - right);
        add(bf_cuda_shift_right(high, right),
            bf_cuda_shift_right(low, right) | bf_cuda_shift_left(high, 64 - right) |
                bf_cuda_shift_right(high, right - 64),
            negative);
    }
};

/* Leaves a result to by_exponent.cu. */
__device__ void leave(const bf_cuda_axis_params &p, int64_t r) {
    bf_cuda_axis_mark(p, r);
    bf_cuda_axis_raise(&p.board->left);
}

/* What a look at the terms of a sum tells: no bits of theirs are 2^(place + 53) or more; all are
 * numbers, and none is a zero; two doubles hold each. */
struct outlook {
    int place;
    bool plain, exact;
};

/* The n elements of a result, `step` apart. */
template <class C> struct elements {
    using Value = typename C::Value;
    const bf_cuda_axis_params &p;
    const typename C::Raw *from;
    const int64_t step;
    const int n;
    const group &lanes;

    __device__ elements(const bf_cuda_axis_params &of, const bf_cuda_axis_line &line,
                        const group &by)
        : p(of), from((const typename C::Raw *)of.a + line.a), step(bf_cuda_axis_step(of.at, 0)),
          n((int)line.length), lanes(by) {}

    /* Calls load(i, &x), and then visit(x), for each i of this lane. */
    template <class X, class Load, class Visit>
    __device__ __forceinline__ void each(const Load &load, const Visit &visit) const {
        BF_ROLLED
        for (int i = lanes.lane; i < n; i += AHEAD * lanes.lanes) {
            X x[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (i + k * lanes.lanes < n) load(i + k * lanes.lanes, &x[k]);
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (i + k * lanes.lanes < n) visit(x[k]);
        }
    }
    template <class Visit> __device__ __forceinline__ void each_value(const Visit &visit) const {
        each<Value>([&](int i, Value *x) { *x = C::value(p, from[i * step]); }, visit);
    }
    template <class Visit>
    __device__ __forceinline__ void each_magnitude(const Visit &visit) const {
        each_value([&](Value x) { visit(decode(x)); });
    }
    __device__ __forceinline__ void add_to(units_of_terms *sum, int unit) const {
        sum->add_all(*this, unit);
    }
    /* Numbers of the same kinds: signed zeros, infinities, NaNs and others. */
    template <class Visit> __device__ __forceinline__ void each_kind(const Visit &visit) const {
        each_value(visit);
    }
    /* The most terms that there are. */
    __device__ int terms() const { return n; }
    /* Do those of each_value() have the result's sum? If that is not known, look_at_pairs() tells.
     */
    static constexpr bool are_exact = true;

    /* The upper half of a double's magnitude. */
    static __device__ __forceinline__ int top_of(double x) {
        return (int)(bf_cuda_high(x) & 0x7fffffffu);
    }
};

/* The products of n pairs. Those of f64 are two terms each: as doubles, the product and what it
 * lacks; as magnitudes, its upper and its lower bits. */
template <class C> struct products : elements<C> {
    using Value = double;
    using elements<C>::p, elements<C>::from, elements<C>::step, elements<C>::n, elements<C>::lanes;
    struct pair {
        typename C::Value a, b;

        __device__ __forceinline__ double product() const { return (double)a * (double)b; }
        __device__ bool has_zero() const { return a == 0 || b == 0; }
        __device__ bool is_finite() const { return a - a == 0 && b - b == 0; }
    };
    const typename C::Raw *with;
    const int64_t with_step;

    __device__ products(const bf_cuda_axis_params &of, const bf_cuda_axis_line &line,
                        const group &by)
        : elements<C>(of, line, by), with((const typename C::Raw *)of.b + line.b),
          with_step(bf_cuda_axis_step(of.at, 1)) {}

    template <class Visit> __device__ __forceinline__ void each_pair(const Visit &visit) const {
        this->template each<pair>(
            [&](int i, pair *x) {
                *x = {C::value(p, from[i * step]), C::value(p, with[i * with_step])};
            },
            visit);
    }
    template <class Visit> __device__ __forceinline__ void each_value(const Visit &visit) const {
        each_pair([&](const pair &x) {
            const double product = x.product();
            visit(product);
            if (C::is_double) visit(fma((double)x.a, (double)x.b, -product));
        });
    }
    template <class Visit>
    __device__ __forceinline__ void each_magnitude(const Visit &visit) const {
        const auto each_half = [&](const pair &x) {
            const magnitude a = decode(x.a), b = decode(x.b);
            const bf_u128 m = (bf_u128)a.m * b.m;
            const bool negative = a.negative != b.negative, finite = a.finite && b.finite;
            const int place = a.place + b.place;
            const uint64_t low = (uint64_t)m & (((uint64_t)1 << 53) - 1);
            visit(magnitude{(uint64_t)(m >> 53), place + 53, negative, finite});
            if (low != 0) visit(magnitude{low, place, negative, finite});
        };
        each_pair([&](const pair &x) {
            if (C::is_double)
                each_half(x);
            else
                visit(decode(x.product()));
        });
    }
    __device__ __forceinline__ void add_to(units_of_terms *sum, int unit) const {
        if (!C::is_double) return sum->add_all(*this, unit);
        each_pair([&](const pair &x) {
            const magnitude a = decode(x.a), b = decode(x.b);
            const bf_u128 m = (bf_u128)(a.finite && b.finite ? a.m : 0) * b.m << SPARE;
            const int right = unit - (a.place + b.place) + SPARE;
            sum->add_wide(m, min(right, 128), a.negative != b.negative);
        });
    }
    template <class Visit> __device__ __forceinline__ void each_kind(const Visit &visit) const {
        each_pair(
            [&](const pair &x) { visit(x.has_zero() || !x.is_finite() ? x.product() : 1.0); });
    }
    __device__ int terms() const { return C::is_double ? 2 * n : n; }
    static constexpr bool are_exact = !C::is_double;
    /* An element's exponent, as its bits have it; those of subnormal ones and of zeros are alike.
     */
    static __device__ __forceinline__ int exponent_of(double x) {
        return max((int)(bf_cuda_high(x) >> 20) & 0x7ff, 1);
    }
    __device__ outlook look_at_pairs() const {
        int most = 0;
        bool plain = true, exact = true;
        each_pair([&](const pair &x) {
            const int a = exponent_of(x.a), b = exponent_of(x.b);
            const double size = fabs(x.product());
            const bool has_zero = x.has_zero(), is_number = a < 0x7ff && b < 0x7ff;
            plain = plain && is_number && !has_zero;
            exact = exact && (size < 0x1p1000 && (size > 0x1p-900 || has_zero));
            if (is_number && !has_zero) most = max(most, a + b);
        });
        const int place = lanes.most(most) - 2 * 1075 + 53;
        return {place, lanes.most(!plain) == 0, lanes.most(!exact) == 0};
    }
};

/* The sum of elements, or of products. */
template <class Terms> struct descent : Terms {
    using Value = typename Terms::Value;
    using Terms::p, Terms::n, Terms::lanes, Terms::each_value, Terms::each_magnitude, Terms::terms;
    using Terms::Terms;

    /* What a pass finds, and whether it cut something off. */
    struct sum {
        bf_u128 units;
        bool cut;
    };
    /* Tries three doubles. Of rest, additions lack 2^-53 each: it sums what additions to error
     * lacked, which sums what those to the sum lacked. */
    __device__ bool prove(uint64_t *bits) const {
        three x = {0, 0, 0};
        int most = 0;
        each_value([&](Value v) {
            x.add((double)v);
            most = max(most, this->top_of(v));
        });
        lanes.join([&](int d) {
            const three y = {lanes.other(x.sum, d), lanes.other(x.error, d),
                             lanes.other(x.rest, d)};
            x.add(y.sum);
            x.add_error(y.error);
            x.rest += y.rest;
        });
        const double greatest = __hiloint2double(lanes.most(most) + (1 << 20), 0);
        const double added = 2 * terms() + 64, square = added * added;
        bf_cuda_axis_exactly whole;
        double low, rest;
        whole.high = bf_two_sum(x.sum, x.error, &low);
        low = bf_two_sum(low, x.rest, &rest);
        whole.high = bf_two_sum(whole.high, low, &whole.low);
        double lost =
            square * square * greatest * 0x1p-158 + fabs(rest) + fabs(whole.low) * 0x1p-51;
        if (p.op == BF_MEAN) {
            whole = bf_cuda_axis_divide_exactly(whole, (double)n);
            lost = lost / (double)n + fabs(whole.high) * 0x1p-98;
        }
        return lanes.first(bf_cuda_axis_round_near(p.to, whole.high, whole.low, lost, bits));
    }
    __device__ sum joined(bf_u128 units, bool cut) const {
        lanes.join([&](int d) {
            units += lanes.other(units, d);
            const bool others = lanes.other((uint64_t)cut, d) != 0; /* asked by all lanes */
            cut = cut || others;
        });
        return {units, cut};
    }
    __device__ sum first_pass(int unit) const {
        units_of_terms found;
        this->add_to(&found, unit);
        return joined(found.units + found.negatives, found.cut != 0);
    }
    __device__ sum next_pass(int unit) const {
        bf_u128 units = 0;
        bool cut = false;
        each_magnitude([&](const magnitude &x) {
            const int left = x.place - unit;
            bf_u128 all = left >= 0 && left < 128 ? (bf_u128)x.m << left : 0;
            if (left < 0) all = bf_cuda_shift_right(x.m, -left);
            if (!x.finite) return;
            cut = cut || (left < 0 && cut_of(x, unit) != 0);
            units += x.negative ? 0 - all : all;
        });
        return joined(units, cut);
    }
    static __device__ uint64_t cut_of(const magnitude &x, int unit) {
        const int right = unit - x.place;
        return right <= 0 ? 0 : right < 64 ? x.m & (((uint64_t)1 << right) - 1) : x.m;
    }
    /* The unit of the next pass, where what is looked for is less than `size` and a unit for each
     * term. */
    __device__ int next_unit(int unit, bf_u128 size) const {
        if (size != 0) return unit - (ROOM - bf_bit_length128(size + (unsigned)terms()));
        int rest = INT_MIN; /* the exponent of the highest bit that was cut off */
        each_magnitude([&](const magnitude &x) {
            const uint64_t cut = x.finite ? cut_of(x, unit) : 0;
            if (cut != 0) rest = max(rest, x.place + 63 - __clzll((long long)cut));
        });
        return lanes.most(rest) - TOP;
    }
    /* The sign of the sum less `base` units, of which a pass has found `found`; where that is
     * negative, of the negated sum. */
    __device__ int side_of(sum found, bf_u128 base, int unit, bool negative) const {
        const int first = unit;
        for (;;) {
            const bf_u128 all = negative ? 0 - found.units : found.units;
            const bf_u128 left = all - (first - unit < 128 ? base << (first - unit) : 0);
            const bool below = (bf_i128)left < 0;
            const bf_u128 size = below ? 0 - left : left;
            if (!found.cut || size >= (unsigned)terms()) return below ? -1 : size > 0;
            unit = next_unit(unit, size);
            found = next_pass(unit);
        }
    }
    static __device__ bf_leading leading_of(bf_u128 x, int unit, bool sticky) {
        if (x == 0) return {0, unit, sticky};
        const int shift = 128 - bf_bit_length128(x);
        return {x << shift, unit - shift, sticky};
    }
    /* As many leading bits as rounding needs. */
    __device__ bf_leading leading(int place, bool *negative) const {
        int unit = place + 52 - TOP;
        for (sum found = first_pass(unit);; found = next_pass(unit)) {
            *negative = (bf_i128)found.units < 0;
            const bf_u128 size = *negative ? 0 - found.units : found.units;
            if (!found.cut) return leading_of(size, unit, false);
            if (size >> ENOUGH == 0) {
                unit = next_unit(unit, size);
                continue;
            }
            const int low = (int)size & ((1 << DOUBT) - 1);
            if (low > terms() && low + terms() < 1 << DOUBT)
                return leading_of(size >> DOUBT, unit + DOUBT, true);
            const bf_u128 near = (size + (1 << (DOUBT - 1))) >> DOUBT;
            const int side = side_of(found, near << DOUBT, unit, *negative);
            return leading_of(near - (side < 0), unit + DOUBT, side != 0);
        }
    }
    /* The counters of what is no number, and of -0. */
    __device__ void count(int64_t (&counts)[BF_SUM_LIMBS]) const {
        uint64_t counted = 0; /* 16 bits for each of four */
        this->each_kind([&](Value x) {
            const magnitude d = decode(x);
            if (d.finite)
                counted += d.m == 0 && d.negative;
            else
                counted += (uint64_t)1 << (x != x ? 16 : d.negative ? 32 : 48);
        });
        lanes.join([&](int d) { counted += lanes.other(counted, d); });
        counts[BF_SUM_NEG_ZERO] = (int64_t)(counted & 0xffff);
        counts[BF_SUM_NAN] = (int64_t)(counted >> 16 & 0xffff);
        counts[BF_SUM_NEG_INF] = (int64_t)(counted >> 32 & 0xffff);
        counts[BF_SUM_POS_INF] = (int64_t)(counted >> 48);
    }
    __device__ outlook look() const {
        int place = PLACE_LEAST;
        bool plain = true;
        each_magnitude([&](const magnitude &x) {
            plain = plain && x.finite && x.m != 0;
            if (x.finite && x.m != 0) place = max(place, x.place);
        });
        return {lanes.most(place), lanes.most(!plain) == 0, true};
    }
    /* The result by descent. Returns how many NaNs there are. */
    __device__ int64_t descend(const outlook &of, uint64_t *bits) const {
        int64_t counts[BF_SUM_LIMBS] = {};
        if (!of.plain) count(counts);
        counts[BF_SUM_COUNT] = n;
        bf_cuda_axis_round_sums(
            {BF_KIND_SUM, p.op, p.to, p.nan, 0}, counts,
            [&](bool, bool *negative) { return leading(of.place, negative); }, bits);
        return counts[BF_SUM_NAN];
    }
    __device__ int64_t find(uint64_t *bits) const {
        if constexpr (Terms::are_exact) {
            return prove(bits) ? 0 : descend(look(), bits);
        } else {
            const outlook of = this->look_at_pairs();
            return of.exact && prove(bits) ? 0 : descend(of, bits);
        }
    }
    __device__ void write(int64_t r) const {
        uint64_t bits;
        const int64_t nans = find(&bits);
        if (lanes.lane > 0) return;
        if (p.nan == BF_NAN_ERROR && nans > 0) bf_cuda_axis_fail(p, r, BF_CUDA_AXIS_NAN);
        bf_cuda_axis_store_fit(p, r, bits, true);
    }
};

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

/* Lists the marked results of some words, of which each of the first lanes has one, from result
 * `first` on, and takes their marks; longer results stay marked. Returns how many there are. */
__device__ int list_marked(const bf_cuda_axis_params &p, int64_t first, int each, unsigned words,
                           unsigned char *list) {
    const int64_t most = bf_cuda_axis_settled(p.kind);
    const int thread = (int)threadIdx.x % BF_CUDA_WARP;
    int count = 0;
    for (int k = 0; k < each; k++) {
        const unsigned word = __shfl_sync(~0u, words, k);
        if (word == 0) continue;
        const int64_t r = first + k * 32 + thread;
        const bool mine = (word >> thread & 1) != 0;
        const bool settles = mine && bf_cuda_axis_line_of(p.at, r).length <= most;
        const unsigned taken = __ballot_sync(~0u, settles);
        if (settles)
            list[count + __popc(taken & ((1u << thread) - 1))] = (unsigned char)(k * 32 + thread);
        count += __popc(taken);
        if (thread == 0) p.marks[r / 32] = word & ~taken;
        if (thread == 0 && word != taken) bf_cuda_axis_raise(&p.board->left);
    }
    __syncwarp();
    return count;
}

/* Way: descent or spread. */
template <class Way>
__global__ void __launch_bounds__(SETTLE_THREADS, SETTLE_BLOCKS)
    settle_marked(const __grid_constant__ bf_cuda_axis_params p, int size, int each) {
    __shared__ unsigned char lists[SETTLE_THREADS / BF_CUDA_WARP][WORDS * 32];
    bf_cuda_wait_for_previous();
    if (p.report != nullptr && blockIdx.x + threadIdx.x == 0) *p.report = (int64_t)p.board->wrong;
    if (p.board->failed == 0) return;
    const group lanes(size);
    const int thread = (int)threadIdx.x % BF_CUDA_WARP, groups = BF_CUDA_WARP / size;
    unsigned char *list = lists[threadIdx.x / BF_CUDA_WARP];
    const int64_t words = (p.at.results - 1) / 32 + 1,
                  warps = (int64_t)gridDim.x * SETTLE_THREADS / 32;
    int64_t first = ((int64_t)blockIdx.x * SETTLE_THREADS + threadIdx.x) / 32 * each;
    const auto marks_at = [&](int64_t at) {
        return thread < each && at + thread < words ? p.marks[at + thread] : 0;
    };
    unsigned next = marks_at(first);
    for (; first < words; first += warps * each) {
        const unsigned mine = next;
        next = marks_at(first + warps * each);
        if (!__any_sync(~0u, mine != 0)) continue;
        const int count = list_marked(p, first * 32, each, mine, list);
        for (int k = thread / size; k < count; k += groups) {
            const int64_t r = first * 32 + list[k];
            Way(p, bf_cuda_axis_line_of(p.at, r), lanes).write(r);
        }
        __syncwarp();
    }
}

/* All sums, whether or not they are marked. */
template <class C>
__global__ void __launch_bounds__(SETTLE_THREADS, SETTLE_BLOCKS)
    settle_all(const __grid_constant__ bf_cuda_axis_params p, int size) {
    bf_cuda_wait_for_previous();
    const group lanes(size);
    const int64_t groups = (int64_t)gridDim.x * (SETTLE_THREADS / size);
    int64_t r = ((int64_t)blockIdx.x * SETTLE_THREADS + threadIdx.x) / size;
    for (; r < p.at.results; r += groups) {
        descent<elements<C>>(p, bf_cuda_axis_line_of(p.at, r), lanes).write(r);
    }
}

template <class C> const void *kernel_of(bf_kind kind) {
    return kind == BF_KIND_SUM   ? (const void *)settle_marked<descent<elements<C>>>
           : kind == BF_KIND_DOT ? (const void *)settle_marked<descent<products<C>>>
                                 : (const void *)settle_marked<spread<C>>;
}
const void *kernel_of(const bf_cuda_axis_params &p) {
    if (p.element == 8) return kernel_of<bf_cuda_axis_floats_of<8>>(p.kind);
    return p.element == 4 ? kernel_of<bf_cuda_axis_floats_of<4>>(p.kind)
                          : kernel_of<bf_cuda_axis_floats_of<2>>(p.kind);
}

const void *kernel_of_all(const bf_cuda_axis_params &p) {
    if (p.element == 8) return (const void *)settle_all<bf_cuda_axis_floats_of<8>>;
    return p.element == 4 ? (const void *)settle_all<bf_cuda_axis_floats_of<4>>
                          : (const void *)settle_all<bf_cuda_axis_floats_of<2>>;
}

/* How many lanes share a result: few, but where there are few results, or their elements
 * neighbours. */
int lanes_of(const bf_cuda *cuda, const bf_cuda_axis_layout &at) {
    const bool many = at.results >= (int64_t)cuda->multiprocessors * SETTLE_THREADS;
    const int64_t length = bf_cuda_axis_mean(at);
    int lanes = 1;
    if (many && !bf_cuda_axis_is_along(at)) return lanes;
    while (lanes < BF_CUDA_WARP && length >= 2 * LANE_SHARE * lanes) lanes *= 2;
    return lanes;
}

} // namespace

cudaError_t bf_cuda_axis_launch_settle(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    bf_cuda_shape shape = {1, SETTLE_THREADS, 0, true, false};
    const void *kernel = kernel_of(p);
    int resident = 1, lanes = lanes_of(cuda, p.at); /* if it fails, the launch does too */
    (void)bf_cuda_occupancy(cuda, kernel, shape, &resident);
    shape.blocks = (int64_t)resident * cuda->multiprocessors;
    const int64_t share = p.at.results / (shape.blocks * SETTLE_THREADS); /* words of a warp */
    int each = share < 1 ? 1 : share < WORDS ? (int)share : WORDS;
    bf_cuda_axis_params q = p;
    void *arguments[] = {&q, &lanes, &each};
    return bf_cuda_launch(cuda, kernel, shape, arguments);
}

cudaError_t bf_cuda_axis_launch_settle_all(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    int lanes = lanes_of(cuda, p.at);
    const int64_t blocks = (p.at.results * lanes + SETTLE_THREADS - 1) / SETTLE_THREADS;
    const bf_cuda_shape shape = {blocks, SETTLE_THREADS, 0, true, false};
    bf_cuda_axis_params q = p;
    void *arguments[] = {&q, &lanes};
    return bf_cuda_launch(cuda, kernel_of_all(p), shape, arguments);
}
