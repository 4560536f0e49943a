#define _GNU_SOURCE /* open_memstream, strdup */
#include "expression/inputs.h"

#include "expression/names.h"
#include "input/step.h"
#include "runtime/info.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "runtime/report.h"
#include "work/wide.h"
#include "work/work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_letter(const expressed *x, const char *name) {
    return names_is_letter(name) && *name < 'a' + x->file_count;
}

/* Whether the names are those of the columns of one text, and not the letters of inputs. */
static bool names_columns(const expressed *x, const expression_names *n) {
    bool others = x->options->input.text.header;
    const char *name = n->text;
    if (x->file_count > 1) return false;
    for (int k = 0; k < n->count; k++, name += strlen(name) + 1)
        others = others || !is_letter(x, name);
    return others;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int add_operand(expressed *x, char *name, int from, int column) {
    if (!name) return fail_memory(x->files[from]);
    x->operands[x->operand_count++] = (expressed_operand){name, from, column};
    return EXIT_DONE;
}

static const char *unless_empty(const char *list) { return *list ? list : NULL; }

/* Opens one text, of which each name is a column. */
static int open_table(expressed *x, const expression_names *n, input in, const rows_options *how) {
    if (in.text.columns)
        return fail(EXIT_USAGE, NULL, "--column does not go with -e '%s', which names columns",
                    x->formula.text);
    x->numbers = names_list(n, BF_NAME_NUMBER);
    x->strings = names_list(n, BF_NAME_STRING);
    x->keys = names_list(n, BF_NAME_EITHER);
    if (!x->numbers || !x->strings || !x->keys) return fail_memory(x->files[0]);
    in.text.columns = unless_empty(x->numbers);
    in.text.strings = unless_empty(x->strings);
    in.text.keys = unless_empty(x->keys);
    in.text.header = true;
    rows *r = x->input[0];
    int code = rows_open(r, x->files[0], &in, how);
    for (int k = 0; code == EXIT_DONE && k < r->columns; k++)
        code = add_operand(x, rows_column_name(r, k), 0, k);
    return code;
}

/* What the name of input i is compared with. */
static bf_expression_name_kind kind_of(const expression_names *n, int i) {
    const char *name = n->text;
    for (int k = 0; k < n->count; k++, name += strlen(name) + 1)
        if (name[0] == 'a' + i && name[1] == '\0') return n->kinds[k];
    return BF_NAME_NUMBER;
}

static int refuse_letter(const expressed *x, const char *name) {
    fail(EXIT_DATA, NULL, "-e: no array is named '%s'", name);
    hint("the arrays are a to %c, in the order of the files", 'a' + x->file_count - 1);
    return EXIT_DATA;
}

static int check_letters(const expressed *x, const expression_names *n) {
    const char *name = n->text;
    for (int k = 0; k < n->count; k++, name += strlen(name) + 1)
        if (!is_letter(x, name)) return refuse_letter(x, name);
    return EXIT_DONE;
}

/* Opens inputs whose names are a, b, c, ... */
static int open_letters(expressed *x, const expression_names *n, const input *in,
                        const rows_options *how) {
    int code = check_letters(x, n);
    for (int i = 0; i < x->file_count && code == EXIT_DONE; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        input own = *in;
        const bf_expression_name_kind kind = kind_of(n, i);
        if (kind != BF_NAME_NUMBER) own.text.columns = NULL;
        if (kind == BF_NAME_STRING) own.text.strings = in->text.columns ? in->text.columns : "1";
        if (kind == BF_NAME_EITHER) own.text.keys = in->text.columns;
        own.text.keyed = kind == BF_NAME_EITHER;
        code = rows_open_column(x->input[i], x->files[i], &own, how);
        if (code == EXIT_DONE) code = add_operand(x, strdup(name), i, 0);
    }
    return code;
}

static void forget_expression(expressed *x) {
    bf_expression_destroy(x->formula.parsed);
    x->formula.parsed = NULL;
}

/* 1/0 needs no input to be refused. */
static int check_numbers(expressed *x) {
    const int code = expressed_parse(x);
    forget_expression(x);
    return code;
}

static int open_files(expressed *x, const rows_options *how) {
    expression_names n;
    input in = x->options->input;
    in.text.judge_nulls = true;
    if (x->file_count == 1) in.text.option = "-e";
    int code = names_open(&n, x->formula.context, "-e", x->formula.text);
    if (code == EXIT_DONE && n.count == 0) code = check_numbers(x);
    if (code == EXIT_DONE)
        code = names_columns(x, &n) ? open_table(x, &n, in, how) : open_letters(x, &n, &in, how);
    names_close(&n);
    return code == EXIT_DONE ? step_check_shapes(x->input, x->file_count, false) : code;
}

int expressed_check(int count) {
    if (count > EXPRESSED_INPUTS)
        return fail(EXIT_USAGE, NULL, "an expression has at most %d files, a to z",
                    EXPRESSED_INPUTS);
    return EXIT_DONE;
}

static int open_formula(expressed *x, const char *text, bf_context *context, bool rounded) {
    x->formula = (formula){.context = context,
                           .options = x->options,
                           .option = "-e",
                           .text = text,
                           .rounded = rounded};
    return formula_open(&x->formula, EXPRESSED_COLUMNS);
}

/* Opens the files of which the text names columns. */
static int open_text(expressed *x, const char *text, const options *o, char **files, int count,
                     bf_context *context, const rows_options *how) {
    rows_options reading = *how;
    *x = (expressed){.options = o, .files = files, .file_count = count};
    for (int i = 0; i < count; i++) {
        x->inputs[i].source.fd = -1;
        x->input[i] = &x->inputs[i];
    }
    spool_limit_set(&x->limit, o->memory.pipes);
    reading.digits = o->rules.overflow == BF_OVERFLOW_ERROR ? BF_SCALE_MOST_I128 : 0;
    reading.settled = true;
    reading.nulls = true;
    reading.keep = &x->limit;
    reading.memory /= count;
    const int code = open_formula(x, text, context, !how->digits);
    return ranks_agree(code == EXIT_DONE ? open_files(x, &reading) : code);
}

int expressed_open(expressed *x, const options *o, char **files, int count, bf_context *context,
                   const rows_options *how) {
    return open_text(x, o->expression, o, files, count, context, how);
}

/* Refuses a text that is wrong by itself, and not where it stands among others. */
static int check_texts(const char *const texts[], int n, bf_context *context) {
    int code = EXIT_DONE;
    for (int i = 0; i < n && code == EXIT_DONE; i++) {
        expression_names names;
        code = names_open(&names, context, "-e", texts[i]);
        names_close(&names);
    }
    return code;
}

/* A text that names what all of them name, to be freed; NULL: there is no memory. */
static char *join_texts(const char *const texts[], int n) {
    char *all = NULL;
    size_t size;
    FILE *const f = open_memstream(&all, &size);
    for (int i = 0; f && i < n; i++) fprintf(f, "%s(%s)", i > 0 ? "+" : "", texts[i]);
    if (f && fclose(f) == 0) return all;
    free(all);
    return NULL;
}

/* Makes another expression of the inputs and operands of the first. */
static int open_beside(expressed *x, const expressed *first, const char *text) {
    *x = *first;
    x->follows = true;
    return open_formula(x, text, first->formula.context, first->formula.rounded);
}

int expressed_open_list(expressed *all, const char *const texts[], int n, const options *o,
                        char **files, int count, bf_context *context, const rows_options *how) {
    int code = ranks_agree(check_texts(texts, n, context));
    char *const joined = n > 1 ? join_texts(texts, n) : NULL;
    const char *text = n > 1 ? joined : texts[0];
    if (code == EXIT_DONE && !text) code = fail_memory(files[0]);
    if (code == EXIT_DONE) code = open_text(&all[0], text, o, files, count, context, how);
    all[0].formula.text = texts[0];
    for (int i = 1; i < n && code == EXIT_DONE; i++) code = open_beside(&all[i], &all[0], texts[i]);
    free(joined);
    return code;
}

void expressed_follow(expressed *x, const expressed *first) {
    memcpy(x->chunks, first->chunks, sizeof x->chunks);
    x->n = first->n;
    x->at = first->at;
}

static void close_inputs(expressed *x) {
    for (int i = 0; i < x->file_count; i++) rows_close(x->input[i]);
    for (int k = 0; k < x->operand_count; k++) free(x->operands[k].name);
    free(x->numbers);
    free(x->strings);
    free(x->keys);
}

void expressed_close(expressed *x) {
    if (!x->follows) close_inputs(x);
    formula_close(&x->formula);
    *x = (expressed){.file_count = 0};
}

int expressed_prepare(expressed *x) { return step_prepare(x->input, x->file_count); }

static bool is_one_text(const expressed *x) {
    return x->file_count == 1 && x->input[0]->source.text;
}

int64_t expressed_step(const expressed *x, int64_t most) {
    return step_rows(x->input, x->file_count, most);
}

int64_t expressed_bytes(const expressed *x) { return step_bytes(x->input, x->file_count); }

/* ---- parsing --------------------------------------------------------------------------------- */

static bf_dtype dtype_of(const expressed *x, int k) {
    const expressed_operand *of = &x->operands[k];
    return rows_dtype(x->input[of->input], of->column);
}

static int scale_of(const expressed *x, int k) {
    const expressed_operand *of = &x->operands[k];
    return rows_scale(x->input[of->input], of->column);
}

static bf_time_kind time_of(const expressed *x, int k) {
    const expressed_operand *of = &x->operands[k];
    return rows_meets(x->input[of->input], of->column);
}

/* Numbers of text, and beside it, are what is written. Arrays alone are computed as in NumPy. */
static bool has_decimals(const expressed *x) {
    bool some = false;
    for (int i = 0; i < x->file_count; i++)
        some = some || (x->input[i]->source.text && x->input[i]->options.digits);
    return some;
}

bool expressed_kinds_stay(const expressed *x) {
    const formula *f = &x->formula;
    bool stay = f->parsed != NULL;
    for (int k = 0; k < x->operand_count; k++)
        stay = stay && dtype_of(x, k) == f->dtypes[k] && scale_of(x, k) == f->scales[k] &&
               time_of(x, k) == (bf_time_kind)f->times[k];
    return stay;
}

static bool may_resettle(const expressed *x) {
    return !x->settled && step_may_resettle(x->input, x->file_count);
}

/* Columns may still turn out to be others, of which it holds. */
static int settle_first(expressed *x) {
    int code = EXIT_DONE;
    x->settled = true;
    for (int i = 0; i < x->file_count && code == EXIT_DONE; i++) code = rows_read_all(x->input[i]);
    return code == EXIT_DONE ? ROWS_RESETTLED : code;
}

int expressed_widen(expressed *x) {
    x->formula.wide = true;
    forget_expression(x);
    return expressed_parse(x);
}

int expressed_parse(expressed *x) {
    formula *const f = &x->formula;
    if (expressed_kinds_stay(x)) return EXIT_DONE;
    f->count = x->operand_count;
    f->arrays = !has_decimals(x);
    f->patient = may_resettle(x);
    for (int k = 0; k < f->count; k++) {
        f->names[k] = x->operands[k].name;
        f->dtypes[k] = dtype_of(x, k);
        f->scales[k] = scale_of(x, k);
        f->times[k] = (unsigned char)time_of(x, k);
    }
    const int code = formula_parse(f);
    if (code == EXIT_DONE) x->form = formula_form(f->parsed);
    return code == ROWS_RESETTLED ? settle_first(x) : code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

void expressed_again(expressed *x) {
    step_again(x->input, x->file_count);
    x->n = x->at = 0;
}

int expressed_next(expressed *x, int64_t most) {
    x->at += x->n;
    x->n = 0;
    const int code = step_next(x->input, x->file_count, most, x->chunks);
    if (code == EXIT_DONE) x->n = x->chunks[0].n;
    return code;
}

int expressed_settle(expressed *x) {
    const int code = work_settle_inputs(x->input, x->file_count);
    x->settled = true;
    return code;
}

/* The index of the first element at hand among those that are selected. A rank begins later. */
static int64_t first_index(const expressed *x) {
    const rows *r = x->input[0];
    return r->source.first - x->options->input.first + rows_seen(r) - x->n;
}

/* Names the index among all elements, not that among those at hand. */
static int refuse_element(const expressed *x, bf_status st, const char *message) {
    const char *file = x->input[0]->source.name, *behind;
    int64_t index;
    const char *at = find_index(message, &index, &behind);
    if (!at) return fail(EXIT_DATA, file, "%s", message);
    fail(EXIT_DATA, file, "%.*s at index %" PRId64 "%s", (int)(at - message), message,
         first_index(x) + index, behind);
    if (st == BF_E_OVERFLOW && has_decimals(x)) hint("%s", rows_as_doubles);
    return EXIT_DATA;
}

/* Data that changed meanwhile may be refused for that. What the expression refuses of the elements
 * at hand is an error of the data. */
static int compute_failed(expressed *x, bf_status st) {
    for (int i = 0; i < x->file_count; i++) {
        const int code = source_check(&x->input[i]->source);
        if (code != EXIT_DONE) return code;
    }
    if (st == BF_E_OVERFLOW && may_resettle(x)) return settle_first(x);
    if (is_one_text(x))
        return rows_refuse_result(x->input[0], x->formula.text, st, x->formula.context);
    if (st != BF_E_ARGUMENT && st != BF_E_OVERFLOW)
        return fail_status(st, x->formula.context, x->input[0]->source.name);
    return refuse_element(x, st, bf_context_message(x->formula.context));
}

/* ---- results --------------------------------------------------------------------------------- */

/* The columns of the rows that were taken. */
typedef struct columns {
    rows_view views[EXPRESSED_COLUMNS];
    const bf_column *columns[EXPRESSED_COLUMNS];
} columns;

static void look_at_columns(const expressed *x, columns *c) {
    for (int k = 0; k < x->operand_count; k++) {
        const expressed_operand *of = &x->operands[k];
        rows_look(x->input[of->input], &x->chunks[of->input], of->column, &c->views[k]);
        c->columns[k] = &c->views[k].column;
    }
}

static int refuse_null(const expressed *x, int64_t row) {
    static const char advice[] =
        "--null-policy skip leaves it out; isnull(x) ? y : x has another in its place";
    if (is_one_text(x)) return rows_refuse(x->input[0], row, "the result is NULL", advice);
    fail(EXIT_DATA, x->input[0]->source.name, "the result at index %" PRId64 " is NULL",
         first_index(x) + row);
    hint("%s", advice);
    return EXIT_DATA;
}

static int compute_columns(expressed *x, const columns *c, formula_results *to) {
    bf_status st;
    const int code = formula_compute(&x->formula, c->columns, x->n, to, &st);
    if (code == ROWS_RESETTLED) return settle_first(x);
    if (code != EXIT_DONE) return code;
    x->form = formula_form(x->formula.parsed);
    if (st != BF_OK) return compute_failed(x, st);
    const uint8_t *null = to->valid ? memchr(to->valid, 0, (size_t)x->n) : NULL;
    return null && !x->options->input.text.skip_nulls ? refuse_null(x, null - to->valid)
                                                      : EXIT_DONE;
}

int expressed_compute(expressed *x, formula_results *results) {
    columns *c = malloc(sizeof *c); /* too large for a small stack */
    if (!c) return fail_memory(x->input[0]->source.name);
    look_at_columns(x, c);
    const int code = compute_columns(x, c, results);
    free(c);
    return code;
}

/* Moves *at behind the next rows that are not NULL, before n, and returns the first of them. */
static int64_t next_present(const uint8_t *valid, int64_t *at, int64_t n) {
    while (*at < n && !valid[*at]) ++*at;
    const int64_t begin = *at;
    while (*at < n && valid[*at]) ++*at;
    return begin;
}

bf_array expressed_present(formula_results r) {
    const size_t size = bf_dtype_size(r.numbers.dtype);
    const int64_t n = r.numbers.shape[0];
    char *out = r.numbers.data;
    if (!r.valid) return r.numbers;
    for (int64_t at = 0; at < n;) {
        const int64_t begin = next_present(r.valid, &at, n);
        memmove(out, (const char *)r.numbers.data + (size_t)begin * size,
                (size_t)(at - begin) * size);
        out += (size_t)(at - begin) * size;
    }
    return bf_array_of(r.numbers.dtype, r.numbers.data,
                       (out - (char *)r.numbers.data) / (int64_t)size);
}

/* Absorbs runs at their own indices; what is between is left out. */
static bf_status absorb_runs(bf_state *state, formula_results r) {
    const size_t size = bf_dtype_size(r.numbers.dtype);
    const int64_t n = r.numbers.shape[0];
    const int64_t next = state_info(state).next;
    bf_status st = BF_OK;
    for (int64_t at = 0; at < n && st == BF_OK;) {
        const int64_t begin = next_present(r.valid, &at, n);
        const bf_array run = bf_array_of(
            r.numbers.dtype, (const char *)r.numbers.data + (size_t)begin * size, at - begin);
        st = bf_state_seek(state, next + begin);
        if (st == BF_OK) st = bf_state_absorb(state, &run);
    }
    return st == BF_OK ? bf_state_seek(state, next + n) : st;
}

static bf_status absorb_results(bf_state *state, bf_reduction op, formula_results r) {
    const bool indexed = bf_reduction_result(op) >= BF_RESULT_INDEX;
    if (r.valid && indexed) return absorb_runs(state, r);
    const bf_array present = expressed_present(r);
    return bf_state_absorb(state, &present);
}

/* Absorbs results that are computed beforehand. */
static int absorb_computed(expressed *x, const columns *c, bf_state **state, bf_reduction op) {
    formula_results results;
    bf_status st = BF_OK;
    const int code = compute_columns(x, c, &results);
    if (code != EXIT_DONE) return code;
    const bool becomes = results.numbers.dtype != state_info(*state).dtype;
    if (becomes && results.numbers.dtype != BF_I128) return ROWS_RESETTLED;
    if (becomes) st = wide_state(x->formula.context, state);
    if (st == BF_OK) st = absorb_results(*state, op, results);
    return st == BF_OK ? EXIT_DONE : fail_status(st, x->formula.context, x->input[0]->source.name);
}

/* What is refused is computed once more by itself: then the message names the row at hand, or
 * nothing is refused any more. */
int expressed_absorb(expressed *x, bf_state **state, bf_reduction op) {
    columns *c = malloc(sizeof *c);
    if (!c) return fail_memory(x->input[0]->source.name);
    look_at_columns(x, c);
    const bf_array *const *const plain = formula_plain(&x->formula, c->columns, x->n);
    const bf_status st =
        plain ? bf_state_absorb_expression(*state, x->formula.parsed, plain) : BF_E_ARGUMENT;
    const bool again = st == BF_E_ARGUMENT || st == BF_E_OVERFLOW;
    const int code = again         ? absorb_computed(x, c, state, op)
                     : st != BF_OK ? compute_failed(x, st)
                                   : EXIT_DONE;
    free(c);
    return code;
}
