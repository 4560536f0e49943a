/* Quantiles of inputs that are read as often as that takes: exact, with a few MiB for each column.
 * Functions that return an exit code have reported the failure; all ranks call them, and get the
 * same exit code. */
#ifndef BITFOLD_CLI_WORK_QUANTILES_H
#define BITFOLD_CLI_WORK_QUANTILES_H

#include "work/tagged.h"
#include "work/units.h"
#include "work/work.h"

/* What is looked for, by whose work. */
typedef struct quantiles_search {
    const options *options; /* say what NaNs do, and have --empty */
    bf_context *context;
    work *work;
    struct wanted_percents percents; /* n 0: the median */
    bf_quantile_method method;
    bool infinities; /* are counted, too */
} quantiles_search;

/* An input. A file that is one of many is closed when it has been read, and opened again. */
typedef struct quantiles_input {
    rows rows; /* columns 0: it is closed */
    const char *name;
    const input *format;
    rows_options how;
    rows_kind *kinds;  /* what its columns can be, after it was closed; NULL: it was not */
    units_form *forms; /* the forms in which they are then */
    int columns;       /* so many */
} quantiles_input;

/* Opens an input; this rank has its part of the rows. Close it in either case. */
int quantiles_open(quantiles_input *in, const char *name, const input *format,
                   const rows_options *how);
void quantiles_close(quantiles_input *in);

/* Keeps an input that was read until it is needed again. */
void quantiles_keep(quantiles_input *in);

/* How its numbers in column k are held. */
units_form quantiles_form(const quantiles_input *in, int k);

/* A search that was made: each object found up to BF_QUANTILES_MAX quantiles of a column. */
typedef struct quantiles {
    const quantiles_search *search;
    int columns, parts;   /* parts: objects of each column */
    double *of;           /* what they look for, from 0 to 1 */
    units_form *forms;    /* for each column the form that holds the numbers of all inputs */
    bool joined;          /* these are several */
    bf_quantiles **found; /* [column][part] */
    bf_state **sums;      /* one for each column, if infinities are counted */
    work_thing *things;   /* all of these objects */
    int pass;             /* from 0 */
    int64_t seen;         /* rows of all inputs, and of all ranks after the first pass */
} quantiles;

/* Finds the quantiles of each column, of all n inputs together: of several, whose columns and
 * dtypes are known to be the same. Free q in either case. */
int quantiles_find(quantiles *q, const quantiles_search *s, quantiles_input *inputs, int n);
void quantiles_free(quantiles *q);

/* What was found of a column. */
typedef struct quantiles_column {
    bf_state_info info; /* dtype, scale, count, nan; inf if infinities were counted */
    bf_dtype to;        /* the dtype of values between elements */
    int count;          /* how many values there are */
    void *values;       /* to be freed: tagged results (work/tagged.h) */
    bf_time_kind time;  /* they are times */
    int64_t nulls;      /* rows that were left out, for they have no value */
} quantiles_column;

/* Takes the values of column k. Returns BF_E_NAN, BF_E_EMPTY or BF_E_MEMORY if there are none. */
bf_status quantiles_take(const quantiles *q, int k, quantiles_column *column);

#endif
