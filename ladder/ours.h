/* Our rungs: the library's calls, the same on every machine. */
#ifndef BITFOLD_LADDER_OURS_H
#define BITFOLD_LADDER_OURS_H

#include "ladder/ladder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As ladder_rung's run. Those whose result is on the host wait for it. */
const char *ladder_ours_reduce(const ladder_task *task);
const char *ladder_ours_reduce_to_host(const ladder_task *task);
const char *ladder_ours_scan(const ladder_task *task);
const char *ladder_ours_add(const ladder_task *task);
const char *ladder_ours_dot(const ladder_task *task);
const char *ladder_ours_dot_to_host(const ladder_task *task);
const char *ladder_ours_histogram(const ladder_task *task);
const char *ladder_ours_julia(const ladder_task *task);
const char *ladder_ours_table(const ladder_task *task);
const char *ladder_ours_find(const ladder_task *task);

#ifdef __cplusplus
}
#endif
#endif
