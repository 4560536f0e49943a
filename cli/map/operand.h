/* The operands of map: files, or numbers that stand for them. */
#ifndef BITFOLD_CLI_MAP_OPERAND_H
#define BITFOLD_CLI_MAP_OPERAND_H

#include "input/rows.h"

enum { MAP_OPERANDS = 3 };

typedef struct map_operand {
    const char *text; /* as the user gave it */
    bool is_number;   /* a plain number; otherwise a file */
    bool is_single;   /* one element, which stands for every one */
    uint64_t bits;    /* the single element's */
    rows rows;        /* a file's */
    npy_header shape; /* a file's; text is loaded when it is opened, so that its length is known */
    int64_t count;    /* elements selected; -1: not known */
    bf_array loaded;  /* for text: the elements to come */
    bf_array array;   /* the elements of the present block */
} map_operand;

/* Opens a file, read in this way, or takes a number. Returns an exit code, having reported the
 * failure; so do the others. */
int map_operand_open(map_operand *x, const char *text, const input *in, const rows_options *how);
void map_operand_close(map_operand *x);

bf_dtype map_operand_dtype(const map_operand *x);

/* Makes ready to read. ordered: in C order. single: the file's only element stands for every one.
 */
int map_operand_prepare(map_operand *x, bool ordered, bool single);

/* Puts the next elements in x->array: up to n of them, fewer only at the end. */
int map_operand_next(map_operand *x, int64_t n);

#endif
