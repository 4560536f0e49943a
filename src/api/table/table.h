/* The inside of a table. */
#ifndef BF_API_TABLE_TABLE_H
#define BF_API_TABLE_TABLE_H

#include "seam/backend.h"
#include "seam/table.h"
#include <bitfold/table.h>

struct bf_table {
    bf_context *context;
    const bf_backend *on;
    const bf_table_backend *by; /* its functions for tables */
    bf_table_kind kind;
    int64_t reserved; /* entries that the caller reserved room for */
    void *inside;     /* belongs to the backend */
};

/* Does as bf_table_create, for callers that have entered the context (enter.h). */
bf_status bf_table_make(bf_context *context, const bf_table_options *options, bf_table **table);

#endif
