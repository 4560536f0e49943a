/* Groups: the rows of each key are counted and aggregated. */
#ifndef BF_SEAM_GROUP_H
#define BF_SEAM_GROUP_H

#include <bitfold/group.h>

/* What groups are made for. */
typedef struct bf_group_kind {
    bf_dtype key;
    int count;
    const bf_aggregate *aggregates; /* copied */
    uint64_t seed;
} bf_group_kind;

/* A backend's groups. The rules for keys are those of src/rules/key/rank.h, those for values are
 * the states'. Errors of all: BF_E_MEMORY, BF_E_DEVICE, and then the groups are as they were. */
typedef struct bf_group_backend {
    bf_status (*create)(bf_context *context, const bf_group_kind *kind, void **groups);
    void (*destroy)(bf_context *context, void *groups);
    void (*clear)(bf_context *context, void *groups);
    int64_t (*size)(const void *groups);
    /* n > 0 rows: keys, and the values of each aggregate. */
    bf_status (*absorb)(bf_context *context, void *groups, const void *keys,
                        const void *const values[], int64_t n);
    /* Both are of one kind, but for the seed. */
    bf_status (*merge)(bf_context *context, void *into, const void *from);
    /* Keys and counts (i64; both need not be aligned, and may be NULL) of all groups, of which
     * there are some, by key. */
    bf_status (*list)(bf_context *context, void *groups, void *keys, void *counts);
    /* The words of states (src/rules/reduce/state.h) with the values of groups [first, first + n),
     * by key, group after group, of the kind of this aggregate; carried. */
    bf_status (*words)(bf_context *context, void *groups, int which, int64_t first, int64_t n,
                       int64_t *words);
    /* Takes in n > 0 groups of different keys, ascending: counts of rows, and words of each
     * aggregate. */
    bf_status (*enter)(bf_context *context, void *groups, const void *keys, const int64_t *counts,
                       const int64_t *const words[], int64_t n);
} bf_group_backend;

#endif
