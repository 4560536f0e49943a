/* dot: two files, one value. */
#include "command.h"
#include "reduce/task.h"
#include "runtime/progress.h"

#include <string.h>

static const usage dot_usage = {
    "[OPTIONS] A B",
    "The dot product of two files of one shape and dtype: the exact sum of the exact products,\n"
    "rounded once. Either may be '-', standard input. Text is read in the dtype of the other.",
    TAKES_INPUT | TAKES_NAN | TAKES_ROUNDING | TAKES_RUNNING | TAKES_SAVE | TAKES_OUTPUT,
    "bitfold dot x.npy y.npy"};

static bool same_shape(const source *a, const source *b) {
    if (a->raw || b->raw) /* the length of a stream shows at its end */
        return a->count < 0 || b->count < 0 || a->count == b->count;
    bool same = a->layout.ndim == b->layout.ndim;
    for (int d = 0; same && d < a->layout.ndim; d++)
        same = a->layout.shape[d] == b->layout.shape[d];
    return same;
}

static int check_pair(const source *a, const source *b) {
    if (a->layout.dtype != b->layout.dtype)
        return fail(EXIT_DATA, b->name, "dtypes do not match: this is %s, %s is %s",
                    bf_dtype_name(b->layout.dtype), a->name, bf_dtype_name(a->layout.dtype));
    if (!same_shape(a, b))
        return fail(EXIT_DATA, b->name, "%s: it is not that of %s", bf_status_string(BF_E_SHAPE),
                    a->name);
    return EXIT_DONE;
}

/* Text becomes an array: beside one, of its dtype; two texts, of the most exact dtype of both. */
static int load_pair(source *a, source *b) {
    source *const both[] = {a, b, a};
    for (int i = 0; i < 2; i++) {
        text_input *t = both[i]->text;
        if (t && !both[i + 1]->text && t->layout.dtype == BF_NONE)
            t->layout.dtype = both[i + 1]->layout.dtype;
    }
    int code = source_load(a);
    if (code == EXIT_DONE) code = source_load(b);
    static const bf_dtype candidates[] = {BF_I64, BF_U64, BF_F64};
    const bf_dtype own = a->layout.dtype;
    for (int i = 0; i < 3 && a->layout.dtype != b->layout.dtype; i++)
        if (source_take_as(a, candidates[i]) && !source_take_as(b, candidates[i]))
            source_take_as(a, own);
    return code;
}

/* Elements pair by their index, so two orders must become one. */
static int prepare_pair(source *a, source *b) {
    const bool ordered = a->layout.fortran != b->layout.fortran;
    int code = load_pair(a, b);
    if (code == EXIT_DONE) code = check_pair(a, b);
    if (code == EXIT_DONE) code = source_prepare(a, ordered);
    if (code == EXIT_DONE) code = source_prepare(b, ordered);
    return code;
}

static int reduce_pair(task *t, bf_state **state) {
    const options *o = t->options;
    source a, b;
    input in = o->input;
    in.rows = true;
    int code = source_open(&a, o->files[0], &in);
    if (code != EXIT_DONE) return code;
    code = source_open(&b, o->files[1], &in);
    if (code == EXIT_DONE) code = prepare_pair(&a, &b);
    if (code == EXIT_DONE) code = task_reduce(t, BF_DOT, &a, &b, 0, state);
    source_close(&a);
    source_close(&b);
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
