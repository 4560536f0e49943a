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

/* Does the name have this ending? */
bool julia_file_is(const char *name, const char *ending);

/* Opens a .png or .npy file of this name; a .png needs julia_png_ready. name and request must exist
 * until julia_file_end. All return exit codes. */
int julia_file_begin(julia_file *f, const char *name, const julia_request *request);
int julia_file_rows(julia_file *f, const uint16_t *counts, int64_t rows);

/* Completes the file if `code` is EXIT_DONE, otherwise drops it and returns `code`. */
int julia_file_end(julia_file *f, int code);

#endif
