/* The part of devices that shows GPUs. */
#ifndef BITFOLD_CLI_DEVICES_GPU_H
#define BITFOLD_CLI_DEVICES_GPU_H

#include <stdint.h>

/* Prints a size, as in "1.5 GiB" or "64 KiB". */
void devices_put_size(double bytes);

/* Print all GPUs: as text, and as a JSON list. */
void devices_show_gpus(void);
void devices_show_gpus_json(void);

#endif
