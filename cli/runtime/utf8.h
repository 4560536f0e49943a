/* UTF-8 that may not be any: names of files, operands. */
#ifndef BITFOLD_CLI_RUNTIME_UTF8_H
#define BITFOLD_CLI_RUNTIME_UTF8_H

#include <stddef.h>

/* Bytes of the UTF-8 sequence at s, or 0 if it is none (overlong, a surrogate, past U+10FFFF). */
int utf8_length(const unsigned char *s);

/* Copies as many whole characters as there is room for, with '?' in the place of control characters
 * and of bytes that are no UTF-8. */
void utf8_copy(char *out, size_t room, const char *text);

#endif
