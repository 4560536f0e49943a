/* The engine: from sources to a state, at the speed of the memory.
 *
 * A file, mapped into memory, is cut into one contiguous range a thread; each thread absorbs its
 * range block by block into a state of its own; the states are merged in order. A stream is read by
 * one thread into one of two buffers while the other is absorbed. Text is cut the same way, at the
 * ends of lines. A GPU takes everything in larger blocks, from one thread. */
#ifndef BITFOLD_CLI_RUNTIME_ENGINE_H
#define BITFOLD_CLI_RUNTIME_ENGINE_H

#include "input/source.h"

#include <bitfold.h>

typedef struct engine {
    const char *device;
    bool gpu; /* one context does all the work, on a GPU */
    const char *isa;
    int threads;           /* as many as may be used */
    int used;              /* by the last engine_reduce */
    int64_t bytes;         /* read by the last engine_reduce */
    bf_context **contexts; /* one a thread, made when first needed */
} engine;

int engine_open(engine *e, const char *device, const char *isa, int threads);
void engine_close(engine *e);

/* Context 0: for states that are loaded, merged or read. */
bf_context *engine_context(const engine *e);

/* Whether the state of op depends on where its elements stand. */
bool engine_is_ordered(bf_reduction op);

/* The states that a source gives: one for each column of text, otherwise 1. */
int engine_columns(const source *s);

/* Reduces a (for BF_DOT: with b, otherwise NULL) into new states, which begin as NULL; the first
 * element selected has the index start. Both sources are prepared. The states are the caller's to
 * destroy, before the engine closes. */
int engine_reduce(engine *e, bf_reduction op, source *a, source *b, int64_t start,
                  bf_state **states);

#endif
