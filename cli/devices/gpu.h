/* The GPUs, as devices shows them. */
#ifndef BITFOLD_CLI_DEVICES_GPU_H
#define BITFOLD_CLI_DEVICES_GPU_H

#include <stdint.h>

/* "1.5 GiB", "64 KiB" */
void devices_put_size(double bytes);

/* All GPUs, as text; and as a JSON list. */
void devices_show_gpus(void);
void devices_show_gpus_json(void);

#endif
