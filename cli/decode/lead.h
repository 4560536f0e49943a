/* The first lines of a text, by which it is known how to take it. */
#ifndef BITFOLD_CLI_DECODE_LEAD_H
#define BITFOLD_CLI_DECODE_LEAD_H

#include "text/text.h"

/* What ends the lines of a text, '\n' (also behind '\r') or '\r', by its first line; '\0': no line
 * ends in these bytes, `ended` says that no more follow. The line may begin with quotes, in which
 * newlines are none, if `quotes`. */
char lead_newline(const text_options *options, const char *at, const char *end, bool ended,
                  bool quotes);

/* Where the first row ends, before its newline; `end`: not in these bytes. */
const char *lead_row_end(const text_options *options, const char *at, const char *end);

/* The delimiter that a first line `sep=C` names; '\0': it is none. A line ends in these bytes, or
 * no more follow. */
char lead_separator(const char *at, const char *end);

/* The delimiter of a text whose first row this is, without its newline. '\0': no memory. */
char lead_delimiter(const text_options *options, const char *at, const char *end);

#endif
