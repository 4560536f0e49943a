/* The strings of a tile, one by one. */
#ifndef BF_CPU_EXPRESSION_READER_H
#define BF_CPU_EXPRESSION_READER_H

#include "cpu/expression/expression.h"

typedef struct bf_expression_reader {
    const bf_expression_span *spans;
    const int64_t *offsets; /* where the strings are no spans; NULL: there is one */
    const char *bytes;
    bf_expression_span one;
} bf_expression_reader;

/* Opens n strings. room: for n + 1 offsets, which become aligned i64. */
static inline void bf_expression_open(const bf_expression_text *x, bf_expression_reader *to,
                                      void *room, int64_t n) {
    int64_t *offsets = room;
    *to = (bf_expression_reader){.spans = x->spans, .bytes = x->bytes, .one = {x->bytes, x->size}};
    if (x->offsets == NULL) return;
    to->offsets = x->wide ? (const void *)x->offsets : room;
    if (x->wide && (uintptr_t)x->offsets % _Alignof(int64_t) == 0) return;
    to->offsets = offsets;
    for (int64_t i = 0; i <= n; i++)
        offsets[i] = x->wide ? (int64_t)bf_load_bits(x->offsets + 8 * i, 8)
                             : (int32_t)bf_load_bits(x->offsets + 4 * i, 4);
}

static inline bf_expression_span bf_expression_read(const bf_expression_reader *x, int64_t i) {
    if (x->spans != NULL) return x->spans[i];
    if (x->offsets == NULL) return x->one;
    return (bf_expression_span){x->bytes + x->offsets[i], x->offsets[i + 1] - x->offsets[i]};
}

#endif
