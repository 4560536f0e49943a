#include "table/keyed.h"

#include "options/context.h"
#include "sheet/output.h"
#include "table/blocks.h"
#include "table/showing.h"
#include "table/where.h"

#include <stdlib.h>
#include <string.h>

typedef struct keyed {
    options options;
    bf_context *context;
    output output;
    join_tables tables;
    join_numbers numbers;
    join_pairs pairs;
    join_computed where;
    rows_view views[SIDES]; /* show a column of the condition */
} keyed;

enum { KEPT = 1 << 16 /* pairs that the condition is asked of at a time */ };

/* ---- joining --------------------------------------------------------------------------------- */

static int join_rows(keyed *j) {
    join_tables *t = &j->tables;
    const int64_t n[SIDES] = {t->all[SIDE_A].n, t->all[SIDE_B].n};
    const int keys = t->choice.keys;
    join_columns columns = {.keys = keys};
    rows_view *const views = calloc((size_t)(SIDES * keys), sizeof *views);
    if (!views) return fail_memory(NULL);
    for (int s = 0; s < SIDES && n[SIDE_A] > 0 && n[SIDE_B] > 0; s++)
        for (int k = 0; k < keys; k++) {
            rows_view *const v = &views[s * keys + k];
            join_tables_key(t, s, k, v);
            columns.of[s][k] = &v->column;
            columns.scales[s][k] = join_tables_form(t, s, k).scale;
        }
    const int code = join_numbers_make(&j->numbers, j->context, j->options.files[0], &columns, n);
    free(views);
    return code == EXIT_DONE ? join_pairs_make(&j->pairs, &j->numbers, j->options.how) : code;
}

static const rows_view *look_at(void *arg, int side, int column) {
    keyed *j = arg;
    rows_look(&j->tables.sides[side], &j->tables.all[side], column, &j->views[side]);
    return &j->views[side];
}

/* Leaves out the pairs that do not meet the condition. */
static int filter_pairs(keyed *j) {
    join_pairs *p = &j->pairs;
    const computed_from from = {.look = look_at, .arg = j};
    int64_t kept = 0;
    int code = join_where_open(&j->where, &j->tables);
    for (int64_t at = 0, n; at < p->count && code == EXIT_DONE; at += KEPT) {
        const int64_t some = p->count - at < KEPT ? p->count - at : KEPT;
        int64_t *of[SIDES] = {p->of[SIDE_A] + at, p->of[SIDE_B] ? p->of[SIDE_B] + at : NULL};
        n = some;
        code = join_where_keep(&j->where, &from, of, &n);
        for (int s = 0; s < SIDES && code == EXIT_DONE; s++)
            if (of[s]) memmove(p->of[s] + kept, of[s], (size_t)n * sizeof *of[s]);
        kept += n;
    }
    p->count = kept;
    return code;
}

static int join_in_memory(keyed *j) {
    const options *o = &j->options;
    int code = join_tables_load(&j->tables);
    if (code == EXIT_DONE) code = join_rows(j);
    if (code == EXIT_DONE && o->where) code = filter_pairs(j);
    return code == EXIT_DONE ? join_show(j->output.stream, &j->tables, &j->pairs, o->files[0], o)
                             : code;
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
    int code = check_line(o);
    if (code == EXIT_DONE) code = context_open(&j->context, o);
    if (code == EXIT_DONE) code = output_open(&j->output, o, false);
    if (code == EXIT_DONE) code = join_tables_open(&j->tables, o, j->context);
    if (code == EXIT_DONE && o->memory.limit == 0) code = join_in_memory(j);
    if (code == EXIT_DONE && o->memory.limit > 0)
        code = join_in_blocks(j->output.stream, &j->tables, j->context);
    return code == EXIT_DONE ? output_close(&j->output) : code;
}

int keyed_join(const options *o) {
    keyed *j = calloc(1, sizeof *j); /* too large for a small stack */
    if (!j) return fail_memory(NULL);
    j->options = *o;
    for (int s = 0; s < SIDES; s++) j->tables.sides[s].source.fd = -1;
    const int code = run_join(j);
    if (code != EXIT_DONE) output_abandon(&j->output);
    join_tables_close(&j->tables);
    join_numbers_close(&j->numbers);
    join_pairs_close(&j->pairs);
    join_computed_close(&j->where);
    bf_context_destroy(j->context);
    free(j);
    return code;
}
