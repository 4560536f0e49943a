/* The names of columns, which are found by a hash. */
#ifndef BITFOLD_CLI_TEXT_NAMES_H
#define BITFOLD_CLI_TEXT_NAMES_H

#include "text/item.h"

typedef struct text_name {
    const char *at; /* the caller's */
    size_t length;
    int next; /* another with its place, or -1 */
} text_name;

typedef struct text_names {
    text_name *all;
    int *first; /* the first name of each place, or -1 */
    size_t places;
} text_names;

/* Makes room for n names. False: out of memory. */
bool text_names_open(text_names *names, int n);
void text_names_close(text_names *names);

/* Column i has this name. */
void text_names_set(text_names *names, int i, const char *at, size_t length);

/* How many columns have the item's name; *column is the first of them. */
int text_names_find(const text_names *names, text_item item, int *column);

#endif
