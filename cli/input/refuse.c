#include "input/chunk.h"
#include "input/rows.h"
#include "runtime/report.h"

#include <stdio.h>

int rows_refuse_times(const char *name, const char *what) {
    fail(EXIT_DATA, name, "times have no %s", what);
    hint("they have min, max, argmin, argmax, median, quantile, count and hist");
    return EXIT_DATA;
}

const char rows_as_doubles[] = "--dtype f64 reads all text as f64";

int rows_refuse_scale(const char *name) {
    fail(EXIT_DATA, name,
         "no total: 128 bits do not hold all numbers with as many digits behind the point as one "
         "has");
    hint("%s", rows_as_doubles);
    return EXIT_DATA;
}

int rows_refuse_digits(const char *name, const char *option, const bf_context *context) {
    fail(EXIT_DATA, name, "%s: %s", option, bf_context_message(context));
    hint("%s", rows_as_doubles);
    return EXIT_DATA;
}

int rows_refuse(const rows *r, int64_t row, const char *what, const char *advice) {
    const text_input *t = r->source.text;
    const text_piece *p = &r->current->piece;
    text_refusal refusal = {.line = 0};
    int64_t passed;
    snprintf(refusal.error.what, sizeof refusal.error.what, "%s", what);
    snprintf(refusal.error.hint, sizeof refusal.error.hint, "%s", advice);
    const char *at =
        text_rows_skip(&t->layout, text_is_quoted(t, p), p->at, p->end,
                       r->chunk[0].first + (r->picked ? r->picked[row] : row), &passed);
    refusal.error.at = text_pass_blank_lines(&t->layout, at);
    text_place_refusal(t, p, &refusal);
    return source_text_failed(&r->source, TEXT_REFUSED, &refusal);
}

int rows_refuse_result(const rows *r, const char *text, bf_status status,
                       const bf_context *context) {
    const char *const advice = status == BF_E_OVERFLOW ? rows_as_doubles : "";
    const int code = source_check(&r->source);
    if (code != EXIT_DONE) return code;
    if (status != BF_E_ARGUMENT && status != BF_E_OVERFLOW)
        return fail_status(status, context, r->source.name);
    text_error e;
    int64_t row;
    const char *const message = bf_context_message(context),
                      *behind, *const at = find_index(message, &row, &behind);
    if (!at) return fail(EXIT_DATA, r->source.name, "%.100s: %s", text, message);
    snprintf(e.what, sizeof e.what, "%.100s: %.*s%s", text, (int)(at - message), message, behind);
    return rows_refuse(r, row, e.what, advice);
}
