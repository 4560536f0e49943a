/* Many states: the slots of accumulators. */
#include "cpu/axis/places.h"
#include "cpu/axis/slots.h"

enum {
    WORTH = 4,             /* states for each element, above which elements enter them directly */
    WORDS_PIECE = 1 << 10, /* states of which a worker gives the words at a time */
    STATES_LEAST = 1 << 12 /* that are worth a thread */
};

typedef struct states {
    bf_reduction op;
    bf_accumulator_column column;
    bf_accumulators accumulators;
} states;

static bf_status no_memory(bf_context *context) {
    return bf_fail(context, BF_E_MEMORY, "no memory for states");
}

/* Makes room for all states. */
static bool open_states(states *s, int64_t count) {
    s->column = bf_slots_column(s->op, s->column.dtype);
    bf_accumulators_init(&s->accumulators, &s->column, 1);
    return count == 0 || bf_accumulators_grow(&s->accumulators, (size_t)count);
}

bf_status bf_cpu_states_create(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                               void **made) {
    states *s = bf_calloc(1, sizeof *s);
    if (s == NULL) return no_memory(context);
    s->op = op;
    s->column.dtype = dtype;
    if (!open_states(s, count)) {
        bf_free(s);
        return no_memory(context);
    }
    *made = s;
    return BF_OK;
}

void bf_cpu_states_destroy(bf_context *context, void *of) {
    states *s = of;
    (void)context;
    bf_accumulators_clear(&s->accumulators);
    bf_free(s);
}

/* The memory of the states stays; that of specials goes. */
void bf_cpu_states_clear(bf_context *context, void *of) {
    states *s = of;
    (void)context;
    bf_accumulators_reset(&s->accumulators);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Replaces states that have absorbed nothing by others. */
static void replace_states(states *s, const bf_accumulator_column *column,
                           const bf_accumulators *by) {
    bf_accumulators_clear(&s->accumulators);
    s->column = *column;
    s->accumulators = *by;
    s->accumulators.columns = &s->column;
}

/* Absorbs rows into slots that are merged into the states: a failure leaves these as they were. */
static bf_status absorb_apart(bf_context *context, states *s, int64_t first,
                              const bf_slots_job *job) {
    bf_accumulator_column column;
    bf_accumulators slots;
    bf_status status = bf_slots_make(context, job, &column, &slots);
    if (status != BF_OK) return status;
    if (s->accumulators.deposits == 0 && slots.room == s->accumulators.room) {
        replace_states(s, &column, &slots);
        return BF_OK;
    }
    status = bf_slots_merge(context, &s->accumulators, (size_t)first, &slots);
    bf_accumulators_clear(&slots);
    return status == BF_E_MEMORY ? no_memory(context) : status;
}

static bf_status absorb_directly(bf_context *context, states *s, int64_t first,
                                 const bf_slots_job *job) {
    bf_status status = bf_slots_absorb(context, job, (size_t)first, &s->accumulators);
    return status == BF_E_MEMORY ? no_memory(context) : status;
}

static bf_status check_places(bf_context *context, const bf_rows *rows) {
    bool skip;
    const bf_results none = {.queued = false};
    if (rows->by == BF_ROWS_BY_LENGTH) return BF_OK;
    return bf_check_places(context, rows, &none, &skip);
}

static bf_status absorb_job(bf_context *context, states *s, int64_t first,
                            const bf_slots_job *job) {
    const bf_rows *rows = job->rows;
    const bool apart = rows->slots / WORTH <= rows->count;
    bf_status status = BF_OK;
    if (!apart || rows->by == BF_ROWS_BY_OFFSETS) status = check_places(context, rows);
    if (status != BF_OK) return status;
    if (!apart) return absorb_directly(context, s, first, job);
    status = absorb_apart(context, s, first, job);
    return status == BF_E_ARGUMENT ? check_places(context, rows) : status;
}

bf_status bf_cpu_states_absorb(bf_context *context, void *of, int64_t first, const void *values,
                               const bf_rows *rows) {
    states *s = of;
    const bf_slots_job job = {s->op, s->column.dtype, values, rows, false};
    bf_environment environment = bf_environment_enter();
    bf_status status = absorb_job(context, s, first, &job);
    bf_environment_leave(environment);
    return status;
}

bf_status bf_cpu_states_merge(bf_context *context, void *into, const void *from) {
    states *s = into;
    const states *other = from;
    bf_status status = bf_slots_merge(context, &s->accumulators, 0, &other->accumulators);
    return status == BF_E_MEMORY ? no_memory(context) : status;
}

/* ---- results and words ----------------------------------------------------------------------- */

bf_status bf_cpu_states_result(bf_context *context, void *of, const bf_results *results) {
    const states *s = of;
    return bf_slots_finish(context, &s->accumulators, s->op, results);
}

bf_status bf_cpu_states_counts(bf_context *context, void *of, void *counts) {
    const states *s = of;
    (void)context;
    for (size_t i = 0; i < s->accumulators.room; i++)
        memcpy((char *)counts + 8 * i, bf_record(&s->accumulators, i), 8);
    return BF_OK;
}

typedef struct words_job {
    const states *states;
    size_t first, each;
    int64_t *words;
} words_job;

static bf_status read_piece(void *arg, int worker, int64_t first, int64_t n) {
    const words_job *w = arg;
    (void)worker;
    for (size_t i = (size_t)first; i < (size_t)(first + n); i++)
        bf_accumulators_words(&w->states->accumulators, 0, w->states->op, w->first + i,
                              w->words + i * w->each);
    return BF_OK;
}

static size_t words_of(const states *s) {
    return (size_t)bf_state_words(bf_kind_of(s->op, s->column.dtype), s->column.dtype, NULL);
}

bf_status bf_cpu_states_words(bf_context *context, void *of, int64_t first, int64_t n,
                              int64_t *words) {
    const states *s = of;
    words_job w = {s, (size_t)first, words_of(s), words};
    return bf_parallel_watched(context, bf_workers(context, n, STATES_LEAST), n, WORDS_PIECE, 0,
                               read_piece, &w);
}

bf_status bf_cpu_states_add_words(bf_context *context, void *of, int64_t first, int64_t n,
                                  const int64_t *words) {
    states *s = of;
    const size_t each = words_of(s);
    const bf_kind kind = bf_kind_of(s->op, s->column.dtype);
    bf_accumulators *a = &s->accumulators;
    if (!bf_accumulators_prepare_words(a, 0, kind, words, (size_t)n)) return no_memory(context);
    for (size_t i = 0; i < (size_t)n; i++) {
        bf_accumulators_add_words(a, 0, s->op, (size_t)first + i, words + i * each);
        bf_record(a, (size_t)first + i)[0] += words[i * each]; /* the first word of every kind */
    }
    return BF_OK;
}
