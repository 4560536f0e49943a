/* verify: expressions of two columns, which are written and summed, compared by a checksum of all
 * results. */
#include "verify/data.h"
#include "verify/verify.h"

#include <stdlib.h>

/* So many elements at most: a sum takes the first 1024 in another way than those after them. */
enum { ELEMENTS = 8193, PIECES = 3, TEXTS = 4 };

static const char *const of_floats[TEXTS] = {"(a-b)**2", "a*b - 1.5", "sqrt(a*a + b*b)",
                                             "isnan(a) || b > a ? floor(b) : a % 2.5"};
static const char *const of_integers[TEXTS] = {"a*b + 1", "max(a, b) - min(a, b)",
                                               "b != 0 ? a % b : a"};
static const char *const of_bools[TEXTS] = {"a && !b", "a == b ? a : b"};

static const char *const *texts_of(bf_dtype dtype) {
    return data_is_float(dtype) ? of_floats : dtype == BF_BOOL ? of_bools : of_integers;
}

/* Adds elements [first, last) of the results to `out`, and to the state. */
static bf_status compute(bf_expression *e, const subject *s, int64_t first, int64_t last,
                         const bf_array *out, bf_state *state) {
    const bf_array a = verify_slice(&s->a, first, last), b = verify_slice(&s->b, first, last),
                   to = verify_slice(out, first, last), *columns[] = {&a, &b};
    const bf_status st = bf_expression_eval(e, columns, &to);
    return st == BF_OK ? bf_state_absorb_expression(state, e, columns) : st;
}

/* Computes on the device's memory, in which s->a and s->b are; `out` is in the host's. */
static bf_status compute_whole(bf_context *context, bf_expression *e, const subject *s,
                               const bf_array *out, bf_state *state) {
    bf_array to = *out;
    bf_status st = verify_move(context, out, &to);
    if (st == BF_OK) st = compute(e, s, 0, out->shape[0], &to, state);
    if (st == BF_OK) st = verify_return(context, out, &to);
    verify_unmove(context, out, &to);
    return st;
}

/* Sums the last part apart, and merges it. */
static bf_status compute_parts(bf_context *context, bf_expression *e, const subject *s,
                               const bf_array *out, bf_state *state) {
    const int64_t n = out->shape[0], cuts[] = {0, n / 7, n - n / 3, n};
    bf_state *last = NULL;
    bf_status st = bf_state_create(context, BF_SUM, out->dtype, &last);
    for (int i = 0; i < PIECES && st == BF_OK; i++)
        st = compute(e, s, cuts[i], cuts[i + 1], out, i == PIECES - 1 ? last : state);
    if (st == BF_OK) st = bf_state_merge(state, last);
    bf_state_destroy(last);
    return st;
}

typedef bf_status compute_fn(bf_context *context, bf_expression *e, const subject *s,
                             const bf_array *out, bf_state *state);

/* Adds the results of one expression, and their sum, to a checksum. */
static bf_status tell(bf_context *context, const subject *s, const char *text, compute_fn *fn,
                      uint64_t *sum) {
    static const char *const names[] = {"a", "b"};
    const bf_dtype dtypes[] = {s->a.dtype, s->b.dtype};
    const bf_expression_options how = BF_EXPRESSION_OPTIONS(.overflow = BF_OVERFLOW_SATURATE);
    const int64_t n = s->a.shape[0];
    bf_expression *e = NULL;
    bf_state *state = NULL;
    bf_value total;
    char *results = calloc((size_t)n + 1, sizeof(uint64_t));
    bf_status st = results ? BF_OK : BF_E_MEMORY;
    if (st == BF_OK) st = bf_expression_parse(context, text, names, dtypes, 2, &how, NULL, &e);
    const bf_array out = bf_array_of(st == BF_OK ? bf_expression_dtype(e) : BF_NONE, results, n);
    if (st == BF_OK) st = bf_state_create(context, BF_SUM, out.dtype, &state);
    if (st == BF_OK) st = fn(context, e, s, &out, state);
    if (st == BF_OK) st = bf_state_result(state, NULL, &total);
    if (st == BF_OK) {
        *sum = verify_checksum(*sum, results, (size_t)n * data_size(out.dtype));
        *sum = verify_checksum(*sum, &total.as, verify_value_size(total.dtype));
    }
    bf_state_destroy(state);
    bf_expression_destroy(e);
    free(results);
    return st;
}

static outcome tell_all(bf_context *context, const subject *s, compute_fn *fn) {
    const char *const *texts = texts_of(s->a.dtype);
    outcome r = {.value.dtype = BF_U64};
    for (int i = 0; i < TEXTS && texts[i] && r.status == BF_OK; i++)
        r.status = tell(context, s, texts[i], fn, &r.value.as.u64);
    return r;
}

static outcome in_one_pass(bf_context *context, const subject *s) {
    subject moved = *s;
    outcome r = {.status = verify_move(context, &s->a, &moved.a)};
    if (r.status == BF_OK) r.status = verify_move(context, &s->b, &moved.b);
    if (r.status == BF_OK) r = tell_all(context, &moved, compute_whole);
    verify_unmove(context, &s->a, &moved.a);
    verify_unmove(context, &s->b, &moved.b);
    return r;
}

static outcome in_parts(bf_context *context, const subject *s) {
    return tell_all(context, s, compute_parts);
}

int verify_expressions(const machine *m, const char *name, const bf_array *all, verdict *v) {
    const int64_t n = all->shape[0] < ELEMENTS ? all->shape[0] : ELEMENTS;
    if (n < 2) return EXIT_DONE;
    const subject s = {.op = "expr",
                       .data = name,
                       .a = verify_slice(all, 0, n - 1),
                       .b = verify_slice(all, 1, n),
                       .whole = in_one_pass,
                       .parts = in_parts};
    return verify_row(m, &s, v);
}
