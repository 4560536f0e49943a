/* The GPUs of this machine, as their backend tells of them. */
#ifndef BF_SEAM_DEVICE_H
#define BF_SEAM_DEVICE_H

#include <bitfold/context.h>
#include <bitfold/device.h>

#include <stdbool.h>

/* As the public calls, bf_device_count and so on. */
typedef struct bf_device_backend {
    int (*count)(void);
    bool (*describe)(int device, bf_device_info *info); /* all of *info; false: no such GPU */
    int (*peer)(int device, int peer);
    int (*driver_version)(void);
    int (*runtime_version)(void);
    const char *(*reason)(void);
    /* Waits for an event of another library, a cudaEvent_t: the context's stream does, which is on
     * a GPU; or, now, the calling thread. */
    bf_status (*wait)(bf_context *context, void *event, bool now);
} bf_device_backend;

#endif
