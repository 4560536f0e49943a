/* The sums of prefixes of integers of one type, modulo 2^64: included by
 * cpu/runtime/each_integer.h in cpu/scan/sum_loops.h. */
#define FN(name) JOIN(name, NAME)

#if BITS < 32 /* by way of 32 bits */
static bool FN(scan_sum_)(const void *elements, int64_t n, bool wraps, uint64_t *total,
                          void *results) {
    const T *x = elements;
    uint32_t wide[BF_SCAN_BLOCK];
    for (int64_t i = 0; i < n; i++) wide[i] = (uint32_t)x[i];
    return (SIGNED ? scan_sum_i32 : scan_sum_u32)(wide, n, wraps, total, results);
}
#else
typedef C FN(lanes_) __attribute__((vector_size(LANES * BITS / 8)));

/* The lanes of sums before + x that do not fit become negative: of signed ones, both terms have the
 * other sign; of others, something is carried out of the highest bit. */
INLINE vu64 FN(misfits_)(vu64 before, vu64 x, vu64 sum) {
    return SIGNED ? (before ^ sum) & (x ^ sum) : (before & x) | ((before | x) & ~sum);
}

INLINE vu64 FN(sum_lanes_)(const void *p, bool wraps, vu64 *total, vu64 *misfits) {
    FN(lanes_) elements;
    memcpy(&elements, p, sizeof elements);
    const vu64 x = (vu64) __builtin_convertvector(elements, vi64);
    vu64 sums = x;
    for (int n = 1; n < LANES; n *= 2) sums += (vu64)moved_up((vf64)sums, n);
    const vu64 all = *total + sums;
    if (!wraps) *misfits |= FN(misfits_)(all - x, x, all);
    *total += (vu64)last_lane((vf64)sums);
    return all;
}

INLINE bool FN(sum_integers_)(const void *elements, int64_t n, bool wraps, uint64_t *total,
                              void *results) {
    const T *x = elements;
    char *to = results;
    vu64 sum = (vu64){0} + *total, misfits = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const vu64 sums = FN(sum_lanes_)(x + i, wraps, &sum, &misfits);
        memcpy(to + i * 8, &sums, sizeof sums);
    }
    if (i < n) {
        C tail[LANES] = {0};
        memcpy(tail, x + i, (size_t)(n - i) * sizeof *tail);
        const vu64 sums = FN(sum_lanes_)(tail, wraps, &sum, &misfits);
        memcpy(to + i * 8, &sums, (size_t)(n - i) * 8);
    }
    *total = first_lane(sum);
    return !any_negative(misfits);
}

static bool FN(scan_sum_)(const void *elements, int64_t n, bool wraps, uint64_t *total,
                          void *results) {
    return wraps ? FN(sum_integers_)(elements, n, true, total, results)
                 : FN(sum_integers_)(elements, n, false, total, results);
}
#endif

#undef FN
#undef NAME
#undef C
#undef U
#undef T
#undef TWICE
#undef BITS
#undef SIGNED
