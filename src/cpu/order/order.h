/* Order on the CPU. */
#ifndef BF_CPU_ORDER_ORDER_H
#define BF_CPU_ORDER_ORDER_H

#include "cpu/runtime/context.h"
#include "seam/order.h"

extern const bf_order_backend bf_cpu_order_backend;

#endif
