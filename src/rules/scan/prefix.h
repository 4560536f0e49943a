/* What the result of a prefix is: that of a state which its elements have entered. */
#ifndef BF_RULES_SCAN_PREFIX_H
#define BF_RULES_SCAN_PREFIX_H

#include "rules/reduce/element.h"

/* What is made of each prefix. */
typedef struct bf_prefix {
    bf_reduction op; /* BF_SUM, BF_PROD, BF_MIN or BF_MAX */
    bf_kind kind;    /* the kind of op */
    bf_dtype dtype, to;
    bf_reduce_options options; /* nan, overflow and empty; others are the defaults */
} bf_prefix;

BF_RULE bool bf_prefix_op(bf_reduction op) {
    return op == BF_SUM || op == BF_PROD || op == BF_MIN || op == BF_MAX;
}

/* The dtype of results of such an op. BF_NONE: there are none of this dtype, or not of out_dtype
 * (BF_NONE: not asked for). */
BF_RULE bf_dtype bf_prefix_dtype(bf_reduction op, bf_dtype dtype, bf_dtype out_dtype) {
    bool is_float = bf_dtype_is_float(dtype), rounds = is_float && op == BF_SUM;
    if (bf_number_bytes(dtype) == 0) return BF_NONE;
    if (out_dtype != BF_NONE && !(rounds && bf_dtype_is_float(out_dtype))) return BF_NONE;
    if (rounds) return out_dtype == BF_NONE ? dtype : out_dtype;
    if (bf_class_of(op) == BF_RESULT_ELEMENT) return dtype;
    if (op == BF_PROD && (is_float || dtype == BF_I128)) return BF_NONE;
    return dtype == BF_I128 ? BF_I128 : bf_element_integer(dtype);
}

BF_RULE bool bf_prefix_sums_floats(const bf_prefix *prefix) {
    return prefix->kind == BF_KIND_SUM && bf_dtype_is_float(prefix->dtype);
}

/* The words of no elements. */
BF_RULE void bf_prefix_init(const bf_prefix *prefix, int64_t *words) {
    const bf_dtype dtype = prefix->dtype;
    if (prefix->kind == BF_KIND_PRODUCT)
        bf_product_init(words);
    else if (prefix->kind == BF_KIND_EXTREME)
        bf_extreme_init_of(dtype, words);
    else
        for (int i = 0; i < bf_sum_shape_of(BF_KIND_SUM, dtype).words; i++) words[i] = 0;
}

/* The element at p enters the words, which are carried before and after. */
BF_RULE void bf_prefix_take(const bf_prefix *prefix, int64_t *words, const void *p) {
    bf_dtype dtype = prefix->dtype;
    bool wide = dtype == BF_I128, is_float = bf_dtype_is_float(dtype);
    bf_i128 x = wide ? bf_load_i128(p) : 0;
    uint64_t bits = wide ? 0 : bf_load_bits(p, bf_dtype_bytes(dtype));
    int64_t flip = bf_is_greatest(prefix->op) ? -1 : 0;
    bf_sum_shape shape;
    switch (prefix->kind) {
    case BF_KIND_SUM:
        shape = bf_sum_shape_of(BF_KIND_SUM, dtype);
        if (wide)
            bf_sum_take_i128(&shape, words, x, x);
        else
            bf_sum_take(dtype, &shape, words, bits);
        bf_sum_carry(BF_KIND_SUM, dtype, words);
        break;
    case BF_KIND_PRODUCT: bf_product_take(dtype, words, bits); break;
    default:
        if (is_float && bf_is_nan(bf_format_of(dtype), bits))
            bf_extreme_take_nan(words, 1, 0);
        else if (wide)
            bf_extreme_take_i128(words, x ^ flip, 0);
        else
            bf_extreme_take(words, bf_order_rank(dtype, bits) ^ flip, 0);
        bf_extreme_cover(words, 1, 0, 0);
    }
}

/* Sets *result to the bits of the result of carried words, of which those of `to` are the low ones.
 * Errors: BF_E_EMPTY (with no value for it), BF_E_OVERFLOW. */
BF_RULE bf_status bf_prefix_result(const bf_prefix *prefix, const int64_t *words, bf_u128 *result,
                                   bf_work *work) {
    const bf_reduce_options *options = &prefix->options;
    bf_value v;
    uint64_t bits = 0;
    bool fits = true;
    if (bf_prefix_sums_floats(prefix)) {
        *result = bf_finish_sum(prefix->dtype, words, options->nan == BF_NAN_SKIP,
                                bf_format_of(prefix->to), work);
        return BF_OK;
    }
    if (prefix->dtype != BF_I128 && prefix->kind != BF_KIND_EXTREME) {
        bf_status status = bf_element_of_words(prefix->kind, prefix->op, prefix->dtype, words,
                                               options, prefix->to, &bits, &fits, work);
        *result = bits;
        if (status == BF_OK && !fits && options->overflow != BF_OVERFLOW_WRAP)
            status = BF_E_OVERFLOW;
        return status;
    }
    bf_status status =
        bf_result_of_kind(prefix->kind, prefix->op, prefix->dtype, words, options, &v, work);
    if (status == BF_E_EMPTY && options->empty != NULL) {
        v = *options->empty;
        status = BF_OK;
    }
    if (status != BF_OK) return status;
    if (v.dtype == BF_I192) {
        *result = (bf_u128)v.as.i192[1] << 64 | v.as.i192[0];
        fits = bf_integer_fits(BF_I128, v.as.i192);
    } else {
        *result = bf_load_bits(&v.as, bf_dtype_bytes(v.dtype));
    }
    return fits || options->overflow == BF_OVERFLOW_WRAP ? BF_OK : BF_E_OVERFLOW;
}

BF_RULE void bf_prefix_store(bf_dtype to, void *p, bf_u128 result) {
    if (to == BF_I128)
        bf_store_i128(p, (bf_i128)result);
    else
        bf_store_bits(p, bf_dtype_bytes(to), (uint64_t)result);
}

#endif
