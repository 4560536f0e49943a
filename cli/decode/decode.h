/* Texts that are not written as text.h has them: in UTF-16 or Latin-1, with lines that end with CR,
 * with lines before the text, comments or escapes, or with a first line `sep=C`. What is read of
 * them is the same text as text.h has it. Its lines are those of the file, so that errors name the
 * right ones: a line that is none of the text is one CR alone, a gap. */
#ifndef BITFOLD_CLI_DECODE_DECODE_H
#define BITFOLD_CLI_DECODE_DECODE_H

#include "text/text.h"

/* Where a text comes from: bytes that have been read, and those behind them, unless these are all.
 * read: until size bytes are there or the data end; the bytes read, or -1 with errno set. */
typedef struct decode_input {
    int64_t (*read)(void *arg, void *to, size_t size);
    void *arg;
    const void *bytes;
    size_t length;
    bool ended;
} decode_input;

/* Whether a text must be decoded, by the bytes that it begins with; ended: no more follow. */
typedef enum decode_need { DECODE_NOT, DECODE_IS_NEEDED, DECODE_UNKNOWN } decode_need;
decode_need decode_needs(const text_options *options, const char *bytes, size_t length, bool ended);

/* Bytes that are enough to know it, in all but a few texts. */
enum { DECODE_ENOUGH = 4096 };

/* Bytes without the end of a line, behind which it is not. */
enum { DECODE_MOST = 1 << 20 };

typedef struct decode decode;

/* chunk: bytes to read at a time. NULL: there is no memory. */
decode *decode_open(const text_options *options, const decode_input *from, size_t chunk);
void decode_close(decode *d);

/* Passes over what is before the first row, and finds the delimiter: '\0' if that failed. */
char decode_delimiter(decode *d);

/* Reads until size bytes are there or the text ends. The bytes read, or -1 with errno set: EBADMSG
 * if the text is at fault. One thread at a time. */
int64_t decode_read(decode *d, void *to, size_t size);

/* Why the text is at fault, and in which line; NULL: it is not. */
const char *decode_fault(const decode *d, int64_t *line);

/* The lines of the file before an offset in what was read, less the newlines there. While it is
 * asked, another thread may read. */
int64_t decode_lines_more(decode *d, int64_t offset);

#endif
