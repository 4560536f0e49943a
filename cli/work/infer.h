/* --infer: what each column is taken for, and why. */
#ifndef BITFOLD_CLI_WORK_INFER_H
#define BITFOLD_CLI_WORK_INFER_H

#include "options/options.h"

/* Shows it of the columns of all files; with a chooser, of those of texts that it chooses. Returns
 * an exit code, having reported the failure. */
int infer_run(const options *o, text_chooser *chooser);

#endif
