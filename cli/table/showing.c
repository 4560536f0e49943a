#include "table/showing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 1 << 14,  /* rows of a part for each thread, */
    PART = 4 * PIECE, /* but not fewer than these */
    THREADS = 16,     /* that gather, at most */
    AHEAD = 16        /* rows that are fetched before they are needed */
};

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
    int threads;
    int64_t part; /* rows that are gathered at a time */
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
    char *more = realloc(g->bytes, (size_t)(2 * bytes) + TEXT_STRINGS_SLACK);
    if (!more) return false;
    g->bytes = more;
    g->room = 2 * bytes;
    return true;
}

/* Fetches a field into the cache, for its place may be random: where it begins, then itself. */
static void fetch(const gathered *g, const join_pairs *pairs, int64_t i, bool itself) {
    const int64_t row = pairs->of[g->first] ? pairs->of[g->first][i] : -1;
    const rows_column *c = g->from[g->first];
    if (!c || row < 0) return;
    const int64_t *offsets = c->strings.offsets;
    __builtin_prefetch(itself ? c->strings.bytes + offsets[row] : (const char *)&offsets[row]);
}

/* Gathers the fields of n pairs from number `at` on. False: there is no memory. */
static bool gather(gathered *g, const join_pairs *pairs, int64_t at, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t row = 0;
        if (i + 2 * AHEAD < n) fetch(g, pairs, at + i + 2 * AHEAD, false);
        if (i + AHEAD < n) fetch(g, pairs, at + i + AHEAD, true);
        const rows_column *c = find_field(g, pairs, at + i, &row);
        g->valid[i] = c && !is_null(c, row);
        g->offsets[i + 1] = g->offsets[i];
        if (!g->valid[i]) continue;
        const int64_t *offsets = c->strings.offsets;
        const int64_t length = offsets[row + 1] - offsets[row];
        if (!reserve(g, g->offsets[i] + length)) return false;
        const char *from = c->strings.bytes + offsets[row];
        char *to = g->bytes + g->offsets[i];
        memcpy(to, from, TEXT_STRINGS_SLACK); /* all of most fields */
        if (length > TEXT_STRINGS_SLACK) memcpy(to, from, (size_t)length);
        g->offsets[i + 1] += length;
    }
    g->strings = (bf_strings){sizeof g->strings, n, BF_I64, g->offsets, g->bytes};
    return true;
}

/* What one thread gathers of a part: every so many columns, from the first of them on. */
typedef struct gatherer {
    const showing *of;
    int64_t at, n;
    int first, step;
    bool good, started;
    pthread_t thread;
} gatherer;

static void *gather_columns(void *arg) {
    gatherer *g = arg;
    for (int k = g->first; k < g->of->count && g->good; k += g->step)
        g->good = gather(&g->of->columns[k], g->of->pairs, g->at, g->n);
    return NULL;
}

/* Gathers n pairs from number `at` on, on all threads; the first is the caller's. */
static bool gather_part(const showing *x, int64_t at, int64_t n) {
    gatherer all[THREADS];
    const int threads = n < PIECE ? 1 : x->threads;
    bool good = true;
    for (int i = 0; i < threads; i++) {
        all[i] = (gatherer){.of = x, .at = at, .n = n, .first = i, .step = threads, .good = true};
        all[i].started =
            i > 0 && pthread_create(&all[i].thread, NULL, gather_columns, &all[i]) == 0;
    }
    for (int i = 0; i < threads; i++) {
        if (all[i].started)
            pthread_join(all[i].thread, NULL);
        else
            gather_columns(&all[i]);
        good = good && all[i].good;
    }
    return good;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool open_column(gathered *g, const join_tables *t, const shown_column *shown,
                        int64_t part) {
    g->first = shown->first;
    for (int s = 0; s < SIDES; s++)
        if (shown->fields[s] >= 0 && t->all[s].n > 0) g->from[s] = join_tables_shown(t, s, shown);
    g->offsets = calloc((size_t)part + 1, sizeof *g->offsets);
    g->valid = calloc((size_t)part, 1);
    return g->offsets && g->valid && reserve(g, 1);
}

static bool open_columns(showing *x, const join_tables *t, int threads) {
    const join_choice *c = &t->choice;
    const int most = c->count < THREADS ? c->count : THREADS;
    x->threads = threads < most ? threads : most;
    x->part = threads * PIECE > PART ? (int64_t)threads * PIECE : PART;
    x->columns = calloc((size_t)c->count + 1, sizeof *x->columns);
    x->shown = calloc((size_t)c->count + 1, sizeof *x->shown);
    if (!x->columns || !x->shown) return false;
    bool good = true;
    for (; x->count < c->count && good; x->count++) {
        gathered *g = &x->columns[x->count];
        good = open_column(g, t, &c->shown[x->count], x->part);
        x->shown[x->count] = (sheet_column){
            .name = c->shown[x->count].name, .strings = &g->strings, .valid = g->valid};
    }
    return good;
}

/* Writes the part from pair `at` on; the first begins the sheet. */
static int show_part(const showing *x, int64_t at, sheet_writer *w, FILE *f,
                     const sheet_subject *subject, const options *o) {
    const int64_t left = x->pairs->count - at, n = left < x->part ? left : x->part;
    if (!gather_part(x, at, n)) return fail_status(BF_E_MEMORY, NULL, subject->file);
    const sheet part = {.columns = x->shown, .count = x->count, .rows = n};
    int code = at == 0 ? sheet_begin(w, f, sheet_form_of(o), &part, subject, o) : EXIT_DONE;
    return code == EXIT_DONE ? sheet_rows(w, &part) : code;
}

int join_show(FILE *f, const join_tables *tables, const join_pairs *pairs,
              const sheet_subject *subject, const options *o) {
    showing x = {.pairs = pairs};
    sheet_writer w = {.stream = NULL};
    int code = open_columns(&x, tables, o->threads) ? EXIT_DONE
                                                    : fail_status(BF_E_MEMORY, NULL, subject->file);
    for (int64_t at = 0; code == EXIT_DONE && (at == 0 || at < pairs->count) && !ferror(f);
         at += x.part)
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
