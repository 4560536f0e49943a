/* Sums of short contiguous stretches, many at once. */
#ifndef BF_CPU_AXIS_STRETCHES_H
#define BF_CPU_AXIS_STRETCHES_H

#include "cpu/axis/axis.h"

/* Longer stretches, in elements, are taken one by one: their totals might not fit. */
enum { BF_STRETCH_MOST = 1 << 14 };

/* Are there loops for the job's operation? */
bool bf_can_take_stretches(const bf_axis_job *job);
/* The bytes of taker->more that bf_reduce_stretches needs. */
size_t bf_stretches_room(const bf_axis_job *job);
/* Reduces stretches of at most BF_STRETCH_MOST elements to results from `number` on. There are
 * loops for it. */
void bf_reduce_stretches(bf_axis_job *job, bf_taker *taker, const bf_stretches *x, int64_t number);

#endif
