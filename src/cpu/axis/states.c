/* Many states: the slots of accumulators, or words. */
#include "cpu/axis/kept.h"
#include "cpu/axis/places.h"
#include "cpu/axis/slots.h"

enum {
    WORTH = 4,             /* states for each element, above which elements enter them directly */
    WORDS_PIECE = 1 << 10, /* states of which a worker gives the words at a time */
    STATES_LEAST = 1 << 12 /* so many are worth a thread */
};

typedef struct states {
    bf_reduction op;
    bool keeps; /* words; else accumulators */
    bf_kept kept;
    bf_accumulator_column column;
    bf_accumulators accumulators;
} states;

static bf_status no_memory(bf_context *context) {
    return bf_fail(context, BF_E_MEMORY, "no memory for states");
}

/* Makes room for all states. */
static bool open_states(states *s, int64_t count) {
    if (s->keeps) return bf_kept_open(&s->kept, s->op, s->column.dtype, count);
    s->column = bf_slots_column(s->op, s->column.dtype);
    bf_accumulators_init(&s->accumulators, &s->column, 1);
    return count == 0 || bf_accumulators_grow(&s->accumulators, (size_t)count);
}

bf_status bf_cpu_states_create(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                               void **made) {
    states *s = bf_calloc(1, sizeof *s);
    if (s == NULL) return no_memory(context);
    s->op = op;
    s->keeps = bf_states_keep_words(op);
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
    if (s->keeps)
        bf_kept_close(&s->kept);
    else
        bf_accumulators_clear(&s->accumulators);
    bf_free(s);
}

/* The memory of the states stays; that of specials goes. */
void bf_cpu_states_clear(bf_context *context, void *of) {
    states *s = of;
    (void)context;
    if (s->keeps)
        bf_kept_reset(&s->kept);
    else
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

bf_status bf_cpu_states_absorb(bf_context *context, void *of, int64_t first, const void *a,
                               const void *b, const bf_rows *rows) {
    states *s = of;
    const bf_slots_job job = {s->op, s->column.dtype, a, NULL, rows, false};
    bf_status status = s->keeps ? check_places(context, rows) : BF_OK;
    if (status != BF_OK) return status;
    bf_environment environment = bf_environment_enter();
    status = s->keeps ? bf_kept_absorb(context, &s->kept, (size_t)first, a, b, rows)
                      : absorb_job(context, s, first, &job);
    bf_environment_leave(environment);
    return status;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bf_status merge_kept(bf_context *context, void *into, const void *from, bool append) {
    states *s = into;
    const states *other = from;
    bf_environment environment = bf_environment_enter(); /* trees multiply floats */
    bf_status status = bf_kept_merge(context, &s->kept, &other->kept, append);
    bf_environment_leave(environment);
    return status;
}

bf_status bf_cpu_states_append(bf_context *context, void *into, const void *from) {
    return merge_kept(context, into, from, true);
}

bf_status bf_cpu_states_seek(bf_context *context, void *of, const int64_t *next) {
    states *s = of;
    return bf_kept_seek(context, &s->kept, next);
}

bf_status bf_cpu_states_part(bf_context *context, void *of, bf_reduction op,
                             const bf_results *results) {
    const states *s = of;
    return bf_kept_result(context, &s->kept, op, results);
}

/* ---- merging --------------------------------------------------------------------------------- */

bf_status bf_cpu_states_merge(bf_context *context, void *into, const void *from) {
    states *s = into;
    const states *other = from;
    if (s->keeps) return merge_kept(context, into, from, false);
    bf_status status = bf_slots_merge(context, &s->accumulators, 0, &other->accumulators);
    return status == BF_E_MEMORY ? no_memory(context) : status;
}

/* ---- results and words ----------------------------------------------------------------------- */

bf_status bf_cpu_states_result(bf_context *context, void *of, bf_reduction op,
                               const bf_results *results) {
    const states *s = of;
    if (s->keeps) return bf_kept_result(context, &s->kept, op, results);
    return bf_slots_finish(context, &s->accumulators, op, results);
}

bf_status bf_cpu_states_counts(bf_context *context, void *of, void *counts) {
    const states *s = of;
    (void)context;
    for (size_t i = 0; s->keeps && i < s->kept.count; i++)
        memcpy((char *)counts + 8 * i, s->kept.words + i * s->kept.stride, 8);
    for (size_t i = 0; !s->keeps && i < s->accumulators.room; i++)
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
    const states *s = w->states;
    for (size_t i = (size_t)first; i < (size_t)(first + n); i++) {
        int64_t *words = w->words + i * w->each;
        if (s->keeps)
            bf_kept_words(&s->kept, w->first + i, words);
        else
            bf_accumulators_words(&s->accumulators, 0, s->op, w->first + i, words);
    }
    return BF_OK;
}

static size_t words_of(const states *s) { return (size_t)bf_states_words(s->op, s->column.dtype); }

bf_status bf_cpu_states_words(bf_context *context, void *of, int64_t first, int64_t n,
                              int64_t *words) {
    const states *s = of;
    words_job w = {s, (size_t)first, words_of(s), words};
    return bf_parallel_watched(context, bf_workers(context, n, STATES_LEAST), n, WORDS_PIECE, 0,
                               read_piece, &w);
}

static bf_status add_kept(bf_context *context, states *s, size_t first, size_t n,
                          const int64_t *words) {
    const size_t each = words_of(s);
    bf_status status = bf_kept_prepare_words(context, &s->kept, first, n, words);
    if (status != BF_OK) return status;
    bf_environment environment = bf_environment_enter(); /* trees multiply floats */
    for (size_t i = 0; i < n; i++) bf_kept_add_words(&s->kept, first + i, words + i * each);
    bf_environment_leave(environment);
    return BF_OK;
}

bf_status bf_cpu_states_add_words(bf_context *context, void *of, int64_t first, int64_t n,
                                  const int64_t *words) {
    states *s = of;
    const size_t each = words_of(s);
    bf_accumulators *a = &s->accumulators;
    if (s->keeps) return add_kept(context, s, (size_t)first, (size_t)n, words);
    if (!bf_accumulators_add_words(a, 0, s->op, (size_t)first, words, (size_t)n))
        return no_memory(context);
    for (size_t i = 0; i < (size_t)n; i++) /* the first word of every kind */
        bf_record(a, (size_t)first + i)[0] += words[i * each];
    return BF_OK;
}
