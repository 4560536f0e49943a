/* Exact sums of terms of all exponents, in bins: included once by each instruction set after
 * sum_loops.h, whose vectors it uses.
 *
 * A factor x of exponent field f is scaled to y = x * 2^-(f / 32 * 32), times a constant: |y| <
 * 2^32, in units of 2^-52. So an element has 84 bits, and the product of two 168. They are rounded
 * to parts of 42 bits, and one addition of a vector adds the parts of a term to the doubles of its
 * bin: that of f / 32, or of the sum of those of two factors. Neighbours go to different copies of
 * it, as an addition to memory waits for the last one there. Doubles hold the sums of 2^11 parts,
 * and then become integers. */

/* A bin is a line of memory, with as many copies of 2 or 4 parts as it holds. */
enum { BIN_PARTS = 8, BINNED = 64, BINS_FULL = 1 << 12 };
typedef double exponent_bin[BIN_PARTS] __attribute__((aligned(64)));
typedef double parts_2 __attribute__((vector_size(16), may_alias));
typedef double parts_4 __attribute__((vector_size(32), aligned(16), may_alias));

/* Terms on their way to the bins, in blocks, and where each goes; and the bins. */
typedef struct binned {
    vf64 parts[4 * BINNED / LANES];
    vu64 places[BINNED / LANES];
    exponent_bin *bins;
} binned;

_Static_assert(BINNED % (2 * LANES) == 0, "a block holds whole pairs of vectors");

/* Lanes of two vectors as pairs: those of even lanes, and of odd ones; and the halves of two
 * vectors of pairs as fours. */
#if defined(LANES_8)
#define EVEN_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define ODD_PAIRS(a, b) __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define LOWER_FOURS(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 2, 3, 10, 11)
#define UPPER_FOURS(a, b) __builtin_shufflevector(a, b, 4, 5, 12, 13, 6, 7, 14, 15)
#elif defined(LANES_4)
#define EVEN_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define ODD_PAIRS(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#define LOWER_FOURS(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define UPPER_FOURS(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#else
#define EVEN_PAIRS(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ODD_PAIRS(a, b) __builtin_shufflevector(a, b, 1, 3)
#define LOWER_FOURS(a, b) (a)
#define UPPER_FOURS(a, b) (b)
#endif

/* Scales a factor, and adds 2^52 times the multiple of 32 to *place. */
INLINE vf64 scale_factor(vf64 x, vu64 *place) {
    const vu64 of = (vu64)x & (uint64_t)0x7e0 << 52;
    *place += of;
    return x * (vf64)(((uint64_t)0x7fe << 52) - of);
}

/* Rounds x, below 2^51 units, to a multiple of a unit. */
INLINE vf64 round_to(vf64 x, double unit) {
    const vf64 start = broadcast(0x1.8p52 * unit);
    return (x + start) - start;
}

/* Prepares vector k of elements: their parts in units of 2^-52 and 2^-10. */
INLINE void bin_elements(binned *terms, int k, vf64 x) {
    vu64 place = {0};
    const vf64 y = scale_factor(x, &place), high = round_to(y, 0x1p-10), low = y - high;
    terms->parts[2 * k] = EVEN_PAIRS(low, high);
    terms->parts[2 * k + 1] = ODD_PAIRS(low, high);
    terms->places[k] = place >> 51;
}

/* Prepares vector k of products: their parts in units of 2^-104, 2^-62, 2^-20 and 2^22. Both the
 * product and its error have parts in most of these. */
INLINE vf64 bin_products(binned *terms, int k, vf64 x, vf64 y) {
    vu64 place = {0};
    x = scale_factor(x, &place);
    y = scale_factor(y, &place);
    const vf64 p = x * y, e = mul_sub(x, y, p);
    const vf64 p_3 = round_to(p, 0x1p22), below_3 = p - p_3;
    const vf64 p_2 = round_to(below_3, 0x1p-20), below_2 = below_3 - p_2;
    const vf64 p_1 = round_to(below_2, 0x1p-62), p_0 = below_2 - p_1;
    const vf64 e_2 = round_to(e, 0x1p-20), e_below_2 = e - e_2;
    const vf64 e_1 = round_to(e_below_2, 0x1p-62), e_0 = e_below_2 - e_1;
    const vf64 part_0 = p_0 + e_0, part_1 = p_1 + e_1, part_2 = p_2 + e_2;
    const vf64 even_low = EVEN_PAIRS(part_0, part_1), even_high = EVEN_PAIRS(part_2, p_3);
    const vf64 odd_low = ODD_PAIRS(part_0, part_1), odd_high = ODD_PAIRS(part_2, p_3);
    terms->parts[4 * k] = LOWER_FOURS(even_low, even_high);
    terms->parts[4 * k + 1] = UPPER_FOURS(even_low, even_high);
    terms->parts[4 * k + 2] = LOWER_FOURS(odd_low, odd_high);
    terms->parts[4 * k + 3] = UPPER_FOURS(odd_low, odd_high);
    terms->places[k] = place >> 51;
    return p;
}

/* Adds `count` vectors of terms of so many parts. Those of lane i are at i / 2, of odd ones in the
 * second half. */
INLINE void add_binned(binned *terms, int count, int parts) {
    const double *from = (const double *)terms->parts;
    const u64_element *places = (const u64_element *)terms->places;
    for (int at = 0; at < count * LANES; at += LANES) {
        UNROLL
        for (int i = 0; i < LANES; i++) {
            char *bin = (char *)(terms->bins[0] + i * parts % BIN_PARTS) + places[at + i];
            const double *term = from + (at + i % 2 * (LANES / 2) + i / 2) * parts;
            if (parts == 2)
                *(parts_2 *)bin += *(const parts_2 *)term;
            else
                *(parts_4 *)bin += *(const parts_4 *)term;
        }
    }
}

INLINE bool any_bit(vu64 x) {
    uint64_t all = 0;
    for (int i = 0; i < LANES; i++) all |= x[i];
    return all != 0;
}

/* Adds the parts in bins to integers, and empties them. Returns whether all are finite. */
INLINE bool empty_bins(exponent_bin *bins, int count, int parts, int64_t *sums) {
    static const double of_2[] = {0x1p52, 0x1p10}, of_4[] = {0x1p104, 0x1p62, 0x1p20, 0x1p-22};
    const double *per_unit = parts == 2 ? of_2 : of_4;
    for (int k = 0; k < count; k++) {
        vu64 used = {0}, odd = {0};
        for (int i = 0; i < BIN_PARTS; i += LANES) {
            vf64 x;
            memcpy(&x, &bins[k][i], sizeof x);
            used |= (vu64)x;
            odd |= (vu64)(x - x);
        }
        if (!any_bit(used)) continue;
        if (any_bit(odd)) return false;
        for (int copy = 0; copy < BIN_PARTS; copy += parts)
            for (int i = 0; i < parts; i++)
                sums[k * parts + i] += (int64_t)(bins[k][copy + i] * per_unit[i]);
        memset(bins[k], 0, sizeof *bins);
    }
    return true;
}

INLINE vf64 load_up_to(input in, const char *p, size_t n) {
    return n >= LANES ? load(in, p) : load_part(in, p, n);
}

INLINE bool sum_by_exponent(input in, const char *a, const char *b, size_t n, int64_t *sums,
                            int64_t *zeros, exponent_bin *bins) {
    const size_t bytes = input_bytes(in);
    const int parts = in == IN_F64_PAIR ? 4 : 2,
              count = in == IN_F64_PAIR ? BF_EXPONENT_BINS_PAIRS : BF_EXPONENT_BINS;
    vi64 negative_zeros = {0};
    binned terms = {.bins = bins};
    bool finite = true;
    memset(sums, 0, (size_t)(count * parts) * sizeof *sums);
    memset(bins, 0, (size_t)count * sizeof *bins);
    for (size_t first = 0; first < n && finite; first += BINNED) {
        const size_t some = n - first < BINNED ? n - first : BINNED;
        int k = 0;
        for (size_t i = 0; i < some; i += LANES, k++) {
            const char *at = a + (first + i) * bytes, *by = b + (first + i) * bytes;
            prefetch_row(at, LANES * bytes);
            if (input_is_pair(in)) prefetch_row(by, LANES * bytes);
            vf64 x = load_up_to(in, at, some - i);
            if (in == IN_F64_PAIR) {
                x = bin_products(&terms, k, x, load_up_to(in, by, some - i));
            } else {
                if (in == IN_F32_PAIR) x *= load_up_to(in, by, some - i);
                bin_elements(&terms, k, x);
            }
            negative_zeros += (vi64)x == INT64_MIN;
        }
        add_binned(&terms, k, parts);
        if ((first + some) % BINS_FULL == 0 || first + some == n)
            finite = empty_bins(bins, count, parts, sums);
    }
    *zeros = 0;
    for (int i = 0; i < LANES; i++) *zeros -= negative_zeros[i];
    return finite;
}

/* Each with a frame of its own, as the bins of pairs take much of a small stack. */
static __attribute__((noinline)) bool by_exponent_f64_alone(const void *a, size_t n, int64_t *sums,
                                                            int64_t *zeros) {
    exponent_bin bins[BF_EXPONENT_BINS];
    return sum_by_exponent(IN_F64, a, a, n, sums, zeros, bins);
}

static __attribute__((noinline)) bool by_exponent_f64_pairs(const void *a, const void *b, size_t n,
                                                            int64_t *sums, int64_t *zeros) {
    exponent_bin bins[BF_EXPONENT_BINS_PAIRS];
    return sum_by_exponent(IN_F64_PAIR, a, b, n, sums, zeros, bins);
}

static bool by_exponent_f64(const void *a, const void *b, size_t n, int64_t *sums, int64_t *zeros) {
    return b == NULL ? by_exponent_f64_alone(a, n, sums, zeros)
                     : by_exponent_f64_pairs(a, b, n, sums, zeros);
}

static bool by_exponent_f32(const void *a, const void *b, size_t n, int64_t *sums, int64_t *zeros) {
    exponent_bin bins[BF_EXPONENT_BINS];
    return b == NULL ? sum_by_exponent(IN_F32, a, a, n, sums, zeros, bins)
                     : sum_by_exponent(IN_F32_PAIR, a, b, n, sums, zeros, bins);
}
