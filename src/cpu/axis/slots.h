/* Rows that go to the slots of accumulators. */
#ifndef BF_CPU_AXIS_SLOTS_H
#define BF_CPU_AXIS_SLOTS_H

#include "cpu/axis/axis.h"

/* The column that accumulators of one op and dtype have. */
static inline bf_accumulator_column bf_slots_column(bf_reduction op, bf_dtype dtype) {
    return (bf_accumulator_column){.dtype = dtype, .parts = bf_part_of(op)};
}

/* Elements of rows, of one op and dtype. Offsets have been checked. */
typedef struct bf_slots_job {
    bf_reduction op;
    bf_dtype dtype;
    const char *values, *second; /* second: the others of pairs, by index alone */
    const bf_rows *rows;
    bool uncounted; /* the accumulators need not count rows */
} bf_slots_job;

/* Makes accumulators of rows->slots * rows->width slots, of the caller's column, which have
 * absorbed all rows. Errors, after which there are none: BF_E_MEMORY, with a message;
 * BF_E_ARGUMENT, without one: the index is wrong somewhere; BF_E_CANCELLED. */
bf_status bf_slots_make(bf_context *context, const bf_slots_job *job, bf_accumulator_column *column,
                        bf_accumulators *made);

/* Absorbs rows, whose index has been checked, into slots from `first` on, one thread after the
 * other. Errors: BF_E_MEMORY, without a message; nothing has changed. */
bf_status bf_slots_absorb(bf_context *context, const bf_slots_job *job, size_t first,
                          bf_accumulators *into);

/* Merges the slots of `from` into those of `into` from `first` on. Errors: BF_E_MEMORY, without a
 * message; `into` has the values that it had. */
bf_status bf_slots_merge(bf_context *context, bf_accumulators *into, size_t first,
                         const bf_accumulators *from);

/* Writes the results of all slots. Errors: BF_E_NAN, BF_E_EMPTY, BF_E_OVERFLOW, BF_E_MEMORY,
 * BF_E_CANCELLED. */
bf_status bf_slots_finish(bf_context *context, const bf_accumulators *a, bf_reduction op,
                          const bf_results *results);

#endif
