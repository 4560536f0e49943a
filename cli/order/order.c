/* sort argsort median quantile top unique: what depends on the order of values. */
#include "columns/condition.h"
#include "command.h"
#include "group/by.h"
#include "options/context.h"
#include "options/operand.h"
#include "order/answer.h"
#include "order/columns.h"
#include "order/expression.h"
#include "order/passes.h"
#include "order/sorted.h"
#include "order/top.h"
#include "rows/whole.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"

#include <string.h>

#define TAKES_ORDER                                                                                \
    (TAKES_STDIN | TAKES_INPUT | TAKES_EXPRESSION | TAKES_WHERE | TAKES_NAN | TAKES_RUNNING |      \
     TAKES_MEMORY | TAKES_OUTPUT | TAKES_SHEET | TAKES_ARRAY | TAKES_TOTAL)

static const option_spec specs[] = {
    {"descending", 0, IN_VALUES, NULL,
     "the greatest first; equal ones stay in the order of their indices", TAKES_SORT,
     .read = read_flag, .at = OPTION_AT(descending)},
    {"axis", 0, IN_VALUES, "N",
     "each fibre along this axis, from 0 or, from the end, -1, by itself", TAKES_SORT | TAKES_FIRST,
     .read = read_axes, .at = OPTION_AT(axes)},
    {"offsets", 0, IN_VALUES, "FILE", "each segment by itself; FILE has their m + 1 offsets",
     TAKES_SORT, .read = read_text, .at = OPTION_AT(offsets), .file = FILE_READ},
    {"number", 'n', IN_VALUES, "K", "show so many", TAKES_FIRST, .read = read_number,
     .at = OPTION_AT(first), .least = 1, .most = ELEMENTS_MOST},
    {"least", 0, IN_VALUES, NULL, "the least ones, the least first", TAKES_FIRST, .read = read_flag,
     .at = OPTION_AT(least)},
    {"percents", 'p', IN_VALUES, "LIST",
     "which quantiles, in percent, as in 5,50,99.9 (0,25,50,75,100)", TAKES_METHOD,
     .read = read_percents, .at = OPTION_AT(percents)},
    {"count", 0, IN_VALUES, NULL, "also show how often each occurs", TAKES_KEYS, .read = read_flag,
     .at = OPTION_AT(times)},
};
const option_table order_options = OPTION_TABLE(specs);

#define SYNOPSIS "[OPTIONS] [FILE...]"
#define STDIN " '-' or no FILE is standard input."
#define ORDERED                                                                                    \
    "Numbers are in the order -inf to inf, -0 before 0, NaN last; equal ones are in the order of " \
    "their indices." STDIN
#define WHOLE                                                                                      \
    "With --by COLUMN, all files are one table of text, whose rows are shown whole, as they "      \
    "stand "                                                                                       \
    "in the files, in the order of that column or of several: numbers by value, text by its "      \
    "bytes, "                                                                                      \
    "NULL last; equal ones stay in their order. What 128 MiB do not hold goes to a temporary "     \
    "file "                                                                                        \
    "(--spill), or what --memory does not."
#define COMMON "column expression nan axis total json csv output threads memory device help"

static const struct {
    const char *name;
    order_kind kind;
    usage usage;
} commands[] = {
    {"sort",
     ORDER_SORT,
     {SYNOPSIS,
      "Sorts the numbers of each FILE, one a line; -o FILE.npy writes an array. " ORDERED
      "\n\n" WHOLE,
      TAKES_ORDER | TAKES_SORT | TAKES_ROWS | TAKES_ORDERED | TAKES_LIMIT,
      "descending by take where " COMMON,
      "bitfold sort --descending x.npy\n"
      "bitfold sort --by name,-height table.csv -o sorted.csv",
      &order_options}},
    {"argsort",
     ORDER_ARGSORT,
     {SYNOPSIS,
      "Shows the indices, from 0 in C order, that sort the numbers of each FILE; -o FILE.npy "
      "writes an array. " ORDERED,
      TAKES_ORDER | TAKES_SORT, "descending " COMMON,
      "bitfold argsort x.npy -o index.npy\nbitfold argsort --column weight table.csv",
      &order_options}},
    {"median",
     ORDER_MEDIAN,
     {SYNOPSIS,
      "The median of each FILE: the number in the middle, or the exact mean of the two there, "
      "rounded once." STDIN,
      TAKES_ORDER | TAKES_WORK | TAKES_MANY | TAKES_EMPTY, COMMON,
      "bitfold median x.npy\nbitfold median --column height,weight table.csv", &order_options}},
    {"quantile",
     ORDER_QUANTILE,
     {SYNOPSIS,
      "The quantiles of each FILE, one a line, by any of NumPy's methods." STDIN "\n\n"
      "The methods are linear, lower, higher, midpoint, nearest, inverted_cdf, "
      "averaged_inverted_cdf, closest_observation, interpolated_inverted_cdf, hazen, weibull, "
      "median_unbiased and normal_unbiased. A line of --tsv, or of several columns or files, has "
      "the percent, a tab and the quantile.",
      TAKES_ORDER | TAKES_WORK | TAKES_MANY | TAKES_EMPTY | TAKES_METHOD, "percents method " COMMON,
      "bitfold quantile -p 5,50,99.9 x.npy\n"
      "bitfold quantile -p 90 --method lower --column height table.csv",
      &order_options}},
    {"top",
     ORDER_TOP,
     {SYNOPSIS,
      "The K greatest numbers of each FILE, the greatest first: the number, a tab and its index, "
      "from 0 in C order. NaN is the greatest, unless it is skipped; equal ones are in the order "
      "of their indices. With --by COLUMN, all files are one table of text, whose whole rows are "
      "shown, those with the greatest keys first." STDIN,
      TAKES_ORDER | TAKES_FIRST | TAKES_ROWS | TAKES_ORDERED, "number least by where " COMMON,
      "bitfold top -n 2 x.npy\nbitfold top -n 1 --least --by height table.csv", &order_options}},
    {"unique",
     ORDER_UNIQUE,
     {SYNOPSIS,
      "The different numbers of each FILE, ascending. -0 counts as 0, and all NaNs count as one "
      "number, the greatest. With --by COLUMN, FILE is a table of text, and its different names "
      "and numbers in that column, or in several, are shown." STDIN,
      TAKES_ORDER | TAKES_KEYS,
      "count by where column expression nan total json csv output threads memory help",
      "bitfold unique --count x.npy\nbitfold unique --by name table.csv", &order_options}},
};

typedef struct order {
    question question;
    output output;
    places places;
    spool_limit limit; /* for pipes that may be read again */
    columns total;     /* the columns of all files so far, if that is asked for */
    passes passes;     /* for median and quantile */
    bool sorting;      /* by `sorted` */
    sorted sorted;
    by *by;           /* has the rows of a file */
    bf_context *keys; /* groups keys that are no numbers; NULL: question.context does, which does
                         not spill, or there are none yet */
    top top;
    double seconds;
} order;

/* ---- one file -------------------------------------------------------------------------------- */

/* Whether results are of parts of the elements. */
static bool is_parted(const options *o) { return o->axes.n > 0 || o->offsets || o->index; }

static bool is_many(const options *o) { return !o->expression && (o->file_count > 1 || o->total); }

static rows_options reading(order *x) {
    const options *o = x->question.options;
    const order_kind kind = x->question.kind;
    spool_limit_set(&x->limit, o->memory.pipes / 2);
    rows_options how = context_reading(o, &x->limit, 1);
    how.ordered = kind == ORDER_SORT || kind == ORDER_ARGSORT || kind == ORDER_TOP || o->axes.n > 0;
    how.unchanging = true;
    how.nulls = how.times = x->question.places == NULL;
    return how;
}

/* Answers about one array, for which the work began then. */
static int answer_subject(order *x, const subject *s, double began) {
    const question *q = &x->question;
    answer a;
    int code = answer_make(&a, q, s);
    a.seconds = progress_clock() - began;
    note_device(q->context, s->file);
    if (code == EXIT_DONE) code = answer_put(&a, q, &x->output, is_many(q->options));
    answer_free(&a);
    return code;
}

static int check_column(const order *x, int count, const char *file) {
    return count > 1 && output_is_array(&x->output)
               ? fail(EXIT_USAGE, file, "one array holds the results of one column, not %d", count)
               : EXIT_DONE;
}

/* A column of text has a name, which is shown if there are several. */
static int answer_columns(order *x, const columns *c, const char *file, double began) {
    int code = check_column(x, c->count, file);
    for (int k = 0; k < c->count && code == EXIT_DONE; k++) {
        const subject s = {.file = file,
                           .column = c->count > 1 ? c->of[k].name : NULL,
                           .array = columns_array(c, k),
                           .scale = c->of[k].form.scale,
                           .time = c->of[k].form.time,
                           .owned = true,
                           .nulls = c->of[k].nulls};
        code = answer_subject(x, &s, began);
    }
    return code;
}

/* A quarter of memory is for numbers: the library takes as much as they, or twice that of an index.
 */
static columns_limit limit_of(const order *x) {
    const options *o = x->question.options;
    return (columns_limit){.bytes = o->memory.results + o->memory.pipes / 2,
                           .beside = x->question.kind == ORDER_ARGSORT ? 8 : 0};
}

static int check_line_shape(const order *x, const rows *r) {
    const source *s = &r->source;
    return x->question.places && s->layout.ndim != 1
               ? fail(EXIT_DATA, s->name, "segments and slots need one dimension: it has %d",
                      s->layout.ndim)
               : EXIT_DONE;
}

static int load_rows(order *x, columns *c, rows *r) {
    const columns_limit limit = limit_of(x);
    if (!rows_may_resettle(r)) rows_forget(r);
    int code = check_line_shape(x, r);
    progress_start(r->source.name, rows_bytes(r));
    if (code == EXIT_DONE) code = columns_load(c, r, &limit);
    progress_stop();
    return code == EXIT_DONE ? source_check(&r->source) : code;
}

/* Different values of JSON lines may be no numbers, but over ranks they are. */
static int open_rows(order *x, rows *r, const char *name) {
    const rows_options how = reading(x);
    input in = x->question.options->input;
    in.text.mixed = x->question.kind == ORDER_UNIQUE && ranks_count() == 1;
    return rows_open(r, name, &in, &how);
}

static int load_columns(order *x, columns *c, const char *name) {
    rows *const r = by_rows(x->by);
    int code = open_rows(x, r, name);
    if (code != EXIT_DONE) return code;
    code = load_rows(x, c, r);
    if (code != ROWS_STRINGS) rows_close(r);
    return code;
}

static int do_columns(order *x, const char *name, double began) {
    const options *o = x->question.options;
    columns c = {.count = 0};
    int code = load_columns(x, &c, name);
    if (code == EXIT_DONE && o->total) code = columns_append(&x->total, &c, name, o->files[0]);
    if (code == EXIT_DONE) code = answer_columns(x, &c, name, began);
    columns_close(&c);
    return code;
}

/* A statistic of all elements of a file. */
static int do_statistic(order *x, const char *name, double began) {
    quantiles_input *in;
    columns c = {.count = 0};
    int code = passes_open_file(&x->passes, name, &in);
    if (code != EXIT_DONE) return code;
    if (!passes_would_load(&x->passes, in)) return passes_answer(&x->passes, in, began);
    in->rows.options.unchanging = true;
    code = load_rows(x, &c, &in->rows);
    quantiles_close(in);
    if (code == EXIT_DONE) code = answer_columns(x, &c, name, began);
    columns_close(&c);
    return code;
}

/* ---- numbers that are not all in memory ------------------------------------------------------ */

static int read_numbers(order *x, const char *name) {
    rows *const r = by_rows(x->by);
    int code = open_rows(x, r, name);
    const bool opened = code == EXIT_DONE;
    if (opened && !rows_may_resettle(r)) rows_forget(r);
    if (opened) code = check_column(x, r->columns, name);
    code = ranks_agree(code);
    if (!opened) return code;
    progress_start(name, rows_bytes(r));
    if (code == EXIT_DONE)
        code = top_wanted(&x->question) ? top_read(&x->top, r) : sorted_read(&x->sorted, r);
    progress_stop();
    if (code != ROWS_STRINGS) rows_close(r);
    return code;
}

static int do_numbers(order *x, const char *name, double began) {
    const int code = read_numbers(x, name);
    if (code != EXIT_DONE) return code;
    return top_wanted(&x->question) ? top_put(&x->top, name, began)
                                    : sorted_put(&x->sorted, name, began);
}

/* ---- fibres ---------------------------------------------------------------------------------- */

static int do_matrix(order *x, const char *name, double began) {
    matrix m;
    subject s = {.file = name};
    const rows_options how = reading(x);
    input in = x->question.options->input;
    in.text.table = true;
    int code = matrix_open(&m, name, &in, &how);
    if (code == EXIT_DONE) code = places_fit(&x->places, &m);
    if (code == EXIT_DONE) {
        progress_start(name, rows_bytes(&m.rows));
        code = matrix_load((matrix *const[]){&m}, 1, limit_of(x).bytes, &s.array);
        progress_stop();
    }
    if (code == EXIT_DONE) {
        s.scale = matrix_scale(&m);
        code = answer_subject(x, &s, began);
    }
    matrix_close(&m);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Whether results are of all elements of a file, and come of a few of them. */
static bool is_statistic(const order *x) {
    const order_kind kind = x->question.kind;
    const options *o = x->question.options;
    return (kind == ORDER_MEDIAN || kind == ORDER_QUANTILE) && !is_parted(o) && !o->expression;
}

static int do_expression(order *x) {
    const columns_limit limit = limit_of(x);
    return expression_answer(&x->question, &x->output, &limit);
}

static int do_total(order *x) {
    const question *q = &x->question;
    const double began = progress_clock() - x->seconds;
    if (is_statistic(x)) return passes_answer_total(&x->passes, began);
    if (x->sorting) return ranks_alone() ? sorted_put_total(&x->sorted, began) : EXIT_DONE;
    if (top_wanted(q)) return top_put_total(&x->top, began);
    return answer_columns(x, &x->total, "total", began);
}

/* Shows different keys that are no numbers. The command itself spills their groups. */
static int do_keys(order *x, double began) {
    const question *q = &x->question;
    int code = EXIT_DONE;
    if (!x->sorting) return by_take(x->by, q->context, &x->output, began);
    if (!x->keys) code = context_open(&x->keys, q->options);
    return code == EXIT_DONE ? by_take(x->by, x->keys, &x->output, began) : code;
}

static int do_file(order *x, const char *name, double began) {
    const question *q = &x->question;
    if (q->options->axes.n > 0) return do_matrix(x, name, began);
    if (is_statistic(x)) return do_statistic(x, name, began);
    const bool parts = x->sorting || top_wanted(q);
    const int code = parts ? do_numbers(x, name, began) : do_columns(x, name, began);
    return code == ROWS_STRINGS ? do_keys(x, began) : code;
}

/* A file that fails does not keep the others from their values, but there is no total then. */
static int do_files(order *x) {
    const options *o = x->question.options;
    int first_failure = EXIT_DONE;
    for (int i = 0; i < o->file_count && !ranks_any(ferror(x->output.stream)); i++) {
        const double began = progress_clock();
        const int code = do_file(x, o->files[i], began);
        x->seconds += progress_clock() - began;
        if (first_failure == EXIT_DONE) first_failure = code;
    }
    return first_failure == EXIT_DONE && o->total ? do_total(x) : first_failure;
}

static int run_order(order *x) {
    const options *o = x->question.options;
    int code = sorted_wanted(&x->question) ? sorted_open(&x->question.context, o)
                                           : context_open(&x->question.context, o);
    if (code == EXIT_DONE) code = output_open(&x->output, o, is_many(o));
    code = ranks_agree(code);
    if (code == EXIT_DONE && is_parted(o)) {
        x->question.places = &x->places;
        code = places_open(&x->places, o, x->question.context);
    }
    if (code == EXIT_DONE && is_statistic(x))
        code = passes_open(&x->passes, &x->question, &x->output);
    if (code == EXIT_DONE && top_wanted(&x->question))
        code = top_open(&x->top, &x->question, &x->output);
    if (code == EXIT_DONE) code = o->expression ? do_expression(x) : do_files(x);
    if (code == EXIT_DONE) code = output_close(&x->output);
    passes_close(&x->passes, code);
    top_close(&x->top, code);
    if (code != EXIT_DONE) output_abandon(&x->output);
    return code;
}

static int check_line(const options *o, order_kind kind) {
    const int code = places_check_line(o);
    if (code != EXIT_DONE) return code;
    if (whole_check_absent(o) != EXIT_DONE) return EXIT_USAGE;
    if (o->where && is_parted(o))
        return fail(EXIT_USAGE, NULL, "--where does not go with --axis, --offsets or --index");
    if (o->where && ranks_count() > 1 && (kind == ORDER_TOP || kind == ORDER_ARGSORT))
        return fail(EXIT_USAGE, NULL, "--where does not go with ranks: the rows have numbers");
    if (o->expression && expression_check(o) != EXIT_DONE) return EXIT_USAGE;
    if (kind == ORDER_TOP && o->first == 0) {
        fail(EXIT_USAGE, NULL, "-n K is needed: how many are shown");
        return EXIT_USAGE;
    }
    if (o->input.text.skip_nulls && kind == ORDER_ARGSORT)
        return fail(EXIT_USAGE, NULL, "--null-policy skip: a row that is left out has no place");
    if (o->axes.n > 1 && kind != ORDER_MEDIAN && kind != ORDER_QUANTILE)
        return fail(EXIT_USAGE, NULL, "one axis is sorted along, not %d", o->axes.n);
    if (o->checkpoint && is_parted(o))
        return fail(EXIT_USAGE, NULL, "--checkpoint does not go with --axis, --offsets or --index");
    if (o->form == FORM_NPY && is_many(o))
        return fail(EXIT_USAGE, o->output, "one array holds the results of one FILE");
    if (o->form != FORM_NPY || !o->times) return EXIT_DONE;
    fail(EXIT_USAGE, o->output, "--count does not fit an array of the numbers");
    hint("--by COLUMN of a text writes both, as fields");
    return EXIT_USAGE;
}

static int order_files(const options *o, order_kind kind) {
    if ((is_parted(o) || o->expression) && !ranks_alone()) return EXIT_DONE;
    order x = {
        .question = {.kind = kind, .options = o}, .places.rows.source.fd = -1, .by = by_open(o)};
    x.sorted.question = &x.question;
    x.sorted.output = &x.output;
    x.sorting = sorted_wanted(&x.question) && !is_parted(o);
    const int code = x.by ? run_order(&x) : EXIT_IO;
    columns_close(&x.total);
    sorted_close(&x.sorted);
    places_close(&x.places);
    by_close(x.by);
    bf_context_destroy(x.keys);
    bf_context_destroy(x.question.context);
    return code;
}

static int run_by(options *o, order_kind kind) {
    if (kind == ORDER_UNIQUE) return by_run(o);
    return whole_run(o, kind == ORDER_TOP ? WHOLE_TOP : WHOLE_SORT);
}

int cmd_order(int argc, char **argv) {
    options o;
    int code, i = 0;
    while (strcmp(commands[i].name, argv[0]) != 0) i++;
    if (!options_parse(&o, argc, argv, &commands[i].usage, &code)) return code;
    o.distinct = commands[i].kind == ORDER_UNIQUE;
    o.input.text.words = commands[i].usage.takes & (TAKES_BY | TAKES_KEYS | TAKES_ORDERED);
    if (o.by) return ranks_agree(run_by(&o, commands[i].kind));
    condition *c;
    code = condition_open(&c, &o);
    if (code == EXIT_DONE) code = check_line(&o, commands[i].kind);
    code = ranks_agree(code);
    if (code == EXIT_DONE) code = order_files(&o, commands[i].kind);
    condition_close(c);
    return code;
}
