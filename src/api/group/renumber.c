/* Groups: other keys, which are numbers, for the same rows. */
#include "api/group/pages.h"
#include "api/runtime/enter.h"
#include "rules/key/rank.h"

#include <stdlib.h>

/* A group of a page, and its new key. */
typedef struct numbered {
    int64_t number;
    int64_t at;
} numbered;

/* Two pages of one kind but for the keys: as the groups are, and in the order of their numbers. */
typedef struct renumbering {
    bf_group_pages from, to;
    bf_dtype dtype;
    const char *numbers;
    int64_t step; /* bytes between two numbers */
    numbered order[BF_GROUP_PAGE];
} renumbering;

static int compare(const void *a, const void *b) {
    const int64_t x = ((const numbered *)a)->number, y = ((const numbered *)b)->number;
    return (x > y) - (x < y);
}

static int64_t number_at(const renumbering *x, int64_t i) {
    int32_t narrow;
    int64_t wide;
    memcpy(&narrow, x->numbers + i * x->step, sizeof narrow);
    if (x->dtype == BF_I32) return narrow;
    memcpy(&wide, x->numbers + i * x->step, sizeof wide);
    return wide;
}

/* Sorts n groups from `first` on by their numbers. False: two have the same. */
static bool order_page(renumbering *x, int64_t first, int64_t n) {
    bool different = true;
    for (int64_t i = 0; i < n; i++) x->order[i] = (numbered){number_at(x, first + i), i};
    qsort(x->order, (size_t)n, sizeof *x->order, compare);
    for (int64_t i = 1; i < n; i++)
        different = different && x->order[i].number != x->order[i - 1].number;
    return different;
}

static void move_page(renumbering *x, int64_t first, int64_t n) {
    const int64_t bytes = bf_key_bytes(x->dtype);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = x->order[i].at;
        memcpy(x->to.keys + i * bytes, x->numbers + (first + at) * x->step, (size_t)bytes);
        x->to.counts[i] = x->from.counts[first + at];
        for (int c = 0; c < x->from.groups->count; c++) {
            const int64_t each = x->from.each[c];
            memcpy(x->to.words[c] + i * each, x->from.words[c] + at * each,
                   (size_t)each * sizeof(int64_t));
        }
    }
}

static bf_status move_pages(bf_groups *g, renumbering *x, void *inside) {
    bf_status status = BF_OK;
    for (int64_t at = 0; at < x->from.n && status == BF_OK; at += BF_GROUP_PAGE) {
        const int64_t n = x->from.n - at < BF_GROUP_PAGE ? x->from.n - at : BF_GROUP_PAGE;
        if (!order_page(x, at, n))
            return bf_fail(g->context, BF_E_ARGUMENT, "two groups have one number");
        status = bf_group_pages_read(&x->from, at, n);
        if (status != BF_OK) return status;
        move_page(x, at, n);
        status = g->by->insert(g->context, inside, x->to.keys, x->to.counts,
                               (const int64_t *const *)x->to.words, n);
    }
    if (status == BF_OK && g->by->settle) status = g->by->settle(g->context, inside);
    if (status == BF_OK && x->from.n > 0 && g->by->size(inside) < x->from.n)
        return bf_fail(g->context, BF_E_ARGUMENT, "two groups have one number");
    return status;
}

/* Fills new groups, whose keys have the numbers' dtype. */
static bf_status copy_groups(bf_groups *g, const bf_array *numbers, void *inside) {
    bf_groups kind = *g; /* the kind of the page in the numbers' order */
    renumbering *x = calloc(1, sizeof *x);
    if (x == NULL) return bf_fail(g->context, BF_E_MEMORY, "no memory for groups");
    kind.key = x->dtype = numbers->dtype;
    x->numbers = numbers->data;
    x->step = numbers->strides[0] * bf_key_bytes(numbers->dtype);
    x->from.groups = g;
    x->to.groups = &kind;
    bf_status status = bf_group_pages_open(g, g->context, &x->from);
    if (status == BF_OK) status = bf_group_pages_make(&kind, BF_GROUP_PAGE, g->context, &x->to);
    if (status == BF_OK) status = move_pages(g, x, inside);
    bf_group_pages_close(&x->from);
    bf_group_pages_close(&x->to);
    free(x);
    return status;
}

static bf_status check_numbers(bf_groups *g, const bf_array *numbers) {
    if (numbers == NULL) return bf_fail(g->context, BF_E_ARGUMENT, "there are no numbers");
    if (numbers->dtype != BF_I32 && numbers->dtype != BF_I64)
        return bf_fail(g->context, BF_E_DTYPE, "numbers of groups are i32 or i64");
    const bf_status status = bf_groups_settle(g);
    if (status != BF_OK) return status;
    if (numbers->ndim != 1 || numbers->shape[0] != bf_groups_size(g))
        return bf_fail(g->context, BF_E_SHAPE, "there is a number for each group");
    return BF_OK;
}

static bf_status renumber_groups(bf_groups *g, const bf_array *numbers) {
    void *copy = NULL;
    bf_status status = check_numbers(g, numbers);
    if (status == BF_OK) status = bf_groups_place(g);
    if (status != BF_OK) return status;
    const bf_group_kind kind = {numbers->dtype, g->count, g->aggregates, g->seed};
    status = g->by->create(g->context, &kind, &copy);
    if (status == BF_OK) status = copy_groups(g, numbers, copy);
    if (status == BF_OK) {
        void *old = g->inside;
        g->inside = copy;
        g->key = numbers->dtype;
        copy = old;
    }
    if (copy != NULL) g->by->destroy(g->context, copy);
    return status;
}

bf_status bf_groups_renumber(bf_groups *groups, const bf_array *numbers) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, renumber_groups(groups, numbers));
}
