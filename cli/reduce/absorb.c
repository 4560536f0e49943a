#include "reduce/absorb.h"

#include "reduce/reduce.h"
#include "runtime/progress.h"
#include "runtime/report.h"

#include <errno.h>
#include <string.h>

/* The library gives a thread at least so many bytes. */
#define THREAD_BYTES ((int64_t)1024 * 1024)

/* ---- reading --------------------------------------------------------------------------------- */

/* Two inputs that are read, and the failure that ended it. */
typedef struct reading {
    const pair *in;
    const source *failed; /* NULL: none */
    int64_t got;          /* by source_view, and errno */
    int error;
    int64_t n[2]; /* elements of each, where one ended before the other */
} reading;

/* Reads the elements [at, at + most) of one input, fewer at its end. */
static int64_t read_source(reading *r, const source *s, int64_t at, int64_t most, void *to) {
    int64_t got, n = most;
    if (s->count >= 0 && s->count - at < n) n = s->count - at;
    const void *elements = source_view(s, at, n, to, &got);
    if (got < 0 || (got < n && s->count >= 0)) {
        r->failed = s;
        r->got = got;
        r->error = errno;
        return -1;
    }
    if (elements != to) memcpy(to, elements, (size_t)got * source_element(s));
    return got;
}

/* bf_feed's read. */
static int64_t read_inputs(void *arg, int64_t at, int64_t most, void *const to[]) {
    reading *r = arg;
    const source *const inputs[2] = {r->in->a, r->in->b};
    int64_t n[2] = {most, most};
    for (int i = 0; i < 2; i++) {
        if (to[i]) n[i] = read_source(r, inputs[i], at, most, to[i]);
        if (n[i] < 0) return -1;
    }
    if (to[0] && to[1] && n[0] != n[1]) {
        memcpy(r->n, n, sizeof n);
        return -1;
    }
    return to[0] ? n[0] : n[1];
}

/* ---- the feed -------------------------------------------------------------------------------- */

/* Elements of each input; -1: not known before they are read. */
static int64_t count_of(const pair *in) {
    if (in->b && in->b->count < 0) return -1;
    return in->a->count;
}

/* Returns the memory in which the elements lie as they are; NULL if they must be read. */
static const void *memory_of(const source *s) {
    const bool as_they_are = s->data && !s->reorder && !s->layout.swap;
    return as_they_are ? s->data + (size_t)s->first * source_element(s) : NULL;
}

static bf_feed feed_of(reading *r) {
    const pair *in = r->in;
    const bf_dtype dtype = in->a->layout.dtype;
    bf_feed feed = BF_FEED(.arrays = in->b ? 2 : 1, .dtype = {dtype, dtype}, .count = count_of(in),
                           .read = read_inputs, .arg = r);
    if (feed.count < 0) return feed;
    feed.memory[0] = memory_of(in->a);
    if (in->b) feed.memory[1] = memory_of(in->b);
    feed.concurrent = in->a->data && (!in->b || in->b->data);
    return feed;
}

/* Reports why the absorbing call failed: the input could not be read, or the library refused it. */
static int check_status(const task *t, const reading *r, bf_status st) {
    const source *a = r->in->a;
    if (st == BF_OK) return EXIT_DONE;
    if (r->failed) return source_failed(r->failed, r->got, r->error);
    if (st == BF_E_CANCELLED)
        return fail(EXIT_DATA, r->in->b->name, "%s: it holds %s elements than %s",
                    bf_status_string(BF_E_SHAPE), r->n[1] < r->n[0] ? "fewer" : "more", a->name);
    const int code = source_check(a); /* data that changed may be refused */
    return code == EXIT_DONE ? fail_status(st, t->context, a->name) : code;
}

static int64_t bytes_of(const pair *in, const bf_state *state) {
    bf_state_info info = {.size = sizeof info};
    bf_state_describe(state, &info);
    return info.count * (int64_t)source_element(in->a) * (in->b ? 2 : 1);
}

static int threads_of(const task *t, const bf_feed *feed, int64_t bytes) {
    const int most = options_gpu(t->options->device) ? 1 : t->options->threads;
    const bool mapped = feed->concurrent;
    const int64_t useful = mapped ? bytes / THREAD_BYTES : 1;
    return useful >= most ? most : useful > 1 ? (int)useful : 1;
}

int absorb_arrays(task *t, bf_reduction op, const pair *in, int64_t start, bf_state **state) {
    reading r = {.in = in};
    const bf_feed feed = feed_of(&r);
    bf_status st = bf_state_create(t->context, op, in->a->layout.dtype, state);
    if (st == BF_OK && reduce_is_ordered(op)) st = bf_state_seek(*state, start);
    if (st != BF_OK) return fail_status(st, t->context, in->a->name);
    progress_watch(t->context);
    const int code = check_status(t, &r, bf_state_absorb_feed(*state, &feed));
    if (code != EXIT_DONE) return code;
    t->bytes = bytes_of(in, *state);
    t->threads = threads_of(t, &feed, t->bytes);
    return EXIT_DONE;
}
