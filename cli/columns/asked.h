/* What --by asks of a table of text: which of its columns are keys, what is aggregated of which
 * values, and how the results are called. */
#ifndef BITFOLD_CLI_COLUMNS_ASKED_H
#define BITFOLD_CLI_COLUMNS_ASKED_H

#include "options/options.h"

/* A V: a column, or an expression of columns. Each is there once, alone or in a pair; the second of
 * a pair comes next to the first. */
typedef struct asked_value {
    char *text; /* the column's name or number, or the expression */
    int field;  /* the column's field, from 0; -1: it is an expression */
    bool any;   /* its column may hold text, as that of a key may, and rows without a value */
    bool first, second; /* its place in a pair, if it has one */
} asked_value;

enum { ASKED_VALUES = 2 * OPTIONS_AGGREGATES };

/* A key: a column, or an expression of columns. */
typedef struct asked_key {
    int field;       /* the column's field, from 0; -1: it is an expression */
    char *text;      /* the expression */
    char *name;      /* NULL: the column's own */
    bool descending; /* the order of whole rows by it */
} asked_key;

typedef struct asked_result {
    const struct wanted_aggregate *aggregate; /* NULL: rows are counted */
    int value; /* the value, the first of pairs; -1: rows are counted */
    char *name;
} asked_result;

enum { ASKED_LISTS = 4 };

typedef struct asked {
    const options *options;
    bf_context *context;
    const char *file; /* what results are of: "total" of several */
    bool total, skip_nulls;
    bool listed; /* as JSON, columns are lists: of one key, where --by is not given */
    bool keyed;  /* results are by key, unless another order is asked for; else by count */
    bf_quantile_method method;
    text_chooser chooser; /* for the reader: fills in what follows */
    bool taken;           /* columns are taken as they are: those of --column, or all */
    const char *also;     /* a list of columns that are taken, too, where there are some; or NULL */
    int takes;            /* how many */
    int *take_fields;     /* their fields, each once */
    bool whole; /* rows are wanted as they stand, in the order of their keys: nothing is computed */
    bool stands; /* rows are wanted as they stand, beside what is computed of them */
    bool closed; /* JSON lines have no keys but those of the first ones, for all are shown */
    bool turned; /* their order is the other one, where '-' does not say so */
    int keys;
    asked_key key[BF_KEY_COLUMNS_MAX];
    int values;
    asked_value value[ASKED_VALUES];
    int results;
    asked_result result[OPTIONS_AGGREGATES];
    struct wanted_aggregate own[OPTIONS_AGGREGATES]; /* what loaded groups ask for */
    bool nulls;                                      /* the reader may refuse no NULL */
    char *lists[ASKED_LISTS]; /* columns for the reader: numbers, keys, strings, either */
} asked;

/* Whether every V has values and, behind an '=', a name; returns an exit code. */
int asked_check(const options *o);

/* Prepares for the options of a command; without aggregates among them, rows are counted, unless
 * keys alone are asked for. */
void asked_open(asked *a, const options *o, bf_context *context);
void asked_close(asked *a);

/* Asks for the same where --by is not given: of one column of keys. Returns an exit code. */
int asked_list(asked *a);

/* Whether a result is a value that is chosen, or how many there are. */
static inline bool asked_chooses(const asked_result *r) {
    return r->value >= 0 && r->aggregate->order >= ORDER_FIRST_OF;
}

/* Whether a result is a reduction: it is no count of rows, and depends on no order. */
static inline bool asked_reduces(const asked_result *r) {
    return r->aggregate && r->value >= 0 &&
           (r->aggregate->order == ORDER_NONE || r->aggregate->order == SHARE_OF_SUM);
}

/* The values that a reduction has: 1, or those of a pair. */
static inline int asked_arrays(const asked_result *r) {
    return bf_reduction_arrays(r->aggregate->op) == 2 ? 2 : 1;
}

#endif
