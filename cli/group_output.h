/* What count and group print alike: keys, and arrays of values. */
#ifndef BITFOLD_CLI_GROUP_OUTPUT_H
#define BITFOLD_CLI_GROUP_OUTPUT_H

#include "output.h"

/* Groups, listed. */
typedef struct group_list {
    bf_dtype key;
    int64_t size, rows;
    char *keys;
    int64_t *counts;
} group_list;

/* A context for host memory, by the options. Returns an exit code, having reported the failure. */
int group_context(const options *o, bf_context **context);

/* Returns an exit code, having reported the failure. The list is freed by group_list_free. */
int group_list_make(group_list *list, bf_groups *groups, bf_dtype key, const char *file,
                    const bf_context *context);
void group_list_free(group_list *list);

bf_value group_key(const group_list *list, int64_t i);
bf_value group_count(const group_list *list, int64_t i);

/* As text, in the output's base. */
void group_put(const output *out, const bf_value *value);

/* {"schema":1,"command":...,"file":...,"dtype":...,"n":...,"groups":... */
void group_put_head(FILE *f, const group_list *list, const char *file);

/* ,"device":...,"seconds":...} */
void group_put_end(FILE *f, const char *device, double seconds);

#endif
