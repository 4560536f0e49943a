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
__device__ __forceinline__ auto with_dtype(std::true_type, bf_dtype, const Run &run) {
    return run(std::integral_constant<bf_dtype, D>());
}
template <bf_dtype D, class Run>
__device__ __forceinline__ auto with_dtype(std::false_type, bf_dtype to, const Run &run) {
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
        const int count_bits = bf_bit_length((uint64_t)p.length), top = F::exponent_of(most);
        if (most >= F::fields || top + count_bits >= 1023) return INFINITY;
        if (width(count_bits) <= 159 - SPARE) return 0;
        return power_of_two(top + max(count_bits - 130, 2 * count_bits - 150));
    }
    /* So many bits hold any sum of less than 2^count_bits such elements. */
    __device__ __forceinline__ int width(int count_bits) const {
        return F::exponent_of(most) + count_bits - (F::exponent_of(least) - F::bits);
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
        return sure ? bits : result_exactly(p, wrong);
    }
    __device__ __forceinline__ uint64_t result_exactly(const bf_cuda_scan_params &p,
                                                       int *wrong) const {
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
     * The sign is put last, so that -0 has the exponent field of 0. An element that has bits below
     * these alone counts as -0. */
    uint32_t least, most;

    static __device__ __forceinline__ float_range none() { return {~0u, 0}; }
    __device__ __forceinline__ void see(typename F::Bits bits) {
        constexpr int lower = F::width > 32 ? 32 : 0, apart = 32 - (F::width - lower);
        const uint32_t upper = (uint32_t)(bits >> lower) << apart;
        uint32_t turned = __funnelshift_l(upper, upper, 1);
        if (lower > 0 && turned == 0 && bits != 0) turned = 1;
        most = max(most, turned);
        least = min(least, turned - 1);
    }
    /* The range of all threads; the caller synchronizes before the next one. */
    __device__ __forceinline__ float_range of_block() const {
        __shared__ float_range of_warps[WARPS];
        const int lane = threadIdx.x % BF_CUDA_WARP, warp = threadIdx.x / BF_CUDA_WARP;
        float_range all = {bf_cuda_warp_least(least), bf_cuda_warp_most(most)};
        if (lane == 0) of_warps[warp] = all;
        __syncthreads();
#pragma unroll
        for (const float_range &r : of_warps)
            all = {min(all.least, r.least), max(all.most, r.most)};
        return all;
    }
    __device__ __forceinline__ bool is_zero() const { return most == 0; }
    /* Is no element -0, nor beyond these bits? */
    __device__ __forceinline__ bool is_plain() const { return least > 0; }
    /* The exponent fields. */
    __device__ __forceinline__ int most_field() const { return field_of(most); }
    __device__ __forceinline__ int least_field() const { return field_of(least + 1); }
    static __device__ __forceinline__ int field_of(uint32_t upper) {
        return (int)(upper >> (33 - (F::width - F::fraction)));
    }
};

/* May the result before the next element be that of a state which is -0? Ways that forget the sign
 * of a zero do not tell. */
template <class S>
__device__ __forceinline__ bool may_be_minus_zero(const bf_cuda_scan_params &p, const S &carried) {
    const uint64_t bits = bf_cuda_element::bits_of(carried.high);
    return p.exclusive && p.starts != NULL && bits == bf_cuda_element::bits_of(-0.0);
}

/* 2^this is more than x. */
__device__ __forceinline__ int exponent_above(double x) {
    return (__double2hiint(x) >> 20 & 2047) - 1022;
}

/* The way of a tile whose elements are less than 2^exponent: of a unit, each is a multiple and a
 * rest. All sums of multiples are less than 2^52 units, so they are exact. Those of rests are where
 * all elements are multiples of a unit below which 53 bits hold them; so they have to be where a
 * tile is reduced. Where it is scanned, the unit holds what came before it, too, and rests may be
 * rounded: each addition is wrong by less than 2^-53 of the most that a sum of rests may be, and
 * there are less than 2^7 on the way to a result. */
template <bf_dtype D> struct by_pairs {
    typedef format<D> F;
    typedef float_sum<D> S;
    static constexpr bool is_usual = false;
    static constexpr int at_once = 4;
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
    int bound;       /* all sums of multiples are below 2^this */
    double start;    /* 1.5 * 2^52 units */
    Sum sum;         /* the line so far */
    double margin;   /* how much a result may differ from what it is rounded from */
    bool is_sure;    /* all results so far are certain */

    static __device__ __forceinline__ by_pairs with(const bf_cuda_scan_params &p,
                                                    const float_range<D> &r, int bound) {
        return {
            p,   r.least_field(), r.most_field(), bound, 1.5 * power_of_two(bound), Sum::none(), 0,
            true};
    }
    /* Are the exponents usual ones, and no element is -0? */
    static __device__ __forceinline__ bool is_usual_range(const float_range<D> &r) {
        return r.most > 0 && r.is_plain() && r.most_field() < F::fields &&
               F::exponent_of(r.most_field()) > -700;
    }
    /* Do doubles hold all sums of rests, if elements have this exponent field at least? */
    __device__ __forceinline__ bool is_exact(int field) const {
        return bound - (F::exponent_of(field) - F::bits) <= 105 - COUNT;
    }
    __device__ __forceinline__ bool fits() const { return bound < 1000 && is_exact(least); }
    static __device__ __forceinline__ by_pairs of(const bf_cuda_scan_params &p,
                                                  const float_range<D> &r) {
        return with(p, r, F::exponent_of(r.most_field()) + COUNT);
    }
    /* One that goes on from a state. */
    __device__ __forceinline__ bool fits_behind(const S &carried) const {
        return bound < 1000 && carried.most < F::fields &&
               (is_exact(least) || carried.least <= carried.most);
    }
    static __device__ __forceinline__ by_pairs behind(const bf_cuda_scan_params &p,
                                                      const float_range<D> &r, const S &carried) {
        const int own = F::exponent_of(r.most_field()) + COUNT;
        return with(p, r, max(own, exponent_above(carried.high)) + 1);
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
    __device__ __forceinline__ void begin(const S &carried, const Sum &before) {
        const S all = {0, 0, 0, min(carried.least, least), max(carried.most, most)};
        const double error = all.error(p), high = (carried.high + start) - start;
        sum = {high, ((carried.high - high) + carried.middle) + carried.low};
        sum.join(before);
        margin = error == 0 && is_exact(all.least) ? 0 : error + start * (0x1p-99 * (1 << COUNT));
        is_sure &= exponent_above(carried.high) < bound && !may_be_minus_zero(p, carried);
    }
    __device__ __forceinline__ void add(typename F::Bits bits) { take(&sum, bits); }
    template <class Usual>
    __device__ __forceinline__ uint64_t result(Usual usual, bool first, int *) {
        const double all = sum.high + sum.low, rest = sum.low - (all - sum.high);
        if (first) return 0;
        return with_dtype<D>(usual, p.prefix.to, [&](auto to) {
            const double around = fma(fabs(all), rest == 0 ? 0 : 0x1p-50, margin);
            const bool is_double = to() == BF_F64;
            const uint64_t up = round_to(to(), all + (is_double ? rest + margin : around), -0.0);
            const uint64_t down = round_to(to(), all + (is_double ? rest - margin : -around), -0.0);
            is_sure &= up == down;
            return up;
        });
    }
    __device__ __forceinline__ bool end() const { return is_sure; }
};

/* How far a double is behind a number of a dtype: about this, in units of which numbers are 2^32
 * apart. Ties have HALF of these. */
template <bf_dtype to> __device__ __forceinline__ uint32_t phase_of(double x) {
    constexpr int dropped = 53 - format<to>::bits; /* bits */
    return (uint32_t)(bf_cuda_element::bits_of(x) << (64 - dropped) >> 32);
}

/* The way of a tile whose elements are multiples of 2^(exponent - 48), and less than 2^exponent,
 * and whose results have their dtype: all sums of a thread's elements are doubles. Between threads
 * they are pairs.
 *
 * A result is rounded from the sum of two doubles, `base` and the thread's own, which is exact. Let
 * `size` be |base| and 2^(exponent - 25). The roundings on the way to base are below 2^-52 size,
 * and what the line may be wrong by is below 2^-53 size, or no result is certain. With the rounding
 * of the sum that is less than 98 units in its last place, if it is at least size / 32. So no tie
 * lies between it and the exact one, if none is within 128. Where doubles hold all sums on the way,
 * there are no roundings. */
template <bf_dtype D> struct by_doubles {
    typedef by_pairs<D> Pairs;
    typedef typename Pairs::F F;
    typedef typename Pairs::S S;
    typedef typename Pairs::Sum Sum;
    static constexpr bool is_usual = true;
    static constexpr int at_once = 8;
    static constexpr int EACH = 5;
    static constexpr uint32_t HALF = 1u << 31, TIES = F::bits < 21 ? 2 : 128 << (F::bits - 21);
    static_assert(tile_of<S>::each <= 1 << EACH, "a thread has more elements");

    const bf_cuda_scan_params &p;
    int least, most; /* exponent fields */
    double start;    /* as pairs have it */
    double base, own;
    uint32_t near, nearest; /* what phases have to be at least, as far as they are from ties; are */
    float small, smallest;  /* what results have to be at least; are */
    bool is_sure;

    static __device__ __forceinline__ by_doubles of(const bf_cuda_scan_params &p,
                                                    const float_range<D> &r) {
        const Pairs pairs = Pairs::of(p, r);
        return {p, pairs.least, pairs.most, pairs.start, 0, 0, 0, ~0u, 0, INFINITY, true};
    }
    __device__ __forceinline__ bool fits() const {
        return p.prefix.to == D && S{0, 0, 0, least, most}.width(EACH) <= 53;
    }
    __device__ __forceinline__ void take(Sum *to, typename F::Bits bits) const {
        to->high += F::decode(bits);
    }
    __device__ __forceinline__ void settle(Sum *to) const {
        const double all = to->high;
        to->high = (all + start) - start;
        to->low = all - to->high;
    }
    __device__ __forceinline__ S state(const Sum &all) const {
        S s = {all.high, 0, 0, least, most};
        s.add(all.low);
        return s;
    }
    __device__ __forceinline__ bool end() {
        return is_sure &= nearest >= near && smallest >= small;
    }
    __device__ __forceinline__ void begin(const S &carried, const Sum &before) {
        end();
        is_sure &= !may_be_minus_zero(p, carried);
        base = (carried.high + before.high) + (before.low + carried.middle);
        own = -0.0;
        const S all = {0, 0, 0, min(carried.least, least), max(carried.most, most)};
        const double most_own = power_of_two(F::exponent_of(most) + EACH);
        const double held = power_of_two(F::exponent_of(all.least) - F::bits + 52);
        const double size = fabs(base) + most_own * 0x1p-30, error = all.error(p);
        const bool is_exact = error == 0 && carried.middle == 0 &&
                              fabs(carried.high) + (fabs(before.high) + most_own) <= held;
        const bool is_close = error < INFINITY && error <= size * 0x1p-53;
        near = is_exact ? 0 : 2 * TIES;
        small = is_exact   ? 0
                : is_close ? (float)fmax(size / 32, power_of_two(F::exponent_of(0)))
                           : NAN;
        nearest = ~0u;
        smallest = INFINITY;
    }
    __device__ __forceinline__ void add(typename F::Bits bits) { own += F::decode(bits); }
    template <class Usual> __device__ __forceinline__ uint64_t result(Usual, bool first, int *) {
        const double sum = base + own;
        nearest = min(nearest, phase_of<D>(sum) + (TIES - HALF));
        smallest = fminf(smallest, fabsf((float)sum));
        return first ? 0 : round_to(D, sum, -0.0);
    }
};

/* Any tile. */
template <bf_dtype D> struct by_sums : by_states<float_sum<D>> {
    typedef float_sum<D> S;
    typedef by_states<S> All;
    int least, most; /* exponent fields */
    double margin;   /* as in by_pairs */
    static __device__ __forceinline__ by_sums of(const bf_cuda_scan_params &p,
                                                 const float_range<D> &r) {
        return {{p, S::none()}, r.is_zero() ? NO_EXPONENT : r.least_field(), r.most_field(), 0};
    }
    __device__ __forceinline__ void begin(const S &carried, const S &before) {
        All::begin(carried, before);
        S of_all = All::s;
        of_all.least = min(carried.least, least);
        of_all.most = max(carried.most, most);
        margin = of_all.margin(All::p);
    }
    template <class Usual>
    __device__ __forceinline__ uint64_t result(Usual usual, bool first, int *wrong) {
        uint64_t bits;
        if (first) return 0;
        const bool sure =
            margin < INFINITY && with_dtype<D>(usual, All::p.prefix.to, [&](auto to) {
                return round_surely<to()>(All::s.high, All::s.middle, All::s.low, margin, &bits);
            });
        return sure ? bits : All::s.result_exactly(All::p, wrong);
    }
};

} // namespace

template <bf_dtype D> struct bf_cuda_scan::ways<float_sum<D>> {
    typedef float_range<D> Range;
    static constexpr int blocks = 4;
    static __device__ __forceinline__ bool is_usual(const bf_cuda_scan_params &p) {
        return p.prefix.to == D;
    }
    static constexpr bool has_doubles = D != BF_F64;
    template <class Elements>
    static __device__ __forceinline__ void look(const bf_cuda_scan_params &, const Elements &) {}
    template <class Run>
    static __device__ __forceinline__ void reduce(const bf_cuda_scan_params &p, const Range &r,
                                                  const Run &run) {
        if (by_pairs<D>::is_usual_range(r)) {
            if constexpr (has_doubles) {
                const by_doubles<D> doubles = by_doubles<D>::of(p, r);
                if (doubles.fits()) return run(doubles, often());
            }
            const by_pairs<D> pairs = by_pairs<D>::of(p, r);
            if (pairs.fits()) return run(pairs, std::bool_constant<has_doubles>());
        }
        run(by_sums<D>::of(p, r), rarely());
    }
    template <class Run>
    static __device__ __forceinline__ void scan(const bf_cuda_scan_params &p, const Range &r,
                                                const float_sum<D> &carried, const Run &run) {
        if (by_pairs<D>::is_usual_range(r)) {
            if constexpr (has_doubles) {
                const by_doubles<D> doubles = by_doubles<D>::of(p, r);
                if (doubles.fits() && run(doubles, often())) return;
            }
            const by_pairs<D> pairs = by_pairs<D>::behind(p, r, carried);
            if (pairs.fits_behind(carried) && run(pairs, std::bool_constant<has_doubles>())) return;
        }
        run(by_sums<D>::of(p, r), rarely());
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
