/* The folds of a leaf, as rules/reduce/product_tree.h defines them, step by step: included once by
 * each instruction set after sum_loops.h, whose vectors it uses, and mul_add(a, b, c), a * b + c
 * fused. */
#include "cpu/runtime/vector.h"
#include "rules/reduce/product_tree.h"

/* BF_FOLDS folds side by side. */
typedef struct folds {
    vf64 hi[BF_FOLDS / LANES], lo[BF_FOLDS / LANES];
    vi64 exponent[BF_FOLDS / LANES];
    vi64 signs, special; /* the sign bits tell */
} folds;

INLINE void fold_elements(folds *f, const char *x) {
    const int64_t fields = (int64_t)0x7ff << 52, unit = (int64_t)1 << 52;
    UNROLL
    for (int k = 0; k < BF_FOLDS / LANES; k++) {
        vi64 bits = (vi64)load_f64(x + k * 8 * LANES);
        vi64 field = bits & fields;
        /* Field 0 turns negative by one subtracted, 0x7ff by one added. */
        f->special |= (vi64)((vu64)field - (uint64_t)unit) | (vi64)((vu64)field + (uint64_t)unit);
        f->signs ^= bits;
        f->exponent[k] += field >> 52;
        vf64 mantissa = (vf64)((bits & (unit - 1)) | (int64_t)1023 << 52);
        vf64 product = f->hi[k] * mantissa;
        vf64 rest = mul_add(f->lo[k], mantissa, mul_sub(f->hi[k], mantissa, product));
        f->hi[k] = product + rest;
        f->lo[k] = rest - (f->hi[k] - product);
    }
}

INLINE folds load_folds(const bf_node *from) {
    folds f = {.special = {0}};
    for (int k = 0; k < BF_FOLDS / LANES; k++) f.hi[k] = broadcast(1.0);
    for (int i = 0; from != NULL && i < BF_FOLDS; i++) {
        f.hi[i / LANES][i % LANES] = from[i].hi;
        f.lo[i / LANES][i % LANES] = from[i].lo;
        f.exponent[i / LANES][i % LANES] = from[i].exponent;
    }
    return f;
}

INLINE void store_folds(const folds *f, int64_t elements, bf_node *to) {
    for (int i = 0; i < BF_FOLDS; i++) {
        to[i].hi = f->hi[i / LANES][i % LANES];
        to[i].lo = f->lo[i / LANES][i % LANES];
        to[i].exponent = f->exponent[i / LANES][i % LANES] - 1023 * elements;
    }
}

static bool product_folds(const void *elements, size_t n, const bf_node *from, bf_node *to,
                          bool *negative) {
    const char *x = elements;
    folds f = load_folds(from);
    for (size_t i = 0; i < n; i += BF_FOLDS, x += 8 * BF_FOLDS) {
        prefetch_row(x, 8 * BF_FOLDS);
        fold_elements(&f, x);
    }
    int64_t special = 0, signs = 0;
    for (int i = 0; i < LANES; i++) {
        special |= f.special[i];
        signs ^= f.signs[i];
    }
    if (special < 0) return false;
    store_folds(&f, (int64_t)(n / BF_FOLDS), to);
    *negative = signs < 0;
    return true;
}
