#include "memory/records.h"

#include "memory/heap.h"
#include "memory/temporary.h"
#include "runtime/bytes.h"
#include "runtime/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A record is a head, the key, and the rest. */
typedef struct head {
    uint64_t key, rest; /* bytes */
} head;

/* Bytes of the buffer of a run that is merged, at least. */
enum { BUFFER_LEAST = 1 << 14 };

/* Half of the memory is for adding, and a fourth of that for places. */
enum { ADDED = 2, PLACES = 4 };

void records_open(records *r, int64_t memory, int64_t most) {
    *r = (records){.memory = memory, .most = most, .fd = -1};
}

static void free_added(records *r) {
    free(r->buffer);
    free(r->places);
    r->buffer = NULL;
    r->places = NULL;
    r->room = r->used = 0;
}

static void free_runs(records *r) {
    for (int i = 0; i < r->count; i++) free(r->runs[i].buffer);
    free(r->runs);
    free(r->heap);
    r->runs = NULL;
    r->heap = NULL;
}

void records_close(records *r) {
    free_added(r);
    free_runs(r);
    free(r->last);
    if (r->memory > 0 && r->fd >= 0) close(r->fd);
    *r = (records){.fd = -1};
}

static int no_memory(void) { return fail_status(BF_E_MEMORY, NULL, NULL); }

/* ---- order ----------------------------------------------------------------------------------- */

static head head_of(const char *at) {
    head h;
    memcpy(&h, at, sizeof h);
    return h;
}

static size_t bytes_of(const char *at) {
    const head h = head_of(at);
    return sizeof h + h.key + h.rest;
}

static uint64_t prefix_of(const char *key, size_t bytes) {
    uint64_t prefix = 0;
    for (size_t i = 0; i < sizeof prefix; i++)
        prefix = prefix << 8 | (i < bytes ? (unsigned char)key[i] : 0);
    return prefix;
}

static int compare_bytes(const char *a, size_t x, const char *b, size_t y) {
    const int order = memcmp(a, b, x < y ? x : y);
    return order != 0 ? order : (x > y) - (x < y);
}

static int compare_keys(const char *a, const char *b) {
    return compare_bytes(a + sizeof(head), head_of(a).key, b + sizeof(head), head_of(b).key);
}

static int compare_places(const void *a, const void *b) {
    const record_place *x = a, *y = b;
    if (x->prefix != y->prefix) return x->prefix < y->prefix ? -1 : 1;
    return compare_keys(x->at, y->at);
}

/* Notes the last record that is wanted of those in memory, unless one before it is known. Without
 * memory for it, more records are added than are wanted. */
static void note_last(records *r) {
    const char *at = r->places[r->most - 1].at;
    if (r->last && compare_keys(r->last, at) <= 0) return;
    free(r->last);
    r->last = malloc(bytes_of(at));
    if (r->last) memcpy(r->last, at, bytes_of(at));
}

/* Sorts what is in memory, and leaves out what cannot be wanted. */
static void sort_added(records *r) {
    if (r->unordered) qsort(r->places, (size_t)r->n, sizeof *r->places, compare_places);
    r->unordered = false;
    if (r->most <= 0 || r->n < r->most) return;
    note_last(r);
    r->n = r->most;
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
    return *run ? EXIT_DONE : no_memory();
}

static int end_run(gathered *g, record_run *run) {
    const int code = flush(g);
    run->end = g->records->end;
    return code;
}

/* Writes what is in memory as a run. */
static int write_run(records *r) {
    gathered g;
    record_run *run;
    int code = begin_run(r, &g, &run);
    if (code != EXIT_DONE) return code;
    sort_added(r);
    for (int64_t i = 0; i < r->n && code == EXIT_DONE; i++)
        code = write_record(&g, r->places[i].at);
    if (code == EXIT_DONE) code = end_run(&g, run);
    r->n = 0;
    r->used = 0;
    return code;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static int64_t most_places(const records *r) {
    return r->memory / ADDED / PLACES / (int64_t)sizeof(record_place);
}

/* Makes room for bytes in a buffer that is empty; the places stay as they are. */
static bool reserve(records *r, size_t bytes) {
    const size_t share = (size_t)(r->memory / ADDED / PLACES * (PLACES - 1));
    if (!r->places) r->places = malloc((size_t)most_places(r) * sizeof *r->places);
    if (r->room >= bytes) return r->places != NULL;
    free(r->buffer);
    r->room = bytes > share ? bytes : share;
    r->buffer = malloc(r->room);
    if (!r->buffer) r->room = 0;
    return r->buffer && r->places;
}

bool records_want(const records *r, const char *key, size_t bytes) {
    return !r->last || compare_bytes(key, bytes, r->last + sizeof(head), head_of(r->last).key) <= 0;
}

/* Notes where a record in memory is. */
static void add_place(records *r, record_place place) {
    const record_place *before = &r->places[r->n - 1];
    r->unordered = r->unordered || (r->n > 0 && compare_places(before, &place) > 0);
    r->places[r->n++] = place;
}

int records_add(records *r, const char *key, size_t key_bytes, const char *rest,
                size_t rest_bytes) {
    const head h = {key_bytes, rest_bytes};
    const size_t bytes = sizeof h + key_bytes + rest_bytes;
    if (r->n > 0 && (bytes > r->room - r->used || r->n == most_places(r))) {
        const int code = write_run(r);
        if (code != EXIT_DONE) return code;
    }
    if (r->n == 0 && !reserve(r, bytes)) return no_memory();
    char *at = r->buffer + r->used;
    memcpy(at, &h, sizeof h);
    memcpy(at + sizeof h, key, key_bytes);
    if (rest_bytes > 0) memcpy(at + sizeof h + key_bytes, rest, rest_bytes);
    add_place(r, (record_place){prefix_of(key, key_bytes), at});
    r->used += bytes;
    return EXIT_DONE;
}

/* ---- merging --------------------------------------------------------------------------------- */

static bool is_less(const void *arg, int a, int b) {
    const records *r = arg;
    const record_run *x = &r->runs[a], *y = &r->runs[b];
    if (x->prefix != y->prefix) return x->prefix < y->prefix;
    return compare_keys(x->buffer + x->at, y->buffer + y->at) < 0;
}

static bool has_whole(const record_run *x) {
    const size_t left = x->held - x->at;
    return left >= sizeof(head) && left >= bytes_of(x->buffer + x->at);
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
        if (x->held >= sizeof(head) && !grow(x, bytes_of(x->buffer))) return no_memory();
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
    if (code == EXIT_DONE && x->at < x->held)
        x->prefix = prefix_of(at + sizeof(head), head_of(at).key);
    return code;
}

/* Begins to merge the first n runs. */
static int begin_merge(records *r, int n) {
    const int64_t share = r->memory / ADDED / n;
    r->heap = malloc((size_t)n * sizeof *r->heap);
    if (!r->heap) return no_memory();
    r->live = n;
    for (int i = 0; i < n; i++) {
        record_run *x = &r->runs[i];
        r->heap[i] = i;
        x->buffer = malloc(x->room = (size_t)(share > BUFFER_LEAST ? share : BUFFER_LEAST));
        if (!x->buffer) return no_memory();
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

/* Merges the first n runs to one, which becomes the last. */
static int shorten_runs(records *r, int n) {
    gathered g;
    record_run *run = NULL;
    int64_t taken = 0;
    int code = begin_merge(r, n);
    if (code == EXIT_DONE) code = begin_run(r, &g, &run);
    for (const char *at; code == EXIT_DONE && (at = least_record(r));) {
        if (r->most > 0 && taken++ == r->most) break;
        code = write_record(&g, at);
        if (code == EXIT_DONE) code = pass_record(r);
    }
    if (code == EXIT_DONE) code = end_run(&g, run);
    for (int i = 0; i < n; i++) free(r->runs[i].buffer);
    free(r->heap);
    r->heap = NULL;
    r->count -= n;
    memmove(r->runs, r->runs + n, (size_t)r->count * sizeof *r->runs);
    return code;
}

int records_end(records *r) {
    if (r->count == 0) {
        sort_added(r);
        return EXIT_DONE;
    }
    int code = r->n > 0 ? write_run(r) : EXIT_DONE;
    free_added(r);
    const int64_t fit = r->memory / ADDED / BUFFER_LEAST;
    const int most = fit < 2 ? 2 : fit > 1024 ? 1024 : (int)fit;
    while (code == EXIT_DONE && r->count > most) code = shorten_runs(r, most);
    return code == EXIT_DONE ? begin_merge(r, r->count) : code;
}

int records_next(records *r, const char **rest, size_t *bytes) {
    int code = EXIT_DONE;
    if (r->count > 0 && r->at++ > 0 && r->live > 0) code = pass_record(r);
    const char *at = r->count > 0 ? least_record(r) : NULL;
    if (r->count == 0 && r->at < r->n) at = r->places[r->at++].at;
    *rest = at ? at + sizeof(head) + head_of(at).key : NULL;
    *bytes = at ? head_of(at).rest : 0;
    return code;
}
