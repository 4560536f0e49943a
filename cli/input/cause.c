#include "input/cause.h"

#include "input/chunk.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

/* A chunk that is read again. */
typedef struct again {
    const text_input *text;
    const text_piece *piece;
    text_rows rows;
    int64_t lines; /* newlines before the piece */
    cause_wanted *wanted;
    int n; /* not found yet */
} again;

/* Reads so many rows, fewer at the end. Returns their end. */
static const char *read_rows(again *x, const char *at, int64_t most) {
    text_error error;
    return text_rows_read(&x->rows, &x->text->layout, at, x->piece->end, most, &error);
}

/* The candidates that are left behind the rows read last. */
static unsigned left_of(const again *x, const cause_wanted *w) {
    const text_column *const c = &x->rows.columns[w->column];
    return w->candidates & (c->can | (c->deepest == 0 ? CAUSE_WHOLE : 0));
}

static bool rules_out(const again *x) {
    bool any = false;
    for (int i = 0; i < x->n && !any; i++) any = left_of(x, &x->wanted[i]) == 0;
    return any;
}

/* The line of the row at `at`. */
static int64_t line_of(const again *x, const char *at) {
    const char *const begin = text_pass_blank_lines(&x->text->layout, at);
    const int64_t offset = x->piece->offset + (begin - x->piece->begin);
    return x->lines + text_count_lines(x->piece->begin, begin) + 1 +
           text_lines_more(x->text, offset);
}

/* Notes the row in this line, the only one that was read, as a cause. */
static void take_cause(const again *x, int64_t line, const cause_wanted *w) {
    const text_column *const c = &x->rows.columns[w->column];
    const text_strings *const s = &c->strings;
    w->found->line = line;
    w->found->why = c->why;
    text_quote(w->found->field, s->bytes + s->offsets[0], s->bytes + s->offsets[1]);
}

/* Goes on to those that are not found behind the rows from `at` on. */
static void narrow(again *x, const char *at) {
    int n = 0;
    int64_t line = 0;
    for (int i = 0; i < x->n; i++) {
        cause_wanted *w = &x->wanted[i];
        const unsigned left = left_of(x, w);
        if (left == 0 && line == 0) line = line_of(x, at);
        if (left == 0)
            take_cause(x, line, w);
        else
            x->wanted[n++] = (cause_wanted){w->column, left, w->found};
    }
    x->n = n;
}

static void narrow_by_row(again *x, const char *at, int64_t count) {
    for (int64_t i = 0; i < count && x->n > 0; i++) {
        const char *const next = read_rows(x, at, 1);
        narrow(x, at);
        at = next;
    }
}

/* Reads some rows at a time, and row by row those among which there is a cause. */
static void find_causes(again *x, int64_t step) {
    const char *at = x->piece->at;
    while (x->n > 0 && at < x->piece->end) {
        const char *const next = read_rows(x, at, step);
        const int64_t count = x->rows.n;
        if (rules_out(x))
            narrow_by_row(x, at, count);
        else
            narrow(x, at);
        at = next;
    }
}

/* The newlines before the piece: known if it follows the one before. */
static int64_t lines_before(const text_input *t, const text_piece *p, cause_lines *known) {
    text_refusal begin = {.error.at = p->begin};
    if (known->offset != p->offset) {
        text_place_refusal(t, p, &begin);
        known->lines = begin.line - 1 - text_lines_more(t, p->offset);
    }
    const int64_t lines = known->lines;
    *known = (cause_lines){p->next, lines + p->survey.lines};
    return lines;
}

/* Finds those that are so with the scales that the columns of the chunk have. */
static void find_scaled(again *x, const chunk *c, int64_t step) {
    for (int k = 0; k < x->rows.count; k++) x->rows.columns[k].scale = c->rows.columns[k].scale;
    find_causes(x, step);
}

static int64_t step_of(int64_t count) {
    int64_t step = 1;
    while (step * step < count) step++;
    return step;
}

int cause_find(const rows *r, cause_wanted wanted[], int n, cause_lines *known) {
    const chunk *c = r->current;
    const text_input *t = r->source.text;
    const int64_t lines = lines_before(t, &c->piece, known), step = step_of(c->n);
    again x = {.text = t, .piece = &c->piece, .lines = lines, .wanted = wanted, .n = n};
    const bool asked = text_candidates(&t->layout) == 1;
    if (n == 0) return EXIT_DONE;
    unsigned char *forms = malloc((size_t)r->columns);
    if (forms)
        memset(forms, TEXT_STRINGS | TEXT_FLOATS | (asked ? 0 : TEXT_INTEGERS), (size_t)r->columns);
    const bool good = forms && text_rows_open(&x.rows, &t->layout, forms) &&
                      text_rows_reserve(&x.rows, &t->layout, step);
    for (int k = 0; good && k < x.rows.count; k++) x.rows.columns[k].time = c->rows.columns[k].time;
    x.rows.quoted = text_is_quoted(t, &c->piece);
    if (good) find_causes(&x, step);
    if (good) find_scaled(&x, c, step);
    text_rows_free(&x.rows);
    free(forms);
    return good ? EXIT_DONE : fail_memory(r->source.name);
}
