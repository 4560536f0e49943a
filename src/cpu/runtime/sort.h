/* Sorting keys with their values: a radix sort that keeps the order of equal keys, and of which
 * nothing depends on the threads. */
#ifndef BF_CPU_RUNTIME_SORT_H
#define BF_CPU_RUNTIME_SORT_H

#include "cpu/runtime/context.h"

enum {
    BF_DIGIT_BITS = 11, /* the size of the digit that distributes keys */
    BF_SORT_FEW = 32,   /* keys that are sorted by insertion */
    BF_SORT_MANY = 1024 /* below which digits have 8 bits */
};

/* The loops for a width of keys and one of values: instances of sort_loops.h. */
typedef struct bf_sort_loops {
    /* Turns n keys into their ranks; ORs them into all[0..1], ANDs them into common[0..1]. */
    void (*rank)(bf_dtype dtype, int64_t n, char *keys, uint64_t *all, uint64_t *common);
    /* Turns n ranks into their keys. */
    void (*unrank)(bf_dtype dtype, int64_t n, char *ranks);
    /* Adds the number of ranks with each digit (of BF_DIGIT_BITS, from bit `shift` on) to counts.
     */
    void (*count)(const char *ranks, int64_t n, int shift, uint32_t *counts);
    /* Copies n ranks and values: those with digit d to index at[d], which moves on. */
    void (*distribute)(const char *ranks, const char *values, int64_t n, int shift, int64_t *at,
                       char *to_ranks, char *to_values);
    /* Sorts n ranks and values by the low `bits` bits of the ranks: in place, or (true) into as
     * much scratch memory. The bits above are equal. */
    bool (*sort)(char *ranks, char *values, int64_t n, int bits, char *scratch_ranks,
                 char *scratch_values);
} bf_sort_loops;

/* The memory for sorting n > 0 keys of a dtype of tables (rules/key/rank.h), with values of 4, 8 or
 * 16 bytes (0: none): made before there is anything to sort, so that sorting cannot fail. NULL: no
 * memory, with a message. */
typedef struct bf_sorting bf_sorting;
bf_sorting *bf_sorting_create(bf_context *context, bf_dtype key, int value_bytes, int64_t n);
void bf_sorting_destroy(bf_sorting *sorting);
/* Sorts by key, with the values (NULL if there are none). Errors: BF_E_CANCELLED; then keys and
 * values are undefined. */
bf_status bf_sorting_run(bf_context *context, bf_sorting *sorting, char *keys, char *values);

/* Sorts n > 0 ranks of 4, 8 or 16 bytes (two uint64_t, the first of which counts most), with values
 * of 4, 8 or 16 (0: none). Errors: BF_E_MEMORY; they are as they were. BF_E_CANCELLED; they are
 * undefined. */
bf_status bf_sort_ranks(bf_context *context, int rank_bytes, int value_bytes, int64_t n,
                        char *ranks, char *values);

#endif
