#include "table/keyed.h"

#include "runtime/context.h"
#include "runtime/output.h"
#include "runtime/progress.h"
#include "sheet/sheet.h"
#include "table/loading.h"
#include "table/pairs.h"

#include <stdlib.h>
#include <string.h>

typedef struct keyed {
    options options;
    bf_context *context;
    output output;
    join_tables tables;
    join_numbers numbers;
    join_pairs pairs;
    int64_t held; /* bytes for numbers and pairs; 0: no limit */
} keyed;

/* ---- joining --------------------------------------------------------------------------------- */

/* The library and what is held here share its memory. */
static void share_memory(keyed *j) {
    memory_plan *m = &j->options.memory;
    if (m->limit == 0) return;
    m->library /= 2;
    j->held = m->library;
}

/* Numbers of both sides, and lists of the rows of B, have 8 bytes for each row. */
static int reserve_held(keyed *j, const int64_t counts[SIDES]) {
    if (j->held == 0) return EXIT_DONE;
    j->held -= (int64_t)sizeof(int64_t) * (counts[SIDE_A] + 3 * counts[SIDE_B]);
    return j->held > 0 ? EXIT_DONE
                       : fail(EXIT_IO, NULL, "the numbers of rows take more than --memory allows");
}

static int join_rows(keyed *j) {
    join_tables *t = &j->tables;
    const int64_t n[SIDES] = {t->all[SIDE_A].n, t->all[SIDE_B].n};
    const int keys = t->choice.keys;
    const bf_column *columns[SIDES][BF_KEY_COLUMNS_MAX];
    int code = reserve_held(j, n);
    if (code != EXIT_DONE) return code;
    rows_view *const views = calloc((size_t)(SIDES * keys), sizeof *views);
    if (!views) return fail_status(BF_E_MEMORY, NULL, NULL);
    for (int s = 0; s < SIDES && n[SIDE_A] > 0 && n[SIDE_B] > 0; s++)
        for (int k = 0; k < keys; k++) {
            rows_view *const v = &views[s * keys + k];
            join_tables_key(t, s, k, v);
            columns[s][k] = &v->column;
        }
    code = join_numbers_make(&j->numbers, j->context, j->options.files[0], keys, columns, n);
    free(views);
    return code == EXIT_DONE ? join_pairs_make(&j->pairs, &j->numbers, j->options.how, j->held)
                             : code;
}

/* ---- showing --------------------------------------------------------------------------------- */

/* A column of the output. */
typedef struct gathered_column {
    bf_strings strings;
    int64_t *offsets;
    char *bytes;
    uint8_t *valid;
} gathered_column;

/* A field of a table. */
typedef struct field {
    const rows_column *column; /* NULL: none */
    int64_t row;
} field;

/* The field that row i of the output shows. */
static field field_of(const keyed *j, const rows_column *const columns[SIDES], int first,
                      int64_t i) {
    for (int k = 0; k < SIDES; k++) {
        const int s = k == 0 ? first : !first;
        if (columns[s] && j->pairs.of[s][i] >= 0) return (field){columns[s], j->pairs.of[s][i]};
    }
    return (field){.column = NULL};
}

static bool is_null(field f) {
    if (!f.column) return true;
    const int64_t bit = f.column->first + f.row;
    return f.column->valid && !text_has_bit(f.column->valid, bit);
}

static int64_t length_of(field f) {
    const int64_t *offsets = f.column->strings.offsets;
    return offsets[f.row + 1] - offsets[f.row];
}

static void find_columns(const keyed *j, const shown_column *shown,
                         const rows_column *columns[SIDES]) {
    for (int s = 0; s < SIDES; s++) {
        const bool shows = shown->fields[s] >= 0 && j->tables.all[s].n > 0;
        columns[s] = shows ? join_tables_shown(&j->tables, s, shown) : NULL;
    }
}

static bool gather_column(const keyed *j, const shown_column *shown, gathered_column *g) {
    const int64_t n = j->pairs.count;
    const rows_column *columns[SIDES];
    find_columns(j, shown, columns);
    *g = (gathered_column){.offsets = calloc((size_t)n + 1, sizeof *g->offsets)};
    g->valid = calloc((size_t)n + 1, 1);
    if (!g->offsets || !g->valid) return false;
    for (int64_t i = 0; i < n; i++) {
        const field f = field_of(j, columns, shown->first, i);
        g->valid[i] = !is_null(f);
        g->offsets[i + 1] = g->offsets[i] + (g->valid[i] ? length_of(f) : 0);
    }
    g->bytes = malloc((size_t)g->offsets[n] + 1);
    for (int64_t i = 0; g->bytes && i < n; i++) {
        const field f = field_of(j, columns, shown->first, i);
        if (!g->valid[i]) continue;
        const int64_t *offsets = f.column->strings.offsets;
        memcpy(g->bytes + g->offsets[i], f.column->strings.bytes + offsets[f.row],
               (size_t)length_of(f));
    }
    g->strings = (bf_strings){sizeof g->strings, n, BF_I64, g->offsets, g->bytes};
    return g->bytes != NULL;
}

static int show_rows(keyed *j, double seconds) {
    const join_choice *c = &j->tables.choice;
    gathered_column *const gathered = calloc((size_t)c->count + 1, sizeof *gathered);
    sheet_column *const columns = calloc((size_t)c->count + 1, sizeof *columns);
    bool good = gathered && columns;
    for (int k = 0; k < c->count && good; k++) {
        good = gather_column(j, &c->shown[k], &gathered[k]);
        columns[k] = (sheet_column){
            .name = c->shown[k].name, .strings = &gathered[k].strings, .valid = gathered[k].valid};
    }
    const sheet shown = {.columns = columns, .count = c->count, .rows = j->pairs.count};
    const sheet_subject subject = {"join", j->options.files[0], bf_context_device(j->context),
                                   seconds};
    const int code = good ? sheet_put(j->output.stream, &shown, &subject, &j->options)
                          : fail_status(BF_E_MEMORY, NULL, NULL);
    for (int k = 0; gathered && k < c->count; k++) {
        free(gathered[k].offsets);
        free(gathered[k].bytes);
        free(gathered[k].valid);
    }
    free(gathered);
    free(columns);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check_line(const options *o) {
    const char *const wrong = o->input.text.columns           ? "--column"
                              : o->input.format == FORMAT_NPY ? "--format npy"
                              : o->input.format == FORMAT_RAW ? "--format raw"
                                                              : NULL;
    return wrong ? fail(EXIT_USAGE, NULL, "%s does not go with --on", wrong) : EXIT_DONE;
}

static int run_join(keyed *j) {
    const options *o = &j->options;
    const double began = progress_clock();
    int code = check_line(o);
    if (code == EXIT_DONE) code = context_open(&j->context, o);
    if (code == EXIT_DONE) code = output_open(&j->output, o, false);
    if (code == EXIT_DONE) code = join_tables_load(&j->tables, o, o->memory.results / SIDES);
    if (code == EXIT_DONE) code = join_rows(j);
    if (code == EXIT_DONE) code = show_rows(j, progress_clock() - began);
    return code == EXIT_DONE ? output_close(&j->output) : code;
}

int keyed_join(const options *o) {
    keyed *j = calloc(1, sizeof *j); /* too large for a small stack */
    if (!j) return fail_status(BF_E_MEMORY, NULL, NULL);
    j->options = *o;
    for (int s = 0; s < SIDES; s++) j->tables.sides[s].source.fd = -1;
    share_memory(j);
    const int code = run_join(j);
    if (code != EXIT_DONE) output_abandon(&j->output);
    join_tables_close(&j->tables);
    join_numbers_close(&j->numbers);
    join_pairs_close(&j->pairs);
    bf_context_destroy(j->context);
    free(j);
    return code;
}
