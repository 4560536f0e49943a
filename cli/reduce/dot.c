/* dot: two files, one value. */
#include "command.h"
#include "input/share.h"
#include "reduce/many.h"
#include "reduce/task.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"

#include <stdlib.h>
#include <string.h>

static const usage dot_usage = {
    "[OPTIONS] A B",
    "The dot product of two files of one shape and dtype: the exact sum of the exact products, "
    "rounded once. One of them may be '-', standard input. Text is read in the dtype of the other "
    "file.",
    TAKES_INPUT | TAKES_NAN | TAKES_ROUNDING | TAKES_RUNNING | TAKES_MEMORY | TAKES_SAVE |
        TAKES_WORK | TAKES_OUTPUT | TAKES_SHEET | TAKES_MANY,
    "column nan out-dtype axis json csv output save threads memory device help",
    "bitfold dot x.npy y.npy\nbitfold dot --hex x.npy y.npy",
    NULL};

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

/* Elements pair by their index, so two orders must become one. */
static int prepare_pair(rows *a, rows *b) {
    a->options.ordered = b->options.ordered = a->source.layout.fortran != b->source.layout.fortran;
    rows *const inputs[] = {a, b};
    int code = ranks_agree(check_shapes(&a->source, &b->source));
    if (code == EXIT_DONE) code = share_rows(inputs, 2, NULL);
    if (code != EXIT_DONE) return code;
    code = rows_prepare(a);
    return ranks_agree(code == EXIT_DONE ? rows_prepare(b) : code);
}

typedef struct pair {
    rows a, b;
    spool_limit limit;
} pair;

static int open_pair(const task *t, pair *p) {
    const options *o = t->options;
    const rows_options how = {.threads = o->threads,
                              .settled = true,
                              .digits = BF_SCALE_MOST_I128,
                              .keep = &p->limit,
                              .memory = o->memory.input / 2,
                              .slab = options_slab(o),
                              .nulls = true};
    spool_limit_set(&p->limit, o->memory.pipes);
    p->a.source.fd = p->b.source.fd = -1;
    const int code = rows_open_column(&p->a, o->files[0], &o->input, &how);
    return code == EXIT_DONE ? rows_open_column(&p->b, o->files[1], &o->input, &how) : code;
}

/* *nulls: pairs that were left out. */
static int reduce_rows(task *t, pair *p, bf_state **state, int64_t *nulls) {
    int code = ranks_agree(open_pair(t, p));
    if (code == EXIT_DONE) code = prepare_pair(&p->a, &p->b);
    if (code == EXIT_DONE) code = task_reduce(t, BF_DOT, &p->a, &p->b, 0, state);
    bf_state_info info = {.size = sizeof info};
    if (code == EXIT_DONE) bf_state_describe(*state, &info);
    if (code == EXIT_DONE) *nulls = ranks_sum(rows_seen(&p->a)) - info.count;
    rows_close(&p->b);
    rows_close(&p->a);
    return code;
}

static int reduce_pair(task *t, bf_state **state, int64_t *nulls) {
    pair *p = calloc(1, sizeof *p); /* too large for a small stack */
    if (!p) return fail_status(BF_E_MEMORY, NULL, NULL);
    const int code = reduce_rows(t, p, state, nulls);
    free(p);
    return code;
}

static int check_files(const options *o) {
    return o->file_count == 2
               ? EXIT_DONE
               : fail(EXIT_USAGE, NULL, "two files are needed, not %d", o->file_count);
}

int cmd_dot(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &dot_usage, &code)) return code;
    code = check_files(&o);
    if (code != EXIT_DONE) return code;
    if (many_asked(&o)) return many_run(&o, BF_DOT);
    task t;
    bf_state *state = NULL;
    const double began = progress_clock();
    code = task_open(&t, &o, false);
    if (code == EXIT_DONE) {
        int64_t nulls = 0;
        code = reduce_pair(&t, &state, &nulls);
        const result r = {o.files[0], .other = o.files[1], .seconds = progress_clock() - began,
                          .nulls = nulls};
        if (code == EXIT_DONE) code = ranks_agree(task_emit(&t, state, r, 0));
        code = task_close(&t, code, state);
    }
    bf_state_destroy(state);
    task_free(&t);
    return code;
}
