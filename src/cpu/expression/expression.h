/* Expressions on the CPU: steps on tiles that stay in the nearest caches. */
#ifndef BF_CPU_EXPRESSION_EXPRESSION_H
#define BF_CPU_EXPRESSION_EXPRESSION_H

#include "cpu/expression/arena.h"
#include "cpu/map/map.h"
#include "cpu/reduce/computed.h"
#include "seam/expression.h"

#include "base/pattern.h"

enum { BF_TILE = BF_CAST_BLOCK }; /* elements that a step takes at a time */

/* Dates with 32 bits: years and days from so many eras of 400 years before 1970's on. */
enum { BF_DATE_ERAS = 1835, BF_DATE_YEARS = 400 * BF_DATE_ERAS };
#define BF_DATE_DAYS (BF_DAYS_TO_1970 + (int64_t)146097 * BF_DATE_ERAS)

/* --- the loops of an instruction set; a NULL one: the rules, element by element --- */

/* As bf_map_loop. True: some element needs the rules. */
typedef struct bf_expression_loops {
    bf_map_loop floor[BF_DTYPES], ceil[BF_DTYPES], mod[BF_DTYPES], unscale;
    /* YEAR, MONTH, DAY, TO_YEAR, TO_QUARTER or TO_MONTH of days, counted from BF_DATE_DAYS before
     * 1970 on; they are at least 366 and below 366 + 2^29. */
    void (*dates)(int op, const uint32_t *days, void *out, int64_t n);
    /* out[i] = a[i] ? b[i] : c[i], by the bytes of an element; a is of bools. */
    bf_map_loop select[9];
    /* Write n terms, a multiple of BF_COMPUTED_GROUP, at the beginning of a cache line. stream:
     * past the caches. */
    void (*computed_f64)(const bf_computed *terms, size_t n, char *to, bool stream);
    void (*computed_f32)(const bf_computed *terms, size_t n, char *to, bool stream);
} bf_expression_loops;

/* --- operation.c: the operations that map lacks --- */

/* Room for inputs and results in another dtype. */
typedef struct bf_expression_room {
    bf_i128 in[3][BF_TILE], out[BF_TILE]; /* the widest */
} bf_expression_room;

/* Computes n elements of the step, at most BF_TILE. Returns the place of the first divisor that is
 * 0 and must not be, or -1. */
int64_t bf_expression_operate(const bf_isa *isa, const bf_expression_step *step,
                              const void *const in[3], void *out, int64_t n,
                              bf_expression_room *room);

/* --- wide.c: integers of 128 bits --- */

/* Does as bf_expression_operate does, a step whose `work` is BF_I128; also returns where the first
 * result is that does not fit, if that is an error. */
int64_t bf_expression_operate_wide(const bf_expression_step *step, bf_overflow_policy overflow,
                                   const void *const in[3], void *out, int64_t n,
                                   bf_expression_room *room);

/* --- time.c: parts of times --- */

/* Does as bf_expression_operate does, a step that takes times and their scale; returns where the
 * first time is that is too far from 1970. */
int64_t bf_expression_take_time(const bf_isa *isa, const bf_expression_step *step,
                                const void *const in[3], void *out, int64_t n,
                                bf_expression_room *room);

/* --- round.c, library.c: rounding to digits, functions of the C library --- */

/* Do as bf_expression_operate does. */
int64_t bf_expression_round(const bf_expression_step *step, bf_overflow_policy overflow,
                            const void *const in[3], void *out, int64_t n,
                            bf_expression_room *room);
int64_t bf_expression_ask_library(const bf_isa *isa, const bf_expression_step *step,
                                  const void *const in[3], void *out, int64_t n,
                                  bf_expression_room *room);

/* --- logic.c: what may be NULL --- */

/* Values and which of them are not NULL: bytes 1, or 0 where one is. NULL: none is. */
typedef struct bf_expression_bools {
    const uint8_t *value, *valid;
} bf_expression_bools;

/* Decides AND, OR, MET, UNMET, MAYBE or ISNULL for n elements. Bools may be any bytes; results are
 * 0 and 1, and 0 where they are NULL. valid says which results are not NULL, if an input of AND and
 * OR has such bytes; it may be an input's. */
void bf_expression_decide(int op, const bf_expression_bools *in, uint8_t *out, uint8_t *valid,
                          int64_t n);

/* Makes bytes of n bits from number `first` on. False, with no bytes, if all bits are 1. */
bool bf_expression_expand(const uint8_t *bits, int64_t first, int64_t n, uint8_t *bytes);

/* to[i] = a[i] & b[i], of bytes 0 and 1. a NULL: all are 1. */
void bf_expression_both(const uint8_t *a, const uint8_t *b, uint8_t *to, int64_t n);

/* --- string.c: what takes strings --- */

/* A string of a register. */
typedef struct bf_expression_span {
    const char *at;
    int64_t size;
} bf_expression_span;

/* Strings: n of a column or a register, or one that stands for all. */
typedef struct bf_expression_text {
    const bf_expression_span *spans; /* a register has these; NULL: it is none */
    const char
        *offsets; /* the offsets from a column's first string on; NULL: there is one string */
    bool wide;
    const char *bytes;
    int64_t size; /* the size of one string */
} bf_expression_text;

/* A step on strings of a tile. */
typedef struct bf_expression_call {
    const bf_expression_step *step;
    bf_expression_text text[3]; /* its inputs that are strings */
    const void *in[3];          /* the others */
    void *out;                  /* may be a register among the strings */
    int64_t n;
    bf_arena *arena;
    const regex_t *pattern;
} bf_expression_call;

/* Compares strings. */
void bf_expression_compare(const bf_expression_call *call, bf_expression_room *room);

/* --- text.c: functions of strings --- */

/* Computes any step that takes strings. Returns as bf_expression_operate does; -2: there is no
 * memory. */
int64_t bf_expression_call_strings(const bf_expression_call *call, bf_expression_room *room);

/* --- tile.c: one thread, one tile --- */

typedef struct bf_tiles bf_tiles;

/* Bytes of a worker's tiles for a job. */
size_t bf_tiles_bytes(const bf_expression_job *job);

/* Prepares them; the first 8 bytes become other than 0. */
void bf_tiles_prepare(bf_tiles *tiles, const bf_expression_job *job, const bf_isa *isa);
void bf_tiles_free(bf_tiles *tiles);

/* Was there no memory for strings? */
bool bf_tiles_lack_memory(const bf_tiles *tiles);

/* Computes elements [first, first + n), n at most BF_TILE, and those of job->valid. Strings are
 * spans, of which the bytes stay until the next tile. Returns the
 * place of the first that fails, and sets *step to the first step that fails there, NULL if the
 * result is NULL and must not be; -1: none fails. */
int64_t bf_tiles_compute(bf_tiles *tiles, int64_t first, int64_t n, void *to,
                         const bf_expression_step **step);

/* --- computed.c: what can be computed as it is summed or stored --- */

/* Describes the job's results as terms, but for the columns' memory. False: they are not such. */
bool bf_expression_computed(const bf_expression_job *job, bf_computed *terms);

/* --- expression.c: the backend's functions --- */

extern const bf_expression_backend bf_cpu_expression_backend;

#endif
