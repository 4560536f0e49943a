/* dot: two files, one value. */
#include "command.h"
#include "reduce/task.h"
#include "runtime/progress.h"

#include <stdlib.h>
#include <string.h>

static const usage dot_usage = {
    "[OPTIONS] A B",
    "The dot product of two files of one shape and dtype: the exact sum of the exact products,\n"
    "rounded once. One of them may be '-', standard input. Text is read in the dtype of the\n"
    "other file.",
    TAKES_INPUT | TAKES_NAN | TAKES_ROUNDING | TAKES_RUNNING | TAKES_MEMORY | TAKES_SAVE |
        TAKES_OUTPUT,
    "bitfold dot x.npy y.npy"};

/* The length of a text or a stream shows at its end. */
static bool same_shape(const source *a, const source *b) {
    const bool shaped = !a->raw && !b->raw && !a->text && !b->text;
    if (!shaped && (a->text || b->text) && (a->layout.ndim > 1 || b->layout.ndim > 1)) return false;
    if (!shaped) return a->count < 0 || b->count < 0 || a->count == b->count;
    bool same = a->layout.ndim == b->layout.ndim;
    for (int d = 0; same && d < a->layout.ndim; d++)
        same = a->layout.shape[d] == b->layout.shape[d];
    return same;
}

static int check_shapes(const source *a, const source *b) {
    return same_shape(a, b) ? EXIT_DONE
                            : fail(EXIT_DATA, b->name, "%s: it is not that of %s",
                                   bf_status_string(BF_E_SHAPE), a->name);
}

/* Text has the dtype of an array beside it; two texts, the most exact that is both's. */
static int match_dtypes(rows *a, rows *b) {
    const source *sa = &a->source, *sb = &b->source;
    if (!sa->text) rows_demand(b, rows_dtype(a, 0));
    if (!sb->text) rows_demand(a, rows_dtype(b, 0));
    for (int i = 0; i < rows_candidates(a) && rows_dtype(a, 0) != rows_dtype(b, 0); i++) {
        const bf_dtype dtype = rows_candidate(a, i);
        if (!rows_can_be(a, dtype) || !rows_can_be(b, dtype)) continue;
        rows_take_as(a, dtype);
        rows_take_as(b, dtype);
    }
    if (!rows_may_resettle(a) && !rows_may_resettle(b)) {
        rows_forget(a);
        rows_forget(b);
    }
    if (rows_dtype(a, 0) == rows_dtype(b, 0)) return EXIT_DONE;
    return fail(EXIT_DATA, sb->name, "dtypes do not match: this is %s, %s is %s",
                bf_dtype_name(rows_dtype(b, 0)), sa->name, bf_dtype_name(rows_dtype(a, 0)));
}

/* If a text turns out to have another dtype than it seemed to have, both are read again. */
static int absorb_pair(task *t, rows *a, rows *b, bf_state **state) {
    int code = match_dtypes(a, b);
    while (code == EXIT_DONE && (code = task_reduce(t, BF_DOT, a, b, 0, state)) == ROWS_RESETTLED) {
        bf_state_destroy(*state);
        *state = NULL;
        rows_again(a);
        rows_again(b);
        code = match_dtypes(a, b);
    }
    return code;
}

/* Elements pair by their index, so two orders must become one. */
static int prepare_pair(rows *a, rows *b) {
    a->options.ordered = b->options.ordered = a->source.layout.fortran != b->source.layout.fortran;
    int code = check_shapes(&a->source, &b->source);
    if (code == EXIT_DONE) code = rows_prepare(a);
    return code == EXIT_DONE ? rows_prepare(b) : code;
}

typedef struct pair {
    rows a, b;
    spool_limit limit;
} pair;

static int reduce_rows(task *t, pair *p, bf_state **state) {
    const options *o = t->options;
    const rows_options how = {.threads = o->threads,
                              .settled = true,
                              .keep = &p->limit,
                              .memory = o->memory.input / 2,
                              .slab = options_slab(o)};
    spool_limit_set(&p->limit, o->memory.pipes);
    int code = rows_open_column(&p->a, o->files[0], &o->input, &how);
    if (code != EXIT_DONE) return code;
    code = rows_open_column(&p->b, o->files[1], &o->input, &how);
    if (code == EXIT_DONE) {
        code = prepare_pair(&p->a, &p->b);
        if (code == EXIT_DONE) code = absorb_pair(t, &p->a, &p->b, state);
        rows_close(&p->b);
    }
    rows_close(&p->a);
    return code;
}

static int reduce_pair(task *t, bf_state **state) {
    pair *p = calloc(1, sizeof *p); /* too large for a small stack */
    if (!p) return fail_status(BF_E_MEMORY, NULL, NULL);
    const int code = reduce_rows(t, p, state);
    free(p);
    return code;
}

static int check_files(const options *o) {
    if (o->file_count != 2)
        return fail(EXIT_USAGE, NULL, "two files are needed, not %d", o->file_count);
    if (strcmp(o->files[0], "-") == 0 && strcmp(o->files[1], "-") == 0)
        return fail(EXIT_USAGE, NULL, "standard input cannot be both files");
    return EXIT_DONE;
}

int cmd_dot(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &dot_usage, &code)) return code;
    code = check_files(&o);
    if (code != EXIT_DONE) return code;
    task t;
    bf_state *state = NULL;
    const double began = progress_clock();
    code = task_open(&t, &o, false);
    if (code == EXIT_DONE) {
        code = reduce_pair(&t, &state);
        const result r = {o.files[0], .other = o.files[1], .seconds = progress_clock() - began};
        if (code == EXIT_DONE) code = task_emit(&t, state, r, 0);
        code = task_close(&t, code, state);
    }
    bf_state_destroy(state);
    task_free(&t);
    return code;
}
