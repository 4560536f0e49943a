/* Order on several GPUs: the one that holds the data does a call. */
#ifndef BF_GPUS_ORDER_ORDER_H
#define BF_GPUS_ORDER_ORDER_H

#include "seam/order.h"

extern const bf_order_backend bf_gpus_order_backend;

#endif
