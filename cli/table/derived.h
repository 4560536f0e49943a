/* A key of a join that is an expression of the columns of its side. */
#ifndef BITFOLD_CLI_TABLE_DERIVED_H
#define BITFOLD_CLI_TABLE_DERIVED_H

#include "table/computed.h"
#include "work/units.h"

typedef struct derived_key {
    join_computed computed;
    units_form form; /* what it is; of strings, BF_NONE */
    buffer places, numbers, valid;
    rows_view view; /* shows it of the rows at hand */
} derived_key;

/* Functions that return an exit code have reported the failure. */

/* Parses the expression, if key k of side s is one, for what the columns are now. Close it in
 * either case. */
int derived_parse(derived_key *key, const struct join_tables *tables, int s, int k);
void derived_close(derived_key *key);

static inline bool derived_is_parsed(const derived_key *key) { return key->computed.tables; }

/* Computes it for the rows of a chunk of its side, which have these numbers (NULL: from 0 on). Its
 * form may become wider. */
int derived_compute(derived_key *key, int s, const rows_chunk *chunk, const int64_t *numbers);

#endif
