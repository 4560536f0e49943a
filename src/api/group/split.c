/* Groups: share them out by the hash of their keys, for ranks and for parts on disk. Reads the
 * groups a page at a time, in order of their keys, and inserts those of each part. */
#include "api/group/pages.h"
#include "api/runtime/enter.h"
#include "rules/key/hash.h"
#include "rules/key/rank.h"

#include <stdlib.h>

typedef struct bf_split {
    bf_groups *groups;
    int parts;
    bf_groups **into;
    bf_group_pages page, part; /* part: the groups of the page that go to one part */
    int64_t *begin;            /* where each part begins in the order, and its end */
    int number[BF_GROUP_PAGE]; /* the part that each group of the page goes to */
    int order[BF_GROUP_PAGE];  /* groups of the page, part by part */
} bf_split;

/* ---- a page ---------------------------------------------------------------------------------- */

/* Returns the part that a key goes to. The hash is that of no table: the groups of one part spread
 * over all places of a table. */
static int part_of(bf_dtype dtype, const char *key, int parts) {
    const bf_hash_seed seed = bf_hash_seed_of(0x7061727473);
    int bytes = bf_key_bytes(dtype);
    uint64_t hash = bytes == 16 ? bf_hash_16(seed, bf_load_bits(key, 8), bf_load_bits(key + 8, 8))
                                : bf_hash_8(seed, bf_load_bits(key, bytes));
    return (int)bf_hash_place(hash, (uint64_t)parts);
}

/* Sorts the n groups of a page, of which the first is number `first` of all, by part. */
static void order_page(bf_split *s, int64_t first, int64_t n) {
    int bytes = bf_key_bytes(s->groups->key);
    memset(s->begin, 0, ((size_t)s->parts + 1) * sizeof *s->begin);
    for (int64_t i = 0; i < n; i++) {
        s->number[i] = part_of(s->groups->key, s->page.keys + (first + i) * bytes, s->parts);
        s->begin[s->number[i] + 1]++;
    }
    for (int p = 0; p < s->parts; p++) s->begin[p + 1] += s->begin[p];
    for (int64_t i = 0; i < n; i++) s->order[s->begin[s->number[i]]++] = (int)i;
    for (int p = s->parts; p > 0; p--) s->begin[p] = s->begin[p - 1];
    s->begin[0] = 0;
}

/* Copies group i of the page to place `to` of the part. */
static void copy_group(bf_split *s, int64_t first, int i, int64_t to) {
    size_t bytes = (size_t)bf_key_bytes(s->groups->key);
    memcpy(s->part.keys + (size_t)to * bytes, s->page.keys + (size_t)(first + i) * bytes, bytes);
    s->part.counts[to] = s->page.counts[first + i];
    for (int c = 0; c < s->groups->count; c++) {
        int64_t each = s->page.each[c];
        memcpy(s->part.words[c] + to * each, s->page.words[c] + i * each,
               (size_t)each * sizeof(int64_t));
    }
}

/* Inserts the groups of a page that go to this part. */
static bf_status insert_part(bf_split *s, int64_t first, int part) {
    bf_groups *into = s->into[part];
    int64_t n = s->begin[part + 1] - s->begin[part];
    if (n == 0) return BF_OK;
    for (int64_t i = 0; i < n; i++) {
        copy_group(s, first, s->order[s->begin[part] + i], i);
        into->rows += s->part.counts[i];
    }
    return into->by->insert(into->context, into->inside, s->part.keys, s->part.counts,
                            (const int64_t *const *)s->part.words, n);
}

static bf_status split_page(bf_split *s, int64_t first, int64_t n) {
    bf_status status = bf_group_pages_read(&s->page, first, n);
    if (status == BF_OK) order_page(s, first, n);
    for (int p = 0; p < s->parts && status == BF_OK; p++) status = insert_part(s, first, p);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

bf_groups *bf_groups_make_alike(const bf_groups *g, bf_status *status) {
    bf_group_kind kind = {g->key, g->count, g->aggregates, g->seed};
    bf_groups *made = malloc(sizeof *made);
    if (made == NULL) {
        *status = bf_fail(g->context, BF_E_MEMORY, "no memory for groups");
        return NULL;
    }
    *made = *g;
    made->rows = 0;
    *status = g->by->create(g->context, &kind, &made->inside);
    if (*status == BF_OK) return made;
    free(made);
    return NULL;
}

static bf_status split_pages(bf_split *s) {
    bf_groups *g = s->groups;
    bf_status status = bf_group_pages_open(g, g->context, &s->page);
    if (status == BF_OK) status = bf_group_pages_make(g, BF_GROUP_PAGE, g->context, &s->part);
    s->begin = malloc(((size_t)s->parts + 1) * sizeof *s->begin);
    if (status == BF_OK && s->begin == NULL)
        status = bf_fail(g->context, BF_E_MEMORY, "no memory for groups");
    for (int64_t at = 0; at < s->page.n && status == BF_OK; at += BF_GROUP_PAGE)
        status = split_page(s, at, s->page.n - at < BF_GROUP_PAGE ? s->page.n - at : BF_GROUP_PAGE);
    free(s->begin);
    bf_group_pages_close(&s->part);
    bf_group_pages_close(&s->page);
    return status;
}

bf_status bf_groups_split_into(bf_groups *groups, int parts, bf_groups *into[]) {
    bf_context *context = groups->context;
    if (parts < 1 || parts > BF_PARTS_MAX || into == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "%d parts, or no place for them", parts);
    bf_split *s = calloc(1, sizeof *s);
    if (s == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for groups");
    int made = 0;
    *s = (bf_split){.groups = groups, .parts = parts, .into = into};
    s->page.groups = s->part.groups = groups;
    bf_status status = bf_groups_place(groups);
    for (; made < parts && status == BF_OK; made += status == BF_OK)
        into[made] = bf_groups_make_alike(groups, &status);
    if (status == BF_OK) status = split_pages(s);
    for (int p = 0; p < made && status != BF_OK; p++) bf_groups_destroy(into[p]);
    for (int p = 0; p < parts && status != BF_OK; p++) into[p] = NULL;
    free(s);
    return status;
}

bf_status bf_groups_split(bf_groups *groups, int parts, bf_groups *into[]) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, bf_groups_split_into(groups, parts, into));
}
