/* Expressions: workers take pieces, and compute them tile by tile. Pieces are taken in order, so
 * the first failure is found, whatever the threads. */
#include "cpu/expression/expression.h"

#include "cpu/reduce/reduce.h"

#include <pthread.h>

enum {
    PIECE = 1 << 16,      /* elements that a worker takes at a time */
    CHUNK = 1 << 14,      /* it absorbs so many at a time: they stay in its second cache */
    FIRST = 1 << 10,      /* so many at first, to know the window of those that it sums as terms */
    SAMPLE = 1 << 8,      /* results by which it knows that window */
    COUNT_MOST = 1 << 30, /* for which a window is guessed */
    LEAST = 1 << 16,      /* so many are worth a thread */
    PAUSE_MOST = 63,      /* chunks that are not tried as terms after some that failed */
    TREE_CHUNK = 1 << 20  /* for products of floats, whose parts must follow each other */
};

typedef struct evaluation {
    bf_context *context;
    const bf_expression_job *job;
    const bf_job *to; /* absorbs the elements; NULL: they go to `out` */
    char *out;        /* NULL: the job's output */
    bool computed;    /* the output is written as the terms below */
    bool stream;      /* it is written past the caches */
    bf_computed terms;
    int64_t first; /* element of the present loop */
    size_t tiles;  /* bytes of a worker's tiles; the rest of its room follows */
    pthread_mutex_t lock;
    int64_t failed; /* the first element that failed so far, and its step; INT64_MAX: none */
    const bf_expression_step *step; /* NULL: its result is NULL */
} evaluation;

/* What a worker has besides its tiles. */
typedef struct absorber {
    bf_reducer reducer;
    bool summed;     /* it is summed as the terms below */
    int pause, wait; /* it is not summed so for `wait` chunks */
    bf_computed terms;
    int64_t words[BF_STATE_WORDS_SMALL];
    bf_i128 chunk[CHUNK / 2]; /* room for CHUNK elements of 8 bytes */
} absorber;

static bf_status note_failure(evaluation *e, int64_t place, const bf_expression_step *step) {
    pthread_mutex_lock(&e->lock);
    if (place < e->failed) {
        e->failed = place;
        e->step = step;
    }
    pthread_mutex_unlock(&e->lock);
    return BF_E_OVERFLOW;
}

/* Computes elements [first, first + n) into memory at `to`, or if that is NULL, into the output. */
static bf_status compute_elements(evaluation *e, bf_tiles *tiles, int64_t first, int64_t n,
                                  char *to) {
    const bf_expression_step *step = NULL;
    const bf_strided *out = &e->job->out;
    bf_i128 aside[BF_TILE];
    int bytes = bf_number_bytes(e->job->program->dtype);
    bool direct = to != NULL || (out->ndim == 1 && out->strides[0] == 1);
    if (to == NULL) to = out->data + first * bytes;
    for (int64_t at = 0; at < n; at += BF_TILE) {
        int64_t count = n - at < BF_TILE ? n - at : BF_TILE;
        void *tile = direct ? (void *)(to + at * bytes) : aside;
        int64_t place = bf_tiles_compute(tiles, first + at, count, tile, &step);
        if (place >= 0) return note_failure(e, first + at + place, step);
        if (bf_tiles_lack_memory(tiles)) return BF_E_MEMORY;
        if (!direct) bf_cpu_scatter(e->context, out, first + at, count, aside);
    }
    return BF_OK;
}

static bf_tiles *tiles_of(const evaluation *e, int worker) {
    void *room = bf_room(e->context, worker);
    if (bf_load_bits(room, 8) == 0) bf_tiles_prepare(room, e->job, e->context->cpu->isa);
    return room;
}

/* Writes elements as terms: whole groups from the first cache line on, and by tiles what is before
 * and behind them. */
static bf_status write_terms(evaluation *e, bf_tiles *tiles, int64_t first, int64_t n) {
    const bf_expression_loops *loops = e->context->cpu->isa->expression;
    const int bytes = bf_dtype_bytes(e->job->program->dtype);
    char *to = e->job->out.data + first * bytes;
    int64_t before = (int64_t)(-(uintptr_t)to % BF_CPU_LINE) / bytes;
    if (before > n || (uintptr_t)to % (unsigned)bytes != 0) before = n;
    const int64_t begin = first + before, groups = n - before - (n - before) % BF_COMPUTED_GROUP;
    bf_computed terms = e->terms;
    for (int c = 0; c < terms.columns; c++)
        terms.column[c] = e->job->columns[c].numbers.data + begin * terms.bytes[c];
    bf_status status = compute_elements(e, tiles, first, before, NULL);
    if (status != BF_OK) return status;
    if (groups > 0)
        (bytes == 8 ? loops->computed_f64 : loops->computed_f32)(&terms, (size_t)groups,
                                                                 to + before * bytes, e->stream);
    return compute_elements(e, tiles, begin + groups, n - before - groups, NULL);
}

static bf_status eval_piece(void *arg, int worker, int64_t first, int64_t n) {
    evaluation *e = arg;
    if (e->computed) return write_terms(e, tiles_of(e, worker), first, n);
    char *to = e->out;
    if (to != NULL) to += first * bf_number_bytes(e->job->program->dtype);
    return compute_elements(e, tiles_of(e, worker), e->first + first, n, to);
}

static absorber *absorber_of(const evaluation *e, int worker) {
    return (absorber *)((char *)bf_room(e->context, worker) + e->tiles);
}

static void begin_absorber(const evaluation *e, absorber *a) {
    const bf_job *to = e->to;
    a->reducer = (bf_reducer){.isa = e->context->cpu->isa};
    a->summed = to->kind == BF_KIND_SUM && bf_expression_computed(e->job, &a->terms);
    a->pause = a->wait = 0;
    bf_state_init(to->kind, to->dtype, a->words);
}

/* Guesses the window of a job's results by the first of them. Among n times as many the least may
 * be n^2 times as small, as of squares. Windows of floats are narrow enough for n. */
static void guess_window(const evaluation *e, absorber *a) {
    const bf_dtype dtype = e->to->dtype;
    int64_t n = e->job->count < PIECE ? PIECE : e->job->count;
    if (n > COUNT_MOST) n = COUNT_MOST;
    const size_t times = (size_t)n / SAMPLE, all = dtype == BF_F64 ? times * times : times;
    bf_window_guess(a->reducer.isa, dtype, a->chunk, NULL, SAMPLE, all * SAMPLE, &a->reducer.sum);
}

/* Sums a chunk as terms. False: it did not fit, which may be so of some to come, too. */
static bool absorb_terms(const evaluation *e, absorber *a, int64_t first, int64_t n) {
    if (!a->summed || a->reducer.sum.levels == 0 || n % BF_COMPUTED_GROUP != 0) return false;
    if (a->wait > 0 && a->wait--) return false;
    for (int c = 0; c < a->terms.columns; c++)
        a->terms.column[c] = e->job->columns[c].numbers.data + first * a->terms.bytes[c];
    bool done = bf_sum_absorb_computed(&a->reducer, &a->terms, n, a->words);
    a->pause = done ? 0 : a->pause < PAUSE_MOST ? 2 * a->pause + 1 : PAUSE_MOST;
    a->wait = a->pause;
    return done;
}

static bf_status absorb_piece(void *arg, int worker, int64_t first, int64_t n) {
    evaluation *e = arg;
    bool fresh = bf_load_bits(bf_room(e->context, worker), 8) == 0;
    const int64_t chunk = e->to->dtype == BF_I128 ? CHUNK / 2 : CHUNK;
    absorber *a = absorber_of(e, worker);
    bf_tiles *tiles = tiles_of(e, worker);
    bf_job job = *e->to;
    job.a = a->chunk;
    if (fresh) begin_absorber(e, a);
    for (int64_t at = 0; at < n; at += job.count) {
        const bool first_chunk = fresh && at == 0 && a->summed && n > FIRST;
        const int64_t most = first_chunk ? FIRST : chunk;
        job.count = n - at < most ? n - at : most;
        if (job.count > BF_COMPUTED_GROUP) job.count -= job.count % BF_COMPUTED_GROUP;
        if (absorb_terms(e, a, first + at, job.count)) continue;
        job.index = e->to->index + first + at;
        bf_status status = compute_elements(e, tiles, first + at, job.count, (char *)a->chunk);
        if (status != BF_OK) return status;
        if (first_chunk) guess_window(e, a);
        bf_reduce_absorb(&a->reducer, &job, 0, job.count, a->words);
    }
    return BF_OK;
}

/* Runs a loop over n elements from e->first on. room: bytes that a worker has besides its tiles. */
static bf_status run_pieces(evaluation *e, int workers, int64_t n, size_t room, bf_host_work *work,
                            void *arg) {
    const bf_expression_job *job = e->job;
    int64_t bytes = 0;
    for (int c = 0; c < job->program->columns; c++)
        bytes += job->columns[c].offsets != NULL ? 8 : job->columns[c].numbers.bytes;
    if (!bf_rooms_open(e->context, workers, e->tiles + room)) return BF_E_MEMORY;
    bf_environment environment = bf_environment_enter();
    bf_status status = bf_parallel_watched(e->context, workers, n, PIECE, n * bytes, work, arg);
    bf_environment_leave(environment);
    for (int w = 0; w < workers; w++)
        if (bf_load_bits(bf_room(e->context, w), 8) != 0) bf_tiles_free(bf_room(e->context, w));
    if (e->failed != INT64_MAX)
        return bf_expression_fail(e->context, e->step, job->index + e->failed);
    if (status == BF_E_MEMORY) return bf_fail(e->context, status, "no memory for strings");
    return status;
}

static void begin_evaluation(evaluation *e, bf_context *context, const bf_expression_job *job) {
    size_t bytes = bf_tiles_bytes(job);
    *e = (evaluation){.context = context, .job = job, .failed = INT64_MAX};
    e->tiles = (bytes + BF_CPU_APART - 1) / BF_CPU_APART * BF_CPU_APART;
    pthread_mutex_init(&e->lock, NULL);
}

/* In place, the output's lines are in the cache already. */
static bool is_in_place(const bf_expression_job *job) {
    bool in_place = false;
    for (int c = 0; c < job->program->columns; c++)
        in_place |= job->columns[c].numbers.data == job->out.data;
    return in_place;
}

/* In the caches, the tiles of a single operation are faster. */
static void choose_way(evaluation *e) {
    const bf_expression_job *job = e->job;
    const bf_expression_loops *loops = e->context->cpu->isa->expression;
    const bool direct = job->out.ndim == 1 && job->out.strides[0] == 1 && job->valid == NULL;
    e->stream = job->count >= BF_MAP_STREAM_BYTES / job->out.bytes && !is_in_place(job);
    e->computed = loops != NULL && direct && (job->program->steps > 1 || e->stream) &&
                  bf_expression_computed(job, &e->terms);
}

static bf_status eval_job(bf_context *context, const bf_expression_job *job) {
    evaluation e;
    begin_evaluation(&e, context, job);
    choose_way(&e);
    bf_status status =
        run_pieces(&e, bf_workers(context, job->count, LEAST), job->count, 0, eval_piece, &e);
    pthread_mutex_destroy(&e.lock);
    return status;
}

static bf_status absorb_pieces(evaluation *e, int workers, int64_t *words) {
    const bf_job *to = e->to;
    bf_status status = run_pieces(e, workers, e->job->count, sizeof(absorber), absorb_piece, e);
    for (int w = 0; w < workers && status == BF_OK; w++)
        if (bf_load_bits(bf_room(e->context, w), 8) != 0)
            bf_state_merge_words(to->kind, to->dtype, words, absorber_of(e, w)->words);
    return status;
}

/* Products of floats: all workers compute a chunk, then they absorb it. */
static bf_status absorb_chunks(evaluation *e, int workers, int64_t *words) {
    int64_t count = e->job->count, most = count < TREE_CHUNK ? count : TREE_CHUNK;
    bf_job job = *e->to;
    bf_status status = BF_OK;
    e->out = bf_alloc((size_t)(most * bf_dtype_bytes(job.dtype)));
    if (e->out == NULL) return bf_fail(e->context, BF_E_MEMORY, "no memory for elements");
    for (; e->first < count && status == BF_OK; e->first += job.count) {
        job.a = e->out;
        job.count = count - e->first < most ? count - e->first : most;
        status = run_pieces(e, workers, job.count, 0, eval_piece, e);
        if (status == BF_OK) status = bf_product_tree_absorb(e->context, workers, &job, words);
    }
    bf_free(e->out);
    return status;
}

static bf_status absorb_job(bf_context *context, const bf_expression_job *job, const bf_job *to,
                            int64_t *words) {
    int workers = bf_workers(context, job->count, LEAST);
    evaluation e;
    begin_evaluation(&e, context, job);
    e.to = to;
    bf_status status = to->kind == BF_KIND_PRODUCT_TREE ? absorb_chunks(&e, workers, words)
                                                        : absorb_pieces(&e, workers, words);
    pthread_mutex_destroy(&e.lock);
    return status;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* The bytes of a piece's strings, one behind another. */
typedef struct piece {
    char *bytes;
    int64_t size, room;
} piece;

typedef struct string_evaluation {
    evaluation e;
    piece *pieces;
    int64_t *sizes; /* the results have these; they become offsets */
} string_evaluation;

static bool append_strings(piece *p, const bf_expression_span *strings, int64_t *sizes, int64_t n) {
    int64_t more = 0;
    for (int64_t i = 0; i < n; i++) more += strings[i].size;
    if (p->size + more > p->room) {
        const int64_t room = 2 * p->room > p->size + more ? 2 * p->room : p->size + more;
        char *bytes = bf_resize(p->bytes, (size_t)room);
        if (bytes == NULL) return false;
        p->bytes = bytes;
        p->room = room;
    }
    for (int64_t i = 0; i < n; i++) {
        if (strings[i].size > 0) memcpy(p->bytes + p->size, strings[i].at, (size_t)strings[i].size);
        p->size += sizes[i] = strings[i].size;
    }
    return true;
}

static bf_status eval_strings_piece(void *arg, int worker, int64_t first, int64_t n) {
    string_evaluation *s = arg;
    bf_tiles *tiles = tiles_of(&s->e, worker);
    piece *p = &s->pieces[first / PIECE];
    bf_expression_span strings[BF_TILE];
    const bf_expression_step *step = NULL;
    for (int64_t at = first; at < first + n; at += BF_TILE) {
        const int64_t count = first + n - at < BF_TILE ? first + n - at : BF_TILE;
        const int64_t place = bf_tiles_compute(tiles, at, count, strings, &step);
        if (place >= 0) return note_failure(&s->e, at + place, step);
        if (bf_tiles_lack_memory(tiles)) return BF_E_MEMORY;
        if (!append_strings(p, strings, s->sizes + at, count)) return BF_E_MEMORY;
    }
    return BF_OK;
}

/* Makes offsets of sizes, and one text of the pieces. */
static bf_status join_pieces(string_evaluation *s, int64_t pieces, bf_expression_strings *to) {
    const int64_t n = s->e.job->count;
    int64_t end = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t size = s->sizes[i];
        s->sizes[i] = end;
        end += size;
    }
    s->sizes[n] = end;
    char *at = to->bytes = bf_alloc((size_t)end + 1);
    if (at == NULL) return bf_fail(s->e.context, BF_E_MEMORY, "no memory for strings");
    for (int64_t p = 0; p < pieces; at += s->pieces[p++].size)
        if (s->pieces[p].size > 0) memcpy(at, s->pieces[p].bytes, (size_t)s->pieces[p].size);
    return BF_OK;
}

static bf_status eval_strings(bf_context *context, const bf_expression_job *job,
                              bf_expression_strings *to) {
    const int64_t pieces = (job->count + PIECE - 1) / PIECE;
    string_evaluation s;
    begin_evaluation(&s.e, context, job);
    s.pieces = bf_calloc((size_t)pieces + 1, sizeof *s.pieces);
    s.sizes = to->offsets = bf_alloc(((size_t)job->count + 1) * sizeof *to->offsets);
    bf_status status = s.pieces != NULL && s.sizes != NULL
                           ? BF_OK
                           : bf_fail(context, BF_E_MEMORY, "no memory for strings");
    if (status == BF_OK)
        status = run_pieces(&s.e, bf_workers(context, job->count, LEAST), job->count, 0,
                            eval_strings_piece, &s);
    if (status == BF_OK) status = join_pieces(&s, pieces, to);
    for (int64_t p = 0; s.pieces != NULL && p < pieces; p++) bf_free(s.pieces[p].bytes);
    bf_free(s.pieces);
    pthread_mutex_destroy(&s.e.lock);
    return status;
}

const bf_expression_backend bf_cpu_expression_backend = {
    .eval = eval_job, .absorb = absorb_job, .eval_strings = eval_strings};
