/* The texts of the window: lines, and names of files. */
#ifndef BITFOLD_VIEW_WORDS_H
#define BITFOLD_VIEW_WORDS_H

#include "view/picture.h"

#include <limits.h>

enum { WORDS_LINES = 24, WORDS_COLUMNS = 56 };

typedef struct words {
    int count;
    char lines[WORDS_LINES][WORDS_COLUMNS + 1];
} words;

/* Adds a line; a long one is continued on the next. */
void words_add(words *w, const char *format, ...) PRINTF_LIKE(2, 3);

/* Adds the place that is seen, the device of the picture, and its speed. */
void words_information(words *w, const julia_request *seen, const picture *p);

void words_help(words *w);

/* The name of a saved picture: the options of 'bitfold julia' that make the same file. */
void words_name(const julia_request *seen, char name[NAME_MAX + 1]);

#endif
