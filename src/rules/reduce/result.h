/* From the words of a state to a bf_value: policies and types. The device computes results with
 * this as well as the host. */
#ifndef BF_RULES_REDUCE_RESULT_H
#define BF_RULES_REDUCE_RESULT_H

#include "rules/reduce/joint.h"
#include <bitfold/reduce.h>

/* A value of dtype (any but i192) from its bits. */
BF_RULE bf_value bf_value_from_bits(bf_dtype dtype, uint64_t bits) {
    bf_value v;
    uint32_t low = (uint32_t)bits;
    memset(&v, 0, sizeof v);
    v.dtype = dtype;
    if (dtype == BF_F64)
        memcpy(&v.as.f64, &bits, 8);
    else if (dtype == BF_F32)
        memcpy(&v.as.f32, &low, 4);
    else if (bf_dtype_is_float(dtype))
        v.as.bits = (uint16_t)bits;
    else if (bf_dtype_is_signed(dtype))
        v.as.i64 = bf_sign_extend(bits, 8 * bf_dtype_bytes(dtype));
    else
        v.as.u64 = bits;
    return v;
}

/* Does a 192-bit integer fit BF_I64, BF_U64 or BF_I128? BF_I192 it always does. */
BF_RULE bool bf_integer_fits(bf_dtype dtype, const uint64_t integer[3]) {
    if (dtype == BF_I128) return integer[2] == (uint64_t)((int64_t)integer[1] >> 63);
    uint64_t above = dtype == BF_I64 ? (uint64_t)((int64_t)integer[0] >> 63) : 0;
    return dtype == BF_I192 || (integer[1] == above && integer[2] == above);
}

BF_RULE bf_value bf_value_from_i128(bf_i128 x) {
    bf_value v = bf_value_from_bits(BF_U64, 0);
    v.dtype = BF_I192;
    v.as.i192[0] = (uint64_t)x;
    v.as.i192[1] = (uint64_t)(x >> 64);
    v.as.i192[2] = x < 0 ? ~(uint64_t)0 : 0;
    return v;
}

BF_RULE bf_status bf_result_index(const int64_t *words, bool nan_counts, bf_value *value) {
    bool nan = nan_counts && words[BF_EXTREME_NAN] > 0;
    int64_t index = words[nan ? BF_EXTREME_NAN_INDEX : BF_EXTREME_INDEX];
    if (index < 0) return BF_E_EMPTY;
    *value = bf_value_from_bits(BF_I64, (uint64_t)index);
    return BF_OK;
}

BF_RULE bf_status bf_result_extreme(bf_reduction op, bf_dtype dtype, const int64_t *words,
                                    bool nan_counts, bf_value *value) {
    if (bf_is_indexed(op)) return bf_result_index(words, nan_counts, value);
    if (nan_counts && words[BF_EXTREME_NAN] > 0) {
        *value = bf_value_from_bits(dtype, bf_format_nan(bf_format_of(dtype)));
        return BF_OK;
    }
    if (words[BF_EXTREME_INDEX] < 0) return BF_E_EMPTY;
    int64_t key = words[BF_EXTREME_RANK];
    if (dtype == BF_I128)
        *value = bf_value_from_i128(bf_extreme_integer(bf_is_greatest(op), dtype, words));
    else
        *value = bf_value_from_bits(dtype, bf_order_bits(dtype, bf_is_greatest(op) ? ~key : key));
    return BF_OK;
}

/* The scale of a value that is an integer, of elements with this scale. */
BF_RULE int bf_result_scale(bf_reduction op, int scale) {
    if (bf_class_of(op) == BF_RESULT_INDEX) return 0;
    return bf_kind_is_products(bf_kind_of(op, BF_NONE)) ? 2 * scale : scale;
}

/* The bits of a result that is rounded, of an exact kind: f is its format. */
BF_RULE uint64_t bf_result_bits(bf_kind kind, bf_reduction op, bf_dtype dtype, const int64_t *words,
                                const bf_reduce_options *options, bf_format f, bf_work *work) {
    const bool skip = options->nan == BF_NAN_SKIP, root = bf_is_root(op);
    const bool products = bf_kind_is_products(kind);
    if (kind == BF_KIND_MOMENTS)
        return bf_finish_variance(dtype, words, root, options->ddof, skip, options->scale, f, work);
#ifndef __CUDACC__ /* kernels give them room of their own (joint.h) */
    if (bf_kind_is_joint(kind)) return bf_joint_result(kind, op, dtype, words, options, f);
#endif
    return bf_finish_total(words, products ? bf_layout_products(dtype) : bf_layout_sum(dtype),
                           bf_is_mean(op), root, skip, bf_result_scale(op, options->scale), f,
                           work);
}

/* Exact sums of integers are integers, unless a float is asked for. */
BF_RULE bool bf_result_is_integer(bf_reduction op, bf_dtype dtype, bf_dtype out_dtype) {
    bool sum = bf_kind_is_sum(bf_kind_of(op, dtype)) && bf_class_of(op) == BF_RESULT_EXACT;
    return sum && !bf_dtype_is_float(dtype) && out_dtype == BF_NONE;
}

/* Does the integer result of a sum or of products fit BF_I192? */
BF_RULE bool bf_result_fits(bf_reduction op, bf_dtype dtype, const int64_t *words) {
    bf_layout layout = op == BF_SUM ? bf_layout_sum(dtype) : bf_layout_products(dtype);
    return bf_finish_fits(words + BF_SUM_LIMBS, layout.limbs);
}

BF_RULE bf_value bf_result_sum(bf_kind kind, bf_reduction op, bf_dtype dtype, const int64_t *words,
                               const bf_reduce_options *options, bf_work *work) {
    if (bf_result_is_integer(op, dtype, options->out_dtype)) {
        bf_value v = bf_value_from_bits(BF_U64, 0);
        bf_layout layout = op == BF_SUM ? bf_layout_sum(dtype) : bf_layout_products(dtype);
        v.dtype = BF_I192;
        v.scale = bf_result_scale(op, options->scale);
        bf_finish_integer(words + BF_SUM_LIMBS, layout.limbs, v.as.i192);
        return v;
    }
    bf_dtype out = options->out_dtype == BF_F32 ? BF_F32 : BF_F64;
    return bf_value_from_bits(
        out, bf_result_bits(kind, op, dtype, words, options, bf_format_of(out), work));
}

/* A 192-bit integer rounded once. */
BF_RULE uint64_t bf_result_round(const uint64_t integer[3], bf_format f, bf_work *work) {
    int64_t limbs[6];
    for (int i = 0; i < 6; i++) limbs[i] = (int64_t)(uint32_t)(integer[i / 2] >> 32 * (i % 2));
    limbs[5] = (int32_t)limbs[5];
    bool negative = bf_wide_from_limbs(&work->x, limbs, 6, 0);
    return bf_leading_round(f, negative, bf_wide_leading(&work->x));
}

BF_RULE bf_status bf_result_product(bf_dtype dtype, const int64_t *words,
                                    const bf_reduce_options *options, bf_value *value,
                                    bf_work *work) {
    bf_value v = bf_value_from_bits(BF_U64, 0);
    v.dtype = BF_I192;
    if (options->overflow == BF_OVERFLOW_WRAP) {
        v.dtype = bf_dtype_is_signed(dtype) ? BF_I64 : BF_U64;
        v.as.u64 = bf_product_wrapped(words);
    } else if (!bf_product_finish(dtype, words, v.as.i192)) {
        return BF_E_OVERFLOW;
    } else if (options->out_dtype != BF_NONE) {
        bf_format f = bf_format_of(options->out_dtype);
        v = bf_value_from_bits(options->out_dtype, bf_result_round(v.as.i192, f, work));
    }
    *value = v;
    return BF_OK;
}

/* How many NaNs there are, in words of any kind. */
BF_RULE int64_t bf_result_nans(bf_kind kind, const int64_t *words) {
    switch (kind) {
    case BF_KIND_EXTREME: return words[BF_EXTREME_NAN];
    case BF_KIND_PRODUCT: return 0;
    case BF_KIND_PRODUCT_TREE: return words[BF_PRODUCT_TREE_NAN];
    default: return words[BF_SUM_NAN];
    }
}

/* The result of any reduction but describe and, of floats, prod, by options that have been checked.
 * `kind` is bf_kind_of(op, dtype). Errors: BF_E_NAN, BF_E_EMPTY, BF_E_OVERFLOW. */
BF_RULE bf_status bf_result_of_kind(bf_kind kind, bf_reduction op, bf_dtype dtype,
                                    const int64_t *words, const bf_reduce_options *options,
                                    bf_value *value, bf_work *work) {
    if (options->nan == BF_NAN_ERROR && bf_result_nans(kind, words) > 0) return BF_E_NAN;
    if (kind == BF_KIND_EXTREME) {
        bf_status status = bf_result_extreme(op, dtype, words, options->nan != BF_NAN_SKIP, value);
        if (status == BF_OK) value->scale = bf_result_scale(op, options->scale);
        return status;
    }
    if (kind == BF_KIND_PRODUCT) return bf_result_product(dtype, words, options, value, work);
    if (bf_result_is_integer(op, dtype, options->out_dtype) && !bf_result_fits(op, dtype, words))
        return BF_E_OVERFLOW;
    *value = bf_result_sum(kind, op, dtype, words, options, work);
    return BF_OK;
}

BF_RULE bf_status bf_result_plain(bf_reduction op, bf_dtype dtype, const int64_t *words,
                                  const bf_reduce_options *options, bf_value *value,
                                  bf_work *work) {
    return bf_result_of_kind(bf_kind_of(op, dtype), op, dtype, words, options, value, work);
}

/* bf_result_plain of floats' prod, from the root of the tree. */
BF_RULE bf_status bf_result_product_tree(const int64_t *words, bf_node root,
                                         const bf_reduce_options *options, bf_value *value) {
    bf_dtype out = options->out_dtype == BF_F32 ? BF_F32 : BF_F64;
    if (options->nan == BF_NAN_ERROR && words[BF_PRODUCT_TREE_NAN] > 0) return BF_E_NAN;
    bool skip = options->nan == BF_NAN_SKIP;
    *value = bf_value_from_bits(out, bf_product_tree_finish(words, skip, bf_format_of(out), root));
    return BF_OK;
}

#endif
