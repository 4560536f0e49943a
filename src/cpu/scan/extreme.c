/* Minima and maxima, compared as ranks (rules/key/order.h). */
#include "cpu/scan/block.h"

typedef struct extremes {
    const char *elements;
    char *values;
    int64_t n;
    int64_t flip; /* -1: maxima */
    bool skip;    /* NaNs are as if absent */
    uint64_t *last;
} extremes;

/* Stores the canonical NaN from element i on. */
static inline void fill_nan(bf_dtype dtype, const extremes *e, int64_t i) {
    const int bytes = bf_dtype_bytes(dtype);
    *e->last = bf_format_nan(bf_format_of(dtype));
    for (; i < e->n; i++) bf_store_bits(e->values + i * bytes, bytes, *e->last);
}

static inline bool is_nan(bf_dtype dtype, uint64_t bits) {
    return bf_dtype_is_float(dtype) && bf_is_nan(bf_format_of(dtype), bits);
}

/* Inlined for each dtype. */
static inline __attribute__((always_inline)) void find(bf_dtype dtype, const extremes *e) {
    const int bytes = bf_dtype_bytes(dtype);
    if (is_nan(dtype, *e->last)) {
        fill_nan(dtype, e, 0);
        return;
    }
    int64_t best = bf_order_rank(dtype, *e->last) ^ e->flip;
    for (int64_t i = 0; i < e->n; i++) {
        const uint64_t x = bf_load_bits(e->elements + i * bytes, bytes);
        const bool nan = is_nan(dtype, x);
        if (nan && !e->skip) {
            fill_nan(dtype, e, i);
            return;
        }
        const int64_t rank = nan ? best : bf_order_rank(dtype, x) ^ e->flip;
        best = rank < best ? rank : best;
        bf_store_bits(e->values + i * bytes, bytes, bf_order_bits(dtype, best ^ e->flip));
    }
    *e->last = bf_order_bits(dtype, best ^ e->flip);
}

void bf_scan_extremes(bf_scanner *scanner, const void *elements, void *values, int64_t n) {
    const bf_prefix *p = scanner->prefix;
    const extremes e = {
        elements,      values, n, bf_is_greatest(p->op) ? -1 : 0, p->options.nan == BF_NAN_SKIP,
        &scanner->last};
    switch (p->dtype) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: find(BF_##id, &e); break;
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: break;
    }
}
