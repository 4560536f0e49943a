/* Groups as they are shown: the counts of keys, or columns of aggregates. */
#ifndef BITFOLD_CLI_GROUP_OUTPUT_H
#define BITFOLD_CLI_GROUP_OUTPUT_H

#include "group/spill.h"
#include "runtime/output.h"

/* Groups to show, and when the work on them began. */
typedef struct group_subject {
    bf_context *context;
    bf_groups *groups;
    const char *file; /* "total" for several */
    const char *key;  /* the name of the keys' column; NULL: it has none */
    int scale;        /* of keys that are integers */
    double began;
    double seconds; /* set by what follows */
} group_subject;

/* A column behind the keys. */
typedef struct group_column {
    const char *op, *of;     /* of: a name, or NULL */
    int which;               /* of the groups' aggregates; -1: the number of rows */
    int scale;               /* of the values, if they are integers */
    const bf_array *results; /* found already; NULL: the groups have them */
    const double *percent;   /* of a quantile; else NULL */
} group_column;

/* By count or key, as many as the options say; or by key, with n columns. Return exit codes, having
 * reported the failure. */
int group_put_counts(const output *out, const options *o, group_subject *subject);
int group_put_columns(const output *out, const options *o, group_subject *subject,
                      const group_column *columns, int n);

/* The same for groups of which some were spilled; they are empty afterwards. */
int group_put_spilled_counts(const output *out, const options *o, group_subject *subject, spill *s);
int group_put_spilled_columns(const output *out, const options *o, group_subject *subject, spill *s,
                              const group_column *columns, int n);

#endif
