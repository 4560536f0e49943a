/* Order statistics by group: what those in memory and those beyond it share. */
#ifndef BF_API_ORDER_SELECT_GROUPS_H
#define BF_API_ORDER_SELECT_GROUPS_H

#include "api/order/select.h"

typedef struct bf_grouping {
    bf_selecting *selecting;
    const bf_array *keys, *results;
    const bf_array *listed; /* NULL: the keys of groups are not wanted */
    int64_t rows, room, groups;
} bf_grouping;

/* Refuses more groups than there is room for. */
bf_status bf_grouping_check_room(const bf_grouping *g);

/* Selects from groups of arrays in the host's memory by files. Sets g->groups. Errors also:
 * BF_E_IO. */
bf_status bf_select_groups_spilled(bf_grouping *g);

#endif
