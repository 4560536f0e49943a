/* Sums of floats of any exponents, and of products, in registers.
 *
 * Three doubles prove most sums: a chain of two-sums, and one of its errors. For the others a pass
 * adds the elements as integers of 128 bits, in units of 2^unit, without what each has below a
 * unit. So the sum of n elements is less than n units away from what the pass finds. Where that
 * leaves open how the sum rounds, another pass takes smaller units. Integers wrap around: what is
 * asked of a pass is less than 2^127 units. A product of f64 is two terms of a dot product. */
#ifndef BF_CUDA_AXIS_EXACT_SUMS_CUH
#define BF_CUDA_AXIS_EXACT_SUMS_CUH

#include "cuda/axis/exact/rounding.cuh"
#include "cuda/axis/exact/terms.cuh"

namespace {

enum {
    TOP = 110,   /* the highest bit of an element in the first pass */
    ROOM = 122,  /* bits of all elements of a sum that is settled */
    DOUBT = 14,  /* low bits, which what is cut off changes by less than a unit of the next */
    SPARE = 5,   /* bits of a product that the first pass moves it up by, at most */
    ENOUGH = 84, /* bits of a sum: but for those it rounds, and so does its mean */
    PLACE_LEAST = -2148 /* the exponent of the least product */
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

/* What a look at the terms of a sum tells: no bits of theirs are 2^(place + 53) or more; all are
 * numbers, and none is a zero; two doubles hold each. */
struct outlook {
    int place;
    bool plain, exact;
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

} // namespace

#endif
