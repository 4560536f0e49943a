#include "input/crew.h"

#include "runtime/progress.h"

#include <pthread.h>
#include <stdlib.h>

/* Chunks that may wait to be used, beside one for each thread. */
enum { SPARE = 2 };

typedef struct slot {
    chunk chunk;
    bool made;
} slot;

struct crew {
    chunk_plan plan;
    int helpers; /* threads started */
    bool works;  /* the caller makes chunks too */
    pthread_t *threads;
    pthread_mutex_t turn; /* to fetch from a stream */
    pthread_mutex_t lock; /* This guards the fields below. */
    pthread_cond_t made, freed;
    slot *slots;
    int depth;     /* slots: chunk i is in slot i % depth */
    int64_t total; /* chunks; INT64_MAX: not known yet */
    int64_t claimed, used;
    int64_t longest; /* a stream's last chunk with a row that is held alone; -1: none yet */
    int64_t row;     /* where the rows of chunk number `settled` begin; -1: unknown */
    int64_t settled;
    bool held; /* the caller uses chunk number `used` */
    bool quit;
};

/* ---- making ---------------------------------------------------------------------------------- */

/* With the lock held. */
static bool may_claim(const crew *w) {
    return !w->quit && w->claimed < w->total && w->claimed - w->used < w->depth &&
           w->longest < w->used;
}

/* Takes the number of a chunk that nobody makes, and where its rows begin, or -1. A helper waits
 * until there is one; false: there is none. */
static bool claim_chunk(crew *w, bool helper, int64_t *number, int64_t *row) {
    pthread_mutex_lock(&w->lock);
    while (helper && !w->quit && w->claimed < w->total && !may_claim(w))
        pthread_cond_wait(&w->freed, &w->lock);
    const bool there = may_claim(w);
    *row = w->claimed == w->settled ? w->row : -1;
    if (there) *number = w->claimed++;
    pthread_mutex_unlock(&w->lock);
    return there;
}

static void note_end(crew *w, const chunk *c, int64_t number) {
    if (c->end && number + 1 < w->total) w->total = number + 1;
}

/* Fetches a stream's next chunk, whose number is taken at the same time. */
static bool fetch_next(crew *w, bool helper, int64_t *number) {
    pthread_mutex_lock(&w->turn);
    int64_t row;
    const bool there = claim_chunk(w, helper, number, &row);
    if (there) {
        chunk *c = &w->slots[*number % w->depth].chunk;
        chunk_fetch(c, &w->plan, *number);
        pthread_mutex_lock(&w->lock);
        note_end(w, c, *number);
        if (chunk_is_long(c, &w->plan)) w->longest = *number;
        pthread_mutex_unlock(&w->lock);
    }
    pthread_mutex_unlock(&w->turn);
    return there;
}

/* Makes one chunk. False: there is none to make. */
static bool make_next(crew *w, bool helper) {
    int64_t number, row = -1;
    const bool there =
        w->plan.stream ? fetch_next(w, helper, &number) : claim_chunk(w, helper, &number, &row);
    if (!there) return false;
    slot *s = &w->slots[number % w->depth];
    chunk_make(&s->chunk, &w->plan, number, row, false);
    pthread_mutex_lock(&w->lock);
    if (!chunk_is_guess(&w->plan, row)) note_end(w, &s->chunk, number);
    s->made = true;
    pthread_cond_signal(&w->made);
    pthread_mutex_unlock(&w->lock);
    return true;
}

static void *run_helper(void *arg) {
    while (make_next(arg, true)) continue;
    return NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The helpers that are worth starting. */
static int useful_helpers(const crew *w, int threads) {
    const bool alone = w->plan.selection != NULL || (w->plan.stream && !w->plan.source->text);
    if (w->plan.stream) return alone ? 1 : threads;
    const int64_t most = w->plan.total - 1;
    return alone || most <= 0 ? 0 : most < threads - 1 ? (int)most : threads - 1;
}

static bool open_slots(crew *w, int threads) {
    w->slots = calloc((size_t)(threads + SPARE), sizeof *w->slots);
    w->threads = calloc((size_t)threads, sizeof *w->threads);
    bool good = w->slots && w->threads;
    while (good && w->depth < threads + SPARE)
        good = chunk_open(&w->slots[w->depth++].chunk, &w->plan);
    return good;
}

crew *crew_open(const chunk_plan *plan, int threads) {
    crew *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->plan = *plan;
    w->total = plan->total;
    w->row = plan->row;
    w->longest = -1;
    pthread_mutex_init(&w->turn, NULL);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->made, NULL);
    pthread_cond_init(&w->freed, NULL);
    const int helpers = useful_helpers(w, threads);
    if (!open_slots(w, helpers + 1)) {
        crew_close(w);
        return NULL;
    }
    while (w->helpers < helpers &&
           pthread_create(&w->threads[w->helpers], NULL, run_helper, w) == 0)
        w->helpers++;
    w->works = !w->plan.stream || w->helpers == 0;
    return w;
}

void crew_close(crew *w) {
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->quit = true;
    pthread_cond_broadcast(&w->freed);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->helpers; i++) pthread_join(w->threads[i], NULL);
    for (int i = 0; i < w->depth; i++) chunk_close(&w->slots[i].chunk);
    pthread_mutex_destroy(&w->turn);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->made);
    pthread_cond_destroy(&w->freed);
    free(w->threads);
    free(w->slots);
    free(w);
}

int crew_threads(const crew *w) { return w->helpers + w->works; }

/* ---- using ----------------------------------------------------------------------------------- */

static void free_held(crew *w) {
    if (!w->held) return;
    slot *s = &w->slots[w->used++ % w->depth];
    chunk_release(&s->chunk, &w->plan);
    s->made = false;
    w->held = false;
    pthread_cond_signal(&w->freed);
}

/* Makes a chunk, or waits for one. The lock is held before and after. */
static void work_or_wait(crew *w) {
    const bool works = w->works && may_claim(w);
    const struct timespec until = progress_next_tick();
    if (!works) pthread_cond_timedwait(&w->made, &w->lock, &until);
    pthread_mutex_unlock(&w->lock);
    if (works) make_next(w, false);
    progress_tick();
    pthread_mutex_lock(&w->lock);
}

/* Makes the next chunk again if its rows do not begin where those of the chunk before end; now it
 * is known where its own end. The lock is held before and after. */
static void settle_chunk(crew *w, chunk *c) {
    if (!chunk_follows(c, &w->plan, w->row)) {
        pthread_mutex_unlock(&w->lock);
        chunk_make(c, &w->plan, w->used, w->row, true);
        pthread_mutex_lock(&w->lock);
    }
    note_end(w, c, w->used);
    w->row = c->piece.next;
    w->settled = w->used + 1;
}

chunk *crew_next(crew *w) {
    pthread_mutex_lock(&w->lock);
    free_held(w);
    while (w->used < w->total && !w->slots[w->used % w->depth].made) work_or_wait(w);
    w->held = w->used < w->total;
    chunk *c = w->held ? &w->slots[w->used % w->depth].chunk : NULL;
    if (c) settle_chunk(w, c);
    pthread_mutex_unlock(&w->lock);
    return c;
}
