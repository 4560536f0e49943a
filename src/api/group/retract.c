/* Groups: retract. Reads the words of both, by key, and makes new groups of those that remain. They
 * replace the old ones at the end, so a failure changes nothing. */
#include "api/group/pages.h"
#include "api/reduce/reduce.h"
#include "api/runtime/enter.h"
#include "rules/key/rank.h"
#include "rules/reduce/state.h"

typedef struct retraction {
    bf_groups *groups; /* from which `from` is taken */
    bf_group_pages into, from;
    int64_t at; /* the next group of `from` */
    void *left; /* the groups that remain */
} retraction;

static const char *key_at(const bf_group_pages *p, int64_t i) {
    return p->keys + i * bf_key_bytes(p->groups->key);
}

/* Do group i of `into` and group `next` of `from` have the same key? */
static bool is_next(const retraction *r, int64_t i, int64_t next) {
    return next < r->from.n && memcmp(key_at(&r->into, i), key_at(&r->from, next),
                                      (size_t)bf_key_bytes(r->groups->key)) == 0;
}

/* Retracts the words of group j of from's page from those of group i of into's page. */
static bool retract_words(retraction *r, int64_t i, int64_t j) {
    bool retracted = true;
    for (int k = 0; k < r->groups->count && retracted; k++) {
        bf_aggregate a = r->groups->aggregates[k];
        int64_t *into = r->into.words[k] + i * r->into.each[k];
        retracted = bf_sum_retract(bf_kind_of(a.op, a.dtype), a.dtype, into,
                                   r->from.words[k] + j * r->from.each[k]);
    }
    return retracted;
}

/* Moves group i of into's page, which begins with group `first`, to index `to` of the page. */
static void move_group(retraction *r, int64_t first, int64_t i, int64_t to) {
    size_t bytes = (size_t)bf_key_bytes(r->groups->key);
    memmove(r->into.keys + (size_t)(first + to) * bytes, key_at(&r->into, first + i), bytes);
    r->into.counts[first + to] = r->into.counts[first + i];
    for (int k = 0; k < r->groups->count; k++) {
        int64_t *words = r->into.words[k], each = r->into.each[k];
        memmove(words + to * each, words + i * each, (size_t)each * sizeof *words);
    }
}

/* Retracts from groups [first, first + n) of `into`, and inserts those that remain. */
static bf_status retract_page(retraction *r, int64_t first, int64_t n) {
    bf_context *context = r->groups->context;
    int64_t matches = 0, kept = 0, j = 0;
    for (int64_t i = 0; i < n; i++) matches += is_next(r, first + i, r->at + matches);
    bf_status status = bf_group_pages_read(&r->into, first, n);
    if (status == BF_OK) status = bf_group_pages_read(&r->from, r->at, matches);
    for (int64_t i = 0; i < n && status == BF_OK; i++) {
        if (j < matches && is_next(r, first + i, r->at + j)) {
            int64_t *rows = &r->into.counts[first + i];
            const bool retracted = retract_words(r, i, j);
            *rows -= r->from.counts[r->at + j++];
            status = bf_explain_retraction(context, retracted && *rows >= 0);
        }
        if (r->into.counts[first + i] > 0) move_group(r, first, i, kept++);
    }
    r->at += matches;
    if (status != BF_OK || kept == 0) return status;
    return r->groups->by->insert(context, r->left, key_at(&r->into, first), r->into.counts + first,
                                 (const int64_t *const *)r->into.words, kept);
}

static bf_status retract_pages(retraction *r) {
    bf_status status = BF_OK;
    for (int64_t at = 0; at < r->into.n && status == BF_OK; at += BF_GROUP_PAGE)
        status =
            retract_page(r, at, r->into.n - at < BF_GROUP_PAGE ? r->into.n - at : BF_GROUP_PAGE);
    if (status == BF_OK && r->at < r->from.n) /* `into` lacks this group */
        status = bf_explain_retraction(r->groups->context, false);
    return status;
}

static bf_status check_aggregates(const bf_groups *g) {
    for (int i = 0; i < g->count; i++) {
        bf_aggregate a = g->aggregates[i];
        if (!bf_kind_is_sum(bf_kind_of(a.op, a.dtype)))
            return bf_fail(g->context, BF_E_ARGUMENT, "nothing can be taken out of groups with %s",
                           bf_reduction_name(a.op));
    }
    return BF_OK;
}

/* Makes r->left. */
static bf_status retract_into(retraction *r, const bf_groups *from) {
    bf_groups *g = r->groups;
    bf_group_kind kind = {g->key, g->count, g->aggregates, g->seed};
    bf_status status = g->by->create(g->context, &kind, &r->left);
    if (status != BF_OK) return status;
    r->from = (bf_group_pages){.groups = from};
    status = bf_group_pages_open(g, g->context, &r->into);
    if (status == BF_OK) status = bf_group_pages_open(from, g->context, &r->from);
    if (status == BF_OK) status = retract_pages(r);
    bf_group_pages_close(&r->into);
    bf_group_pages_close(&r->from);
    return status;
}

static bf_status retract_groups(bf_groups *into, const bf_groups *from) {
    retraction r = {.groups = into};
    bf_status status = bf_groups_match(into, from);
    if (status == BF_OK) status = check_aggregates(into);
    if (status == BF_OK) status = bf_groups_place(into);
    if (status == BF_OK) status = retract_into(&r, from);
    if (status == BF_OK) {
        void *old = into->inside;
        into->inside = r.left;
        r.left = old;
        into->rows -= from->rows;
    }
    if (r.left != NULL) into->by->destroy(into->context, r.left);
    return status;
}

bf_status bf_groups_retract(bf_groups *into, const bf_groups *from) {
    if (into == NULL || from == NULL || !bf_enter_both(into->context, from->context))
        return BF_E_ARGUMENT;
    return bf_leave_both(into->context, from->context, retract_groups(into, from));
}
