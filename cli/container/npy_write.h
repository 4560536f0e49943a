/* The header of a .npy file, as np.save writes it. */
#ifndef BITFOLD_CLI_CONTAINER_NPY_WRITE_H
#define BITFOLD_CLI_CONTAINER_NPY_WRITE_H

#include "container/npy.h"

enum { NPY_WRITE_MAX = 2048 }; /* bytes that hold any header */

/* Writes the header of an array of this dtype, order and shape (h's other members do not count) and
 * returns its size, a multiple of 64. The size does not depend on the first extent, so that a
 * header can be written anew when that is known. bf16, which NumPy does not have, is <V2, as its
 * users write it. */
size_t npy_write_header(const npy_header *h, char out[NPY_WRITE_MAX]);

/* A time as NumPy has it: days of dates; else the widest of seconds, milli-, micro- and nanoseconds
 * that have the scale. False: 64 bits do not hold it. */
bool npy_time_units(const bf_value *value, bf_time_kind time, int scale, int64_t *units);

/* Writes a dtype, as "<f8", with a zero behind it, and returns its length; and that of times. */
int npy_write_time(char *out, bf_time_kind time, int scale);
int npy_write_dtype(char *out, bf_dtype dtype);

#endif
