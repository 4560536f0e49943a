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

/* Opens a file of this name and form, FORM_PNG or FORM_NPY; a .png needs julia_png_ready. name and
 * request must exist until julia_file_end. All return exit codes. */
int julia_file_begin(julia_file *f, const char *name, enum form form, const julia_request *request);
int julia_file_rows(julia_file *f, const uint16_t *counts, int64_t rows);

/* Completes the file if `code` is EXIT_DONE, otherwise drops it and returns `code`. */
int julia_file_end(julia_file *f, int code);

#endif
