/* A block of a line: its elements enter a state, and each leaves the result of its prefix. */
#ifndef BF_CPU_SCAN_BLOCK_H
#define BF_CPU_SCAN_BLOCK_H

#include "cpu/runtime/context.h"
#include "seam/scan.h"

enum { BF_SCAN_BLOCK = 1024 }; /* elements that are taken at a time */

/* Where the scan of a line stands. */
typedef struct bf_scanner {
    const bf_isa *isa;
    const bf_prefix *prefix;
    bool exclusive;
    int64_t words[BF_STATE_WORDS_SMALL]; /* the state of what came before, carried */
    bf_work work;
} bf_scanner;

/* Stands before a line; words: the state of what came before it (NULL: nothing did). */
void bf_scanner_begin(bf_scanner *scanner, const bf_isa *isa, const bf_scan_job *job,
                      const int64_t *words);

/* Scans n <= BF_SCAN_BLOCK elements, which follow those before; values are maybe the elements.
 * Errors: BF_E_EMPTY, BF_E_OVERFLOW, without a message. */
bf_status bf_scanner_run(bf_scanner *scanner, const void *elements, void *values, int64_t n);

#endif
