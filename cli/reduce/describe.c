/* describe: the main values of each file, or of each column of text, in one pass. */
#include "reduce/described.h"

#include "columns/condition.h"
#include "command.h"
#include "input/share.h"
#include "options/operand.h"
#include "reduce/expression.h"
#include "reduce/many.h"
#include "reduce/task.h"
#include "runtime/info.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "work/infer.h"
#include "work/quantiles.h"

#include <stdlib.h>

static const option_spec specs[] = {
    {"quantiles", 0, IN_VALUES, "LIST",
     "also show these quantiles, in percent, as in 5,50,99.9 (25,50,75)", 0, .read = read_quantiles,
     .at = OPTION_AT(quantiles), .optional = true},
    {"all", 0, IN_VALUES, NULL, "also show the skewness and the excess kurtosis", 0,
     .read = read_flag, .at = OPTION_AT(all)}};
const option_table describe_options = OPTION_TABLE(specs);

static const usage describe_usage = {
    "[OPTIONS] [FILE...]",
    "Shows, in one pass, the numbers of elements, NaNs and infinities, the minimum and maximum and "
    "their first indices, and the sum, mean and standard deviation. All columns of a text are "
    "described: of one that is no numbers the different strings, the least, the greatest and the "
    "most "
    "frequent. NULLs are counted, and left out. '-' or no FILE is standard input.\n\n"
    "Each value is that of its own command. --column names some of the columns; a first row of "
    "names is the header. --quantiles reads the input two or three times more, and keeps a pipe "
    "for that. --save saves the state of one column for merge.",
    TAKES_STDIN | TAKES_INPUT | TAKES_NAN | TAKES_ROUNDING | TAKES_DDOF | TAKES_RUNNING |
        TAKES_MEMORY | TAKES_SAVE | TAKES_WORK | TAKES_OUTPUT | TAKES_SHEET | TAKES_INFER |
        TAKES_MANY | TAKES_EXPRESSION | TAKES_WHERE,
    "column quantiles all infer expression nan axis json csv output threads memory device help",
    "bitfold describe x.npy\n"
    "bitfold describe --all --quantiles=5,50,95 x.npy\n"
    "bitfold describe --infer table.csv",
    &describe_options};

/* All columns of all files so far. */
typedef struct list {
    described *all;
    int n;
    bf_state *saved;   /* for --save: the one state there is */
    spool_limit limit; /* for pipes that are read again */
    int64_t seen;      /* rows of the last file, of all ranks */
} list;

static bf_status take_powers(const task *t, const bf_state *state, described *d) {
    const bf_reduce_options *rules = &t->options->rules;
    const bf_status st = bf_state_result_of(state, BF_SKEW, rules, &d->skew);
    return st == BF_OK ? bf_state_result_of(state, BF_KURTOSIS, rules, &d->kurtosis) : st;
}

/* state: the description's; powers: NULL, or that of the powers. */
static bf_status take_numbers(const task *t, const list *x, const bf_state *state,
                              const bf_state *powers, described *d) {
    const bf_state_info info = state_info(state);
    d->dtype = output_type((units_form){info.dtype, info.scale, d->time});
    d->nulls = x->seen - info.count;
    const bf_status st = bf_state_description(state, &t->options->rules, &d->values);
    return st == BF_OK && powers && !d->time ? take_powers(t, powers, d) : st;
}

/* Takes the strings of a column over. */
static bf_status take_texts(texts **of, described *d) {
    d->texts = *of;
    *of = NULL;
    d->dtype = "string";
    d->nulls = d->texts->rows - d->texts->n;
    return texts_mode(d->texts, &d->mode, &d->mode_bytes, &d->times);
}

static void drop_column(described *d) {
    texts_close(d->texts);
    free(d->mode);
    free(d->column);
    free(d->quantiles);
}

static int add_column(const task *t, list *x, const rows *r, int k, bf_state *const states[]) {
    const bf_state *state = states[k], *powers = t->powers ? states[r->columns + k] : NULL;
    const char *file = r->source.name;
    described *d = &x->all[x->n];
    *d = (described){.file = file,
                     .column = rows_column_name(r, k),
                     .time = rows_time(r, k),
                     .percents = t->options->quantiles,
                     .values = {.size = sizeof d->values}};
    const bf_status st = r->source.text && !d->column ? BF_E_MEMORY
                         : state                      ? take_numbers(t, x, state, powers, d)
                                                      : take_texts(&t->texts[k], d);
    if (st == BF_OK) {
        x->n++;
        return EXIT_DONE;
    }
    drop_column(d);
    return fail_status(st, t->context, file);
}

static int check_save(const task *t, const rows *r, const list *x) {
    if (!t->options->save || (r->columns == 1 && x->n == 0)) return EXIT_DONE;
    return fail(EXIT_USAGE, r->source.name, "--save takes one file, and one column of it");
}

/* Takes the quantiles of a column; of no elements there are none. */
static int take_quantiles(const task *t, const quantiles *q, int k, described *d) {
    quantiles_column found;
    const bf_status st = quantiles_take(q, k, &found);
    if (st == BF_OK) {
        d->quantile = tagged_settle(found.values, found.count, found.info.dtype, found.to);
        d->scale = found.info.scale;
        d->quantiles = found.values;
        return EXIT_DONE;
    }
    free(found.values);
    return st == BF_E_EMPTY ? EXIT_DONE : fail_status(st, t->context, d->file);
}

/* Reads the input again. Its columns are the last of the list, and are dropped if that fails. */
static int find_quantiles(task *t, quantiles_input *in, list *x) {
    const quantiles_search search = {.options = t->options,
                                     .context = t->context,
                                     .work = &t->work,
                                     .percents = t->options->quantiles};
    quantiles q = {.columns = 0};
    rows_again(&in->rows);
    in->rows.options.settled = true; /* it is known what its columns are */
    in->columns = in->rows.columns;
    int code = quantiles_find(&q, &search, in, 1);
    for (int k = 0; code == EXIT_DONE && k < in->columns; k++)
        code = take_quantiles(t, &q, k, &x->all[x->n - in->columns + k]);
    quantiles_free(&q);
    code = ranks_agree(code);
    for (int k = 0; code != EXIT_DONE && k < in->columns; k++) drop_column(&x->all[--x->n]);
    return code;
}

static int describe_columns(task *t, quantiles_input *in, list *x, double began) {
    rows *r = &in->rows, *const inputs[] = {r};
    int64_t first;
    const int columns = r->columns, before = x->n;
    const char *file = r->source.name;
    described *all = realloc(x->all, (size_t)(x->n + columns) * sizeof *all);
    if (all) x->all = all;
    bf_state **states = calloc(2 * (size_t)columns, sizeof *states);
    if (r->source.text) t->texts = calloc((size_t)columns, sizeof(texts *));
    const bool made = all && states && (t->texts || !r->source.text);
    int code = made ? check_save(t, r, x) : fail_memory(file);
    code = ranks_agree(code);
    if (code == EXIT_DONE) code = share_rows(inputs, 1, &first);
    if (code == EXIT_DONE) code = task_reduce(t, BF_DESCRIBE, inputs, 1, first, states);
    if (code == EXIT_DONE) x->seen = ranks_sum(rows_seen(r));
    for (int k = 0; code == EXIT_DONE && k < columns; k++) code = add_column(t, x, r, k, states);
    code = ranks_agree(code);
    if (code == EXIT_DONE && t->options->quantiles.n > 0) code = find_quantiles(t, in, x);
    for (int k = before; k < x->n; k++) x->all[k].seconds = progress_clock() - began;
    if (code == EXIT_DONE && t->options->save) {
        x->saved = states[0];
        t->time = rows_time(r, 0);
        states[0] = NULL;
    }
    for (int k = 0; states && k < 2 * columns; k++) bf_state_destroy(states[k]);
    for (int k = 0; t->texts && k < columns; k++) texts_close(t->texts[k]);
    free(t->texts);
    t->texts = NULL;
    free(states);
    return code;
}

static int describe_file(task *t, const char *name, list *x) {
    const options *o = t->options;
    quantiles_input in = {.name = name};
    const double began = progress_clock();
    rows_options how = task_rows(t, BF_DESCRIBE);
    input format = o->input;
    format.text.table = format.text.judge_nulls = true;
    format.text.any = true;
    how.nulls = how.times = true;
    how.digits = BF_SCALE_MOST_I128;
    how.keep = &x->limit;
    int code = ranks_agree(rows_open(&in.rows, name, &format, &how));
    if (code == EXIT_DONE && o->quantiles.n == 0 && !in.rows.source.text) rows_forget(&in.rows);
    if (code == EXIT_DONE) code = describe_columns(t, &in, x, began);
    quantiles_close(&in);
    return code;
}

/* All are told the same values. */
static void tell_alike(described *all, int n, const options *o) {
    bool strings = false, tables = o->input.text.skip_nulls;
    for (int k = 0; k < n; k++) {
        strings = strings || all[k].texts;
        tables = tables || all[k].column;
    }
    for (int k = 0; k < n; k++) {
        all[k].tells_powers = o->all;
        all[k].tells_nulls = tables;
        all[k].tells_texts = strings;
    }
}

/* A file that fails does not keep the others from being described. */
static int describe_files(task *t, list *x) {
    const options *o = t->options;
    int first_failure = EXIT_DONE;
    for (int i = 0; i < o->file_count; i++) {
        const int code = describe_file(t, o->files[i], x);
        if (first_failure == EXIT_DONE) first_failure = code;
    }
    const char *device = bf_context_device(t->context);
    tell_alike(x->all, x->n, o);
    const int put =
        ranks_agree(x->n > 0 ? described_put(&t->output, x->all, x->n, device) : EXIT_DONE);
    return first_failure == EXIT_DONE ? put : first_failure;
}

static int check_quantiles(const options *o) {
    const bool many = many_asked(o);
    if (o->quantiles.n == 0 || (!many && !o->save)) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "--quantiles does not go with %s",
         many ? "--axis, --offsets or --index" : "--save");
    hint("%s", many ? "'bitfold quantile' takes them" : "quantiles are not saved");
    return EXIT_USAGE;
}

static int describe_all(const options *o) {
    task t;
    list x = {.n = 0};
    spool_limit_set(&x.limit, o->memory.pipes);
    int code = task_open(&t, o, false);
    t.powers = o->all;
    if (code == EXIT_DONE) {
        code = describe_files(&t, &x);
        if (code == EXIT_DONE && o->save && x.all->texts) code = task_save_texts(&t, x.all->texts);
        code = task_close(&t, code, x.saved);
    }
    bf_state_destroy(x.saved);
    for (int k = 0; k < x.n; k++) drop_column(&x.all[k]);
    free(x.all);
    task_free(&t);
    return code;
}

static int describe(const options *o) {
    if (o->infer && o->where) return fail(EXIT_USAGE, NULL, "--where does not go with --infer");
    if (o->infer) return infer_run(o, NULL);
    int code = task_check_condition(o, BF_DESCRIBE);
    if (code != EXIT_DONE) return code;
    if (o->all && (o->expression || many_asked(o)))
        return fail(EXIT_USAGE, NULL, "--all does not go with %s",
                    o->expression ? "-e" : "--axis, --offsets or --index");
    if (o->expression) return expression_run(o, BF_DESCRIBE);
    code = check_quantiles(o);
    if (code != EXIT_DONE) return code;
    return many_asked(o) ? many_run(o, BF_DESCRIBE) : describe_all(o);
}

int cmd_describe(int argc, char **argv) {
    options o;
    condition *c;
    int code;
    if (!options_parse(&o, argc, argv, &describe_usage, &code)) return code;
    code = condition_open(&c, &o);
    if (code == EXIT_DONE) code = describe(&o);
    condition_close(c);
    return code;
}
