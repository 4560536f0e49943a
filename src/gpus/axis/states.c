#include "gpus/axis/states.h"

#include "gpus/runtime/context.h"
#include "rules/number/dtype.h"
#include "rules/reduce/state.h"

#include <stdlib.h>

/* The states of one GPU; NULL until needed. A call that several GPUs do either counts on all of
 * them or on none: its rows are absorbed into `fresh`, and are dropped from there if another GPU
 * fails. The next call merges them into `main`. */
typedef struct own_states {
    void *main, *fresh;
    bool main_has, fresh_has; /* rows */
    bool taken;               /* fresh has the rows of the call at hand */
} own_states;

typedef struct states {
    bf_context *context;
    const bf_axis_backend *by;
    bf_reduction op;
    bf_dtype dtype;
    int64_t count;
    int gpus;
    own_states own[];
} states;

/* ---- making ---------------------------------------------------------------------------------- */

static bf_status make_on(bf_context *one, const states *s, void **made) {
    return *made != NULL ? BF_OK : s->by->create(one, s->op, s->dtype, s->count, made);
}

bf_status bf_gpus_states_create(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                                void **made) {
    const int gpus = context->gpus->count;
    states *s = calloc(1, sizeof *s + (size_t)gpus * sizeof *s->own);
    if (s == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for states");
    s->context = context;
    s->by = context->gpus->by->axis;
    s->op = op;
    s->dtype = dtype;
    s->count = count;
    s->gpus = gpus;
    bf_context *one = bf_gpus_enter(context, 0, NULL, 0);
    bf_status status = bf_gpus_leave(context, 0, make_on(one, s, &s->own[0].main));
    if (status == BF_OK)
        *made = s;
    else
        free(s);
    return status;
}

void bf_gpus_states_destroy(bf_context *context, void *made) {
    states *s = made;
    for (int i = 0; i < s->gpus; i++) {
        bf_context *one = context->gpus->gpu[i].context;
        if (s->own[i].main != NULL) s->by->destroy(one, s->own[i].main);
        if (s->own[i].fresh != NULL) s->by->destroy(one, s->own[i].fresh);
    }
    free(s);
}

static void empty_main(bf_context *one, const states *s, own_states *own) {
    if (own->main != NULL) s->by->clear(one, own->main);
    own->main_has = false;
}

static void empty_fresh(bf_context *one, const states *s, own_states *own) {
    if (own->fresh != NULL) s->by->clear(one, own->fresh);
    own->fresh_has = false;
}

void bf_gpus_states_clear(bf_context *context, void *made) {
    states *s = made;
    for (int i = 0; i < s->gpus; i++) {
        bf_context *one = bf_gpus_enter(context, i, NULL, 0);
        empty_main(one, s, &s->own[i]);
        empty_fresh(one, s, &s->own[i]);
        bf_gpus_leave(context, i, BF_OK);
    }
}

/* ---- absorbing ------------------------------------------------------------------------------- */

/* Rows that are split among GPUs. */
typedef struct division {
    states *states;
    int64_t first;
    const char *a, *b; /* b: NULL but for pairs */
    const bf_rows *rows;
    int parts;
} division;

enum { STATE_BYTES = 64 /* the size of a usual state */ };

/* Is a call cut between slots, rather than between rows? */
static bool is_cut_by_slot(const bf_rows *rows) {
    return rows->by == BF_ROWS_BY_LENGTH && rows->slots > 1;
}

static int64_t grain_of(const bf_rows *rows) { return is_cut_by_slot(rows) ? rows->length : 1; }

/* How many GPUs are to take the rows of a call whose data are on none. Offsets are not cut, nor are
 * rows of fewer bytes than all states, which each GPU would have. */
static int count_parts(bf_context *context, const states *s, const bf_rows *rows) {
    if (rows->by == BF_ROWS_BY_OFFSETS) return 1;
    const int64_t row = rows->width * bf_dtype_bytes(s->dtype);
    if (s->count * STATE_BYTES > rows->count * row) return 1;
    const int64_t most = rows->count / grain_of(rows);
    const int worth = bf_gpus_worth(context, rows->count * row);
    return most < worth ? (int)most : worth;
}

/* The rows of one part. Sets *first to the number of the first of them. */
static bf_rows cut_rows(const division *d, int part, int64_t *first) {
    const int64_t grain = grain_of(d->rows), n = d->rows->count / grain;
    bf_rows cut = *d->rows;
    *first = bf_gpus_share(n, d->parts, part) * grain;
    cut.count = bf_gpus_share(n, d->parts, part + 1) * grain - *first;
    if (is_cut_by_slot(d->rows)) {
        cut.slots = cut.count / cut.length;
    } else if (cut.by == BF_ROWS_BY_LENGTH) {
        cut.length = cut.count;
    } else {
        cut.places = (const char *)cut.places + *first * bf_dtype_bytes(cut.places_dtype);
        cut.first += *first;
    }
    return cut;
}

static bf_status merge_fresh(void *arg, bf_context *context, int gpu) {
    states *s = arg;
    own_states *own = &s->own[gpu];
    if (!own->fresh_has) return BF_OK;
    bf_status status = make_on(context, s, &own->main);
    if (status == BF_OK) status = s->by->merge(context, own->main, own->fresh);
    if (status != BF_OK) return status;
    own->main_has = true;
    empty_fresh(context, s, own);
    return BF_OK;
}

static bf_status absorb_part(void *arg, bf_context *context, int gpu) {
    const division *d = arg;
    states *s = d->states;
    own_states *own = &s->own[gpu];
    int64_t first;
    const bf_rows rows = cut_rows(d, gpu, &first);
    const int64_t slot = is_cut_by_slot(d->rows) ? first / rows.length : 0;
    const int64_t at = first * rows.width * bf_dtype_bytes(s->dtype);
    const char *b = d->b != NULL ? d->b + at : NULL;
    bf_status status = merge_fresh(s, context, gpu);
    if (status == BF_OK) status = make_on(context, s, &own->fresh);
    if (status != BF_OK) return status;
    status = s->by->absorb(context, own->fresh, d->first + slot * rows.width, d->a + at, b, &rows);
    own->taken = own->fresh_has = status == BF_OK;
    return status;
}

static bf_status absorb_on_all(bf_context *context, division *d) {
    states *s = d->states;
    for (int i = 0; i < d->parts; i++) s->own[i].taken = false;
    bf_status status = bf_gpus_run(context, d->parts, absorb_part, d);
    for (int i = 0; i < d->parts && status != BF_OK; i++)
        if (s->own[i].taken) empty_fresh(context->gpus->gpu[i].context, s, &s->own[i]);
    return status;
}

static bf_status absorb_on_one(bf_context *context, int gpu, const division *d) {
    states *s = d->states;
    const void *memory[] = {d->a, d->b, d->rows->places};
    own_states *own = &s->own[gpu];
    bf_context *one = bf_gpus_enter(context, gpu, memory, 3);
    bf_status status = make_on(one, s, &own->main);
    if (status == BF_OK) status = s->by->absorb(one, own->main, d->first, d->a, d->b, d->rows);
    own->main_has |= status == BF_OK;
    return bf_gpus_leave(context, gpu, status);
}

bf_status bf_gpus_states_absorb(bf_context *context, void *made, int64_t first, const void *a,
                                const void *b, const bf_rows *rows) {
    division d = {made, first, a, b, rows, 1};
    const void *memory[] = {a, b, rows->places};
    const int gpu = bf_gpus_find(context, memory, 3);
    if (gpu < 0) d.parts = count_parts(context, d.states, rows);
    return d.parts > 1 ? absorb_on_all(context, &d) : absorb_on_one(context, gpu < 0 ? 0 : gpu, &d);
}

/* ---- together -------------------------------------------------------------------------------- */

enum { BATCH_BYTES = 1 << 20 /* words are copied so many bytes at a time */ };

/* Adds the words of states [first, first + n) of another GPU to states of the first. */
static bf_status copy_words(const states *s, int from, void *to, int64_t first, int64_t n,
                            int64_t *words) {
    bf_context *one = bf_gpus_enter(s->context, from, NULL, 0);
    bf_status status = s->by->words(one, s->own[from].main, first, n, words);
    status = bf_gpus_leave(s->context, from, status);
    if (status != BF_OK) return status;
    one = bf_gpus_enter(s->context, 0, NULL, 0);
    return bf_gpus_leave(s->context, 0, s->by->add_words(one, to, first, n, words));
}

static bf_status copy_states(const states *s, int from, void *to) {
    const int each = bf_state_words(bf_kind_of(s->op, s->dtype), s->dtype, NULL);
    const int64_t most = BATCH_BYTES / (8 * each), batch = most < s->count ? most : s->count;
    int64_t *words = malloc((size_t)(batch * each) * sizeof *words);
    if (words == NULL) return bf_fail(s->context, BF_E_MEMORY, "no memory to merge");
    bf_status status = BF_OK;
    for (int64_t at = 0; at < s->count && status == BF_OK; at += batch)
        status = copy_words(s, from, to, at, s->count - at < batch ? s->count - at : batch, words);
    free(words);
    return status;
}

/* Moves a GPU's states to the first one. A failure leaves them where they were. */
static bf_status move_states(states *s, int from) {
    bf_context *context = s->context;
    void *copy = NULL;
    bf_context *one = bf_gpus_enter(context, 0, NULL, 0);
    bf_status status = bf_gpus_leave(context, 0, make_on(one, s, &copy));
    if (status != BF_OK) return status;
    status = copy_states(s, from, copy);
    one = bf_gpus_enter(context, 0, NULL, 0);
    if (status == BF_OK) status = s->by->merge(one, s->own[0].main, copy);
    s->by->destroy(one, copy);
    bf_gpus_leave(context, 0, status);
    if (status != BF_OK) return status;
    s->own[0].main_has = true;
    empty_main(bf_gpus_enter(context, from, NULL, 0), s, &s->own[from]);
    return bf_gpus_leave(context, from, BF_OK);
}

static bf_status settle_states(states *s) {
    bool fresh = false;
    bf_status status = BF_OK;
    for (int i = 0; i < s->gpus; i++) fresh |= s->own[i].fresh_has;
    if (fresh) status = bf_gpus_run(s->context, s->gpus, merge_fresh, s);
    for (int i = 1; i < s->gpus && status == BF_OK; i++)
        if (s->own[i].main_has) status = move_states(s, i);
    return status;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* Brings the states together and enters the first GPU. NULL: that failed. */
static bf_context *enter_settled(bf_context *context, states *s, const void *a, const void *b,
                                 bf_status *status) {
    const void *memory[] = {a, b};
    *status = settle_states(s);
    return *status == BF_OK ? bf_gpus_enter(context, 0, memory, 2) : NULL;
}

bf_status bf_gpus_states_merge(bf_context *context, void *into, const void *from) {
    states *s = into, *f = (states *)(uintptr_t)from;
    bf_status status = settle_states(f);
    if (status != BF_OK && f->context != context)
        return bf_fail(context, status, "%s", f->context->message);
    if (status != BF_OK) return status;
    bf_context *one = bf_gpus_enter(context, 0, NULL, 0);
    status = s->by->merge(one, s->own[0].main, f->own[0].main);
    s->own[0].main_has |= status == BF_OK;
    return bf_gpus_leave(context, 0, status);
}

bf_status bf_gpus_states_result(bf_context *context, void *made, bf_reduction op,
                                const bf_results *results) {
    states *s = made;
    bf_status status;
    bf_context *one = enter_settled(context, s, results->values, results->fits, &status);
    if (one == NULL) return status;
    return bf_gpus_leave(context, 0, s->by->result(one, s->own[0].main, op, results));
}

bf_status bf_gpus_states_counts(bf_context *context, void *made, void *counts) {
    states *s = made;
    bf_status status;
    bf_context *one = enter_settled(context, s, counts, NULL, &status);
    return one == NULL ? status
                       : bf_gpus_leave(context, 0, s->by->counts(one, s->own[0].main, counts));
}

bf_status bf_gpus_states_words(bf_context *context, void *made, int64_t first, int64_t n,
                               int64_t *words) {
    states *s = made;
    bf_status status;
    bf_context *one = enter_settled(context, s, words, NULL, &status);
    if (one == NULL) return status;
    return bf_gpus_leave(context, 0, s->by->words(one, s->own[0].main, first, n, words));
}

bf_status bf_gpus_states_add_words(bf_context *context, void *made, int64_t first, int64_t n,
                                   const int64_t *words) {
    states *s = made;
    const void *memory[] = {words};
    bf_context *one = bf_gpus_enter(context, 0, memory, 1);
    bf_status status = s->by->add_words(one, s->own[0].main, first, n, words);
    s->own[0].main_has |= status == BF_OK;
    return bf_gpus_leave(context, 0, status);
}
