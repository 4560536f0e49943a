/* Results of few elements from a few doubles each, without a window.
 *
 * A sum is a chain of two-sums. Of f32, f16 and bf16 its errors add up without rounding, unless
 * magnitudes differ by more than some 2^60: exponents prove that. Of f64 each addition of an error
 * tells whether it was exact.
 *
 * A variance need not be exact to be proven: sums of the elements and of their squares lack less
 * than a bound. If all that they may lack changes no bit of the rounded result, it is the result.
 *
 * A result of floats that is not proven is marked, and settled from its elements
 * (exact/settle.cu). Another kernel takes those of integers, and variances of short segments
 * (`second` in axis.cuh). */
#ifndef BF_CUDA_AXIS_DOUBLES_DOUBLES_CUH
#define BF_CUDA_AXIS_DOUBLES_DOUBLES_CUH

#include "cuda/axis/columns.cuh"
#include "cuda/axis/doubles/moments.cuh"
#include "cuda/axis/value.cuh"

/* What n * (sum of squares) - (sum)^2 lacks at most, of its first term, if each sum is of some
 * roundings one after another, of elements of which a number has been taken. */
static __device__ __forceinline__ double bf_cuda_axis_lost(double roundings) {
    return (4 * roundings + 32) * 0x1p-53;
}

/* Numbers of a call that every result needs. */
struct bf_cuda_axis_proven {
    double n, inverse; /* the inverse of n; for variances of n * (n - ddof) */
    double lost;       /* the most that n * (sum of squares) lacks */
    int bits, chain;   /* the bits of n^2; the elements that are added one after another */
    int64_t count;     /* n */

    __device__ __forceinline__ bf_cuda_axis_proven(const bf_cuda_axis_params &p, int64_t elements,
                                                   int added)
        : count(elements) {
        n = (double)count;
        inverse = 1;
        if (p.kind == BF_KIND_MOMENTS) inverse = 1 / (n * (double)(count - p.ddof));
        if (p.op == BF_MEAN) inverse = 1 / n;
        lost = bf_cuda_axis_lost(n);
        bits = 2 * (32 - __clz((int)count - 1));
        chain = 32 - __clz(added - 1);
    }
};

/* A number that lies between two, as f32. */
static __device__ __forceinline__ bool bf_cuda_axis_between(double low, double high,
                                                            uint64_t *bits) {
    const float x = (float)low;
    *bits = __float_as_uint(x);
    return x == (float)high;
}

/* A result, and whether it is proven: in registers. */
struct bf_cuda_axis_found {
    uint64_t bits;
    bool good;
};

/* A sum of f32, or its mean, that lacks at most `lost`; but a zero, whose sign is not known, is not
 * proven. */
static __device__ __noinline__ bf_cuda_axis_found bf_cuda_axis_find_rounded(
    bf_dtype to, bool is_mean, double sum, double error, double inverse, double lost) {
    bf_cuda_axis_found found;
    double rest, x = bf_two_sum(sum, error, &rest);
    if (to == BF_F32) {
        x *= inverse;
        lost = lost * inverse + fabs(x) * 0x1p-50;
        found.good = bf_cuda_axis_between(x - lost, x + lost, &found.bits);
        found.good = found.good && found.bits << 33 != 0;
        return found;
    }
    lost += fabs(x) * 0x1p-104;
    const double low = x + (rest - lost), high = x + (rest + lost);
    found.bits = (uint64_t)__double_as_longlong(low);
    found.good = low == high && fabs(low) <= 1.7976931348623157e308 && !is_mean;
    return found;
}

/* A mean, as f64, where `inverse` is 1 / n. The caller's result is not written here: it stays in a
 * register. */
static __device__ __noinline__ bool bf_cuda_axis_find_mean(const bf_cuda_axis_params &p, int64_t n,
                                                           double inverse, bf_cuda_axis_exactly sum,
                                                           uint64_t *bits) {
    *bits = (uint64_t)__double_as_longlong(sum.high); /* the bits of a zero */
    return sum.high == 0 || bf_cuda_axis_quick_mean(p.to, sum, n, inverse, bits);
}
static __device__ __forceinline__ bool bf_cuda_axis_prove_mean(const bf_cuda_axis_params &p,
                                                               int64_t n, double inverse,
                                                               bf_cuda_axis_exactly sum,
                                                               uint64_t *bits) {
    uint64_t mean;
    const bool good = bf_cuda_axis_find_mean(p, n, inverse, sum, &mean);
    *bits = mean;
    return good;
}

/* A sum that lacks at most `lost`, or its mean, as f64. */
static __device__ __noinline__ bf_cuda_axis_found bf_cuda_axis_find_near(bf_dtype to, double by,
                                                                         bf_cuda_axis_exactly sum,
                                                                         double lost) {
    bf_cuda_axis_found found;
    if (by != 1) sum = bf_cuda_axis_divide_exactly(sum, by);
    lost = lost / by + fabs(sum.high) * 0x1p-98; /* what is rounded here, too */
    found.good = bf_cuda_axis_round_near(to, sum.high, sum.low, lost, &found.bits);
    return found;
}
static __device__ __forceinline__ bool bf_cuda_axis_prove_near(const bf_cuda_axis_params &p,
                                                               int64_t n, bf_cuda_axis_exactly sum,
                                                               double lost, uint64_t *bits) {
    const bf_cuda_axis_found found =
        bf_cuda_axis_find_near(p.to, p.op == BF_MEAN ? (double)n : 1, sum, lost);
    *bits = found.bits;
    return found.good;
}

/* The result of no elements, or of too few for a variance. */
static __device__ __forceinline__ uint64_t bf_cuda_axis_none(const bf_cuda_axis_params &p) {
    const bool is_nan = p.kind == BF_KIND_MOMENTS || p.op == BF_MEAN;
    return is_nan ? bf_format_nan(bf_format_of(p.to)) : 0;
}

/* What proves sums and moments. */
template <bool Settles> struct bf_cuda_axis_sum_proof {
    static constexpr bool settles = Settles; /* what it cannot prove is marked (exact/settle.cu) */
    /* The result of no elements; false: it is left to another kernel. */
    static __device__ __forceinline__ bool none(const bf_cuda_axis_params &p, uint64_t *bits) {
        *bits = bf_cuda_axis_none(p);
        return true;
    }
};

/* --- sums of f32, f16 and bf16 --- */

/* Few: additions of some few elements are exact themselves, if magnitudes are alike. Where they are
 * not, what they may lack is proven to change nothing. */
template <bool Few> struct bf_cuda_axis_proven_sum : bf_cuda_axis_sum_proof<true> {
    /* What several results share. */
    struct Joint {
        float most;
        unsigned least; /* twice the bits of the least magnitude but 0, less 1 */

        __device__ __forceinline__ void open(const bf_cuda_axis_params &) { reset(); }
        __device__ __forceinline__ void reset() {
            most = 0;
            least = ~0u;
        }
        __device__ __forceinline__ void look(float x) {
            const unsigned bits = __float_as_uint(x);
            most = fmaxf(most, fabsf(x));
            least = min(least, 2 * bits - 1);
        }
        __device__ __forceinline__ void join(const Joint &other) {
            most = fmaxf(most, other.most);
            least = min(least, other.least);
        }
        __device__ __forceinline__ int64_t word() const {
            return (int64_t)((uint64_t)__float_as_uint(most) << 32 | least);
        }
        __device__ __forceinline__ void set(int64_t word) {
            most = __uint_as_float((unsigned)((uint64_t)word >> 32));
            least = (unsigned)word;
        }
        __device__ __forceinline__ void join_warp() {
            const bf_extent e = {(int)__float_as_uint(most), (int)(least >> 1)};
            const bf_extent all = bf_cuda_extent_warp(e);
            most = __uint_as_float((unsigned)all.top);
            least = (unsigned)all.least << 1 | 1;
        }
        __device__ __forceinline__ bool is_exact(const bf_cuda_axis_proven &t) const {
            const int top = (int)(__float_as_uint(most) >> 23), last = (int)((least + 1) >> 24);
            const int bits = Few ? 29 - t.chain : 80 - t.bits;
            return top < 255 && (top - max(last, 1) <= bits || most == 0);
        }
    };
    static constexpr bool has_origin = false;
    static constexpr bool stays = true; /* results that leave the cache early take longer
                                           (docs/performance/gpu.md) */
    static constexpr int columns = 4;   /* a thread has so many */
    double sum, error;

    __device__ __forceinline__ void reset() { sum = error = -0.0; }
    __device__ __forceinline__ void start(float, const Joint &) {}
    __device__ __forceinline__ void take(float x, Joint &joint, int) {
        joint.look(x);
        if (Few) {
            sum += x;
            return;
        }
        double rest;
        sum = bf_two_sum(sum, x, &rest);
        error += rest;
    }
    /* Adds what another lane has of the same result. */
    __device__ __forceinline__ void merge(const bf_cuda_axis_proven_sum &other, Joint &) {
        double rest;
        sum = bf_two_sum(sum, other.sum, &rest);
        error += rest;
        error += other.error;
    }
    __device__ __forceinline__ bf_cuda_axis_proven_sum shuffle(int distance) const {
        bf_cuda_axis_proven_sum x;
        x.sum = __shfl_xor_sync(0xffffffffu, sum, distance);
        x.error = __shfl_xor_sync(0xffffffffu, error, distance);
        return x;
    }
    __device__ __forceinline__ bool prove(const bf_cuda_axis_params &p,
                                          const bf_cuda_axis_proven &t, const Joint &joint,
                                          uint64_t *bits) const {
        double rest = 0, x = sum;
        if (!joint.is_exact(t)) {
            /* Each of n additions lacks 2^-53 of its sum, at most. Of errors n * most * 2^-53 each
             * are added. */
            const double lost = t.n * t.n * joint.most * 0x1p-53;
            return prove_rounded(p, t, Few ? lost : lost * t.n * 0x1p-53, bits);
        }
        if (error != 0) x = bf_two_sum(sum, error, &rest);
        if (p.op == BF_MEAN && p.to == BF_F64)
            return bf_cuda_axis_prove_mean(p, t.count, t.inverse, {x, rest}, bits);
        if (p.op == BF_MEAN) {
            double mean = x * t.inverse;
            const double off = fma(-mean, t.n, x);
            if (off != 0) mean = fma(off, t.inverse, mean);
            const bool is_quotient = rest == 0 && fma(-mean, t.n, x) == 0; /* often a tie */
            const double lost = is_quotient ? 0 : fabs(mean) * 0x1p-50;
            return bf_cuda_axis_between(mean - lost, mean + lost, bits);
        }
        *bits = (uint64_t)__double_as_longlong(x);
        if (rest != 0 && p.to == BF_F32) x = bf_round_odd(x, rest);
        if (p.to == BF_F32) *bits = __float_as_uint((float)x);
        return fabs(x) <= 1.7976931348623157e308;
    }
    /* Proves the result of n elements, of which so many additions follow each other. A sum that is
     * not finite has terms that are not: doubles do not overflow. */
    __device__ __forceinline__ bool prove(const bf_cuda_axis_params &p, int64_t n, double roundings,
                                          const Joint &joint, uint64_t *bits) const {
        const bf_format f = bf_format_of(p.to);
        bf_cuda_axis_proven proven(p, n, 1);
        const double additions = proven.n * roundings; /* at most, of all depths */
        const double lost = additions * roundings * joint.most * 0x1p-104;
        proven.bits = (int)(bf_cuda_high(additions) >> 20) - 1022;
        if (!(fabs(sum) <= 1.7976931348623157e308)) {
            *bits = bf_format_inf(f) | (sum < 0 ? bf_format_sign(f) : 0);
            if (sum != sum) *bits = bf_format_nan(f);
            return p.nan == BF_NAN_PROPAGATE;
        }
        return joint.is_exact(proven) ? prove(p, proven, joint, bits)
                                      : prove_rounded(p, proven, lost, bits);
    }
    /* Proves the result if the error lacks at most `lost`. */
    __device__ __forceinline__ bool prove_rounded(const bf_cuda_axis_params &p,
                                                  const bf_cuda_axis_proven &t, double lost,
                                                  uint64_t *bits) const {
        const bf_cuda_axis_found found =
            bf_cuda_axis_find_rounded(p.to, p.op == BF_MEAN, sum, error, t.inverse, lost);
        *bits = found.bits;
        return found.good;
    }
};

/* --- variances of f32, f16 and bf16, as f32 --- */

static __device__ __forceinline__ bool bf_cuda_axis_prove_variance(const bf_cuda_axis_params &p,
                                                                   const bf_cuda_axis_proven &t,
                                                                   double sum, double squares,
                                                                   uint64_t *bits) {
    const double all = t.n * squares, v = (all - sum * sum) * t.inverse;
    /* Nothing is lost of two elements, one of which is the origin. Results are often ties. */
    const bool is_exact = t.count == 2 && fma(sum, sum, -squares) == 0;
    const double lost = is_exact ? 0 : all * t.inverse * t.lost;
    double low = fmax(v - lost, 0), high = v + lost;
    if (p.op == BF_STD && is_exact && p.ddof == 0) {
        low = high = fabs(sum) / 2;
    } else if (p.op == BF_STD) {
        low = sqrt(low) * (1 - 0x1p-51);
        high = sqrt(high) * (1 + 0x1p-51);
    }
    return bf_cuda_axis_between(low, high, bits);
}

/* A sum of squares or its root, as f32: of it at most a part is lost. */
static __device__ __forceinline__ bool bf_cuda_axis_prove_squares(const bf_cuda_axis_params &p,
                                                                  double squares, double lost,
                                                                  uint64_t *bits) {
    double low = squares - squares * lost, high = squares + squares * lost;
    if (p.op == BF_NORM) {
        low = sqrt(low) * (1 - 0x1p-51);
        high = sqrt(high) * (1 + 0x1p-51);
    }
    return bf_cuda_axis_between(low, high, bits);
}

/* The result of elements of at most 4 bytes of which some are no numbers: no double overflows that
 * adds their squares. */
static __device__ __forceinline__ bool bf_cuda_axis_find_no_number(const bf_cuda_axis_params &p,
                                                                   double squares, uint64_t *bits) {
    const bf_format f = bf_format_of(p.to);
    const bool is_nan = p.kind == BF_KIND_MOMENTS || squares != squares;
    *bits = is_nan ? bf_format_nan(f) : bf_format_inf(f);
    return p.nan == BF_NAN_PROPAGATE;
}

static __device__ __forceinline__ bool bf_cuda_axis_prove_moments(const bf_cuda_axis_params &p,
                                                                  const bf_cuda_axis_proven &t,
                                                                  double sum, double squares,
                                                                  uint64_t *bits) {
    if (!(squares <= 1.7976931348623157e308)) return bf_cuda_axis_find_no_number(p, squares, bits);
    if (p.kind == BF_KIND_SQUARES) return bf_cuda_axis_prove_squares(p, squares, t.lost, bits);
    return bf_cuda_axis_prove_variance(p, t, sum, squares, bits);
}

struct bf_cuda_axis_proven_moments : bf_cuda_axis_sum_proof<true> {
    struct Joint {
        bool squares; /* nothing else is wanted */
        __device__ __forceinline__ void open(const bf_cuda_axis_params &p) {
            squares = p.kind == BF_KIND_SQUARES;
        }
        __device__ __forceinline__ void join_warp() {}
    };
    static constexpr bool has_origin = true, stays = false;
    static constexpr int columns = 4;
    double sum, squares; /* elements are counted from the origin */
    double origin;       /* the first element */

    __device__ __forceinline__ void reset() { sum = squares = origin = 0; }
    __device__ __forceinline__ void start(float x, const Joint &joint) {
        origin = joint.squares ? 0 : x;
    }
    __device__ __forceinline__ void take(float x, Joint &, int) {
        const double d = x - origin;
        sum += d;
        squares = fma(d, d, squares);
    }
    __device__ __forceinline__ void merge(const bf_cuda_axis_proven_moments &other, Joint &) {
        sum += other.sum;
        squares += other.squares;
    }
    __device__ __forceinline__ bf_cuda_axis_proven_moments shuffle(int distance) const {
        bf_cuda_axis_proven_moments x;
        x.sum = __shfl_xor_sync(0xffffffffu, sum, distance);
        x.squares = __shfl_xor_sync(0xffffffffu, squares, distance);
        x.origin = origin;
        return x;
    }
    __device__ __forceinline__ bool prove(const bf_cuda_axis_params &p,
                                          const bf_cuda_axis_proven &t, const Joint &,
                                          uint64_t *bits) const {
        return bf_cuda_axis_prove_moments(p, t, sum, squares, bits);
    }
};

/* --- f64 --- */

/* Additions of errors tell whether they were exact, for sums lie often in the middle of two
 * results.
 */
struct bf_cuda_axis_proven_sum_f64 : bf_cuda_axis_sum_proof<true> {
    /* What several results share. */
    struct Joint {
        bool exact;    /* no addition of errors has rounded */
        unsigned most; /* the upper half of the greatest magnitude */

        __device__ __forceinline__ void open(const bf_cuda_axis_params &) { reset(); }
        __device__ __forceinline__ void reset() {
            exact = true;
            most = 0;
        }
        __device__ __forceinline__ void join(const Joint &other) {
            exact = exact && other.exact;
            most = max(most, other.most);
        }
        __device__ __forceinline__ void join_warp() {
            exact = __all_sync(0xffffffffu, exact) != 0;
            if (!exact) most = bf_cuda_warp_most(most);
        }
        __device__ __forceinline__ int64_t word() const {
            return (int64_t)((uint64_t)most << 32 | exact);
        }
        __device__ __forceinline__ void set(int64_t word) {
            exact = (word & 1) != 0;
            most = (unsigned)((uint64_t)word >> 32);
        }
    };
    static constexpr bool has_origin = false, stays = false;
    static constexpr int columns = 2;
    double sum, error;

    __device__ __forceinline__ void reset() { sum = error = -0.0; }
    __device__ __forceinline__ void start(double, const Joint &) {}
    __device__ __forceinline__ void add(double x, Joint &joint) {
        joint.exact = bf_terms_add(&sum, &error, x) && joint.exact;
    }
    __device__ __forceinline__ void take(double x, Joint &joint, int) {
        joint.most = max(joint.most, bf_cuda_high(x) & 0x7fffffffu);
        add(x, joint);
    }
    __device__ __forceinline__ void merge(const bf_cuda_axis_proven_sum_f64 &other, Joint &joint) {
        add(other.sum, joint);
        joint.exact = bf_add_exactly(&error, other.error) && joint.exact;
    }
    __device__ __forceinline__ bf_cuda_axis_proven_sum_f64 shuffle(int distance) const {
        bf_cuda_axis_proven_sum_f64 x;
        x.sum = __shfl_xor_sync(0xffffffffu, sum, distance);
        x.error = __shfl_xor_sync(0xffffffffu, error, distance);
        return x;
    }
    __device__ __forceinline__ bool prove(const bf_cuda_axis_params &p,
                                          const bf_cuda_axis_proven &t, const Joint &joint,
                                          uint64_t *bits) const {
        return prove_number(p, t.count, t.inverse, t.n, joint, bits);
    }
    /* Proves the result of n elements, of which so many additions follow each other. No other
     * result has this joint. */
    __device__ __forceinline__ bool prove(const bf_cuda_axis_params &p, int64_t n, double roundings,
                                          const Joint &joint, uint64_t *bits) const {
        if (joint.most < 0x7ff00000u)
            return prove_number(p, n, 1 / (double)n, roundings, joint, bits);
        return is_no_number(joint, bits) && p.nan == BF_NAN_PROPAGATE;
    }
    /* Where an addition of errors has rounded, the sum lacks at most n * roundings^2 * 2^-106 of
     * the greatest magnitude. */
    __device__ __forceinline__ bool prove_number(const bf_cuda_axis_params &p, int64_t n,
                                                 double inverse, double roundings,
                                                 const Joint &joint, uint64_t *bits) const {
        const double x = error == 0 ? sum : sum + error;
        *bits = (uint64_t)__double_as_longlong(x);
        const bool exact = joint.exact && fabs(x) <= 1.7976931348623157e308;
        if (exact && p.op != BF_MEAN) return true;
        bf_cuda_axis_exactly exactly = {x, 0};
        if (error != 0) exactly.high = bf_two_sum(sum, error, &exactly.low);
        if (exact) return bf_cuda_axis_prove_mean(p, n, inverse, exactly, bits);
        if (joint.most >= 0x7fe00000u) return false;
        const double greatest = __hiloint2double((int)joint.most + (1 << 20), 0);
        const double lost = (double)n * roundings * roundings * greatest * 0x1p-104;
        return bf_cuda_axis_prove_near(p, n, exactly, lost, bits);
    }
    /* The sum of elements of which some are no numbers. An infinity shows that no element is
     * another one or a NaN. But a NaN may come of finite elements that overflow, and an infinity.
     */
    __device__ __forceinline__ bool is_no_number(const Joint &joint, uint64_t *bits) const {
        const bool is_nan = joint.most > 0x7ff00000u;
        const bf_format f = bf_format_f64();
        *bits = is_nan ? bf_format_nan(f) : bf_format_inf(f) | (sum < 0 ? bf_format_sign(f) : 0);
        return is_nan || sum == sum;
    }
};

struct bf_cuda_axis_proven_moments_f64 : bf_cuda_axis_sum_proof<true>, bf_cuda_axis_moments_f64 {
    using Joint = bf_cuda_axis_proven_moments::Joint;
    static constexpr bool has_origin = false, stays = false;
    static constexpr int columns = 2;

    __device__ __forceinline__ void start(double, const Joint &) {}
    __device__ __forceinline__ void take(double x, Joint &, int) {
        add(x);
        if (x * x == 0 && x != 0) more = NAN; /* too small for a double: nothing is proven */
    }
    __device__ __forceinline__ void merge(const bf_cuda_axis_proven_moments_f64 &other, Joint &) {
        bf_cuda_axis_moments_f64::merge(other);
    }
    __device__ __forceinline__ bf_cuda_axis_proven_moments_f64 shuffle(int distance) const {
        bf_cuda_axis_proven_moments_f64 x;
        x.set_other(*this, 0xffffffffu, distance);
        return x;
    }
    __device__ __forceinline__ bool prove(const bf_cuda_axis_params &p,
                                          const bf_cuda_axis_proven &t, const Joint &,
                                          uint64_t *bits) const {
        if (p.element < 8 && !(squares <= 1.7976931348623157e308))
            return bf_cuda_axis_find_no_number(p, squares, bits);
        return find(p, t.count, t.n, bits);
    }
};

/* Writes a result that leaves the cache as early as elements do. */
static __device__ __forceinline__ void bf_cuda_axis_store_once(const bf_cuda_axis_params &p,
                                                               int64_t r, uint64_t bits) {
    if (!p.aligned || p.bytes < 4)
        bf_cuda_axis_store(p, r, bits);
    else if (p.bytes == 4)
        __stcs((unsigned *)p.values + r, (unsigned)bits);
    else
        __stcs((unsigned long long *)p.values + r, (unsigned long long)bits);
}

/* The low bytes of neighbouring results as words. */
template <int bytes, int W>
static __device__ __forceinline__ unsigned bf_cuda_axis_packed(const uint64_t (&bits)[W],
                                                               int word) {
    unsigned x = 0;
#pragma unroll
    for (int i = 0; i < 4 / bytes; i++)
        x |= ((unsigned)bits[word * (4 / bytes) + i] & (unsigned)((1ull << 8 * bytes) - 1))
             << 8 * bytes * i;
    return x;
}
template <int bytes, int W>
static __device__ __forceinline__ void bf_cuda_axis_store_packed(char *to,
                                                                 const uint64_t (&bits)[W]) {
    constexpr int words = W * bytes / 4;
    if constexpr (words % 4 == 0) {
#pragma unroll
        for (int i = 0; i < words; i += 4)
            __stcs((uint4 *)to + i / 4, make_uint4(bf_cuda_axis_packed<bytes>(bits, i),
                                                   bf_cuda_axis_packed<bytes>(bits, i + 1),
                                                   bf_cuda_axis_packed<bytes>(bits, i + 2),
                                                   bf_cuda_axis_packed<bytes>(bits, i + 3)));
    } else if constexpr (words == 2) {
        __stcs((uint2 *)to, make_uint2(bf_cuda_axis_packed<bytes>(bits, 0),
                                       bf_cuda_axis_packed<bytes>(bits, 1)));
    } else {
#pragma unroll
        for (int i = 0; i < words; i++)
            __stcs((unsigned *)to + i, bf_cuda_axis_packed<bytes>(bits, i));
    }
}

/* Writes W neighbouring results as vectors. Returns whether they lie at multiples of these. */
template <int W>
static __device__ __forceinline__ bool
bf_cuda_axis_store_vector(const bf_cuda_axis_params &p, int64_t r, const uint64_t (&bits)[W]) {
    char *to = (char *)p.values + r * p.bytes;
    const int all = W * p.bytes;
    if (all < 4 || ((uintptr_t)to & (unsigned)(min(all, 16) - 1)) != 0) return false;
    if (p.bytes == 8) {
#pragma unroll
        for (int k = 0; k < W; k += 2)
            __stcs((ulonglong2 *)to + k / 2, make_ulonglong2(bits[k], bits[k + 1]));
    } else if (p.bytes == 4) {
        bf_cuda_axis_store_packed<4>(to, bits);
    } else if (p.bytes == 2) {
        bf_cuda_axis_store_packed<2>(to, bits);
    } else {
        bf_cuda_axis_store_packed<1>(to, bits);
    }
    return true;
}

/* --- columns --- */

template <class C, class Proven> struct bf_cuda_axis_proven_columns {
    using Raw = typename C::Raw;
    static constexpr int W = Proven::columns, U = 4;
    using Columns = bf_cuda_axis_columns_at<C, W>;

    const bf_cuda_axis_params &p;
    bf_cuda_axis_proven proven;

    /* Where a tile begins. */
    struct Tile {
        int64_t first, a; /* result, element */
        int columns;
    };
    __device__ __forceinline__ Tile tile_of(int64_t u) const {
        int64_t part = u, outer = 0;
        if (p.tiles != p.parts) outer = bf_cuda_axis_divide(u, p.parts, &part);
        const int64_t column = part * p.columns, left = p.inner - column;
        Tile t;
        t.first = outer * p.inner + column;
        t.columns = (int)(left < p.columns ? left : p.columns);
        t.a = column * p.distance;
        if (p.tiles != p.parts) t.a = bf_cuda_axis_line_of(p.at, t.first).a;
        return t;
    }
    __device__ __forceinline__ Columns place(const Tile &t, int threads, bool vector) const {
        Columns at;
        at.distance = p.distance;
#pragma unroll
        for (int k = 0; k < W; k++) {
            const int column = (int)threadIdx.x * (vector ? W : 1) + k * (vector ? 1 : threads);
            at.column[k] = column < t.columns ? column : 0;
        }
        return at;
    }
    __device__ __forceinline__ bool is_vector(const Tile &t) const {
        constexpr int bytes = W * (int)sizeof(Raw);
        const uintptr_t at = (uintptr_t)p.a + (uintptr_t)(t.a * (int)sizeof(Raw));
        const uintptr_t step = (uintptr_t)(p.steps[0] * (int)sizeof(Raw));
        return p.distance == 1 && t.columns % W == 0 && ((at | step) & (unsigned)(bytes - 1)) == 0;
    }
    template <bool vector>
    __device__ __forceinline__ void take(const Tile &t, const Columns &at, Proven (&sums)[W],
                                         typename Proven::Joint &joint) const {
        const int rows = (int)p.at.length;
        int64_t row = t.a;
        BF_ROLLED
        for (int i = 0; i < rows; i += U, row += U * p.steps[0]) {
            bf_cuda_axis_raws<Raw, W> x[U];
#pragma unroll
            for (int u = 0; u < U; u++)
                if (i + u < rows) at.template load<vector>(p, p.a, row + u * p.steps[0], x[u]);
            if (Proven::has_origin && i == 0) {
#pragma unroll
                for (int k = 0; k < W; k++) sums[k].start(C::value(p, x[0][k]), joint);
            }
#pragma unroll
            for (int u = 0; u < U; u++) {
                if (i + u >= rows) break;
#pragma unroll
                for (int k = 0; k < W; k++) sums[k].take(C::value(p, x[u][k]), joint, i + u);
            }
        }
    }
    /* Returns whether the results of this thread's columns are written. */
    template <bool vector>
    __device__ __forceinline__ bool finish(const Tile &t, const Columns &at,
                                           const Proven (&sums)[W],
                                           const typename Proven::Joint &joint) const {
        uint64_t bits[W];
        unsigned missing = 0;
#pragma unroll
        for (int k = 0; k < W; k++)
            if (!sums[k].prove(p, proven, joint, &bits[k])) missing |= 1u << k;
        if (missing != 0 && !Proven::settles) return false;
        if (vector && missing == 0 && bf_cuda_axis_store_vector(p, t.first + at.column[0], bits))
            return true;
        if (vector) bf_cuda_axis_mark_some(p, t.first + at.column[0], missing);
#pragma unroll
        for (int k = 0; k < W; k++) { /* a column that is not there is the first once more */
            if ((missing >> k & 1) == 0)
                bf_cuda_axis_store_once(p, t.first + at.column[k], bits[k]);
            else if (!vector)
                bf_cuda_axis_mark(p, t.first + at.column[k]);
        }
        return true;
    }
    template <bool vector> __device__ __forceinline__ bool run(const Tile &t, int threads) const {
        const Columns at = place(t, threads, vector);
        Proven sums[W];
        typename Proven::Joint joint;
        joint.open(p);
#pragma unroll
        for (int k = 0; k < W; k++) sums[k].reset();
        take<vector>(t, at, sums, joint);
        bf_cuda_wait_for_end();
        return finish<vector>(t, at, sums, joint);
    }
};

/* The plan has waited for what came before the call. */
template <class C, class Proven>
__global__ void __launch_bounds__(BF_CUDA_AXIS_THREADS, BF_CUDA_AXIS_DIRECT_BLOCKS)
    bf_cuda_axis_doubles_columns(const __grid_constant__ bf_cuda_axis_params p) {
    using Columns = bf_cuda_axis_proven_columns<C, Proven>;
    constexpr int W = Columns::W;
    const Columns columns = {p, bf_cuda_axis_proven(p, p.at.length, (int)p.at.length)};
    const int threads = (p.columns + W - 1) / W, thread = (int)threadIdx.x;
    bf_cuda_let_next_begin();
    for (int64_t u = blockIdx.x; u < p.tiles; u += gridDim.x) {
        const auto t = columns.tile_of(u);
        const bool vector = columns.is_vector(t);
        if ((vector ? thread * W : thread) >= t.columns || thread >= threads) continue;
        if (!(vector ? columns.template run<true>(t, threads)
                     : columns.template run<false>(t, threads)))
            bf_cuda_axis_defer_once(p, t.first);
    }
}

/* --- rows --- */

template <class T> static __device__ __forceinline__ void swap(T &a, T &b) {
    const T c = a;
    a = b;
    b = c;
}

/* Rows of whole vectors, one behind another: `lanes` lanes of a warp prove four rows at a time. */
template <class C, class Proven>
__global__ void __launch_bounds__(BF_CUDA_AXIS_WARP_THREADS, BF_CUDA_AXIS_DIRECT_BLOCKS)
    bf_cuda_axis_doubles_rows(const __grid_constant__ bf_cuda_axis_params p) {
    using Value = typename C::Value;
    constexpr int N = C::N, R = 4;
    constexpr auto store = Proven::stays ? bf_cuda_axis_store : bf_cuda_axis_store_once;
    const int lane = (int)threadIdx.x % p.lanes, groups = BF_CUDA_WARP / p.lanes;
    const int group = (int)threadIdx.x % BF_CUDA_WARP / p.lanes;
    const int vectors = (int)p.at.length / N;
    const bf_cuda_axis_proven proven(p, p.at.length, (vectors + p.lanes - 1) / p.lanes * N);
    const int64_t batches = (p.at.results + R * groups - 1) / (R * groups);
    bf_cuda_let_next_begin();
    for (int64_t i = bf_cuda_axis_warp(); i < batches; i += bf_cuda_axis_warps_of_grid()) {
        const int64_t first = i * R * groups;
        const int64_t left =
            p.at.results - first - group; /* a row that is not there is the first */
        Proven sums[R];
        typename Proven::Joint joint;
        joint.open(p);
        const uint4 *row[R];
#pragma unroll
        for (int r = 0; r < R; r++) {
            sums[r].reset();
            const int64_t number = first + (r * groups < left ? r * groups + group : 0);
            row[r] = (const uint4 *)p.a + number * vectors;
        }
        BF_ROLLED
        for (int v = lane; v < vectors; v += p.lanes) {
            uint4 x[R];
#pragma unroll
            for (int r = 0; r < R; r++) x[r] = C::fetch(p, (const char *)(row[r] + v));
#pragma unroll
            for (int r = 0; r < R; r++) {
                Value e[N];
                C::unpack(p, x[r], e);
                if (Proven::has_origin && v == lane)
                    sums[r].start(__shfl_sync(0xffffffffu, e[0], group * p.lanes), joint);
#pragma unroll
                for (int k = 0; k < N; k++) sums[r].take(e[k], joint, v * N + k);
            }
        }
        /* Each step halves the rows of a lane, or the lanes that have something else. */
        int d = p.lanes / 2, rows = R, mine = 0;
#pragma unroll
        for (int some = R; some > 1; some /= 2) {
            if (d > 0) {
                const bool upper = (lane & d) != 0;
#pragma unroll
                for (int r = 0; r < some / 2; r++) {
                    if (upper) swap(sums[r], sums[r + some / 2]);
                    sums[r].merge(sums[r + some / 2].shuffle(d), joint);
                }
                rows = some / 2;
                if (upper) mine += some / 2;
                d /= 2;
            }
        }
        BF_ROLLED
        for (; d > 0; d /= 2) {
            const Proven other = sums[0].shuffle(d);
            sums[0].merge(other, joint);
        }
        joint.join_warp();
        bf_cuda_wait_for_end();
        bool good = true;
        const int same = p.lanes / R; /* lanes that have the same results */
#pragma unroll
        for (int r = 0; r < R; r++) {
            uint64_t bits;
            if (r >= rows) break;
            if ((same > 1 && (lane & (same - 1)) != 0) || (mine + r) * groups >= left) continue;
            const int64_t row = first + (mine + r) * groups + group;
            if (sums[r].prove(p, proven, joint, &bits))
                store(p, row, bits);
            else
                good = bf_cuda_axis_leave<Proven::settles>(p, row) && good;
        }
        if (__any_sync(0xffffffffu, !good) && threadIdx.x % BF_CUDA_WARP == 0) {
            const int64_t each = (int64_t)p.chunk * groups;
            for (int64_t c = first / each; c * each < first + R * groups && c * each < p.at.results;
                 c++)
                bf_cuda_axis_defer(p, c);
        }
    }
}

#endif
