/* Arrays that loops read row by row. Their lines are fetched ahead a few at a time, between other
 * work: many at once would stall. */
#ifndef BF_CPU_RUNTIME_STREAM_H
#define BF_CPU_RUNTIME_STREAM_H

#include "cpu/runtime/context.h"

enum {
    BF_STREAM_ROWS = 8,    /* rows whose lines are fetched at once */
    BF_STREAM_AHEAD = 4096 /* bytes from a row to what is fetched with it */
};

typedef struct bf_stream {
    const char *at;
    int64_t bytes; /* the size of a row, at most 16; 0: there is nothing to fetch */
} bf_stream;

static inline bf_stream bf_stream_none(void) { return (bf_stream){NULL, 0}; }

static inline bf_stream bf_stream_from(bf_stream s, int64_t row) {
    if (s.bytes > 0) s.at += row * s.bytes;
    return s;
}

/* Fetches what BF_STREAM_ROWS rows from `row` on need, ahead. */
static inline void bf_stream_fetch(bf_stream s, int64_t row) {
    if (s.bytes == 0) return;
    const char *at = s.at + row * s.bytes + BF_STREAM_AHEAD;
    __builtin_prefetch(at);
    if (s.bytes * BF_STREAM_ROWS > BF_CPU_LINE) __builtin_prefetch(at + BF_CPU_LINE);
}

#endif
