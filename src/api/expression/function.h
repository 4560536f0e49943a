/* The functions of the language. */
#ifndef BF_API_EXPRESSION_FUNCTION_H
#define BF_API_EXPRESSION_FUNCTION_H

#include <stdbool.h>

/* What an operation takes has a letter for each of its arguments: n for numbers and times, s for
 * strings, l for what is like the others with an l, a for anything. + behind them: more arguments
 * follow, and op takes what it made of those before, and the next. */
typedef struct bf_expression_function {
    const char *name;
    int op;
    const char *takes;
    bool text; /* op gives strings */
} bf_expression_function;

/* The last has no name. */
extern const bf_expression_function bf_expression_functions[];

/* What an operation of the language takes, and whether it gives strings. */
const char *bf_expression_takes(int op);
bool bf_expression_gives_text(int op);

#endif
