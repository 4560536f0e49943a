/* The parts of verify: rows of every work, and the verdict. */
#ifndef BITFOLD_CLI_VERIFY_VERIFY_H
#define BITFOLD_CLI_VERIFY_VERIFY_H

#include "input/rows.h"
#include "options/options.h"
#include "works/works.h"

#include <bitfold.h>
#include <stdbool.h>

enum { VERIFY_ISAS = 8, VERIFY_COUNTS = 4, VERIFY_GPUS = 8 };
enum { VERIFY_WAYS = VERIFY_ISAS * (VERIFY_COUNTS + 1) + VERIFY_GPUS * 2 };

/* A way to compute: on an instruction set with so many threads or on a GPU, in one pass or in
 * parts. The ways of one name follow each other, those in parts last; these have the context of
 * others. */
typedef struct way {
    bf_context *context;
    const char *name;
    int threads; /* 1 on a GPU */
    bool gpu, parts;
} way;

typedef struct machine {
    int count, gpus;
    way ways[VERIFY_WAYS];
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

/* row.c: computes the task in every way and shows the row. Returns an exit code. */
int verify_row(const machine *m, const task *t, verdict *v);

/* Shows the names of the columns, before all rows; and the verdict, after them. The latter returns
 * an exit code. */
void verify_head(const machine *m);
int verify_conclude(const machine *m, const verdict *v);

bool verify_same(const outcome *a, const outcome *b);
void verify_text(const outcome *r, char text[BF_VALUE_TEXT]);

/* Verifies every row of a work; given: the data, if the work has none of its own. Returns an exit
 * code. */
int verify_work(const machine *m, const work *w, const task *given, verdict *v);

/* Opens a file of one column, all of which can be loaded; decimals: its numbers may have a scale.
 * Returns an exit code, having reported the failure. */
int verify_open(rows *r, const char *name, const input *in, bool decimals, spool_limit *limit);

/* against.c: verifies a saved state (--against). Returns an exit code. */
int verify_against(const machine *m, const options *o, verdict *v);

#endif
