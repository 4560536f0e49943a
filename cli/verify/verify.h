/* The parts of verify: rows of every primitive, and the verdict. */
#ifndef BITFOLD_CLI_VERIFY_VERIFY_H
#define BITFOLD_CLI_VERIFY_VERIFY_H

#include "input/rows.h"
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
    char gpu_name[VERIFY_GPUS][BF_DEVICE_TEXT];
} machine;

typedef struct verdict {
    const options *options;
    int rows, failures;
    int gpu_failures; /* failures in which a GPU differs */
    double began;
    bool planning;   /* rows add to what is planned, and compute nothing */
    int64_t planned; /* bytes that all rows take in every way, for the progress */
} verdict;

/* A result; status tells why there is none. */
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
    const void *about; /* data of `whole` and `parts` */
    /* Compute the result in one pass, and in parts that are merged. */
    outcome (*whole)(bf_context *context, const struct subject *s);
    outcome (*parts)(bf_context *context, const struct subject *s);
} subject;

/* row.c: computes the subject in every way and shows the row. Returns an exit code. */
int verify_row(const machine *m, const subject *s, verdict *v);

/* Shows the names of the columns, before all rows; and the verdict, after them. The latter returns
 * an exit code. */
void verify_head(const machine *m);
int verify_conclude(const machine *m, const verdict *v);

/* Returns the value of a state, or the checksum of its saved form if that tells more. */
outcome verify_result(const bf_state *state, const bf_reduce_options *rules);

/* Returns the checksum at the end of a saved form, which covers all bytes before it. */
outcome verify_saved_checksum(const void *bytes, size_t size);

bool verify_same(const outcome *a, const outcome *b);
void verify_text(const outcome *r, char text[BF_VALUE_TEXT]);

/* Opens a file of one column, all of which can be loaded; decimals: its numbers may have a scale.
 * Returns an exit code, having reported the failure. */
int verify_open(rows *r, const char *name, const input *in, bool decimals, spool_limit *limit);

/* Returns elements [first, last) of a. */
bf_array verify_slice(const bf_array *a, int64_t first, int64_t last);

/* Sets *to to a copy of the array in the memory of the context's device, which the caller frees
 * with verify_unmove; on the CPU, to the array itself. */
bf_status verify_move(bf_context *context, const bf_array *from, bf_array *to);
void verify_unmove(bf_context *context, const bf_array *from, bf_array *to);

/* Copies the elements of such a copy (`to`) back. */
bf_status verify_return(bf_context *context, const bf_array *from, const bf_array *to);

/* map.c: a row for every element-wise operation on n elements. Returns an exit code. */
int verify_maps(const machine *m, const char *name, const bf_array *all, verdict *v);

/* expression.c: a row for expressions of the elements. Returns an exit code. */
int verify_expressions(const machine *m, const char *name, const bf_array *all, verdict *v);

/* histogram.c: rows for histograms, without and with weights. Returns an exit code. */
int verify_histograms(const machine *m, const char *name, const bf_array *all, verdict *v);

/* Returns the checksum of the histogram's saved form. The other makes an empty histogram with the
 * same bins. */
outcome verify_histogram_result(const bf_histogram *h);
bf_status verify_histogram_like(bf_context *context, const bf_histogram *from, bf_histogram **to);

/* axis.c: rows for reductions of many at once, of the elements as a matrix. Returns an exit code.
 */
int verify_axes(const machine *m, const char *name, const bf_array *all, bf_nan_policy nan,
                verdict *v);

/* order.c: rows for sorting and order statistics. Returns an exit code. */
int verify_orders(const machine *m, const char *name, const bf_array *all, bf_nan_policy nan,
                  verdict *v);

/* julia.c, table.c, group.c, dictionary.c: rows for pictures, for tables, for groups and joins, and
 * for keys of strings, of data of their own. Return exit codes. */
int verify_pictures(const machine *m, verdict *v);
int verify_tables(const machine *m, verdict *v);
int verify_groups(const machine *m, verdict *v);
int verify_dictionaries(const machine *m, verdict *v);

/* group.c: returns the checksum of the groups' saved form. */
outcome verify_groups_result(bf_groups *groups);

/* Returns FNV-1a over words of 8 bytes with the upper half mixed in, continued from `sum`. */
uint64_t verify_checksum(uint64_t sum, const void *bytes, size_t n);

/* Returns the bytes of the member of bf_value that holds a value of dtype. */
size_t verify_value_size(bf_dtype dtype);

/* against.c: verifies a saved state (--against). Returns an exit code. */
int verify_against(const machine *m, const options *o, verdict *v);

#endif
