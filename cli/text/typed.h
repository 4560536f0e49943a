/* Values of JSON lines as strings that tell types apart: for columns of keys that mix them.
 *
 * A string is itself. Bools and numbers begin with a byte that UTF-8 has not; a string that begins
 * with this byte is marked as one. Equal numbers are equal bytes, and the order of the bytes is
 * that of strings, false, true, and numbers by value. Whole numbers are told apart by all of their
 * digits, fractions as doubles. */
#ifndef BITFOLD_CLI_TEXT_TYPED_H
#define BITFOLD_CLI_TEXT_TYPED_H

#include "text/number.h"

enum typed_kind { TYPED_STRING, TYPED_BOOL, TYPED_NUMBER };

/* What the bytes of such a string mean. */
typedef struct typed_value {
    enum typed_kind kind;
    const char *at; /* a string's bytes; if no value holds a number, its digits */
    size_t length;
    int64_t exponent; /* they count times 10^exponent */
    bool negative;
    bool truth;
    bf_value number; /* BF_NONE if no value holds it */
} typed_value;

/* Bytes that a bool takes at most; and a number, beside those of its token. */
enum { TYPED_MOST = 32 };

size_t typed_put_bool(char *to, bool truth);
size_t typed_put_number(char *to, const text_number *number);

/* Whether a string must be marked as one; and a mark and the string, TYPED_MARK bytes longer. */
enum { TYPED_MARK = 2 };
bool typed_wants_mark(const char *at, const char *end);
void typed_put_string(char *to, const char *at, const char *end);

typed_value typed_take(const char *at, size_t length);

/* Writes a number that no value holds; returns its end. */
char *typed_write_digits(char *text, const typed_value *v);

#endif
