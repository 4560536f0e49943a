/* The CPU backend's table of what depends on order. */
#include "cpu/order/order.h"

#include "cpu/order/select.h"

const bf_order_backend bf_cpu_order_backend = {
    .top = bf_cpu_top,
    .select = bf_cpu_select,
};
