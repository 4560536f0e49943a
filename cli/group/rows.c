#include "group/rows.h"

rows_options group_rows(const options *o, int inputs, spool_limit *keep) {
    return (rows_options){.threads = o->threads,
                          .settled = true,
                          .ordered = true,
                          .unchanging = true,
                          .keep = keep,
                          .memory = o->memory.input / inputs};
}

bf_array group_array(const rows *r, const rows_chunk *chunk, int column) {
    const rows_column *c = &chunk->columns[column];
    return bf_array_of(rows_dtype(r, column), c->as[__builtin_ctz(c->can)], chunk->n);
}
