/* The operands of map: files, or numbers that stand for them. */
#ifndef BITFOLD_CLI_MAP_OPERAND_H
#define BITFOLD_CLI_MAP_OPERAND_H

#include "input/source.h"

enum { MAP_OPERANDS = 3 };

typedef struct map_operand {
    const char *text; /* as the user gave it */
    bool is_number;   /* a plain number; otherwise a file */
    bool is_single;   /* one element, which stands for every one */
    uint64_t bits;    /* of the single element */
    source source;    /* of a file */
    void *buffer;     /* where the elements of a block go that are not in the file's own memory */
    bf_array array;   /* the elements of the present block */
} map_operand;

/* Opens a file, or takes a number. Returns an exit code, having reported the failure; so do the
 * others. */
int map_operand_open(map_operand *x, const char *text, const input *in);
void map_operand_close(map_operand *x);

/* Makes ready to read blocks of up to `room` elements. ordered: in C order. single: the file's only
 * element stands for every one. */
int map_operand_prepare(map_operand *x, bool ordered, bool single, int64_t room);

/* Puts elements [at, at + n) in x->array; of a file whose length is not known, as many as there
 * are: x->array.shape[0] says how many. */
int map_operand_view(map_operand *x, int64_t at, int64_t n);

#endif
