#include "group/rows.h"

rows_options group_rows(const options *o, int inputs, spool_limit *keep) {
    return (rows_options){.threads = o->threads,
                          .settled = true,
                          .ordered = true,
                          .unchanging = true,
                          .keep = keep,
                          .memory = o->memory.input / inputs};
}

bf_dtype group_key(const bf_groups *groups) {
    bf_groups_options kind = {.size = sizeof kind};
    bf_groups_describe(groups, &kind);
    return kind.key;
}

bf_array group_array(const rows *r, const rows_chunk *chunk, int column) {
    const rows_column *c = &chunk->columns[column];
    return bf_array_of(rows_dtype(r, column), c->as[__builtin_ctz(c->can)], chunk->n);
}
