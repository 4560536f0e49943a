/* Element-wise operations. */
#include "works/data.h"
#include "works/works.h"

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
static bf_status map_part(task *t, work_object *o, int64_t first, int64_t last) {
    const bf_array a = work_slice(&t->a, first, last), b = work_slice(&t->b, first, last),
                   out = work_slice(&t->out.at, first, last), *inputs[] = {&a, &b, &a};
    const bf_map_options how = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_SATURATE);
    const bf_map_op op = (bf_map_op)t->what;
    (void)o;
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

/* Returns operation i of those that the dtype has; 0 after the last. */
static bf_map_op operation(bf_dtype dtype, int i) {
    bf_dtype given;
    for (int op = 1; bf_map_arity((bf_map_op)op) > 0; op++) {
        const bool has = op == BF_MAP_CAST || result_dtype((bf_map_op)op, dtype, &given) == BF_OK;
        if (has && i-- == 0) return (bf_map_op)op;
    }
    return 0;
}

static bool row(task *t, int i) {
    const bf_map_op op = t->nan == BF_NAN_PROPAGATE ? operation(t->a.dtype, i) : 0;
    if (!op) return false;
    if (i == 0) reverse_array(&t->a, t->room);
    t->op = bf_map_name(op);
    t->what = (int)op;
    t->b = bf_array_of(t->a.dtype, t->room, t->a.shape[0]);
    if (op == BF_MAP_CAST) t->a = work_slice(&t->a, 0, t->a.shape[0] / 4);
    while (op == BF_MAP_CAST && data_dtypes[t->kinds]) t->kinds++;
    return true;
}

static bf_status add(const bench_point *p, const work_object *o, const bf_array *v) {
    const bf_array *inputs[] = {&v[0], &v[1]};
    (void)o;
    return p->stream ? bf_map_async(p->context, BF_MAP_ADD, inputs, 2, NULL, &v[2])
                     : bf_map(p->context, BF_MAP_ADD, inputs, 2, NULL, &v[2]);
}

const work work_map = {
    .row = row,
    .open = open,
    .absorb = map_part,
    .measure = &(const measure){.pass = add},
};
