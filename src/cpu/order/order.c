/* The CPU backend's table of what depends on order. */
#include "cpu/order/order.h"

const bf_order_backend bf_cpu_order_backend = {.sort = NULL};
