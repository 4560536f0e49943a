/* PNG files, row by row, by libpng, which is loaded when one is written. */
#ifndef BITFOLD_CLI_JULIA_PNG_H
#define BITFOLD_CLI_JULIA_PNG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct julia_png julia_png;

/* Returns EXIT_DONE if PNG files can be written here. Otherwise reports why not and what would
 * help, and returns an exit code. */
int julia_png_ready(void);

/* Begins a picture of 8-bit red, green and blue. `name` is the file's, for messages. Returns NULL
 * on failure, which has been reported. */
julia_png *julia_png_begin(FILE *f, const char *name, int64_t width, int64_t height);

/* Writes a row of width * 3 bytes. Returns an exit code, as julia_png_end does. */
int julia_png_row(julia_png *png, const uint8_t *rgb);
int julia_png_end(julia_png *png);

/* Frees the picture, complete or not. NULL is ignored. */
void julia_png_drop(julia_png *png);

#endif
