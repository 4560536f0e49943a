/* Expressions of two columns, which are written and summed. */
#include "works/data.h"
#include "works/works.h"

#include <string.h>

/* So many elements at most: a sum takes the first 1024 in another way than those after them. */
enum { ELEMENTS = 8193, TEXTS = 4 };

static const char *const of_floats[TEXTS] = {"(a-b)**2", "a*b - 1.5", "sqrt(a*a + b*b)",
                                             "isnan(a) || b > a ? floor(b) : a % 2.5"};
static const char *const of_integers[TEXTS] = {"a*b + 1", "max(a, b) - min(a, b)",
                                               "b != 0 ? a % b : a"};
static const char *const of_bools[TEXTS] = {"a && !b", "a == b ? a : b"};

static const char *const *texts_of(bf_dtype dtype) {
    return data_is_float(dtype) ? of_floats : dtype == BF_BOOL ? of_bools : of_integers;
}

static bf_status parse(bf_context *context, const char *text, bf_dtype dtype, bf_expression **e) {
    static const char *const names[] = {"a", "b"};
    const bf_dtype dtypes[] = {dtype, dtype};
    const bf_expression_options how = BF_EXPRESSION_OPTIONS(.overflow = BF_OVERFLOW_SATURATE);
    return bf_expression_parse(context, text, names, dtypes, 2, &how, NULL, e);
}

/* Makes an expression of columns a and b, and a state for its sum if it is summed. */
static bf_status create_sum(bf_context *context, const char *text, bf_dtype dtype, bool summed,
                            work_object *o) {
    const bf_status st = parse(context, text, dtype, &o->expression);
    if (st != BF_OK || !summed) return st;
    return bf_state_create(context, BF_SUM, bf_expression_dtype(o->expression), &o->saved.state);
}

/* ---- verify ---------------------------------------------------------------------------------- */

static bf_status open(task *t) {
    bf_expression *e = NULL;
    bf_status st = parse(t->context, texts_of(t->a.dtype)[t->kind], t->a.dtype, &e);
    if (st == BF_OK) st = work_room(t, bf_expression_dtype(e), t->a.shape[0], t->moved, &t->out);
    bf_expression_destroy(e);
    return st;
}

static bf_status create(const task *t, work_object *o) {
    return create_sum(t->context, texts_of(t->a.dtype)[t->kind], t->a.dtype, true, o);
}

static bf_status absorb(task *t, work_object *o, int64_t first, int64_t last) {
    const bf_array a = work_slice(&t->a, first, last), b = work_slice(&t->b, first, last),
                   to = work_slice(&t->out.at, first, last), *columns[] = {&a, &b};
    const bf_status st = bf_expression_eval(o->expression, columns, &to);
    return st == BF_OK ? bf_state_absorb_expression(o->saved.state, o->expression, columns) : st;
}

static bf_status tell(task *t, work_object *o) {
    bf_value total;
    bf_status st = bf_state_result(o->saved.state, NULL, &total);
    if (st == BF_OK) st = work_tell(t, &t->out);
    if (st == BF_OK) work_add_value(t, &total);
    return st;
}

static bool row(task *t, int i) {
    const int64_t all = t->a.shape[0], n = all < ELEMENTS ? all : ELEMENTS;
    if (t->nan != BF_NAN_PROPAGATE || n < 2 || i == 1) return false;
    t->op = "expr";
    t->b = work_slice(&t->a, 1, n);
    t->a = work_slice(&t->a, 0, n - 1);
    while (t->kinds < TEXTS && texts_of(t->a.dtype)[t->kinds]) t->kinds++;
    return true;
}

/* ---- bench: "a*b" is the sum of the products, "c=a*b" writes them -----------------------------
 */

static bf_status begin(const bench_point *p, const bf_array *v, work_object *o) {
    const bool written = strncmp(p->data, "c=", 2) == 0;
    return create_sum(p->context, p->data + (written ? 2 : 0), v->dtype, !written, o);
}

static bf_status pass(const bench_point *p, const work_object *o, const bf_array *v) {
    const bf_array *columns[] = {&v[0], &v[1]};
    bf_state *state = o->saved.state;
    bf_value value;
    (void)p;
    if (!state) return bf_expression_eval(o->expression, columns, &v[2]);
    bf_status st = bf_state_clear(state);
    if (st == BF_OK) st = bf_state_absorb_expression(state, o->expression, columns);
    return st == BF_OK ? bf_state_result(state, NULL, &value) : st;
}

const work work_expression = {
    .row = row,
    .open = open,
    .create = create,
    .absorb = absorb,
    .tell = tell,
    .measure = &(const measure){.open = begin, .pass = pass},
};
