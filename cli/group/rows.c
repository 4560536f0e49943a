#include "group/rows.h"

enum { FEW_GROUPS = 1 << 15, BATCH = 1 << 17, BATCH_OF_MANY = 1 << 22 };

rows_options group_rows(const options *o, int inputs, spool_limit *keep) {
    return (rows_options){.threads = o->threads,
                          .settled = true,
                          .ordered = true,
                          .unchanging = true,
                          .keep = keep,
                          .memory = o->memory.input / inputs};
}

int64_t group_batch(const options *o, const bf_groups *groups, int inputs) {
    if (options_gpu(o->device) || bf_groups_size(groups) >= FEW_GROUPS) return BATCH_OF_MANY;
    return inputs > 1 ? BATCH : 0;
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
