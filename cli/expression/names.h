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

/* Finds the names in a text, unless that is wrong: then there are none, and the parser says why. A
 * name of a key, which only chooses it, may stand for anything. Close them in either case. */
bf_status names_find(expression_names *n, bf_context *context, const char *text, int *position);
bf_status names_find_key(expression_names *n, bf_context *context, const char *text);

/* Finds the names in a text, which an option has; refuses a wrong one. Close them in either case.
 */
int names_open(expression_names *n, bf_context *context, const char *option, const char *text);

/* Finds those of a key. */
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
