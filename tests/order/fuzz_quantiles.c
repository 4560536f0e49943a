/* Saved quantiles are untrusted input: whatever the bytes, bf_quantiles_load refuses them or gives
 * an object that works, and that saves to the same bytes. */
#include "tests/support/saved.h"

#include <bitfold/order.h>

FUZZ_SAVED(bf_quantiles)

/* Absorbs the elements that the pass lacks, or a few; at most `most`. Their bits are those of the
 * saved form, which has the bounds of ranges in it. */
static void absorb(bf_quantiles *q, const uint8_t *data, size_t size, int64_t most) {
    static uint8_t elements[1 << 16];
    bf_quantiles_info info = {.size = sizeof info};
    require(bf_quantiles_describe(q, &info) == BF_OK);
    int64_t n = info.pass > 1 ? info.all - info.count : 100;
    if (n > most) n = most;
    for (size_t i = 0; i < sizeof elements; i++) elements[i] = data[(i + 24) % size];
    const bf_array x = bf_array_of(info.dtype, elements, n);
    const bf_status status = bf_quantiles_absorb(q, &x);
    require(status == BF_OK || status == BF_E_STATE || status == BF_E_OVERFLOW);
}

static void take_results(bf_quantiles *q) {
    bf_value values[BF_QUANTILES_MAX];
    const bf_status status = bf_quantiles_result(q, values);
    require(status == BF_OK || status == BF_E_STATE || status == BF_E_NAN || status == BF_E_EMPTY);
}

/* Some passes over the same elements, some of which another object takes. */
static void run_passes(bf_context *context, bf_quantiles *q, const uint8_t *data, size_t size) {
    for (int pass = 0, done = 0; pass < 3 && !done; pass++) {
        bf_quantiles *part = NULL;
        size_t saved_size;
        uint8_t *saved = save_form(q, &saved_size);
        if (bf_quantiles_load(context, saved, saved_size, &part) == BF_OK) {
            absorb(part, data, size, 10);
            const bf_status status = bf_quantiles_merge(q, part);
            require(status == BF_OK || status == BF_E_STATE || status == BF_E_OVERFLOW);
        }
        free(saved);
        bf_quantiles_destroy(part);
        absorb(q, data, size, 4096);
        const bf_status status = bf_quantiles_next(q, &done);
        require(status == BF_OK || status == BF_E_STATE);
        take_results(q);
    }
}

static void use(bf_context *context, bf_quantiles *q, const uint8_t *data, size_t size) {
    int done;
    take_results(q);
    bf_status status = bf_quantiles_next(q, &done);
    require(status == BF_OK || status == BF_E_STATE);
    take_results(q);
    run_passes(context, q, data, size);
}
