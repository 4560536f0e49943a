/* The bins of a block of elements: cast to floats that hold them, then by the instruction set's
 * loops, by search, or by the rules. */
#include "cpu/histogram/histogram.h"

enum { SEARCHES = 8 }; /* searches side by side, so that their fetches overlap */

static void find_by_rules(const bf_bin_job *job, const char *data, int64_t n, uint32_t *bin) {
    int bytes = bf_dtype_bytes(job->dtype);
    for (int64_t i = 0; i < n; i++)
        bin[i] =
            (uint32_t)bf_bin_of_bits(job->bins, job->dtype, bf_load_bits(data + i * bytes, bytes));
}

/* Finds the bins of a few x side by side, without branches. */
static void search_few(const bf_bins *bins, const double *x, uint32_t *bin) {
    const double low = bins->edges[0], high = bins->edges[bins->count];
    const double *at[SEARCHES];
    int inside = 0;
    for (int k = 0; k < SEARCHES; k++) at[k] = bins->edges;
    for (int64_t left = bins->count, half; left > 1; left -= half) {
        half = left / 2;
        for (int k = 0; k < SEARCHES; k++) at[k] += -(int64_t)(at[k][half] <= x[k]) & half;
    }
    for (int k = 0; k < SEARCHES; k++) {
        inside += (x[k] >= low) & (x[k] <= high);
        bin[k] = (uint32_t)(at[k] - bins->edges);
    }
    for (int k = 0; k < SEARCHES && inside < SEARCHES; k++)
        if (!(x[k] >= low && x[k] <= high)) bin[k] = (uint32_t)bf_bin_of(bins, x[k]);
}

static void find_by_search(const bf_bins *bins, const double *x, int64_t n, uint32_t *bin) {
    for (; n >= SEARCHES; n -= SEARCHES, x += SEARCHES, bin += SEARCHES) search_few(bins, x, bin);
    for (int64_t i = 0; i < n; i++) bin[i] = (uint32_t)bf_bin_of(bins, x[i]);
}

/* Counts the steps that are not above each of a few ranks, in the same way. */
static void count_steps(const bf_bins *bins, const int64_t *x, uint32_t *bin) {
    const int64_t *at[SEARCHES];
    int64_t left = bins->step_count;
    for (int k = 0; k < SEARCHES; k++) at[k] = bins->steps;
    for (int64_t half; left > 1; left -= half) {
        half = left / 2;
        for (int k = 0; k < SEARCHES; k++) at[k] += -(int64_t)(at[k][half - 1] <= x[k]) & half;
    }
    for (int k = 0; k < SEARCHES; k++) {
        const int64_t n = at[k] - bins->steps + (left > 0 && *at[k] <= x[k]);
        const int64_t inside = n <= bins->count ? n - 1 : bins->count + BF_BIN_ABOVE;
        bin[k] = (uint32_t)(n == 0 ? bins->count + BF_BIN_BELOW : inside);
    }
}

static void find_by_steps(const bf_bin_job *job, const char *data, int64_t n, uint32_t *bin) {
    int64_t x[BF_BIN_BLOCK], i = 0;
    memcpy(x, data, (size_t)n * sizeof *x);
    for (int64_t k = 0; k < n && job->dtype == BF_U64; k++)
        x[k] = bf_order_rank(BF_U64, (uint64_t)x[k]);
    for (; i + SEARCHES <= n; i += SEARCHES) count_steps(job->bins, x + i, bin + i);
    for (; i < n; i++) bin[i] = (uint32_t)bf_bin_of_rank(job->bins, x[i]);
}

/* Returns the dtype in which a block's bins are found: a vector has twice as many floats as
 * doubles. */
static bf_dtype guess_dtype(const bf_bins *bins) {
    return bins->even && bins->f32.scale > 0 ? BF_F32 : BF_F64;
}

/* Returns the elements as that dtype: where they are, or cast to `to`. */
static const void *cast_elements(const bf_isa *isa, const bf_bin_job *job, int64_t first, int64_t n,
                                 bf_dtype dtype, uint64_t *to) {
    const char *data = (const char *)job->data + first * bf_dtype_bytes(job->dtype);
    if (job->dtype == dtype && job->bins->even) return data;
    bf_cast_block(isa, job->dtype, dtype, data, to, n);
    return to;
}

void bf_bins_of(const bf_isa *isa, const bf_bin_job *job, int64_t first, int64_t n, uint32_t *bin) {
    const bf_bins *bins = job->bins;
    const bf_dtype dtype = guess_dtype(bins);
    bf_bin_loop loop = dtype == BF_F32 ? isa->histogram->bin_f32 : isa->histogram->bin_f64;
    uint64_t cast[BF_BIN_BLOCK];
    const char *data = (const char *)job->data + first * bf_dtype_bytes(job->dtype);
    if (bins->steps != NULL && loop != NULL) {
        find_by_steps(job, data, n, bin);
        return;
    }
    if (loop == NULL) {
        find_by_rules(job, data, n, bin);
        return;
    }
    const void *x = cast_elements(isa, job, first, n, dtype, cast);
    if (bins->even)
        loop(bins, x, (size_t)n, bin);
    else
        find_by_search(bins, x, n, bin);
}

void bf_byte_bins_of(const bf_isa *isa, const bf_bin_job *job, int64_t first, int64_t n,
                     uint8_t *bin) {
    const bf_dtype dtype = guess_dtype(job->bins);
    bf_bin_byte_loop loop =
        dtype == BF_F32 ? isa->histogram->bin_bytes_f32 : isa->histogram->bin_bytes_f64;
    uint64_t cast[BF_BIN_BLOCK];
    uint32_t wide[BF_BIN_BLOCK];
    if (job->bins->even && loop != NULL) {
        loop(job->bins, cast_elements(isa, job, first, n, dtype, cast), (size_t)n, bin);
        return;
    }
    bf_bins_of(isa, job, first, n, wide);
    for (int64_t i = 0; i < n; i++) bin[i] = (uint8_t)wide[i];
}
