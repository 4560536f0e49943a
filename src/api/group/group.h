/* The inside of groups. */
#ifndef BF_API_GROUP_GROUP_H
#define BF_API_GROUP_GROUP_H

#include "seam/backend.h"
#include "seam/group.h"
#include <bitfold/group.h>

struct bf_groups {
    bf_context *context;
    const bf_backend *on;       /* the backend of the groups' device */
    const bf_group_backend *by; /* its functions for groups */
    bf_dtype key;
    int64_t rows;
    int count; /* number of aggregates */
    bf_aggregate aggregates[BF_AGGREGATES_MAX];
    uint64_t seed;
    void *inside;   /* belongs to the backend */
    bool uncounted; /* some -0 are not counted (api/reduce/state.h) */
};

/* bf_groups_create, for callers that have entered the context (enter.h). */
bf_status bf_groups_make(bf_context *context, const bf_groups_options *options, bf_groups **groups);

/* Brings the groups together: whoever looks at them does so first. Errors: BF_E_MEMORY,
 * BF_E_DEVICE, BF_E_CANCELLED. */
bf_status bf_groups_settle(const bf_groups *groups);

/* Places a call where the groups are. Errors: as bf_place. */
bf_status bf_groups_place(const bf_groups *groups);

#endif
