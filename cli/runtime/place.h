/* Errors in a text of the command line, with the place in it. */
#ifndef BITFOLD_CLI_RUNTIME_PLACE_H
#define BITFOLD_CLI_RUNTIME_PLACE_H

#include "runtime/report.h"

/* Reports what the context says is wrong with the text of an option, `position` bytes from its
 * begin; position < 0: the text is not at fault. Returns the exit code. */
int place_refuse(const bf_context *context, bf_status status, const char *option, const char *text,
                 int position);

#endif
