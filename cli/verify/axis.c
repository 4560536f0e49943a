/* verify: reductions of many at once, compared by a checksum of the results of all reductions. */
#include "verify/data.h"
#include "verify/verify.h"

#include <stdlib.h>

/* A matrix of at most so many elements and columns; of NARROW columns if rows go to slots. */
enum { ELEMENTS = 4355, COLUMNS = 65, NARROW = 17, PARTS = 3, SLOTS = 29 };

static const bf_reduction reductions[] = {BF_SUM,  BF_MEAN, BF_VAR,     BF_STD,    BF_SUMSQ,
                                          BF_NORM, BF_MIN,  BF_MAX,     BF_ARGMIN, BF_ARGMAX,
                                          BF_PROD, BF_DOT,  BF_DESCRIBE};
enum { REDUCTIONS = sizeof reductions / sizeof *reductions };

/* What is taken together; a row's name. */
typedef enum kind { AXIS_0, AXIS_1, SEGMENTS, INDEX, KINDS } kind;
static const char *const kind_names[KINDS] = {"axis 0", "axis 1", "segments", "index"};

/* One reduction of a subject, whose a is a matrix, row by row, and whose b are the places. */
typedef struct work {
    kind kind;
    bf_reduction op;
    bf_nan_policy nan;
    int64_t count; /* of results */
    bf_array matrix, places, values, fits;
} work;

/* Offsets, with empty segments among them; or slots that are taken often, rarely and never. */
static void fill_places(kind k, int64_t height, int64_t *places) {
    for (int64_t i = 0; i <= SLOTS; i++) places[i] = height * (i / 3 * 3) / SLOTS;
    for (int64_t i = 0; i < height && k == INDEX; i++) places[i] = i * i % 7 * (i % 5);
}

static int64_t columns_of(kind k, int64_t n) {
    const int64_t most = k == SEGMENTS || k == INDEX ? NARROW : COLUMNS;
    return n < most ? n : most;
}

static bf_array matrix_of(const bf_array *a, int64_t columns) {
    const int64_t height = a->shape[0] / columns;
    return (bf_array){a->data, a->dtype, 2, {height, columns}, {columns, 1}};
}

/* ---- in one pass ----------------------------------------------------------------------------- */

static bf_reduce_options rules_of(const work *w, bf_value *empty) {
    const bool needs =
        w->op == BF_MIN || w->op == BF_MAX || w->op == BF_ARGMIN || w->op == BF_ARGMAX;
    *empty = (bf_value){.dtype = w->values.dtype};
    return BF_REDUCE_OPTIONS(.nan = w->nan, .empty = needs ? empty : NULL);
}

static bf_status reduce_whole(bf_context *context, const work *w) {
    bf_value empty;
    const bf_reduce_options rules = rules_of(w, &empty);
    const int axis = w->kind == AXIS_1;
    switch (w->kind) {
    case SEGMENTS:
        return bf_reduce_segments(context, w->op, &w->matrix, &w->places, &rules, &w->values,
                                  &w->fits);
    case INDEX:
        return bf_reduce_index(context, w->op, &w->matrix, &w->places, &rules, &w->values,
                               &w->fits);
    default:
        return bf_reduce_axes(context, w->op, &w->matrix, &axis, 1, &rules, &w->values, &w->fits);
    }
}

/* ---- states ---------------------------------------------------------------------------------- */

static bf_array rows_of(const bf_array *a, int64_t first, int64_t end) {
    bf_array part = *a;
    part.data = (char *)a->data + (size_t)(first * a->strides[0]) * data_size(a->dtype);
    part.shape[0] = end - first;
    return part;
}

static bf_status absorb_part(bf_states *states, const work *w, int64_t first, int64_t end) {
    const bf_array part = rows_of(&w->matrix, first, end);
    const int axis = w->kind == AXIS_1;
    if (w->kind == AXIS_0 || w->kind == AXIS_1)
        return w->op == BF_DOT ? bf_states_absorb_pair_axes(states, &part, &part, &axis, 1)
                               : bf_states_absorb_axes(states, &part, &axis, 1);
    const bf_array places = w->kind == INDEX ? rows_of(&w->places, first, end) : w->places;
    if (w->kind == INDEX)
        return w->op == BF_DOT ? bf_states_absorb_pair_index(states, &part, &part, &places)
                               : bf_states_absorb_index(states, &part, &places);
    return w->op == BF_DOT ? bf_states_absorb_pair_segments(states, &part, &part, &places)
                           : bf_states_absorb_segments(states, &part, &places);
}

/* Absorbs all rows at once. */
static bf_status absorb_whole(bf_context *context, const work *w, bf_states **states) {
    const bf_status st = bf_states_create(context, w->op, w->matrix.dtype, w->count, states);
    return st == BF_OK ? absorb_part(*states, w, 0, w->matrix.shape[0]) : st;
}

static bf_status absorb_clipped(bf_states *states, const work *w, int64_t first, int64_t end) {
    const int64_t *all = w->places.data;
    int64_t clipped[SLOTS + 1];
    work part = *w;
    if (w->kind != SEGMENTS) return absorb_part(states, w, first, end);
    for (int i = 0; i <= SLOTS; i++)
        clipped[i] = (all[i] < first ? first : all[i] > end ? end : all[i]) - first;
    part.places = bf_array_of(BF_I64, clipped, SLOTS + 1);
    return absorb_part(states, &part, first, end);
}

/* Absorbs three parts from the host's memory: the third into states that are appended to those of
 * the second, and these to those of the first. A product depends on the index of each element, so
 * it absorbs them in turn. */
static bf_status absorb_parts(bf_context *context, const work *w, bf_states **states) {
    const int64_t n = w->matrix.shape[0], cuts[] = {0, n / 7, n - n / 3, n};
    bf_states *parts[PARTS] = {NULL, NULL, NULL};
    bf_status st = BF_OK;
    for (int i = 0; i < PARTS && st == BF_OK; i++) {
        st = bf_states_create(context, w->op, w->matrix.dtype, w->count, &parts[i]);
        if (st == BF_OK)
            st = absorb_clipped(parts[w->op == BF_PROD ? 0 : i], w, cuts[i], cuts[i + 1]);
    }
    if (st == BF_OK) st = bf_states_append(parts[1], parts[2]);
    if (st == BF_OK) st = bf_states_append(parts[0], parts[1]);
    *states = parts[0];
    for (int i = 1; i < PARTS; i++) bf_states_destroy(parts[i]);
    return st;
}

static bf_status save_states(bf_states *states, uint64_t *sum) {
    size_t size = 0;
    bf_status st = bf_states_save_size(states, &size);
    void *bytes = st == BF_OK ? malloc(size) : NULL;
    if (st == BF_OK) st = bytes ? bf_states_save(states, bytes) : BF_E_MEMORY;
    if (st == BF_OK) *sum = verify_saved_checksum(bytes, size).value.as.u64;
    free(bytes);
    return st;
}

/* Is the saved form of the states told, not their results? Such states are in host memory. */
static bool tells_by_states(bf_reduction op) { return op == BF_DOT || op == BF_DESCRIBE; }

/* Parts of rows are whole rows: there is nothing to merge. */
static bf_status tell_states(bf_context *context, const work *w, bool parts, uint64_t *sum) {
    bf_value empty;
    const bf_reduce_options rules = rules_of(w, &empty);
    bf_states *states = NULL;
    bf_status st = parts && w->kind != AXIS_1 ? absorb_parts(context, w, &states)
                                              : absorb_whole(context, w, &states);
    if (st == BF_OK && tells_by_states(w->op))
        st = save_states(states, sum);
    else if (st == BF_OK)
        st = bf_states_result(states, &rules, &w->values, &w->fits);
    bf_states_destroy(states);
    return st;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static work work_of(const subject *s, const bf_array *a, const bf_array *places, bf_reduction op) {
    static uint64_t values[ELEMENTS];
    static unsigned char fits[ELEMENTS];
    const kind k = *(const kind *)s->about;
    const int64_t columns = columns_of(k, s->a.shape[0]), height = s->a.shape[0] / columns;
    const bool placed = k == SEGMENTS || k == INDEX;
    const int64_t count = placed ? SLOTS * columns : k == AXIS_1 ? height : columns;
    work w = {k, op, s->nan, count, matrix_of(a, columns), *places, {0}, {0}};
    if (tells_by_states(op)) return w;
    w.values = bf_array_of(bf_reduce_dtype(op, s->a.dtype, NULL), values, count);
    if (placed) w.values = (bf_array){values, w.values.dtype, 2, {SLOTS, columns}, {columns, 1}};
    w.fits = w.values;
    w.fits.data = fits;
    w.fits.dtype = BF_BOOL;
    return w;
}

/* Adds the results of one reduction to a checksum. */
static bf_status tell_reduction(bf_context *context, const work *w, bool parts, uint64_t *sum) {
    uint64_t saved = 0;
    const bool by_states = tells_by_states(w->op);
    const bf_status st =
        parts || by_states ? tell_states(context, w, parts, &saved) : reduce_whole(context, w);
    *sum = verify_checksum(*sum, &saved, sizeof saved);
    if (by_states) return st;
    const size_t n = (size_t)w->count;
    *sum = verify_checksum(*sum, w->values.data, n * data_size(w->values.dtype));
    *sum = verify_checksum(*sum, w->fits.data, n);
    return st;
}

static outcome tell_all(bf_context *context, const subject *s, const bf_array *a,
                        const bf_array *places, bool parts) {
    outcome r = {.value.dtype = BF_U64};
    for (int i = 0; i < REDUCTIONS && r.status == BF_OK; i++) {
        const bf_reduction op = reductions[i];
        const work w =
            tells_by_states(op) ? work_of(s, &s->a, &s->b, op) : work_of(s, a, places, op);
        r.status = tell_reduction(context, &w, parts, &r.value.as.u64);
    }
    return r;
}

/* Reduces arrays in the memory of the device, to the host's. */
static outcome in_one_pass(bf_context *context, const subject *s) {
    bf_array a = s->a, places = s->b;
    outcome r = {.status = verify_move(context, &s->a, &a)};
    if (r.status == BF_OK) r.status = verify_move(context, &s->b, &places);
    if (r.status == BF_OK) r = tell_all(context, s, &a, &places, false);
    verify_unmove(context, &s->a, &a);
    verify_unmove(context, &s->b, &places);
    return r;
}

static outcome in_parts(bf_context *context, const subject *s) {
    return tell_all(context, s, &s->a, &s->b, true);
}

int verify_axes(const machine *m, const char *name, const bf_array *all, bf_nan_policy nan,
                verdict *v) {
    int64_t places[ELEMENTS / NARROW + SLOTS + 1];
    const int64_t n = all->shape[0] < ELEMENTS ? all->shape[0] : ELEMENTS;
    if (n == 0) return EXIT_DONE;
    for (kind k = AXIS_0; k < KINDS; k++) {
        const int64_t columns = columns_of(k, n), height = n / columns;
        const bf_array a = verify_slice(all, 0, height * columns),
                       b = bf_array_of(BF_I64, places, k == INDEX ? height : SLOTS + 1);
        const subject s = {.op = kind_names[k],
                           .data = name,
                           .a = a,
                           .b = b,
                           .nan = nan,
                           .about = &k,
                           .whole = in_one_pass,
                           .parts = in_parts};
        fill_places(k, height, places);
        const int code = verify_row(m, &s, v);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}
