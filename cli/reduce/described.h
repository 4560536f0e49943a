/* The output of describe, and of merge for states that describe saved. */
#ifndef BITFOLD_CLI_REDUCE_DESCRIBED_H
#define BITFOLD_CLI_REDUCE_DESCRIBED_H

#include "reduce/texts.h"
#include "sheet/output.h"

typedef struct described {
    const char *file;
    char *column; /* a name or a number; NULL: not of text */
    const char *dtype;
    bf_description values;
    bf_value skew, kurtosis; /* where powers are told; BF_NONE: they are not there */
    bf_time_kind time;       /* the values are times */
    texts *texts;            /* the column is one of strings; NULL: it is not */
    char *mode; /* the most frequent string, if there is one, and how often it occurs */
    size_t mode_bytes;
    int64_t times;
    bool tells_powers, tells_nulls;  /* skew and kurtosis are told; NULLs are */
    bool tells_texts;                /* some column is one of strings */
    struct wanted_percents percents; /* the quantiles that are wanted */
    void *quantiles;                 /* NULL: there are none */
    bf_dtype quantile;               /* their dtype; BF_PAIR: tagged (work/tagged.h) */
    int scale;                       /* their scale, if they are integers */
    double seconds;
    int64_t nulls; /* rows that were left out, for they have no value */
} described;

/* Writes n descriptions: lines of a name and a value from each, a TSV table with a line for each,
 * or a JSON object each. Returns an exit code. */
int described_put(output *out, const described *all, int n, const char *device);

#endif
