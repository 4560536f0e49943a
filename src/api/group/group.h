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
    void *inside; /* belongs to the backend */
};

/* bf_groups_create, for callers that have entered the context (enter.h). */
bf_status bf_groups_make(bf_context *context, const bf_groups_options *options, bf_groups **groups);

/* The public calls, the same. */
bf_status bf_groups_split_into(bf_groups *groups, int parts, bf_groups *into[]);
bf_status bf_groups_merge_from(bf_groups *into, const bf_groups *from);
bf_status bf_groups_find_size(bf_groups *groups, size_t *size);
bf_status bf_groups_save_to(bf_groups *groups, void *buffer);
bf_status bf_groups_load_from(bf_context *context, const void *buffer, size_t size,
                              bf_groups **groups);

/* Makes empty groups of the same kind, in the same context and on the same device. NULL: *status
 * says why. */
bf_groups *bf_groups_make_alike(const bf_groups *groups, bf_status *status);

/* Brings the groups together: whoever looks at them does so first. Errors: BF_E_MEMORY,
 * BF_E_DEVICE, BF_E_CANCELLED. */
bf_status bf_groups_settle(const bf_groups *groups);

/* Places a call where the groups are. Errors: as bf_place. */
bf_status bf_groups_place(const bf_groups *groups);

#endif
