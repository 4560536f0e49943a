/* The numbers of one file or pipe of any length, as one line. */
#ifndef BITFOLD_CLI_SCAN_STREAM_H
#define BITFOLD_CLI_SCAN_STREAM_H

#include "scan/running.h"

/* Shows what is made of them. Returns an exit code, having reported the failure. */
int stream_run(running *x);

#endif
