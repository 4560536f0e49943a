/* Order: the backend's table. */
#include "cuda/order/order.cuh"

extern const bf_order_backend bf_cuda_order_backend = {
    .sort = bf_cuda_sort_lines,
    .sort_rows = bf_cuda_sort_rows,
    .top = bf_cuda_top,
    .select = bf_cuda_select,
    .search = bf_cuda_search,
    .is_sorted = bf_cuda_is_sorted,
    .unique = bf_cuda_unique,
    .take = bf_cuda_take,
};
