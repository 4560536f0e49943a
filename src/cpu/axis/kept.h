/* Many states as their words: of the reductions that accumulators have not, which are argmin,
 * argmax, prod, dot and describe. */
#ifndef BF_CPU_AXIS_KEPT_H
#define BF_CPU_AXIS_KEPT_H

#include "cpu/axis/axis.h"

/* The words of states, `stride` of each. Of a product of floats, which begins with a whole leaf,
 * these are the words in use (bf_product_tree_used). */
typedef struct bf_kept {
    bf_reduction op;
    bf_dtype dtype;
    bf_kind kind;
    size_t count, stride;
    int64_t *words;
} bf_kept;

/* Makes empty states. false: there is no memory. */
bool bf_kept_open(bf_kept *kept, bf_reduction op, bf_dtype dtype, int64_t count);
void bf_kept_close(bf_kept *kept);
void bf_kept_reset(bf_kept *kept);

/* Absorbs rows whose places have been checked. Errors, after which nothing has changed:
 * BF_E_MEMORY, BF_E_OVERFLOW (an index beyond 2^62). */
bf_status bf_kept_absorb(bf_context *context, bf_kept *kept, size_t first, const void *a,
                         const void *b, const bf_rows *rows);

/* Merges states, or (append) those whose indices follow. Errors, after which nothing has changed:
 * BF_E_STATE, BF_E_OVERFLOW, BF_E_MEMORY. */
bf_status bf_kept_merge(bf_context *context, bf_kept *into, const bf_kept *from, bool append);

/* Sets the index of the next element of each state, of a reduction that has indices. */
bf_status bf_kept_seek(bf_context *context, bf_kept *kept, const int64_t *next);

/* Writes the results of op: the states' own, or one that describe has. */
bf_status bf_kept_result(bf_context *context, const bf_kept *kept, bf_reduction op,
                         const bf_results *results);

/* The words of a state, in full: at most BF_LINE_WORDS; and the opposite, which merges. prepare:
 * for the words of n states, which are merged one by one. */
void bf_kept_words(const bf_kept *kept, size_t i, int64_t *words);
bf_status bf_kept_prepare_words(bf_context *context, bf_kept *kept, size_t first, size_t n,
                                const int64_t *words);
void bf_kept_add_words(bf_kept *kept, size_t i, const int64_t *words);

#endif
