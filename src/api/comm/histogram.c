/* Merging a histogram: all of its words are added. */
#include "api/comm/comm.h"

#include "api/histogram/histogram.h"
#include "api/runtime/enter.h"

#include <stdlib.h>

/* Returns the words of a histogram, or NULL with *status. */
static int64_t *copy_words(bf_comm *comm, const bf_histogram *h, bf_status *status) {
    if (h == NULL) {
        *status = bf_fail(comm->context, BF_E_ARGUMENT, "no histogram to merge");
        return NULL;
    }
    int64_t *words = malloc((size_t)bf_histogram_word_count(h) * sizeof *words);
    if (words == NULL) {
        *status = bf_fail(comm->context, BF_E_MEMORY, "no memory to merge");
        return NULL;
    }
    bf_histogram_get_words(h, words);
    *status = BF_OK;
    return words;
}

static bf_status merge_histogram(bf_comm *comm, bf_histogram *h) {
    bf_status status;
    int64_t *words = copy_words(comm, h, &status);
    bool is = status == BF_OK;
    uint64_t key = is ? bf_comm_key(BF_COMM_MERGE_HISTOGRAM, bf_histogram_key(h)) : 0;
    status = bf_comm_add_agreed(comm, status, key, words, is ? bf_histogram_word_count(h) : 0);
    if (status == BF_OK) status = bf_histogram_set_words(h, words);
    free(words);
    return status;
}

bf_status bf_comm_merge_histogram(bf_comm *comm, bf_histogram *histogram) {
    if (comm == NULL || !bf_enter(comm->context)) return BF_E_ARGUMENT;
    return bf_leave(comm->context, merge_histogram(comm, histogram));
}
