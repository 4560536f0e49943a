#include "input/chunk.h"

#include "runtime/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_BYTES ((int64_t)1024 * 1024)

/* ---- text ------------------------------------------------------------------------------------ */

static void fetch_text(chunk *c, const chunk_plan *plan) {
    text_input *t = plan->source->text;
    c->status = text_take_next(t, &c->piece);
    c->error = errno;
    c->end = c->status != TEXT_OK || t->ended;
}

static void read_text(chunk *c, const source *s, const text_unit *units,
                      text_selection *selection) {
    for (int k = 0; k < c->rows.count; k++) {
        c->rows.columns[k].scale = units[k].scale;
        c->rows.columns[k].is_wide = units[k].wide;
        c->rows.columns[k].time = text_unit_time(&units[k]);
    }
    c->status = text_read_piece(s->text, &c->piece, selection, &c->rows, &c->refused);
    c->n = c->rows.n;
}

static void make_text(chunk *c, const chunk_plan *plan, int64_t number, int64_t row, bool next) {
    const source *s = plan->source;
    const bool file = !plan->stream;
    c->n = c->bytes = 0;
    if (plan->selection) c->before = *plan->selection;
    if (file)
        c->status =
            (next ? text_take_part : text_try_part)(s->text, &c->piece, plan->first + number, row);
    if (c->status == TEXT_OK) {
        c->bytes = c->piece.end - c->piece.begin;
        read_text(c, s, plan->units, plan->selection);
    }
    if (file || c->status != TEXT_OK) c->error = errno;
    c->failed = c->status != TEXT_OK;
    const bool enough = plan->selection && plan->selection->left == 0;
    c->end = c->failed || enough || (!file && c->end);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

int64_t chunk_elements(const source *s) { return ARRAY_BYTES / (int64_t)source_element(s); }

static int64_t wanted_elements(const chunk_plan *plan, int64_t number) {
    const int64_t before = plan->first + number * plan->elements;
    const int64_t left = plan->source->count < 0 ? plan->elements : plan->source->count - before;
    return left < plan->elements ? left : plan->elements;
}

static void view_elements(chunk *c, const chunk_plan *plan, int64_t number) {
    source *s = plan->source;
    const int64_t want = wanted_elements(plan, number);
    const int64_t index = plan->first + number * plan->elements;
    const void *at = source_view(s, index, want, c->elements, &c->got);
    c->error = errno;
    c->n = c->got > 0 ? c->got : 0;
    if (c->n > 0 && at != c->elements) memcpy(c->elements, at, (size_t)c->n * source_element(s));
    source_drop(s, index, c->got);
    c->bytes = c->n * (int64_t)source_element(s);
    c->end = c->got < want;
    c->failed = c->got < 0 || (c->end && s->count >= 0);
}

/* ---- both ------------------------------------------------------------------------------------ */

chunk_plan chunk_plan_of(source *s, const unsigned char *forms, const text_unit *units,
                         text_selection *selection, int64_t first, int64_t end, int64_t row) {
    chunk_plan plan = {
        .source = s, .forms = forms, .units = units, .selection = selection, .total = INT64_MAX};
    plan.first = first;
    plan.row = row;
    plan.stream = s->text ? !s->text->file : s->stream;
    if (s->text) {
        if (!plan.stream) plan.total = end - first;
        return plan;
    }
    const int64_t n = plan.elements = chunk_elements(s);
    if (s->count >= 0) plan.total = (s->count - first) / n + ((s->count - first) % n != 0);
    return plan;
}

bool chunk_open(chunk *c, const chunk_plan *plan) {
    const source *s = plan->source;
    *c = (chunk){.n = 0};
    if (s->text) return text_rows_open(&c->rows, &s->text->layout, plan->forms);
    c->elements = malloc((size_t)ARRAY_BYTES);
    return c->elements != NULL;
}

void chunk_close(chunk *c) {
    text_rows_free(&c->rows);
    free(c->piece.buffer);
    free(c->elements);
}

void chunk_fetch(chunk *c, const chunk_plan *plan, int64_t number) {
    if (plan->source->text)
        fetch_text(c, plan);
    else
        view_elements(c, plan, number);
}

void chunk_make(chunk *c, const chunk_plan *plan, int64_t number, int64_t row, bool next) {
    const source *s = plan->source;
    if (s->text)
        make_text(c, plan, number, row, next);
    else if (!plan->stream)
        view_elements(c, plan, number);
}

void chunk_make_again(chunk *c, const source *s, const text_unit *units) {
    text_selection rows = {.left = c->before.left}; /* 0: all are wanted */
    read_text(c, s, units, rows.left != 0 ? &rows : NULL);
    c->failed = c->status != TEXT_OK;
}

bool chunk_is_long(const chunk *c, const chunk_plan *plan) {
    return plan->source->text && text_is_long(plan->source->text, &c->piece);
}

void chunk_release(chunk *c, const chunk_plan *plan) {
    if (plan->source->text) text_release(plan->source->text, &c->piece);
}

bool chunk_is_guess(const chunk_plan *plan, int64_t row) {
    return plan->source->text && !plan->stream && row < 0;
}

bool chunk_follows(const chunk *c, const chunk_plan *plan, int64_t row) {
    return !plan->source->text || plan->stream || text_follows(&c->piece, row);
}

int chunk_check(const chunk *c, const source *s) {
    if (!c->failed) return EXIT_DONE;
    if (!s->text) return source_failed(s, c->got, c->error);
    text_refusal refusal = {.error = c->refused};
    if (c->status == TEXT_REFUSED) text_place_refusal(s->text, &c->piece, &refusal);
    errno = c->error;
    return source_text_failed(s, c->status, &refusal);
}
