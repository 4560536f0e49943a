/* A set made of groups that are given as the words of states: the inverse of
 * bf_accumulators_words. */
#include "cpu/group/group.h"

enum { BATCH = BF_GROUP_BATCH / 2 }; /* ranks on the stack */

static void insert_keys(const bf_cpu_groups *g, bf_group_partition *s, const char *keys,
                        int64_t n) {
    _Alignas(16) char ranks[BATCH * 16];
    uint32_t numbers[BATCH];
    for (int64_t at = 0; at < n; at += BATCH) {
        int64_t some = n - at < BATCH ? n - at : BATCH;
        g->loops->rank(g->key, keys + at * bf_key_bytes(g->key), some, ranks);
        g->loops->number(s, ranks, some, bf_stream_none(),
                         numbers); /* at, at + 1, ...: they are new */
    }
}

bool bf_group_set_of(const bf_cpu_groups *groups, const char *keys, const int64_t *counts,
                     const int64_t *const words[], int64_t n, bf_group_set *set) {
    if (!bf_group_set_create(groups, 0, set)) return false;
    bf_group_partition *s = set->partitions;
    bool made = bf_partition_reserve(groups, s, n);
    if (made) {
        insert_keys(groups, s, keys, n);
        for (int64_t i = 0; i < n; i++) bf_record(&s->accumulators, (size_t)i)[0] = counts[i];
        bf_partition_heal(groups, s);
    }
    for (int i = 0; i < groups->asked && made; i++)
        made = bf_accumulators_add_words(&s->accumulators, groups->of[i], groups->wanted[i].op, 0,
                                         words[i], (size_t)n);
    if (!made) bf_group_set_destroy(groups, set);
    return made;
}
