/* Sums of floats: a state is three doubles, by the errors of additions (Knuth's TwoSum).
 *
 * Let all elements of a line be multiples of 2^m, and all sums of neighbours be less than
 * 2^(m + bits) in magnitude. A sum is high + middle + low: high is the sum rounded. The errors of
 * the additions to it are multiples of 2^m below 2^(m + bits - 53), and middle is their sum,
 * rounded; low is that of the errors of middle. If low needs less than 53 bits, every sum is exact.
 * Whether this is so, the least and the greatest exponent of the elements tell, which are part of
 * the state; else they bound the error. A result is certain where neither the error nor the
 * roundings on the way to it can have changed it. A line with others, or with an element that is
 * not finite, is scanned again (exact.cu).
 *
 * Most tiles have no need of errors (by_pairs). Those of narrow floats seldom need pairs either,
 * but to join their threads (by_doubles). */
#include "cuda/runtime/float.cuh"
#include "cuda/scan/kernels.cuh"

namespace {

using namespace bf_cuda_scan;

enum { NO_EXPONENT = 1 << 20, SPARE = 8 /* bits, for sums of a few errors */ };

struct rounded {
    double sum, error;
};

__device__ __forceinline__ rounded add_exactly(double a, double b) {
    const double sum = a + b, other = sum - a;
    return {sum, (a - (sum - other)) + (b - other)};
}

/* 2^exponent; beyond normal doubles the least of these, or infinity. */
__device__ __forceinline__ double power_of_two(int exponent) {
    const int field = min(max(exponent + 1023, 1), 2047);
    return __hiloint2double(field << 20, 0);
}

/* high + rest rounded to a dtype. */
__device__ __forceinline__ uint64_t round_to(bf_dtype to, double high, double rest) {
    using namespace bf_cuda_element;
    if (to == BF_F64) return bits_of(high + rest);
    const bool is_one = bits_of(rest) == bits_of(-0.0);
    if (to == BF_F32 && is_one) return bits_of((float)high);
    const double odd = is_one ? high : odd_fma(high, 1, rest);
    switch (to) {
    case BF_F16: return narrow_f16(odd_float(odd));
    case BF_BF16: return narrow_bf16(odd_float(odd));
    default: return bits_of((float)odd);
    }
}

template <bf_dtype D> struct bits_type { typedef uint16_t type; };
template <> struct bits_type<BF_F32> { typedef uint32_t type; };
template <> struct bits_type<BF_F64> { typedef uint64_t type; };

template <bf_dtype D> struct format : bf_cuda_float<D> {
    typedef typename bits_type<D>::type Bits;
    static constexpr int bits = bf_cuda_float<D>::bits, fraction = bits - 1;
    static constexpr int width = 8 * (int)sizeof(Bits);
    static constexpr int fields = (1 << (width - 1 - fraction)) - 1; /* the infinities have it */

    static __device__ __forceinline__ double decode(Bits held) {
        typename bf_cuda_float<D>::Element x;
        memcpy(&x, &held, sizeof x);
        return bf_cuda_float<D>::value(x);
    }
    /* Elements with this exponent field are below 2^exponent. Those of the field 0 have the
     * exponent of field 1. */
    static __device__ __forceinline__ int exponent_of(int field) {
        return max(field, 1) + bf_cuda_float<D>::least + fraction;
    }
};

/* Rounds a + b + c, if that is certain although the sum may be another by up to the margin. It has
 * 2^-100 of the most that a + b may be, and 2^-50 of the most that c may be. */
template <bf_dtype to>
__device__ __forceinline__ bool round_surely(double a, double b, double c, double margin,
                                             uint64_t *bits) {
    using namespace bf_cuda_element;
    if constexpr (to == BF_F64) {
        const rounded s = add_exactly(a, b);
        const double rest = c + s.error, sum = s.sum + rest;
        const double error = rest - (sum - s.sum); /* if |rest| <= |s|; else the margin is wide */
        *bits = bits_of(sum);
        return sum != 0 && sum + (error + margin) == sum && sum + (error - margin) == sum;
    }
    const double first = a + b, s = first + c, around = fma(fabs(first), 0x1p-50, margin);
    const uint64_t up = round_to(to, s + around, -0.0), down = round_to(to, s - around, -0.0);
    *bits = up;
    return up == down;
}

/* Calls run with the dtype of results, usually D, as an integral constant. */
template <bf_dtype D, class Run>
__device__ __forceinline__ bool with_dtype(std::true_type, bf_dtype, const Run &run) {
    return run(std::integral_constant<bf_dtype, D>());
}
template <bf_dtype D, class Run>
__device__ __forceinline__ bool with_dtype(std::false_type, bf_dtype to, const Run &run) {
    switch (to) {
    case BF_F16: return run(std::integral_constant<bf_dtype, BF_F16>());
    case BF_BF16: return run(std::integral_constant<bf_dtype, BF_BF16>());
    case BF_F32: return run(std::integral_constant<bf_dtype, BF_F32>());
    default: return run(std::integral_constant<bf_dtype, BF_F64>());
    }
}

template <bf_dtype D> struct float_sum {
    typedef format<D> F;
    typedef typename F::Bits Element;
    typedef Element Result;

    double high, middle, low;
    int least, most; /* exponent fields of elements other than 0 */

    static __device__ __forceinline__ float_sum none() { return {-0.0, 0, 0, NO_EXPONENT, 0}; }
    /* The sum of carried words, as one element would be: exact, or within a line's error. What is
     * not finite, or beyond the exponents of elements, is an infinite element. */
    static __device__ float_sum of_words(const bf_cuda_scan_params &, const int64_t *words) {
        const bf_layout layout = bf_layout_sum(D);
        const int64_t *limbs = words + BF_SUM_LIMBS, finite = bf_sum_finite(words);
        int first, end;
        float_sum s = none();
        bf_limbs_span(limbs, layout.limbs, &first, &end);
        if (finite > words[BF_SUM_NEG_ZERO]) s.high = 0;
        if (finite < words[BF_SUM_COUNT]) s.least = s.most = F::fields;
        if (first == end || s.most == F::fields) return s;
        const int64_t top = (int32_t)limbs[end - 1];
        const int bits = bf_bit_length((uint64_t)(top < 0 ? ~top : top)) + 1;
        const int highest = 32 * (end - 1) + layout.exponent + bits;
        const int lowest = 32 * first + layout.exponent + __ffsll(limbs[first]) - 1;
        s.least = lowest - F::least + 1;
        s.most = max(s.least, highest - F::least - F::fraction);
        if (s.most >= F::fields || highest > 1000) s.least = s.most = F::fields;
        for (int i = end - 1; i >= first && s.most < F::fields; i--)
            s.add(scalbn((double)(i == end - 1 ? top : limbs[i]), 32 * i + layout.exponent));
        s.settle();
        return s;
    }
    __device__ __forceinline__ void take(const bf_cuda_scan_params &, Element bits) {
        const Element magnitude = (Element)(bits << 1) >> 1;
        const int field = (int)(magnitude >> F::fraction);
        most = max(most, field);
        least = min(least, magnitude != 0 ? field : NO_EXPONENT);
        add(F::decode(bits));
    }
    __device__ __forceinline__ void add(double x) {
        const rounded r = add_exactly(high, x);
        high = r.sum;
        add_rest(r.error);
    }
    __device__ __forceinline__ void add_rest(double x) {
        const rounded r = add_exactly(middle, x);
        middle = r.sum;
        low += r.error;
    }
    /* Makes the rest as small as it can be. A zero keeps its sign. */
    __device__ __forceinline__ void settle() {
        const rounded a = add_exactly(middle, low), b = add_exactly(high, a.sum);
        const rounded c = add_exactly(b.error, a.error);
        if (a.sum != 0) high = b.sum;
        middle = c.sum;
        low = c.error;
    }
    __device__ __forceinline__ void join(const float_sum &other) {
        const rounded a = add_exactly(high, other.high), b = add_exactly(middle, other.middle);
        const rounded c = add_exactly(a.error, b.sum);
        high = a.sum;
        middle = c.sum;
        low = (low + other.low) + (b.error + c.error);
        settle();
        least = min(least, other.least);
        most = max(most, other.most);
    }
    /* The most by which sums of the line may be wrong: 0, or infinity if some element is infinite
     * or a sum may be. Let n be the length of the line, and 2^e the bound of elements. Settled
     * rests are below 2^-51 n 2^e and 2^-103 n 2^e; so each of the three roundings of a join is
     * below 2^-155 n 2^e, of at most 3 n joins. Threads take up to 32 elements to a settled state:
     * low is below 2^-90 2^e more then, and the roundings 2^-137 2^e each. */
    __device__ __forceinline__ double error(const bf_cuda_scan_params &p) const {
        if (least > most) return 0; /* zeros alone */
        const int count_bits = bf_bit_length((uint64_t)p.length);
        const int top = F::exponent_of(most), bottom = F::exponent_of(least) - F::bits;
        if (most >= F::fields || top + count_bits >= 1023) return INFINITY;
        if (top + count_bits - bottom <= 159 - SPARE) return 0;
        return power_of_two(top + max(count_bits - 130, 2 * count_bits - 150));
    }
    /* How much a result may differ from what round_surely rounds, the line's error included. */
    __device__ __forceinline__ double margin(const bf_cuda_scan_params &p) const {
        const int count_bits = bf_bit_length((uint64_t)p.length);
        return error(p) + power_of_two(F::exponent_of(most) + count_bits - 98);
    }
    __device__ __forceinline__ uint64_t result(const bf_cuda_scan_params &p, bool first,
                                               int *wrong) const {
        uint64_t bits;
        if (first) return 0;
        const double by = margin(p);
        const bool sure =
            by < INFINITY && with_dtype<D>(std::false_type(), p.prefix.to, [&](auto to) {
                return round_surely<to()>(high, middle, low, by, &bits);
            });
        if (sure) return bits;
        const exact_result r = round_exactly(p, *this);
        *wrong |= r.wrong;
        return r.bits;
    }
    struct exact_result {
        uint64_t bits;
        int wrong;
    };
    /* Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008. */
    static __device__ __noinline__ exact_result round_exactly(const bf_cuda_scan_params &p,
                                                              float_sum s) {
        const bf_dtype to = p.prefix.to;
        const double by = s.error(p);
        const bool is_zero = s.high == 0 && s.middle == 0 && s.low == 0;
        if (is_zero && by == 0) return {round_to(to, s.high, -0.0), 0}; /* with its sign */
        const rounded u = add_exactly(s.middle, s.low), t = add_exactly(s.high, u.sum);
        const double rest = bf_cuda_element::odd_fma(t.error, 1, u.error);
        const uint64_t bits = round_to(to, t.sum, rest);
        if (by == 0) return {bits, 0};
        const double up = rest + (by + fabs(rest) * 0x1p-50);
        const double down = rest - (by + fabs(rest) * 0x1p-50);
        const bool sure = by < INFINITY && round_to(to, t.sum, up) == round_to(to, t.sum, down);
        return {bits, sure ? 0 : UNSURE};
    }
};

/* What the elements of a tile tell beforehand. */
template <bf_dtype D> struct float_range {
    typedef format<D> F;
    /* The least upper 32 bits of elements, or all of them, that are not 0, minus 1, and the most.
     * The sign is put last, so that -0 has the exponent field of 0. */
    uint32_t least, most;
    uint32_t is_odd; /* some element is not 0, but these bits are */

    static __device__ __forceinline__ float_range none() { return {~0u, 0, 0}; }
    __device__ __forceinline__ void see(typename F::Bits bits) {
        constexpr int lower = F::width > 32 ? 32 : 0, apart = 32 - (F::width - lower);
        const uint32_t upper = (uint32_t)(bits >> lower) << apart;
        const uint32_t turned = __funnelshift_l(upper, upper, 1);
        most = max(most, turned);
        least = min(least, turned - 1);
        if (lower > 0 && turned == 0 && bits != 0) is_odd = 1;
    }
    /* The range of all threads; the caller synchronizes before the next one. */
    __device__ __forceinline__ float_range of_block() const {
        __shared__ float_range of_warps[WARPS];
        const int lane = threadIdx.x % BF_CUDA_WARP, warp = threadIdx.x / BF_CUDA_WARP;
        float_range all = {bf_cuda_warp_least(least), bf_cuda_warp_most(most),
                           bf_cuda_warp_or(is_odd)};
        if (lane == 0) of_warps[warp] = all;
        __syncthreads();
#pragma unroll
        for (const float_range &r : of_warps)
            all = {min(all.least, r.least), max(all.most, r.most), all.is_odd | r.is_odd};
        return all;
    }
    __device__ __forceinline__ bool is_zero() const { return most == 0 && !is_odd; }
    /* Is no element -0, nor beyond these bits? */
    __device__ __forceinline__ bool is_plain() const { return least > 0 && !is_odd; }
    /* The exponent fields. */
    __device__ __forceinline__ int most_field() const { return field_of(most); }
    __device__ __forceinline__ int least_field() const { return is_odd ? 0 : field_of(least + 1); }
    static __device__ __forceinline__ int field_of(uint32_t upper) {
        return (int)(upper >> (33 - (F::width - F::fraction)));
    }
};

/* The results of elements that follow those of a state, as by_states has them. Few need it. */
template <bf_dtype D, int count>
__device__ __noinline__ group_results<count>
next_exactly(const bf_cuda_scan_params &p, float_sum<D> s, group<float_sum<D>, count> g,
             skips skipped) {
    s.settle();
    return by_states<float_sum<D>>{p, s}.next(std::false_type(), g, skipped);
}

/* The way of a tile whose elements are multiples of 2^(exponent - 106 + 2 * COUNT), and less than
 * 2^exponent. The high unit is 2^(exponent + COUNT - 52): all sums of multiples are less than 2^52
 * units, and all sums of rests less than 2^53 of the multiples above. */
template <bf_dtype D> struct by_pairs {
    typedef format<D> F;
    typedef float_sum<D> S;
    static constexpr int COUNT = tile_of<S>::elements == 8192 ? 13 : 12;
    static_assert(tile_of<S>::elements == 1 << COUNT, "units are for other tiles");

    struct Sum {
        double high, low;
        static __device__ __forceinline__ Sum none() { return {-0.0, -0.0}; }
        __device__ __forceinline__ void join(const Sum &other) {
            high += other.high;
            low += other.low;
        }
    };
    const bf_cuda_scan_params &p;
    int least, most; /* exponent fields */
    double start;    /* 1.5 * 2^52 high units */
    S carried;
    Sum sum;
    double margin; /* how much a result may differ from what it is rounded from */

    static __device__ __forceinline__ bool fits(const float_range<D> &r) {
        if (r.most == 0 || !r.is_plain()) return false;
        const int least = r.least_field(), most = r.most_field();
        const int top = F::exponent_of(most);
        return most < F::fields && -700 < top && top < 1000 &&
               top - (F::exponent_of(least) - F::bits) <= 106 - 2 * COUNT;
    }
    static __device__ __forceinline__ by_pairs of(const bf_cuda_scan_params &p,
                                                  const float_range<D> &r) {
        const int most = r.most_field();
        const double start = 1.5 * power_of_two(F::exponent_of(most) + COUNT);
        return {p, r.least_field(), most, start, S::none(), Sum::none(), 0};
    }
    __device__ __forceinline__ void take(Sum *to, typename F::Bits bits) const {
        const double x = F::decode(bits), high = (x + start) - start;
        to->high += high;
        to->low += x - high;
    }
    __device__ __forceinline__ void settle(Sum *) const {}
    __device__ __forceinline__ S state(const Sum &all) const {
        S s = {all.high, 0, 0, least, most};
        s.add(all.low);
        return s;
    }
    __device__ __forceinline__ void begin(const S &before_tile, const Sum &before) {
        carried = before_tile;
        carried.least = min(carried.least, least);
        carried.most = max(carried.most, most);
        sum = before;
        margin = fabs(carried.low) + carried.error(p) + (fabs(carried.high) + start) * 0x1p-100 +
                 (fabs(carried.middle) + start * (0x1p-54 * (1 << COUNT))) * 0x1p-50;
    }
    template <class Usual, int count>
    __device__ __forceinline__ group_results<count> next(Usual usual, const group<S, count> &g,
                                                         skips skipped) {
        const Sum before = sum;
        group_results<count> r;
        r.wrong = 0;
        const bool sure = with_dtype<D>(usual, p.prefix.to, [&](auto to) {
            bool all = !skipped && margin < INFINITY;
#pragma unroll
            for (int k = 0; k < count; k++) {
                take(&sum, g.x[k]);
                if (k == 0 && skipped) sum = before;
                all &= round_surely<to()>(carried.high, sum.high, carried.middle + sum.low, margin,
                                          &r.bits[k]);
            }
            return all;
        });
        if (sure) return r;
        S s = carried;
        s.add(before.high);
        s.add(before.low);
        return next_exactly<D>(p, s, g, skipped);
    }
};

/* The way of a tile whose elements are multiples of 2^(exponent - 48), and less than 2^exponent:
 * all sums of a thread's neighbours are doubles. Between threads they are pairs. */
template <bf_dtype D> struct by_doubles : by_pairs<D> {
    typedef by_pairs<D> Pairs;
    typedef typename Pairs::F F;
    typedef typename Pairs::S S;
    typedef typename Pairs::Sum Sum;
    using Pairs::carried; /* up to the thread's elements */
    using Pairs::margin;
    using Pairs::start;
    static constexpr int EACH = 5, COUNT = Pairs::COUNT;
    static_assert(tile_of<S>::each <= 1 << EACH, "a thread has more elements");

    double own;      /* the sum of the thread's elements so far */
    double up, down; /* what is added to a sum of two doubles, so that the exact one lies between */

    static __device__ __forceinline__ bool fits(const float_range<D> &r) {
        const int top = F::exponent_of(r.most_field());
        return Pairs::fits(r) && top - (F::exponent_of(r.least_field()) - F::bits) <= 53 - EACH;
    }
    static __device__ __forceinline__ by_doubles of(const bf_cuda_scan_params &p,
                                                    const float_range<D> &r) {
        return {Pairs::of(p, r), 0, 0, 0};
    }
    __device__ __forceinline__ void take(Sum *to, typename F::Bits bits) const {
        to->high += F::decode(bits);
    }
    __device__ __forceinline__ void settle(Sum *to) const {
        const double sum = to->high;
        to->high = (sum + start) - start;
        to->low = sum - to->high;
    }
    __device__ __forceinline__ void begin(const S &before_tile, const Sum &before) {
        carried = before_tile;
        carried.add(before.high);
        carried.add(before.low);
        carried.settle();
        carried.least = min(carried.least, Pairs::least);
        carried.most = max(carried.most, Pairs::most);
        const double most = fabs(carried.high) + start * (1.0 / (1 << (COUNT - EACH)));
        margin = fabs(carried.low) + carried.error(Pairs::p) + most * 0x1p-100 +
                 fabs(carried.middle) * 0x1p-50;
        up = carried.middle + (margin + most * 0x1p-50);
        down = carried.middle - (margin + most * 0x1p-50);
        own = -0.0;
    }
    template <class Usual, int count>
    __device__ __forceinline__ group_results<count> next(Usual usual, const group<S, count> &g,
                                                         skips skipped) {
        const double before = own;
        group_results<count> r;
        r.wrong = 0;
        const bool sure = with_dtype<D>(usual, Pairs::p.prefix.to, [&](auto to) {
            bool all = !skipped && margin < INFINITY;
#pragma unroll
            for (int k = 0; k < count; k++) {
                own += F::decode(g.x[k]);
                if (k == 0 && skipped) own = before;
                if constexpr (to() == BF_F64) {
                    all &=
                        round_surely<to()>(carried.high, own, carried.middle, margin, &r.bits[k]);
                } else {
                    const double sum = carried.high + own;
                    r.bits[k] = round_to(to(), sum + up, -0.0);
                    all &= r.bits[k] == round_to(to(), sum + down, -0.0);
                }
            }
            return all;
        });
        if (sure) return r;
        S s = carried;
        s.add(before);
        return next_exactly<D>(Pairs::p, s, g, skipped);
    }
};

/* Any tile. */
template <bf_dtype D> struct by_sums : by_states<float_sum<D>> {
    typedef float_sum<D> S;
    typedef by_states<S> All;
    int least, most; /* exponent fields */
    double margin;   /* as in by_pairs */
    __device__ __forceinline__ void begin(const S &carried, const S &before) {
        All::begin(carried, before);
        S of_all = All::s;
        of_all.least = min(carried.least, least);
        of_all.most = max(carried.most, most);
        margin = of_all.margin(All::p);
    }
    template <class Usual, int count>
    __device__ __forceinline__ group_results<count> next(Usual usual, const group<S, count> &g,
                                                         skips skipped) {
        const S before = All::s;
        group_results<count> r;
        r.wrong = 0;
        const bool sure = with_dtype<D>(usual, All::p.prefix.to, [&](auto to) {
            bool all = !skipped && margin < INFINITY;
#pragma unroll
            for (int k = 0; k < count; k++) {
                All::s.take(All::p, g.x[k]);
                if (k == 0 && skipped) All::s = before;
                all &=
                    round_surely<to()>(All::s.high, All::s.middle, All::s.low, margin, &r.bits[k]);
            }
            return all;
        });
        return sure ? r : next_exactly<D>(All::p, before, g, skipped);
    }
};

} // namespace

template <bf_dtype D> struct bf_cuda_scan::ways<float_sum<D>> {
    typedef float_range<D> Range;
    static constexpr int blocks = 4;
    static __device__ __forceinline__ bool is_usual(const bf_cuda_scan_params &p) {
        return p.prefix.to == D;
    }
    template <class Run>
    static __device__ __forceinline__ void scan(const bf_cuda_scan_params &p, const Range &r,
                                                const Run &run) {
        constexpr bool has_doubles = D != BF_F64;
        if constexpr (has_doubles)
            if (by_doubles<D>::fits(r)) return run(by_doubles<D>::of(p, r), often());
        if (by_pairs<D>::fits(r))
            run(by_pairs<D>::of(p, r), std::bool_constant<has_doubles>());
        else
            run(by_sums<D>{{p, float_sum<D>::none()},
                           r.is_zero() ? NO_EXPONENT : r.least_field(),
                           r.most_field(),
                           0},
                rarely());
    }
};

bf_cuda_scan_kernels bf_cuda_scan_floats(const bf_cuda_scan_params &p) {
    switch (p.prefix.dtype) {
    case BF_F16: return kernels_of<float_sum<BF_F16>>();
    case BF_BF16: return kernels_of<float_sum<BF_BF16>>();
    case BF_F32: return kernels_of<float_sum<BF_F32>>();
    default: return kernels_of<float_sum<BF_F64>>();
    }
}
