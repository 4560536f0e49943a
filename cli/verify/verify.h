/* verify, its parts: every way in which this machine can compute, and the verdict. */
#ifndef BITFOLD_CLI_VERIFY_VERIFY_H
#define BITFOLD_CLI_VERIFY_VERIFY_H

#include "input/source.h"
#include "runtime/options.h"

#include <bitfold.h>
#include <stdbool.h>

enum { VERIFY_ISAS = 8, VERIFY_COUNTS = 4, VERIFY_GPUS = 8 };

typedef struct machine {
    int isas, counts, gpus;
    const char *isa[VERIFY_ISAS];
    int threads[VERIFY_COUNTS];
    bf_context *context[VERIFY_ISAS][VERIFY_COUNTS];
    bf_context *gpu[VERIFY_GPUS];
} machine;

typedef struct verdict {
    const options *options;
    int rows, failures;
    int gpu_failures; /* of them, those in which a GPU differs */
    double began;
} verdict;

/* A result, or why there is none. */
typedef struct outcome {
    bf_status status;
    bf_value value;
} outcome;

/* The subject of one row. */
typedef struct subject {
    const char *op, *data; /* their names */
    bf_reduction reduction;
    bf_map_op map;
    bf_array a, b; /* b: the second operand of a dot or a map */
    bf_nan_policy nan;
    bool sum_is_1;
    const void *about; /* more, that only `whole` and `parts` know */
    /* In one pass, and in merged parts. */
    outcome (*whole)(bf_context *context, const struct subject *s);
    outcome (*parts)(bf_context *context, const struct subject *s);
} subject;

/* row.c: computes the subject in every way and shows the row. Returns an exit code. */
int verify_row(const machine *m, const subject *s, verdict *v);

/* The names of the columns before all rows, and the verdict after them. The latter returns an exit
 * code. */
void verify_head(const machine *m);
int verify_conclude(const machine *m, const verdict *v);

/* The value of a state, or the checksum of its saved form where that tells more. */
outcome verify_result(const bf_state *state, const bf_reduce_options *rules);

/* The checksum at the end of a saved form, which covers all bytes before it. */
outcome verify_saved_checksum(const void *bytes, size_t size);

bool verify_same(const outcome *a, const outcome *b);
void verify_text(const outcome *r, char text[BF_VALUE_TEXT]);

/* Views all of the source; what must be copied goes to *buffer, for the caller to free. Returns an
 * exit code. */
int verify_load(source *s, void **buffer, const void **data);

/* Elements [first, last) of a. */
bf_array verify_slice(const bf_array *a, int64_t first, int64_t last);

/* A copy of the array in the memory of the context's device, to be freed with bf_memory_free; on
 * the CPU, the array itself. */
bf_status verify_move(bf_context *context, const bf_array *from, bf_array *to);
void verify_unmove(bf_context *context, const bf_array *from, bf_array *to);

/* Copies such a copy back. */
bf_status verify_return(bf_context *context, const bf_array *from, const bf_array *to);

/* map.c: a row for every element-wise operation on n elements. Returns an exit code. */
int verify_maps(const machine *m, const char *name, const bf_array *all, verdict *v);

/* histogram.c: rows for histograms, without and with weights. Returns an exit code. */
int verify_histograms(const machine *m, const char *name, const bf_array *all, verdict *v);

/* The checksum of its saved form; and an empty one with the same bins. */
outcome verify_histogram_result(const bf_histogram *h);
bf_status verify_histogram_like(bf_context *context, const bf_histogram *from, bf_histogram **to);

/* julia.c, table.c, group.c: rows for pictures, for tables, and for groups and
 * joins, of data of their own. Return exit codes. */
int verify_pictures(const machine *m, verdict *v);
int verify_tables(const machine *m, verdict *v);
int verify_groups(const machine *m, verdict *v);

/* group.c: the checksum of their saved form. */
outcome verify_groups_result(bf_groups *groups);

/* FNV-1a by words of 8 bytes, with the upper half mixed in: goes on from `sum`. */
uint64_t verify_checksum(uint64_t sum, const void *bytes, size_t n);

/* Bytes of the member of bf_value that holds a value of dtype. */
size_t verify_value_size(bf_dtype dtype);

/* against.c: with --against. Returns an exit code. */
int verify_against(const machine *m, const options *o, verdict *v);

#endif
