/* Groups: merge. */
#include "api/group/pages.h"
#include "api/runtime/enter.h"
#include "rules/key/rank.h"
#include "rules/reduce/rescale.h"

#include <stdlib.h>

/* ---- pages ----------------------------------------------------------------------------------- */

bf_status bf_group_pages_make(const bf_groups *g, int64_t n, bf_context *context,
                              bf_group_pages *p) {
    *p = (bf_group_pages){.groups = g, .n = n};
    p->keys = malloc((size_t)n * (size_t)bf_key_bytes(g->key) + 1);
    p->counts = malloc((size_t)n * sizeof *p->counts + 1);
    bool made = p->keys != NULL && p->counts != NULL;
    for (int i = 0; i < g->count && made; i++) {
        bf_aggregate a = g->aggregates[i];
        p->each[i] = bf_state_words(bf_kind_of(a.op, a.dtype), a.dtype, NULL);
        p->words[i] = malloc(BF_GROUP_PAGE * (size_t)p->each[i] * sizeof(int64_t));
        made = p->words[i] != NULL;
    }
    return made ? BF_OK : bf_fail(context, BF_E_MEMORY, "no memory for groups");
}

bf_status bf_group_pages_open(const bf_groups *groups, bf_context *context, bf_group_pages *pages) {
    bf_status status = bf_groups_settle(groups);
    if (status != BF_OK) return status;
    status = bf_group_pages_make(groups, bf_groups_size(groups), context, pages);
    if (status != BF_OK || pages->n == 0) return status;
    return groups->by->list(groups->context, groups->inside, pages->keys, pages->counts);
}

void bf_group_pages_close(bf_group_pages *pages) {
    free(pages->keys);
    free(pages->counts);
    for (int i = 0; i < pages->groups->count; i++) free(pages->words[i]);
}

bf_status bf_group_pages_read(bf_group_pages *pages, int64_t first, int64_t n) {
    const bf_groups *g = pages->groups;
    bf_status status = BF_OK;
    for (int i = 0; i < g->count && n > 0 && status == BF_OK; i++)
        status = g->by->words(g->context, g->inside, i, first, n, pages->words[i]);
    return status;
}

/* ---- merging --------------------------------------------------------------------------------- */

bf_status bf_groups_match(const bf_groups *into, const bf_groups *from) {
    bool same = into->key == from->key && into->count == from->count;
    for (int i = 0; i < into->count && same; i++)
        same = into->aggregates[i].op == from->aggregates[i].op &&
               into->aggregates[i].dtype == from->aggregates[i].dtype;
    return same ? BF_OK : bf_fail(into->context, BF_E_STATE, "other keys, or other aggregates");
}

/* Are integers of this dtype taken as those of BF_I128? */
static bool is_widened(bf_dtype into, bf_dtype from) {
    return into == BF_I128 && from >= BF_I8 && from <= BF_U64;
}

/* Do all keys and values of `from` go into groups of this kind, and is one of them widened? */
static bool widens(const bf_groups *into, const bf_groups *from) {
    bool wide = is_widened(into->key, from->key);
    bool takes = (wide || into->key == from->key) && into->count == from->count;
    for (int i = 0; i < into->count && takes; i++) {
        const bf_aggregate a = into->aggregates[i], b = from->aggregates[i];
        const bool one = is_widened(a.dtype, b.dtype);
        takes = a.op == b.op && (one || a.dtype == b.dtype);
        wide |= one;
    }
    return takes && wide;
}

/* Makes the first n groups of a page, the keys of which begin with number `first`, into those of
 * another kind. */
static void widen_page(const bf_group_pages *from, int64_t first, int64_t n, bf_group_pages *to) {
    const bf_groups *g = from->groups, *into = to->groups;
    const int64_t bytes = bf_key_bytes(g->key), each = bf_key_bytes(into->key);
    for (int64_t i = 0; i < n; i++) {
        const char *key = from->keys + (first + i) * bytes;
        const bf_i128 wide = g->key != into->key ? bf_group_integer(g->key, key) : 0;
        memcpy(to->keys + i * each, g->key != into->key ? (const void *)&wide : key, (size_t)each);
    }
    for (int a = 0; a < g->count; a++) {
        const bf_aggregate x = g->aggregates[a];
        for (int64_t i = 0; i < n; i++) {
            const int64_t *words = from->words[a] + i * from->each[a];
            int64_t *wide = to->words[a] + i * to->each[a];
            if (x.dtype == into->aggregates[a].dtype)
                memcpy(wide, words, (size_t)to->each[a] * sizeof *wide);
            else
                bf_state_widen_words(x.op, x.dtype, words, wide);
        }
    }
}

/* Are both in one device's memory? */
static bool share_memory(const bf_groups *a, const bf_groups *b) {
    return a->on == b->on && (a->on == &bf_backend_cpu || a->context->gpu == b->context->gpu);
}

/* Inserts groups [at, at + n) of pages into `inside`, by way of a page of into's kind (NULL: they
 * are of that kind). */
static bf_status insert_page(const bf_groups *into, bf_group_pages *pages, int64_t at, int64_t n,
                             bf_group_pages *wide, void *inside) {
    const char *keys = pages->keys + at * bf_key_bytes(pages->groups->key);
    bf_status status = bf_group_pages_read(pages, at, n);
    if (status != BF_OK) return status;
    if (wide != NULL) widen_page(pages, at, n, wide);
    return into->by->insert(into->context, inside, wide != NULL ? wide->keys : keys,
                            pages->counts + at,
                            (const int64_t *const *)(wide != NULL ? wide : pages)->words, n);
}

/* Inserts the groups of `from` into `inside`, which is on the device of `into`. */
static bf_status copy_groups(const bf_groups *into, const bf_groups *from, void *inside) {
    bf_group_pages pages = {.groups = from}, wide = {.groups = into};
    const bool widened = widens(into, from);
    bf_status status = bf_group_pages_open(from, into->context, &pages);
    if (status == BF_OK && widened)
        status = bf_group_pages_make(into, BF_GROUP_PAGE, into->context, &wide);
    for (int64_t at = 0; at < pages.n && status == BF_OK; at += BF_GROUP_PAGE) {
        int64_t n = pages.n - at < BF_GROUP_PAGE ? pages.n - at : BF_GROUP_PAGE;
        status = insert_page(into, &pages, at, n, widened ? &wide : NULL, inside);
    }
    bf_group_pages_close(&wide);
    bf_group_pages_close(&pages);
    return status;
}

/* Copies the groups to the device of `into`, then merges the copy. A failure leaves `into` as it
 * was.
 */
static bf_status merge_from_afar(bf_groups *into, const bf_groups *from) {
    bf_group_kind kind = {into->key, into->count, into->aggregates, into->seed};
    void *copy = NULL;
    if (from->rows == 0) return BF_OK;
    bf_status status = into->by->create(into->context, &kind, &copy);
    if (status != BF_OK) return status;
    status = copy_groups(into, from, copy);
    if (status == BF_OK) status = into->by->merge(into->context, into->inside, copy);
    into->by->destroy(into->context, copy);
    return status;
}

bf_status bf_groups_merge_from(bf_groups *into, const bf_groups *from) {
    const bool widened = widens(into, from);
    bf_status status = widened ? BF_OK : bf_groups_match(into, from);
    if (status != BF_OK) return status;
    if (from->rows > BF_COUNT_MAX - into->rows)
        return bf_fail(into->context, BF_E_OVERFLOW, "more than 2^62 rows");
    status = bf_groups_place(into);
    if (status == BF_OK)
        status = !widened && share_memory(into, from)
                     ? into->by->merge(into->context, into->inside, from->inside)
                     : merge_from_afar(into, from);
    if (status != BF_OK) return status;
    into->rows += from->rows;
    return BF_OK;
}

bf_status bf_groups_merge(bf_groups *into, const bf_groups *from) {
    if (into == NULL || from == NULL || !bf_enter_both(into->context, from->context))
        return BF_E_ARGUMENT;
    return bf_leave_both(into->context, from->context, bf_groups_merge_from(into, from));
}
