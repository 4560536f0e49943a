/* Saved groups are untrusted input: whatever the bytes, bf_groups_load refuses them or gives groups
 * that work, and that save to the same bytes. */
#include "tests/support/saved.h"

FUZZ_SAVED(bf_groups)

/* Keys increase by what list says, and all results can be had. */
static void take_results(bf_groups *g, const bf_groups_options *kind) {
    size_t n = (size_t)bf_groups_size(g);
    int64_t *counts = calloc(n + 1, sizeof *counts), rows = 0;
    bf_value *values = calloc(n + 1, sizeof *values);
    bf_array to = bf_array_of(BF_I64, counts, (int64_t)n);
    require(counts != NULL && values != NULL && bf_groups_list(g, NULL, &to) == BF_OK);
    for (size_t i = 0; i < n; i++) {
        require(counts[i] > 0);
        rows += counts[i];
    }
    require(rows == bf_groups_rows(g));
    for (int i = 0; i < kind->count; i++) {
        bf_reduce_options skip = BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP);
        require(bf_groups_result(g, i, NULL, values) == BF_OK);
        require(bf_groups_result(g, i, &skip, values) == BF_OK);
    }
    free(counts);
    free(values);
}

/* Rows of any bits, with one key that may be there already. */
static void absorb(bf_groups *g, const bf_groups_options *kind, const uint8_t *data, size_t size) {
    uint64_t elements[8] = {0};
    bf_array arrays[BF_AGGREGATES_MAX], keys = bf_array_of(kind->key, elements, 3);
    const bf_array *values[2 * BF_AGGREGATES_MAX];
    int n = 0;
    memcpy(elements, data + size - 24, 24); /* its last bytes */
    for (int i = 0; i < kind->count; i++) {
        arrays[i] = bf_array_of(kind->aggregates[i].dtype, elements, 3);
        for (int k = bf_reduction_arrays(kind->aggregates[i].op); k > 0; k--)
            values[n++] = &arrays[i];
    }
    bf_status status = bf_groups_absorb(g, &keys, values);
    require(status == BF_OK || status == BF_E_OVERFLOW);
}

static void use(bf_context *context, bf_groups *g, const uint8_t *data, size_t size) {
    bf_groups_options kind = {.size = sizeof kind};
    bf_groups_describe(g, &kind);
    take_results(g, &kind);
    absorb(g, &kind, data, size);
    bf_status status = bf_groups_merge(g, g);
    require(status == BF_OK || status == BF_E_OVERFLOW);
    take_results(g, &kind);
    status = bf_groups_retract(g, g);
    require(status == BF_E_ARGUMENT || (status == BF_OK && bf_groups_size(g) == 0));
    absorb(g, &kind, data, size);
    save_and_load(context, g);
}
