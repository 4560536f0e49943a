/* Rows into accumulators: each worker absorbs pieces into slots of its own, which are merged when
 * all are done. A long run of elements of one slot is reduced by the loops of a whole array. */
#include "cpu/axis/slots.h"

#include "cpu/axis/places.h"

enum {
    PIECE = 1 << 16,          /* elements that a worker takes at a time */
    ELEMENTS_LEAST = 1 << 16, /* so many are worth a thread */
    SLOTS_LEAST = 1 << 14,    /* so many are worth a thread when they merge */
    SLOTS_PIECE = 1 << 12,
    BATCH = 128,   /* elements whose slots are listed at a time */
    RUN_LEAST = 64 /* elements of a slot in a row that are reduced as an array */
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- the slot of each element ---------------------------------------------------------------- */

/* The first and the last but one of the rows that have a slot. */
static int64_t first_row(const bf_rows *rows) {
    return rows->by == BF_ROWS_BY_OFFSETS ? bf_place_at(rows, 0) : 0;
}
static int64_t end_row(const bf_rows *rows) {
    return rows->by == BF_ROWS_BY_OFFSETS ? bf_place_at(rows, rows->slots) : rows->count;
}

/* The slot of a row that has one, by offsets: the last that begins at or before it. */
static int64_t find_segment(const bf_rows *rows, int64_t row) {
    int64_t low = 0, high = rows->slots - 1;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (bf_place_at(rows, middle) <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Where a walk over rows is. */
typedef struct cursor {
    const bf_rows *rows;
    const bf_accumulate_loops *loops;
    int64_t row, column; /* where the next element is */
    int64_t slot;        /* the row's */
} cursor;

static void find_slot(cursor *c) {
    const bf_rows *rows = c->rows;
    if (c->row >= end_row(rows)) return;
    switch (rows->by) {
    case BF_ROWS_BY_LENGTH: c->slot = c->row / rows->length; break;
    case BF_ROWS_BY_INDEX: c->slot = bf_place_at(rows, c->row); break;
    default:
        while (bf_place_at(rows, c->slot + 1) <= c->row) c->slot++;
    }
}

static cursor begin_walk(const bf_rows *rows, const bf_accumulate_loops *loops, int64_t element) {
    cursor c = {rows, loops, element / rows->width, element % rows->width, 0};
    if (rows->by == BF_ROWS_BY_OFFSETS) c.slot = find_segment(rows, c.row);
    find_slot(&c);
    return c;
}

/* The places of the next elements, if these are rows by index. */
static bf_stream places_from(const cursor *c) {
    const bf_rows *rows = c->rows;
    const int bytes = bf_dtype_bytes(rows->places_dtype);
    if (rows->by != BF_ROWS_BY_INDEX || rows->width > 1) return bf_stream_none();
    return (bf_stream){(const char *)rows->places + c->row * bytes, bytes};
}

/* Elements from the next one on, in one column, that go to its slot. */
static int64_t run_length(const cursor *c) {
    const bf_rows *rows = c->rows;
    if (rows->width > 1) return 1;
    if (rows->by == BF_ROWS_BY_LENGTH) return (c->slot + 1) * rows->length - c->row;
    if (rows->by == BF_ROWS_BY_OFFSETS) return bf_place_at(rows, c->slot + 1) - c->row;
    return 1;
}

/* Sets the slots of the next n elements, counted from `first`. false: the index is wrong. */
static bool walk_elements(cursor *c, int64_t n, uint32_t first, uint32_t *slots) {
    const bf_rows *rows = c->rows;
    if (rows->by == BF_ROWS_BY_INDEX && rows->width == 1) { /* each row on its own */
        const int64_t bytes = bf_dtype_bytes(rows->places_dtype);
        const char *places = (const char *)rows->places + c->row * bytes;
        c->row += n;
        return c->loops->list(places, rows->places_dtype, (uint64_t)rows->slots, n, first, slots);
    }
    for (int64_t i = 0; i < n;) {
        const int64_t some = least(rows->width - c->column, n - i);
        if (c->slot < 0 || c->slot >= rows->slots) return false;
        const uint32_t at = first + (uint32_t)(c->slot * rows->width + c->column);
        for (int64_t k = 0; k < some; k++) slots[i + k] = at + (uint32_t)k;
        i += some;
        c->column += some;
        if (c->column < rows->width) continue;
        c->column = 0;
        c->row++;
        find_slot(c);
    }
    return true;
}

static void skip_elements(cursor *c, int64_t n) {
    c->row += n;
    find_slot(c);
}

/* ---- absorbing ------------------------------------------------------------------------------- */

/* Where a worker absorbs. */
typedef struct absorber {
    const bf_slots_job *job;
    const bf_isa *isa;
    bf_accumulators *into;
    uint32_t first; /* slot of `into` */
    bool runs;      /* may reduce runs, which may need more memory than their values */
    bf_reducer reducer;
} absorber;

/* Absorbs n elements of one slot as an array. */
static bool absorb_run(absorber *x, int64_t element, int64_t n, size_t slot) {
    const bf_kind kind = bf_kind_of(x->job->op, x->job->dtype);
    const bf_job job = {.op = x->job->op,
                        .kind = kind,
                        .dtype = x->job->dtype,
                        .a = x->job->values,
                        .count = element + n,
                        .every_zero = true};
    int64_t words[BF_SUM_WORDS_MAX];
    memset(words, 0, sizeof words);
    if (kind == BF_KIND_EXTREME) bf_extreme_init(words);
    if (kind == BF_KIND_EXTREME)
        bf_extreme_absorb(&x->reducer, &job, element, n, words);
    else
        bf_sum_absorb(&x->reducer, &job, element, n, words);
    if (!bf_accumulators_add_words(x->into, 0, job.op, slot, words, 1)) return false;
    bf_record(x->into, slot)[0] += n;
    return true;
}

static bool absorb_batch(absorber *x, const bf_rows_batch *b) {
    return bf_accumulators_open(x->into, x->isa->accumulate, b->slots, b->n) &&
           bf_accumulators_absorb(x->into, x->isa->accumulate, 0, b);
}

/* Absorbs elements [first, end). Errors: BF_E_MEMORY, BF_E_ARGUMENT (the index is wrong). */
static bf_status absorb_elements(absorber *x, int64_t first, int64_t end) {
    uint32_t slots[BATCH];
    const int bytes = bf_dtype_bytes(x->job->dtype);
    const char *const second = x->job->second;
    cursor c = begin_walk(x->job->rows, x->isa->accumulate, first);
    for (int64_t at = first, n; at < end; at += n) {
        n = least(run_length(&c), end - at);
        if (x->runs && n >= RUN_LEAST) {
            if (!absorb_run(x, at, n, x->first + (size_t)c.slot)) return BF_E_MEMORY;
            skip_elements(&c, n);
            continue;
        }
        n = least(BATCH, end - at);
        const bf_rows_batch batch = {.slots = slots,
                                     .values = x->job->values + at * bytes,
                                     .second = second != NULL ? second + at * bytes : NULL,
                                     .n = n,
                                     .other = places_from(&c)};
        if (!walk_elements(&c, n, x->first, slots)) return BF_E_ARGUMENT;
        if (!absorb_batch(x, &batch)) return BF_E_MEMORY;
    }
    return BF_OK;
}

/* ---- many workers ---------------------------------------------------------------------------- */

typedef struct make_job {
    const bf_slots_job *job;
    const bf_isa *isa;
    int64_t begin; /* the first element that has a slot */
    bf_accumulator_column *columns;
    bf_accumulators *accumulators; /* one for each worker; no room: not begun yet */
    size_t room;
} make_job;

static bool open_slots(const make_job *m, bf_accumulators *a) {
    const bf_slots_job *job = m->job;
    const int64_t n = end_row(job->rows) * job->rows->width - m->begin;
    const int64_t at = m->begin * bf_dtype_bytes(job->dtype);
    const char *second = job->second != NULL ? job->second + at : NULL;
    return bf_accumulators_expect(a, 0, job->values + at, second, n) &&
           bf_accumulators_grow(a, m->room);
}

static bf_status absorb_piece(void *arg, int worker, int64_t first, int64_t n) {
    make_job *m = arg;
    bf_accumulators *a = &m->accumulators[worker];
    absorber x = {m->job, m->isa, a, 0, true, {.isa = m->isa}};
    if (a->room == 0 && !open_slots(m, a)) return BF_E_MEMORY;
    return absorb_elements(&x, m->begin + first, m->begin + first + n);
}

/* Absorbs all elements into the accumulators of the workers, and merges these into the first. */
static bf_status absorb_all(bf_context *context, make_job *m, int workers) {
    const bf_rows *rows = m->job->rows;
    const int64_t n = (end_row(rows) - first_row(rows)) * rows->width;
    bf_accumulators *a = m->accumulators;
    bf_status status = bf_parallel_watched(context, workers, n, PIECE,
                                           n * bf_dtype_bytes(m->job->dtype), absorb_piece, m);
    if (status == BF_OK && a->room == 0 && !bf_accumulators_grow(a, m->room)) status = BF_E_MEMORY;
    for (int w = 1; w < workers && status == BF_OK; w++) {
        if (a[w].room > 0) status = bf_slots_merge(context, a, 0, &a[w]);
        bf_accumulators_clear(&a[w]);
    }
    return status;
}

static int slots_workers(const bf_context *context, const bf_rows *rows) {
    const int64_t slots = rows->slots * rows->width, n = rows->count * rows->width;
    return bf_workers(context, n, slots > ELEMENTS_LEAST ? slots : ELEMENTS_LEAST);
}

/* As bf_slots_make, with no message. uncounted: without the counts of rows, which fails, like a
 * lack of memory, if there are specials. */
static bf_status make_slots(bf_context *context, const bf_slots_job *job, int workers,
                            bool uncounted, bf_accumulator_column *column, bf_accumulators *made) {
    const bf_rows *rows = job->rows;
    make_job m = {.job = job, .isa = context->cpu->isa, .begin = first_row(rows) * rows->width};
    m.room = (size_t)(rows->slots * rows->width);
    m.columns = bf_calloc((size_t)workers, sizeof *m.columns);
    m.accumulators = bf_calloc((size_t)workers, sizeof *m.accumulators);
    bf_status status = m.columns != NULL && m.accumulators != NULL ? BF_OK : BF_E_MEMORY;
    for (int w = 0; w < workers && status == BF_OK; w++) {
        m.columns[w] = bf_slots_column(job->op, job->dtype);
        bf_accumulators_init(&m.accumulators[w], &m.columns[w], 1);
        if (uncounted) bf_accumulators_uncount(&m.accumulators[w]);
    }
    if (status == BF_OK) {
        status = absorb_all(context, &m, workers);
        if (status != BF_OK)
            for (int w = 0; w < workers; w++) bf_accumulators_clear(&m.accumulators[w]);
        *column = m.columns[0];
        *made = m.accumulators[0];
        made->columns = column;
    }
    bf_free(m.columns);
    bf_free(m.accumulators);
    return status;
}

/* How much memory a worker needs depends on the bits of the values, so one alone is the last try.
 */
bf_status bf_slots_make(bf_context *context, const bf_slots_job *job, bf_accumulator_column *column,
                        bf_accumulators *made) {
    const bf_accumulator_column kept = bf_slots_column(job->op, job->dtype);
    const int64_t n = job->rows->count * job->rows->width;
    const int workers = slots_workers(context, job->rows);
    bf_status status = BF_E_MEMORY;
    if (job->uncounted && !bf_accumulator_column_expects_specials(&kept, job->values, n))
        status = make_slots(context, job, workers, true, column, made);
    if (status == BF_E_MEMORY) status = make_slots(context, job, workers, false, column, made);
    if (status == BF_E_MEMORY && workers > 1)
        status = make_slots(context, job, 1, false, column, made);
    return status == BF_E_MEMORY ? bf_fail(context, status, "no memory for slots") : status;
}

/* Nothing can fail once there is room for all values. */
bf_status bf_slots_absorb(bf_context *context, const bf_slots_job *job, size_t first,
                          bf_accumulators *into) {
    const bf_rows *rows = job->rows;
    const int64_t begin = first_row(rows) * rows->width, end = end_row(rows) * rows->width;
    const char *values = job->values + begin * bf_dtype_bytes(job->dtype);
    absorber x = {job, context->cpu->isa, into, (uint32_t)first, false, {.isa = NULL}};
    if (!bf_accumulators_ready(into, 0, values, end - begin)) return BF_E_MEMORY;
    return absorb_elements(&x, begin, end);
}

/* ---- merging --------------------------------------------------------------------------------- */

typedef struct merge_job {
    const bf_accumulators *into, *from;
    size_t first;
} merge_job;

static bf_status merge_piece(void *arg, int worker, int64_t first, int64_t n) {
    const merge_job *m = arg;
    (void)worker;
    for (int64_t i = first; i < first + n; i++)
        bf_accumulators_merge(m->into, m->first + (size_t)i, m->from, (size_t)i, NULL);
    return BF_OK;
}

bf_status bf_slots_merge(bf_context *context, bf_accumulators *into, size_t first,
                         const bf_accumulators *from) {
    merge_job m = {into, from, first};
    const int64_t n = (int64_t)from->room;
    if (!bf_accumulators_prepare(into, from, NULL)) return BF_E_MEMORY;
    return bf_parallel(context, bf_workers(context, n, SLOTS_LEAST), n, SLOTS_PIECE, merge_piece,
                       &m);
}

/* ---- results --------------------------------------------------------------------------------- */

typedef struct finish_job {
    const bf_accumulators *from;
    bf_reduction op;
    const bf_results *results;
    bf_dtype by_rule;
    int bytes;               /* the size of a result */
    bool counts_fits;        /* an integer that does not fit is refused */
    _Atomic int64_t refused; /* the first that is, 16 times its number and the status; INT64_MAX */
} finish_job;

static void refuse_result(finish_job *f, int64_t number, bf_status status) {
    const int64_t this = 16 * number + (int64_t)status;
    int64_t seen = f->refused;
    while (this < seen)
        if (atomic_compare_exchange_weak(&f->refused, &seen, this)) return;
}

/* Does a minimum or maximum have no value? */
static bool is_empty(const finish_job *f, int64_t slot) {
    const bf_accumulator_column *c = f->from->columns;
    const int64_t rows = bf_record(f->from, (size_t)slot)[0];
    int64_t nan = 0;
    if (c->specials != NULL) nan = c->specials[slot * BF_SPECIALS + BF_SPECIAL_NAN];
    return rows == 0 || (nan == rows && f->results->options->nan == BF_NAN_SKIP);
}

static void finish_empty(finish_job *f, int64_t first, int64_t n) {
    const bf_value *empty = f->results->options->empty;
    for (int64_t i = first; i < first + n; i++) {
        if (!is_empty(f, i)) continue;
        if (empty == NULL)
            refuse_result(f, i, BF_E_EMPTY);
        else /* low bytes come first */
            memcpy((char *)f->results->values + i * f->bytes, &empty->as, (size_t)f->bytes);
    }
}

static void refuse_nans(finish_job *f, int64_t first, int64_t n) {
    const bf_accumulator_column *c = f->from->columns;
    for (int64_t i = first; i < first + n && c->specials != NULL; i++)
        if (c->specials[i * BF_SPECIALS + BF_SPECIAL_NAN] > 0) refuse_result(f, i, BF_E_NAN);
}

static bf_status finish_piece(void *arg, int worker, int64_t first, int64_t n) {
    finish_job *f = arg;
    uint8_t fits[SLOTS_PIECE];
    const bf_results *r = f->results;
    bf_slot_results slots = {.from = f->from,
                             .op = f->op,
                             .options = r->options,
                             .result = f->by_rule,
                             .to = r->to,
                             .values = (char *)r->values + first * f->bytes};
    (void)worker;
    if (f->by_rule == BF_I192) slots.fits = f->counts_fits ? fits : NULL;
    if (r->fits != NULL) {
        slots.fits = r->fits + first;
        memset(slots.fits, 1, (size_t)n);
    }
    if (!bf_accumulators_finish(&slots, (size_t)first, (size_t)n)) refuse_nans(f, first, n);
    for (int64_t i = 0; i < n && slots.fits == fits; i++)
        if (!fits[i]) refuse_result(f, first + i, BF_E_OVERFLOW);
    if (bf_class_of(f->op) == BF_RESULT_ELEMENT) finish_empty(f, first, n);
    return BF_OK;
}

bf_status bf_slots_finish(bf_context *context, const bf_accumulators *a, bf_reduction op,
                          const bf_results *results) {
    const bf_dtype dtype = a->columns->dtype;
    const int64_t n = (int64_t)a->room;
    finish_job f = {.from = a, .op = op, .results = results, .refused = INT64_MAX};
    f.by_rule = bf_result_dtype(op, dtype, results->options->out_dtype);
    f.bytes = bf_dtype_bytes(results->to);
    f.counts_fits =
        results->fits == NULL && !results->queued && results->options->overflow != BF_OVERFLOW_WRAP;
    bf_status status = bf_parallel_watched(context, bf_workers(context, n, SLOTS_LEAST), n,
                                           SLOTS_PIECE, 0, finish_piece, &f);
    if (status != BF_OK || f.refused == INT64_MAX) return status;
    return bf_axis_refuse(context, (bf_status)(f.refused % 16), op, results->to,
                          results->first + f.refused / 16);
}
