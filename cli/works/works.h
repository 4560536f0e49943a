/* The works: what verify compares and bench times. Each file of this folder has one, with the data
 * that it is tried on. */
#ifndef BITFOLD_CLI_WORKS_WORKS_H
#define BITFOLD_CLI_WORKS_WORKS_H

#include "work/statefile.h"
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
    void *room; /* memory for the data of the work, zeroed before the first row */
    /* The rest describes the computation at hand. */
    bf_context *context;
    int kind;
    bool gpu;        /* the context is that of a GPU */
    bool moved;      /* a and b are in its memory */
    result_room out; /* for works whose results go there */
    bf_value value;  /* the result; a checksum if there are many */
} task;

/* A work absorbs rows [first, last) of a and b into an object that create fills, or computes them
 * into t->out, for which open makes room. In parts, three objects absorb a part each and are merged
 * as states are, if not by the work. tell sets t->value; without it, that is the result of the
 * saved state or a checksum of t->out. Members may be NULL. */
typedef struct work {
    /* Makes row i of the task, on t->a (t->data is its name) or on data of its own, which lie in
     * t->room: so many bytes, and as many more as t->a has. Returns false if there is no row i. */
    bool (*row)(task *t, int i);
    size_t room;

    bool (*stays)(const task *t);   /* whether arrays stay in the host's memory */
    bool (*in_turn)(const task *t); /* whether the first object absorbs all parts */
    bf_status (*open)(task *t);
    bf_status (*create)(const task *t, work_object *o);
    bf_status (*absorb)(task *t, work_object *o, int64_t first, int64_t last);
    bf_status (*merge)(work_object *into, work_object *from);
    bf_status (*tell)(task *t, work_object *o);
    bf_status (*whole)(task *t), (*parts)(task *t); /* other ways than by the above */

    const measure *measure; /* how bench times it */
} work;

/* The works on any data, and those on data of their own. Both lists end with NULL. */
extern const work *const works_on_data[], *const works_of_own[];

extern const work work_reduce, work_axis, work_order, work_histogram, work_map, work_expression,
    work_scan, work_rolling, work_julia, work_table, work_group, work_dictionary;

/* Computes the task in one pass, over a and b in the memory of the device; or in parts from the
 * host's memory. */
outcome work_compute(const task *t, bf_context *context, bool gpu, bool parts);

/* Returns where part `cut` of n rows begins and the one before it ends, of 1 or WORK_PARTS parts.
 */
enum { WORK_PARTS = 3 };
int64_t work_cut(int64_t n, int cut, int parts);

/* Computes in 1 or WORK_PARTS parts, as if the work had no way of its own. */
bf_status work_absorb(task *t, int parts);

void work_free(work_object *o);

/* Is true. */
bool work_always(const task *t);

/* Returns rows [first, last) of an array; and the bytes of one of one or two dimensions. */
bf_array work_slice(const bf_array *a, int64_t first, int64_t last);
size_t work_bytes(const bf_array *a);

/* Make room for n results, on the device if `move`; copy results back and add them to the checksum
 * of the task; free it. */
bf_status work_room(const task *t, bf_dtype dtype, int64_t n, bool move, result_room *r);
bf_status work_tell(task *t, const result_room *r);
void work_room_free(const task *t, result_room *r);

/* Add to the checksum of the task; work_add_array only if st is BF_OK, which it returns. */
void work_add(task *t, const void *bytes, size_t n);
void work_add_value(task *t, const bf_value *value);
bf_status work_add_array(task *t, bf_status st, const bf_array *a);

/* Returns FNV-1a over words of 8 bytes with the upper half mixed in, continued from `sum`. */
uint64_t work_checksum(uint64_t sum, const void *bytes, size_t n);

/* Returns the bytes of the member of bf_value that holds a value of dtype. */
size_t work_value_size(bf_dtype dtype);

/* Return the value of a state, or if its saved form tells more or it is no state of one value, the
 * checksum at the end of that, which covers all bytes before it; and tell it as the task's. */
outcome work_result(const statefile *saved, const bf_reduce_options *rules);
bf_status work_tell_saved(task *t, const statefile *saved);

#endif
