/* Groups as a list by key, and the parts of its output that counts and columns share. */
#ifndef BITFOLD_CLI_GROUP_LIST_H
#define BITFOLD_CLI_GROUP_LIST_H

#include "group/output.h"
#include "sheet/sheet.h"

typedef struct list {
    bf_dtype key;
    int scale; /* of keys that are integers */
    int64_t size;
    char *keys;
    int64_t *counts;
} list;

/* Lists all groups. Returns an exit code, having reported the failure. The list is freed by
 * list_free, also after a failure. */
int list_make(list *l, const group_subject *s);
void list_free(list *l);

/* The key of group i, and the number of its rows. */
bf_value list_key(const list *l, int64_t i);
bf_value list_count(const list *l, int64_t i);

/* What a sheet of the groups shows first, and what it is of. */
sheet_column list_key_column(const list *l, const group_subject *s);
sheet_subject list_sheet_subject(const group_subject *s);

/* Writes {"schema":1, ... "keys":[ of so many rows and groups. */
void list_put_head(FILE *f, bf_dtype key, const group_subject *s, int64_t rows, int64_t groups);

/* Writes the first n keys in this order (NULL: by key), behind so many others. */
void list_put_keys(FILE *f, const list *l, const int64_t *order, int64_t n, int64_t before);

#endif
