/* A histogram as words, for ranks: its total, its counts, its sums. */
#include "api/histogram/histogram.h"

#include "rules/reduce/sum.h"

enum { TOTAL, COUNTS };

static int64_t count_of(const bf_histogram *h) { return h->bins.count + BF_BIN_OTHERS; }

int64_t bf_histogram_word_count(const bf_histogram *h) {
    return COUNTS + count_of(h) + h->bins.count * h->sum_words;
}

static uint64_t mix(uint64_t key, uint64_t x) {
    key = (key ^ x) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

uint64_t bf_histogram_key(const bf_histogram *h) {
    uint64_t key = mix(mix((uint64_t)h->dtype, (uint64_t)h->weights), (uint64_t)h->bins.count);
    for (int64_t i = 0; i <= h->bins.count; i++) {
        uint64_t bits;
        double edge = h->edges[i] + 0.0; /* -0 is the edge +0 */
        memcpy(&bits, h->integers != NULL ? (const void *)&h->integers[i] : &edge, 8);
        key = mix(key, bits);
    }
    return key;
}

void bf_histogram_get_words(const bf_histogram *h, int64_t *words) {
    words[TOTAL] = h->total;
    memcpy(words + COUNTS, h->counts, (size_t)count_of(h) * sizeof *words);
    if (h->sum_words > 0)
        memcpy(words + COUNTS + count_of(h), h->sums,
               (size_t)(h->bins.count * h->sum_words) * sizeof *words);
}

bf_status bf_histogram_set_words(bf_histogram *h, int64_t *words) {
    int64_t *sums = words + COUNTS + count_of(h);
    if (words[TOTAL] < 0 || words[TOTAL] > BF_COUNT_MAX)
        return bf_fail(h->context, BF_E_OVERFLOW, "more than 2^62 elements");
    for (int64_t i = 0; i < h->bins.count && h->sum_words > 0; i++)
        bf_sum_carry(BF_KIND_SUM, h->weights, sums + i * h->sum_words);
    h->total = words[TOTAL];
    memcpy(h->counts, words + COUNTS, (size_t)count_of(h) * sizeof *words);
    if (h->sum_words > 0)
        memcpy(h->sums, sums, (size_t)(h->bins.count * h->sum_words) * sizeof *words);
    return BF_OK;
}
