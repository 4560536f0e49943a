/* The output of map: a .npy file that is written block by block. */
#ifndef BITFOLD_CLI_MAP_OUTPUT_H
#define BITFOLD_CLI_MAP_OUTPUT_H

#include "container/npy_write.h"
#include "runtime/outfile.h"

typedef struct map_output {
    npy_header header;
    bool counted;  /* the number of elements was known from the start */
    bool standard; /* to standard output */
    bool started;  /* the header is written */
    FILE *stream;  /* where blocks go */
    FILE *final;   /* where they go at the end, if that cannot be rewound; else NULL */
    int temporary; /* the file of `stream` meanwhile */
    const char *name;
    outfile file;
} map_output;

/* name "-" is standard output. header: dtype, order and shape; count -1: the first extent (of one)
 * is known at the end. Returns an exit code, having reported the failure; so do the others. */
int map_output_open(map_output *out, const char *name, const npy_header *header);
int map_output_write(map_output *out, const void *elements, int64_t n);

/* Completes the file, which has `count` elements. */
int map_output_close(map_output *out, int64_t count);
void map_output_abandon(map_output *out);

#endif
