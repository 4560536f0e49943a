/* Values as they are shown: numbers, and times. */
#ifndef BITFOLD_CLI_RUNTIME_VALUE_H
#define BITFOLD_CLI_RUNTIME_VALUE_H

#include <bitfold.h>

#include <stdbool.h>

/* How numbers are held: integers of a dtype in units of 10^-scale, maybe times; or of another
 * dtype. */
typedef struct units_form {
    bf_dtype dtype;
    int scale;
    bf_time_kind time;
} units_form;

/* A value of times, an integer in units of 10^-scale seconds, has their kind above its scale. Only
 * what shows it takes such a value. */
bf_value value_of_time(bf_value value, bf_time_kind kind);
bf_time_kind value_time(const bf_value *value);

/* Writes a number as bf_value_format does, and a time as bf_time_format. */
void value_format(const bf_value *value, char text[BF_VALUE_TEXT]);

#endif
