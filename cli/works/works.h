/* The works: what verify compares and bench times. Each file of this folder has one, with the data
 * that it is tried on. */
#ifndef BITFOLD_CLI_WORKS_WORKS_H
#define BITFOLD_CLI_WORKS_WORKS_H

#include "works/point.h"

#include <bitfold.h>
#include <stdbool.h>

/* ---- verify ---------------------------------------------------------------------------------- */

/* A result; status tells why there is none. */
typedef struct outcome {
    bf_status status;
    bf_value value;
} outcome;

/* Room for the results of calls: in the host's memory, and where the calls write them, which may
 * be on the device. */
typedef struct result_room {
    bf_array host, at;
} result_room;

/* One row of verify: a work on certain data. */
typedef struct task {
    const struct work *work;
    const char *op, *data; /* their names */
    int what;              /* the operation, among those of the work */
    int kinds;             /* how many computations are told together; 0: one */
    bf_array a, b;         /* a: elements or rows; b: a second operand, weights, values or places */
    bf_nan_policy nan;
    bool sum_is_1;
    const void *about; /* more data of the work */
    /* The rest describes the computation at hand. */
    bf_context *context;
    int kind;
    bool gpu;        /* the context is that of a GPU */
    bool moved;      /* a and b are in its memory */
    result_room out; /* for works whose results go there */
    bf_value value;  /* the result; a checksum if there are many */
} task;

/* Does something with a row. Returns an exit code. */
typedef int task_fn(const task *t, void *to);

/* A work absorbs rows [first, last) of a and b into an object that create makes, or computes them
 * into t->out. In parts, three objects absorb a part each and are merged. tell sets t->value. */
typedef struct work {
    /* Calls fn with each row, on given->a (given->data is its name) or on data of its own. Returns
     * the first exit code that is not EXIT_DONE. */
    int (*rows)(const task *given, task_fn *fn, void *to);
    bool (*stays)(const task *t); /* whether arrays stay in the host's memory */
    bf_status (*open)(task *t);   /* before all, and close after it */
    bf_status (*create)(const task *t, void **object);
    bf_status (*absorb)(task *t, void *object, int64_t first, int64_t last);
    bf_status (*merge)(void *into, void *from);
    bf_status (*tell)(task *t, void *object);
    void (*destroy)(void *object);
    void (*close)(task *t);
    bf_status (*whole)(task *t), (*parts)(task *t); /* other ways than by the above */

    const measure *measure; /* how bench times it; NULL: not */
} work;

/* The works on any data, and those on data of their own. Both lists end with NULL. */
extern const work *const works_on_data[], *const works_of_own[];

extern const work work_reduce, work_axis, work_order, work_histogram, work_map, work_expression,
    work_julia, work_table, work_group, work_dictionary;

/* Computes the task in one pass, over a and b in the memory of the device; or in parts from the
 * host's memory. */
outcome work_compute(const task *t, bf_context *context, bool gpu, bool parts);

/* Computes as if the work had no ways of its own. */
bf_status work_absorb_whole(task *t);
bf_status work_absorb_parts(task *t);

/* Returns elements [first, last) of a vector; and the bytes of an array of one or two dimensions.
 */
bf_array work_slice(const bf_array *a, int64_t first, int64_t last);
size_t work_bytes(const bf_array *a);

/* Make room for n results, on the device if `move`; copy results back and add them to the checksum
 * of the task; free it. */
bf_status work_room(const task *t, bf_dtype dtype, int64_t n, bool move, result_room *r);
bf_status work_tell(task *t, const result_room *r);
void work_room_free(const task *t, result_room *r);

/* tell and close of works whose results are in t->out. */
bf_status work_tell_out(task *t, void *object);
void work_close_out(task *t);

/* Add to the checksum of the task. */
void work_add(task *t, const void *bytes, size_t n);
void work_add_value(task *t, const bf_value *value);

/* Returns FNV-1a over words of 8 bytes with the upper half mixed in, continued from `sum`. */
uint64_t work_checksum(uint64_t sum, const void *bytes, size_t n);

/* Returns the bytes of the member of bf_value that holds a value of dtype. */
size_t work_value_size(bf_dtype dtype);

/* Return the value of a state, or the checksum of its saved form if that tells more; and the
 * checksums of the saved forms of a histogram and of groups. */
outcome work_state_result(const bf_state *state, const bf_reduce_options *rules);
outcome work_histogram_result(const bf_histogram *h);
outcome work_groups_result(bf_groups *groups);

/* Returns the checksum at the end of a saved form, which covers all bytes before it. */
outcome work_saved_checksum(const void *bytes, size_t size);

#endif
