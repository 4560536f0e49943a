#include "table/showing.h"

#include <stdlib.h>
#include <string.h>

enum { PART = 1 << 16 }; /* rows that are gathered at a time */

/* A column of the part that is shown. */
typedef struct gathered {
    const rows_column *from[SIDES]; /* NULL: nothing of that side */
    int first;                      /* the side that is shown if there are both */
    bf_strings strings;
    int64_t *offsets;
    char *bytes;
    int64_t room;
    uint8_t *valid;
} gathered;

typedef struct showing {
    const join_pairs *pairs;
    gathered *columns;
    sheet_column *shown;
    int count;
} showing;

/* ---- gathering ------------------------------------------------------------------------------- */

/* The column and its row that pair i shows; NULL: none. */
static const rows_column *find_field(const gathered *g, const join_pairs *pairs, int64_t i,
                                     int64_t *row) {
    for (int k = 0; k < SIDES; k++) {
        const int s = k == 0 ? g->first : !g->first;
        if (!g->from[s] || pairs->of[s][i] < 0) continue;
        *row = pairs->of[s][i];
        return g->from[s];
    }
    return NULL;
}

static bool is_null(const rows_column *c, int64_t row) {
    return c->valid && !text_has_bit(c->valid, c->first + row);
}

static bool reserve(gathered *g, int64_t bytes) {
    if (bytes <= g->room) return true;
    char *more = realloc(g->bytes, (size_t)(2 * bytes));
    if (!more) return false;
    g->bytes = more;
    g->room = 2 * bytes;
    return true;
}

/* Gathers the fields of n pairs from number `at` on. False: there is no memory. */
static bool gather(gathered *g, const join_pairs *pairs, int64_t at, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t row = 0;
        const rows_column *c = find_field(g, pairs, at + i, &row);
        g->valid[i] = c && !is_null(c, row);
        g->offsets[i + 1] = g->offsets[i];
        if (!g->valid[i]) continue;
        const int64_t *offsets = c->strings.offsets;
        const int64_t length = offsets[row + 1] - offsets[row];
        if (!reserve(g, g->offsets[i] + length)) return false;
        memcpy(g->bytes + g->offsets[i], c->strings.bytes + offsets[row], (size_t)length);
        g->offsets[i + 1] += length;
    }
    g->strings = (bf_strings){sizeof g->strings, n, BF_I64, g->offsets, g->bytes};
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool open_column(gathered *g, const join_tables *t, const shown_column *shown) {
    g->first = shown->first;
    for (int s = 0; s < SIDES; s++)
        if (shown->fields[s] >= 0 && t->all[s].n > 0) g->from[s] = join_tables_shown(t, s, shown);
    g->offsets = calloc(PART + 1, sizeof *g->offsets);
    g->valid = calloc(PART, 1);
    return g->offsets && g->valid && reserve(g, 1);
}

static bool open_columns(showing *x, const join_tables *t) {
    const join_choice *c = &t->choice;
    x->columns = calloc((size_t)c->count + 1, sizeof *x->columns);
    x->shown = calloc((size_t)c->count + 1, sizeof *x->shown);
    if (!x->columns || !x->shown) return false;
    bool good = true;
    for (; x->count < c->count && good; x->count++) {
        gathered *g = &x->columns[x->count];
        good = open_column(g, t, &c->shown[x->count]);
        x->shown[x->count] = (sheet_column){
            .name = c->shown[x->count].name, .strings = &g->strings, .valid = g->valid};
    }
    return good;
}

/* Writes the part from pair `at` on; the first begins the sheet. */
static int show_part(const showing *x, int64_t at, sheet_writer *w, FILE *f,
                     const sheet_subject *subject, const options *o) {
    const int64_t left = x->pairs->count - at, n = left < PART ? left : PART;
    bool good = true;
    for (int k = 0; k < x->count && good; k++) good = gather(&x->columns[k], x->pairs, at, n);
    if (!good) return fail_status(BF_E_MEMORY, NULL, subject->file);
    const sheet part = {.columns = x->shown, .count = x->count, .rows = n};
    int code = at == 0 ? sheet_begin(w, f, sheet_form_of(o), &part, subject, o) : EXIT_DONE;
    return code == EXIT_DONE ? sheet_rows(w, &part) : code;
}

int join_show(FILE *f, const join_tables *tables, const join_pairs *pairs,
              const sheet_subject *subject, const options *o) {
    showing x = {.pairs = pairs};
    sheet_writer w = {.stream = NULL};
    int code = open_columns(&x, tables) ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, subject->file);
    for (int64_t at = 0; code == EXIT_DONE && (at == 0 || at < pairs->count) && !ferror(f);
         at += PART)
        code = show_part(&x, at, &w, f, subject, o);
    sheet_end(&w);
    for (int k = 0; k < x.count; k++) {
        free(x.columns[k].offsets);
        free(x.columns[k].bytes);
        free(x.columns[k].valid);
    }
    free(x.columns);
    free(x.shown);
    return code;
}
