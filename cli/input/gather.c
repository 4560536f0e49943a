/* Gathering the rows of several chunks, and handing rows out. */
#include "input/gather.h"

#include "input/chunk.h"
#include "memory/large.h"

#include <stdlib.h>
#include <string.h>

/* ---- one chunk ------------------------------------------------------------------------------- */

/* The numbers of a column that the present chunk has left, as candidate i. */
static const char *left_of(const rows *r, int k, int i) {
    const chunk *c = r->current;
    const text_input *t = r->source.text;
    const char *numbers = t ? text_rows_numbers(&c->rows, &t->layout, k, i) : c->elements;
    return numbers ? numbers + (size_t)r->used * bf_dtype_size(rows_candidate(r, i)) : NULL;
}

static bf_strings strings_of(const text_strings *s, int64_t first, int64_t n) {
    if (!s->offsets) return (bf_strings){.size = sizeof(bf_strings)};
    return (bf_strings){sizeof(bf_strings), n, BF_I64, s->offsets + first, s->bytes};
}

void gather_lone(rows *r, int64_t n, rows_chunk *out) {
    if (r->source.text && r->current->rows.stands) out->stands = r->current->rows.stands + r->used;
    for (int k = 0; k < r->held; k++) {
        r->chunk[k] = (rows_column){.can = r->can[k]};
        for (int i = 0; i < rows_candidates(r); i++) r->chunk[k].as[i] = left_of(r, k, i);
        if (!r->source.text) continue;
        const text_column *c = &r->current->rows.columns[k];
        r->chunk[k].strings = strings_of(&c->strings, r->used, n);
        r->chunk[k].valid = c->valid;
        r->chunk[k].first = r->used;
    }
    r->used += n;
    r->at += n;
    out->n = n;
}

/* ---- several chunks -------------------------------------------------------------------------- */

/* realloc of one of the arrays of a gathered column. */
static bool reserve_array(void *array, size_t bytes) {
    void *old, *more;
    memcpy(&old, array, sizeof old);
    more = realloc(old, bytes);
    if (more) memcpy(array, &more, sizeof more);
    return more != NULL;
}

static int form_of(const rows *r, int i) {
    const text_input *t = r->source.text;
    if (!t) return INTEGERS;
    if (text_candidate_form(&t->layout, i) == TEXT_FLOATS) return FLOATS;
    return text_candidate(&t->layout, i) == BF_I128 ? WIDE : INTEGERS;
}

/* The candidates, as bits, whose numbers have a form. */
static unsigned of_form(const rows *r, int form) {
    unsigned candidates = 0;
    for (int i = 0; i < rows_candidates(r); i++)
        candidates |= (unsigned)(form_of(r, i) == form) << i;
    return candidates;
}

/* The first of these candidates that column k is, a settled one only if it is its dtype; -1: none.
 */
static inline int candidate_of_column(const rows *r, int k, unsigned candidates) {
    const unsigned left = r->units[k].wide ? r->can[k] : r->can[k] & ~(unsigned)CAN_I128;
    const unsigned can = r->options.settled ? left & -left : left;
    return can & candidates ? __builtin_ctz(can & candidates) : -1;
}

/* Makes room for n rows of every column in one form. */
static bool reserve_numbers(rows *r, int form, size_t n) {
    const unsigned candidates = of_form(r, form);
    bool good = true;
    for (int k = 0; k < r->held && good; k++) {
        const int i = candidate_of_column(r, k, candidates);
        const size_t bytes = i < 0 ? 0 : n * bf_dtype_size(rows_candidate(r, i));
        if (bytes > 0) good = reserve_array(&r->gathered[k].numbers[form], bytes);
    }
    return good;
}

/* Makes room for n rows of every column; those gathered stay. */
static bool reserve_gathered(rows *r, int64_t n) {
    if (n <= r->room) return true;
    const size_t room = (size_t)(n > 2 * r->room ? n : 2 * r->room);
    bool good = true;
    for (int form = 0; form < FORMS && good; form++) good = reserve_numbers(r, form, room);
    for (int k = 0; k < r->held && good; k++) {
        struct gathered *g = &r->gathered[k];
        const text_column *c = r->source.text ? &r->current->rows.columns[k] : NULL;
        if (c && c->strings.offsets)
            good = reserve_array(&g->strings.offsets, (room + 1) * sizeof(int64_t));
        if (good && c && c->valid) good = reserve_array(&g->valid, room / 8 + 1);
    }
    if (good) r->room = (int64_t)room;
    return good;
}

/* Copies the strings and bits of n rows of the present chunk behind those gathered. */
static bool gather_others(rows *r, int k, int64_t gathered, int64_t n) {
    const text_column *c = &r->current->rows.columns[k];
    struct gathered *g = &r->gathered[k];
    for (int64_t i = 0; c->valid && i < n; i++) {
        if ((gathered + i) % 8 == 0) g->valid[(gathered + i) / 8] = 0xff;
        if (!text_has_bit(c->valid, r->used + i)) text_clear_bit(g->valid, gathered + i);
    }
    return !c->strings.offsets ||
           text_strings_append(&g->strings, gathered, &c->strings, r->used, n);
}

/* Copies n rows' numbers of one form behind those gathered. */
static void gather_numbers(rows *r, int form, int64_t gathered, int64_t n) {
    const unsigned candidates = of_form(r, form);
    for (int k = 0; k < r->held && candidates; k++) {
        const int i = candidate_of_column(r, k, candidates);
        if (i < 0) continue;
        const size_t bytes = bf_dtype_size(rows_candidate(r, i));
        memcpy(r->gathered[k].numbers[form] + (size_t)gathered * bytes, left_of(r, k, i),
               (size_t)n * bytes);
    }
}

bool gather_more(rows *r, int64_t gathered, int64_t n) {
    if (!reserve_gathered(r, gathered + n)) return false;
    for (int form = 0; form < FORMS; form++) gather_numbers(r, form, gathered, n);
    for (int k = 0; k < r->held && r->source.text; k++)
        if (!gather_others(r, k, gathered, n)) return false;
    r->used += n;
    r->at += n;
    return true;
}

void gather_out(rows *r, int64_t n, rows_chunk *out) {
    for (int k = 0; k < r->held; k++) {
        const struct gathered *g = &r->gathered[k];
        r->chunk[k] = (rows_column){.can = r->can[k], .valid = g->valid};
        for (int i = 0; i < rows_candidates(r); i++) r->chunk[k].as[i] = g->numbers[form_of(r, i)];
        r->chunk[k].strings = strings_of(&g->strings, 0, n);
    }
    out->n = n;
}

void gather_drop(rows *r) {
    for (int k = 0; r->gathered && k < r->held; k++) {
        struct gathered *g = &r->gathered[k];
        for (int form = 0; form < FORMS; form++) free(g->numbers[form]);
        free(g->strings.offsets);
        free(g->strings.bytes);
        free(g->valid);
        *g = (struct gathered){.valid = NULL};
    }
    r->room = 0;
}

/* ---- an array -------------------------------------------------------------------------------- */

void *gather_room(rows *r, int64_t n) {
    char **const room = &r->gathered[0].numbers[0];
    if (n <= r->room) return *room;
    gather_drop(r);
    *room = large_alloc((size_t)n * source_element(&r->source));
    r->room = *room ? n : 0;
    return *room;
}
