/* The words of states, for MPI and NCCL. */
#include <bitfold/words.h>

#include "api/reduce/state.h"
#include "api/runtime/enter.h"
#include "api/runtime/sized.h"

#include <stdlib.h>

enum {
    PARTS_MOST = 1 << 30, /* limbs.h: additions before a carry */
    REFUSED = -1          /* as the first word, a count, it marks words that could not merge */
};

bf_status bf_state_words_info(const bf_state *state, bf_words_info *info) {
    if (state == NULL || info == NULL) return BF_E_ARGUMENT;
    bool adds = bf_kind_is_sum(state->kind);
    bool appends = state->kind == BF_KIND_PRODUCT_TREE || bf_is_indexed(state->op);
    bf_words_info found = {.count = bf_state_room(state->kind, state->dtype)};
    found.rule = adds ? BF_WORDS_ADD : appends ? BF_WORDS_APPEND : BF_WORDS_MERGE;
    found.parts = adds ? PARTS_MOST : 1;
    return BF_WRITE(info, &found, parts) ? BF_OK : BF_E_ARGUMENT;
}

/* Clears the words that a product of floats does not use. */
static void clear_unused(bf_kind kind, bf_dtype dtype, int64_t *words) {
    int used = bf_state_words(kind, dtype, words);
    memset(words + used, 0, (size_t)(bf_state_room(kind, dtype) - used) * sizeof *words);
}

bf_status bf_state_get_words(const bf_state *state, int64_t *words) {
    if (state == NULL || words == NULL) return BF_E_ARGUMENT;
    memcpy(words, state->words, bf_state_bytes(state));
    clear_unused(state->kind, state->dtype, words);
    return BF_OK;
}

/* Are these carried words those of a state? */
static bool is_state(bf_reduction op, bf_dtype dtype, const int64_t *words) {
    bf_kind kind = bf_kind_of(op, dtype);
    if (kind == BF_KIND_PRODUCT_TREE) {
        int64_t begin = words[BF_PRODUCT_TREE_BEGIN], end = words[BF_PRODUCT_TREE_END];
        if (begin < 0 || begin > end || end > BF_COUNT_MAX) return false;
    }
    return bf_state_valid(op, dtype, words);
}

/* Can these limbs be the sum of the limbs of `parts` states, before a carry? */
static bool is_sum(const int64_t *limbs, int count, int64_t parts) {
    for (int i = 0; i < count - 1; i++)
        if (limbs[i] < 0 || limbs[i] > parts * UINT32_MAX) return false;
    return count == 0 ||
           (limbs[count - 1] >= parts * INT32_MIN && limbs[count - 1] <= parts * INT32_MAX);
}

/* Carries words that were added. Returns false if they are not the sum of states. */
static bool carry_sum(bf_kind kind, bf_dtype dtype, int64_t *words, int64_t parts) {
    if (!bf_kind_is_sum(kind)) return true;
    const bf_parts p = bf_parts_of(kind, dtype);
    for (int i = 0; i < p.count; i++)
        if (!is_sum(words + p.part[i].at, p.part[i].layout.limbs, parts)) return false;
    bf_sum_carry(kind, dtype, words);
    return true;
}

bool bf_words_settle(bf_reduction op, bf_dtype dtype, int64_t *words, int64_t parts) {
    return carry_sum(bf_kind_of(op, dtype), dtype, words, parts) && is_state(op, dtype, words);
}

void bf_words_put(bf_state *state, const int64_t *words) {
    size_t count = (size_t)bf_state_words(state->kind, state->dtype, words);
    memcpy(state->words, words, count * sizeof *words);
}

static bf_status write_words(bf_state *s, const int64_t *words, int64_t count, int64_t parts) {
    int64_t wanted = bf_state_room(s->kind, s->dtype);
    if (words == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no words");
    if (count != wanted)
        return bf_fail(s->context, BF_E_ARGUMENT, "%lld words: a state of %s of %s has %lld",
                       (long long)count, bf_reduction_name(s->op), bf_dtype_name(s->dtype),
                       (long long)wanted);
    if (parts < 1 || parts > (bf_kind_is_sum(s->kind) ? PARTS_MOST : 1))
        return bf_fail(s->context, BF_E_ARGUMENT, "words of %s are not the sum of %lld states",
                       bf_reduction_name(s->op), (long long)parts);
    int64_t *copy = malloc((size_t)count * sizeof *copy);
    if (copy == NULL) return bf_fail(s->context, BF_E_MEMORY, "no memory for words");
    memcpy(copy, words, (size_t)count * sizeof *copy);
    bool sound = bf_words_settle(s->op, s->dtype, copy, parts);
    if (sound) bf_words_put(s, copy);
    free(copy);
    return sound ? BF_OK : bf_fail(s->context, BF_E_STATE, "no state has these words");
}

bf_status bf_state_set_words(bf_state *state, const int64_t *words, int64_t count, int64_t parts) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, write_words(state, words, count, parts));
}

void bf_words_merge(bf_reduction op, bf_dtype dtype, int64_t *into, const int64_t *from) {
    bf_status status = BF_E_STATE;
    bool known = strcmp(bf_reduction_name(op), "?") != 0 && bf_number_bytes(dtype) > 0;
    if (!known || into == NULL || from == NULL) return;
    if (is_state(op, dtype, into) && is_state(op, dtype, from))
        bf_merge_words(op, dtype, into, from, &status);
    if (status == BF_OK)
        clear_unused(bf_kind_of(op, dtype), dtype, into);
    else
        into[0] = REFUSED;
}
