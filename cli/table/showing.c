#include "table/showing.h"

#include "work/threads.h"

#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 1 << 14,  /* a part has so many rows for each thread */
    PART = 4 * PIECE, /* it has no fewer rows than these */
    FIELDS = 1 << 22, /* the most of a part; it has a row in any case */
    BYTES = 1 << 24,  /* the most of a column's part, after which it ends */
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
    int64_t part; /* rows that are gathered at a time, at most */
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

/* Gathers the fields of n pairs from number `at` on, or of fewer if they have many bytes. False:
 * there is no memory. */
static bool gather(gathered *g, const join_pairs *pairs, int64_t at, int64_t n) {
    int64_t i = 0;
    for (; i < n && g->offsets[i] < BYTES; i++) {
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
    g->strings = (bf_strings){sizeof g->strings, i, BF_I64, g->offsets, g->bytes};
    return true;
}

/* Pairs that are gathered: n from number `at` on. */
typedef struct gathering {
    const showing *of;
    int64_t at, n;
} gathering;

static bool gather_one(void *arg, int column) {
    const gathering *g = arg;
    return gather(&g->of->columns[column], g->of->pairs, g->at, g->n);
}

/* Gathers n pairs from number `at` on, on all threads. Of each column there may be fewer. */
static bool gather_part(const showing *x, int64_t at, int64_t n) {
    gathering all = {x, at, n};
    return threads_share(n < PIECE ? 1 : x->threads, x->count, gather_one, &all);
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

/* How many rows are gathered at a time: of many columns fewer, and never more than there are. */
static int64_t rows_of_part(int64_t pairs, int columns, int threads) {
    const int64_t piece = PIECE, wanted = threads * piece > PART ? threads * piece : PART;
    const int64_t fields = FIELDS / (columns + 1) + 1;
    const int64_t most = wanted < fields ? wanted : fields;
    return pairs < most ? pairs + 1 : most;
}

static bool open_columns(showing *x, const join_tables *t, int threads) {
    const join_choice *c = &t->choice;
    x->threads = threads;
    x->part = rows_of_part(x->pairs->count, c->count, threads);
    x->columns = calloc((size_t)c->count + 1, sizeof *x->columns);
    x->shown = calloc((size_t)c->count + 1, sizeof *x->shown);
    if (!x->columns || !x->shown) return false;
    bool good = true;
    for (; x->count < c->count && good; x->count++) {
        gathered *g = &x->columns[x->count];
        good = open_column(g, t, &c->shown[x->count], x->part);
        x->shown[x->count] = (sheet_column){.name = c->shown[x->count].name,
                                            .strings = &g->strings,
                                            .typed = join_tables_typed(t),
                                            .valid = g->valid};
    }
    return good;
}

/* Writes the part from pair *at on and moves *at behind it; the first begins the sheet. */
static int show_part(const showing *x, int64_t *at, sheet_writer *w, FILE *f, const char *file,
                     const options *o) {
    const int64_t left = x->pairs->count - *at, n = left < x->part ? left : x->part;
    if (!gather_part(x, *at, n)) return fail_memory(file);
    sheet part = {.columns = x->shown, .count = x->count, .rows = n};
    for (int k = 0; k < x->count; k++)
        if (x->columns[k].strings.count < part.rows) part.rows = x->columns[k].strings.count;
    int code = *at == 0 ? sheet_begin(w, f, sheet_form_of(o), &part, file, o) : EXIT_DONE;
    *at += part.rows;
    return code == EXIT_DONE ? sheet_rows(w, &part) : code;
}

int join_show(FILE *f, const join_tables *tables, const join_pairs *pairs, const char *file,
              const options *o) {
    showing x = {.pairs = pairs};
    sheet_writer w = {.stream = NULL};
    int code = open_columns(&x, tables, o->threads) ? EXIT_DONE : fail_memory(file);
    int64_t at = 0;
    if (code == EXIT_DONE) code = show_part(&x, &at, &w, f, file, o);
    while (code == EXIT_DONE && at < pairs->count && !ferror(f))
        code = show_part(&x, &at, &w, f, file, o);
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
