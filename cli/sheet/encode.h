/* Numbers and strings as bytes, which have their order: of none of a column are they the beginning
 * of another's. */
#ifndef BITFOLD_CLI_SHEET_ENCODE_H
#define BITFOLD_CLI_SHEET_ENCODE_H

#include <bitfold.h>

#include <stdbool.h>
#include <stdint.h>

/* The one byte of NULL is greater than the first of any value, ascending or descending, such as
 * that of 0. A number takes so many bytes at most, with some to spare, and a string twice its own
 * beside. */
enum { ENCODED_NULL = 0xff, ENCODED_ZERO = 0x80, ENCODED_NUMBER = 48 };

/* Write number i of an array, or a string. Return the end. */
char *encode_number(char *to, bf_dtype dtype, const void *numbers, int64_t i);
char *encode_string(char *to, const char *at, const char *end);

/* Turns the order of what was written around: no value becomes NULL. */
void encode_reverse(char *begin, const char *end, bool string);

#endif
