/* The words of an aggregate, for each of many groups or states, as sections of their saved form.
 * Limbs that are 0 (or the sign) and specials that are 0 for all are left out.
 *
 *   "specials"          of each: the counts of NaN, +inf, -inf and -0 (or with weights of invalid
 *                       pairs), or of NaN for a minimum or maximum (i64); no elements if all of
 *                       them are 0
 *   "rank"              of a minimum or maximum (i64 or i128), or
 *   "sum", "squares"    the limbs of each sum, from the first that is saved on (u32); of a joint
 *                       kind those of its parts, by their names
 *
 * Words that are kept as they are have one section instead, "words" (i64): those of one state after
 * the other, without the first, which is the count. Of a product of floats they are those in use.
 */
#ifndef BF_API_REDUCE_SAVED_WORDS_H
#define BF_API_REDUCE_SAVED_WORDS_H

#include "api/runtime/saved.h"
#include "rules/reduce/state.h"
#include <bitfold/group.h>

/* The limbs of a sum begin at word `at`; limbs [first, end) are saved, at `offset`. */
typedef struct bf_saved_band {
    int at, limbs;
    int first, end;
    size_t offset;
} bf_saved_band;

typedef struct bf_saved_words {
    bf_aggregate aggregate;
    bf_kind kind;
    bool kept;
    int words;         /* how many words a group has */
    int64_t used;      /* kept: words in all that are saved */
    int specials_most; /* number of specials that the kind counts */
    int specials;      /* number of counts that are saved: all, or 0 */
    int count;         /* bands */
    bf_saved_band bands[BF_PARTS_MOST];
    size_t specials_offset, rank_offset, used_offset;
} bf_saved_words;

/* Groups or states [0, n) whose words are saved: reads those of [at, at + n). */
typedef struct bf_words_source {
    int64_t n;
    const void *of;
    int which;      /* aggregate */
    int64_t *batch; /* memory of bf_saved_words_batch bytes; NULL: each pass takes its own */
    bf_status (*words)(const struct bf_words_source *source, int64_t at, int64_t n, int64_t *words);
} bf_words_source;

/* Returns the layout for no groups. `words` are those of a group. */
bf_saved_words bf_saved_words_of(bf_aggregate aggregate, int words, bool kept);

/* Returns the bytes that a pass over n of them needs. */
size_t bf_saved_words_batch(const bf_saved_words *packed, int64_t n);

/* Reads all words and sets the layout. Errors: BF_E_MEMORY, and those of source->words. */
bf_status bf_saved_words_plan(bf_context *context, const bf_words_source *source,
                              bf_saved_words *packed);
/* The numbers that tell the layout: op, dtype, the first limbs of each band; how many. Those that
 * are no joint kind, or are kept, have BF_SAVED_WORDS_NUMBERS. */
enum { BF_SAVED_WORDS_NUMBERS = 4, BF_SAVED_WORDS_NUMBERS_MOST = 2 + BF_PARTS_MOST };
static inline int bf_saved_words_numbers(const bf_saved_words *packed) { return 2 + packed->count; }
void bf_saved_words_tell(const bf_saved_words *packed, int numbers[]);
/* Adds the sections. bf_saved_words_put then reads all words again and puts them there; counts
 * (NULL: they are elsewhere) becomes the first word of each, which may be misaligned. */
void bf_saved_words_add(bf_saved_words *packed, bf_saving *saving, int64_t n);
bf_status bf_saved_words_put(bf_context *context, const bf_words_source *source,
                             const bf_saved_words *packed, uint8_t *out, uint8_t *counts);

/* The layout of a column that is read, and the least one of the words that came. */
typedef struct bf_loaded_words {
    bf_saved_words layout, least;
    const uint8_t *in;
    int64_t next; /* kept: the word that comes next */
} bf_loaded_words;

/* Finds the sections of n groups, which the numbers tell. */
void bf_loaded_words_find(bf_loaded_words *column, bf_saved_words of, const int numbers[],
                          bf_loading *loading, int64_t n);
/* Reads the words of group i; groups are read in turn. Returns false if no state has such words. */
bool bf_loaded_words_get(bf_loaded_words *column, int64_t i, int64_t rows, int64_t *words);
/* All groups were read: is the layout the one that they need? So equal groups have equal forms. */
bool bf_loaded_words_is_least(bf_loaded_words *column);

#endif
