/* Integers in units of a power of ten: those that are held in different ways become BF_I128. */
#ifndef BITFOLD_CLI_WORK_UNITS_H
#define BITFOLD_CLI_WORK_UNITS_H

#include <bitfold/types.h>

#include <stdbool.h>
#include <stdint.h>

/* How numbers are held: integers of a dtype in units of 10^-scale; or of another dtype. */
typedef struct units_form {
    bf_dtype dtype;
    int scale;
} units_form;

/* Sets *into to the form that holds numbers of both. False: there is none. */
bool units_join(units_form *into, units_form other);

/* Writes n numbers of one form as those of another that was joined from it, maybe in place. False:
 * 128 bits do not hold one of them. */
bool units_bring(units_form from, const void *numbers, int64_t n, units_form to, void *out);

#endif
