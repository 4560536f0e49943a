/* UTF-8 that may not be any: names of files, operands. */
#ifndef BITFOLD_CLI_RUNTIME_UTF8_H
#define BITFOLD_CLI_RUNTIME_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 sequence at s, or 0 if it is none (overlong, a surrogate, past U+10FFFF). */
int utf8_length(const unsigned char *s);

/* Returns the length of a sequence that may be cut off at `end`. */
int utf8_length_before(const char *s, const char *end);

/* The columns of a terminal that a character takes, a sequence of so many bytes: 2 for those of
 * East Asia and for most pictures, 0 for marks that join the one before. */
int utf8_width(const unsigned char *s, int length);

/* Whether it is a control character (also one of those above U+0080), which may not reach a
 * terminal. */
bool utf8_is_control(const unsigned char *s);

/* Copies as many whole characters as there is room for, with '?' in the place of control characters
 * and of bytes that are no UTF-8. */
void utf8_copy(char *out, size_t room, const char *text);

#endif
