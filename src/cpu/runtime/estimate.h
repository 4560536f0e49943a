/* How many different keys there are, about: what a table or groups make room for. */
#ifndef BF_CPU_RUNTIME_ESTIMATE_H
#define BF_CPU_RUNTIME_ESTIMATE_H

#include "cpu/runtime/context.h"
#include "rules/key/hash.h"

/* *different: about how many different keys n > 0 keys of 4, 8 or 16 bytes are, one every `step`
 * bytes. Errors: BF_E_MEMORY. */
bf_status bf_estimate_keys(bf_context *context, bf_hash_seed seed, bf_dtype dtype, const char *keys,
                           size_t step, int64_t n, int64_t *different);

#endif
