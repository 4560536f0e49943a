/* Medians and quantiles of groups. They need all rows, which are kept in memory. */
#ifndef BITFOLD_CLI_GROUP_ORDERED_H
#define BITFOLD_CLI_GROUP_ORDERED_H

#include "runtime/options.h"

typedef struct ordered {
    int columns; /* of rows: the keys, and behind them those of each V; 0: no rows are kept */
    int64_t n, room;
    struct ordered_column {
        bf_dtype dtype;
        int scale; /* set by whoever adds */
        char *data;
    } of[OPTIONS_AGGREGATES + 1];
    int column[OPTIONS_AGGREGATES]; /* whose values each aggregate is of; 0: of none of these */
    bf_array results[OPTIONS_AGGREGATES]; /* one of each group, by key */
    char *memory[OPTIONS_AGGREGATES];     /* of some */
} ordered;

/* Keeps rows: arrays[c] for column c, without strides. Returns an exit code, having reported the
 * failure; so does ordered_find. */
int ordered_add(ordered *x, const bf_array arrays[], const char *file);

/* Drops all rows. ordered_close frees the results, too. */
void ordered_drop(ordered *x);
void ordered_close(ordered *x);

/* Finds the results for so many groups. */
int ordered_find(ordered *x, const options *o, bf_context *context, int64_t groups);

#endif
