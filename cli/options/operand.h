/* Operands of options: each function reads one into a member (options.h), or says what is wrong
 * with it and is false. */
#ifndef BITFOLD_CLI_OPTIONS_OPERAND_H
#define BITFOLD_CLI_OPTIONS_OPERAND_H

#include "options/options.h"

/* Reports that text is not what was expected. Returns false. */
bool operand_bad(const char *name, const char *text, const char *expected);

option_reader read_flag;         /* bool: true */
option_reader read_setting;      /* int or enum: the option's value */
option_reader read_text;         /* const char *: as it is */
option_reader read_choice;       /* int or enum: the place in the list "a|b|c" of the option */
option_reader read_dtype_choice; /* bf_dtype: one of that list */
option_reader read_number;       /* int64_t: from the option's least to its most */
option_reader read_dtype;        /* bf_dtype */
option_reader read_columns;      /* const char *: a list; given again, a longer one */
option_reader read_axes;         /* struct wanted_axes: different whole numbers */
option_reader read_percents;     /* struct wanted_percents: numbers from 0 to 100 */
option_reader read_quantiles;    /* reads those of quantiles; without an operand the quartiles */
/* The percent, 0 to 100, that text begins with; *end is behind it. Less than 0: there is none. */
double parse_percent(const char *text, const char **end);
option_reader read_method;    /* bf_quantile_method */
option_reader read_delimiter; /* char: one character; a tab also as \t */
option_reader read_mark;      /* char: one character that may stand in a number */
option_reader read_character; /* const char *: the same, or any that is not of ASCII */
option_reader read_sign;      /* char: one that is no letter, digit or quote */
option_reader read_letter;    /* char: a letter, as a small one */
option_reader read_seconds;   /* double: more than 0 */
option_reader read_memory;    /* int64_t: bytes, with K, KiB, ... T, TiB behind, or a percent */
option_reader read_threads;   /* int: 1 to 1024 */

/* options: an aggregate of V (the option's value is its reduction, or its wanted_order), of X:Y, or
 * of P:V */
option_reader read_aggregate, read_pairs, read_order_of, read_quantile;

/* Once all options are known: an aggregate of several V, with commas between, becomes one of each.
 * They live until the next command line is read. Returns an exit code, having reported the failure.
 */
int aggregates_list(options *o);

#endif
