/* The seam between the API and the machines that do the work: the table of a backend.
 *
 * Each primitive has a header here (seam/reduce.h, ...) with its job and the functions that a
 * backend gives for it. Backends differ in speed, never in result; api/runtime/place.h chooses one
 * for each call. Rules common to all functions:
 * - the API layer has checked every argument: dtypes are known, counts are positive, memory is
 *   contiguous (but maybe misaligned), and the total count stays within BF_COUNT_MAX;
 * - words are carried on entry and on return;
 * - on failure words are as they were, and the context has a message;
 * - a context is used by one thread at a time. */
#ifndef BF_SEAM_BACKEND_H
#define BF_SEAM_BACKEND_H

#include "base/context.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct bf_backend {
    const char *name;
    /* Sets up the context's member for this backend, for a device (device.h) and the other members
     * of checked options. Errors: BF_E_ARGUMENT, BF_E_DEVICE, BF_E_MEMORY, with a message. */
    bf_status (*open)(bf_context *context, int device, const bf_options *options);
    /* Frees that member; does nothing if it was never opened. */
    void (*close)(bf_context *context);
    /* As the calls of context.h. NULL: there is no queue. */
    bf_status (*set_stream)(bf_context *context, void *stream);
    void (*leave_stream)(bf_context *context);
    bf_status (*synchronize)(bf_context *context);
    bf_status (*failure)(bf_context *context);
    const struct bf_device_backend *devices; /* NULL: the host is all */
    const struct bf_memory_backend *memory;
    const struct bf_reduce_backend *reduce;
    const struct bf_map_backend *map;
    const struct bf_histogram_backend *histogram;
    const struct bf_table_backend *table;
    const struct bf_group_backend *group;
    const struct bf_axis_backend *axis;
    const struct bf_order_backend *order;
    const struct bf_scan_backend *scan; /* NULL: the CPU scans */
    const struct bf_julia_backend *julia;
    const struct bf_expression_backend *expression;
    const struct bf_dictionary_backend *dictionary; /* NULL: the CPU has them all */
    const struct bf_comm_backend *comm;             /* NULL: the host adds */
} bf_backend;

extern const bf_backend bf_backend_cpu;
#ifdef BITFOLD_CUDA
extern const bf_backend bf_backend_cuda;
#endif
/* Several GPUs, each of which bf_backend_gpu() works on. */
extern const bf_backend bf_backend_gpus;

/* Returns the backend of GPUs; NULL: this build has none. */
const bf_backend *bf_backend_gpu(void);

#endif
