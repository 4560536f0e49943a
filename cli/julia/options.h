/* The picture that the options of 'bitfold julia' ask for. */
#ifndef BITFOLD_CLI_JULIA_OPTIONS_H
#define BITFOLD_CLI_JULIA_OPTIONS_H

#include "options/options.h"

extern const option_table julia_options; /* they say what a picture is */

typedef struct julia_request {
    bf_julia_params params;
    bf_palette palette;
    int64_t frames;        /* 0: one picture */
    double from[2], to[2]; /* c of the first and of the last frame */
} julia_request;

/* Reads the options of a picture. Returns an exit code; errors have been reported. */
int julia_request_read(julia_request *r, const options *o);

#endif
