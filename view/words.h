/* What the window says: lines of text, names of files. */
#ifndef BITFOLD_VIEW_WORDS_H
#define BITFOLD_VIEW_WORDS_H

#include "view/picture.h"

#include <limits.h>

enum { WORDS_LINES = 24, WORDS_COLUMNS = 56 };

typedef struct words {
    int count;
    char lines[WORDS_LINES][WORDS_COLUMNS + 1];
} words;

/* Adds a line; what is too long for one goes on in the next. */
void words_add(words *w, const char *format, ...) PRINTF_LIKE(2, 3);

/* What is seen, and of the picture where and how fast it came. */
void words_information(words *w, const julia_request *seen, const picture *p);

void words_help(words *w);

/* What a saved picture is called: the options of 'bitfold julia' that make the same file. */
void words_name(const julia_request *seen, char name[NAME_MAX + 1]);

#endif
