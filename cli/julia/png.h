/* PNG files, row by row, by libpng, which is loaded when one is written. */
#ifndef BITFOLD_CLI_JULIA_PNG_H
#define BITFOLD_CLI_JULIA_PNG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct julia_png julia_png;

/* Whether PNG files can be written here; if not, says why and what would help. */
int julia_png_ready(void);

/* A picture of 8-bit colours with its bits of red, green and blue; NULL, having said why. `name`
 * is that of the file, for messages. */
julia_png *julia_png_begin(FILE *f, const char *name, int64_t width, int64_t height);

/* A row of width * 3 bytes. Returns an exit code; so does the end. */
int julia_png_row(julia_png *png, const uint8_t *rgb);
int julia_png_end(julia_png *png);

/* Frees it, complete or not. NULL is ignored. */
void julia_png_drop(julia_png *png);

#endif
