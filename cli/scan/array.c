#include "scan/array.h"

#include "input/matrix.h"
#include "input/step.h"
#include "options/context.h"
#include "runtime/progress.h"
#include "scan/output.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct whole_array {
    running *of;
    spool_limit limit; /* for pipes that are read again */
    matrix matrix[2];  /* the second is used for pairs */
    bf_array numbers[2], results;
    scan_output output;
} whole_array;

static const char *option_of(const running *x) {
    return x->own.axes.n > 0 ? "--axis" : "--reverse";
}

int array_check(const running *x) {
    const options *o = &x->options;
    const char *const option = x->own.on                  ? "--on"
                               : o->append                ? "--append"
                               : o->by                    ? "--by"
                               : o->where                 ? "--where"
                               : o->input.first > 0       ? "--offset"
                               : o->input.count >= 0      ? "--count"
                               : o->input.text.skip_nulls ? "--null-policy skip"
                                                          : NULL;
    if (o->file_count < running_arrays(x))
        return fail(EXIT_USAGE, NULL, "two files are needed, not %d", o->file_count);
    if (x->own.axes.n > 1) return fail(EXIT_USAGE, NULL, "one axis, not %d", x->own.axes.n);
    if (option) return fail(EXIT_USAGE, NULL, "%s does not go with %s", option, option_of(x));
    return EXIT_DONE;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int open_input(whole_array *x) {
    const options *o = &x->of->options;
    input in = o->input;
    in.text.table = x->of->own.axes.n > 0;
    spool_limit_set(&x->limit, o->memory.pipes / 2);
    rows_options how = context_reading(o, &x->limit, o->file_count);
    how.ordered = how.unchanging = true;
    int code = EXIT_DONE;
    for (int i = 0; i < o->file_count && code == EXIT_DONE; i++)
        code = matrix_open(&x->matrix[i], o->files[i], &in, &how);
    rows *const inputs[] = {&x->matrix[0].rows, &x->matrix[1].rows};
    return code == EXIT_DONE ? step_check_shapes(inputs, o->file_count, true) : code;
}

/* Half of the memory is for the results. */
static int load(whole_array *x) {
    const memory_plan *p = &x->of->options.memory;
    const int arrays = running_arrays(x->of);
    matrix *const of[] = {&x->matrix[0], &x->matrix[1]};
    return matrix_load(of, arrays, (p->results + p->pipes / 2) / 2 / arrays, x->numbers);
}

/* ---- the work -------------------------------------------------------------------------------- */

/* Finds the axis, which is the only one of a line, and the shape of the results. */
static int find_lines(whole_array *x, int *axis) {
    const running *r = x->of;
    const char *const name = x->matrix[0].rows.source.name;
    const int given = r->own.axes.n > 0 ? r->own.axes.at[0] : 0;
    if (r->own.axes.n == 0)
        x->numbers[0] =
            bf_array_of(x->numbers[0].dtype, x->numbers[0].data, matrix_count(x->numbers));
    const int ndim = x->numbers[0].ndim;
    *axis = given < 0 ? given + ndim : given;
    if (*axis < 0 || *axis >= ndim)
        return fail(EXIT_USAGE, name, "no axis %d: it has %d dimensions", given, ndim);
    if (running_each(r) > 1 && ndim == BF_MAX_DIMS)
        return fail(EXIT_USAGE, name, "-p: one percent, of an array of %d dimensions", ndim);
    x->results = x->numbers[0];
    x->results.dtype = r->to;
    x->results.shape[*axis] = running_count(r, x->numbers[0].shape[*axis]);
    matrix_make_contiguous(&x->results);
    return EXIT_DONE;
}

static bf_status run_lines(const whole_array *x, int axis) {
    const running *r = x->of;
    if (!r->windows) return bf_scan(r->context, r->op, x->numbers, axis, &r->scan, &x->results);
    return running_roll(r, x->numbers, axis, &r->roll, &x->results);
}

static int make(whole_array *x) {
    running *const r = x->of;
    const source *s = &x->matrix[0].rows.source;
    int axis, code = running_settle(r, matrix_dtype(x->matrix), matrix_scale(x->matrix), s->name);
    if (code == EXIT_DONE) code = find_lines(x, &axis);
    if (code != EXIT_DONE) return code;
    const int64_t n = matrix_count(&x->results);
    x->results.data = buffer_take(&r->results, (size_t)n * running_bytes(r));
    if (!x->results.data) return fail_memory(s->name);
    r->roll.step = r->own.step; /* elements between windows are there */
    const bf_status st = run_lines(x, axis);
    if (st != BF_OK) return running_failed(r, st, s);
    code = scan_output_open(&x->output, r, x->results.ndim, x->results.shape, n);
    const bf_array all = bf_array_of(r->to, x->results.data, n);
    return code == EXIT_DONE ? scan_output_put(&x->output, &all) : code;
}

static int run(whole_array *x) {
    const char *const file = x->of->options.files[0];
    int code = open_input(x);
    if (code == EXIT_DONE) code = context_open(&x->of->context, &x->of->options);
    if (code != EXIT_DONE) return code;
    progress_start(file, rows_bytes(&x->matrix[0].rows));
    code = load(x);
    if (code == EXIT_DONE) code = make(x);
    progress_stop();
    if (code == EXIT_DONE) note_device(x->of->context, file);
    if (code == EXIT_DONE && x->of->options.stats)
        inform(file, "%" PRId64 " elements in %.6f s", matrix_count(x->numbers),
               progress_clock() - x->of->began);
    return code;
}

int array_run(running *of) {
    whole_array x = {.of = of};
    int code = run(&x);
    code = scan_output_close(&x.output, code, matrix_count(x.numbers));
    for (int i = 0; i < of->options.file_count; i++) matrix_close(&x.matrix[i]);
    return code;
}
