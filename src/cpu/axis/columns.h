/* Sums of the columns of a matrix. */
#ifndef BF_CPU_AXIS_COLUMNS_H
#define BF_CPU_AXIS_COLUMNS_H

#include "cpu/axis/axis.h"

enum { BF_COLUMNS_MOST = 1024 }; /* so many are taken at once */

/* The bytes of taker->more that bf_reduce_columns needs. */
size_t bf_columns_room(const bf_axis_job *job);
/* Reduces at most BF_COLUMNS_MOST columns to results number, number + step, ... There are loops for
 * it: bf_axis_sums_of (window.h). */
void bf_reduce_columns(bf_axis_job *job, bf_taker *taker, const bf_columns *x, int64_t number,
                       int64_t step);

#endif
