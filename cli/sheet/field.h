/* Fields of a sheet as text, in each form. */
#ifndef BITFOLD_CLI_SHEET_FIELD_H
#define BITFOLD_CLI_SHEET_FIELD_H

#include "sheet/sheet.h"

/* Bytes that a field may take: each byte of a string becomes six of JSON at most, five of Markdown,
 * and two of TSV and CSV, where a NUL becomes six. */
#define FIELD_TEXT(bytes) (6 * (size_t)(bytes) + BF_VALUE_TEXT + 2)
size_t field_room(const sheet_column *c, int64_t row, enum sheet_form form);

/* Puts a field, or a string of n bytes, into text. Returns its end. */
char *field_put(char *text, enum sheet_form form, const sheet_column *c, int64_t row, bool hex);
char *field_put_string(char *text, enum sheet_form form, const char *bytes, size_t n);

/* Puts a column's name; alone: it is the only column. */
char *field_put_name(char *text, enum sheet_form form, const char *name, bool alone);

/* Numbers stand to the right, all else to the left. */
bool field_is_number(const sheet_column *c);

/* The columns of a terminal that aligned text takes. */
int field_width(const char *text, const char *end);

#endif
