/* Patterns: extended regular expressions of POSIX, of bytes, as the C library matches them. */
#ifndef BF_BASE_PATTERN_H
#define BF_BASE_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

enum { BF_PATTERN_WHY = 80 };

/* Compiles the pattern, which ends with a zero byte; free it by regfree. False: it is none, and
 * `why` says so, or there is no memory. */
bool bf_pattern_compile(regex_t *pattern, const char *text, char why[BF_PATTERN_WHY]);

/* Enters the locale of patterns, where each byte is a character. Returns that of the thread before,
 * for bf_pattern_leave. */
void *bf_pattern_enter(void);
void bf_pattern_leave(void *before);

typedef enum bf_pattern_answer {
    BF_PATTERN_NO,
    BF_PATTERN_YES,
    BF_PATTERN_LONG, /* the text has 2 GiB and more */
    BF_PATTERN_NO_MEMORY
} bf_pattern_answer;

/* Does the pattern match some part of the text, which may hold any bytes? */
bf_pattern_answer bf_pattern_match(const regex_t *pattern, const char *text, int64_t size);

#endif
