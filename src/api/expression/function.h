/* The functions of the language. */
#ifndef BF_API_EXPRESSION_FUNCTION_H
#define BF_API_EXPRESSION_FUNCTION_H

/* What an operation takes has a letter for each of its arguments: n for numbers and times, s for
 * strings, l for what is like the others with an l, a for anything. + behind them: more arguments
 * follow, and op takes what it made of those before, and the next. */
typedef struct bf_expression_function {
    const char *name;
    int op;
    const char *takes;
} bf_expression_function;

/* The last has no name. */
extern const bf_expression_function bf_expression_functions[];

/* What an operation of the language takes. */
const char *bf_expression_takes(int op);

#endif
