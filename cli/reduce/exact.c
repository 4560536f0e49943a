#include "reduce/exact.h"

#include "memory/temporary.h"
#include "reduce/paired.h"
#include "reduce/reduce.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* What a state costs beside what it saves. */
enum { STATE_BYTES = 128 };

typedef struct exact {
    many *x;
    bf_state **states; /* each slot has one for each of its results */
    int64_t count;     /* how many states there are */
    int64_t width;     /* results of a slot */
} exact;

int exact_digits(bf_reduction op) { return op == BF_PROD ? 0 : BF_SCALE_MOST_I128; }

/* Results that are in the units of the elements, or have none. */
static bool are_units(const many *x) {
    return many_has_empty(x->op) || (x->op == BF_SUM && x->rules.out_dtype == BF_NONE);
}

bool exact_wanted(const many *x) {
    const matrix *m = &x->input[0];
    return x->overflows || matrix_dtype(m) == BF_I128 || (matrix_scale(m) > 0 && !are_units(x));
}

int exact_leave(many *x) {
    matrix *const of[] = {&x->input[0], &x->input[1]};
    if (matrix_scale(of[0]) == 0 && matrix_dtype(of[0]) != BF_I128) return EXIT_DONE;
    for (int i = 0; i < x->inputs; i++)
        for (int k = 0; k < of[i]->rows.columns; k++) rows_take_doubles(&of[i]->rows, k);
    inform(of[0]->rows.source.name, "taken as f64: saved states of many values have no scale");
    return matrix_settle(of, x->inputs);
}

/* ---- states ---------------------------------------------------------------------------------- */

static int refuse_memory(const exact *e) {
    fail(EXIT_USAGE, e->x->input[0].rows.source.name,
         "--memory is too small: there are %" PRId64 " results at a time", e->count);
    hint("--dtype f64 takes less for each");
    return EXIT_USAGE;
}

static int open_states(exact *e) {
    const matrix *m = &e->x->input[0];
    const int64_t most = e->x->task->options->memory.results;
    bf_context *context = e->x->task->context;
    bf_status st = BF_OK;
    int64_t bytes = 0;
    e->states = calloc((size_t)e->count + 1, sizeof *e->states);
    if (!e->states) return fail_memory(m->rows.source.name);
    for (int64_t i = 0; i < e->count && st == BF_OK; i++) {
        st = bf_state_create(context, e->x->op, matrix_dtype(m), &e->states[i]);
        if (st == BF_OK) st = bf_state_rescale(e->states[i], matrix_scale(m));
        if (st == BF_OK) bytes += STATE_BYTES + (int64_t)bf_state_save_size(e->states[i]);
        if (most > 0 && bytes > most) return refuse_memory(e);
    }
    return st == BF_OK ? EXIT_DONE : many_call_failed(e->x, st);
}

static void close_states(exact *e) {
    for (int64_t i = 0; e->states && i < e->count; i++) bf_state_destroy(e->states[i]);
    free(e->states);
}

/* ---- results --------------------------------------------------------------------------------- */

static bf_value count_of(int64_t n) { return (bf_value){.dtype = BF_I64, .as.i64 = n}; }

static bf_status describe(const many *x, const bf_state *state, bf_value values[RESULTS_COLUMNS]) {
    bf_description d = {.size = sizeof d};
    const bf_status st = bf_state_description(state, &x->task->options->rules, &d);
    const bf_value of[RESULTS_COLUMNS] = {
        count_of(d.n), count_of(d.nan),    count_of(d.inf), d.min,  count_of(d.argmin),
        d.max,         count_of(d.argmax), d.sum,           d.mean, d.std};
    for (int k = 0; k < RESULTS_COLUMNS; k++) values[k] = of[k];
    return st;
}

static int refuse_empty(const many *x) {
    fail(EXIT_DATA, x->input[0].rows.source.name,
         "no value: the %s of no elements (result %" PRId64 ")", bf_reduction_name(x->op),
         x->results.count);
    hint("--empty VALUE stands for what there is not");
    return EXIT_DATA;
}

/* Adds the values of a state to the results. */
static int take_state(const exact *e, const bf_state *state) {
    many *x = e->x;
    bf_value values[RESULTS_COLUMNS];
    bf_status st = x->op == BF_DESCRIBE ? describe(x, state, values)
                   : x->line            ? paired_take_line(state, &x->rules, values)
                                        : bf_state_result(state, &x->rules, values);
    if (st == BF_E_EMPTY && x->rules.empty) {
        values[0] = x->empty;
        st = BF_OK;
    }
    if (st == BF_E_EMPTY) return refuse_empty(x);
    if (st != BF_OK) return many_call_failed(x, st);
    for (int k = 0; k < x->results.columns; k++)
        if (!results_add(&x->results, k, &values[k], 1)) return temporary_failed(errno);
    x->results.count++;
    return EXIT_DONE;
}

static int take_states(const exact *e) {
    int code = EXIT_DONE;
    for (int64_t i = 0; i < e->count && code == EXIT_DONE; i++) code = take_state(e, e->states[i]);
    return code;
}

/* ---- absorbing ------------------------------------------------------------------------------- */

/* Returns what state k of a slot takes of n rows of a slab from row i on: a column, or all. */
static bf_array part_of(const exact *e, const bf_array *slab, int64_t i, int64_t n, int64_t k) {
    const int64_t unit = e->x->input[0].unit, step = e->width == 1 ? 1 : unit;
    const char *const data = slab->data;
    bf_array part =
        bf_array_of(slab->dtype, data + (size_t)(i * unit + k) * bf_dtype_size(slab->dtype),
                    e->width == 1 ? n * unit : n);
    part.strides[0] = step;
    return part;
}

/* Absorbs n rows, from row i of a slab on, into the states of a slot. The indices by --index are
 * those of all rows. */
static bf_status absorb_run(const exact *e, const bf_array of[2], int64_t i, int64_t n,
                            int64_t slot, int64_t row) {
    const many *x = e->x;
    const bool sought = x->by->kind == BY_INDEX && reduce_is_ordered(x->op);
    bf_status st = BF_OK;
    for (int64_t k = 0; k < e->width && st == BF_OK; k++) {
        bf_state *const state = e->states[slot * e->width + k];
        const bf_array a = part_of(e, &of[0], i, n, k);
        if (sought) st = bf_state_seek(state, row);
        if (st == BF_OK && x->inputs == 1) st = bf_state_absorb(state, &a);
        if (st != BF_OK || x->inputs == 1) continue;
        const bf_array b = part_of(e, &of[1], i, n, k);
        st = bf_state_absorb_pair(state, &a, &b);
    }
    return st;
}

/* Rows with results of their own take a state in turn. */
static int absorb_slab(const exact *e, const bf_array of[2]) {
    const matrix *m = &e->x->input[0];
    const int64_t first = m->at - of[0].shape[0];
    int code = EXIT_DONE;
    for (int64_t row = first, next; row < m->at && code == EXIT_DONE; row = next) {
        int64_t slot;
        next = places_run(e->x->by, row, m->at, &slot);
        if (slot < 0) continue;
        const bf_status st = absorb_run(e, of, row - first, next - row, slot, row);
        if (st != BF_OK) return many_call_failed(e->x, st);
        if (!places_keep_first(e->x->by)) continue;
        code = take_states(e);
        bf_state_clear(e->states[0]);
    }
    return code;
}

static int check_lengths(const many *x, const bf_array of[2]) {
    if (x->inputs == 1 || of[0].shape[0] == of[1].shape[0]) return EXIT_DONE;
    return fail(EXIT_DATA, x->input[1].rows.source.name, "%s: it is not that of %s",
                bf_status_string(BF_E_SHAPE), x->input[0].rows.source.name);
}

static int absorb_slabs(const exact *e) {
    many *x = e->x;
    bf_array of[2];
    bool more = true;
    int64_t n;
    int code = many_slab(x, &n);
    if (code == EXIT_DONE) code = places_check(x->by, x->input[0].shape[0]);
    while (code == EXIT_DONE && more) {
        code = many_next(x, n, of, &more);
        if (more) code = check_lengths(x, of);
        if (more && code == EXIT_DONE) code = absorb_slab(e, of);
    }
    return code == EXIT_DONE ? places_check(x->by, x->input[0].at) : code;
}

int exact_work(many *x) {
    const matrix *m = &x->input[0];
    const bool keeps_first = places_keep_first(x->by);
    exact e = {.x = x, .width = x->by->reduced & 2 ? 1 : m->unit};
    e.count = e.width * (x->by->kind == BY_AXES ? 1 : x->by->slots);
    int code = open_states(&e);
    if (code == EXIT_DONE) code = absorb_slabs(&e);
    if (code == EXIT_DONE && !keeps_first) code = take_states(&e);
    close_states(&e);
    return code;
}
