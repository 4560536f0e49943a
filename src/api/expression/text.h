/* The tokens of an expression. */
#ifndef BF_API_EXPRESSION_TEXT_H
#define BF_API_EXPRESSION_TEXT_H

#include "api/expression/build.h"

enum { BF_TOKEN_TEXT_MOST = 1 << 20 /* bytes */ };

typedef enum bf_token_kind {
    BF_TOKEN_END,
    BF_TOKEN_NUMBER,
    BF_TOKEN_STRING,
    BF_TOKEN_NAME,
    BF_TOKEN_NULL,
    BF_TOKEN_CALL, /* a name before '(' */
    BF_TOKEN_OPERATOR
} bf_token_kind;

typedef struct bf_token {
    bf_token_kind kind;
    int position;   /* bytes before it */
    int begin, end; /* where a name or a string is, without its quotes */
    char quote; /* the quote around a name or a string; two stand for one inside. 0: it has none */
    char text[3]; /* an operator's */
    bf_expression_value number;
} bf_token;

/* Reads the token at *position, and moves that behind it. Fails with a message and the position. */
bf_status bf_token_next(bf_expression_builder *b, const char *text, int *position, bf_token *token);

/* Writes the name or the string to `to`, which has room for its bytes in the text. Returns the
 * number of bytes written. */
int64_t bf_token_copy(const bf_token *token, const char *text, char *to);

/* The f64 that is nearest to a number with a point or an exponent, decimal or hexadecimal. */
uint64_t bf_token_float(const char *at, const char *end);

/* Finds the decimal that such a number is: *units * 10^-*scale. False: it has more than 15 digits,
 * or 38 digits, or BF_SCALE_MOST_I128 behind the point, do not hold it. */
bool bf_token_decimal(const char *at, const char *end, bf_i128 *units, int *scale);

static inline bool bf_token_is(const bf_token *token, const char *text) {
    return token->kind == BF_TOKEN_OPERATOR && strcmp(token->text, text) == 0;
}

#endif
