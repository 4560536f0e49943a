/* States and groups of integers that become those of i128: what 64 bits do not hold goes on there.
 */
#ifndef BITFOLD_CLI_WORK_WIDE_H
#define BITFOLD_CLI_WORK_WIDE_H

#include <bitfold.h>

#include <stdbool.h>

/* Whether columns of text may have both dtypes, of which the wider one holds all numbers. */
bool wide_joins(bf_dtype a, bf_dtype b);

/* Makes a state of integers one of i128 with the same elements. */
bf_status wide_state(bf_context *context, bf_state **state);

/* Whether groups have the same kinds of keys and aggregates. */
bool wide_is_same_kind(const bf_groups *a, const bf_groups *b);

/* Makes all keys and values that are integers i128. */
bf_status wide_groups(bf_context *context, bf_groups **groups);

/* Rescales groups as bf_groups_rescale does, but those with what their dtypes do not hold become
 * wide. */
bf_status wide_rescale(bf_context *context, bf_groups **groups, int key, const int digits[]);

#endif
