/* Text in UTF-16 and Latin-1 as UTF-8. */
#ifndef BITFOLD_CLI_DECODE_CHARSET_H
#define BITFOLD_CLI_DECODE_CHARSET_H

#include "text/dialect.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum charset { CHARSET_UTF8, CHARSET_LATIN1, CHARSET_UTF16LE, CHARSET_UTF16BE } charset;

/* The character set of a text, by its first bytes; four are enough where there is a mark. */
charset charset_of(enum text_encoding encoding, const void *bytes, size_t length);

/* Bytes of the byte order mark that a text begins with. */
size_t charset_mark(charset set, const void *bytes, size_t length);

/* Bytes of UTF-8 that may come of one. */
enum { CHARSET_GROWTH = 2 };

/* Writes what n bytes say as UTF-8, and returns where that ends. *used says how many bytes were
 * taken: all but a part of a character at their end, or, with *bad, up to what is no character. */
char *charset_convert(charset set, const unsigned char *in, size_t n, char *out, size_t *used,
                      bool *bad);

#endif
