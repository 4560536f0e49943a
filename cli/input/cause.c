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
    int column;
} again;

/* Reads the first n rows. Returns their end. */
static const char *read_first(again *x, int64_t n) {
    text_error error;
    const char *at = x->piece->at;
    return n > 0 ? text_rows_read(&x->rows, &x->text->layout, at, x->piece->end, n, &error) : at;
}

/* The number of rows that it takes to rule the candidates out. */
static int64_t count_rows(again *x, unsigned candidates, int64_t n) {
    int64_t too_few = 0;
    while (n - too_few > 1) {
        const int64_t half = too_few + (n - too_few) / 2;
        read_first(x, half);
        if (x->rows.columns[x->column].can & candidates)
            too_few = half;
        else
            n = half;
    }
    return n;
}

static void take_cause(again *x, int64_t row, cause *found) {
    const char *at = read_first(x, row - 1);
    text_refusal place = {.error.at = text_pass_blank_lines(&x->text->layout, at)};
    text_place_refusal(x->text, x->piece, &place);
    read_first(x, row);
    const text_strings *s = &x->rows.columns[x->column].strings;
    found->line = place.line;
    text_quote(found->field, s->bytes + s->offsets[row - 1], s->bytes + s->offsets[row]);
}

int cause_find(const rows *r, int column, unsigned candidates, cause *found) {
    const chunk *c = r->current;
    const text_input *t = r->source.text;
    again x = {.text = t, .piece = &c->piece, .column = column};
    const bool asked = text_candidates(&t->layout) == 1;
    unsigned char *forms = malloc((size_t)r->columns);
    if (forms)
        memset(forms, TEXT_STRINGS | TEXT_FLOATS | (asked ? 0 : TEXT_INTEGERS), (size_t)r->columns);
    const bool good = forms && text_rows_open(&x.rows, &t->layout, forms) &&
                      text_rows_reserve(&x.rows, &t->layout, c->n);
    x.rows.quoted = text_is_quoted(t, &c->piece);
    if (good) take_cause(&x, count_rows(&x, candidates, c->n), found);
    text_rows_free(&x.rows);
    free(forms);
    return good ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, r->source.name);
}
