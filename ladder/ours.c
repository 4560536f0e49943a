/* Our rungs: the library's calls, the same on every machine. On the CPU they are done when they
 * return. */
#include "ladder/ours.h"

#include "ladder/julia.h"

/* NULL, or why the library refused. */
static const char *said(const ladder_task *t, bf_status status) {
    if (status == BF_OK) return NULL;
    const char *message = bf_context_message(t->context);
    return *message ? message : bf_status_string(status);
}

/* ---- reduce ---------------------------------------------------------------------------------- */

/* As the others: modulo 2^32. */
static const bf_reduce_options modulo = BF_REDUCE_OPTIONS(.overflow = BF_OVERFLOW_WRAP);

const char *ladder_ours_reduce(const ladder_task *t) {
    const bf_array x = bf_array_of(BF_I32, t->a, t->n);
    return said(t, bf_reduce_async(t->context, t->op, &x, &modulo, t->out));
}

const char *ladder_ours_reduce_to_host(const ladder_task *t) {
    const bf_array x = bf_array_of(BF_I32, t->a, t->n);
    return said(t, bf_reduce(t->context, t->op, &x, &modulo, t->host));
}

/* ---- scan ------------------------------------------------------------------------------------ */

const char *ladder_ours_scan(const ladder_task *t) {
    const bf_array x = bf_array_of(BF_I32, t->a, t->n), sums = bf_array_of(BF_I64, t->out, t->n);
    return said(t, bf_scan(t->context, BF_SUM, &x, 0, NULL, &sums));
}

/* ---- add, dot -------------------------------------------------------------------------------- */

const char *ladder_ours_add(const ladder_task *t) {
    const bf_array a = bf_array_of(BF_F32, t->a, t->n), b = bf_array_of(BF_F32, t->b, t->n);
    const bf_array out = bf_array_of(BF_F32, t->out, t->n);
    const bf_array *const inputs[] = {&a, &b};
    return said(t, bf_map_async(t->context, BF_MAP_ADD, inputs, 2, NULL, &out));
}

static const bf_reduce_options to_f32 = BF_REDUCE_OPTIONS(.out_dtype = BF_F32);

const char *ladder_ours_dot(const ladder_task *t) {
    const bf_array a = bf_array_of(BF_F32, t->a, t->n), b = bf_array_of(BF_F32, t->b, t->n);
    return said(t, bf_dot_async(t->context, &a, &b, &to_f32, t->out));
}

const char *ladder_ours_dot_to_host(const ladder_task *t) {
    const bf_array a = bf_array_of(BF_F32, t->a, t->n), b = bf_array_of(BF_F32, t->b, t->n);
    return said(t, bf_dot(t->context, &a, &b, &to_f32, t->host));
}

/* ---- histogram, julia ------------------------------------------------------------------------ */

const char *ladder_ours_histogram(const ladder_task *t) {
    const bf_array bytes = bf_array_of(BF_U8, t->a, t->n);
    return said(t, bf_histogram_async(t->histogram, &bytes, t->out));
}

const char *ladder_ours_julia(const ladder_task *t) {
    const int side = ladder_side(t->n);
    bf_julia_params params;
    bf_julia_defaults(&params);
    params.width = params.height = side;
    bf_array counts = bf_array_of(BF_U16, t->out, side);
    counts.ndim = 2;
    counts.shape[1] = counts.strides[0] = side;
    counts.strides[1] = 1;
    return said(t, bf_julia_async(t->context, &params, 0, 0, &counts));
}

/* ---- table ----------------------------------------------------------------------------------- */

/* The first run, which is not timed, makes the table; each run empties and fills it. */
const char *ladder_ours_table(const ladder_task *t) {
    const bf_table_options options =
        BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_U32, .reserve = t->n);
    const bf_array keys = bf_array_of(BF_U32, t->a, t->n), values = bf_array_of(BF_U32, t->b, t->n);
    bf_status status = BF_OK;
    if (*t->table == NULL) status = bf_table_create(t->context, &options, t->table);
    if (status != BF_OK) return said(t, status);
    bf_table_clear(*t->table);
    return said(t, bf_table_insert(*t->table, &keys, &values));
}

const char *ladder_ours_find(const ladder_task *t) {
    const bf_array keys = bf_array_of(BF_U32, t->a, t->n);
    const bf_array values = bf_array_of(BF_U32, t->out, t->n);
    return said(t, bf_table_find(*t->table, &keys, &values, NULL));
}
