/* What the parts of the engine share: one input or two in step, and blocks of their elements. */
#ifndef BITFOLD_CLI_RUNTIME_ENGINE_PARTS_H
#define BITFOLD_CLI_RUNTIME_ENGINE_PARTS_H

#include "runtime/engine.h"

typedef struct pair {
    source *a, *b; /* b is NULL for a reduction of one input */
} pair;

/* Bytes that one step over the inputs reads. */
int64_t pair_bytes(const pair *in);

/* A block of each input. */
typedef struct block {
    const void *a, *b; /* what block_view found */
    int64_t n, m;      /* elements of a and of b (where there is no b: n again) */
    int64_t room;      /* elements of each buffer */
    void *buffers[2];
} block;

/* A source that could not be read: what source_view got, and errno. */
typedef struct trouble {
    const source *source; /* NULL: none */
    int64_t got;
    int error;
} trouble;

/* Room for `most` elements (-1: any number), or for a full block if that is less. False if there is
 * no memory; free it in either case. */
bool block_alloc(block *x, const engine *e, const pair *in, int64_t most);
void block_free(block *x);

/* Views elements from `at` on, up to `end` (-1: to the end of the streams). */
trouble block_view(block *x, const pair *in, int64_t at, int64_t end);
bf_status block_absorb(const block *x, const pair *in, bf_state *state);

/* Makes sure that contexts 0 to n - 1 are there. */
int engine_need_contexts(engine *e, int n);

int reduce_files(engine *e, bf_reduction op, const pair *in, int64_t start, bf_state **state);
int reduce_text(engine *e, bf_reduction op, const source *s, int64_t start, bf_state **states);
int reduce_stream(engine *e, bf_reduction op, const pair *in, int64_t start, bf_state **state);

#endif
