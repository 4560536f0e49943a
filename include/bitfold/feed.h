/* Feeds: elements that a call absorbs while they are read.
 *
 *     int64_t read_pipe(void *arg, int64_t at, int64_t most, void *const to[]);
 *     bf_feed feed = BF_FEED(.arrays = 1, .dtype = {BF_F64}, .count = -1, .read = read_pipe);
 *     bf_state_absorb_feed(state, &feed);
 *
 * A file that is mapped into memory is absorbed where it lies, by all threads of the context. What
 * must be read, such as a pipe, goes through two buffers: a thread reads into one of them while the
 * other is absorbed. What all threads can read at once goes through one. */
#ifndef BITFOLD_FEED_H
#define BITFOLD_FEED_H

#include "histogram.h"
#include "options.h"
#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_feed {
    size_t size;       /* sizeof(bf_feed): see bitfold.h */
    int arrays;        /* 1 or 2: the factors of a dot product; elements and their weights */
    bf_dtype dtype[2]; /* each array's */
    int64_t count;     /* elements of each array; -1: until read returns 0 */
    /* The elements of each array, contiguous; NULL: they are read. If one is not NULL, or read is,
     * count is not -1. */
    const void *memory[2];
    /* Writes elements [at, at + n) of each array whose memory is NULL to to[i] (the other to[i] are
     * NULL), and returns n: from 1 to `most`, 0 at the end, -1 if it failed. It is called from a
     * thread of the library's, one call at a time, with `at` increasing, unless `concurrent`. */
    int64_t (*read)(void *arg, int64_t at, int64_t most, void *const to[]);
    void *arg;
    int concurrent; /* 1: the context's threads may all call read at once, for parts in any order;
                       count is not -1. Such as for a mapped file in another byte order */
} bf_feed;

/* BF_FEED(.arrays = 1, .dtype[0] = BF_F64, .count = n, .memory[0] = data). */
#define BF_FEED(...) BF_OPTIONS_OF(bf_feed, __VA_ARGS__)

/* Absorbs all elements of a feed, as bf_state_absorb (BF_DOT: bf_state_absorb_pair) would absorb
 * them from memory: ordered states too. Returns when read is not running any more, and calls it no
 * more. On failure the state is as it was. Errors: those of bf_state_absorb; BF_E_CANCELLED (read
 * failed, or the context's watch cancelled the call); BF_E_SHAPE (read returned 0 before `count`
 * elements). */
BF_API bf_status bf_state_absorb_feed(bf_state *state, const bf_feed *feed);

/* Feeds a histogram, as bf_histogram_absorb does; with weights a feed has two arrays. */
BF_API bf_status bf_histogram_absorb_feed(bf_histogram *histogram, const bf_feed *feed);

#ifdef __cplusplus
}
#endif
#endif
