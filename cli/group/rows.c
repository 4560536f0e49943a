#include "group/rows.h"

#include "work/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLED = 1 << 12, MET = 1 << 6, ROWS_LEAST = 1 << 20 };

rows_options group_rows(const options *o, int inputs, spool_limit *keep) {
    return (rows_options){.threads = o->threads,
                          .settled = true,
                          .digits = BF_SCALE_MOST_I128,
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

input group_input(const options *o) {
    input in = o->input;
    in.text.counted = true;
    in.text.mixed = ranks_count() == 1;
    return in;
}

char *group_key_name(const rows *r, int column) {
    const text_input *t = r->source.text;
    return t && t->layout.names ? strdup(t->layout.names[column]) : NULL;
}

bf_array group_array(const rows *r, const rows_chunk *chunk, int column) {
    const rows_column *c = &chunk->columns[column];
    return bf_array_of(rows_dtype(r, column), c->as[__builtin_ctz(c->can)], chunk->n);
}

bool group_keys_are_new(bf_context *context, rows *r) {
    source *s = &r->source;
    const size_t bytes = source_element(s);
    int64_t different = 0, got;
    char element[16];
    if (s->text || !s->data || s->reorder || s->count < ROWS_LEAST) return false;
    char *sample = malloc(SAMPLED * bytes);
    for (int64_t i = 0; sample && i < SAMPLED; i++)
        memcpy(sample + (size_t)i * bytes, source_view(s, s->count / SAMPLED * i, 1, element, &got),
               bytes);
    const bf_array keys = bf_array_of(rows_dtype(r, 0), sample, SAMPLED);
    const bool counted = sample && bf_unique(context, &keys, NULL, NULL, NULL, &different) == BF_OK;
    free(sample);
    return counted && SAMPLED - different <= MET;
}
