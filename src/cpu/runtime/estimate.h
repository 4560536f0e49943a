/* An estimate of how many different keys there are, to make room for them. */
#ifndef BF_CPU_RUNTIME_ESTIMATE_H
#define BF_CPU_RUNTIME_ESTIMATE_H

#include "cpu/runtime/context.h"
#include "rules/key/hash.h"

/* Sets *different to about how many of n > 0 keys differ. Keys have 4, 8 or 16 bytes, one every
 * `step` bytes. Errors: BF_E_MEMORY, BF_E_CANCELLED. */
bf_status bf_estimate_keys(bf_context *context, bf_hash_seed seed, bf_dtype dtype, const char *keys,
                           size_t step, int64_t n, int64_t *different);

#endif
