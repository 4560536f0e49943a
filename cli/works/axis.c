/* Reductions of many at once; a row has the results of all reductions. */
#include "reduce/reduce.h"
#include "works/data.h"
#include "works/works.h"

#include <stdlib.h>
#include <string.h>

/* A matrix of at most so many elements and columns; of NARROW columns if rows go to slots. */
enum { ELEMENTS = 4355, COLUMNS = 65, NARROW = 17, SLOTS = 19 };

/* What is taken together: what a task does. */
enum { AXIS_0, AXIS_1, SEGMENTS, INDEX, WAYS };
static const char *const way_names[WAYS] = {"axis 0", "axis 1", "segments", "index"};

static bf_reduction reduction_of(const task *t) { return data_reductions[t->kind]; }

static bool is_placed(const task *t) { return t->what == SEGMENTS || t->what == INDEX; }

/* Is the saved form of the states told, not their results? Such states are in host memory. */
static bool tells_by_states(const task *t) {
    return bf_reduction_arrays(reduction_of(t)) == 2 || reduction_of(t) == BF_DESCRIBE;
}

/* States know nothing of a policy of NaNs: the row of the first policy tells them for all. */
static bool is_told(const task *t) { return tells_by_states(t) && t->nan != BF_NAN_PROPAGATE; }

static int64_t count_of(const task *t) {
    const int64_t height = t->a.shape[0], columns = t->a.shape[1];
    return is_placed(t) ? SLOTS * columns : t->what == AXIS_1 ? height : columns;
}

/* Room for the results, and for whether each fits. */
static bf_array values_of(const task *t) {
    static uint64_t values[ELEMENTS];
    const bf_dtype dtype = bf_reduce_dtype(reduction_of(t), t->a.dtype, NULL);
    const int64_t columns = t->a.shape[1];
    if (!is_placed(t)) return bf_array_of(dtype, values, count_of(t));
    return (bf_array){values, dtype, 2, {SLOTS, columns}, {columns, 1}};
}

static bf_array fits_of(const task *t) {
    static unsigned char fits[ELEMENTS];
    bf_array a = values_of(t);
    a.data = fits;
    a.dtype = BF_BOOL;
    return a;
}

static bf_reduce_options rules_of(const task *t, bf_value *empty) {
    const bf_reduction op = reduction_of(t);
    const bf_result_class gives = bf_reduction_result(op);
    const bool needs = gives == BF_RESULT_ELEMENT || gives == BF_RESULT_INDEX;
    *empty = (bf_value){.dtype = bf_reduce_dtype(op, t->a.dtype, NULL)};
    return BF_REDUCE_OPTIONS(.nan = t->nan, .empty = needs ? empty : NULL);
}

/* places: of segments or an index. */
static bf_status reduce(bf_context *context, bf_reduction op, int way, const bf_array *a,
                        const bf_array *places, const bf_reduce_options *rules,
                        const bf_array *values, const bf_array *fits) {
    const int axis = way == AXIS_1;
    switch (way) {
    case SEGMENTS: return bf_reduce_segments(context, op, a, places, rules, values, fits);
    case INDEX: return bf_reduce_index(context, op, a, places, rules, values, fits);
    default: return bf_reduce_axes(context, op, a, &axis, 1, rules, values, fits);
    }
}

/* Their checksum begins where that of a saved form would be. */
static bf_status add_results(task *t, bf_status st) {
    const bf_array values = values_of(t), fits = fits_of(t);
    work_add_value(t, &(bf_value){.as.u64 = 0});
    st = work_add_array(t, st, &values);
    return work_add_array(t, st, &fits);
}

/* ---- states ---------------------------------------------------------------------------------- */

static bf_status create(const task *t, work_object *o) {
    return bf_states_create(t->context, reduction_of(t), t->a.dtype, count_of(t), &o->saved.states);
}

static bf_status absorb_places(const task *t, bf_states *states, const bf_array *part,
                               const bf_array *places) {
    const bool pairs = bf_reduction_arrays(reduction_of(t)) == 2;
    if (t->what == INDEX)
        return pairs ? bf_states_absorb_pair_index(states, part, part, places)
                     : bf_states_absorb_index(states, part, places);
    return pairs ? bf_states_absorb_pair_segments(states, part, part, places)
                 : bf_states_absorb_segments(states, part, places);
}

static bf_status absorb_axis(const task *t, bf_states *states, const bf_array *part) {
    const int axis = t->what == AXIS_1;
    return bf_reduction_arrays(reduction_of(t)) == 2
               ? bf_states_absorb_pair_axes(states, part, part, &axis, 1)
               : bf_states_absorb_axes(states, part, &axis, 1);
}

static bf_status absorb(task *t, work_object *o, int64_t first, int64_t end) {
    const bf_array part = work_slice(&t->a, first, end);
    const int64_t *all = t->b.data;
    int64_t clipped[SLOTS + 1];
    if (!is_placed(t)) return absorb_axis(t, o->saved.states, &part);
    bf_array places = work_slice(&t->b, first, end);
    for (int i = 0; i <= SLOTS && t->what == SEGMENTS; i++)
        clipped[i] = (all[i] < first ? first : all[i] > end ? end : all[i]) - first;
    if (t->what == SEGMENTS) places = bf_array_of(BF_I64, clipped, SLOTS + 1);
    return absorb_places(t, o->saved.states, &part, &places);
}

static bf_status tell(task *t, work_object *o) {
    bf_value empty;
    const bf_reduce_options rules = rules_of(t, &empty);
    const bf_array values = values_of(t), fits = fits_of(t);
    if (!tells_by_states(t))
        return add_results(t, bf_states_result(o->saved.states, &rules, &values, &fits));
    const outcome saved = work_result(&o->saved, NULL);
    work_add_value(t, &saved.value);
    return saved.status;
}

static bf_status whole(task *t) {
    bf_value empty;
    const bf_reduce_options rules = rules_of(t, &empty);
    const bf_array values = values_of(t), fits = fits_of(t);
    if (is_told(t)) return BF_OK;
    if (tells_by_states(t)) return work_absorb(t, 1);
    return add_results(
        t, reduce(t->context, reduction_of(t), t->what, &t->a, &t->b, &rules, &values, &fits));
}

/* A product depends on the index of each element. */
static bool in_turn(const task *t) { return reduction_of(t) == BF_PROD; }

/* Parts of rows are whole rows: there is nothing to merge. */
static bf_status parts(task *t) {
    return is_told(t) ? BF_OK : work_absorb(t, t->what == AXIS_1 ? 1 : WORK_PARTS);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Offsets, with empty segments among them; or slots that are taken often, rarely and never. */
static void fill_places(int way, int64_t height, int64_t *places) {
    for (int64_t i = 0; i <= SLOTS; i++) places[i] = height * (i / 3 * 3) / SLOTS;
    for (int64_t i = 0; i < height && way == INDEX; i++) places[i] = i * i % 7 * (i % 5);
}

static bool row(task *t, int way) {
    const int64_t all = t->a.shape[0], n = all < ELEMENTS ? all : ELEMENTS;
    if (way == WAYS || n == 0) return false;
    t->op = way_names[way];
    t->what = way;
    const int64_t most = is_placed(t) ? NARROW : COLUMNS;
    const int64_t columns = n < most ? n : most, height = n / columns;
    while (data_reductions[t->kinds]) t->kinds++;
    t->a = (bf_array){t->a.data, t->a.dtype, 2, {height, columns}, {columns, 1}};
    t->b = bf_array_of(BF_I64, t->room, way == INDEX ? height : SLOTS + 1);
    fill_places(way, height, t->room);
    return true;
}

/* ---- bench ----------------------------------------------------------------------------------- *
 *
 * The data are named OP-WAY-N: "sum-axis0-16" sums the columns of a matrix of rows of 16,
 * "var-axis1-64" takes the variances of rows of 64, "sum-segments-8" sums segments of 8. */

enum { ARRAY, OFFSETS, RESULTS };

typedef struct many {
    bf_reduction op;
    int way;
    int64_t length;
} many;

static const char *const points[][2] = {{"f32", "sum-axis0-4096"},  {"f32", "sum-axis1-4096"},
                                        {"f32", "sum-axis0-16"},    {"f32", "sum-axis1-16"},
                                        {"f32", "var-axis0-4096"},  {"f32", "var-axis1-4096"},
                                        {"f32", "min-axis0-4096"},  {"f64", "sum-axis0-4096"},
                                        {"f64", "sum-axis1-4096"},  {"f32", "sum-segments-8"},
                                        {"f32", "sum-segments-64"}, {"f32", "sum-segments-1024"},
                                        {"i32", "sum-axis0-4096"},  {NULL, NULL}};

/* Whole rows of any length that is measured. */
static size_t fit_rows(size_t n) { return n < 4096 ? 4096 : n / 4096 * 4096; }

static many read_name(const char *name) {
    char op[8] = "";
    const char *way = strchr(name, '-') + 1;
    memcpy(op, name, (size_t)(way - 1 - name));
    const bool axis = strncmp(way, "axis", 4) == 0;
    return (many){.op = bf_reduction_from_name(op),
                  .way = !axis           ? SEGMENTS
                         : way[4] == '1' ? AXIS_1
                                         : AXIS_0,
                  .length = atoll(strchr(way, '-') + 1)};
}

static void offsets_part(const bench_point *p, size_t first, size_t n, void *to) {
    const many m = read_name(p->data);
    for (size_t i = 0; i < n; i++) ((int64_t *)to)[i] = (int64_t)(first + i) * m.length;
}

static void vectors(const bench_point *p, point_vector v[POINT_VECTORS]) {
    const many m = read_name(p->data);
    const bf_dtype dtype = bf_dtype_from_name(p->dtype);
    const size_t height = p->count / (size_t)m.length;
    v[ARRAY] = (point_vector){dtype, p->count, point_elements};
    if (m.way == SEGMENTS) v[OFFSETS] = (point_vector){BF_I64, height + 1, offsets_part};
    v[RESULTS] = (point_vector){bf_reduce_dtype(m.op, dtype, NULL),
                                m.way == AXIS_0 ? (size_t)m.length : height, NULL};
}

static bf_status pass(const bench_point *p, const work_object *o, const bf_array *v) {
    const many m = read_name(p->data);
    bf_array a = v[ARRAY];
    (void)o;
    if (m.way != SEGMENTS)
        a = (bf_array){a.data, a.dtype, 2, {a.shape[0] / m.length, m.length}, {m.length, 1}};
    return reduce(p->context, m.op, m.way, &a, &v[OFFSETS], NULL, &v[RESULTS], NULL);
}

const work work_axis = {
    .row = row,
    .room = (ELEMENTS / NARROW + SLOTS + 1) * sizeof(int64_t),
    .stays = tells_by_states,
    .in_turn = in_turn,
    .whole = whole,
    .parts = parts,
    .create = create,
    .absorb = absorb,
    .tell = tell,
    .measure =
        &(const measure){
            .work = "axis",
            .item = "elements",
            .points = {points, points},
            .counts = {{{1 << 24}, {1 << 20}}, {{1 << 28}, {1 << 24}}},
            .fit = fit_rows,
            .vectors = vectors,
            .pass = pass,
        },
};
