/* Integers in units of a power of ten: those that are held in different ways become BF_I128. */
#ifndef BITFOLD_CLI_WORK_UNITS_H
#define BITFOLD_CLI_WORK_UNITS_H

#include "input/rows.h"
#include "runtime/value.h"
#include "text/number.h"
#include "work/checkpoint.h"

bool units_are_same(units_form a, units_form b);

/* The form of a column of rows. */
units_form units_of_rows(const rows *r, int column);

/* Whether a dtype is one of those that integers of text have: i64, u64 and i128; and number i of an
 * array of such a dtype. */
bool units_are_integers(bf_dtype dtype);
text_i128 units_at(bf_dtype dtype, const void *numbers, int64_t i);

/* The double nearest to number i of an array in units of 10^-scale, or of floats. */
double units_double(bf_dtype dtype, int scale, const void *numbers, int64_t i);

/* Sets *into to what times of both are. False: they do not go together. */
bool units_join_times(bf_time_kind *into, bf_time_kind other);

/* Whether times have such a result. */
bool units_have(bf_time_kind time, bf_reduction op);

/* Sets *into to the form that holds numbers of both. False: there is none. */
bool units_join(units_form *into, units_form other);

/* Writes n numbers of one form as those of another that was joined from it, maybe in place. False:
 * 128 bits do not hold one of them. */
bool units_bring(units_form from, const void *numbers, int64_t n, units_form to, void *out);

/* A form in a checkpoint. */
void units_put(checkpoint_writer *to, units_form form);
units_form units_take(checkpoint_reader *from);

#endif
