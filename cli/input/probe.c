#include "input/probe.h"

#include "input/kinds.h"
#include "text/store.h"

#include <stdlib.h>
#include <string.h>

/* Rows that are looked at to guess the dtypes of columns. */
enum { PROBED = 1000, PROBED_FIELDS = 256 * 1024 };

/* ---- times ----------------------------------------------------------------------------------- */

/* What a field is, but for blanks around it, which strings keep. */
static unsigned char kind_of(const char *at, const char *end, char delimiter) {
    while (at < end && text_is_blank(*at, delimiter)) at++;
    while (end > at && text_is_blank(end[-1], delimiter)) end--;
    return (unsigned char)text_time_kind(at, end);
}

/* What the first field of a column of strings is that is not NULL. */
static unsigned char first_of(const text_column *c, int64_t n, char delimiter, bool number) {
    const text_strings *const s = &c->strings;
    for (int64_t i = 0; i < n; i++) {
        const char *const at = s->bytes + s->offsets[i], *const end = s->bytes + s->offsets[i + 1];
        const bool none = !text_has_bit(c->valid, i) || (number && at == end);
        if (!none) return kind_of(at, end, delimiter);
    }
    return BF_TIME_ANY;
}

/* Whether the fields of a column may be times: they are not asked for as numbers, or as text. */
static bool may_be(unsigned char kind) {
    return kind & (TEXT_NUMBERS | TEXT_KEYS) && !(kind & TEXT_ASKED);
}

/* Reads all columns as strings. A row that is refused ends it. */
static bool read_strings(const text_input *t, text_layout *l, int64_t most, text_rows *some,
                         unsigned char *kinds, unsigned char *forms) {
    text_error error;
    memset(kinds, TEXT_STRINGS_TOO, (size_t)l->columns);
    memset(forms, TEXT_STRINGS, (size_t)l->columns);
    l->kinds = kinds;
    l->counted = 0;
    if (!text_rows_open(some, l, forms) || !text_rows_reserve(some, l, most)) return false;
    some->quoted = text_is_quoted(t, &t->first);
    text_rows_read(some, l, t->first.at, t->first.end, most, &error);
    return !some->no_memory;
}

/* Notes for each column that may hold numbers what its first field is that is not NULL, among the
 * first `most` rows: a kind of time, or none. wanted: the columns that the command wants count, and
 * not those of its condition alone. False: there is no memory. */
static bool find_times(const text_input *t, bool wanted, int64_t most, text_unit units[]) {
    if (t->layout.dtype != BF_NONE) return true;
    const int n = t->layout.columns;
    text_layout all = t->layout;
    text_rows some = {.n = 0};
    unsigned char *const kinds = malloc(2 * (size_t)n);
    const bool good = kinds && read_strings(t, &all, most, &some, kinds, kinds + n);
    for (int k = 0; good && k < n; k++)
        if (may_be(t->layout.kinds[k]) && (wanted || !(t->layout.uses[k] & TEXT_WANTED)))
            units[k].time = first_of(&some.columns[k], some.n, t->layout.delimiter,
                                     t->layout.kinds[k] & TEXT_NUMBERS);
    text_rows_free(&some);
    free(kinds);
    return good;
}

/* ---- dtypes and scales ----------------------------------------------------------------------- */

/* Reads some rows with the scales that the columns have so far. Returns whether one has a greater.
 */
static bool read_probe(rows *r, text_rows *some, const text_piece *first, int64_t most) {
    const text_layout *l = &r->source.text->layout;
    text_error error;
    bool deeper = false;
    for (int k = 0; k < r->held; k++) {
        some->columns[k].scale = r->units[k].scale;
        some->columns[k].time = text_unit_time(&r->units[k]);
    }
    text_rows_read(some, l, first->at, first->end, most, &error);
    for (int k = 0; k < r->held; k++) {
        const text_column *c = &some->columns[k];
        if (c->seen > c->time) r->units[k].time = (unsigned char)c->seen;
        if (c->deepest <= c->scale) continue;
        r->units[k].scale = (unsigned char)c->deepest;
        deeper = true;
    }
    return deeper;
}

/* Whether a column may be one of times: those of a condition always may. */
static bool has_times(const rows *r) {
    const text_layout *l = &r->source.text->layout;
    bool has = r->options.times;
    for (int k = 0; k < r->held; k++) has = has || !(l->uses[k] & TEXT_WANTED);
    return has;
}

bool rows_probe(rows *r) {
    const source *s = &r->source;
    text_input *t = s->text;
    text_rows some;
    int64_t most = text_count_lines(t->first.at, t->first.end);
    if (most > PROBED) most = PROBED;
    if (most > PROBED_FIELDS / r->held + 1) most = PROBED_FIELDS / r->held + 1;
    if (s->count >= 0 && s->count < most) most = s->count;
    if (has_times(r) && !find_times(t, r->options.times, most, r->units)) return false;
    for (int k = 0; k < r->held; k++) {
        if (text_unit_time(&r->units[k])) r->can[k] &= CAN_I64 | CAN_I128 | TEXT_CAN_STRINGS;
        r->forms[k] = r->can[k] == TEXT_CAN_STRINGS ? TEXT_STRINGS : TEXT_INTEGERS | TEXT_FLOATS;
    }
    bool good = text_rows_open(&some, &t->layout, r->forms);
    if (good && s->first == 0 && t->layout.dtype == BF_NONE && most > 0) {
        good = text_rows_reserve(&some, &t->layout, most);
        some.quoted = text_is_quoted(t, &t->first);
        if (good && read_probe(r, &some, &t->first, most)) read_probe(r, &some, &t->first, most);
        for (int k = 0; good && k < r->held; k++)
            if (r->can[k] & some.columns[k].can) r->can[k] &= some.columns[k].can;
    }
    text_rows_free(&some);
    return good;
}
