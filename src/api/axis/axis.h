/* Calls for many results at once: what the calls along axes, by segments and by index share. */
#ifndef BF_API_AXIS_AXIS_H
#define BF_API_AXIS_AXIS_H

#include "api/runtime/flat.h"
#include "seam/axis.h"

/* ---- arrays.c: what the caller's arrays say -------------------------------------------------- */

/* Checks that a and, unless it is NULL, b are well formed, of one dtype and shape, and repeat no
 * more elements than BF_REPEATS_MAX. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE. */
bf_status bf_axis_check_arrays(bf_context *context, const bf_array *a, const bf_array *b);

/* Sets rows to those of a checked array that go to `slots` slots by offsets or by index; places is
 * the array of these. rows->places is not set. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE. */
bf_status bf_axis_read_rows(bf_context *context, const bf_array *array, const bf_array *places,
                            bf_rows_by by, int64_t slots, bf_rows *rows);

/* Sets fibres to those of a and b (NULL: none) along the reduced dimensions, and operands->a and b
 * to the first elements. any_order: no result depends on the order of elements. There are
 * elements. */
void bf_axis_find_fibres(const bf_array *a, const bf_array *b, const bool reduced[BF_MAX_DIMS],
                         bool any_order, bf_fibres *fibres, bf_operands *operands);

/* ---- offsets.c: offsets of segments that the host reads -------------------------------------- */

/* Checks the array of the offsets. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE. */
bf_status bf_axis_check_offsets(bf_context *context, const bf_array *offsets);
/* Brings checked offsets of an array of n elements to host memory: *host, which the caller frees by
 * bf_free, has *segments + 1. Sets *longest to the most elements of a segment. Errors:
 * BF_E_ARGUMENT, which names the first offset that is wrong, and BF_E_MEMORY. */
bf_status bf_axis_read_offsets(bf_context *context, const bf_array *offsets, int64_t n,
                               int64_t **host, int64_t *segments, int64_t *longest);

/* ---- call.c: a call, step by step ------------------------------------------------------------ */

enum { BF_AXIS_INPUTS = 3 }; /* a, b, and offsets, index or keys */

typedef struct bf_axis_call {
    bf_context *context;
    const bf_array *inputs[BF_AXIS_INPUTS]; /* NULL: none */
    bf_operands operands;
    bf_reduce_options options;
    bf_value empty;       /* what options.empty points to */
    bf_flat values, fits; /* the outputs */
    bf_results results;
} bf_axis_call;

/* Checks that op takes pairs, and that there is a second array. Errors: BF_E_ARGUMENT. */
bf_status bf_axis_check_pair(bf_context *context, bf_reduction op, const bf_array *b);
/* Checks op, the arrays a and b (NULL but for pairs) and the options. */
bf_status bf_axis_open(bf_axis_call *call, bf_context *context, bf_reduction op, const bf_array *a,
                       const bf_array *b, const bf_reduce_options *options);
/* Reads the options of a call whose context is set. */
bf_status bf_axis_read_options(bf_axis_call *call, bf_reduction op, bf_dtype dtype,
                               const bf_reduce_options *options);
/* bf_axis_open for a call on a stream. */
bf_status bf_axis_open_queued(bf_axis_call *call, bf_context *context, bf_reduction op,
                              const bf_array *a, const bf_array *b,
                              const bf_reduce_options *options);
/* Checks one output: its dtype, and that its elements share no memory with each other or an input.
 */
bf_status bf_axis_check_output(const bf_axis_call *call, const bf_array *array, bf_dtype dtype,
                               const char *name);
/* Checks and sets the outputs, whose shape the caller has checked. */
bf_status bf_axis_set_outputs(bf_axis_call *call, const bf_array *values, const bf_array *fits);
/* Chooses the backend by all arrays of the call. more: another output, or NULL. */
bf_status bf_axis_place(bf_axis_call *call, const bf_array *more);
/* Gives the backend its outputs. longest: the most elements that a result takes; some_empty: some
 * result may take none. */
bf_status bf_axis_prepare(bf_axis_call *call, int64_t longest, bool some_empty);
/* Reduces rows, whose places the backend reads, into prepared outputs. */
bf_status bf_axis_reduce_rows(bf_axis_call *call, const bf_rows *rows);
/* Checks where a call on a stream tells the first place that is wrong: one that fails later has
 * none. Errors: BF_E_ARGUMENT. */
bf_status bf_axis_check_wrong(bf_context *context, bool later, const int64_t *wrong);
/* Ends a prepared call: on success writes its outputs. Returns the status. */
bf_status bf_axis_finish(bf_axis_call *call, bf_status status);

#endif
