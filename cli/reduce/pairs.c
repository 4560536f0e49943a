#define _GNU_SOURCE /* asprintf */
/* dot, cov, corr and fit: numbers that stand side by side; and mean, var and std with weights. */
#include "reduce/pairs.h"

#include "columns/condition.h"
#include "columns/values.h"
#include "command.h"
#include "expression/inputs.h"
#include "input/share.h"
#include "input/step.h"
#include "options/context.h"
#include "options/form.h"
#include "reduce/expressions.h"
#include "reduce/many.h"
#include "reduce/paired.h"
#include "reduce/reduce.h"
#include "reduce/task.h"
#include "reduce/together.h"
#include "runtime/info.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the commands ---------------------------------------------------------------------------- */

#define TAKES_PAIRS                                                                                \
    (TAKES_STDIN | TAKES_INPUT | TAKES_NAN | TAKES_ROUNDING | TAKES_RUNNING | TAKES_MEMORY |       \
     TAKES_SAVE | TAKES_WORK | TAKES_OUTPUT | TAKES_SHEET | TAKES_MANY | TAKES_EXPRESSION |        \
     TAKES_WHERE)
#define OPERANDS                                                                                   \
    "They are two FILEs of one shape and dtype, or two columns of a table (--column A,B). One "    \
    "FILE may be '-', standard input. Text is read in the dtype of an array beside it; decimals "  \
    "are what is written. With -e they are expressions, as in -e 'log(x), y'."
#define WEIGHTS                                                                                    \
    " With --weights all rows are kept in memory, and a row with a NULL in any column is left "    \
    "out."
#define MATRIX                                                                                     \
    "\n\nOf three and more columns or FILEs there is a matrix of the results of each two, in one " \
    "pass. With NULLs and --nan skip, each is of the rows where both have a number."
#define COMMON                                                                                     \
    "column expression where nan out-dtype axis json csv output save threads memory device help"

static const struct {
    bf_reduction op;
    usage usage;
} commands[] = {
    {BF_DOT,
     {"[OPTIONS] A B",
      "The dot product of A and B: the exact sum of the exact products, rounded once. " OPERANDS,
      TAKES_PAIRS, COMMON, "bitfold dot x.npy y.npy\nbitfold dot --column height,weight table.csv",
      NULL}},
    {BF_COV,
     {"[OPTIONS] A B",
      "The covariance of A and B, from exact sums, rounded once. " OPERANDS MATRIX WEIGHTS,
      TAKES_PAIRS | TAKES_DDOF | TAKES_WEIGHTS | TAKES_ARRAY, "ddof weights " COMMON,
      "bitfold cov --ddof 1 x.npy y.npy\nbitfold cov --column height,weight table.csv", NULL}},
    {BF_CORR,
     {"[OPTIONS] A B",
      "Pearson's correlation of A and B, from exact sums, rounded once; NaN where one is "
      "constant. " OPERANDS MATRIX WEIGHTS,
      TAKES_PAIRS | TAKES_WEIGHTS | TAKES_ARRAY, "weights " COMMON,
      "bitfold corr x.npy y.npy\nbitfold corr --column height,weight table.csv", NULL}},
    {BF_SLOPE,
     {"[OPTIONS] A B",
      "The line that fits B to A best (least squares): its slope, its intercept, and r2, its share "
      "of the variance of B. Each is from exact sums, rounded once. " OPERANDS,
      TAKES_PAIRS, COMMON, "bitfold fit x.npy y.npy\nbitfold fit --column height,weight table.csv",
      NULL}}};

/* ---- inputs ---------------------------------------------------------------------------------- */

typedef struct pairs {
    task task;
    bf_reduction op;
    int count; /* files */
    rows *inputs, **input;
    int columns;   /* all files have so many together */
    bool weighted; /* the last one has the weights */
    const char **names;
    char **kept; /* names that are to be freed */
    bf_state **states;
    spool_limit limit;
    double began;
} pairs;

static bool takes_many(bf_reduction op) { return op == BF_COV || op == BF_CORR; }

/* Whether there are as many columns, or expressions, as the command takes. */
static int check_count(const pairs *x) {
    const options *o = x->task.options;
    const char *name = o->files[0];
    if (x->weighted && x->columns < 3)
        return fail(EXIT_USAGE, name, "two columns and weights are needed");
    if (x->columns < 2 && o->expression)
        return fail(EXIT_USAGE, NULL, "-e needs two expressions, with a comma between them");
    if (x->columns < 2) {
        fail(EXIT_USAGE, NULL, "two files are needed, not %d", x->count);
        hint("--column A,B takes two columns of a table");
        return EXIT_USAGE;
    }
    if (x->columns - x->weighted == 2)
        return o->form == FORM_NPY ? form_check(o, FORMS_OF_TEXT) : EXIT_DONE;
    if (!takes_many(x->op))
        return fail(EXIT_USAGE, name, "two columns are needed, not %d", x->columns);
    if (o->save) return fail(EXIT_USAGE, name, "--save takes two columns, not %d", x->columns);
    return EXIT_DONE;
}

/* One file is a table; each of several has a column. */
static int open_inputs(pairs *x) {
    const options *o = x->task.options;
    rows_options how = context_reading(o, &x->limit, x->count > 1 ? x->count : 2);
    input in = o->input;
    how.slab = options_slab(o);
    how.nulls = true;
    in.text.table = x->count == 1;
    spool_limit_set(&x->limit, o->memory.pipes);
    int code = EXIT_DONE;
    for (int i = 0; i < x->count && code == EXIT_DONE; i++) {
        code = x->count == 1 ? rows_open(&x->inputs[i], o->files[i], &in, &how)
                             : rows_open_column(&x->inputs[i], o->files[i], &in, &how);
        if (code == EXIT_DONE) x->columns += x->inputs[i].columns;
    }
    if (code == EXIT_DONE) code = rows_order_as_listed(&x->inputs[0], o->input.text.columns);
    if (code == EXIT_DONE) code = check_count(x);
    return code == EXIT_DONE ? step_check_shapes(x->input, x->count, true) : code;
}

static int prepare_inputs(pairs *x) {
    const int code = share_rows(x->input, x->count, NULL);
    return ranks_agree(code == EXIT_DONE ? step_prepare(x->input, x->count) : code);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Makes room for so many columns: their names, and states. */
static bool open_columns(pairs *x) {
    x->names = calloc((size_t)x->columns + 1, sizeof *x->names);
    x->kept = calloc((size_t)x->columns + 1, sizeof *x->kept);
    x->states = calloc((size_t)together_states(x->columns) + 1, sizeof(bf_state *));
    return x->names && x->kept && x->states;
}

/* The names of the columns of a table, or those of the files. */
static int name_columns(pairs *x) {
    for (int k = 0; k < x->columns; k++) {
        if (x->count == 1 && !(x->kept[k] = rows_column_name(&x->inputs[0], k)))
            return fail_memory(x->inputs[0].source.name);
        x->names[k] = x->count == 1 ? x->kept[k] : x->task.options->files[k];
    }
    return EXIT_DONE;
}

static bf_status fill_matrix(const pairs *x, bf_value *values, int64_t *counts) {
    bf_status st = BF_OK;
    for (int i = 0; i < x->columns; i++)
        for (int j = 0; j <= i && st == BF_OK; j++) {
            const bf_state *state = x->states[together_state(i, j)];
            const int at = i * x->columns + j, turned = j * x->columns + i;
            st = bf_state_result(state, &x->task.options->rules, &values[at]);
            values[turned] = values[at];
            counts[turned] = counts[at] = state_info(state).count;
        }
    return st;
}

/* Writes the results of columns with weights: of two, one value. */
static int emit_weighted(pairs *x, bf_value *values) {
    const options *o = x->task.options;
    const int k = x->columns - 1;
    result r = {.file = o->files[0], .columns = x->names, .column_count = k};
    int64_t *const counts = calloc((size_t)(x->columns * x->columns), sizeof *counts);
    int code = counts ? weighted_reduce(&x->task, x->op, x->input, x->count, values, &r.info)
                      : fail_memory(r.file);
    r.device = bf_context_device(x->task.context);
    r.seconds = progress_clock() - x->began;
    r.value = k > 1 ? values[1] : values[0];
    r.nulls = rows_seen(&x->inputs[0]) - r.info.count;
    for (int i = 0; counts && i < k * k; i++) counts[i] = r.info.count;
    const paired_matrix m = {k, values, counts};
    if (code == EXIT_DONE)
        code =
            k > 2 ? paired_put_matrix(&x->task.output, &r, &m) : output_result(&x->task.output, &r);
    free(counts);
    return code;
}

static int reduce_weighted(pairs *x) {
    bf_value *const values = calloc((size_t)(x->columns * x->columns), sizeof *values);
    const int code = values ? emit_weighted(x, values) : fail_memory(NULL);
    free(values);
    return code;
}

static int emit_matrix(pairs *x, result *r) {
    const size_t n = (size_t)x->columns * (size_t)x->columns;
    bf_value *const values = malloc(n * sizeof *values);
    int64_t *const counts = malloc(n * sizeof *counts);
    const paired_matrix m = {x->columns, values, counts};
    const bf_status st = values && counts ? fill_matrix(x, values, counts) : BF_E_MEMORY;
    r->info = state_info(x->states[0]);
    r->device = bf_context_device(x->task.context);
    const int code = st == BF_OK ? paired_put_matrix(&x->task.output, r, &m)
                                 : fail_status(st, x->task.context, r->file);
    free(values);
    free(counts);
    return code;
}

static int emit(pairs *x, int64_t seen) {
    const options *o = x->task.options;
    const bool several = x->count == 1 || x->columns > 2 || o->expression;
    result r = {o->files[0], .other = several ? NULL : o->files[1],
                .columns = several ? x->names : NULL, .column_count = x->columns,
                .seconds = progress_clock() - x->began};
    if (x->columns > 2) return emit_matrix(x, &r);
    r.nulls = seen - state_info(x->states[0]).count;
    return task_emit(&x->task, x->states[0], r, 0);
}

/* ---- the work -------------------------------------------------------------------------------- */

static int reduce_columns(pairs *x) {
    int code = ranks_agree(open_inputs(x));
    if (code == EXIT_DONE) code = prepare_inputs(x);
    if (code != EXIT_DONE) return code;
    code = open_columns(x) ? name_columns(x) : fail_memory(NULL);
    code = ranks_agree(code);
    if (code == EXIT_DONE && x->weighted) return reduce_weighted(x);
    if (code == EXIT_DONE) code = task_reduce(&x->task, x->op, x->input, x->count, 0, x->states);
    if (code != EXIT_DONE) return code;
    return ranks_agree(emit(x, ranks_sum(rows_seen(&x->inputs[0]))));
}

static int reduce_expressions(pairs *x) {
    const char *list = x->task.options->expression;
    int64_t seen;
    x->columns = expressions_count(list);
    if (!open_columns(x) || !expressions_split(list, x->kept)) return fail_memory(NULL);
    for (int k = 0; k < x->columns; k++) x->names[k] = x->kept[k];
    int code = check_count(x);
    if (code == EXIT_DONE)
        code = expressions_absorb(&x->task, x->op, x->names, x->columns, x->states, &seen);
    return code == EXIT_DONE ? emit(x, seen) : code;
}

static int run_task(pairs *x, const options *o) {
    x->began = progress_clock();
    int code = task_open(&x->task, o, false);
    if (code != EXIT_DONE) return code;
    code = o->expression ? reduce_expressions(x) : reduce_columns(x);
    return task_close(&x->task, code, x->states ? x->states[0] : NULL);
}

static bool open_pairs(pairs *x, int count) {
    x->count = count;
    x->inputs = calloc((size_t)count, sizeof *x->inputs);
    x->input = calloc((size_t)count, sizeof *x->input);
    for (int i = 0; x->inputs && x->input && i < count; i++) {
        x->inputs[i].source.fd = -1;
        x->input[i] = &x->inputs[i];
    }
    return x->inputs && x->input;
}

static void close_pairs(pairs *x) {
    for (int i = 0; x->inputs && i < x->count; i++) rows_close(&x->inputs[i]);
    for (int i = 0; x->states && i < together_states(x->columns); i++)
        bf_state_destroy(x->states[i]);
    for (int k = 0; x->kept && k < x->columns; k++) free(x->kept[k]);
    free(x->kept);
    free(x->names);
    free(x->states);
    free(x->input);
    free(x->inputs);
    task_free(&x->task);
}

/* Expressions are those of one rank, from the first row to the last. */
static int check_expressions(const options *o) {
    const char *const with = many_asked(o)       ? "--axis, --offsets or --index"
                             : o->checkpoint     ? "--checkpoint"
                             : ranks_count() > 1 ? "ranks"
                                                 : NULL;
    return with ? fail(EXIT_USAGE, NULL, "-e of pairs does not go with %s", with)
                : expressed_check(o->file_count);
}

static int check_line(const options *o, bf_reduction op) {
    const bool many = many_asked(o);
    if (o->expression) return check_expressions(o);
    if (o->file_count > 1 && o->where)
        return fail(EXIT_USAGE, NULL, "--where needs one FILE, a table");
    if (o->file_count == 2 || (!many && (o->file_count == 1 || takes_many(op)))) return EXIT_DONE;
    return fail(EXIT_USAGE, NULL, "two files are needed, not %d", o->file_count);
}

/* Runs a command whose operands are the FILEs of the options, or the columns of one; op: BF_SLOPE
 * tells of a line. */
static int run_pairs(const options *o, bf_reduction op) {
    int code = check_line(o, op);
    if (code != EXIT_DONE) return code;
    if (many_asked(o)) return many_run(o, op);
    pairs *x = calloc(1, sizeof *x); /* too large for a small stack */
    if (!x) return fail_memory(NULL);
    x->op = op;
    x->weighted = o->weights && takes_many(op);
    code = open_pairs(x, o->file_count) ? run_task(x, o) : fail_memory(NULL);
    close_pairs(x);
    free(x);
    return code;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Lists the weights, which are a column of the table, or of a file the letter b, behind the
 * numbers.
 */
static int run_listed(options *o, bf_reduction op, const char *weights) {
    const char **const list = o->expression ? &o->expression : &o->input.text.columns;
    char *both;
    if (!*list)
        return fail(EXIT_USAGE, o->weights, "there is no such file, and a column needs --column");
    if (asprintf(&both, "%s,%s", *list, weights) < 0) return fail_memory(NULL);
    *list = both;
    const int code = run_pairs(o, op);
    free(both);
    return code;
}

/* Refuses what needs states. */
static int check_weighted(const options *o) {
    const char *const with = many_asked(o)       ? "--axis, --offsets or --index"
                             : o->expression     ? "-e"
                             : o->checkpoint     ? "--checkpoint"
                             : o->save           ? "--save"
                             : ranks_count() > 1 ? "ranks"
                                                 : NULL;
    return with ? fail(EXIT_USAGE, NULL, "--weights of pairs do not go with %s", with) : EXIT_DONE;
}

/* Runs cov or corr with weights: a column of the table, or a file behind the others. */
static int run_matrix(const options *o, bf_reduction op) {
    options own = *o;
    bool file;
    int code = check_weighted(o);
    if (code == EXIT_DONE) code = values_is_file(o, o->weights, &file);
    if (code != EXIT_DONE) return code;
    if (!file) return run_listed(&own, op, values_column(o->weights));
    own.files = malloc(((size_t)o->file_count + 1) * sizeof *own.files);
    if (!own.files) return fail_memory(NULL);
    memcpy(own.files, o->files, (size_t)o->file_count * sizeof *own.files);
    own.files[own.file_count++] = (char *)(uintptr_t)o->weights;
    code = run_pairs(&own, op);
    free(own.files);
    return code;
}

int pairs_run_weighted(const options *o, bf_reduction op) {
    const bf_reduction weighted = op == BF_MEAN ? BF_WMEAN : op == BF_VAR ? BF_WVAR : BF_WSTD;
    char *files[] = {o->files[0], (char *)(uintptr_t)o->weights};
    options own = *o;
    bool file;
    if (o->file_count != 1)
        return fail(EXIT_USAGE, NULL, "--weights needs one FILE, not %d", o->file_count);
    if (o->total) return fail(EXIT_USAGE, NULL, "--weights does not go with --total");
    const int code = values_is_file(o, o->weights, &file);
    if (code != EXIT_DONE) return code;
    if (!file) return run_listed(&own, weighted, values_column(o->weights));
    own.files = files;
    own.file_count = 2;
    return o->expression ? run_listed(&own, weighted, "b") : run_pairs(&own, weighted);
}

/* ---- the command ----------------------------------------------------------------------------- */

int cmd_pairs(int argc, char **argv) {
    options o;
    condition *c;
    int i = 0, code;
    const bool fit = strcmp(argv[0], "fit") == 0;
    const bf_reduction op = fit ? BF_SLOPE : bf_reduction_from_name(argv[0]);
    while (commands[i].op != op) i++;
    if (!options_parse(&o, argc, argv, &commands[i].usage, &code)) return code;
    code = condition_open(&c, &o);
    if (code == EXIT_DONE) code = o.weights ? run_matrix(&o, op) : run_pairs(&o, op);
    condition_close(c);
    return code;
}
