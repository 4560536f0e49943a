/* States: merge, append. */
#include "api/reduce/state.h"
#include "api/runtime/enter.h"
#include "base/environment.h"

#include <stdlib.h>

/* ---- words ----------------------------------------------------------------------------------- */

/* Returns why two ordered states that are not empty cannot merge, or NULL. */
static const char *find_misfit(bf_reduction op, bf_dtype dtype, const int64_t *a,
                               const int64_t *b) {
    bf_kind kind = bf_kind_of(op, dtype);
    if (kind == BF_KIND_PRODUCT_TREE) {
        bool adjacent = a[BF_PRODUCT_TREE_END] == b[BF_PRODUCT_TREE_BEGIN] ||
                        b[BF_PRODUCT_TREE_END] == a[BF_PRODUCT_TREE_BEGIN];
        return adjacent ? NULL : "neither begins where the other ends";
    }
    int at = bf_extreme_at(kind, dtype);
    if (!bf_is_indexed(op) || bf_extreme_disjoint(a + at, b + at)) return NULL;
    return "the ranges of indices overlap";
}

/* Puts a tree in front of `into`, by appending in the other order. Returns false if there is no
 * memory. */
static bool prepend_tree(int64_t *into, const int64_t *from) {
    int64_t *words = malloc(BF_PRODUCT_TREE_WORDS_MAX * sizeof *words);
    if (words == NULL) return false;
    memcpy(words, from, (size_t)bf_product_tree_words(from) * sizeof *words);
    bf_product_tree_append(words, into);
    memcpy(into, words, (size_t)bf_product_tree_words(words) * sizeof *words);
    free(words);
    return true;
}

const char *bf_merge_words(bf_reduction op, bf_dtype dtype, int64_t *into, const int64_t *from,
                           bf_status *status) {
    bf_kind kind = bf_kind_of(op, dtype);
    bool both = into[0] > 0 && from[0] > 0, merged = true;
    const char *why = both ? find_misfit(op, dtype, into, from) : NULL;
    *status = why ? BF_E_STATE : BF_E_OVERFLOW;
    if (why) return why;
    if (from[0] > BF_COUNT_MAX - into[0]) return "more than 2^62 elements";
    bf_environment environment = bf_environment_enter(); /* trees multiply floats */
    if (kind == BF_KIND_PRODUCT_TREE && both &&
        into[BF_PRODUCT_TREE_END] != from[BF_PRODUCT_TREE_BEGIN])
        merged = prepend_tree(into, from);
    else
        bf_state_merge_words(kind, dtype, into, from);
    bf_environment_leave(environment);
    *status = merged ? BF_OK : BF_E_MEMORY;
    return merged ? NULL : "no memory to merge";
}

/* ---- states ---------------------------------------------------------------------------------- */

static bf_status merge_aligned(bf_state *into, const bf_state *from) {
    bf_status status;
    const char *why = bf_merge_words(into->op, into->dtype, into->words, from->words, &status);
    if (why) return bf_fail(into->context, status, "%s", why);
    return BF_OK;
}

static bf_status merge_state(bf_state *into, const bf_state *from) {
    return bf_state_align(into, from, merge_aligned);
}

bf_status bf_state_merge(bf_state *into, const bf_state *from) {
    if (into == NULL || !bf_enter(into->context)) return BF_E_ARGUMENT;
    return bf_leave(into->context, merge_state(into, from));
}

/* Merges a copy of `from` whose indices follow those of `into`. */
static bf_status merge_behind(bf_state *into, const bf_state *from, int64_t next) {
    bf_state *moved = malloc(sizeof *moved + bf_state_bytes(from));
    if (moved == NULL) return bf_fail(into->context, BF_E_MEMORY, "no memory to merge");
    memcpy(moved, from, sizeof *moved + bf_state_bytes(from));
    int64_t *extreme = moved->words + bf_extreme_at(moved->kind, moved->dtype);
    bf_status status = BF_OK;
    if (extreme[BF_EXTREME_END] > BF_COUNT_MAX - next)
        status = bf_fail(into->context, BF_E_OVERFLOW, "an index beyond 2^62");
    for (int i = 0; i <= (moved->kind == BF_KIND_DESCRIPTION) && status == BF_OK; i++)
        bf_extreme_shift(extreme + i * bf_extreme_words(moved->dtype), next);
    if (status == BF_OK) status = merge_state(into, moved);
    free(moved);
    return status;
}

/* Appends a state without elements, which may have places. */
static bf_status append_places(bf_state *into, const bf_state *from) {
    bf_state_info info = {.size = sizeof info};
    bf_status status = bf_state_describe(from, &info);
    if (status == BF_OK && info.next > BF_COUNT_MAX - *bf_state_next(into))
        status = bf_fail(into->context, BF_E_OVERFLOW, "an index beyond 2^62");
    if (status == BF_OK) status = merge_state(into, from);
    if (status != BF_OK || info.next == 0) return status;
    return bf_state_move(into, *bf_state_next(into) + info.next);
}

static bf_status append_state(bf_state *into, const bf_state *from) {
    const int64_t *next = bf_state_next(into);
    bool alike = from != NULL && bf_state_takes(into, from);
    bool empty = alike && from->words[0] == 0;
    if (empty && bf_is_indexed(into->op)) return append_places(into, from);
    if (!alike || next == NULL || *next == 0 || empty) return merge_state(into, from);
    if (into->kind == BF_KIND_PRODUCT_TREE)
        return bf_fail(into->context, BF_E_STATE,
                       "a product of floats depends on the index of each element");
    return merge_behind(into, from, *next);
}

bf_status bf_state_append(bf_state *into, const bf_state *from) {
    if (into == NULL || !bf_enter(into->context)) return BF_E_ARGUMENT;
    return bf_leave(into->context, append_state(into, from));
}
