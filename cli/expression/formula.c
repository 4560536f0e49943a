#include "expression/formula.h"

#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

int formula_open(formula *x, int columns) {
    x->count = columns;
    x->names = calloc((size_t)columns + 1, sizeof *x->names);
    x->dtypes = calloc((size_t)columns + 1, sizeof *x->dtypes);
    x->scales = calloc((size_t)columns + 1, sizeof *x->scales);
    x->times = calloc((size_t)columns + 1, 1);
    x->plain = calloc((size_t)columns + 1, sizeof(bf_array *));
    const bool good = x->names && x->dtypes && x->scales && x->times && x->plain;
    return good ? EXIT_DONE : fail_memory(x->file);
}

void formula_close(formula *x) {
    bf_expression_destroy(x->parsed);
    free(x->names);
    free(x->dtypes);
    free(x->scales);
    free(x->times);
    free(x->plain);
    buffer_free(&x->results);
    buffer_free(&x->valid);
}

/* A dtype that was asked for decides how many bits there are. */
static bool can_widen(const formula *x) {
    return !x->arrays && !x->wide && x->options->input.dtype == BF_NONE;
}

static bool has_times(const formula *x) {
    bool some = false;
    for (int k = 0; k < x->count; k++) some = some || x->times[k] != BF_TIME_NONE;
    return some;
}

units_form formula_form(const bf_expression *e) {
    return (units_form){bf_expression_dtype(e), bf_expression_scale(e), bf_expression_time(e)};
}

static int refuse_strings(const char *file, const char *option, const char *text) {
    return fail(EXIT_DATA, file, "%s: the results of '%s' are strings, not numbers", option, text);
}

int formula_parse(formula *x) {
    const bf_expression_options how =
        BF_EXPRESSION_OPTIONS(.overflow = x->overflow, .rounded = x->rounded, .wide = x->wide,
                              .scales = x->arrays ? NULL : x->scales,
                              .times = x->arrays && !has_times(x) ? NULL : x->times);
    int position = -1;
    bf_expression_destroy(x->parsed);
    x->parsed = NULL;
    const bf_status st = bf_expression_parse(x->context, x->text, x->names, x->dtypes, x->count,
                                             &how, &position, &x->parsed);
    if (st == BF_E_OVERFLOW && can_widen(x)) {
        x->wide = true;
        return formula_parse(x);
    }
    if (st == BF_E_OVERFLOW && x->patient) return ROWS_RESETTLED;
    if (st == BF_E_OVERFLOW && !x->arrays)
        return rows_refuse_digits(x->file, x->option, x->context);
    if (st != BF_OK) return fail_text(st, x->context, x->file, x->option, x->text, position);
    return bf_expression_is_string(x->parsed) && !x->strings
               ? refuse_strings(x->file, x->option, x->text)
               : EXIT_DONE;
}

int formula_check_condition(const formula *x) {
    const bf_dtype dtype = bf_expression_dtype(x->parsed);
    if (dtype == BF_BOOL) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "%s: '%s' is no condition: its values are %s", x->option, x->text,
         bf_dtype_name(dtype));
    hint("compare them, as in 'price > 10'");
    return EXIT_USAGE;
}

bool formula_uses(const formula *x, int column) {
    return bf_expression_uses(x->parsed, column) != 0;
}

const bf_array *const *formula_plain(formula *x, const bf_column *const columns[], int64_t n) {
    for (int k = 0; k < x->count; k++) {
        const bf_column *c = columns[k];
        if (c && (!c->numbers || (c->valid && text_has_null(c->valid, c->first, n)))) return NULL;
        x->plain[k] = c ? c->numbers : NULL;
    }
    return x->plain;
}

int formula_compute(formula *x, const bf_column *const columns[], int64_t n, formula_results *out,
                    bf_status *status) {
    const bf_dtype dtype = bf_expression_dtype(x->parsed);
    const bool strings = bf_expression_is_string(x->parsed);
    void *const to = strings ? NULL : buffer_take(&x->results, (size_t)n * bf_dtype_size(dtype));
    uint8_t *const there = buffer_take(&x->valid, (size_t)n);
    if ((!to && !strings) || !there) return fail_memory(x->file);
    *out = (formula_results){.numbers = bf_array_of(dtype, to, n)};
    const bf_array *const *const plain = strings ? NULL : formula_plain(x, columns, n);
    *status = plain ? bf_expression_eval(x->parsed, plain, &out->numbers) : BF_E_ARGUMENT;
    const bool nulls = *status == BF_E_ARGUMENT; /* there are some, or the expression makes them */
    if (nulls)
        *status = strings ? bf_expression_eval_strings(x->parsed, columns, n, &out->strings, there)
                          : bf_expression_eval_columns(x->parsed, columns, &out->numbers, there);
    out->valid = nulls && *status == BF_OK && memchr(there, 0, (size_t)n) ? there : NULL;
    if (*status != BF_E_OVERFLOW || !can_widen(x)) return EXIT_DONE;
    x->wide = true;
    const int code = formula_parse(x);
    return code == EXIT_DONE ? formula_compute(x, columns, n, out, status) : code;
}

/* Makes bits of bytes that say which of n rows are NULL; NULL: there is no memory. */
static uint8_t *pack_valid(buffer *to, const uint8_t *valid, int64_t n) {
    uint8_t *const bits = buffer_take(to, (size_t)n / 8 + 1);
    if (bits) memset(bits, 0xff, (size_t)n / 8 + 1);
    for (int64_t i = 0; bits && i < n; i++)
        if (!valid[i]) text_clear_bit(bits, i);
    return bits;
}

bool formula_show(const formula_results *results, int64_t n, buffer *bits, rows_view *view) {
    *view = (rows_view){.numbers = results->numbers, .strings = results->strings};
    view->column.size = sizeof view->column;
    if (results->numbers.dtype == BF_NONE)
        view->column.strings = &view->strings;
    else
        view->column.numbers = &view->numbers;
    if (!results->valid) return true;
    view->column.valid = pack_valid(bits, results->valid, n);
    return view->column.valid != NULL;
}
