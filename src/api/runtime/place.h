/* Placement: a call runs on the device that was asked for by name; else where its object lives;
 * else by where the data are and what moving them would cost. */
#ifndef BF_API_RUNTIME_PLACE_H
#define BF_API_RUNTIME_PLACE_H

#include "base/where.h"
#include "seam/backend.h"

/* The memory that a call touches. */
typedef struct bf_memory {
    const void *data;
    int64_t bytes;
} bf_memory;

/* The demand of a call. */
typedef struct bf_demand {
    int share; /* percent of a thread's reading rate that is left when it does this work */

    /* The call runs where the data are, which are never moved for speed. Tables, groups and joins
     * do so, and give their own reasons. */
    bool follows;
    const bf_backend *home; /* where the object lives; NULL: nowhere yet, or it is empty */
    const char *on_host, *on_gpu;

    bool cpu; /* the CPU alone can do it, for the reason on_host: whatever device was asked for */

    int n; /* at most BF_MEMORY_MOST */
    const bf_memory *memory;
} bf_demand;

enum { BF_MEMORY_MOST = 129 /* the keys of groups, and two arrays of each aggregate */ };

/* ---- the decision: a pure function ----------------------------------------------------------- */

/* The speed of a machine: rates in MB/s (bytes a microsecond), times in ns. All are integers, so
 * that a call leaves the caller's floating-point flags alone. */
typedef struct bf_machine {
    int threads;           /* how many the CPU's backend has */
    int64_t thread_rate;   /* the rate of a thread that only reads */
    int64_t memory_rate;   /* the rate of all threads together */
    bool gpu;              /* one may be here */
    bool open;             /* the context has opened it */
    int64_t open_time;     /* to open it */
    int64_t launch_time;   /* from a call to its result, besides the work */
    int64_t pinned_rate;   /* the rate of copies to the GPU, and back */
    int64_t driven;        /* bytes of pageable memory that the driver copies, before threads do */
    int64_t driven_rate;   /* the driver's rate */
    int64_t pageable_rate; /* the threads' rate */
    int64_t gpu_rate;      /* the rate of its own memory */
} bf_machine;

/* Returns a usual machine with that many threads. vectors: its loops use vector instructions. */
bf_machine bf_usual_machine(int threads, bool vectors);

typedef struct bf_choice {
    bool gpu;
    bool forced;     /* there is no other choice */
    const char *why; /* one line */
} bf_choice;

/* One operand: where it is, and how much of it is touched. */
typedef struct bf_operand {
    bf_where where;
    int64_t bytes;
} bf_operand;

/* Chooses by the demand and its n operands; demand->memory is not read. The output and the place of
 * a value are operands, too. */
bf_choice bf_choose(const bf_machine *machine, const bf_demand *demand, const bf_operand *operands,
                    int n);

/* ---- the context follows --------------------------------------------------------------------- */

/* Returns the backend of the GPU, or the GPUs, that the context has open; NULL: it has none. */
const bf_backend *bf_backend_open(const bf_context *context);

/* Opens GPU number `device` for the context, or BF_DEVICE_ALL, if it has none open. With one GPU in
 * the machine, all are that one. Errors: BF_E_DEVICE, BF_E_MEMORY, with a message. */
bf_status bf_backend_open_gpu(bf_context *context, int device);

/* Sets context->used and its reason for the call to come. Opens the GPU if it is chosen and not
 * open. Errors: BF_E_DEVICE (the data are on a GPU, which this context cannot use), BF_E_MEMORY. */
bf_status bf_place(bf_context *context, const bf_demand *demand);

/* Returns where memory and new objects are made: on the device that was asked for by name, else in
 * host memory. */
const bf_backend *bf_place_home(const bf_context *context);

/* Sets *by to the backend that copies between the two; context->used stays. Errors: as bf_place. */
bf_status bf_place_copy(bf_context *context, const void *to, const void *from,
                        const bf_backend **by);

#endif
