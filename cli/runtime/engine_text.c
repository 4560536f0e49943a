/* Text: the next share of the lines to whoever is ready; of ordered states, one contiguous range a
 * thread.
 *
 * What dtype a column has is known only at its end. So each thread keeps a state for every
 * candidate (i64, u64, f64) until a number rules it out, for all threads; the most exact that is
 * left is the answer. */
#define _GNU_SOURCE /* pthread_timedjoin_np */
#include "runtime/engine_parts.h"
#include "runtime/progress.h"
#include "runtime/report.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Fewer bytes than this are not worth another thread. */
#define THREAD_BYTES ((int64_t)256 * 1024)

/* What a thread takes of a file at a time: long enough for the lines cut at its ends not to count,
 * short enough for all to finish together. */
#define SHARE_BYTES ((int64_t)1024 * 1024)

typedef struct text_job {
    const source *source;
    bf_reduction op;
    int columns, candidates;
    atomic_uint *can;         /* of each column, over all threads so far */
    atomic_int_fast64_t next; /* of a file, if shared: where the next share begins */
    atomic_int_fast64_t last; /* the place of the first failure: nobody need go beyond */
} text_job;

/* One thread, and how it ended. */
typedef struct text_worker {
    text_job *job;
    text_reader reader;
    bf_context *context;
    bf_state **states; /* [column][candidate] */
    int64_t rows;
    int64_t counted; /* rows that there were before any was read; -1: nobody counted */
    text_status status;
    int error; /* errno, for TEXT_FAILED */
    bf_status absorbed;
    bool main; /* runs on the main thread, which shows the progress */
    bool started;
    pthread_t thread;
} text_worker;

typedef void *worker_body(void *worker);

/* ---- one thread ------------------------------------------------------------------------------ */

/* Remembers the failure that comes first in the text. */
static void give_up(text_job *j, int64_t offset) {
    int_fast64_t last = atomic_load(&j->last);
    while (offset < last && !atomic_compare_exchange_weak(&j->last, &last, offset)) continue;
}

static bf_status absorb_column(text_worker *w, int k) {
    const text_layout *l = &w->job->source->text->layout;
    const text_rows *rows = &w->reader.rows;
    const unsigned can = rows->columns[k].can;
    unsigned alive = atomic_load_explicit(&w->job->can[k], memory_order_relaxed);
    if (alive & ~can) alive = atomic_fetch_and(&w->job->can[k], can);
    bf_status st = BF_OK;
    for (int i = 0; i < w->job->candidates && st == BF_OK; i++) {
        if (!(alive & can & 1u << i)) continue;
        const bf_array numbers =
            bf_array_of(text_candidate(l, i), text_rows_numbers(rows, l, k, i), rows->n);
        st = bf_state_absorb(w->states[k * w->job->candidates + i], &numbers);
    }
    return st;
}

static bool absorb_next(text_worker *w) {
    text_reader *r = &w->reader;
    const int64_t taken = r->taken;
    w->status = text_reader_next(r);
    w->error = errno;
    if (w->status != TEXT_OK) {
        give_up(w->job, w->status == TEXT_REFUSED ? r->refusal.offset : 0);
        return false;
    }
    for (int k = 0; k < w->job->columns && r->rows.n > 0 && w->absorbed == BF_OK; k++)
        w->absorbed = absorb_column(w, k);
    if (w->absorbed != BF_OK) give_up(w->job, 0);
    w->rows += r->rows.n;
    if (r->taken > taken) progress_add(r->taken - taken);
    if (w->main) progress_tick();
    return r->rows.n > 0 && w->absorbed == BF_OK;
}

/* Takes the next share of the file. False if there is none. */
static bool take_share(text_worker *w) {
    const text_input *t = w->job->source->text;
    if (!t->file || atomic_load(&w->job->next) >= t->size) return false;
    const int64_t from = atomic_fetch_add(&w->job->next, SHARE_BYTES);
    text_reader_assign(&w->reader, from, from + SHARE_BYTES);
    return from < t->size && from < atomic_load(&w->job->last);
}

static void *absorb_rows(void *argument) {
    text_worker *w = argument;
    do {
        while (w->reader.piece.offset < atomic_load(&w->job->last) && absorb_next(w)) continue;
    } while (w->status == TEXT_OK && w->absorbed == BF_OK && take_share(w));
    return NULL;
}

static void *count_rows(void *argument) {
    text_worker *w = argument;
    text_reader r = w->reader;
    w->status = text_reader_count(&r, &w->counted);
    w->error = errno;
    w->reader.piece.buffer = r.piece.buffer;
    w->reader.piece.room = r.piece.room;
    if (w->status == TEXT_REFUSED) w->status = TEXT_OK; /* reading the rows tells what is wrong */
    return NULL;
}

/* ---- all threads ----------------------------------------------------------------------------- */

/* Waits for a thread, showing the progress meanwhile. */
static void join(pthread_t thread) {
    for (;;) {
        const struct timespec until = progress_next_tick();
        if (pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT) return;
        progress_tick();
    }
}

/* Worker 0 is this thread; so is any that no thread could be started for. */
static void run_workers(text_worker *workers, int n, worker_body *body) {
    for (int i = 1; i < n; i++)
        workers[i].started = pthread_create(&workers[i].thread, NULL, body, &workers[i]) == 0;
    body(&workers[0]);
    for (int i = 1; i < n; i++) {
        if (workers[i].started)
            join(workers[i].thread);
        else
            body(&workers[i]);
    }
}

static bf_status create_states(text_worker *w) {
    const text_job *j = w->job;
    const text_layout *l = &j->source->text->layout;
    bf_status st = BF_OK;
    for (int i = 0; i < j->columns * j->candidates && st == BF_OK; i++)
        st =
            bf_state_create(w->context, j->op, text_candidate(l, i % j->candidates), &w->states[i]);
    return st;
}

static bf_status seek_states(text_worker *w, int64_t index) {
    bf_status st = BF_OK;
    for (int i = 0; i < w->job->columns * w->job->candidates && st == BF_OK; i++)
        st = bf_state_seek(w->states[i], index);
    return st;
}

static int setup_worker(engine *e, text_job *j, text_worker *w, int i, int n) {
    const source *s = j->source;
    text_input *t = s->text;
    const bool shared = n > 1 && !engine_is_ordered(j->op);
    const int64_t span = shared ? 0 : (t->size - t->begin) / n;
    const int64_t from = t->begin + span * i;
    const int64_t to = i == n - 1 && !shared ? t->size : from + span;
    atomic_store(&j->next, shared ? 0 : t->size);
    *w = (text_worker){.job = j, .context = e->contexts[i], .counted = -1, .main = i == 0};
    w->states = calloc((size_t)(j->columns * j->candidates), sizeof(bf_state *));
    const bool open = text_reader_open(&w->reader, t, from, to);
    w->reader.skip = s->first;
    w->reader.left = s->count;
    const bf_status st = open && w->states ? create_states(w) : BF_E_MEMORY;
    return st == BF_OK ? EXIT_DONE : fail_status(st, w->context, s->name);
}

static void free_worker(text_worker *w) {
    for (int i = 0; w->states && i < w->job->columns * w->job->candidates; i++)
        bf_state_destroy(w->states[i]);
    free(w->states);
    if (w->reader.input) text_reader_close(&w->reader);
}

/* Of ordered states: each begins at the index of its first row. */
static int place_workers(text_worker *workers, int n, int64_t start) {
    const source *s = workers->job->source;
    if (n > 1) run_workers(workers, n, count_rows);
    for (int i = 0; i < n; i++) {
        text_worker *w = &workers[i];
        errno = w->error;
        if (w->status != TEXT_OK) return source_text_failed(s, w->status, NULL);
        const bf_status st = seek_states(w, start);
        if (st != BF_OK) return fail_status(st, w->context, s->name);
        start += w->counted;
    }
    return EXIT_DONE;
}

/* Reports the failure that comes first in the text. */
static int check_workers(const text_worker *workers, int n) {
    const source *s = workers->job->source;
    const text_worker *first = NULL;
    int64_t rows = 0;
    bool changed = false;
    for (int i = 0; i < n; i++) {
        const text_worker *w = &workers[i];
        rows += w->rows;
        changed = changed || (w->counted >= 0 && w->counted != w->rows);
        if (w->absorbed != BF_OK) return fail_status(w->absorbed, w->context, s->name);
        if (w->status == TEXT_OK) continue;
        if (!first || w->status != TEXT_REFUSED ||
            (first->status == TEXT_REFUSED &&
             w->reader.refusal.offset < first->reader.refusal.offset))
            first = w;
    }
    if (first) {
        errno = first->error;
        return source_text_failed(s, first->status, &first->reader.refusal);
    }
    if (changed) return fail(EXIT_IO, s->name, "cannot read: the file changed meanwhile");
    return source_check_rows(s, &workers->reader, rows);
}

/* Merges the most exact candidate that is left of each column, and hands it out. */
static int merge_workers(text_worker *workers, int n, bf_state **states) {
    const text_job *j = workers->job;
    bf_status st = BF_OK;
    for (int k = 0; k < j->columns && st == BF_OK; k++) {
        const int chosen = k * j->candidates + __builtin_ctz(atomic_load(&j->can[k]));
        for (int i = 1; i < n && st == BF_OK; i++)
            st = bf_state_merge(workers->states[chosen], workers[i].states[chosen]);
        states[k] = workers->states[chosen];
        workers->states[chosen] = NULL;
    }
    return st == BF_OK ? EXIT_DONE : fail_status(st, workers->context, j->source->name);
}

/* A selection is by rows, and those of an ordered state of a stream are in order: for one thread.
 */
static int thread_count(const engine *e, bf_reduction op, const source *s) {
    const text_input *t = s->text;
    if (s->first > 0 || s->count >= 0 || (!t->file && (engine_is_ordered(op) || t->ended)))
        return 1;
    const int64_t useful = t->file ? t->size / THREAD_BYTES : e->threads;
    return useful >= e->threads ? e->threads : useful > 1 ? (int)useful : 1;
}

static int run(engine *e, text_job *j, text_worker *workers, int64_t start, bf_state **states) {
    const int n = e->used;
    int code = engine_need_contexts(e, n);
    for (int i = 0; i < n && code == EXIT_DONE; i++) code = setup_worker(e, j, &workers[i], i, n);
    if (code == EXIT_DONE && engine_is_ordered(j->op)) code = place_workers(workers, n, start);
    if (code != EXIT_DONE) return code;
    run_workers(workers, n, absorb_rows);
    for (int i = 0; i < n; i++) e->bytes += workers[i].reader.taken;
    code = check_workers(workers, n);
    return code == EXIT_DONE ? merge_workers(workers, n, states) : code;
}

int reduce_text(engine *e, bf_reduction op, const source *s, int64_t start, bf_state **states) {
    const text_layout *l = &s->text->layout;
    text_job j = {.source = s, .op = op, .columns = l->columns, .candidates = text_candidates(l)};
    e->used = thread_count(e, op, s);
    atomic_store(&j.last, INT64_MAX);
    j.can = calloc((size_t)j.columns, sizeof *j.can);
    text_worker *workers = calloc((size_t)e->used, sizeof *workers);
    for (int k = 0; j.can && k < j.columns; k++) atomic_store(&j.can[k], (1u << j.candidates) - 1);
    const int code = j.can && workers ? run(e, &j, workers, start, states)
                                      : fail_status(BF_E_MEMORY, NULL, s->name);
    for (int i = 0; workers && i < e->used; i++)
        if (workers[i].job) free_worker(&workers[i]);
    free(workers);
    free(j.can);
    return code;
}
