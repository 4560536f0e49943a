/* Where a pointer's memory is. Asking neither opens nor loads the driver. */
#ifndef BF_BASE_WHERE_H
#define BF_BASE_WHERE_H

#include <stdbool.h>

typedef enum bf_where {
    BF_WHERE_HOST,    /* pageable host memory */
    BF_WHERE_PINNED,  /* host memory that GPUs reach directly */
    BF_WHERE_MANAGED, /* moves between the host and GPUs as it is touched */
    BF_WHERE_DEVICE   /* a GPU's own memory, which the host cannot touch */
} bf_where;

/* Has this process loaded a driver? Else all memory is the host's. */
bool bf_where_has_driver(void);

/* Returns the kind of memory at p. Sets *device, unless NULL, to the GPU's number, or to -1 for
 * BF_WHERE_HOST. Any thread may call it at any time. Without a driver it costs some tens of
 * nanoseconds. */
bf_where bf_where_is(const void *p, int *device);

#endif
