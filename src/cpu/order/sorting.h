/* Sorting on the CPU: the loops of an instruction set, and what the files of this folder share.
 *
 * Elements are sorted by their places in the order (rules/key/order.h), which are words: unsigned
 * numbers of 4 bytes (dtypes of up to 4), or of 8. */
#ifndef BF_CPU_ORDER_SORTING_H
#define BF_CPU_ORDER_SORTING_H

#include "base/spill/spool.h"
#include "cpu/runtime/context.h"
#include "seam/order.h"

/* How elements of a dtype become places: bf_order_place as two words, one of which is XORed. */
typedef struct bf_order_code {
    uint64_t negative, other; /* with elements whose highest bit is set, and with others */
    uint64_t nan;             /* NaNs are above, when shifted left by one bit */
    uint64_t nan_place;
    uint64_t most; /* for dtypes of one byte, the greatest element: for bools 1 */
} bf_order_code;

/* The code of words that are the places themselves. */
static const bf_order_code bf_order_no_code = {0, 0, ~(uint64_t)0, ~(uint64_t)0, ~(uint64_t)0};

bf_order_code bf_order_code_of(bf_dtype dtype, bf_order order);
static inline bool bf_order_has_nans(const bf_order_code *code, int bytes) {
    return code->nan != ~(uint64_t)0 >> (64 - 8 * bytes);
}

/* Are elements their places? */
static inline bool bf_order_is_place(const bf_order_code *code, int bytes) {
    return code->negative == 0 && code->other == 0 && !bf_order_has_nans(code, bytes);
}

enum {
    BF_ORDER_FAR = 32,         /* elements by which random reads are fetched ahead */
    BF_ORDER_LEAST = 1 << 15,  /* so many elements are worth a thread, if each works by itself */
    BF_ORDER_SHARE = 1 << 20,  /* bytes of words that are, if threads sort them together */
    BF_ORDER_LONG = 1 << 15,   /* elements that are sorted as many */
    BF_ORDER_WHOLE = 1 << 26,  /* words that are sorted without dividing them first */
    BF_ORDER_COUNTED = 1 << 7, /* elements of one byte that are sorted by counting */
    BF_ORDER_SLACK = 16,       /* words behind what a loop finds, which it may write to */
};

typedef struct bf_order_range {
    uint64_t least, most, differing;
} bf_order_range;

/* The loops over elements of a width: instances of element_loops.h. Memory is of any alignment. */
typedef struct bf_order_element_loops {
    /* Writes the places of the elements that are no NaN to words, maybe `from` itself if they are
     * as wide, and the NaNs as they are to nans (room for n). Returns the number of the former. */
    int64_t (*split)(const bf_order_code *code, const char *from, int64_t n, char *words,
                     char *nans);
    /* Turns n words into elements; `to` may be the words. */
    void (*join)(const bf_order_code *code, const char *words, int64_t n, char *to);
    /* Writes the places of all elements, of floats those of groups' keys, to words. */
    void (*keys)(const bf_order_code *code, const char *from, int64_t n, char *words);
    /* Returns between what the places of n > 0 elements are, and the bits in which they differ. */
    bf_order_range (*range)(const bf_order_code *code, const char *from, int64_t n);
    /* Writes words[i] = (place - least) >> shift << bits | (first + i). */
    void (*pack)(const bf_order_code *code, const char *from, int64_t n, uint64_t least, int shift,
                 int bits, int64_t first, char *words);
    /* Writes the elements at the places least + (words[i] >> bits << shift). */
    void (*unpack)(const bf_order_code *code, const char *words, int64_t n, uint64_t least,
                   int shift, int bits, char *to);
    /* Returns whether n > 0 elements are in order. */
    bool (*ordered)(const bf_order_code *code, const char *from, int64_t n);
    /* Writes for each of m wanted elements (i64) how many of n sorted ones are before it. */
    void (*search)(const bf_order_code *code, const char *sorted, int64_t n, const char *wanted,
                   int64_t m, bool right, char *places);
    /* Sorts lines of n elements, at most `few`, to `to`, maybe `from`. Returns how many lines are
     * before the first one with a NaN, which it leaves alone. NULL: there is no such loop. */
    int64_t (*lines)(const bf_order_code *code, const char *from, int64_t n, int64_t count,
                     char *to);
    int64_t few;
} bf_order_element_loops;

/* The loops over words of a width: instances of word_loops.h. */
typedef struct bf_order_word_loops {
    /* Sorts n words in place, and turns them into elements. Needs scratch memory of n words, or of
     * scratch_most. */
    void (*sort)(const bf_order_code *code, char *words, char *scratch, int64_t n);
    int64_t scratch_most;
    /* Returns a word such that some of n > 0 words are below it, and some are not; or, perhaps, any
     * if most are equal. */
    uint64_t (*pivot)(const char *words, int64_t n);
    /* Moves the words below the pivot to the begin. Returns their number. */
    int64_t (*partition)(char *words, int64_t n, uint64_t pivot);
    /* Returns how many of n words differ from the word before them; there is one before the first.
     */
    int64_t (*count_steps)(const char *words, int64_t n);
    /* Writes each of these words, and its number (i64) if the first one's is `first`. Needs room
     * for BF_ORDER_SLACK more than there are. Returns how many. */
    int64_t (*steps)(const char *words, int64_t n, int64_t first, char *to, char *begins);
} bf_order_word_loops;

typedef struct bf_order_loops {
    bf_order_element_loops element[5]; /* for 1, 2, 4 and 8 bytes; for the first words of pairs */
    bf_order_word_loops word[2];       /* for 4 and 8 bytes */
} bf_order_loops;

/* What elements of a dtype are sorted with. */
typedef struct bf_order_sorter {
    const bf_order_element_loops *element;
    const bf_order_word_loops *word, *word8; /* the loops of its words; those of 8 bytes */
    bf_order_code code;
    int bytes, word_bytes; /* the size of elements, and of their words */
    bool nan_first;
} bf_order_sorter;

bf_order_sorter bf_order_sorter_of(const bf_context *context, bf_dtype dtype, bf_order order);

/* The threads that sort n words together. */
int bf_order_workers(const bf_context *context, int word_bytes, int64_t n);
/* Makes the sorter of the keys of groups (rules/key/rank.h), ascending. */
bf_order_sorter bf_order_sorter_of_keys(const bf_context *context, bf_dtype dtype);

/* Scratch memory: large pages where that saves more than clearing them costs. */
void *bf_order_alloc(size_t bytes);

/* --- sort.c: the values of one line, by one thread or by all of a context --- */

/* Bytes of scratch memory for a line of n elements. */
size_t bf_order_line_bytes(const bf_order_sorter *s, int64_t n);
/* Sorts `count` lines of n elements, one after the other, to `to`, maybe `from`. */
void bf_order_short_lines(const bf_order_sorter *s, const char *from, int64_t n, int64_t count,
                          char *to, char *scratch);
/* Sorts up to BF_ORDER_LONG elements (of 4 bytes or more: any number) to `to`, maybe `from`. */
void bf_order_line(const bf_order_sorter *s, const char *from, int64_t n, char *to, char *scratch);
bf_status bf_order_long_line(bf_context *context, const bf_order_sorter *s, const char *from,
                             int64_t n, char *to, char *scratch);

/* --- divide.c: many words or elements, by all threads of a context --- */

/* Bytes of scratch memory for n elements: at most as many words. */
size_t bf_order_divide_bytes(const bf_context *context, const bf_order_sorter *s, int64_t n);
/* Sorts n elements of 4 or 8 bytes to `to`, maybe `from`. Tells the watch `bytes`. Errors:
 * BF_E_MEMORY, and nothing is written; BF_E_CANCELLED. */
bf_status bf_order_divide(bf_context *context, const bf_order_sorter *s, int64_t bytes,
                          const char *from, int64_t n, char *to, char *scratch);

/* --- count.c: elements of one or two bytes, by counting --- */

void bf_order_count_bytes(const bf_order_sorter *s, const char *from, int64_t n, char *to);
bf_status bf_order_count_long(bf_context *context, const bf_order_sorter *s, const char *from,
                              int64_t n, char *to);

/* --- index.c: positions --- */

/* Bytes of scratch memory for the positions of n elements. */
size_t bf_order_index_bytes(int64_t n);
/* Writes the positions (i64) of n elements in order, and the elements to `to` (NULL: none; maybe
 * `from`). */
void bf_order_index(const bf_order_sorter *s, const char *from, int64_t n, char *to, char *index,
                    char *scratch);
bf_status bf_order_long_index(bf_context *context, const bf_order_sorter *s, const char *from,
                              int64_t n, char *to, char *index, char *scratch);

/* --- pairs.c: pairs, which no word holds: they are sorted, and neighbours compared --- */

/* Does a pair equal the one before it? */
static inline bool bf_order_same_pair(const char *pair) { return memcmp(pair - 16, pair, 16) == 0; }

bf_status bf_order_unique_pairs(bf_context *context, const void *values, int64_t n, void *keys,
                                void *counts, int64_t room, int64_t *different);
bf_status bf_order_top_pairs(bf_context *context, const bf_order_lines *lines, int64_t k,
                             void *values, void *index);
/* The results of quantiles and medians are those of BF_I128. */
bf_status bf_order_select_pairs(bf_context *context, const bf_order_lines *lines,
                                const bf_selection *selection, void *results);

/* --- take.c --- */

void bf_order_take(int bytes, const char *from, const char *index, int64_t n, char *to);
/* By all threads, which tell the watch `told` bytes; through scratch memory of n elements, if not
 * NULL: then `to` may be `from`. */
bf_status bf_order_take_long(bf_context *context, int bytes, const char *from, const char *index,
                             int64_t n, char *to, char *scratch, int64_t told);

/* --- spilled.c: more pairs than memory holds --- */

/* Sorts lines of pairs, ascending, one behind the other from the first on, to a file that is read
 * as memory. The caller closes it, also after a failure. */
bf_status bf_order_sort_pairs_to_file(bf_context *context, const bf_order_lines *lines,
                                      bf_spool *file);

/* --- the backend's functions --- */

bf_status bf_cpu_sort(bf_context *context, const bf_order_lines *lines, void *sorted, void *index);
bf_status bf_cpu_sort_rows(bf_context *context, const bf_order_lines *keys, int payloads,
                           void *const payload[], const int bytes[]);
bf_status bf_cpu_rank(bf_context *context, const bf_order_lines *lines, bf_rank_method method,
                      void *ranks);
bf_status bf_cpu_search(bf_context *context, bf_dtype dtype, bf_order order, const void *sorted,
                        int64_t n, const void *wanted, int64_t m, bool right, void *places);
bf_status bf_cpu_is_sorted(bf_context *context, bf_dtype dtype, bf_order order, const void *values,
                           int64_t n, bool *sorted);
bf_status bf_cpu_unique(bf_context *context, bf_dtype dtype, const void *values, int64_t n,
                        void *keys, void *counts, int64_t room, int64_t *different);
bf_status bf_cpu_take(bf_context *context, int bytes, const void *from, const void *index,
                      int64_t n, void *to);

#endif
