#include "memory/records.h"

#include "memory/heap.h"
#include "memory/temporary.h"
#include "runtime/bytes.h"
#include "runtime/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of the buffer of a run that is merged, at least. */
enum { BUFFER_LEAST = 1 << 14 };

/* Half of the memory is for a lot; a fifth of that is for places, and as much to sort them. */
enum { LOT = 2, PLACES = 5 };

/* If few records are wanted, those of a lot say which of the next are. */
void records_open(records *r, int64_t memory, int64_t most, int threads) {
    *r = (records){.memory = memory, .most = most, .fd = -1, .shared = threads > 1 && most <= 0};
}

static void free_lot(record_lot *b) {
    free(b->buffer);
    free(b->places);
    *b = (record_lot){.buffer = NULL};
}

static void free_lots(records *r) {
    free_lot(&r->added);
    free_lot(&r->written);
    free(r->scratch);
    r->scratch = NULL;
}

static void free_runs(records *r) {
    for (int i = 0; i < r->count; i++) free(r->runs[i].buffer);
    free(r->runs);
    free(r->heap);
    r->runs = NULL;
    r->heap = NULL;
}

void records_close(records *r) {
    background_end(&r->writer);
    free_lots(r);
    free_runs(r);
    free(r->last);
    if (r->memory > 0 && r->fd >= 0) close(r->fd);
    *r = (records){.fd = -1};
}

/* ---- order ----------------------------------------------------------------------------------- */

static size_t bytes_of(const char *at) {
    const record_head h = record_head_of(at);
    return sizeof h + h.key + h.rest;
}

static uint64_t prefix_of(const char *at) {
    return record_prefix(at + sizeof(record_head), record_head_of(at).key, 0);
}

static int64_t most_places(const records *r) {
    return r->memory / LOT / PLACES / (int64_t)sizeof(record_place);
}

/* Notes the last record that is wanted of those in memory, unless one before it is known. Without
 * memory for it, more records are added than are wanted. */
static void note_last(records *r, const record_lot *b) {
    const char *at = b->places[r->most - 1].at;
    if (r->last && record_compare(r->last, at) <= 0) return;
    free(r->last);
    r->last = malloc(bytes_of(at));
    if (r->last) memcpy(r->last, at, bytes_of(at));
}

/* Sorts a lot, and leaves out what cannot be wanted. */
static bool sort_lot(records *r, record_lot *b) {
    if (b->unordered && !r->scratch)
        r->scratch = malloc((size_t)most_places(r) * sizeof *r->scratch);
    if (b->unordered && !r->scratch) return false;
    if (b->unordered) arrange_places(b->places, r->scratch, b->n);
    b->unordered = false;
    if (r->most <= 0 || b->n < r->most) return true;
    note_last(r, b);
    b->n = r->most;
    return true;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static record_run *add_run(records *r) {
    if (r->count == r->runs_room) {
        const int room = r->runs_room > 0 ? 2 * r->runs_room : 16;
        record_run *more = realloc(r->runs, (size_t)room * sizeof *more);
        if (!more) return NULL;
        r->runs = more;
        r->runs_room = room;
    }
    r->runs[r->count] = (record_run){.next = r->end, .end = r->end};
    return &r->runs[r->count++];
}

/* Bytes that are gathered before they are written. */
typedef struct gathered {
    records *records;
    char bytes[BUFFER_LEAST];
    size_t n;
} gathered;

static int flush(gathered *g) {
    records *r = g->records;
    if (!temporary_write(r->fd, g->bytes, g->n)) return temporary_failed(errno);
    r->end += (int64_t)g->n;
    g->n = 0;
    return EXIT_DONE;
}

static int write_record(gathered *g, const char *at) {
    records *r = g->records;
    const size_t bytes = bytes_of(at);
    if (bytes > sizeof g->bytes - g->n) {
        const int code = flush(g);
        if (code != EXIT_DONE) return code;
    }
    if (bytes <= sizeof g->bytes) {
        memcpy(g->bytes + g->n, at, bytes);
        g->n += bytes;
        return EXIT_DONE;
    }
    if (!temporary_write(r->fd, at, bytes)) return temporary_failed(errno);
    r->end += (int64_t)bytes;
    return EXIT_DONE;
}

/* Begins a run; ends it. */
static int begin_run(records *r, gathered *g, record_run **run) {
    g->records = r;
    g->n = 0;
    if (r->fd < 0) r->fd = temporary_open();
    if (r->fd < 0) return temporary_failed(errno);
    *run = add_run(r);
    return *run ? EXIT_DONE : fail_memory(NULL);
}

static int end_run(gathered *g, record_run *run) {
    const int code = flush(g);
    run->end = g->records->end;
    return code;
}

/* Writes a lot as a run, and empties it. */
static int write_lot(records *r, record_lot *b) {
    gathered g;
    record_run *run;
    int code = begin_run(r, &g, &run);
    if (code == EXIT_DONE && !sort_lot(r, b)) code = fail_memory(NULL);
    for (int64_t i = 0; i < b->n && code == EXIT_DONE; i++)
        code = write_record(&g, b->places[i].at);
    if (code == EXIT_DONE) code = end_run(&g, run);
    b->n = 0;
    b->used = 0;
    return code;
}

static int write_other(void *arg) {
    records *r = arg;
    return write_lot(r, &r->written);
}

/* Writes what was added, meanwhile if another thread is to; then the lot before is written. */
static int write_added(records *r) {
    if (!r->shared) return write_lot(r, &r->added);
    const int code = background_end(&r->writer);
    const record_lot full = r->added;
    r->added = r->written;
    r->written = full;
    if (code == EXIT_DONE) background_start(&r->writer, write_other, r);
    return code;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Makes room for bytes in a lot that is empty. */
static bool reserve(const records *r, record_lot *b, size_t bytes) {
    const size_t share = (size_t)(r->memory / LOT / PLACES * (PLACES - 2));
    if (!b->places) b->places = malloc((size_t)most_places(r) * sizeof *b->places);
    if (b->room >= bytes) return b->places != NULL;
    free(b->buffer);
    b->room = bytes > share ? bytes : share;
    b->buffer = malloc(b->room);
    if (!b->buffer) b->room = 0;
    return b->buffer && b->places;
}

bool records_want(const records *r, const char *key, size_t bytes) {
    if (!r->last) return true;
    const size_t last = record_head_of(r->last).key, least = bytes < last ? bytes : last;
    return memcmp(key, r->last + sizeof(record_head), least) < 0;
}

/* Notes where a record in memory is. */
static void add_place(record_lot *b, record_place place) {
    const record_place *before = &b->places[b->n - 1];
    if (b->n > 0 && !b->unordered)
        b->unordered = before->prefix != place.prefix ? before->prefix > place.prefix
                                                      : record_compare(before->at, place.at) > 0;
    b->places[b->n++] = place;
}

int records_add(records *r, const char *key, size_t key_bytes, const char *rest,
                size_t rest_bytes) {
    const record_head h = {(uint32_t)key_bytes, (uint32_t)rest_bytes};
    const size_t bytes = sizeof h + key_bytes + rest_bytes;
    record_lot *const b = &r->added;
    if (key_bytes > UINT32_MAX || rest_bytes > UINT32_MAX) return fail_memory(NULL);
    if (b->n > 0 && (bytes > b->room - b->used || b->n == most_places(r))) {
        const int code = write_added(r);
        if (code != EXIT_DONE) return code;
    }
    if (b->n == 0 && !reserve(r, b, bytes)) return fail_memory(NULL);
    char *at = b->buffer + b->used;
    memcpy(at, &h, sizeof h);
    memcpy(at + sizeof h, key, key_bytes);
    if (rest_bytes > 0) memcpy(at + sizeof h + key_bytes, rest, rest_bytes);
    add_place(b, (record_place){record_prefix(at + sizeof h, key_bytes, 0), at});
    b->used += bytes;
    return EXIT_DONE;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Equal records come in the order of their runs. */
static bool is_less(const void *arg, int a, int b) {
    const records *r = arg;
    const record_run *x = &r->runs[a], *y = &r->runs[b];
    if (x->prefix != y->prefix) return x->prefix < y->prefix;
    const int order = record_compare(x->buffer + x->at, y->buffer + y->at);
    return order != 0 ? order < 0 : a < b;
}

static bool has_whole(const record_run *x) {
    const size_t left = x->held - x->at;
    return left >= sizeof(record_head) && left >= bytes_of(x->buffer + x->at);
}

static bool grow(record_run *x, size_t bytes) {
    if (bytes <= x->room) return true;
    char *more = realloc(x->buffer, bytes);
    if (!more) return false;
    x->buffer = more;
    x->room = bytes;
    return true;
}

/* Reads on, until the run's next record is in its buffer; the buffer is empty at its end. */
static int fill_buffer(const records *r, record_run *x) {
    memmove(x->buffer, x->buffer + x->at, x->held - x->at);
    x->held -= x->at;
    x->at = 0;
    while (x->next < x->end && !has_whole(x)) {
        if (x->held >= sizeof(record_head) && !grow(x, bytes_of(x->buffer)))
            return fail_memory(NULL);
        const int64_t left = x->end - x->next, room = (int64_t)(x->room - x->held);
        const int64_t n = left < room ? left : room;
        errno = EIO;
        if (bytes_pread(r->fd, x->buffer + x->held, (size_t)n, x->next) != n)
            return temporary_failed(errno);
        x->held += (size_t)n;
        x->next += n;
    }
    return EXIT_DONE;
}

/* Makes ready the next record of a run. */
static int look_at_next(const records *r, record_run *x) {
    const int code = has_whole(x) ? EXIT_DONE : fill_buffer(r, x);
    const char *at = x->buffer + x->at;
    if (code == EXIT_DONE && x->at < x->held) x->prefix = prefix_of(at);
    return code;
}

/* Begins to merge n runs. */
static int begin_merge(records *r, int first, int n) {
    const int64_t share = r->memory / LOT / n;
    r->heap = malloc((size_t)n * sizeof *r->heap);
    if (!r->heap) return fail_memory(NULL);
    r->live = n;
    for (int i = 0; i < n; i++) {
        record_run *x = &r->runs[first + i];
        r->heap[i] = first + i;
        x->buffer = malloc(x->room = (size_t)(share > BUFFER_LEAST ? share : BUFFER_LEAST));
        if (!x->buffer) return fail_memory(NULL);
        const int code = look_at_next(r, x);
        if (code != EXIT_DONE) return code;
    }
    heap_make(r->heap, n, is_less, r);
    return EXIT_DONE;
}

/* The next record of the merge; NULL: there is none. It is passed by pass_record. */
static const char *least_record(const records *r) {
    if (r->live == 0) return NULL;
    const record_run *x = &r->runs[r->heap[0]];
    return x->buffer + x->at;
}

static int pass_record(records *r) {
    record_run *x = &r->runs[r->heap[0]];
    x->at += bytes_of(x->buffer + x->at);
    const int code = look_at_next(r, x);
    if (x->at == x->held) r->heap[0] = r->heap[--r->live];
    if (r->live > 0) heap_sift_down(r->heap, r->live, 0, is_less, r);
    return code;
}

/* Merges n runs to one, which takes their place. */
static int shorten_runs(records *r, int first, int n) {
    gathered g;
    record_run *run = NULL;
    int64_t taken = 0;
    int code = begin_merge(r, first, n);
    if (code == EXIT_DONE) code = begin_run(r, &g, &run);
    for (const char *at; code == EXIT_DONE && (at = least_record(r));) {
        if (r->most > 0 && taken++ == r->most) break;
        code = write_record(&g, at);
        if (code == EXIT_DONE) code = pass_record(r);
    }
    if (code == EXIT_DONE) code = end_run(&g, run);
    for (int i = 0; i < n; i++) {
        free(r->runs[first + i].buffer);
        r->runs[first + i].buffer = NULL;
    }
    free(r->heap);
    r->heap = NULL;
    if (!run) return code;
    r->runs[first] = *run;
    r->count -= n;
    memmove(r->runs + first + 1, r->runs + first + n,
            (size_t)(r->count - first - 1) * sizeof *r->runs);
    return code;
}

/* Merges neighbours, until there are so few runs. */
static int leave_runs(records *r, int most) {
    int code = EXIT_DONE;
    while (code == EXIT_DONE && r->count > most)
        for (int i = 0; code == EXIT_DONE && r->count > most && i + 1 < r->count; i++)
            code = shorten_runs(r, i, r->count - i < most ? r->count - i : most);
    return code;
}

int records_end(records *r) {
    int code = background_end(&r->writer);
    if (code != EXIT_DONE) return code;
    if (r->count == 0) return sort_lot(r, &r->added) ? EXIT_DONE : fail_memory(NULL);
    if (r->added.n > 0) code = write_lot(r, &r->added);
    free_lots(r);
    const int64_t fit = r->memory / LOT / BUFFER_LEAST;
    if (code == EXIT_DONE) code = leave_runs(r, fit < 2 ? 2 : fit > 1024 ? 1024 : (int)fit);
    return code == EXIT_DONE ? begin_merge(r, 0, r->count) : code;
}

int records_next(records *r, const char **rest, size_t *bytes) {
    int code = EXIT_DONE;
    if (r->count > 0 && r->at++ > 0 && r->live > 0) code = pass_record(r);
    const char *at = r->count > 0 ? least_record(r) : NULL;
    if (r->count == 0 && r->at < r->added.n) at = r->added.places[r->at++].at;
    *rest = at ? at + sizeof(record_head) + record_head_of(at).key : NULL;
    *bytes = at ? record_head_of(at).rest : 0;
    return code;
}
