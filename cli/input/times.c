#include "input/times.h"

#include "text/store.h"

#include <stdlib.h>
#include <string.h>

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
static bool read_strings(const text_input *t, text_layout *l, int64_t most, text_rows *rows,
                         unsigned char *kinds, unsigned char *forms) {
    text_error error;
    memset(kinds, TEXT_STRINGS_TOO, (size_t)l->columns);
    memset(forms, TEXT_STRINGS, (size_t)l->columns);
    l->kinds = kinds;
    l->counted = 0;
    if (!text_rows_open(rows, l, forms) || !text_rows_reserve(rows, l, most)) return false;
    rows->quoted = text_is_quoted(t, &t->first);
    text_rows_read(rows, l, t->first.at, t->first.end, most, &error);
    return !rows->no_memory;
}

bool times_find(const text_input *t, bool wanted, int64_t most, text_unit units[]) {
    if (t->layout.dtype != BF_NONE) return true;
    const int n = t->layout.columns;
    text_layout all = t->layout;
    text_rows rows = {.n = 0};
    unsigned char *const kinds = malloc(2 * (size_t)n);
    const bool good = kinds && read_strings(t, &all, most, &rows, kinds, kinds + n);
    for (int k = 0; good && k < n; k++)
        if (may_be(t->layout.kinds[k]) && (wanted || !(t->layout.uses[k] & TEXT_WANTED)))
            units[k].time = first_of(&rows.columns[k], rows.n, t->layout.delimiter,
                                     t->layout.kinds[k] & TEXT_NUMBERS);
    text_rows_free(&rows);
    free(kinds);
    return good;
}
