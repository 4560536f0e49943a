/* How elements become places, and what sorts them. */
#include "cpu/order/sorting.h"

#include "rules/key/rank.h"

enum { LARGE_BYTES = 1 << 25 }; /* smaller memory may have been in use, and needs no pages */

bf_order_code bf_order_code_of(bf_dtype dtype, bf_order order) {
    int bits = 8 * bf_key_bytes(dtype) < 64 ? 8 * bf_key_bytes(dtype) : 64;
    uint64_t all = ~(uint64_t)0 >> (64 - bits), top = (uint64_t)1 << (bits - 1);
    bool is_float = bf_dtype_is_float(dtype);
    uint64_t flip = order == BF_ASCENDING ? 0 : all;
    uint64_t sign = is_float || bf_dtype_is_signed(dtype) ? top : 0;
    bf_order_code code = {sign ^ flip, sign ^ flip, all, all, dtype == BF_BOOL ? 1 : all};
    if (!is_float) return code;
    code.negative ^= all ^ top;
    code.nan = bf_format_inf(bf_format_of(dtype)) << 1 & all;
    code.nan_place = order == BF_DESCENDING ? 0 : all;
    return code;
}

int bf_order_workers(const bf_context *context, int word_bytes, int64_t n) {
    return bf_workers(context, n, BF_ORDER_SHARE / word_bytes);
}

void *bf_order_alloc(size_t bytes) {
    return bytes < LARGE_BYTES ? bf_alloc(bytes) : bf_zeros(bytes);
}

bf_order_sorter bf_order_sorter_of(const bf_context *context, bf_dtype dtype, bf_order order) {
    const bf_order_loops *loops = context->cpu->isa->order;
    int bytes = bf_key_bytes(dtype), word_bytes = bytes <= 4 ? 4 : 8;
    return (bf_order_sorter){
        .element = &loops->element[bf_bit_length((uint64_t)bytes) - 1],
        .word = &loops->word[word_bytes / 8],
        .word8 = &loops->word[1],
        .code = bf_order_code_of(dtype, order),
        .bytes = bytes,
        .word_bytes = word_bytes,
        .nan_first = order == BF_DESCENDING,
    };
}

bf_order_sorter bf_order_sorter_of_keys(const bf_context *context, bf_dtype dtype) {
    bf_order_sorter s = bf_order_sorter_of(context, dtype, BF_ASCENDING);
    if (bf_dtype_is_float(dtype))
        s.code.nan_place = bf_format_nan(bf_format_of(dtype)) ^ s.code.other;
    return s;
}
