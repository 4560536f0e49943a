/* A context: the threads, the budget and the watch of its calls, and what each backend keeps in it.
 * It is used by one thread at a time. */
#ifndef BF_BASE_CONTEXT_H
#define BF_BASE_CONTEXT_H

#include "base/budget.h"
#include "base/pool.h"
#include "base/watch.h"
#include <bitfold/context.h>
#include <bitfold/device.h>

/* How a call did its work: a strategy's name, and its numbers. */
typedef struct bf_strategy {
    const char *name; /* NULL: the call says nothing */
    int64_t results, length, tiles, columns, lanes, pieces;
} bf_strategy;

struct bf_context {
    struct bf_pool *pool;           /* its threads, the caller's among them */
    const char *isa;                /* the instruction set of the CPU's loops */
    bool vectors;                   /* it has vectors */
    const struct bf_backend *fixed; /* the device that was asked for by name; NULL: call by call */
    const struct bf_backend *used;  /* by the last call */
    const char *reason;             /* for that choice; "" if it is fixed */
    struct bf_cpu *cpu;             /* always open, for it walks the host's memory */
    struct bf_cuda *cuda;           /* NULL: not open */
    struct bf_gpus *gpus;           /* NULL: not open */
    void *stream;                   /* for the GPU when it opens; NULL: its own */
    int gpu;                        /* the number of the GPU that is open, or BF_DEVICE_ALL */
    char gpu_name[BF_DEVICE_TEXT];  /* its name; of several, that of those last used */
    bool gpu_failed;                /* opening one failed: it is not tried again */
    int in_use;                     /* not 0: a call is using the context (api/runtime/enter.h) */
    bf_strategy strategy;           /* the last call chose it */
    bf_watched watched;
    bf_budget budget;
    char *spill; /* the directory of temporary files; NULL: none may be made */
    char message[BF_MESSAGE_TEXT];
    char strategy_text[BF_MESSAGE_TEXT];
};

static inline bool bf_is_watched(const bf_context *context) {
    return context->watched.watch.tick != NULL;
}

/* Sets the context's message and returns status, for `return bf_fail(...)`. */
bf_status bf_fail(bf_context *context, bf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
