/* Element-wise operations. */
#include "runtime/report.h"
#include "works/data.h"
#include "works/works.h"

#include <stdlib.h>
#include <string.h>

static bf_status result_dtype(bf_map_op op, bf_dtype dtype, bf_dtype *to) {
    const bf_dtype inputs[] = {dtype, dtype, dtype};
    return bf_map_result_dtype(op, inputs, bf_map_arity(op), 0, to);
}

/* cast is done to every dtype in turn. */
static bf_status open(task *t) {
    const bf_map_op op = (bf_map_op)t->what;
    bf_dtype to = data_dtypes[t->kind];
    const bf_status st = op == BF_MAP_CAST ? BF_OK : result_dtype(op, t->a.dtype, &to);
    return st == BF_OK ? work_room(t, to, t->a.shape[0], t->moved, &t->out) : st;
}

/* Saturates integers that overflow. Division by zero is an error on every device. */
static bf_status map_part(task *t, void *object, int64_t first, int64_t last) {
    const bf_array a = work_slice(&t->a, first, last), b = work_slice(&t->b, first, last),
                   out = work_slice(&t->out.at, first, last), *inputs[] = {&a, &b, &a};
    const bf_map_options how = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_SATURATE);
    const bf_map_op op = (bf_map_op)t->what;
    (void)object;
    return bf_map(t->context, op, inputs, bf_map_arity(op), &how, &out);
}

/* Copies the elements in reverse order. Sets the lowest bit of integers, so that no divisor is 0.
 */
static void reverse_array(const bf_array *all, char *to) {
    const size_t bytes = bf_dtype_size(all->dtype);
    const char *from = all->data;
    for (int64_t i = 0, n = all->shape[0]; i < n; i++) {
        memcpy(to + (size_t)i * bytes, from + (size_t)(n - 1 - i) * bytes, bytes);
        if (all->dtype < BF_F16) to[(size_t)i * bytes] |= 1;
    }
}

static int operations(const task *given, const bf_array *b, task_fn *fn, void *to) {
    bf_dtype result;
    int code = EXIT_DONE;
    for (int op = 1; bf_map_arity((bf_map_op)op) > 0 && code == EXIT_DONE; op++) {
        const bool cast = op == BF_MAP_CAST;
        task t = *given;
        if (!cast && result_dtype((bf_map_op)op, t.a.dtype, &result) != BF_OK) continue;
        t.op = bf_map_name((bf_map_op)op);
        t.what = op;
        t.b = *b;
        if (cast) t.a = work_slice(&t.a, 0, t.a.shape[0] / 4);
        while (cast && data_dtypes[t.kinds]) t.kinds++;
        code = fn(&t, to);
    }
    return code;
}

static int rows(const task *given, task_fn *fn, void *to) {
    const int64_t n = given->a.shape[0];
    if (given->nan != BF_NAN_PROPAGATE) return EXIT_DONE;
    char *other = malloc(work_bytes(&given->a) + 1);
    if (!other) return fail_status(BF_E_MEMORY, NULL, NULL);
    reverse_array(&given->a, other);
    const bf_array b = bf_array_of(given->a.dtype, other, n);
    const int code = operations(given, &b, fn, to);
    free(other);
    return code;
}

static bf_status add(const bench_point *p, void *state, const bf_array *v) {
    const bf_array *inputs[] = {&v[0], &v[1]};
    (void)state;
    return p->stream ? bf_map_async(p->context, BF_MAP_ADD, inputs, 2, NULL, &v[2])
                     : bf_map(p->context, BF_MAP_ADD, inputs, 2, NULL, &v[2]);
}

const work work_map = {
    .rows = rows,
    .open = open,
    .absorb = map_part,
    .tell = work_tell_out,
    .close = work_close_out,
    .measure = &(const measure){.pass = add},
};
