/* Aggregates from the words of states. */
#include "cuda/reduce/aggregate.cuh"
#include "cuda/runtime/pipeline.cuh"

#include "rules/reduce/state.h"

#include <stdlib.h>

namespace {

bf_status copy_and_wait(bf_context *context, void *to, const void *from, size_t bytes) {
    bf_status status = bf_cuda_copy(context, to, from, bytes);
    return status == BF_OK ? bf_cuda_wait(context, cudaSuccess, "words on a GPU") : status;
}

/* The words of groups, on the host. */
struct word_rows {
    const int64_t *words;
    int64_t n;
    int each;
};

/* Inserts the groups' limbs of a part. The limb above the last that is not a sign extension takes
 * the carries of later merges. */
bf_status insert_band(bf_context *context, bf_cuda_band *band, const word_rows &rows,
                      int64_t room) {
    int count = band->part.layout.limbs, at = band->part.at, first = count, end = 0;
    for (int64_t i = 0; i < rows.n; i++) {
        const int64_t *limbs = rows.words + i * rows.each + at;
        int begins = 0, ends = count;
        int64_t above = limbs[count - 1] < 0 ? 0xffffffff : 0;
        if ((int32_t)above == limbs[count - 1])
            for (ends = count - 1; ends > 0 && limbs[ends - 1] == above;) ends--;
        while (begins < count && limbs[begins] == 0) begins++;
        if (begins < first) first = begins;
        if (begins < count && ends + 1 > end) end = ends + 1;
    }
    if (end == 0) return BF_OK;
    if (end > count) end = count;
    if (end <= first) end = first + 1;
    bf_status status = bf_cuda_band_widen(context, band, 0, room, first, end);
    if (status != BF_OK) return status;
    int64_t *band_words = (int64_t *)malloc((size_t)rows.n * (size_t)band->limbs * 8);
    if (band_words == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for words");
    for (int64_t i = 0; i < rows.n; i++) {
        int64_t *to = band_words + i * band->limbs;
        memcpy(to, rows.words + i * rows.each + at + band->first, (size_t)band->limbs * 8);
        to[band->limbs - 1] = (int32_t)to[band->limbs - 1];
    }
    band->deposits = 1;
    status = copy_and_wait(context, band->words.memory, band_words,
                           (size_t)rows.n * (size_t)band->limbs * 8);
    free(band_words);
    return status;
}

/* Sets the specials of a group from its words. */
void specials_of(bf_kind kind, const int64_t *words, int64_t *specials) {
    if (kind == BF_KIND_EXTREME)
        specials[0] = words[BF_EXTREME_NAN];
    else
        memcpy(specials, words + BF_SUM_NAN, BF_CUDA_SPECIALS * sizeof *specials);
}

/* Inserts an aggregate of all groups. scratch: BF_CUDA_SPECIALS for each group. */
bf_status insert_rows(bf_context *context, bf_cuda_aggregate *c, const word_rows &rows,
                      int64_t room, int64_t *scratch) {
    bool any = false;
    memset(scratch, 0, (size_t)rows.n * BF_CUDA_SPECIALS * sizeof *scratch);
    for (int64_t i = 0; i < rows.n; i++)
        specials_of(c->kind, rows.words + i * rows.each, scratch + i * BF_CUDA_SPECIALS);
    for (int64_t i = 0; i < rows.n * BF_CUDA_SPECIALS; i++) any = any || scratch[i] != 0;
    bf_status status = any ? bf_cuda_aggregate_hold_specials(context, c, 0, room) : BF_OK;
    if (status == BF_OK && any)
        status = copy_and_wait(context, c->specials.memory, scratch,
                               (size_t)rows.n * BF_CUDA_SPECIALS * sizeof *scratch);
    if (status != BF_OK) return status;
    if (c->kind == BF_KIND_EXTREME) {
        for (int64_t i = 0; i < rows.n; i++)
            scratch[i] = rows.words[i * rows.each + BF_EXTREME_RANK];
        return copy_and_wait(context, c->keys.memory, scratch, (size_t)rows.n * sizeof *scratch);
    }
    for (int i = 0; i < c->bands && status == BF_OK; i++)
        status = insert_band(context, &c->band[i], rows, room);
    return status;
}

} // namespace

bf_status bf_cuda_aggregate_insert(bf_context *context, bf_cuda_aggregate *c, const int64_t *words,
                                   int64_t n, int64_t room) {
    word_rows rows = {words, n, bf_state_words(c->kind, c->dtype, NULL)};
    int64_t *scratch = (int64_t *)malloc((size_t)n * BF_CUDA_SPECIALS * sizeof *scratch);
    if (scratch == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for words");
    bf_status status = insert_rows(context, c, rows, room, scratch);
    free(scratch);
    return status;
}
