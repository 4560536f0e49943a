/* Histograms: retract. */
#include "api/histogram/histogram.h"
#include "api/reduce/reduce.h"
#include "api/runtime/enter.h"
#include "base/memory.h"

/* Sets `left` to the sums of `into` without those of `from`. */
static bf_status retract_sums(const bf_histogram *into, const bf_histogram *from, int64_t *left) {
    int64_t bins = into->bins.count, words = into->sum_words;
    bool retracted = true;
    memcpy(left, into->sums, (size_t)(bins * words) * sizeof *left);
    for (int64_t i = 0; i < bins && retracted; i++)
        retracted =
            bf_sum_retract(BF_KIND_SUM, into->weights, left + i * words, from->sums + i * words);
    return bf_explain_retraction(into->context, retracted);
}

/* Does every bin of `into` hold at least as many elements as that of `from`? */
static bool holds_counts(const bf_histogram *into, const bf_histogram *from) {
    for (int64_t i = 0; i < into->bins.count + BF_BIN_OTHERS; i++)
        if (from->counts[i] > into->counts[i]) return false;
    return true;
}

static bf_status retract_histogram(bf_histogram *into, const bf_histogram *from) {
    bf_status status = bf_histogram_match(into, from);
    if (status != BF_OK) return status;
    if (!holds_counts(into, from)) return bf_explain_retraction(into->context, false);
    if (into->sum_words > 0) {
        size_t bytes = (size_t)(into->bins.count * into->sum_words) * sizeof *into->sums;
        int64_t *left = bf_alloc(bytes);
        if (left == NULL) return bf_fail(into->context, BF_E_MEMORY, "no memory for sums");
        status = retract_sums(into, from, left);
        if (status == BF_OK) memcpy(into->sums, left, bytes);
        bf_free(left);
        if (status != BF_OK) return status;
    }
    into->total -= from->total;
    for (int64_t i = into->bins.count + BF_BIN_OTHERS - 1; i >= 0; i--)
        into->counts[i] -= from->counts[i];
    return BF_OK;
}

bf_status bf_histogram_retract(bf_histogram *into, const bf_histogram *from) {
    if (into == NULL || !bf_enter(into->context)) return BF_E_ARGUMENT;
    return bf_leave(into->context, retract_histogram(into, from));
}
