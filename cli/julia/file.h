/* The file of a picture: its colours (.png) or its counts (.npy), written row by row. */
#ifndef BITFOLD_CLI_JULIA_FILE_H
#define BITFOLD_CLI_JULIA_FILE_H

#include "julia/options.h"
#include "julia/png.h"
#include "runtime/outfile.h"

typedef struct julia_file {
    outfile file;
    const julia_request *request;
    julia_png *png; /* NULL: a .npy file */
    uint8_t *row;   /* its colours */
} julia_file;

/* Does the name end so? */
bool julia_file_is(const char *name, const char *ending);

/* Opens the file of this name, which tells what it is; a .png needs julia_png_ready. Both name and
 * request must stay until the end. Returns an exit code; so do the others. */
int julia_file_begin(julia_file *f, const char *name, const julia_request *request);
int julia_file_rows(julia_file *f, const uint16_t *counts, int64_t rows);

/* Completes the file if `code`, that of what went before, is EXIT_DONE; drops it otherwise. */
int julia_file_end(julia_file *f, int code);

#endif
