/* verify, its parts: every way in which this machine can compute, and the verdict. */
#ifndef BITFOLD_CLI_VERIFY_H
#define BITFOLD_CLI_VERIFY_H

#include "io/source.h"
#include "options.h"

#include <bitfold.h>
#include <stdbool.h>

enum { VERIFY_ISAS = 8, VERIFY_COUNTS = 4 };

typedef struct machine {
    int isas, counts;
    const char *isa[VERIFY_ISAS];
    int threads[VERIFY_COUNTS];
    bf_context *context[VERIFY_ISAS][VERIFY_COUNTS];
} machine;

typedef struct verdict {
    const options *options;
    int rows, failures;
    double began;
} verdict;

/* A result, or why there is none. */
typedef struct outcome {
    bf_status status;
    bf_value value;
} outcome;

/* What a state tells: its value, or the checksum of its saved form where that tells more. */
outcome verify_result(const bf_state *state, const bf_reduce_options *rules);

bool verify_same(const outcome *a, const outcome *b);
void verify_text(const outcome *r, char text[BF_VALUE_TEXT]);

/* Views all of the source; what must be copied goes to *buffer, for the caller to free. Returns an
 * exit code. */
int verify_load(source *s, void **buffer, const void **data);

/* verify_against.c: with --against. Returns an exit code. */
int verify_against(const machine *m, const options *o, verdict *v);

#endif
