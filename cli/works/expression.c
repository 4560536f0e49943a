/* Expressions of two columns, which are written and summed. */
#include "runtime/report.h"
#include "works/data.h"
#include "works/works.h"

#include <stdlib.h>
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

/* An expression of columns a and b, and its sum. */
typedef struct sum {
    bf_expression *expression;
    bf_state *state; /* NULL: the results are written alone */
} sum;

static bf_status parse(bf_context *context, const char *text, bf_dtype dtype, bf_expression **e) {
    static const char *const names[] = {"a", "b"};
    const bf_dtype dtypes[] = {dtype, dtype};
    const bf_expression_options how = BF_EXPRESSION_OPTIONS(.overflow = BF_OVERFLOW_SATURATE);
    return bf_expression_parse(context, text, names, dtypes, 2, &how, NULL, e);
}

static void destroy_sum(void *object) {
    sum *s = object;
    if (!s) return;
    bf_state_destroy(s->state);
    bf_expression_destroy(s->expression);
    free(s);
}

static bf_status create_sum(bf_context *context, const char *text, bf_dtype dtype, bool summed,
                            void **object) {
    sum *s = *object = calloc(1, sizeof *s);
    bf_status st = s ? parse(context, text, dtype, &s->expression) : BF_E_MEMORY;
    if (st == BF_OK && summed)
        st = bf_state_create(context, BF_SUM, bf_expression_dtype(s->expression), &s->state);
    return st;
}

/* ---- verify ---------------------------------------------------------------------------------- */

static bf_status open(task *t) {
    bf_expression *e = NULL;
    bf_status st = parse(t->context, texts_of(t->a.dtype)[t->kind], t->a.dtype, &e);
    if (st == BF_OK) st = work_room(t, bf_expression_dtype(e), t->a.shape[0], t->moved, &t->out);
    bf_expression_destroy(e);
    return st;
}

static bf_status create(const task *t, void **object) {
    return create_sum(t->context, texts_of(t->a.dtype)[t->kind], t->a.dtype, true, object);
}

static bf_status absorb(task *t, void *object, int64_t first, int64_t last) {
    const sum *s = object;
    const bf_array a = work_slice(&t->a, first, last), b = work_slice(&t->b, first, last),
                   to = work_slice(&t->out.at, first, last), *columns[] = {&a, &b};
    const bf_status st = bf_expression_eval(s->expression, columns, &to);
    return st == BF_OK ? bf_state_absorb_expression(s->state, s->expression, columns) : st;
}

static bf_status merge(void *into, void *from) {
    return bf_state_merge(((sum *)into)->state, ((sum *)from)->state);
}

static bf_status tell(task *t, void *object) {
    const sum *s = object;
    bf_value total;
    bf_status st = bf_state_result(s->state, NULL, &total);
    if (st == BF_OK) st = work_tell(t, &t->out);
    if (st == BF_OK) work_add_value(t, &total);
    return st;
}

static int rows(const task *given, task_fn *fn, void *to) {
    const int64_t all = given->a.shape[0], n = all < ELEMENTS ? all : ELEMENTS;
    task t = *given;
    if (given->nan != BF_NAN_PROPAGATE || n < 2) return EXIT_DONE;
    t.op = "expr";
    t.a = work_slice(&given->a, 0, n - 1);
    t.b = work_slice(&given->a, 1, n);
    while (t.kinds < TEXTS && texts_of(t.a.dtype)[t.kinds]) t.kinds++;
    return fn(&t, to);
}

/* ---- bench: "a*b" is the sum of the products, "c=a*b" writes them -----------------------------
 */

static bf_status begin(const bench_point *p, const bf_array *v, void **state) {
    const bool written = strncmp(p->data, "c=", 2) == 0;
    return create_sum(p->context, p->data + (written ? 2 : 0), v->dtype, !written, state);
}

static bf_status pass(const bench_point *p, void *state, const bf_array *v) {
    const sum *s = state;
    const bf_array *columns[] = {&v[0], &v[1]};
    bf_value value;
    (void)p;
    if (!s->state) return bf_expression_eval(s->expression, columns, &v[2]);
    bf_status st = bf_state_clear(s->state);
    if (st == BF_OK) st = bf_state_absorb_expression(s->state, s->expression, columns);
    return st == BF_OK ? bf_state_result(s->state, NULL, &value) : st;
}

const work work_expression = {
    .rows = rows,
    .open = open,
    .create = create,
    .absorb = absorb,
    .merge = merge,
    .tell = tell,
    .destroy = destroy_sum,
    .close = work_close_out,
    .measure = &(const measure){.open = begin, .pass = pass, .close = destroy_sum},
};
