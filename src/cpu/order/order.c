/* The CPU backend's table of what depends on order. */
#include "cpu/order/order.h"

#include "cpu/order/select/select.h"
#include "cpu/order/sorting.h"

const bf_order_backend bf_cpu_order_backend = {
    .sort = bf_cpu_sort,
    .sort_rows = bf_cpu_sort_rows,
    .rank = bf_cpu_rank,
    .top = bf_cpu_top,
    .select = bf_cpu_select,
    .tally = bf_cpu_tally,
    .search = bf_cpu_search,
    .is_sorted = bf_cpu_is_sorted,
    .unique = bf_cpu_unique,
    .take = bf_cpu_take,
};
