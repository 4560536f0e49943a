/* Windows whose elements are counted. */
#include "cpu/scan/rolling.h"

INLINE bf_status roll(bf_dtype dtype, const bf_rolling_tile *t, void *memory) {
    (void)memory;
    const bf_rolling_job *job = t->job;
    int64_t counts[BF_SUM_LIMBS] = {0};
    int64_t first = bf_rolling_first(job, t->from), end = first;
    uint64_t bits;
    for (int64_t k = t->from; k < t->to; k++) {
        const int64_t to_first = bf_rolling_first(job, k), to_end = bf_rolling_end(job, k);
        for (; end < to_end; end++)
            counts[BF_SUM_NAN] += bf_rolling_nan(dtype, bf_rolling_element(t, end));
        for (; first < to_first; first++)
            counts[BF_SUM_NAN] -= bf_rolling_nan(dtype, bf_rolling_element(t, first));
        counts[BF_SUM_COUNT] = end - first;
        if (bf_rolling_refused(&job->window, counts)) return BF_E_NAN;
        bf_window_told(&job->window, counts, &bits);
        bf_rolling_store(t, job->window.to, k, bits);
    }
    return BF_OK;
}

BF_ROLLING_OF_DTYPE(bf_roll_counts)
