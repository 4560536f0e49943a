/* Streams: a reader thread fills one of two slots while this thread absorbs the other. */
#include "runtime/engine_parts.h"
#include "runtime/progress.h"
#include "runtime/report.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* A block of each input, and how reading it went. */
typedef struct slot {
    bool full; /* filled and not yet absorbed */
    block block;
    trouble trouble;
} slot;

typedef struct stream {
    const pair *in;
    slot slots[2];
    bool stop; /* the absorbing side has given up */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} stream;

/* ---- the reading side ------------------------------------------------------------------------ */

/* Returns how many elements it read; 0 or less ends the stream. */
static int64_t fill(slot *x, const pair *in, int64_t at) {
    x->trouble = block_view(&x->block, in, at, -1);
    return x->trouble.source || x->block.n != x->block.m ? -1 : x->block.n;
}

static void *read_all(void *argument) {
    stream *s = argument;
    int64_t at = 0, got = 1;
    for (int i = 0; got > 0; i ^= 1) {
        slot *x = &s->slots[i];
        pthread_mutex_lock(&s->mutex);
        while (x->full && !s->stop) pthread_cond_wait(&s->changed, &s->mutex);
        const bool stop = s->stop;
        pthread_mutex_unlock(&s->mutex);
        if (stop) break;
        got = fill(x, s->in, at);
        at += got;
        pthread_mutex_lock(&s->mutex);
        x->full = true;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->mutex);
    }
    return NULL;
}

/* ---- the absorbing side ---------------------------------------------------------------------- */

/* Waits for the slot to be full, showing the progress meanwhile. */
static void await_full(stream *s, const slot *x) {
    pthread_mutex_lock(&s->mutex);
    while (!x->full) {
        const struct timespec until = progress_next_tick();
        if (pthread_cond_timedwait(&s->changed, &s->mutex, &until) == ETIMEDOUT) progress_tick();
    }
    pthread_mutex_unlock(&s->mutex);
}

static void hand_back(stream *s, slot *x, bool stop) {
    pthread_mutex_lock(&s->mutex);
    x->full = false;
    s->stop = stop;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static int absorb_slot(const slot *x, const pair *in, const bf_context *context, bf_state *state) {
    const block *b = &x->block;
    if (x->trouble.source)
        return source_failed(x->trouble.source, x->trouble.got, x->trouble.error);
    if (b->n != b->m)
        return fail(EXIT_DATA, in->b->name, "%s: it holds %s elements than %s",
                    bf_status_string(BF_E_SHAPE), b->m < b->n ? "fewer" : "more", in->a->name);
    const bf_status st = block_absorb(b, in, state);
    return st == BF_OK ? EXIT_DONE : fail_status(st, context, in->a->name);
}

static int absorb_all(engine *e, stream *s, bf_state *state) {
    int code = EXIT_DONE;
    bool end = false;
    for (int i = 0; code == EXIT_DONE && !end; i ^= 1) {
        slot *x = &s->slots[i];
        await_full(s, x);
        const int64_t bytes = x->block.n * pair_bytes(s->in);
        code = absorb_slot(x, s->in, e->contexts[0], state);
        end = bytes == 0;
        if (code == EXIT_DONE) {
            e->bytes += bytes;
            progress_add(bytes);
            progress_tick();
        }
        hand_back(s, x, code != EXIT_DONE);
    }
    return code;
}

static int run_stream(engine *e, stream *s, bf_state *state) {
    pthread_t reader;
    const int error = pthread_create(&reader, NULL, read_all, s);
    if (error) return fail(EXIT_IO, s->in->a->name, "cannot start a thread: %s", strerror(error));
    const int code = absorb_all(e, s, state);
    pthread_join(reader, NULL);
    return code;
}

int reduce_stream(engine *e, bf_reduction op, const pair *in, int64_t start, bf_state **state) {
    stream s = {.in = in, .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    bf_status st = bf_state_create(e->contexts[0], op, in->a->layout.dtype, state);
    if (st == BF_OK && engine_is_ordered(op)) st = bf_state_seek(*state, start);
    for (int i = 0; i < 2; i++)
        if (!block_alloc(&s.slots[i].block, e, in, -1) && st == BF_OK) st = BF_E_MEMORY;
    const int code =
        st == BF_OK ? run_stream(e, &s, *state) : fail_status(st, e->contexts[0], in->a->name);
    for (int i = 0; i < 2; i++) block_free(&s.slots[i].block);
    return code;
}
