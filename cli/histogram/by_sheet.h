/* The histograms of keys as they are shown: rows of a sheet, plots, or an
 * array. */
#ifndef BITFOLD_CLI_HISTOGRAM_BY_SHEET_H
#define BITFOLD_CLI_HISTOGRAM_BY_SHEET_H

#include "columns/table.h"
#include "histogram/output.h"

typedef struct by_counts {
    const options *options;
    enum hist_form shape;
    output *output;
    const table *table;
    bf_dictionary *keys;
    int64_t n;       /* bins */
    units_form form; /* the values are times, or doubles */
    const double *edges;
    const int64_t *integers; /* the edges, where they are times; NULL: they are doubles */
    const int64_t *counts;   /* key 0 has the first n of them, key 1 the next, and so on */
    const double *values;    /* shown in their place; NULL: they are */
} by_counts;

/* Shows keys in their order. Returns an exit code, having reported the failure. */
int by_sheet_put(const by_counts *x);

#endif
