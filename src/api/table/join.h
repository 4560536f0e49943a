/* Joins: what those in memory and those beyond it share. */
#ifndef BF_API_TABLE_JOIN_H
#define BF_API_TABLE_JOIN_H

#include <bitfold/group.h>

#include "api/runtime/flat.h"
#include "rules/table/entry.h"
#include "seam/table.h"

struct bf_pairs {
    int64_t size;
    const int64_t *a, *b;
    int64_t *memory; /* it holds both; NULL: they are files (base/spill/spool.h) */
};

typedef struct bf_joining {
    bf_context *context;
    const bf_backend *on;       /* runs the join */
    const bf_table_backend *by; /* its functions for tables */
    bf_dtype dtype;             /* the keys' */
    uint64_t seed;
    bf_flat a, b;
} bf_joining;

/* ---- keys for tables --------------------------------------------------------------------------
 */

/* Returns the dtype in which keys are looked up: of equal keys, in any order. Narrow ones are
 * widened. */
static inline bf_dtype bf_join_dtype(bf_dtype dtype) {
    if (dtype == BF_I128) return BF_PAIR;
    if (bf_key_bytes(dtype) >= 4) return dtype;
    return bf_dtype_is_float(dtype) ? BF_F32 : BF_I32;
}

/* The bits of a narrow key, widened. */
static inline uint32_t bf_join_wide(bf_dtype dtype, uint64_t bits) {
    if (dtype == BF_F16) return bf_f16_to_f32((uint16_t)bits);
    if (dtype == BF_BF16) return (uint32_t)bits << 16;
    return (uint32_t)bf_order_rank(dtype, bits);
}

/* ---- join.c ---------------------------------------------------------------------------------- */

/* Makes an empty multimap of rows by key. Errors: BF_E_MEMORY. */
bf_status bf_join_make_table(const bf_joining *j, void **table);

/* ---- join_spilled.c: more rows or pairs than memory holds ------------------------------------ */

/* Joins keys of the host's memory, neither side of which is empty. Errors also: BF_E_IO. */
bf_status bf_join_spilled(const bf_joining *j, bf_pairs **pairs);

#endif
