/* Rows of several columns, some of which may be strings, on piles (memory/piles.h): a row is a
 * record of bytes. */
#ifndef BITFOLD_CLI_MEMORY_PACKED_H
#define BITFOLD_CLI_MEMORY_PACKED_H

#include "memory/buffer.h"
#include "memory/piles.h"

#include <bitfold.h>

#include <stdbool.h>

/* A column of rows that are packed: numbers, strings or both. */
typedef struct packed_column {
    bf_dtype dtype; /* its numbers'; BF_NONE: it has none */
    bool strings;   /* it has strings */
    const void *numbers;
    const int64_t *offsets;
    const char *bytes;
    const uint8_t *valid; /* as in bf_column, from bit `first` on: 0 where a row is NULL */
    int64_t first;
    const uint8_t *known; /* has a byte for each row, instead. Both NULL: no row is */
} packed_column;

/* A record: a bit for each column, set where the row is NULL; the lengths of its strings; its
 * numbers; its strings. */
typedef struct packed {
    struct packed_field {
        bf_dtype dtype;
        size_t at;  /* where its number is in the record */
        int string; /* the number of its string; -1: none */
    } * fields;
    int count, strings;
    size_t flags, fixed; /* bytes of the bits, and of all but the strings */
    buffer records;
} packed;

/* Prepares for columns of these kinds. False: there is no memory. */
bool packed_open(packed *p, const packed_column columns[], int count);
void packed_close(packed *p);

/* Rows that are best added together, at most. */
enum { PACKED_MOST = 1 << 9 };

/* Puts n rows of such columns on piles of bytes: row rows[i] on pile which[i]. Returns an exit
 * code, having reported the failure. */
int packed_add(packed *p, piles *to, const uint8_t which[], const packed_column columns[],
               const int64_t rows[], int64_t n);

/* Rows that are read from a pile. */
typedef struct packed_rows {
    const packed *of;
    const piles *piles;
    int pile;
    int64_t at; /* the next row, in bytes */
    int64_t n;  /* rows at hand */
    buffer bytes, begins;
} packed_rows;

void packed_rows_close(packed_rows *r);

/* Reads the next rows, of about so many bytes, but one at least; r->n is 0 at the end. Returns an
 * exit code, having reported the failure. */
int packed_read(packed_rows *r, size_t bytes);

bool packed_is_null(const packed_rows *r, int column, int64_t row);

/* Copy a column of the rows at hand. *valid has bits, and becomes NULL if no row is NULL. False:
 * there is no memory. */
bool packed_numbers(const packed_rows *r, int column, buffer *to);
bool packed_strings(const packed_rows *r, int column, buffer *offsets, buffer *bytes,
                    bf_strings *out);
bool packed_valid(const packed_rows *r, int column, buffer *bits, const uint8_t **valid);

#endif
