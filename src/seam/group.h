/* Groups: count and aggregate the rows of each key. */
#ifndef BF_SEAM_GROUP_H
#define BF_SEAM_GROUP_H

#include "rules/reduce/kind.h"
#include "seam/backend.h"
#include <bitfold/group.h>

/* The kind of groups. */
typedef struct bf_group_kind {
    bf_dtype key;
    int count;
    const bf_aggregate *aggregates; /* copied */
    uint64_t seed;
} bf_group_kind;

enum { BF_GROUP_ARRAYS = 2 * BF_AGGREGATES_MAX }; /* arrays of values, at most */

/* Rows of groups, and which arrays of values each aggregate has. */
typedef struct bf_group_job {
    int64_t n;
    const void *keys;
    int arrays; /* all differ */
    const void *values[BF_GROUP_ARRAYS];
    bf_dtype dtypes[BF_GROUP_ARRAYS];
    int of[BF_AGGREGATES_MAX][2];   /* the arrays of an aggregate; of one array twice the same */
    int columns[BF_AGGREGATES_MAX]; /* rules/reduce/columns.h */
} bf_group_job;

/* A backend's groups. Keys follow rules/key/rank.h, values the rules of states. Errors of all:
 * BF_E_MEMORY, BF_E_DEVICE, BF_E_CANCELLED; then the groups are as they were. */
typedef struct bf_group_backend {
    bf_status (*create)(bf_context *context, const bf_group_kind *kind, void **groups);
    void (*destroy)(bf_context *context, void *groups);
    void (*clear)(bf_context *context, void *groups);
    /* Brings groups that are in several places together, without which size is undefined. NULL:
     * they are in one place. */
    bf_status (*settle)(bf_context *context, void *groups);
    int64_t (*size)(const void *groups);
    /* Absorbs n > 0 rows. */
    bf_status (*absorb)(bf_context *context, void *groups, const bf_group_job *job);
    /* Merges groups of the same kind; their seeds may differ. */
    bf_status (*merge)(bf_context *context, void *into, const void *from);
    /* Writes the keys and counts (i64) of all groups, by key. There is at least one group. Both
     * arrays may be misaligned or NULL. */
    bf_status (*list)(bf_context *context, void *groups, void *keys, void *counts);
    /* Writes the results of an aggregate for all groups, by key: op is that of the aggregate, or
     * another that keeps the same. There is at least one group, and the options have been checked.
     * values: elements of `to`, in any memory that the backend reaches, of any alignment. `to` is
     * the dtype of rules/reduce/band.h, or BF_I64 or BF_U64 for its BF_I192 (of three words). fits
     * (may be NULL): whether each integer fits `to`; its low 64 bits are written anyway. On failure
     * nothing is written. Errors also: BF_E_NAN, BF_E_OVERFLOW (an integer does not fit, fits is
     * NULL, and options->overflow is an error). */
    bf_status (*aggregate)(bf_context *context, void *groups, int which, bf_reduction op,
                           const bf_reduce_options *options, bf_dtype to, void *values,
                           uint8_t *fits);
    /* Writes the carried words (rules/reduce/state.h) of this aggregate for groups [first, first +
     * n), by key, group after group. */
    bf_status (*words)(bf_context *context, void *groups, int which, int64_t first, int64_t n,
                       int64_t *words);
    /* Inserts n > 0 groups of different keys, in ascending order: counts of rows, and words of each
     * aggregate. */
    bf_status (*insert)(bf_context *context, void *groups, const void *keys, const int64_t *counts,
                        const int64_t *const words[], int64_t n);
} bf_group_backend;

/* The failures of `aggregate`: a NaN that is refused; the result of this group, by key. */
static inline bf_status bf_group_refuse_nan(bf_context *context) {
    return bf_fail(context, BF_E_NAN, "NaN in the values");
}
static inline bf_status bf_group_misfit(bf_context *context, bf_reduction op, bf_dtype to,
                                        int64_t group) {
    return bf_fail(context, BF_E_OVERFLOW, "the %s of group %lld does not fit %s",
                   bf_reduction_name(op), (long long)group, bf_dtype_name(to));
}

#endif
