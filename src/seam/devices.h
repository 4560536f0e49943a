/* The GPUs of the machine, whether or not a context uses one. */
#ifndef BF_SEAM_DEVICES_H
#define BF_SEAM_DEVICES_H

#include <bitfold/device.h>

/* As the calls of <bitfold/device.h>, with arguments that may be anything but a NULL info. */
typedef struct bf_devices_backend {
    int (*count)(void);
    /* Fills all of info but its size. Error: BF_E_DEVICE. */
    bf_status (*describe)(int device, bf_device_info *info);
    int (*peer)(int device, int peer);
    int (*driver_version)(void);
    int (*runtime_version)(void);
    const char *(*reason)(void);
} bf_devices_backend;

#endif
