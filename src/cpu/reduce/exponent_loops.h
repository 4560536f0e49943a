/* Exact sums of terms of all exponents, in bins: included once by each instruction set after
 * sum_loops.h, whose vectors it uses.
 *
 * A finite double is a whole number m of 53 bits times a power of two, of exponent q. Vectors shift
 * m by q % 32 and split it into BF_EXPONENT_LOW low bits and the rest, with the sign of the term. A
 * bin is a pair of integers, to which one addition adds such a pair; terms whose q / 32 is the same
 * share a bin. Neighbours go to different copies of it, as an addition to memory waits for the
 * last one there. */

typedef uint64_t bin_parts __attribute__((vector_size(16), may_alias)); /* low, high */

/* Terms on their way to the bins, in blocks, and where each goes; and the bins. */
enum { BIN_COPIES = 4, BINNED = 64 };
typedef bin_parts exponent_bin[BIN_COPIES];
typedef struct binned {
    vu64 parts[2 * BINNED / LANES], places[BINNED / LANES];
    exponent_bin *bins;
} binned;

_Static_assert(BINNED % (2 * LANES) == 0, "a block holds whole pairs of vectors");

#if defined(LANES_8)
#define FIRST_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define SECOND_PAIRS(a, b) __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#elif defined(LANES_4)
#define FIRST_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define SECOND_PAIRS(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#else
#define FIRST_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 2)
#define SECOND_PAIRS(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

#ifndef SHIFTS_BY_LANE
INLINE vu64 shift_left(vu64 x, vu64 bits) { return x << bits; }
INLINE vu64 shift_right(vu64 x, vu64 bits) { return x >> bits; }
#endif

INLINE vu64 exponent_field(vf64 x) { return (vu64)magnitude(x) >> 52; }

/* The exponent that multiplies the last bit, from 0 on: subnormals have that of the least normal
 * numbers. */
INLINE vu64 exponent_from_0(vu64 field) { return field - ((field + 0x7ff) >> 11); }

/* Negative lanes if one is NaN or infinite. */
INLINE vi64 special_lanes(vf64 x) { return (vi64)((vu64)magnitude(x) + ((uint64_t)1 << 52)); }

/* Prepares vector k: x times 2^more. */
INLINE void bin_vector(binned *terms, int k, vf64 x, vu64 more) {
    const vu64 least = exponent_from_0(exponent_field(x)), q = least + more, shift = q & 31;
    const vu64 m = (vu64)magnitude(x) - (least << 52), sign = (vu64)((vi64)x >> 63);
    const vu64 low = shift_left(m, shift) & (((uint64_t)1 << BF_EXPONENT_LOW) - 1);
    const vu64 high = shift_right(m, BF_EXPONENT_LOW - shift);
    const vu64 l = (low ^ sign) - sign, h = (high ^ sign) - sign;
    terms->parts[2 * k] = FIRST_PAIRS(l, h);
    terms->parts[2 * k + 1] = SECOND_PAIRS(l, h);
    terms->places[k] = (q >> 5) * sizeof(exponent_bin);
}

/* Adds `count` vectors of terms. The parts of lane i are at i / 2, of odd ones in the second half.
 */
INLINE void add_binned(binned *terms, int count) {
    const bin_parts *parts = (const bin_parts *)terms->parts;
    const u64_element *places = (const u64_element *)terms->places;
    for (int at = 0; at < count * LANES; at += LANES) {
        UNROLL
        for (int i = 0; i < LANES; i++) {
            char *one = (char *)&terms->bins[0][i % BIN_COPIES] + places[at + i];
            *(bin_parts *)one += parts[at + i % 2 * (LANES / 2) + i / 2];
        }
    }
}

/* A factor as x = y * 2^exponent, with |y| < 2: 1 or more, but of subnormals. */
INLINE vf64 scale_factor(vf64 x, vu64 *exponent) {
    const vu64 one = (vu64)broadcast(1.0), field = exponent_field(x);
    const vu64 least = exponent_from_0(field), sign = (vu64)x & (uint64_t)1 << 63;
    const vu64 fraction = (vu64)magnitude(x) - (field << 52);
    const vf64 y = (vf64)(fraction | one) - (vf64)(one & (field - least - 1));
    *exponent += least;
    return (vf64)((vu64)y | sign);
}

/* Vectors of terms, from elements x (and y), enter a block at k. Returns how many. */
INLINE int bin_terms(binned *terms, int k, input in, vf64 x, vf64 y, vi64 *special, vi64 *zeros) {
    vu64 exponent = {0};
    vf64 term = x;
    *special |= special_lanes(x);
    if (input_is_pair(in)) *special |= special_lanes(y);
    if (in == IN_F64_PAIR) {
        x = scale_factor(x, &exponent);
        y = scale_factor(y, &exponent);
    }
    if (input_is_pair(in)) term = x * y;
    *zeros += (vi64)term == INT64_MIN;
    bin_vector(terms, k, term, exponent);
    if (in != IN_F64_PAIR) return 1;
    bin_vector(terms, k + 1, mul_sub(x, y, term), exponent);
    return 2;
}

INLINE vf64 load_up_to(input in, const char *p, size_t n) {
    return n >= LANES ? load(in, p) : load_part(in, p, n);
}

INLINE bool sum_by_exponent(input in, const char *a, const char *b, size_t n, bf_exponent_sum *sums,
                            int64_t *zeros, exponent_bin *bins, int bin_count) {
    const size_t bytes = input_bytes(in), most = in == IN_F64_PAIR ? BINNED / 2 : BINNED;
    vi64 special = {0}, negative_zeros = {0};
    int64_t wrong = 0;
    binned terms = {.bins = bins};
    memset(bins, 0, (size_t)bin_count * sizeof *bins);
    for (size_t left = n, taken; left > 0; left -= taken, a += taken * bytes, b += taken * bytes) {
        int count = 0;
        taken = left < most ? left : most;
        for (size_t i = 0; i < taken; i += LANES) {
            const char *at = a + i * bytes, *by = input_is_pair(in) ? b + i * bytes : at;
            prefetch_row(at, LANES * bytes);
            if (input_is_pair(in)) prefetch_row(by, LANES * bytes);
            count += bin_terms(&terms, count, in, load_up_to(in, at, taken - i),
                               load_up_to(in, by, taken - i), &special, &negative_zeros);
        }
        add_binned(&terms, count);
    }
    for (int k = 0; k < bin_count; k++) {
        const bin_parts *copies = bins[k];
        const bin_parts sum = (copies[0] + copies[1]) + (copies[2] + copies[3]);
        sums[k] = (bf_exponent_sum){(int64_t)sum[0], (int64_t)sum[1]};
    }
    *zeros = 0;
    for (int i = 0; i < LANES; i++) {
        *zeros -= negative_zeros[i];
        wrong |= special[i];
    }
    return wrong >= 0;
}

/* Each with a frame of its own, as the bins of pairs take much of a small stack. */
static __attribute__((noinline)) bool by_exponent_f64_alone(const void *a, size_t n,
                                                            bf_exponent_sum *sums, int64_t *zeros) {
    exponent_bin bins[BF_EXPONENT_BINS];
    return sum_by_exponent(IN_F64, a, a, n, sums, zeros, bins, BF_EXPONENT_BINS);
}

static __attribute__((noinline)) bool by_exponent_f64_pairs(const void *a, const void *b, size_t n,
                                                            bf_exponent_sum *sums, int64_t *zeros) {
    exponent_bin bins[BF_EXPONENT_BINS_PAIRS];
    return sum_by_exponent(IN_F64_PAIR, a, b, n, sums, zeros, bins, BF_EXPONENT_BINS_PAIRS);
}

static bool by_exponent_f64(const void *a, const void *b, size_t n, bf_exponent_sum *sums,
                            int64_t *zeros) {
    return b == NULL ? by_exponent_f64_alone(a, n, sums, zeros)
                     : by_exponent_f64_pairs(a, b, n, sums, zeros);
}

static bool by_exponent_f32(const void *a, const void *b, size_t n, bf_exponent_sum *sums,
                            int64_t *zeros) {
    exponent_bin bins[BF_EXPONENT_BINS];
    return b == NULL ? sum_by_exponent(IN_F32, a, a, n, sums, zeros, bins, BF_EXPONENT_BINS)
                     : sum_by_exponent(IN_F32_PAIR, a, b, n, sums, zeros, bins, BF_EXPONENT_BINS);
}
