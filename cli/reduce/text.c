/* Text: the next share of the lines to whoever is ready; of ordered states, one contiguous range a
 * thread.
 *
 * The dtype of a column is known only at its end. So each thread keeps a state for every candidate
 * (i64, u64, f64) until a number rules it out, for all threads. The most exact one that is left is
 * the answer. */
#include "input/text_team.h"
#include "reduce/absorb.h"
#include "reduce/reduce.h"
#include "runtime/progress.h"
#include "runtime/report.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* What a thread takes of a file at a time: long enough for the lines cut at its ends not to count,
 * short enough for all to finish together. */
#define SHARE_BYTES ((int64_t)1024 * 1024)

/* The states of one thread, and how its work ended. */
typedef struct text_worker {
    bf_context *context;
    bf_state **states; /* [column][candidate] */
    int64_t rows;
    int64_t counted; /* rows that there were before any was read; -1: nobody counted */
    bf_status absorbed;
} text_worker;

typedef struct text_job {
    task *task;
    const source *source;
    bf_reduction op;
    int columns, candidates;
    text_team team;
    text_worker *workers;     /* of each thread */
    atomic_uint *can;         /* of each column, over all threads so far */
    atomic_int_fast64_t next; /* of a file, if shared: where the next share begins */
    atomic_int_fast64_t last; /* the place of the first failure: nobody need go beyond */
} text_job;

/* ---- one thread ------------------------------------------------------------------------------ */

/* Remembers the failure that comes first in the text. */
static void give_up(text_job *j, int64_t offset) {
    int_fast64_t last = atomic_load(&j->last);
    while (offset < last && !atomic_compare_exchange_weak(&j->last, &last, offset)) continue;
}

static bf_status absorb_column(text_job *j, text_worker *w, const text_rows *rows, int k) {
    const text_layout *l = &j->source->text->layout;
    const unsigned can = rows->columns[k].can;
    unsigned alive = atomic_load_explicit(&j->can[k], memory_order_relaxed);
    if (alive & ~can) alive = atomic_fetch_and(&j->can[k], can);
    bf_status st = BF_OK;
    for (int i = 0; i < j->candidates && st == BF_OK; i++) {
        if (!(alive & can & 1u << i)) continue;
        const bf_array numbers =
            bf_array_of(text_candidate(l, i), text_rows_numbers(rows, l, k, i), rows->n);
        st = bf_state_absorb(w->states[k * j->candidates + i], &numbers);
    }
    return st;
}

/* Reads and absorbs the next rows. False if there are none, or it failed. */
static bool absorb_next(text_job *j, int i) {
    text_worker *w = &j->workers[i];
    text_reader *r = &j->team.readers[i];
    const int64_t taken = r->taken;
    if (text_reader_next(r) != TEXT_OK) {
        give_up(j, r->status == TEXT_REFUSED ? r->refusal.offset : 0);
        return false;
    }
    for (int k = 0; k < j->columns && r->rows.n > 0 && w->absorbed == BF_OK; k++)
        w->absorbed = absorb_column(j, w, &r->rows, k);
    if (w->absorbed != BF_OK) give_up(j, 0);
    w->rows += r->rows.n;
    if (r->taken > taken) progress_add(r->taken - taken);
    if (i == 0) progress_tick();
    return r->rows.n > 0 && w->absorbed == BF_OK;
}

/* Takes the next share of the file. False if there is none. */
static bool take_share(text_job *j, text_reader *r) {
    const text_input *t = j->source->text;
    if (!t->file || atomic_load(&j->next) >= t->size) return false;
    const int64_t from = atomic_fetch_add(&j->next, SHARE_BYTES);
    text_reader_assign(r, from, from + SHARE_BYTES);
    return from < t->size && from < atomic_load(&j->last);
}

static void absorb_rows(void *arg, int i) {
    text_job *j = arg;
    const text_worker *w = &j->workers[i];
    text_reader *r = &j->team.readers[i];
    do {
        while (r->piece.offset < atomic_load(&j->last) && absorb_next(j, i)) continue;
    } while (r->status == TEXT_OK && w->absorbed == BF_OK && take_share(j, r));
}

/* A row that cannot be counted is no failure here: reading it will report the error. */
static void count_rows(void *arg, int i) {
    text_job *j = arg;
    text_reader *r = &j->team.readers[i], counting = *r;
    const text_status st = text_reader_count(&counting, &j->workers[i].counted);
    r->error = errno;
    r->status = st == TEXT_REFUSED ? TEXT_OK : st;
    r->piece.buffer = counting.piece.buffer;
    r->piece.room = counting.piece.room;
}

/* ---- all threads ----------------------------------------------------------------------------- */

/* The first worker has the task's context, the others one each. */
static bf_status open_worker(text_job *j, int i) {
    const options *o = j->task->options;
    const text_layout *l = &j->source->text->layout;
    const bf_options wanted = BF_OPTIONS(.device = o->device, .isa = o->isa, .threads = 1);
    text_worker *w = &j->workers[i];
    *w = (text_worker){.context = j->task->context, .counted = -1};
    w->states = calloc((size_t)(j->columns * j->candidates), sizeof(bf_state *));
    bf_status st = w->states ? BF_OK : BF_E_MEMORY;
    if (i > 0 && st == BF_OK) st = bf_context_create(&wanted, &w->context);
    for (int k = 0; k < j->columns * j->candidates && st == BF_OK; k++)
        st =
            bf_state_create(w->context, j->op, text_candidate(l, k % j->candidates), &w->states[k]);
    return st;
}

static void close_worker(text_job *j, int i) {
    text_worker *w = &j->workers[i];
    for (int k = 0; w->states && k < j->columns * j->candidates; k++)
        bf_state_destroy(w->states[k]);
    free(w->states);
    if (i > 0 && w->context != j->task->context) bf_context_destroy(w->context);
}

/* Ordered states have one contiguous part of the text each; others take shares in turn. */
static void assign_parts(text_job *j, bool shared) {
    const text_input *t = j->source->text;
    const int n = j->team.threads;
    const int64_t span = shared ? 0 : (t->size - t->begin) / n;
    for (int i = 0; i < n; i++) {
        const int64_t from = t->begin + span * i;
        text_reader_assign(&j->team.readers[i], from,
                           i == n - 1 && !shared ? t->size : from + span);
    }
    atomic_store(&j->next, shared ? 0 : t->size);
}

static bf_status seek_states(const text_job *j, const text_worker *w, int64_t index) {
    bf_status st = BF_OK;
    for (int i = 0; i < j->columns * j->candidates && st == BF_OK; i++)
        st = bf_state_seek(w->states[i], index);
    return st;
}

/* Sets the index that each ordered state begins at: that of its first row. */
static int place_workers(text_job *j, int64_t start) {
    const int n = j->team.threads;
    if (n > 1) text_team_run(&j->team, count_rows, j);
    for (int i = 0; i < n; i++) {
        const text_worker *w = &j->workers[i];
        const text_reader *r = &j->team.readers[i];
        errno = r->error;
        if (r->status != TEXT_OK) return source_text_failed(j->source, r->status, NULL);
        const bf_status st = seek_states(j, w, start);
        if (st != BF_OK) return fail_status(st, w->context, j->source->name);
        start += w->counted;
    }
    return EXIT_DONE;
}

static int check_workers(const text_job *j) {
    const source *s = j->source;
    int64_t rows = 0;
    bool changed = false;
    for (int i = 0; i < j->team.threads; i++) {
        const text_worker *w = &j->workers[i];
        rows += w->rows;
        changed = changed || (w->counted >= 0 && w->counted != w->rows);
        if (w->absorbed != BF_OK) return fail_status(w->absorbed, w->context, s->name);
    }
    const int code = text_team_check(&j->team);
    if (code != EXIT_DONE) return code;
    if (changed) return fail(EXIT_IO, s->name, "cannot read: the file changed meanwhile");
    return source_check_rows(s, &j->team.readers[0], rows);
}

/* Merges the most exact candidate that is left of each column, and hands it out. */
static int merge_workers(text_job *j, bf_state **states) {
    bf_state **first = j->workers[0].states;
    bf_status st = BF_OK;
    for (int k = 0; k < j->columns && st == BF_OK; k++) {
        const int chosen = k * j->candidates + __builtin_ctz(atomic_load(&j->can[k]));
        for (int i = 1; i < j->team.threads && st == BF_OK; i++)
            st = bf_state_merge(first[chosen], j->workers[i].states[chosen]);
        states[k] = first[chosen];
        first[chosen] = NULL;
    }
    return st == BF_OK ? EXIT_DONE : fail_status(st, j->task->context, j->source->name);
}

static int open_workers(text_job *j) {
    bf_status st = j->can && j->workers ? BF_OK : BF_E_MEMORY;
    for (int k = 0; st == BF_OK && k < j->columns; k++)
        atomic_store(&j->can[k], (1u << j->candidates) - 1);
    for (int i = 0; st == BF_OK && i < j->team.threads; i++) st = open_worker(j, i);
    return st == BF_OK ? EXIT_DONE : fail_status(st, j->task->context, j->source->name);
}

static int run_workers(text_job *j, int64_t start, bf_state **states) {
    const bool ordered = reduce_is_ordered(j->op);
    int code = open_workers(j);
    assign_parts(j, j->team.threads > 1 && !ordered);
    if (code == EXIT_DONE && ordered) code = place_workers(j, start);
    if (code != EXIT_DONE) return code;
    text_team_run(&j->team, absorb_rows, j);
    for (int i = 0; i < j->team.threads; i++) j->task->bytes += j->team.readers[i].taken;
    code = check_workers(j);
    return code == EXIT_DONE ? merge_workers(j, states) : code;
}

int absorb_text(task *t, bf_reduction op, const source *s, int64_t start, bf_state **states) {
    const text_layout *l = &s->text->layout;
    const int most = options_gpu(t->options->device) ? 1 : t->options->threads;
    text_job j = {.task = t, .source = s, .op = op, .columns = l->columns};
    j.candidates = text_candidates(l);
    atomic_store(&j.last, INT64_MAX);
    int code = text_team_open(&j.team, s, most, reduce_is_ordered(op));
    t->threads = j.team.threads;
    t->bytes = 0;
    j.can = calloc((size_t)j.columns, sizeof *j.can);
    j.workers = calloc((size_t)j.team.threads + 1, sizeof *j.workers);
    if (code == EXIT_DONE) code = run_workers(&j, start, states);
    for (int i = 0; j.workers && i < j.team.threads; i++) close_worker(&j, i);
    free(j.workers);
    free(j.can);
    text_team_close(&j.team);
    return code;
}
