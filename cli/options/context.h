/* Contexts, and how inputs are read, as the options ask for them. */
#ifndef BITFOLD_CLI_OPTIONS_CONTEXT_H
#define BITFOLD_CLI_OPTIONS_CONTEXT_H

#include "input/rows.h"
#include "options/options.h"

/* Makes a context of the options' device, instruction set and threads. Returns an exit code, having
 * reported the failure. */
int context_open(bf_context **context, const options *o);

/* Makes one of so much memory, whose calls may spill; and reports the failure of such a call. */
int context_open_spilling(bf_context **context, const options *o, int64_t memory);
int context_failed(const bf_context *context, bf_status st, const char *file);

/* How one of so many inputs is read: settled, with decimals, and kept where it is a stream. */
rows_options context_reading(const options *o, spool_limit *keep, int inputs);

#endif
