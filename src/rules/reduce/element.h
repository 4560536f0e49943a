/* Results as the elements of an array (axis.h): their dtype, and their bits from the words of a
 * state. */
#ifndef BF_RULES_REDUCE_ELEMENT_H
#define BF_RULES_REDUCE_ELEMENT_H

#include "rules/reduce/result.h"

/* The dtype of the integers that sums and products of dtype are. */
BF_RULE bf_dtype bf_element_integer(bf_dtype dtype) {
    return bf_dtype_is_signed(dtype) || dtype == BF_BOOL ? BF_I64 : BF_U64;
}

/* The dtype of results of op: any but BF_DESCRIBE. out_dtype has been checked. */
BF_RULE bf_dtype bf_element_dtype(bf_reduction op, bf_dtype dtype, bf_dtype out_dtype) {
    if (bf_class_of(op) == BF_RESULT_ELEMENT) return dtype;
    if (bf_is_indexed(op)) return BF_I64;
    bool whole = op == BF_PROD && !bf_dtype_is_float(dtype) && out_dtype == BF_NONE;
    if (whole || bf_result_is_integer(op, dtype, out_dtype)) return bf_element_integer(dtype);
    return out_dtype == BF_F32 ? BF_F32 : BF_F64;
}

/* A product of integers. One that does not fit is what it is modulo 2^64; of that its float. */
BF_RULE uint64_t bf_element_of_product(bf_dtype dtype, const int64_t *words,
                                       const bf_reduce_options *options, bf_dtype to, bool *fits,
                                       bf_work *work) {
    uint64_t x[3];
    bf_dtype integer = bf_element_integer(dtype);
    bool whole = bf_product_finish(dtype, words, x);
    bool narrow = whole && bf_integer_fits(integer, x);
    bool rounds = bf_dtype_is_float(to) && options->overflow != BF_OVERFLOW_WRAP;
    *fits = rounds ? whole : narrow;
    if (!*fits) {
        x[0] = bf_product_wrapped(words);
        x[1] = x[2] = integer == BF_I64 ? (uint64_t)((int64_t)x[0] >> 63) : 0;
    }
    return bf_dtype_is_float(to) ? bf_result_round(x, bf_format_of(to), work) : x[0];
}

/* Sets *bits to the element of dtype `to` (bf_element_dtype) that a state's words make, by checked
 * options: any kind but BF_KIND_PRODUCT_TREE and BF_KIND_DESCRIPTION. *fits: false for an integer
 * that is not in the range of `to`; its bits are its value modulo 2^64. Errors: BF_E_NAN, and
 * BF_E_EMPTY: options->empty is the caller's to apply. */
BF_RULE bf_status bf_element_of_words(bf_kind kind, bf_reduction op, bf_dtype dtype,
                                      const int64_t *words, const bf_reduce_options *options,
                                      bf_dtype to, uint64_t *bits, bool *fits, bf_work *work) {
    bf_value v;
    *fits = true;
    if (kind == BF_KIND_PRODUCT) {
        *bits = bf_element_of_product(dtype, words, options, to, fits, work);
        return BF_OK;
    }
    bf_status status = bf_result_of_kind(kind, op, dtype, words, options, &v, work);
    if (status != BF_OK) return status;
    if (v.dtype == BF_I192) *fits = bf_integer_fits(to, v.as.i192);
    *bits = 0;
    memcpy(bits, &v.as, (size_t)bf_dtype_bytes(to)); /* low bytes come first */
    return BF_OK;
}

#endif
