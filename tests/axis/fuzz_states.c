/* Many saved states are untrusted input: whatever the bytes, bf_states_load refuses them or gives
 * states that work, and that save to the same bytes. */
#include "tests/support/saved.h"

FUZZ_SAVED(bf_states)

static bool is_extreme(bf_reduction op) { return op >= BF_MIN && op <= BF_ARGMAX; }

static void describe_all(bf_states *s, bf_dtype dtype) {
    const int64_t n = bf_states_count(s);
    int64_t *values = calloc((size_t)n + 1, sizeof *values);
    require(values != NULL);
    const bf_reduce_options o = BF_REDUCE_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
    const bf_array nan = bf_array_of(BF_I64, values, n), min = bf_array_of(dtype, values, n),
                   std = bf_array_of(BF_F64, values, n);
    const bf_descriptions one = {.size = sizeof one, .nan = &nan};
    const bf_descriptions two = {.size = sizeof two, .min = &min};
    const bf_descriptions three = {.size = sizeof three, .std = &std};
    require(bf_states_description(s, &o, &one) == BF_OK);
    require(bf_states_description(s, &o, &two) == BF_OK);
    require(bf_states_description(s, &o, &three) == BF_OK);
    free(values);
}

/* All results can be had. op and dtype are those that the header says. */
static void take_results(bf_states *s, const uint8_t *data) {
    const int64_t n = bf_states_count(s);
    const bf_reduction op = (bf_reduction)saved_number(data, 0);
    const bf_dtype dtype = (bf_dtype)saved_number(data, 1);
    if (op == BF_DESCRIBE) {
        describe_all(s, dtype);
        return;
    }
    const bf_value empty = {.dtype = bf_reduce_dtype(op, dtype, NULL)};
    bf_reduce_options o = BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP, .overflow = BF_OVERFLOW_WRAP);
    int64_t *values = calloc((size_t)n + 1, sizeof *values);
    require(values != NULL);
    if (is_extreme(op)) o.empty = &empty;
    bf_array to = bf_array_of(bf_reduce_dtype(op, dtype, &o), values, n);
    bf_array counts = bf_array_of(BF_I64, values, n);
    require(bf_states_result(s, &o, &to, NULL) == BF_OK);
    require(bf_states_counts(s, &counts) == BF_OK);
    for (int64_t i = 0; i < n; i++) require(values[i] >= 0);
    free(values);
}

/* An element of any bits for the first state, and for all. */
static void absorb(bf_states *s, const uint8_t *data) {
    static uint64_t elements[1 << 14];
    const int64_t n = bf_states_count(s);
    int64_t none = 0;
    const bf_dtype dtype = (bf_dtype)saved_number(data, 1);
    const bool pairs = bf_reduction_arrays((bf_reduction)saved_number(data, 0)) == 2;
    memcpy(elements, data + 48, 16);
    bf_array one = bf_array_of(dtype, elements, 1), index = bf_array_of(BF_I64, &none, 1);
    bf_array all = {elements, dtype, 2, {n, 1}, {1, 1}};
    const int axis = 1;
    bf_status status = n == 0  ? BF_OK
                       : pairs ? bf_states_absorb_pair_index(s, &one, &one, &index)
                               : bf_states_absorb_index(s, &one, &index);
    require(status == BF_OK || status == BF_E_OVERFLOW);
    status = n >= 1 << 14 ? BF_OK
             : pairs      ? bf_states_absorb_pair_axes(s, &all, &all, &axis, 1)
                          : bf_states_absorb_axes(s, &all, &axis, 1);
    require(status == BF_OK || status == BF_E_OVERFLOW);
}

static void use(bf_context *context, bf_states *s, const uint8_t *data, size_t size) {
    (void)size;
    take_results(s, data);
    absorb(s, data);
    bf_status status = bf_states_merge(s, s);
    require(status == BF_OK || status == BF_E_OVERFLOW || status == BF_E_STATE);
    take_results(s, data);
    save_and_load(context, s);
}
