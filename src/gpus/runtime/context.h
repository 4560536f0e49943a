/* Several GPUs as one device: each has a context of its own, which this backend gives parts of a
 * call. It knows the GPUs by the seam alone.
 *
 * A call runs on the GPU whose memory its data are in. Data in the host's memory are split, if they
 * are large enough, and the GPUs work at the same time: the calling thread drives the first one,
 * and a thread aside each of the others. */
#ifndef BF_GPUS_RUNTIME_CONTEXT_H
#define BF_GPUS_RUNTIME_CONTEXT_H

#include "base/aside.h"
#include "seam/backend.h"

#include <stdatomic.h>

/* Does the part of a call for GPU number `gpu`, whose own context this is. */
typedef bf_status bf_gpus_work(void *arg, bf_context *context, int gpu);

typedef struct bf_gpu {
    struct bf_gpus *all;
    bf_context *context; /* its own */
    struct bf_cpu *cpu;  /* what the CPU keeps in that context */
    bf_pool *pool;       /* its share of the host's threads */
    bf_aside *aside;     /* NULL: not needed yet; the first GPU needs none */
    void *scratch;       /* memory.c owns it; NULL: not needed yet */
    bool busy;           /* _async calls were enqueued, and nobody has waited for them */
    /* What follows belongs to the call at hand. */
    bf_gpus_work *work;
    void *arg;
    bf_status status;
    _Atomic int64_t told; /* bytes that it told its watch */
} bf_gpu;

typedef struct bf_gpus {
    const bf_backend *by; /* the backend of each GPU */
    bf_context *context;  /* its GPUs are these */
    int count;
    int64_t least; /* bytes that are worth a GPU of their own, besides another */
    /* The first failure of _async calls that nobody has been told of. */
    bf_status late;
    char late_message[BF_MESSAGE_TEXT];
    atomic_bool cancelled; /* by the watch */
    int64_t told;          /* the watch's bytes before the call */
    bf_gpu gpu[];
} bf_gpus;

/* Opens `count` devices of backend `by`, from number 0, as the GPUs of the context. Errors: those
 * of by->open, BF_E_MEMORY. */
bf_status bf_gpus_open(bf_context *context, const bf_backend *by, int count);
void bf_gpus_close(bf_context *context);

/* Returns the GPU whose memory some of these pointers are to, or -1: none is to a GPU's memory.
 * Ignores NULL. */
int bf_gpus_find(const bf_context *context, const void *const memory[], int n);

/* Returns how many GPUs are worth working on so many bytes of the host's memory; at least 1. */
int bf_gpus_worth(const bf_context *context, int64_t bytes);

/* Returns where part i of `parts` even parts of n items begins. */
int64_t bf_gpus_share(int64_t n, int parts, int i);

/* Returns where part i of `parts` of n items begins. Parts begin at multiples of 4096, counted from
 * the item of index 0, which those of n have from `index` on. */
int64_t bf_gpus_cut(int64_t n, int parts, int i, int64_t index);

/* A call that one GPU does begins with bf_gpus_enter, which returns that GPU's context, lent all of
 * the host's threads and the watch, and ends with its status by bf_gpus_leave. The call waits for
 * what is enqueued on other GPUs, unless all of `memory` (NULL is ignored) is this GPU's own. */
bf_context *bf_gpus_enter(bf_context *context, int gpu, const void *const memory[], int n);
bf_status bf_gpus_leave(bf_context *context, int gpu, bf_status status);

/* Calls work(arg, ..., i) for each of the first `gpus` GPUs, all at the same time, and asks the
 * watch meanwhile. Returns BF_E_CANCELLED, or the first failure by number. */
bf_status bf_gpus_run(bf_context *context, int gpus, bf_gpus_work *work, void *arg);

/* Waits for all that is enqueued. Returns the first failure of _async calls since the last time. */
bf_status bf_gpus_synchronize(bf_context *context);
/* Returns it if it is known by now. */
bf_status bf_gpus_failure(bf_context *context);

#endif
