/* The columns that an expression names, as lists for the reader of a text.
 *
 * Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_EXPRESSION_NAMES_H
#define BITFOLD_CLI_EXPRESSION_NAMES_H

#include <bitfold.h>

#include <stdbool.h>

typedef struct expression_names {
    char *text; /* one behind another */
    unsigned char kinds[BF_EXPRESSION_NAMES_MAX];
    int count;
} expression_names;

/* Finds the names in a text, which an option has. Close them in either case. */
int names_open(expression_names *n, bf_context *context, const char *option, const char *text);

/* Finds those of a key, where a name that it only chooses may stand for anything. */
int names_open_key(expression_names *n, bf_context *context, const char *option, const char *text);

void names_close(expression_names *n);

/* Whether a name is one letter, as those of arrays are. */
bool names_is_letter(const char *name);

/* Lists the names of one kind, as options have them, in backquotes; an empty list if there is none.
 * Letters come last: if no column has any of the names, the others are at fault. NULL: there is no
 * memory. The list is the caller's to free. */
char *names_list(const expression_names *n, bf_expression_name_kind kind);

/* Where an expression ends in an option: at the first of these separators that is in no brackets
 * and not in quotes, or with the text. An '=' of ==, <=, >=, != or =~ is none. */
const char *names_end(const char *text, const char *separators);

#endif
