/* A .npy file that is written block by block. */
#ifndef BITFOLD_CLI_SHEET_ARRAY_H
#define BITFOLD_CLI_SHEET_ARRAY_H

#include "container/npy_write.h"
#include "runtime/outfile.h"

typedef struct array_output {
    npy_header header;
    bool counted;  /* the number of elements was known from the start */
    bool standard; /* to standard output */
    bool started;  /* the header is written */
    FILE *stream;  /* where blocks go */
    FILE *final;   /* where they go at the end, if that cannot be rewound; else NULL */
    int temporary; /* the file of `stream` meanwhile */
    const char *name;
    outfile file;
} array_output;

/* name "-" is standard output. header: dtype, order and shape; count -1: the first extent (of one)
 * is known at the end. Returns an exit code, having reported the failure; so do the others. */
int array_output_open(array_output *out, const char *name, const npy_header *header);
int array_output_write(array_output *out, const void *elements, int64_t n);

/* Completes the file, which has `count` elements. */
int array_output_close(array_output *out, int64_t count);
void array_output_abandon(array_output *out);

#endif
