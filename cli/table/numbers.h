/* The keys of two tables as numbers: equal keys have equal ones. */
#ifndef BITFOLD_CLI_TABLE_NUMBERS_H
#define BITFOLD_CLI_TABLE_NUMBERS_H

#include "table/choice.h"
#include "work/units.h"

/* The form in which keys of two forms are compared: i64 and u64 as i64, all integers as i128 if one
 * side's are, in the finer units; integers beside f64 as f64. BF_NONE: there is none. */
units_form join_form_of(units_form a, units_form b);

/* Takes integers of 64 or 128 bits, of this scale, in the form that they have beside others. alone:
 * of each, whether no number of the other side is equal, so that its key does not count. */
void join_take(const bf_array *from, int scale, units_form to, void *keys, bool *alone);

/* Each row has the number of its key; -1 if it has a NULL, or no other row has it. */
typedef struct join_numbers {
    int64_t *of[SIDES];
    int64_t rows[SIDES];
    int64_t keys; /* numbers are less than this */
} join_numbers;

/* The key columns of both sides; scales: of integers. */
typedef struct join_columns {
    int keys;
    const bf_column *of[SIDES][BF_KEY_COLUMNS_MAX];
    int scales[SIDES][BF_KEY_COLUMNS_MAX];
} join_columns;

/* Numbers rows by their key columns, of which each two are both strings or both numbers (if one
 * side has no rows, they are not looked at). Returns an exit
 * code, having reported the failure. Close it in either case. */
int join_numbers_make(join_numbers *numbers, bf_context *context, const char *file,
                      const join_columns *columns, const int64_t counts[SIDES]);
void join_numbers_close(join_numbers *numbers);

#endif
