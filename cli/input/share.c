#include "input/share.h"

#include "runtime/ranks.h"
#include "runtime/report.h"

#include <stdlib.h>

/* n cut into equal pieces, one for each rank: where this rank's begins, or (1) ends. */
static int64_t cut(int64_t n, int end) {
    const int64_t ranks = ranks_count(), rank = ranks_rank() + end;
    return n / ranks * rank + n % ranks * rank / ranks;
}

static bool is_text(const rows *r) { return r->source.text != NULL; }

/* ---- counts ---------------------------------------------------------------------------------- */

/* The rows of a text: before[i] is the number of those before its part i; before[parts] is of all.
 */
typedef struct counts {
    int64_t *before;
    int64_t parts;
} counts;

/* Counts the rows of a part, the first of which begins at *row, and finds where the next part's do.
 */
static text_status count_part(const rows *r, text_piece *piece, int64_t part, int64_t *row,
                              int64_t *n) {
    text_input *t = r->source.text;
    const text_status st = text_take_part(t, piece, part, *row);
    if (st != TEXT_OK) return st;
    text_rows_skip(&t->layout, text_is_quoted(t, piece), piece->at, piece->end, -1, n);
    *row = piece->next;
    return st;
}

/* Counts the rows of this rank's parts, and learns of the others. */
static int count_rows(const rows *r, counts *c) {
    text_piece piece = {.buffer = NULL};
    text_refusal refusal = {.line = 0};
    c->parts = text_parts(r->source.text);
    c->before = calloc((size_t)c->parts + 1, sizeof *c->before);
    text_status st = c->before ? TEXT_OK : TEXT_NO_MEMORY;
    const int64_t first = cut(c->parts, 0), end = cut(c->parts, 1);
    int64_t row = -1;
    if (st == TEXT_OK) st = text_find_part(r->source.text, first, &row);
    for (int64_t i = first; i < end && st == TEXT_OK; i++)
        st = count_part(r, &piece, i, &row, &c->before[i]);
    free(piece.buffer);
    const int code =
        ranks_agree(st == TEXT_OK ? EXIT_DONE : source_text_failed(&r->source, st, &refusal));
    if (code != EXIT_DONE) return code;
    ranks_share_words(c->before, first, end);
    int64_t sum = 0;
    for (int64_t i = 0; i <= c->parts; i++) {
        const int64_t n = c->before[i];
        c->before[i] = sum;
        sum += n;
    }
    return EXIT_DONE;
}

/* The part that a row is in, or would be. */
static int64_t part_of(const counts *c, int64_t row) {
    int64_t low = 0, high = c->parts;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (c->before[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- rows of one input ----------------------------------------------------------------------- */

/* Leaves the elements [first, end) of those selected. */
static void take_elements(rows *r, int64_t first, int64_t end) {
    source *s = &r->source;
    const int64_t n = s->count;
    s->first += first < n ? first : n;
    s->count = end > n ? n - (first < n ? first : n) : end > first ? end - first : 0;
}

/* Leaves the rows [first, end) of the text. */
static void take_rows(rows *r, const counts *c, int64_t first, int64_t end) {
    const int64_t all = c->before[c->parts];
    if (end > all) end = all;
    if (first > end) first = end;
    const int64_t part = part_of(c, first);
    r->origin = (rows_place){.part = part, .selection = {first - c->before[part], end - first}};
    r->start = r->origin;
}

static void take_parts(rows *r) {
    const int64_t parts = text_parts(r->source.text);
    r->origin.part = r->start.part = cut(parts, 0);
    r->end = cut(parts, 1);
}

/* The rows that the options select, [first, end), which are there. */
static int find_selected(const rows *r, const counts *c, int64_t *first, int64_t *end) {
    const source *s = &r->source;
    const int64_t all = c->before[c->parts], wanted = s->count < 0 ? 0 : s->count;
    const int64_t past = s->first > all ? s->first - all : 0;
    const int64_t left = wanted > all - s->first ? wanted - (all - s->first) : 0;
    *first = s->first;
    *end = s->count < 0 ? all : s->first + s->count;
    return source_check_rows(s, &(text_selection){past, left}, all - s->first);
}

/* ---- sharing --------------------------------------------------------------------------------- */

/* One array, or text whose rows need no numbers: no rank waits for another. */
static bool is_simple(rows *const inputs[], int n) {
    const source *s = &inputs[0]->source;
    return n == 1 && !inputs[0]->options.ordered &&
           (!is_text(inputs[0]) || (s->first == 0 && s->count < 0));
}

static void take_simple(rows *r) {
    const bool last = ranks_rank() == ranks_count() - 1;
    const int64_t n = r->source.count;
    if (is_text(r))
        take_parts(r);
    else
        take_elements(r, cut(n, 0), last ? INT64_MAX : cut(n, 1));
}

/* This rank has the rows [begin, end) of those selected, and the last rank all from begin on. */
typedef struct range {
    int64_t begin, end;
} range;

/* The rows of this rank's parts of a text, as far as they are selected. */
static int find_range(const rows *leader, const counts *c, range *x) {
    int64_t first, end;
    const int code = find_selected(leader, c, &first, &end);
    if (code != EXIT_DONE) return code;
    const int64_t from = c->before[cut(c->parts, 0)], to = c->before[cut(c->parts, 1)];
    x->begin = (from < first ? first : from > end ? end : from) - first;
    x->end = (to < first ? first : to > end ? end : to) - first;
    return EXIT_DONE;
}

static int take_range(rows *r, const counts *c, range x) {
    const bool last = ranks_rank() == ranks_count() - 1;
    int64_t first = 0, end = INT64_MAX;
    if (!is_text(r)) {
        take_elements(r, x.begin, last ? INT64_MAX : x.end);
        return EXIT_DONE;
    }
    const int code = find_selected(r, c, &first, &end);
    if (code == EXIT_DONE) take_rows(r, c, first + x.begin, last ? end : first + x.end);
    return code;
}

static int share_in_step(rows *const inputs[], int n, counts *found) {
    int leader = 0, code = EXIT_DONE;
    for (int i = n - 1; i >= 0; i--)
        if (is_text(inputs[i])) leader = i;
    for (int i = 0; i < n && code == EXIT_DONE; i++)
        if (is_text(inputs[i])) code = count_rows(inputs[i], &found[i]);
    if (code != EXIT_DONE) return code;
    const int64_t elements = inputs[leader]->source.count;
    range x = {cut(elements, 0), cut(elements, 1)};
    if (is_text(inputs[leader])) code = find_range(inputs[leader], &found[leader], &x);
    for (int i = 0; i < n && code == EXIT_DONE; i++) code = take_range(inputs[i], &found[i], x);
    return ranks_agree(code);
}

int share_rows(rows *const inputs[], int n, int64_t *first) {
    const source *s = &inputs[0]->source;
    if (first) *first = s->first;
    if (ranks_count() == 1) return EXIT_DONE;
    if (is_simple(inputs, n)) {
        take_simple(inputs[0]);
        if (first) *first = s->first;
        return EXIT_DONE;
    }
    counts *found = calloc((size_t)n, sizeof *found);
    int code = ranks_agree(found ? EXIT_DONE : fail_memory(s->name));
    if (code == EXIT_DONE) code = share_in_step(inputs, n, found);
    if (first && code == EXIT_DONE) {
        const rows_place *p = &inputs[0]->origin;
        *first = is_text(inputs[0]) ? found[0].before[p->part] + p->selection.skip : s->first;
    }
    for (int i = 0; found && i < n; i++) free(found[i].before);
    free(found);
    return code;
}

void share_pieces(rows *r, int64_t n, int64_t piece, int64_t step, int64_t *first, int64_t *end) {
    const int64_t steps = n < 0 ? n : n / step;
    const bool last = ranks_rank() == ranks_count() - 1;
    *first = cut(steps, 0) * step;
    *end = last ? n : cut(steps, 1) * step;
    if (ranks_count() > 1) take_elements(r, *first * piece, *end * piece);
}
