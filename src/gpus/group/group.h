/* Groups on several GPUs. */
#ifndef BF_GPUS_GROUP_GROUP_H
#define BF_GPUS_GROUP_GROUP_H

#include "seam/group.h"

extern const bf_group_backend bf_gpus_group_backend;

#endif
