#define _GNU_SOURCE /* strdup */
#include "reduce/expression.h"

#include "reduce/many.h"
#include "reduce/reduce.h"
#include "reduce/task.h"
#include "runtime/progress.h"
#include "work/ranks.h"
#include "work/share.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    INPUTS = 26, /* a to z */
    COLUMNS = 64,
    STEP_ROWS = 1 << 17 /* that are taken at a time of inputs that are copied */
};

/* A column of the expression: of which input, and of which of its columns. */
typedef struct operand {
    char *name;
    int input, column;
} operand;

typedef struct expressed {
    task *task;
    bf_reduction op;
    rows inputs[INPUTS];
    int input_count;
    operand operands[COLUMNS];
    int operand_count;
    bf_dtype dtypes[COLUMNS]; /* of the operands, which the expression was parsed for */
    bf_expression *expression;
    bf_state *state;
    spool_limit limit;
    char *columns; /* of a text, as --column has them */
} expressed;

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_of_name(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 128); }

/* Finds the next name in *at that is no function's, and moves behind it. False: there is none. A
 * word behind a digit or a point is of a number: 1.e5, 0x1.fp3. */
static bool next_name(const char **at, const char **begin, size_t *size) {
    const char *const start = *at;
    for (const char *c = start; *c; c++) {
        *begin = c;
        if (*c == '`') {
            const char *end = strchr(c + 1, '`');
            if (!end) return false;
            *begin = c + 1;
            *size = (size_t)(end - *begin);
            *at = end + 1;
            return true;
        }
        if (!is_of_name(*c)) continue;
        while (is_of_name(*c)) c++;
        *size = (size_t)(c - *begin);
        const char *behind = c;
        while (isspace((unsigned char)*behind)) behind++;
        *at = c;
        const bool number =
            isdigit((unsigned char)**begin) || (*begin > start && (*begin)[-1] == '.');
        if (!number && *behind != '(') return true;
        c--;
    }
    return false;
}

static bool is_letter(const expressed *x, const char *name, size_t size) {
    return size == 1 && *name >= 'a' && *name < 'a' + x->input_count;
}

/* Whether the names are those of the columns of one text, and not the letters of inputs. */
static bool names_columns(const expressed *x) {
    const options *o = x->task->options;
    const char *at = o->expression, *name;
    size_t size;
    bool others = o->input.text.header;
    if (x->input_count > 1) return false;
    while (next_name(&at, &name, &size)) others = others || !is_letter(x, name, size);
    return others;
}

/* Lists the names, each once, as --column has them. */
static char *list_names(const char *text) {
    char *list = calloc(1, strlen(text) + 2);
    const char *at = text, *name;
    size_t size, used = 0;
    while (list && next_name(&at, &name, &size)) {
        if (used > 0) list[used++] = ',';
        memcpy(list + used, name, size);
        used += size;
    }
    return list;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static int add_operand(expressed *x, char *name, int from, int column) {
    const char *file = x->inputs[from].source.name;
    if (!name) return fail_status(BF_E_MEMORY, NULL, file);
    if (x->operand_count == COLUMNS) {
        free(name);
        return fail(EXIT_USAGE, file, "more than %d columns", COLUMNS);
    }
    x->operands[x->operand_count++] = (operand){name, from, column};
    return EXIT_DONE;
}

static rows_options reading(expressed *x) {
    const options *o = x->task->options;
    spool_limit_set(&x->limit, o->memory.pipes);
    return (rows_options){.threads = o->threads,
                          .settled = true,
                          .ordered = reduce_is_ordered(x->op),
                          .keep = &x->limit,
                          .memory = o->memory.input / x->input_count,
                          .slab = options_slab(o)};
}

/* Opens one text, of which each name is a column. */
static int open_table(expressed *x) {
    const options *o = x->task->options;
    const rows_options how = reading(x);
    input in = o->input;
    if (in.text.columns)
        return fail(EXIT_USAGE, NULL, "--column does not go with an expression of columns");
    x->columns = list_names(o->expression);
    if (!x->columns) return fail_status(BF_E_MEMORY, NULL, o->files[0]);
    in.text.columns = x->columns;
    in.text.header = true;
    rows *r = &x->inputs[0];
    int code = rows_open(r, o->files[0], &in, &how);
    for (int k = 0; code == EXIT_DONE && k < r->columns; k++)
        code = add_operand(x, rows_column_name(r, k), 0, k);
    return code;
}

/* Opens inputs whose names are a, b, c, ... */
static int open_letters(expressed *x) {
    const options *o = x->task->options;
    const rows_options how = reading(x);
    int code = EXIT_DONE;
    for (int i = 0; i < x->input_count && code == EXIT_DONE; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        code = rows_open_column(&x->inputs[i], o->files[i], &o->input, &how);
        if (code == EXIT_DONE) code = add_operand(x, strdup(name), i, 0);
    }
    return code;
}

/* The length of a text or a stream shows at its end. */
static bool same_shape(const source *a, const source *b) {
    if (a->raw || b->raw || a->text || b->text)
        return a->count < 0 || b->count < 0 || a->count == b->count;
    bool same = a->layout.ndim == b->layout.ndim;
    for (int d = 0; same && d < a->layout.ndim; d++)
        same = a->layout.shape[d] == b->layout.shape[d];
    return same;
}

static int check_shapes(const expressed *x) {
    const source *first = &x->inputs[0].source;
    for (int i = 1; i < x->input_count; i++)
        if (!same_shape(first, &x->inputs[i].source))
            return fail(EXIT_DATA, x->inputs[i].source.name, "%s: it is not that of %s",
                        bf_status_string(BF_E_SHAPE), first->name);
    return EXIT_DONE;
}

/* Elements go together by their index, so different orders become one. */
static int prepare_inputs(expressed *x, rows *inputs[]) {
    bool mixed = false;
    int code = EXIT_DONE;
    for (int i = 1; i < x->input_count; i++)
        mixed |= inputs[i]->source.layout.fortran != inputs[0]->source.layout.fortran;
    for (int i = 0; i < x->input_count && code == EXIT_DONE; i++) {
        inputs[i]->options.ordered |= mixed;
        code = rows_prepare(inputs[i]);
    }
    return code;
}

/* ---- the work -------------------------------------------------------------------------------- */

static int parse_expression(expressed *x) {
    const char *names[COLUMNS];
    int position = -1;
    for (int k = 0; k < x->operand_count; k++) {
        names[k] = x->operands[k].name;
        x->dtypes[k] = rows_dtype(&x->inputs[x->operands[k].input], x->operands[k].column);
    }
    bf_expression_destroy(x->expression);
    x->expression = NULL;
    const bf_status st =
        bf_expression_parse(x->task->context, x->task->options->expression, names, x->dtypes,
                            x->operand_count, NULL, &position, &x->expression);
    return st == BF_OK
               ? EXIT_DONE
               : fail_text(st, x->task->context, "-e", x->task->options->expression, position);
}

static int refuse_length(const expressed *x, int i, bool fewer) {
    const source *first = &x->inputs[0].source, *other = &x->inputs[i].source;
    int code = source_check(first);
    if (code == EXIT_DONE) code = source_check(other);
    if (code != EXIT_DONE) return code;
    return fail(EXIT_DATA, other->name, "%s: it holds %s elements than %s",
                bf_status_string(BF_E_SHAPE), fewer ? "fewer" : "more", first->name);
}

/* Takes the next rows of all inputs, which have as many. */
static int next_rows(expressed *x, int64_t most, rows_chunk chunks[]) {
    for (int i = 0; i < x->input_count; i++) {
        const int code = rows_next(&x->inputs[i], most, &chunks[i]);
        if (code != EXIT_DONE) return code;
        if (chunks[i].n != chunks[0].n) return refuse_length(x, i, chunks[i].n < chunks[0].n);
    }
    return EXIT_DONE;
}

/* Data that changed meanwhile may be refused for that. What the expression refuses is an error of
 * the data. */
static int absorb_failed(const expressed *x, bf_status st) {
    const bf_context *context = x->task->context;
    for (int i = 0; i < x->input_count; i++) {
        const int code = source_check(&x->inputs[i].source);
        if (code != EXIT_DONE) return code;
    }
    const char *file = x->inputs[0].source.name;
    if (st != BF_E_ARGUMENT && st != BF_E_OVERFLOW) return fail_status(st, context, file);
    return fail(EXIT_DATA, file, "%s", bf_context_message(context));
}

static int absorb_rows(expressed *x) {
    rows_chunk chunks[INPUTS];
    int64_t most = INT64_MAX;
    int code = EXIT_DONE;
    for (int i = 0; i < x->input_count; i++) {
        const int64_t step = rows_in_step(&x->inputs[i], STEP_ROWS);
        most = step < most ? step : most;
    }
    while ((code = next_rows(x, most, chunks)) == EXIT_DONE && chunks[0].n > 0) {
        bf_array arrays[COLUMNS];
        const bf_array *columns[COLUMNS];
        for (int k = 0; k < x->operand_count; k++) {
            const operand *of = &x->operands[k];
            const int candidate = __builtin_ctz(x->inputs[of->input].can[of->column]);
            const void *data = chunks[of->input].columns[of->column].as[candidate];
            arrays[k] = bf_array_of(x->dtypes[k], data, chunks[0].n);
            columns[k] = &arrays[k];
        }
        const bf_status st = bf_state_absorb_expression(x->state, x->expression, columns);
        if (st != BF_OK) return absorb_failed(x, st);
        work_tick(&x->task->work);
    }
    return code;
}

static int make_state(expressed *x, int64_t start) {
    bf_state_destroy(x->state);
    x->state = NULL;
    bf_status st =
        bf_state_create(x->task->context, x->op, bf_expression_dtype(x->expression), &x->state);
    if (st == BF_OK && reduce_is_ordered(x->op)) st = bf_state_seek(x->state, start);
    return st == BF_OK ? EXIT_DONE : fail_status(st, x->task->context, NULL);
}

static int walk_inputs(expressed *x, rows *inputs[], int64_t start) {
    work *w = &x->task->work;
    const work_thing thing = {.state = &x->state};
    int code = work_begin(w, inputs, x->input_count);
    if (code == EXIT_DONE) code = parse_expression(x);
    if (code == EXIT_DONE) code = make_state(x, start);
    if (code == EXIT_DONE) code = work_hold(w, &thing, 1);
    return code == EXIT_DONE ? absorb_rows(x) : code;
}

/* Are the dtypes of the columns still those that the expression was parsed for? */
static bool dtypes_stay(const expressed *x) {
    bool stay = true;
    for (int k = 0; k < x->operand_count; k++) {
        const operand *of = &x->operands[k];
        stay = stay && rows_dtype(&x->inputs[of->input], of->column) == x->dtypes[k];
    }
    return stay;
}

/* Reads all; anew if a text turns out to have another dtype than it seemed to have. */
static int make_value(expressed *x, rows *inputs[], int64_t start) {
    int code;
    while ((code = walk_inputs(x, inputs, start)) == ROWS_RESETTLED)
        for (int i = 0; i < x->input_count; i++) rows_again(inputs[i]);
    return code;
}

/* Another rank's rows may show the dtype, too. */
static int reduce_inputs(expressed *x, rows *inputs[], int64_t start) {
    work *w = &x->task->work;
    int code = work_end(w, make_value(x, inputs, start), false);
    while (code == ROWS_RESETTLED) {
        code = EXIT_DONE;
        if (!dtypes_stay(x)) {
            for (int i = 0; i < x->input_count; i++) rows_again(inputs[i]);
            code = make_value(x, inputs, start);
        }
        code = work_end(w, code, false);
    }
    const char *name = inputs[0]->source.name;
    return code == EXIT_DONE ? ranks_merge_states(x->task->context, &x->state, 1, name) : code;
}

static int64_t bytes_of(rows *const inputs[], int n) {
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        const int64_t more = rows_bytes(inputs[i]);
        bytes = bytes < 0 || more < 0 ? -1 : bytes + more;
    }
    return bytes;
}

static int find_value(expressed *x) {
    const options *o = x->task->options;
    rows *inputs[INPUTS];
    int64_t first;
    for (int i = 0; i < x->input_count; i++) inputs[i] = &x->inputs[i];
    int code = ranks_agree(names_columns(x) ? open_table(x) : open_letters(x));
    if (code == EXIT_DONE) code = ranks_agree(check_shapes(x));
    if (code == EXIT_DONE) code = share_rows(inputs, x->input_count, &first);
    if (code == EXIT_DONE) code = ranks_agree(prepare_inputs(x, inputs));
    if (code != EXIT_DONE) return code;
    for (int i = 0; i < x->input_count; i++) task_tell_input(x->task, inputs[i]);
    const double began = progress_clock();
    progress_start(o->files[0], bytes_of(inputs, x->input_count));
    code = reduce_inputs(x, inputs, first);
    progress_stop();
    x->task->bytes = bytes_of(inputs, x->input_count);
    x->task->threads = o->threads;
    if (code == EXIT_DONE && x->task->bytes >= 0)
        task_tell_speed(x->task, inputs[0], progress_clock() - began);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check_line(const options *o) {
    int standard = 0;
    if (many_asked(o))
        return fail(EXIT_USAGE, NULL, "-e does not go with --axis, --offsets, --index or --empty");
    if (o->total || o->quantiles.n > 0)
        return fail(EXIT_USAGE, NULL, "-e does not go with --%s", o->total ? "total" : "quantiles");
    if (o->file_count > INPUTS)
        return fail(EXIT_USAGE, NULL, "an expression has at most %d files, a to z", INPUTS);
    for (int i = 0; i < o->file_count; i++) standard += strcmp(o->files[i], "-") == 0;
    return standard > 1 ? fail(EXIT_USAGE, NULL, "standard input cannot be two files") : EXIT_DONE;
}

static int run_task(expressed *x, const options *o) {
    const double began = progress_clock();
    int code = task_open(x->task, o, false);
    if (code != EXIT_DONE) return code;
    code = find_value(x);
    const result r = {o->files[0], .expression = o->expression,
                      .seconds = progress_clock() - began};
    if (code == EXIT_DONE) code = ranks_agree(task_emit(x->task, x->state, r, 0));
    return task_close(x->task, code, x->state);
}

int expression_run(const options *o, bf_reduction op) {
    int code = check_line(o);
    if (code != EXIT_DONE) return code;
    expressed *x = calloc(1, sizeof *x); /* too large for a small stack */
    task *t = calloc(1, sizeof *t);
    if (x && t) {
        x->task = t;
        x->op = op;
        x->input_count = o->file_count;
        for (int i = 0; i < INPUTS; i++) x->inputs[i].source.fd = -1;
        code = run_task(x, o);
        for (int i = 0; i < x->input_count; i++) rows_close(&x->inputs[i]);
        for (int k = 0; k < x->operand_count; k++) free(x->operands[k].name);
        free(x->columns);
        bf_expression_destroy(x->expression);
        bf_state_destroy(x->state);
        task_free(t);
    } else {
        code = fail_status(BF_E_MEMORY, NULL, NULL);
    }
    free(t);
    free(x);
    return code;
}
