#include "api/runtime/feed.h"

#include "api/runtime/array.h"
#include "api/runtime/sized.h"
#include "base/aside.h"
#include "base/parallel.h"
#include "rules/number/dtype.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Bytes of a buffer. On the CPU it stays in the second-level cache until it is absorbed; on a GPU
 * it is large enough to hide the time of a launch. */
enum { HOST_BUFFER = 1 << 20, GPU_BUFFER = 64 << 20, ALIGNMENT = 64 };

/* ---- checking -------------------------------------------------------------------------------- */

static bool is_read(const bf_feed *feed) {
    return feed->memory[0] == NULL || (feed->arrays > 1 && feed->memory[1] == NULL);
}

static bf_status check_count(bf_context *context, const bf_feed *feed) {
    bool mapped = feed->memory[0] != NULL || (feed->arrays > 1 && feed->memory[1] != NULL);
    if (feed->count < -1)
        return bf_fail(context, BF_E_ARGUMENT, "%lld elements", (long long)feed->count);
    if (feed->count > 0 && is_read(feed) && feed->read == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no memory, and no function that reads");
    if (feed->count < 0 && (mapped || feed->read == NULL))
        return bf_fail(context, BF_E_ARGUMENT, "only what is read can have no known count");
    if (feed->concurrent != 0 && (feed->concurrent != 1 || feed->count < 0))
        return bf_fail(context, BF_E_ARGUMENT, "concurrent is %d, with %lld elements",
                       feed->concurrent, (long long)feed->count);
    return BF_OK;
}

bf_status bf_feed_check(bf_context *context, const bf_feed *given, int arrays,
                        const bf_dtype dtype[2], bf_feed *feed) {
    *feed = BF_FEED(.arrays = 0);
    if (given == NULL) return bf_fail(context, BF_E_ARGUMENT, "no feed");
    if (!BF_READ(feed, given, concurrent))
        return bf_fail(context, BF_E_ARGUMENT, "bf_feed: size is not set, or from a newer version");
    if (feed->arrays != arrays)
        return bf_fail(context, BF_E_ARGUMENT, "a feed of %d arrays, not %d", feed->arrays, arrays);
    for (int i = 0; i < arrays; i++)
        if (feed->dtype[i] != dtype[i])
            return bf_fail(context, BF_E_DTYPE, "a feed of %s, not %s",
                           bf_dtype_name(feed->dtype[i]), bf_dtype_name(dtype[i]));
    return check_count(context, feed);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A buffer with elements [at, at + n). */
typedef struct buffer {
    char *data[2]; /* NULL: the array lies in memory */
    int64_t at, n;
    bool end;    /* they are the last */
    bool failed; /* read returned `answer`, which is an error or out of range */
    int64_t answer;
} buffer;

typedef struct reader {
    const bf_feed *feed;
    buffer buffers[2];
    buffer *filling;
    int64_t room;     /* elements that a buffer can hold */
    atomic_bool stop; /* absorbing has ended, so reading must */
    bf_aside *aside;  /* NULL: all threads read, into the first buffer */
} reader;

static void free_reader(reader *r) {
    bf_aside_close(r->aside);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) free(r->buffers[i].data[k]);
}

static bool open_reader(reader *r, const bf_feed *feed, int64_t bytes) {
    int64_t element = 0;
    *r = (reader){.feed = feed};
    for (int k = 0; k < feed->arrays; k++)
        if (feed->memory[k] == NULL) element += bf_number_bytes(feed->dtype[k]);
    r->room = bytes / element;
    if (feed->count >= 0 && feed->count < r->room) r->room = feed->count;
    for (int k = 0; k < feed->arrays; k++) {
        size_t size = (size_t)r->room * (size_t)bf_number_bytes(feed->dtype[k]) + ALIGNMENT;
        for (int i = 0; i < (feed->concurrent ? 1 : 2) && feed->memory[k] == NULL; i++) {
            r->buffers[i].data[k] = aligned_alloc(ALIGNMENT, size / ALIGNMENT * ALIGNMENT);
            if (r->buffers[i].data[k] == NULL) return false;
        }
    }
    if (!feed->concurrent) r->aside = bf_aside_open(0);
    return feed->concurrent || r->aside != NULL;
}

/* Reads elements after those in the buffer. Returns false if it is full or there are no more. */
static bool read_some(reader *r, buffer *b) {
    const bf_feed *feed = r->feed;
    int64_t at = b->at + b->n, most = r->room - b->n;
    void *to[2] = {NULL, NULL};
    if (feed->count >= 0 && feed->count - at < most) most = feed->count - at;
    b->end = feed->count == at;
    if (most == 0) return false;
    for (int k = 0; k < feed->arrays; k++)
        if (b->data[k] != NULL) to[k] = b->data[k] + b->n * bf_number_bytes(feed->dtype[k]);
    b->answer = feed->read(feed->arg, at, most, to);
    b->end = b->answer == 0;
    b->failed = b->answer < 0 || b->answer > most;
    if (!b->failed) b->n += b->answer;
    return !b->failed && !b->end;
}

static void fill_buffer(void *arg) {
    reader *r = arg;
    while (!atomic_load(&r->stop) && read_some(r, r->filling)) continue;
}

static void start_filling(reader *r, buffer *b, int64_t at) {
    b->at = at;
    b->n = 0;
    r->filling = b;
    bf_aside_start(r->aside, fill_buffer, r);
}

/* ---- absorbing ------------------------------------------------------------------------------- */

/* Waits until the reader has filled a buffer, asking the watch meanwhile. */
static bf_status await_filled(bf_context *context, reader *r) {
    bf_status status = BF_OK;
    while (status == BF_OK && !bf_aside_wait(r->aside, bf_watch_wait(context)))
        status = bf_watch_tick(context, 0);
    return status;
}

static bf_status check_buffer(bf_context *context, const bf_feed *feed, const buffer *b) {
    long long at = (long long)(b->at + b->n);
    if (b->failed && b->answer >= 0)
        return bf_fail(context, BF_E_ARGUMENT, "read returned %lld: more than it was asked for",
                       (long long)b->answer);
    if (b->failed)
        return bf_fail(context, BF_E_CANCELLED, "the feed could not be read at element %lld", at);
    if (b->end && feed->count >= 0 && at < feed->count)
        return bf_fail(context, BF_E_SHAPE, "the feed ended after %lld of %lld elements", at,
                       (long long)feed->count);
    return BF_OK;
}

/* Sets arrays to elements [at, at + n) of the feed, in its memory or in buffer b. */
static void set_arrays(const bf_feed *feed, const buffer *b, int64_t at, int64_t n,
                       bf_array arrays[2]) {
    for (int k = 0; k < feed->arrays; k++) {
        const char *memory = feed->memory[k];
        if (memory != NULL) memory += at * bf_number_bytes(feed->dtype[k]);
        bf_array_set(&arrays[k], feed->dtype[k], memory != NULL ? memory : b->data[k], n);
    }
}

static bf_status absorb_buffers(bf_context *context, reader *r, bf_absorb_arrays *absorb,
                                void *into) {
    bf_array arrays[2];
    bf_status status = BF_OK;
    start_filling(r, &r->buffers[0], 0);
    for (int i = 0; status == BF_OK; i ^= 1) {
        const buffer *b = &r->buffers[i];
        status = await_filled(context, r);
        if (status == BF_OK) status = check_buffer(context, r->feed, b);
        if (status != BF_OK) break;
        if (!b->end) start_filling(r, &r->buffers[i ^ 1], b->at + b->n);
        set_arrays(r->feed, b, b->at, b->n, arrays);
        if (b->n > 0) status = absorb(into, arrays);
        if (b->end) break;
    }
    atomic_store(&r->stop, true);
    return status;
}

/* ---- reading on all threads ------------------------------------------------------------------ */

static bf_status read_part(void *arg, int worker, int64_t first, int64_t n) {
    const reader *r = arg;
    const buffer *b = &r->buffers[0];
    (void)worker;
    for (int64_t end = first + n, got; first < end; first += got) {
        void *to[2] = {NULL, NULL};
        for (int k = 0; k < r->feed->arrays; k++)
            if (b->data[k] != NULL) to[k] = b->data[k] + first * bf_number_bytes(r->feed->dtype[k]);
        got = r->feed->read(r->feed->arg, b->at + first, end - first, to);
        if (got <= 0 || got > end - first) return BF_E_CANCELLED;
    }
    return BF_OK;
}

/* All threads read a buffer, and then absorb it. */
static bf_status absorb_rounds(bf_context *context, reader *r, bf_absorb_arrays *absorb,
                               void *into) {
    const bf_feed *feed = r->feed;
    buffer *b = &r->buffers[0];
    bf_array arrays[2];
    bf_status status = BF_OK;
    int workers = bf_host_threads(context);
    int64_t part = (r->room + workers - 1) / workers;
    for (; b->at < feed->count && status == BF_OK; b->at += b->n) {
        b->n = feed->count - b->at < r->room ? feed->count - b->at : r->room;
        status = bf_parallel(context, workers, b->n, part, read_part, r);
        if (status != BF_OK)
            return bf_fail(context, status, "the feed could not be read behind element %lld",
                           (long long)b->at);
        set_arrays(feed, b, b->at, b->n, arrays);
        status = absorb(into, arrays);
    }
    return status;
}

static bf_status absorb_read(bf_context *context, const bf_feed *feed, bf_absorb_arrays *absorb,
                             void *into) {
    reader r;
    bool gpu = context->fixed != NULL && context->fixed != &bf_backend_cpu;
    int64_t bytes = gpu ? GPU_BUFFER : HOST_BUFFER;
    if (feed->concurrent && !gpu) bytes *= bf_host_threads(context);
    bf_status status = BF_OK;
    if (!open_reader(&r, feed, bytes))
        status = bf_fail(context, BF_E_MEMORY, "no memory for a feed's buffers");
    else if (feed->concurrent)
        status = absorb_rounds(context, &r, absorb, into);
    else
        status = absorb_buffers(context, &r, absorb, into);
    free_reader(&r);
    return status;
}

bf_status bf_feed_run(bf_context *context, const bf_feed *feed, bf_absorb_arrays *absorb,
                      void *into) {
    bf_array arrays[2];
    if (feed->count == 0) return BF_OK;
    if (is_read(feed)) return absorb_read(context, feed, absorb, into);
    set_arrays(feed, NULL, 0, feed->count, arrays);
    return absorb(into, arrays);
}
