/* From a state's words to a bf_value: policies and types. */
#include "result.h"

#include "../environment.h"
#include "../rules/finish.h"

static const bf_reduce_options defaults = {.size = sizeof defaults};

bf_status bf_check_reduce_options(bf_context *context, bf_reduction op,
                                  const bf_reduce_options *options) {
    if (options == NULL) return BF_OK;
    if (options->size != sizeof *options)
        return bf_fail(context, BF_E_ARGUMENT, "bf_reduce_options: size is not set");
    if ((unsigned)options->nan > BF_NAN_ERROR)
        return bf_fail(context, BF_E_ARGUMENT, "unknown NaN policy %d", (int)options->nan);
    if (options->ddof != 0 && options->ddof != 1)
        return bf_fail(context, BF_E_ARGUMENT, "ddof is %d, not 0 or 1", options->ddof);
    bf_dtype out = options->out_dtype;
    if (out != BF_NONE && out != BF_F64 && out != BF_F32)
        return bf_fail(context, BF_E_ARGUMENT, "results are rounded to f64 or f32, not %s",
                       bf_dtype_name(out));
    if ((unsigned)options->overflow > BF_OVERFLOW_WRAP)
        return bf_fail(context, BF_E_ARGUMENT, "overflow is an error or wraps, not %d",
                       (int)options->overflow);
    if (out != BF_NONE && op >= BF_MIN && op <= BF_ARGMAX)
        return bf_fail(context, BF_E_ARGUMENT, "%s keeps its type: no output dtype",
                       bf_reduction_name(op));
    return BF_OK;
}

/* A value of dtype (any but i192) from its bits. */
static bf_value value_from_bits(bf_dtype dtype, uint64_t bits) {
    bf_value v = {.dtype = dtype};
    uint32_t low = (uint32_t)bits;
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

static bf_status index_result(bf_context *context, const int64_t *words, bool nan_counts,
                              bf_value *value) {
    bool nan = nan_counts && words[BF_EXTREME_NAN] > 0;
    int64_t index = words[nan ? BF_EXTREME_NAN_INDEX : BF_EXTREME_INDEX];
    if (index < 0) return bf_fail(context, BF_E_EMPTY, "no element to choose from");
    *value = (bf_value){.dtype = BF_I64, .as.i64 = index};
    return BF_OK;
}

static bf_status extreme_result(bf_context *context, bf_reduction op, bf_dtype dtype,
                                const int64_t *words, bool nan_counts, bf_value *value) {
    if (bf_is_indexed(op)) return index_result(context, words, nan_counts, value);
    if (nan_counts && words[BF_EXTREME_NAN] > 0) {
        *value = value_from_bits(dtype, bf_format_nan(bf_format_of(dtype)));
        return BF_OK;
    }
    if (words[BF_EXTREME_INDEX] < 0)
        return bf_fail(context, BF_E_EMPTY, "no element to choose from");
    int64_t key = words[BF_EXTREME_KEY];
    *value = value_from_bits(dtype, bf_order_bits(dtype, bf_is_greatest(op) ? ~key : key));
    return BF_OK;
}

/* The one finish that computes in floating point. */
static uint64_t tree_bits(const int64_t *words, bool skip, bf_format f) {
    bf_environment environment = bf_environment_enter();
    uint64_t bits = bf_tree_finish(words, skip, f);
    bf_environment_leave(environment);
    return bits;
}

static uint64_t exact_bits(bf_reduction op, bf_dtype dtype, const int64_t *words,
                           const bf_reduce_options *options, bf_format f) {
    bool skip = options->nan == BF_NAN_SKIP;
    switch (bf_kind_of(op, dtype)) {
    case BF_KIND_TREE: return tree_bits(words, skip, f);
    case BF_KIND_SUM: return bf_finish_sum(dtype, words, op == BF_MEAN, skip, f);
    case BF_KIND_MOMENTS:
        return bf_finish_variance(dtype, words, op == BF_STD, options->ddof, skip, f);
    default: return bf_finish_products(dtype, words, op == BF_NORM, skip, f);
    }
}

static bf_value exact_result(bf_reduction op, bf_dtype dtype, const int64_t *words,
                             const bf_reduce_options *options) {
    bool integer = !bf_dtype_is_float(dtype) && (op == BF_SUM || op == BF_SUMSQ || op == BF_DOT);
    if (integer && options->out_dtype == BF_NONE) {
        bf_value v = {.dtype = BF_I192};
        bf_layout layout = op == BF_SUM ? bf_layout_sum(dtype) : bf_layout_products(dtype);
        bf_finish_integer(words + BF_EXACT_LIMBS, layout.limbs, v.as.i192);
        return v;
    }
    bf_dtype out = options->out_dtype == BF_F32 ? BF_F32 : BF_F64;
    return value_from_bits(out, exact_bits(op, dtype, words, options, bf_format_of(out)));
}

/* A 192-bit integer rounded once. */
static uint64_t integer_bits(const uint64_t integer[3], bf_format f) {
    int64_t limbs[6];
    bf_wide x = {0, 0, {0}};
    for (int i = 0; i < 6; i++) limbs[i] = (int64_t)(uint32_t)(integer[i / 2] >> 32 * (i % 2));
    limbs[5] = (int32_t)limbs[5];
    bool negative = bf_wide_from_limbs(&x, limbs, 6, 0);
    return bf_leading_round(f, negative, bf_wide_leading(&x));
}

static bf_status factors_result(bf_context *context, bf_dtype dtype, const int64_t *words,
                                const bf_reduce_options *options, bf_value *value) {
    bf_value v = {.dtype = BF_I192};
    if (options->overflow == BF_OVERFLOW_WRAP) {
        v.dtype = bf_dtype_is_signed(dtype) ? BF_I64 : BF_U64;
        v.as.u64 = bf_factors_wrapped(words);
    } else if (!bf_factors_finish(dtype, words, v.as.i192)) {
        return bf_fail(context, BF_E_OVERFLOW, "the product takes more than 128 bits");
    } else if (options->out_dtype != BF_NONE) {
        v = value_from_bits(options->out_dtype,
                            integer_bits(v.as.i192, bf_format_of(options->out_dtype)));
    }
    *value = v;
    return BF_OK;
}

/* How many NaNs there are, in words of any kind. */
static int64_t nan_count(bf_kind kind, const int64_t *words) {
    switch (kind) {
    case BF_KIND_EXTREME: return words[BF_EXTREME_NAN];
    case BF_KIND_FACTORS: return 0;
    case BF_KIND_TREE: return words[BF_TREE_NAN];
    default: return words[BF_EXACT_NAN];
    }
}

bf_status bf_result(bf_context *context, bf_reduction op, bf_dtype dtype, const int64_t *words,
                    const bf_reduce_options *options, bf_value *value) {
    bf_kind kind = bf_kind_of(op, dtype);
    bf_status status = bf_check_reduce_options(context, op, options);
    if (status != BF_OK) return status;
    if (value == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the value");
    if (kind == BF_KIND_DESCRIPTION)
        return bf_fail(context, BF_E_ARGUMENT, "describe gives a bf_description");
    if (options == NULL) options = &defaults;
    int64_t nan = nan_count(kind, words);
    if (options->nan == BF_NAN_ERROR && nan > 0)
        return bf_fail(context, BF_E_NAN, "%lld NaN in the data", (long long)nan);
    if (kind == BF_KIND_EXTREME)
        return extreme_result(context, op, dtype, words, options->nan != BF_NAN_SKIP, value);
    if (kind == BF_KIND_FACTORS) return factors_result(context, dtype, words, options, value);
    *value = exact_result(op, dtype, words, options);
    return BF_OK;
}
