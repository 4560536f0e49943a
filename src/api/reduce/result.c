/* Finishes a state's words as a bf_value: applies policies and types. */
#include "api/reduce/reduce.h"

#include "api/runtime/sized.h"
#include "base/environment.h"
#include "rules/number/scale.h"
#include "rules/reduce/result.h"

bf_status bf_check_scale(bf_context *context, bf_reduction op, bf_dtype dtype, int scale) {
    bool integers = dtype != BF_NONE && dtype != BF_BOOL && !bf_dtype_is_float(dtype);
    if (scale == 0 || (integers && op != BF_PROD && scale > 0 && scale <= BF_SCALE_MOST_I128))
        return BF_OK;
    return bf_fail(context, BF_E_ARGUMENT, "%s of %s takes no scale of %d", bf_reduction_name(op),
                   dtype == BF_NONE ? "many at once" : bf_dtype_name(dtype), scale);
}

bf_status bf_read_reduce_options(bf_context *context, bf_reduction op, bf_dtype dtype,
                                 const bf_reduce_options *given, bf_reduce_options *options) {
    *options = BF_REDUCE_OPTIONS(.ddof = 0);
    if (given == NULL) return BF_OK;
    if (!BF_READ(options, given, overflow))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_reduce_options: size is not set, or from a newer version");
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
    if ((unsigned)options->weights > BF_WEIGHTS_RELIABILITY)
        return bf_fail(context, BF_E_ARGUMENT, "unknown kind of weights %d", (int)options->weights);
    if (options->later != 0 && options->later != 1)
        return bf_fail(context, BF_E_ARGUMENT, "later is %d, not 0 or 1", options->later);
    bf_result_class result = bf_class_of(op);
    if (out != BF_NONE && (result == BF_RESULT_ELEMENT || result == BF_RESULT_INDEX))
        return bf_fail(context, BF_E_ARGUMENT, "%s keeps its type: no output dtype",
                       bf_reduction_name(op));
    return bf_check_scale(context, op, dtype, options->scale);
}

static bf_status explain_failure(bf_context *context, bf_kind kind, bf_status status,
                                 int64_t nans) {
    if (status == BF_E_NAN)
        return bf_fail(context, status, "%lld NaN in the data", (long long)nans);
    if (status == BF_E_EMPTY) return bf_fail(context, status, "no element to choose from");
    if (kind == BF_KIND_PRODUCT)
        return bf_fail(context, status, "the product takes more than 128 bits");
    return bf_fail(context, status, "the integer takes more than 192 bits: ask for f64");
}

bf_status bf_result(bf_context *context, bf_reduction op, bf_dtype dtype, const int64_t *words,
                    const bf_reduce_options *options, bf_value *value) {
    bf_kind kind = bf_kind_of(op, dtype);
    if (value == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the value");
    if (kind == BF_KIND_DESCRIPTION)
        return bf_fail(context, BF_E_ARGUMENT, "describe gives a bf_description");
    bf_work work;
    bf_environment environment = bf_environment_enter(); /* trees multiply floats */
    bf_status status =
        kind == BF_KIND_PRODUCT_TREE
            ? bf_result_product_tree(words, bf_product_tree_root(words), options, value)
            : bf_result_plain(op, dtype, words, options, value, &work);
    bf_environment_leave(environment);
    return status == BF_OK ? BF_OK
                           : explain_failure(context, kind, status, bf_result_nans(kind, words));
}
