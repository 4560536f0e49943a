#define _GNU_SOURCE /* asprintf */
/* The reductions that give one value of a file, or of each of its columns. */
#include "columns/condition.h"
#include "command.h"
#include "input/share.h"
#include "reduce/expression.h"
#include "reduce/many.h"
#include "reduce/pairs.h"
#include "reduce/reduce.h"
#include "reduce/task.h"
#include "runtime/info.h"
#include "runtime/json.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "work/units.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAKES_VALUE                                                                                \
    (TAKES_STDIN | TAKES_INPUT | TAKES_NAN | TAKES_RUNNING | TAKES_MEMORY | TAKES_SAVE |           \
     TAKES_WORK | TAKES_TOTAL | TAKES_OUTPUT | TAKES_SHEET | TAKES_MANY | TAKES_EMPTY |            \
     TAKES_EXPRESSION | TAKES_WHERE)

#define FILES ". There is one value for each FILE; '-' or no FILE is standard input."
#define COMMON                                                                                     \
    "column expression where nan axis total json csv output save threads memory device help"
#define EXAMPLES(name)                                                                             \
    "bitfold " name " x.npy\n"                                                                     \
    "bitfold " name " --column height,weight table.csv\n"                                          \
    "bitfold " name " -e 'weight/height**2' table.csv"
#define INDEX                                                                                      \
    " The index counts from the start of the file, in C order; that of --total counts over the "   \
    "files in turn."

static const struct {
    bf_reduction op;
    const char *text, *examples;
} helps[] = {
#define BF_X(id, number, name, state, result, text) {BF_##id, text, EXAMPLES(#name)},
    BF_REDUCTION_LIST(BF_X)
#undef BF_X
};

static bool has_ddof(bf_reduction op) {
    return op == BF_VAR || op == BF_STD || op == BF_SKEW || op == BF_KURTOSIS;
}

static bool has_weights(bf_reduction op) { return op == BF_MEAN || op == BF_VAR || op == BF_STD; }

/* The options that a reduction takes. */
static uint64_t taken_by(bf_reduction op) {
    const bf_result_class gives = bf_reduction_result(op);
    const bool rounds = gives == BF_RESULT_EXACT || gives == BF_RESULT_ROUNDED;
    return TAKES_VALUE | (rounds ? TAKES_ROUNDING : 0) | (has_ddof(op) ? TAKES_DDOF : 0) |
           (has_weights(op) ? TAKES_WEIGHTS : 0) | (op == BF_PROD ? TAKES_OVERFLOW : 0);
}

/* The help of a reduction is its text as a sentence. */
static usage usage_of(bf_reduction op) {
    static char text[512];
    const bool index = bf_reduction_result(op) == BF_RESULT_INDEX;
    const uint64_t takes = taken_by(op);
    size_t i = 0;
    while (helps[i].op != op) i++;
    snprintf(text, sizeof text, "%s" FILES "%s", helps[i].text, index ? INDEX : "");
    text[0] = (char)toupper((unsigned char)text[0]);
    return (usage){.synopsis = "[OPTIONS] [FILE...]",
                   .text = text,
                   .takes = takes,
                   .common = takes & TAKES_DDOF ? "ddof " COMMON : COMMON,
                   .examples = helps[i].examples};
}

/* All files so far, as one: a state for each column. */
typedef struct running {
    bf_state **states;   /* NULL before the first file, or if nobody asks */
    char **names;        /* the names of the first file's columns, or NULL: it has one */
    bf_time_kind *times; /* what times they are of */
    int columns;
    const char *first_file;
    int64_t next; /* the index that the next file's elements start from */
    double seconds;
    int64_t seen; /* rows of all files */
} running;

/* One file, reduced. */
typedef struct reduced {
    rows rows;
    bf_state **states; /* each column's */
    double seconds;
    int64_t seen; /* rows, with those that are NULL, of all ranks */
} reduced;

static void drop_states(bf_state **states, int n) {
    for (int k = 0; states && k < n; k++) bf_state_destroy(states[k]);
    free(states);
}

/* Adds one state to the total of its column. */
static int add_column(const task *t, const running *total, int k, const reduced *x) {
    const bf_state *const state = x->states[k];
    const char *const file = x->rows.source.name;
    const bf_state_info a = state_info(total->states[k]), b = state_info(state);
    if (!task_joins(total->states[k], state) ||
        !units_join_times(&total->times[k], rows_time(&x->rows, k))) {
        fail(EXIT_DATA, file, "cannot make a total of different dtypes: this is %s, %s is %s",
             output_type((units_form){b.dtype, b.scale, rows_time(&x->rows, k)}), total->first_file,
             output_type((units_form){a.dtype, a.scale, total->times[k]}));
        hint("--dtype f64 reads all text as f64");
        return EXIT_DATA;
    }
    bf_status st = task_widen(t->context, &total->states[k], state);
    if (st == BF_OK) st = bf_state_merge(total->states[k], state);
    return st == BF_OK ? EXIT_DONE : fail_status(st, NULL, file);
}

static int keep_names(running *total, const rows *r) {
    total->times = calloc((size_t)r->columns, sizeof *total->times);
    if (!total->times) return fail_memory(r->source.name);
    for (int k = 0; k < r->columns; k++) total->times[k] = rows_time(r, k);
    if (r->columns == 1) return EXIT_DONE;
    total->names = calloc((size_t)r->columns, sizeof *total->names);
    for (int k = 0; total->names && k < r->columns; k++)
        if (!(total->names[k] = rows_column_name(r, k))) return fail_memory(r->source.name);
    return total->names ? EXIT_DONE : fail_memory(r->source.name);
}

/* Adds one file's states; the first file's become the total. */
static int add_to_total(const task *t, running *total, reduced *x) {
    const rows *r = &x->rows;
    const char *file = r->source.name;
    if (!total->states) {
        total->states = x->states;
        total->columns = r->columns;
        total->first_file = file;
        x->states = NULL;
        return keep_names(total, r);
    }
    if (r->columns != total->columns)
        return fail(EXIT_DATA, file, "cannot make a total: this has %d columns, %s has %d",
                    r->columns, total->first_file, total->columns);
    int code = EXIT_DONE;
    for (int k = 0; k < r->columns && code == EXIT_DONE; k++) code = add_column(t, total, k, x);
    return code;
}

static int make_states(const task *t, reduced *x) {
    rows *r = &x->rows;
    if (t->options->save && r->columns > 1)
        return fail(EXIT_USAGE, r->source.name, "--save takes one column, not %d", r->columns);
    x->states = calloc((size_t)r->columns, sizeof *x->states);
    if (!x->states) return fail_memory(r->source.name);
    return EXIT_DONE;
}

/* Reads this rank's rows, and merges what all ranks made of theirs. */
static int reduce_rows(task *t, bf_reduction op, running *total, reduced *x) {
    rows *const inputs[] = {&x->rows};
    int64_t first;
    int code = ranks_agree(make_states(t, x));
    if (code == EXIT_DONE) code = share_rows(inputs, 1, &first);
    if (code == EXIT_DONE) code = task_reduce(t, op, inputs, 1, total->next + first, x->states);
    if (code == EXIT_DONE) x->seen = ranks_sum(rows_seen(&x->rows));
    return code;
}

/* Writes the value of each column, whose names come first if there are several. */
static int emit_columns(task *t, const reduced *x, int64_t base) {
    const rows *r = &x->rows;
    int code = EXIT_DONE;
    for (int k = 0; k < r->columns && code == EXIT_DONE; k++) {
        char *name = r->columns > 1 ? rows_column_name(r, k) : NULL;
        if (r->columns > 1 && !name) return fail_memory(r->source.name);
        const result wanted = {.file = r->source.name,
                               .column = name,
                               .time = rows_time(r, k),
                               .seconds = x->seconds,
                               .nulls = x->seen - state_info(x->states[k]).count};
        code = task_emit(t, x->states[k], wanted, base);
        free(name);
    }
    return code;
}

static int emit_file(task *t, bf_reduction op, running *total, reduced *x, double began) {
    int code = reduce_rows(t, op, total, x);
    x->seconds = progress_clock() - began;
    total->seconds += x->seconds;
    total->seen += x->seen;
    if (code != EXIT_DONE) return code;
    code = ranks_agree(emit_columns(t, x, total->next));
    const int64_t next = state_info(x->states[0]).next;
    if (!t->options->total && !t->options->save) return code;
    const int added = ranks_agree(add_to_total(t, total, x));
    if (added == EXIT_DONE) total->next = next;
    return code == EXIT_DONE ? added : code;
}

static int do_file(task *t, bf_reduction op, const char *name, running *total) {
    reduced x = {.states = NULL};
    const double began = progress_clock();
    rows_options how = task_rows(t, op);
    how.nulls = how.times = true;
    how.digits = op != BF_PROD ? BF_SCALE_MOST_I128 : 0;
    int code = ranks_agree(rows_open(&x.rows, name, &t->options->input, &how));
    for (int k = 0; k < x.rows.columns && code == EXIT_DONE; k++)
        if (!units_have(rows_time(&x.rows, k), op))
            code = rows_refuse_times(name, bf_reduction_name(op));
    if (code == EXIT_DONE) code = emit_file(t, op, total, &x, began);
    drop_states(x.states, x.rows.columns);
    rows_close(&x.rows);
    return code;
}

static int emit_total(task *t, const running *total) {
    int code = EXIT_DONE;
    for (int k = 0; k < total->columns && code == EXIT_DONE; k++) {
        const result wanted = {.file = "total",
                               .column = total->names ? total->names[k] : NULL,
                               .time = total->times[k],
                               .seconds = total->seconds,
                               .nulls = total->seen - state_info(total->states[k]).count};
        code = task_emit(t, total->states[k], wanted, 0);
    }
    return code;
}

/* A file that fails does not keep the others from their values, but there is no total then. */
static int do_files(task *t, bf_reduction op, running *total) {
    const options *o = t->options;
    int first_failure = EXIT_DONE;
    for (int i = 0; i < o->file_count && !ranks_any(ferror(t->output.stream)); i++) {
        const int code = do_file(t, op, o->files[i], total);
        if (first_failure == EXIT_DONE) first_failure = code;
    }
    return first_failure == EXIT_DONE && o->total ? ranks_agree(emit_total(t, total))
                                                  : first_failure;
}

static void drop_total(running *total) {
    drop_states(total->states, total->columns);
    for (int k = 0; total->names && k < total->columns; k++) free(total->names[k]);
    free(total->names);
    free(total->times);
}

/* NULLs of a product of floats are left out before its tree is made: parts of it, each without its
 * own, do not join. */
static int check_nulls(const options *o, bf_reduction op) {
    const bool joins = !o->input.text.skip_nulls || op != BF_PROD ||
                       (o->input.dtype != BF_NONE && bf_dtype_kind(o->input.dtype) != 'f');
    const char *const with = joins               ? NULL
                             : o->total          ? "--total"
                             : o->save           ? "--save"
                             : o->checkpoint     ? "--checkpoint"
                             : ranks_count() > 1 ? "ranks"
                                                 : NULL;
    if (!with) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "--null-policy skip: a product of floats does not go with %s", with);
    hint("NULLs are left out before its tree is made; integers have none (--dtype i64)");
    return EXIT_USAGE;
}

static int run_files(const options *o, bf_reduction op) {
    task *t = calloc(1, sizeof *t); /* too large for a small stack */
    if (!t) return fail_memory(NULL);
    running total = {.states = NULL};
    int code = task_open(t, o, o->file_count > 1 || o->total);
    if (code == EXIT_DONE) {
        code = do_files(t, op, &total);
        t->time = total.times ? total.times[0] : BF_TIME_NONE;
        code = task_close(t, code, total.states ? total.states[0] : NULL);
    }
    drop_total(&total);
    task_free(t);
    free(t);
    return code;
}

/* A product takes decimals as floats, which its condition does not: an expression has both. *text
 * becomes it, and is to be freed. */
static int name_product(options *o, char **text) {
    const char *const list = o->input.text.columns, *at = list;
    const text_item item = list ? text_take_item(&at, ",") : (text_item){.at = ""};
    const int n = (int)item.length;
    const bool one = o->file_count == 1 && list && *at == '\0' && text_item_field(item) < 0;
    if (!one || memchr(item.at, '`', item.length))
        return fail(EXIT_USAGE, NULL, "--where of prod needs one FILE, and --column with one name");
    if (asprintf(text, "`%.*s`", n, item.at) < 0) return fail_memory(NULL);
    o->expression = *text;
    o->input.text.columns = NULL;
    return EXIT_DONE;
}

static int run_value(const options *o, bf_reduction op) {
    if (o->weights) return pairs_run_weighted(o, op);
    if (!o->expression && many_asked(o)) return many_run(o, op);
    int code = check_nulls(o, op);
    if (code == EXIT_DONE) code = task_check_condition(o, op);
    if (code != EXIT_DONE) return code;
    return o->expression ? expression_run(o, op) : run_files(o, op);
}

int cmd_value(int argc, char **argv) {
    const bf_reduction op = bf_reduction_from_name(argv[0]);
    options o;
    condition *c;
    char *product = NULL;
    int code;
    if (bf_reduction_arrays(op) == 2) return cmd_pairs(argc, argv);
    if (op == BF_DESCRIBE) return cmd_describe(argc, argv);
    const usage help = usage_of(op);
    if (!options_parse(&o, argc, argv, &help, &code)) return code;
    code = condition_open(&c, &o);
    if (code == EXIT_DONE && op == BF_PROD && o.where && !o.expression)
        code = name_product(&o, &product);
    if (code == EXIT_DONE) code = run_value(&o, op);
    condition_close(c);
    free(product);
    return code;
}
