/* The results of a running command: one a line, or an array of .npy. */
#ifndef BITFOLD_CLI_SCAN_OUTPUT_H
#define BITFOLD_CLI_SCAN_OUTPUT_H

#include "scan/running.h"
#include "sheet/array.h"

typedef struct scan_output {
    const running *of;
    array_output output;
    int64_t count; /* results so far */
} scan_output;

/* Functions that return an exit code have reported the failure. */

/* Begins with results of this shape, of what was settled; count -1: the first extent shows at the
 * end. */
int scan_output_open(scan_output *s, const running *of, int ndim, const int64_t shape[],
                     int64_t count);

/* Writes results, which it may change. */
int scan_output_put(scan_output *s, const bf_array *results);

/* code: of the work, on n numbers. Completes the output if that went well. With --json, the object
 * that tells of an array goes to standard output. Returns the code of both. */
int scan_output_close(scan_output *s, int code, int64_t n);

#endif
