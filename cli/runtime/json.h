/* Writing JSON: flat objects need no more than this. */
#ifndef BITFOLD_CLI_RUNTIME_JSON_H
#define BITFOLD_CLI_RUNTIME_JSON_H

#include <bitfold.h>
#include <stdbool.h>
#include <stdio.h>

/* Begin an object as every command does: {"schema":1,"command":..., and "file" if there is one; and
 * add a member, ,"key":... to it. json_text adds nothing if there is no text, json_real so many
 * significant digits. */
void json_begin(FILE *f, const char *command, const char *file);
void json_text(FILE *f, const char *key, const char *text);
void json_integer(FILE *f, const char *key, int64_t integer);
void json_integers(FILE *f, const char *key, const int64_t *list, int64_t n);
void json_real(FILE *f, const char *key, int digits, double real);
void json_truth(FILE *f, const char *key, bool truth);

/* A string. Bytes that are not UTF-8 become lone surrogates \udc80 to \udcff, as Python's
 * surrogateescape has them, so that any file name can be had back. */
void json_string(FILE *f, const char *text);

/* Puts a string of n bytes into text, which has room for JSON_STRING_TEXT(n), without a '\0'.
 * Returns its end. Bytes that are not UTF-8 become U+FFFD: such text is for any reader. */
#define JSON_STRING_TEXT(n) (6 * (size_t)(n) + 2)
char *json_put_string(char *text, const char *bytes, size_t n);

/* A number that a reader of doubles reads back exactly; anything else, as a string: infinities,
 * NaN, and integers beyond 2^53. null if the dtype is BF_NONE. */
void json_value(FILE *f, const bf_value *value);

/* Puts the same into text, which has room for it, without a '\0'. Returns its end. */
enum { JSON_VALUE_TEXT = BF_VALUE_TEXT + 2 };
char *json_put_value(char *text, const bf_value *value);

/* Puts a number for a reader of any numbers: all of them are numbers, infinities and NaN as Python
 * has them. */
char *json_put_number(char *text, const bf_value *value);

/* Ends an object as every command does: ,"device":...,"seconds":...} and a newline. */
void json_end(FILE *f, const char *device, double seconds);

#endif
