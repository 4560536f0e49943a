/* Answers: what the commands of order make of one array, and how it is shown. Functions that return
 * an exit code have reported the failure. */
#ifndef BITFOLD_CLI_ORDER_ANSWER_H
#define BITFOLD_CLI_ORDER_ANSWER_H

#include "memory/kept.h"
#include "options/options.h"
#include "sheet/output.h"
#include "work/places.h"

typedef enum order_kind {
    ORDER_SORT,
    ORDER_ARGSORT,
    ORDER_MEDIAN,
    ORDER_QUANTILE,
    ORDER_TOP,
    ORDER_UNIQUE
} order_kind;

/* What is asked. */
typedef struct question {
    order_kind kind;
    const options *options;
    bf_context *context;
    places *places; /* NULL: of all elements */
} question;

/* What is asked about. */
typedef struct subject {
    const char *file, *column; /* column: of several, or NULL */
    bf_array array;
    int scale;         /* the integers are in units of 10^-scale */
    bf_time_kind time; /* what times the integers are */
    bool owned;        /* its memory may be written to: a sort is in place */
    int64_t nulls;     /* rows that were left out of it, for they have no value */
} subject;

typedef struct answer {
    const char *file, *column;
    bf_state_info info; /* describes the array: count; nan and inf if they are shown */
    bf_array values;    /* contiguous; BF_PAIR, BF_I192: tagged (work/tagged.h) */
    int scale;          /* the scale of values that are integers */
    bf_time_kind time;  /* the elements are times, and values, but for indices */
    int64_t *beside;    /* for top the indices, for unique how often each occurs; NULL: none */
    void *memory;       /* memory of the values; NULL: the subject's */
    double seconds;
    int64_t nulls; /* as in the subject */
} answer;

/* Answers. Free the answer in either case. */
int answer_make(answer *x, const question *q, const subject *s);
void answer_free(answer *x);

/* How many values it has. */
int64_t answer_count(const answer *x);

/* Reports that a call about this file failed. Returns an exit code. */
int answer_failed(const question *q, bf_status st, const char *file);

/* Writes it: as lines, as JSON, or to a file .npy. many: several are to come. */
int answer_put(const answer *x, const question *q, output *out, bool many);

/* Show an answer in parts: x tells of all, a part has some of the values, behind so many others.
 * What is beside them is kept in `behind` (NULL: it is x->beside) where it comes last. */
void answer_begin(const answer *x, const question *q, const output *out);
int answer_part(const answer *part, const question *q, output *out, bool many, int64_t before,
                const kept *behind);
int answer_end(const answer *x, const question *q, const output *out, const kept *behind);

/* Gives tagged values of quantiles of `dtype`, which have `to` between elements, the dtype that is
 * shown or written; each is of `length` elements, or (0) of different numbers. */
void answer_settle(answer *x, const question *q, bf_dtype dtype, bf_dtype to, int64_t length);

/* The order that is asked for, and its other rules. */
bf_order_options answer_rules(const question *q);

/* The percents of quantiles that are asked for. */
struct wanted_percents answer_percents(const options *o);

#endif
