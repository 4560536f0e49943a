/* Lists of columns, as options have them: each item is a number, a name, or a name between
 * backquotes, in which two of them stand for one. */
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

bool text_item_is(text_item item, const char *name, size_t length);

/* Writes the name and a NUL, which take `length` + 1 bytes at most; it may be written over. */
void text_item_copy(text_item item, char *to);

#endif
