/* A context: the device, instruction set and threads that calls run on. It owns the thread pool
 * and, on a GPU, scratch memory.
 *
 * A context belongs to one thread at a time (bitfold.h); separate contexts are independent. No
 * option changes a result; options change speed only. */
#ifndef BITFOLD_CONTEXT_H
#define BITFOLD_CONTEXT_H

#include "options.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_context bf_context;

typedef struct bf_options {
    size_t size;        /* sizeof(bf_options), so that the struct can grow (bitfold.h) */
    const char *device; /* "auto" (or NULL), "cpu", "cuda", "cuda:N" or "cuda:all", see below */
    const char *isa;    /* "auto" (or NULL), or a name that bf_isa_name() gives */
    int threads;        /* 0: as many as this process may use; 1 to 1024 */
    void *stream;       /* as bf_context_set_stream() takes it; for one GPU or "auto" */
    int64_t memory;     /* bytes of host memory that the context's objects and calls may have; 0: no
                           limit. Beyond it, calls spill, see below, or fail with BF_E_MEMORY.
                           Small, fixed parts (the context, scratch memory of threads) and the
                           caller's arrays are not counted */
    const char *spill;  /* a directory for temporary files, which is copied; NULL: none may be made.
                           It has a use only with a limit of memory */
} bf_options;

/* BF_OPTIONS(.threads = 2): options with the struct's size set, the rest default. */
#define BF_OPTIONS(...) BF_OPTIONS_OF(bf_options, __VA_ARGS__)

/* Spilling: where memory does not hold what a call needs, bf_sort, bf_sort_segments, bf_unique,
 * bf_quantile_groups, bf_median_groups, sorters (order.h), and joins and groups of the CPU
 * (group.h) write it to a file in the directory `spill`, and give the same bits from there. The
 * limit counts what a call takes to work: copies of arrays that are not contiguous, of those of
 * BF_I128, and, under a watch, of outputs, too (quantiles of groups copy no array as a whole); and
 * the saved forms of groups as they are made. It does not count the arrays that the caller gives,
 * outputs among them, nor pages of files, which the system keeps in memory as long as it has some:
 * pairs of a join that spilled are such a file. Outputs are written when all inputs have been read;
 * after BF_E_IO they may hold anything if the file cannot be read. Files have no name, so nothing
 * is left behind, whatever ends the process. A limit of less than a few hundred KiB may be too
 * little even so. Errors also: BF_E_IO (the directory cannot be written, or is full). Groups are
 * then as they were. */

/* "cuda:all" is all GPUs of the machine as one device; if there is one, it is that one. A call runs
 * on the GPU whose memory its data are in. Large data in memory of the host (pageable, pinned or
 * managed) are split, and all GPUs work at the same time; so do those of calls that take shards
 * (state.h). Tables and joins are on the first GPU; groups and states come together there when they
 * are looked at. _async calls are enqueued on the GPU of their data. Those of different GPUs are
 * not ordered, unless one touches memory that is not its own GPU's alone. */

/* Creates a context. options may be NULL: all defaults. "auto" chooses the device of each call, by
 * where the data are and what moving them would cost. Starts no thread. With "auto" no GPU is
 * opened either, until a call is large enough to gain from it or its data are on it. Errors:
 * BF_E_ARGUMENT (an unknown name, a thread count out of range), BF_E_DEVICE (this machine lacks the
 * device or the ISA), BF_E_MEMORY. */
BF_API bf_status bf_context_create(const bf_options *options, bf_context **context);

/* Writes why bf_context_create refuses these options, in one line that says what is possible; "" if
 * it does not refuse them. It tries again, since there is no context that could keep the message.
 * text has room for BF_MESSAGE_TEXT bytes. */
#define BF_MESSAGE_TEXT 160
BF_API void bf_context_create_message(const bf_options *options, char text[BF_MESSAGE_TEXT]);

/* Ends the pool's threads and frees the context. NULL is ignored. What was made in the context
 * (states, tables, groups, pairs, sorters and all else that is destroyed) must be destroyed first.
 */
BF_API void bf_context_destroy(bf_context *context);

/* Returns the detail of the last failure of a call on this context; "" if there was none. It is
 * valid until the next call on the context. */
BF_API const char *bf_context_message(const bf_context *context);

/* Return the device that the last call ran on, or the next one of a small host array would ("cpu",
 * "cuda:0"; "cuda:all" where several GPUs worked), and the reason in one line ("" if the device was
 * asked for by name). */
BF_API const char *bf_context_device(const bf_context *context);
BF_API const char *bf_context_reason(const bf_context *context);

/* Returns how the last call that computed something did it, in one line: the strategy that fitted
 * its shape, and its numbers. Reductions along axes say so, and on one GPU those by segments; "" of
 * other calls. It is valid until the next call on the context. `bitfold bench --why` prints it. */
BF_API const char *bf_context_strategy(bf_context *context);

/* Return the name of the instruction set, and the number of threads, of work on the CPU. */
BF_API const char *bf_context_isa(const bf_context *context);
BF_API int bf_context_threads(const bf_context *context);

/* Makes the calls that follow on a GPU enqueue on this stream: a cudaStream_t or CUstream of the
 * context's GPU, or NULL for the context's own.
 *
 * Order: the context's own stream is ordered with the legacy default stream, both ways: a call sees
 * what kernel<<<...>>>() did before, and is seen by what comes after. It is not ordered with other
 * streams, nor with a per-thread default stream: give that (cudaStreamPerThread, for a context that
 * stays with its thread), or wait. A new stream waits for what the context has enqueued before; one
 * that is being captured does so when its capture has ended. What was enqueued on a stream that is
 * being captured when the context leaves it is not waited for.
 *
 * Graphs: calls on a stream that is being captured become part of the CUDA graph. Only _async calls
 * can be; others fail. The graph uses memory of the context, which has it back when the graph is
 * destroyed; a context that is destroyed before leaves it to the graph. Launches of one executable
 * graph follow each other. Two executables of one graph share its memory. They must not run at the
 * same time, or they hang or give wrong results: capture once for each.
 *
 * Lifetime: wait for the context (bf_context_synchronize), or have it leave the stream, before the
 * one in use is destroyed. Destroying the context, its tables and its groups touches no stream but
 * its own.
 *
 * Errors: BF_E_DEVICE (no GPU in use, or several, or CUDA refuses the stream). */
BF_API bf_status bf_context_set_stream(bf_context *context, void *stream);

/* Makes the context leave the stream that was set for its own, so that the stream may be destroyed
 * at once: what is enqueued there runs all the same. The GPU waits for that where the context's
 * next work begins, on whatever stream; the legacy default stream does not wait before. Errors:
 * BF_E_DEVICE (no GPU in use). */
BF_API bf_status bf_context_leave_stream(bf_context *context);

/* Waits for all that the context has enqueued; on the CPU returns at once. Reports the errors that
 * _async calls could not: BF_E_OVERFLOW or BF_E_ARGUMENT (bf_map_async), BF_E_DEVICE, and what
 * options->later leaves (reduce.h). Each is reported once. */
BF_API bf_status bf_context_synchronize(bf_context *context);

/* Reports the same of what the GPU has done by now, and waits for nothing. */
BF_API bf_status bf_context_failure(bf_context *context);

/* The instruction sets of this build, slowest first; number 0 is "generic". bf_isa_name returns the
 * name of number i, or NULL past the last; bf_isa_available 1 if this machine can run it. */
BF_API const char *bf_isa_name(int i);
BF_API int bf_isa_available(int i);

/* Returns the number of threads that this process may use: the CPU affinity mask, capped by the
 * cgroup's CPU quota. */
BF_API int bf_usable_threads(void);

#ifdef __cplusplus
}
#endif
#endif
