/* Where a call runs: on the device that was asked for by name, else by where the data are and what
 * moving them would cost. */
#ifndef BF_SEAM_PLACE_H
#define BF_SEAM_PLACE_H

#include "rules/reduce/kind.h"
#include "seam/backend.h"
#include "seam/where.h"

/* ---- the decision: one pure function for each primitive -------------------------------------- */

/* What a machine can do: rates in MB/s (bytes a microsecond), times in ns. All are integers: a call
 * leaves the caller's floating-point flags alone. */
typedef struct bf_machine {
    int threads;         /* that the CPU's backend may use */
    int64_t thread_rate; /* of a thread that does nothing but read */
    int64_t memory_rate; /* of all threads together */
    bool gpu;            /* is there one, as far as is known? */
    bool open;           /* has the context opened it? */
    int64_t open_time;   /* what that takes */
    int64_t launch_time; /* from a call to its result, besides the work */
    int64_t pinned_rate; /* of copies to the GPU, and back */
    int64_t pageable_rate;
    int64_t gpu_rate; /* of its own memory */
} bf_machine;

/* A usual machine with that many threads. vectors: they run the loops of a vector instruction set.
 */
bf_machine bf_usual_machine(int threads, bool vectors);

typedef struct bf_choice {
    bool gpu;
    bool forced;     /* the data leave no choice */
    const char *why; /* one line */
} bf_choice;

/* One operand: where it is, and how much of it is touched. */
typedef struct bf_operand {
    bf_where where;
    int64_t bytes;
} bf_operand;

/* All n operands count, the output and the place of the value among them. */
bf_choice bf_choose_reduce(const bf_machine *machine, bf_kind kind, const bf_operand *operands,
                           int n);
bf_choice bf_choose_dot(const bf_machine *machine, const bf_operand *operands, int n);
bf_choice bf_choose_julia(const bf_machine *machine, int iterations, const bf_operand *operands,
                          int n);
bf_choice bf_choose_map(const bf_machine *machine, bf_map_op op, const bf_operand *operands, int n);
bf_choice bf_choose_histogram(const bf_machine *machine, const bf_operand *operands, int n);

/* ---- the deed: context->used and its reason for the call to come ----------------------------- */

/* The memory of a call: each pointer is to so many bytes. */
enum { BF_MEMORY_MOST = 4 };
typedef struct bf_memory {
    int n;
    const void *data[BF_MEMORY_MOST];
    int64_t bytes[BF_MEMORY_MOST];
} bf_memory;

/* These open the GPU where it is chosen and not open yet. Errors: BF_E_DEVICE (the data are on a
 * GPU, which this context cannot use), BF_E_MEMORY. */
bf_status bf_place_reduce(bf_context *context, bf_reduction op, bf_kind kind,
                          const bf_memory *memory);
bf_status bf_place_map(bf_context *context, bf_map_op op, const bf_memory *memory);
bf_status bf_place_histogram(bf_context *context, const bf_memory *memory);

bf_status bf_place_julia(bf_context *context, int iterations, const bf_memory *memory);

/* Who copies between the two; what the context used last stays. */
bf_status bf_place_copy(bf_context *context, const void *to, const void *from,
                        const bf_backend **by);

/* Who walks strided memory at p, and has scratch for copies of it: the backend in use, or the CPU
 * where a GPU cannot reach it. */
const bf_backend *bf_place_walk(const bf_context *context, const void *p);

#endif
