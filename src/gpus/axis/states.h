/* Many states on several GPUs: each has states of its own of the rows that it was given. They come
 * together on the first GPU when somebody looks at them. */
#ifndef BF_GPUS_AXIS_STATES_H
#define BF_GPUS_AXIS_STATES_H

#include "seam/axis.h"

bf_status bf_gpus_states_create(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                                void **states);
void bf_gpus_states_destroy(bf_context *context, void *states);
void bf_gpus_states_clear(bf_context *context, void *states);
bf_status bf_gpus_states_absorb(bf_context *context, void *states, int64_t first, const void *a,
                                const void *b, const bf_rows *rows);
bf_status bf_gpus_states_merge(bf_context *context, void *into, const void *from);
bf_status bf_gpus_states_result(bf_context *context, void *states, bf_reduction op,
                                const bf_results *results);
bf_status bf_gpus_states_counts(bf_context *context, void *states, void *counts);
bf_status bf_gpus_states_words(bf_context *context, void *states, int64_t first, int64_t n,
                               int64_t *words);
bf_status bf_gpus_states_add_words(bf_context *context, void *states, int64_t first, int64_t n,
                                   const int64_t *words);

#endif
