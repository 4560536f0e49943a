/* sum prod mean var std sumsq norm min max argmin argmax: one value a file. */
#include "command.h"
#include "reduce/reduce.h"
#include "reduce/task.h"
#include "runtime/progress.h"

#include <string.h>

#define TAKES_VALUE                                                                                \
    (TAKES_STDIN | TAKES_INPUT | TAKES_NAN | TAKES_RUNNING | TAKES_SAVE | TAKES_TOTAL |            \
     TAKES_OUTPUT)

#define SYNOPSIS "[OPTIONS] [FILE...]"
#define FILES "\nOne value for each FILE; '-' or no FILE is standard input."
#define INDEX                                                                                      \
    "\nThe index counts from the start of the file, in C order; --total's, over the files in "     \
    "turn."

static const struct {
    bf_reduction op;
    usage usage;
} values[] = {
    {BF_SUM,
     {SYNOPSIS, "The exact sum, rounded once." FILES, TAKES_VALUE | TAKES_ROUNDING,
      "bitfold sum x.npy"}},
    {BF_MEAN,
     {SYNOPSIS, "The exact mean, rounded once." FILES, TAKES_VALUE | TAKES_ROUNDING,
      "bitfold mean --nan skip x.npy"}},
    {BF_VAR,
     {SYNOPSIS, "The variance, from the exact moments, rounded once." FILES,
      TAKES_VALUE | TAKES_ROUNDING | TAKES_DDOF, "bitfold var --ddof 1 x.npy"}},
    {BF_STD,
     {SYNOPSIS, "The standard deviation, from the exact moments, rounded once." FILES,
      TAKES_VALUE | TAKES_ROUNDING | TAKES_DDOF, "bitfold std --total x.npy y.npy"}},
    {BF_SUMSQ,
     {SYNOPSIS, "The exact sum of squares, rounded once." FILES, TAKES_VALUE | TAKES_ROUNDING,
      "bitfold sumsq --json x.npy"}},
    {BF_NORM,
     {SYNOPSIS, "The 2-norm: the root of the exact sum of squares, rounded once." FILES,
      TAKES_VALUE | TAKES_ROUNDING, "bitfold norm --out-dtype f32 x.npy"}},
    {BF_PROD,
     {SYNOPSIS, "The product: exact of integers; of floats by a fixed tree, to under 1 ulp." FILES,
      TAKES_VALUE | TAKES_ROUNDING | TAKES_OVERFLOW, "bitfold prod --out-dtype f32 x.npy"}},
    {BF_MIN,
     {SYNOPSIS, "The minimum; -0 is less than +0." FILES, TAKES_VALUE,
      "bitfold min --tsv x.npy y.npy"}},
    {BF_MAX,
     {SYNOPSIS, "The maximum; -0 is less than +0." FILES, TAKES_VALUE, "bitfold max --hex x.npy"}},
    {BF_ARGMIN,
     {SYNOPSIS, "The first index that holds the minimum." FILES INDEX, TAKES_VALUE,
      "bitfold argmin --offset 2 x.npy"}},
    {BF_ARGMAX,
     {SYNOPSIS, "The first index that holds the maximum." FILES INDEX, TAKES_VALUE,
      "bitfold argmax x.npy"}},
};

static const usage *usage_of(bf_reduction op) {
    size_t i = 0;
    while (values[i].op != op) i++;
    return &values[i].usage;
}

/* All files so far, as one. */
typedef struct running {
    bf_state *state; /* NULL before the first file, or if nobody asks */
    const char *first_file;
    int64_t next; /* the index that the next file's elements start from */
    double seconds;
} running;

/* Adds one file's state, which it takes over. */
static int add_to_total(running *total, bf_state *state, const char *file) {
    if (!total->state) {
        total->state = state;
        total->first_file = file;
        return EXIT_DONE;
    }
    bf_state_info a = {.size = sizeof a}, b = {.size = sizeof b};
    bf_state_describe(total->state, &a);
    bf_state_describe(state, &b);
    int code = EXIT_DONE;
    if (a.dtype != b.dtype) {
        code = fail(EXIT_DATA, file, "no total of different dtypes: this is %s, %s is %s",
                    bf_dtype_name(b.dtype), total->first_file, bf_dtype_name(a.dtype));
        hint("--dtype f64 reads all text as f64");
    }
    const bf_status st = code == EXIT_DONE ? bf_state_merge(total->state, state) : BF_OK;
    if (st != BF_OK) code = fail_status(st, NULL, file);
    bf_state_destroy(state);
    return code;
}

static int reduce_file(task *t, bf_reduction op, const char *name, running *total, bf_state **state,
                       double *seconds) {
    source s;
    const double began = progress_clock();
    input in = t->options->input;
    in.rows = true;
    int code = source_open(&s, name, &in);
    if (code != EXIT_DONE) return code;
    if (task_columns(&s) > 1)
        code = fail(EXIT_USAGE, name, "one column at a time, not %d", task_columns(&s));
    if (code == EXIT_DONE) code = source_prepare(&s, reduce_is_ordered(op));
    if (code == EXIT_DONE) code = task_reduce(t, op, &s, NULL, total->next + s.first, state);
    source_close(&s);
    *seconds = progress_clock() - began;
    total->seconds += *seconds;
    return code;
}

static int do_file(task *t, bf_reduction op, const char *name, running *total) {
    bf_state *state = NULL;
    result r = {.file = name};
    int code = reduce_file(t, op, name, total, &state, &r.seconds);
    if (code != EXIT_DONE) return code;
    code = task_emit(t, state, r, total->next);
    bf_state_info info = {.size = sizeof info};
    bf_state_describe(state, &info);
    if (!t->options->total && !t->options->save) {
        bf_state_destroy(state);
        return code;
    }
    total->next = info.next;
    const int added = add_to_total(total, state, name);
    return code == EXIT_DONE ? added : code;
}

/* A file that fails does not keep the others from their values, but there is no total then. */
static int do_files(task *t, bf_reduction op, running *total) {
    const options *o = t->options;
    int first_failure = EXIT_DONE;
    for (int i = 0; i < o->file_count && !ferror(t->output.stream); i++) {
        const int code = do_file(t, op, o->files[i], total);
        if (first_failure == EXIT_DONE) first_failure = code;
    }
    if (first_failure != EXIT_DONE || !o->total) return first_failure;
    return task_emit(t, total->state, (result){.file = "total", .seconds = total->seconds}, 0);
}

int cmd_value(int argc, char **argv) {
    const bf_reduction op = bf_reduction_from_name(argv[0]);
    options o;
    int code;
    if (!options_parse(&o, argc, argv, usage_of(op), &code)) return code;
    task t;
    running total = {.state = NULL};
    code = task_open(&t, &o, o.file_count > 1 || o.total);
    if (code == EXIT_DONE) {
        code = do_files(&t, op, &total);
        code = task_close(&t, code, total.state);
    }
    bf_state_destroy(total.state);
    task_free(&t);
    return code;
}
