/* Tables live on the first GPU, which does all of their work. */
#ifndef BF_GPUS_TABLE_TABLE_H
#define BF_GPUS_TABLE_TABLE_H

#include "seam/table.h"

extern const bf_table_backend bf_gpus_table_backend;

#endif
