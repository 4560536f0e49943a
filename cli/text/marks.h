/* Marks: the places in a text that part its rows and fields. */
#ifndef BITFOLD_CLI_TEXT_MARKS_H
#define BITFOLD_CLI_TEXT_MARKS_H

#include <stddef.h>
#include <stdint.h>

enum { TEXT_MARKS_SLACK = 64 };

/* Writes the offsets of all newlines, delimiters and double quotes in text, ascending, and returns
 * how many there are. `at` has room for n offsets; TEXT_MARKS_SLACK bytes behind the text may be
 * read. The idea of finding them by vectors before any field is looked at is that of simdjson
 * (Langdale and Lemire, 2019). */
size_t text_marks_find(const char *text, uint32_t n, char delimiter, uint32_t *at);

/* Returns the number of newlines in [at, end). */
int64_t text_count_lines(const char *at, const char *end);

#endif
