/* Lists of columns, as options have them: each item is a number, a name, a name between backquotes,
 * in which two of them stand for one, a range of numbers (3-32, 3-), or a pattern of names, with *,
 * ? and [ ] as in fnmatch. The names of columns are found by a hash. */
#ifndef BITFOLD_CLI_TEXT_ITEM_H
#define BITFOLD_CLI_TEXT_ITEM_H

#include <stdbool.h>
#include <stddef.h>

typedef struct text_item {
    const char *at; /* without its backquotes */
    size_t length;
    bool quoted;
    char behind; /* the separator, or '\0' at the end of the list */
} text_item;

/* Takes the first item off a list that is not empty. A backquote that is not closed before a
 * separator is a part of a name. */
text_item text_take_item(const char **list, const char *separators);

/* The column that an item means by its number, from 0; -1: it is a name. */
int text_item_field(text_item item);

/* Whether an item is a number, or a range of numbers. */
bool text_item_is_number(text_item item);

bool text_item_is(text_item item, const char *name, size_t length);

/* Writes the name and a NUL, which take `length` + 1 bytes at most; it may be written over. */
void text_item_copy(text_item item, char *to);

/* ---- names of columns ------------------------------------------------------------------------ */

typedef struct text_name {
    const char *at; /* the caller's */
    size_t length;
    int next; /* another with its place, or -1 */
} text_name;

typedef struct text_names {
    text_name *all;
    int *first; /* the first name of each place, or -1 */
    size_t places;
    int n;
} text_names;

/* Makes room for n names. False: out of memory. */
bool text_names_open(text_names *names, int n);
void text_names_close(text_names *names);

/* Column i has this name. */
void text_names_set(text_names *names, int i, const char *at, size_t length);

/* How many columns have the item's name; *column is the first of them. */
int text_names_find(const text_names *names, text_item item, int *column);

/* Writes a hint: which columns there are, or that there are none; json: the names are keys. */
void text_names_tell(const text_names *names, bool json, char *to, size_t room);

/* What text_names_select returns if it selects nothing. */
enum { TEXT_ITEM_IS_ONE = -1, TEXT_ITEM_NO_MEMORY = -2 };

/* Selects the columns, ascending, that an item means by a range or a pattern, and returns how many;
 * columns: room for all. TEXT_ITEM_IS_ONE: it is neither, or is a name as it stands. A range that
 * is not among the columns selects 0. */
int text_names_select(const text_names *names, text_item item, int columns[]);

/* A list whose ranges and patterns are written out as numbers of columns. */
typedef struct text_numbered {
    char *list;        /* to be freed; NULL: there is no memory */
    bool by_name;      /* some of its items are names or patterns */
    text_item nothing; /* the last item that selects no column; its text is NULL: all do */
} text_numbered;

text_numbered text_names_number(const text_names *names, const char *list);

#endif
