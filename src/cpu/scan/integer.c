/* Sums and products of integers: in 64 bits, as long as no result needs more. */
#include "cpu/scan/block.h"

typedef struct integers {
    const char *elements;
    char *values;
    int64_t n;
    uint64_t *last;
} integers;

/* total = total * x or total + x, modulo 2^64. Returns whether that is another number. */
static inline __attribute__((always_inline)) bool join(bf_dtype to, bool product, uint64_t *total,
                                                       uint64_t x) {
    if (to == BF_U64)
        return product ? __builtin_mul_overflow(*total, x, total)
                       : __builtin_add_overflow(*total, x, total);
    int64_t result;
    bool misfit = product ? __builtin_mul_overflow((int64_t)*total, (int64_t)x, &result)
                          : __builtin_add_overflow((int64_t)*total, (int64_t)x, &result);
    *total = (uint64_t)result;
    return misfit;
}

/* Inlined for each dtype. Returns whether all results fit. */
static inline __attribute__((always_inline)) bool accumulate(bf_dtype dtype, bool product,
                                                             const integers *e) {
    const int bytes = bf_dtype_bytes(dtype);
    uint64_t total = *e->last;
    bool misfit = false;
    for (int64_t i = 0; i < e->n; i++) {
        const uint64_t bits = bf_load_bits(e->elements + i * bytes, bytes);
        misfit |= join(bf_element_integer(dtype), product, &total,
                       (uint64_t)bf_integer_decode(dtype, bits));
        bf_store_bits(e->values + i * 8, 8, total);
    }
    *e->last = total;
    return !misfit;
}

static bool by_elements(const bf_prefix *p, const integers *e) {
    switch (p->dtype) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id:                                                                                  \
        return p->op == BF_PROD ? accumulate(BF_##id, true, e) : accumulate(BF_##id, false, e);
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return true;
    }
}

bool bf_scan_integers(bf_scanner *scanner, const void *elements, void *values, int64_t n) {
    const bf_prefix *p = scanner->prefix;
    const bf_scan_loops *loops = scanner->isa->scan;
    const bf_scan_integer_loop sum =
        loops == NULL || p->op != BF_SUM ? NULL : loops->sum_integers[p->dtype];
    const integers e = {elements, values, n, &scanner->last};
    const bool wraps = p->options.overflow == BF_OVERFLOW_WRAP;
    if (sum != NULL) return sum(elements, n, wraps, &scanner->last, values);
    return by_elements(p, &e) || wraps;
}
