/* The product of a leaf, as rules/reduce/product_tree.h defines it, step by step: included once by
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

static bool product_leaf(const void *leaf, bf_node *out, bool *negative) {
    const char *x = leaf;
    folds f = {.special = {0}};
    for (int k = 0; k < BF_FOLDS / LANES; k++) f.hi[k] = broadcast(1.0);
    for (int i = 0; i < BF_LEAF; i += BF_FOLDS, x += 8 * BF_FOLDS) {
        prefetch_row(x, 8 * BF_FOLDS);
        fold_elements(&f, x);
    }
    int64_t special = 0, signs = 0;
    for (int i = 0; i < LANES; i++) {
        special |= f.special[i];
        signs ^= f.signs[i];
    }
    for (int i = 0; i < BF_FOLDS; i++) {
        out[i].hi = f.hi[i / LANES][i % LANES];
        out[i].lo = f.lo[i / LANES][i % LANES];
        out[i].exponent = f.exponent[i / LANES][i % LANES] - 1023 * (BF_LEAF / BF_FOLDS);
    }
    *negative = signs < 0;
    return special >= 0;
}
