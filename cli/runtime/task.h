/* What every command that ends in values does: an engine, an output, a state to save. */
#ifndef BITFOLD_CLI_RUNTIME_TASK_H
#define BITFOLD_CLI_RUNTIME_TASK_H

#include "runtime/engine.h"
#include "runtime/options.h"
#include "runtime/outfile.h"
#include "runtime/output.h"

typedef struct task {
    const options *options;
    engine engine;
    output output;
    outfile save;
} task;

/* names: several results are to come. Output files are opened now, so that a place that cannot be
 * written to is found before the work. */
int task_open(task *t, const options *o, bool names);

/* Opens and prepares nothing; reduces a (and b) and says with -v and --stats how it went. */
int task_reduce(task *t, bf_reduction op, source *a, source *b, int64_t start, bf_state **state);

/* Writes the state's value, or its description. r names the files and tells the seconds; base is
 * taken off an index. */
int task_emit(task *t, const bf_state *state, result r, int64_t base);

/* Ends the task, whose work ended with `code`. If it is EXIT_DONE, completes the output and saves
 * the state, if that was asked for and there is one; otherwise leaves no file. Returns the final
 * exit code. */
int task_close(task *t, int code, const bf_state *state);

#endif
