/* Columns without windows: sums of integers, and extremes of any dtype. */
#ifndef BF_CPU_AXIS_INTEGERS_H
#define BF_CPU_AXIS_INTEGERS_H

#include "cpu/axis/axis.h"

/* Are there loops for the job's operation? */
bool bf_can_take_integers(const bf_axis_job *job);
/* As bf_reduce_columns (columns.h). */
void bf_reduce_integers(bf_axis_job *job, bf_taker *taker, const bf_columns *x, int64_t number,
                        int64_t step);

#endif
