/* The work of every command that ends in values: inputs become states, states become results. */
#ifndef BITFOLD_CLI_REDUCE_TASK_H
#define BITFOLD_CLI_REDUCE_TASK_H

#include "input/rows.h"
#include "options/options.h"
#include "runtime/outfile.h"
#include "sheet/output.h"
#include "work/work.h"

typedef struct task {
    const options *options;
    bf_context *context;
    output output;
    outfile save;
    work work;
    int64_t bytes; /* read by the last task_reduce, and the threads that it used */
    int threads;
    bool whole;           /* the state to save is, as a trailer says */
    bf_time_kind time;    /* it is of times */
    bool powers;          /* a column has a state of BF_KURTOSIS, too: they are behind the others */
    struct texts **texts; /* for columns of strings, which describe has; NULL: there can be none */
} task;

/* names: several results are to come. Output files are opened now, so that a place that cannot be
 * written to is found before the work. */
int task_open(task *t, const options *o, bool names);

/* Whether two states of one op can be merged: their dtypes are one, or both of integers. Then
 * task_widen makes the first one that takes the other: i128, if they are not one, or not of one
 * scale. */
bool task_joins(const bf_state *a, const bf_state *b);
bf_status task_widen(bf_context *context, bf_state **state, const bf_state *other);

/* Refuses a condition where a result depends on the numbers of rows of all ranks. Returns an exit
 * code. */
int task_check_condition(const options *o, bf_reduction op);

/* The index of this rank's first row, which is row `first` of the input; with a condition each rank
 * numbers those that meet it. */
int64_t task_start(const task *t, int64_t first);

/* Merges the states of all ranks, numbering rows as if one had them all. Returns an exit code that
 * all agree on. */
int task_merge_ranks(const task *t, bf_reduction op, bf_state *states[], int n, const char *file);

/* How the commands of values read their inputs. */
rows_options task_rows(const task *t, bf_reduction op);

/* Reduces the rows of one input, or of the n inputs of pairs, into new states (absorb_rows), which
 * begin as NULL; the first row has the index `start`. The states are the caller's to destroy,
 * before the task closes. Says with -v and --stats how it went. */
int task_reduce(task *t, bf_reduction op, rows *const inputs[], int n, int64_t start,
                bf_state **states);

/* Notes what an input is; says with --stats how fast it was read, as bytes and threads tell. */
void task_tell_input(const task *t, const rows *r);
void task_tell_speed(const task *t, const rows *r, double seconds);

/* Writes the state's value, or its description. r names the files and tells the seconds; base is
 * taken off an index. */
int task_emit(task *t, const bf_state *state, result r, int64_t base);

/* Write the description of strings, and save them. */
int task_emit_texts(task *t, struct texts *of, const result *r);
int task_save_texts(task *t, const struct texts *of);

/* Ends the task, whose work ended with `code`. If it is EXIT_DONE, completes the output and saves
 * the state, if that was asked for and there is one; otherwise leaves no file. Returns the final
 * exit code. */
int task_close(task *t, int code, bf_state *state);

/* Frees the context, when its states are destroyed. */
void task_free(task *t);

#endif
