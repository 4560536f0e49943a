/* Every header of src/rules, and a function that uses each, so that inline functions are really
 * compiled. Included by one source file for each language: compile.c, .cpp and .cu. */
#include "rules/expression/operation.h"
#include "rules/histogram/bin.h"
#include "rules/histogram/edges.h"
#include "rules/histogram/step.h"
#include "rules/julia/mirror.h"
#include "rules/julia/palette.h"
#include "rules/key/hash.h"
#include "rules/key/order.h"
#include "rules/key/rank.h"
#include "rules/map/map.h"
#include "rules/number/dtype.h"
#include "rules/number/format.h"
#include "rules/number/limbs.h"
#include "rules/number/rule.h"
#include "rules/number/wide.h"
#include "rules/order/quantile.h"
#include "rules/order/tie.h"
#include "rules/reduce/band.h"
#include "rules/reduce/element.h"
#include "rules/reduce/finish.h"
#include "rules/reduce/joint.h"
#include "rules/reduce/state.h"
#include "rules/reduce/sum.h"
#include "rules/reduce/sum_window.h"
#include "rules/reduce/terms.h"
#include "rules/scan/quantile.h"
#include "rules/scan/span.h"
#include "rules/scan/window.h"
#include "rules/table/entry.h"

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

/* A variance of two elements, a minimum, a bin and more, by the rules alone. */
EVERYWHERE int64_t bf_rules_compile(bf_dtype dtype, uint64_t bits, int64_t *words,
                                    uint64_t out[3]) {
    bf_sum_shape shape = bf_sum_shape_of(BF_KIND_MOMENTS, dtype);
    bf_work work;
    double edges[2], x = bf_bin_value(dtype, bits);
    bf_bins bins;
    bf_state_init(BF_KIND_MOMENTS, dtype, words);
    bf_sum_take(dtype, &shape, words, bits);
    bf_sum_take_pair(dtype, &shape, words, bits, bits);
    bf_state_merge_words(BF_KIND_MOMENTS, dtype, words, words);
    out[0] = bf_finish_variance(dtype, words, true, 1, false, 3, bf_format_f64(), &work);
    out[1] = bf_finish_total(words, shape.sum, true, false, false, 3, bf_format_f32(), &work);
    out[2] = bf_finish_total(words, shape.products, false, true, false, 3, bf_format_f64(), &work);
    bf_finish_integer(words + shape.sum_at, shape.sum.limbs, out);
    bool valid = bf_state_valid(BF_VAR, dtype, words);
    bf_reduce_options options = {sizeof options,      BF_NAN_SKIP, BF_NONE, 0,
                                 BF_OVERFLOW_ERROR,   NULL,        2,       0,
                                 BF_WEIGHTS_FREQUENCY};
    bf_band_sums group = {{2},       words + shape.sum_at, words + shape.products_at,
                          shape.sum, shape.products,       false};
    const bf_parts parts = bf_parts_of(BF_KIND_WEIGHTED, dtype);
    bf_sum_take_joint(BF_KIND_WEIGHTED, dtype, &parts, words, (bf_i128)bits, (bf_i128)bits);
    out[2] ^= bf_joint_result(BF_KIND_WEIGHTED, BF_WVAR, dtype, words, &options, bf_format_f64());
    out[0] ^= bf_band_bits(BF_STD, &group, &options, bf_format_f64(), &work);
    out[1] ^= bf_extreme_bits(BF_MAX, dtype, 2, 1, 0, true);
    bf_band_integer(BF_SUM, &group, out);
    group.words = true;
    out[2] ^= bf_band_bits(BF_MEAN, &group, &options, bf_format_f64(), &work);
    valid = valid && bf_integer_fits(BF_I64, out);
    valid = valid && bf_element_of_words(BF_KIND_MOMENTS, BF_VAR, dtype, words, &options, BF_F64,
                                         out, &valid, &work) == BF_OK;
    out[0] ^= bf_map_element(BF_MAP_FMA, dtype, bits, bits, bits, true, &valid);
    out[1] ^= bf_cast(dtype, BF_F16, bits, false, &valid);
    out[2] ^= (uint64_t)bf_map_promote_weak(bf_map_promote(dtype, BF_I16), BF_F64);
    memset(&bins, 0, sizeof bins);
    edges[0] = 0;
    edges[1] = bins.f64.scale = bins.f64.most = bins.f32.scale = bins.f32.most = 1;
    bins.count = 1;
    bins.edges = edges;
    out[0] ^= (uint64_t)(bf_bin_of(&bins, x) + bf_bin_guessed(&bins, x));
    out[1] ^= (uint64_t)bf_bin_guessed_f32(&bins, (float)x) + bf_bin_is_single(dtype);
    bins.step_count = bf_edge_step(BF_I64, bf_edge_from(x), valid, words) &&
                      bf_edge_is_small(bf_edge_integer(BF_U64, bits)) &&
                      bf_integers_increase(BF_I64, out, 2);
    bins.steps = words;
    out[0] ^= (uint64_t)bf_bin_of_bits(&bins, dtype, bits);
    bf_hash_seed seed = bf_hash_next_seed(bf_hash_seed_of(bits));
    out[0] ^= bf_hash_place(bf_hash_4(seed, (uint32_t)bits) ^ bf_hash_16(seed, bits, bits), 3);
    out[1] ^= bf_key_of_rank(dtype, bf_key_rank(dtype, bf_key_canonical(dtype, bits)));
    out[1] ^= bf_group_of_rank(dtype, bf_group_rank(dtype, bits));
    out[2] ^= bf_value_combined(BF_DUPLICATES_LEAST, dtype, bits,
                                bf_value_stored(BF_DUPLICATES_LEAST, dtype, bits));
    bf_julia_view view = {dtype, false, 9, 4, 4, 0, 0, 0, 0, 1, bf_julia_abs(-4)};
    bf_point_f32 point = {bf_escape_coordinate_f32(&view, (int64_t)bits, 0), 0};
    bf_point_f64 other = {bf_escape_coordinate_f64(&view, (int64_t)bits, 0), 0};
    bf_rectangle all = {0, 0, 8, 8};
    bf_mirror mirror = bf_mirror_of(&view, all);
    out[0] += (uint64_t)bf_escape_point_f32(&view, point) + bf_julia_is_sticky(&view);
    out[1] += (uint64_t)bf_escape_point_f64(&view, other) + bf_julia_is_tame(&view);
    out[2] += (uint64_t)(bf_mirror_row(&mirror, 1) + bf_mirrored_row(&mirror, 1));
    out[0] += bf_palette_color(BF_PALETTE_FIRE, (int)(bits & 7), 9);
    const bf_between between = bf_quantile_between(BF_QUANTILE_HAZEN, 9, x);
    bf_quantile_store(out, BF_F64, 3, bf_quantile_whole(BF_QUANTILE_HAZEN, 9, &x, 1),
                      bf_quantile_make(dtype, BF_F64, 3, bits, bits ^ 1, between.weight));
    out[1] ^= (uint64_t)bf_median_between(9).below;
    out[2] ^= (uint64_t)bf_quantile_to(dtype, BF_QUANTILE_LOWER) ^ (uint64_t)bf_median_to(dtype);
    const bf_window window = {BF_VAR, BF_KIND_MOMENTS, false, dtype, BF_F64, options, 1};
    if (!bf_window_told(&window, group.counts, out)) out[0] = bf_window_sum(&window, &group, &work);
    out[1] ^= bf_window_element(&window, bits) ^ (uint64_t)bf_window_dtype(&window, BF_F32);
    double s = x, e = 0, g = 0;
    const void *in[] = {&bits};
    const bf_terms terms = {dtype, 1, in, 0};
    valid = valid && bf_terms_add(&s, &e, x) && bf_terms_add_f64(&s, &e, &g, x);
    out[0] += bf_terms_sum(&terms, &valid);
    out[1] += bf_narrow_odd(bf_terms_odd(s, e)) < bf_terms_f64(s, e, g);
    const bf_window_quantiles quantiles = {&x, 1, BF_QUANTILE_HAZEN};
    out[0] ^=
        bf_window_quantile(&window, words, words + 2, bf_window_between(&quantiles, 0, 9).weight);
    out[1] ^= (uint64_t)bf_window_quantile_to(&quantiles, dtype);
    out[2] ^= (uint64_t)bf_float_span_compare(2, 1, bf_float_span_make(x, true).before);
    out[2] ^=
        (uint64_t)bf_integer_span_compare(BF_I64, 2, 1, bf_integer_span_make(bits, true).after);
    return bf_order_rank(dtype, bits) + bf_window_start(bf_window_bottom(0, 1)) +
           bf_window_span(2) + valid + bf_order_valid(dtype, (int64_t)bits);
}
