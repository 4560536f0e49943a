/* Every header of src/rules, and a function that uses each, so that inline functions are really
 * compiled. Included by one source file for each language: rules_compile.c, .cpp and .cu. */
#include "../src/rules/dtype.h"
#include "../src/rules/exact.h"
#include "../src/rules/finish.h"
#include "../src/rules/format.h"
#include "../src/rules/limbs.h"
#include "../src/rules/map.h"
#include "../src/rules/order.h"
#include "../src/rules/rule.h"
#include "../src/rules/state.h"
#include "../src/rules/wide.h"
#include "../src/rules/window.h"

#ifdef __CUDACC__
#define EVERYWHERE __host__ __device__
#else
#define EVERYWHERE
#endif

#ifdef __cplusplus
extern "C"
#endif
    EVERYWHERE int64_t
    bf_rules_compile(bf_dtype dtype, uint64_t bits, int64_t *words, uint64_t out[3]);

/* A variance of two elements and a minimum, by the rules alone. */
EVERYWHERE int64_t bf_rules_compile(bf_dtype dtype, uint64_t bits, int64_t *words,
                                    uint64_t out[3]) {
    bf_exact_shape shape = bf_exact_shape_of(BF_KIND_MOMENTS, dtype);
    bf_work work;
    bf_state_init(BF_KIND_MOMENTS, dtype, words);
    bf_exact_take(dtype, &shape, words, bits);
    bf_exact_take_pair(dtype, &shape, words, bits, bits);
    bf_state_merge_words(BF_KIND_MOMENTS, dtype, words, words);
    out[0] = bf_finish_variance(dtype, words, true, 1, false, bf_format_f64(), &work);
    out[1] = bf_finish_sum(dtype, words, true, false, bf_format_f32(), &work);
    out[2] = bf_finish_products(dtype, words, true, false, bf_format_f64(), &work);
    bf_finish_integer(words + shape.sum_at, shape.sum.limbs, out);
    bool valid = bf_state_valid(BF_VAR, dtype, words);
    out[0] ^= bf_map_element(BF_MAP_FMA, dtype, bits, bits, bits, true, &valid);
    out[1] ^= bf_map_cast(dtype, BF_F16, bits, false, &valid);
    out[2] ^= (uint64_t)bf_map_promote_weak(bf_map_promote(dtype, BF_I16), BF_F64);
    return bf_order_key(dtype, bits) + bf_window_start(bf_window_bottom(0, 1)) + bf_window_span(2) +
           valid + bf_order_valid(dtype, (int64_t)bits);
}
