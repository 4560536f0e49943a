/* A block of a line: its elements enter a state, and each leaves the result of its prefix. */
#ifndef BF_CPU_SCAN_BLOCK_H
#define BF_CPU_SCAN_BLOCK_H

#include "cpu/runtime/context.h"
#include "cpu/scan/loops.h"
#include "seam/scan.h"

/* Room for a block, which scanners of one thread share. */
typedef struct bf_scan_buffers {
    bf_work work;
    double results[BF_SCAN_BLOCK], cleaned[BF_SCAN_BLOCK];
    float widened[BF_SCAN_BLOCK];
    uint8_t specials[BF_SCAN_BLOCK];
} bf_scan_buffers;

/* Where the scan of a line stands. */
typedef struct bf_scanner {
    const bf_isa *isa;
    const bf_prefix *prefix;
    bf_scan_buffers *buffers;
    int64_t words[BF_STATE_WORDS_SMALL]; /* the state of what came before, carried; but where the
                                            next two say so, what it makes is there */
    bool windowed;                       /* a sum of floats is in the window */
    bool wide;                           /* no window held the last block */
    bool known;                          /* an integer or an extreme that fits is in `last` */
    bf_scan_window window;
    uint64_t last;
} bf_scanner;

/* Makes a scanner of blocks; then it stands before a line. words: the state of what came before it
 * (NULL: nothing did). */
void bf_scanner_init(bf_scanner *scanner, const bf_isa *isa, const bf_prefix *prefix,
                     bf_scan_buffers *buffers);
void bf_scanner_begin(bf_scanner *scanner, const int64_t *words);

/* Writes the result of what came before. Errors: BF_E_EMPTY, BF_E_OVERFLOW, without a message. */
bf_status bf_scanner_stand(bf_scanner *scanner, void *value);

/* Scans n <= BF_SCAN_BLOCK elements, which follow those before; values are maybe the elements.
 * Errors as above. */
bf_status bf_scanner_run(bf_scanner *scanner, const void *elements, void *values, int64_t n);

/* ---- sum.c, integer.c, extreme.c: what it calls ---------------------------------------------- */

/* A sum of floats. */
void bf_scan_sums(bf_scanner *scanner, const char *elements, char *values, int64_t n);
/* A sum or a product of integers of up to 64 bits that is known. False: a result does not fit. */
bool bf_scan_integers(bf_scanner *scanner, const void *elements, void *values, int64_t n);
/* A minimum or maximum that is known, of elements of up to 64 bits. */
void bf_scan_extremes(bf_scanner *scanner, const void *elements, void *values, int64_t n);

#endif
