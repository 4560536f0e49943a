/* Lines of a text with escapes, as MySQL writes them: the same lines with quotes alone. */
#ifndef BITFOLD_CLI_DECODE_ESCAPE_H
#define BITFOLD_CLI_DECODE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct escape_rules {
    char escape, delimiter, newline;
    bool spans; /* fields in quotes may hold newlines */
    /* Called for a newline that was written as a letter, where it is written. */
    void (*made)(void *arg, const char *out);
    void *arg;
} escape_rules;

/* Whether a newline at p, in a line that begins at `at`, has lost its meaning. */
bool escape_takes(const escape_rules *rules, const char *at, const char *p);

/* Bytes that may come of n. */
static inline size_t escape_room(size_t n) { return 3 * n + 4; }

/* Writes the line [at, end) with quotes in place of escapes. *inside: it begins within quotes, and
 * whether it ends there. Returns where that ends; NULL: *fault says what is wrong. */
char *escape_rewrite(const escape_rules *rules, const char *at, const char *end, char *out,
                     bool *inside, const char **fault);

#endif
