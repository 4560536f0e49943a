/* Groups: a finer unit of keys and values. */
#include "rules/reduce/rescale.h"
#include "api/group/pages.h"
#include "api/runtime/enter.h"
#include "rules/key/rank.h"

static bool is_valid(const bf_groups *g, int key, const int digits[]) {
    bool valid =
        key == 0 || ((g->key == BF_I64 || g->key == BF_I128) && bf_scale_valid(g->key, key));
    for (int i = 0; i < g->count && digits != NULL; i++)
        valid = valid && bf_scale_valid(g->aggregates[i].dtype, digits[i]);
    return valid;
}

/* Multiplies a key; false if its dtype does not hold the product. */
static bool rescale_key(bf_dtype dtype, char *key, bf_i128 power) {
    bf_i128 x = bf_group_integer(dtype, key);
    if (__builtin_mul_overflow(x, power, &x)) return false;
    memcpy(key, &x, (size_t)bf_key_bytes(dtype)); /* low bytes come first */
    return bf_group_integer(dtype, key) == x;
}

/* Their order stays as it is. */
static bool rescale_keys(bf_group_pages *pages, int digits) {
    const bf_dtype dtype = pages->groups->key;
    const bf_i128 power = bf_power_of_ten(digits);
    bool good = true;
    for (int64_t i = 0; i < pages->n && digits > 0 && good; i++)
        good = rescale_key(dtype, pages->keys + i * bf_key_bytes(dtype), power);
    return good;
}

static bool rescale_words(bf_group_pages *pages, const int digits[], int64_t n) {
    const bf_groups *g = pages->groups;
    bool good = true;
    for (int a = 0; a < g->count && digits != NULL; a++)
        for (int64_t i = 0; i < n && digits[a] > 0 && good; i++)
            good = bf_state_rescale_words(g->aggregates[a].op, g->aggregates[a].dtype,
                                          pages->words[a] + i * pages->each[a], digits[a]);
    return good;
}

/* Inserts the groups, rescaled, into `inside`. */
static bf_status copy_groups(bf_groups *g, int key, const int digits[], void *inside) {
    bf_group_pages pages = {.groups = g};
    bf_status status = bf_group_pages_open(g, g->context, &pages);
    bool good = status == BF_OK && rescale_keys(&pages, key);
    for (int64_t at = 0; at < pages.n && status == BF_OK && good; at += BF_GROUP_PAGE) {
        int64_t n = pages.n - at < BF_GROUP_PAGE ? pages.n - at : BF_GROUP_PAGE;
        status = bf_group_pages_read(&pages, at, n);
        good = status == BF_OK && rescale_words(&pages, digits, n);
        if (good)
            status = g->by->insert(g->context, inside, pages.keys + at * bf_key_bytes(g->key),
                                   pages.counts + at, (const int64_t *const *)pages.words, n);
    }
    bf_group_pages_close(&pages);
    if (status == BF_OK && !good)
        return bf_fail(g->context, BF_E_OVERFLOW, "a key or value has no room for more digits");
    return status;
}

static bf_status rescale_groups(bf_groups *g, int key, const int digits[]) {
    bf_group_kind kind = {g->key, g->count, g->aggregates, g->seed};
    void *copy = NULL;
    if (!is_valid(g, key, digits))
        return bf_fail(g->context, BF_E_ARGUMENT,
                       "keys of i64 or i128 and values of integers alone have a scale");
    bf_status status = bf_groups_place(g);
    if (status == BF_OK) status = g->by->create(g->context, &kind, &copy);
    if (status == BF_OK) status = copy_groups(g, key, digits, copy);
    if (status == BF_OK) {
        void *old = g->inside;
        g->inside = copy;
        copy = old;
    }
    if (copy != NULL) g->by->destroy(g->context, copy);
    return status;
}

bf_status bf_groups_rescale(bf_groups *groups, int key, const int digits[]) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, rescale_groups(groups, key, digits));
}
