/* The inside of groups. */
#ifndef BF_API_GROUP_GROUP_H
#define BF_API_GROUP_GROUP_H

#include "seam/backend.h"
#include "seam/group.h"
#include <bitfold/group.h>

struct bf_groups {
    bf_context *context;
    const bf_backend *on;       /* where they are */
    const bf_group_backend *by; /* on's */
    bf_dtype key;
    int64_t rows;
    int count; /* of aggregates */
    bf_aggregate aggregates[BF_AGGREGATES_MAX];
    uint64_t seed;
    void *inside;   /* by's */
    bool uncounted; /* -0 of parts that version 1 saved (api/reduce/state.h) */
};

/* bf_groups_create, for callers that have entered the context (enter.h). */
bf_status bf_groups_make(bf_context *context, const bf_groups_options *options, bf_groups **groups);

/* Places a call where the groups are. Errors: as bf_place. */
bf_status bf_groups_place(const bf_groups *groups);

#endif
