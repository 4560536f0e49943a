/* describe --infer: what each column is taken for, and why. */
#ifndef BITFOLD_CLI_REDUCE_INFER_H
#define BITFOLD_CLI_REDUCE_INFER_H

#include "runtime/options.h"

/* Shows it of all files. Returns an exit code, having reported the failure. */
int infer_run(const options *o);

#endif
