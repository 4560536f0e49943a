/* Lines: blocks of each are copied where they do not lie one element behind another. Many lines are
 * shared out among threads; a long one is cut into tiles. */
#include "cpu/scan/scan.h"

#include "cpu/reduce/reduce.h"
#include "cpu/scan/block.h"

#include <sched.h>

/* A worker's room. */
typedef struct room {
    int64_t parts; /* scanned so far */
    bf_reducer reducer;
    int64_t words[BF_STATE_WORDS_SMALL];
    bf_scanner scanner;
    char elements[BF_SCAN_BLOCK * 16], values[BF_SCAN_BLOCK * 16];
} room;

typedef struct scan {
    bf_context *context;
    const bf_scan_job *job;
} scan;

/* One line: strides are in bytes. */
typedef struct line {
    const char *elements;
    char *values;
    int64_t stride, to_stride, length;
} line;

static line find_line(const bf_scan_job *job, int64_t number) {
    const int64_t bytes = bf_number_bytes(job->prefix.dtype);
    const int64_t to_bytes = bf_number_bytes(job->prefix.to), step = job->reverse ? -1 : 1;
    int64_t first = number / job->inner * job->length * job->inner + number % job->inner;
    if (job->reverse) first += (job->length - 1) * job->inner;
    return (line){(const char *)job->elements + first * bytes,
                  (char *)job->values + first * to_bytes, step * job->inner * bytes,
                  step * job->inner * to_bytes, job->length};
}

/* ---- one line -------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void copy_each(const char *from, int64_t from_stride,
                                                            char *to, int64_t to_stride, int64_t n,
                                                            size_t bytes) {
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_stride, from + i * from_stride, bytes);
}

static void copy_elements(const char *from, int64_t from_stride, char *to, int64_t to_stride,
                          int64_t n, int bytes) {
    switch (bytes) {
    case 1: copy_each(from, from_stride, to, to_stride, n, 1); break;
    case 2: copy_each(from, from_stride, to, to_stride, n, 2); break;
    case 4: copy_each(from, from_stride, to, to_stride, n, 4); break;
    case 8: copy_each(from, from_stride, to, to_stride, n, 8); break;
    default: copy_each(from, from_stride, to, to_stride, n, 16); break;
    }
}

/* Scans the first n elements of a line. */
static bf_status scan_block(room *r, const line *l, int64_t n) {
    const bf_prefix *p = r->scanner.prefix;
    const int bytes = bf_number_bytes(p->dtype), to_bytes = bf_number_bytes(p->to);
    const bool near = l->stride == bytes, to_near = l->to_stride == to_bytes;
    const char *from = near ? l->elements : r->elements;
    char *to = to_near ? l->values : r->values;
    if (!near) copy_elements(l->elements, l->stride, r->elements, bytes, n, bytes);
    bf_status status = bf_scanner_run(&r->scanner, from, to, n);
    if (!to_near) copy_elements(r->values, to_bytes, l->values, l->to_stride, n, to_bytes);
    return status;
}

static bf_status scan_line(room *r, line l) {
    bf_status status = BF_OK;
    while (l.length > 0 && status == BF_OK) {
        const int64_t n = l.length < BF_SCAN_BLOCK ? l.length : BF_SCAN_BLOCK;
        status = scan_block(r, &l, n);
        l.elements += n * l.stride;
        l.values += n * l.to_stride;
        l.length -= n;
    }
    return status;
}

/* Writes what came before the line as its first result; the others follow the elements but the
 * last. */
static bf_status write_first(room *r, line *l) {
    bf_status status = bf_scanner_stand(&r->scanner, l->values);
    l->values += l->to_stride;
    l->length--;
    return status;
}

static bf_status scan_whole(const scan *s, room *r, line l, const int64_t *words) {
    bf_status status = BF_OK;
    bf_scanner_begin(&r->scanner, words);
    if (s->job->exclusive) status = write_first(r, &l);
    return status == BF_OK ? scan_line(r, l) : status;
}

static room *open_room(const scan *s, int worker) {
    room *r = bf_room(s->context, worker);
    if (r->parts++ == 0) {
        bf_scanner_init(&r->scanner, s->context->cpu->isa, &s->job->prefix);
        r->reducer = (bf_reducer){.isa = s->context->cpu->isa};
    }
    return r;
}

/* ---- many lines: each by one thread ---------------------------------------------------------- */

static bf_status scan_lines(void *arg, int worker, int64_t first, int64_t n) {
    const scan *s = arg;
    room *r = open_room(s, worker);
    bf_status status = BF_OK;
    for (int64_t i = first; i < first + n && status == BF_OK; i++)
        status = scan_whole(s, r, find_line(s->job, i), NULL);
    return status;
}

/* ---- one long line: each tile by one thread -------------------------------------------------- */

/* Elements of a tile, which a core's cache holds between its two readings. */
enum { TILE = BF_SPAN };

typedef struct tiles {
    scan scan;
    line line;
    int64_t words[BF_STATE_WORDS_SMALL]; /* the state before the tile whose turn it is */
    int64_t turn;                        /* its first element */
} tiles;

static line part_of(const line *l, int64_t first, int64_t n) {
    return (line){l->elements + first * l->stride, l->values + first * l->to_stride, l->stride,
                  l->to_stride, n};
}

/* Sets words to the state of a tile, whose elements lie together. */
static void reduce_tile(const tiles *t, room *r, const line *tile) {
    const bf_prefix *p = &t->scan.job->prefix;
    const char *last = tile->elements + (tile->length - 1) * tile->stride;
    const bf_job job = {.op = p->op,
                        .kind = p->kind,
                        .dtype = p->dtype,
                        .a = tile->stride < 0 ? last : tile->elements,
                        .count = tile->length,
                        .every_zero = true};
    r->reducer.mixed = false;
    bf_prefix_init(p, r->words);
    bf_reduce_absorb(&r->reducer, &job, 0, job.count, r->words);
}

/* Waits for the tiles before, sets words to the state of their elements, and lets the next go on.
 */
static void take_turn(tiles *t, room *r, const line *tile, int64_t first) {
    const bf_prefix *p = &t->scan.job->prefix;
    while (__atomic_load_n(&t->turn, __ATOMIC_ACQUIRE) != first) sched_yield();
    int64_t before[BF_STATE_WORDS_SMALL];
    memcpy(before, t->words, sizeof before);
    bf_state_merge_plain(p->kind, p->dtype, t->words, r->words);
    memcpy(r->words, before, sizeof before);
    __atomic_store_n(&t->turn, first + tile->length, __ATOMIC_RELEASE);
}

/* Tiles are handed out in order, so the one before is done, or another thread is at it. */
static bf_status scan_tile(void *arg, int worker, int64_t first, int64_t n) {
    tiles *t = arg;
    room *r = open_room(&t->scan, worker);
    const line tile = part_of(&t->line, first, n);
    reduce_tile(t, r, &tile);
    take_turn(t, r, &tile, first);
    return scan_whole(&t->scan, r, tile, r->words);
}

static bf_status scan_tiles(const scan *s, int workers, int64_t number, int64_t bytes) {
    const bf_prefix *p = &s->job->prefix;
    tiles t = {.scan = *s, .line = find_line(s->job, number)};
    bf_prefix_init(p, t.words);
    const size_t size = (size_t)bf_state_words(p->kind, p->dtype, t.words) * sizeof *t.words;
    if (s->job->words != NULL) memcpy(t.words, s->job->words, size);
    bf_status status =
        bf_parallel_watched(s->context, workers, s->job->length, TILE, bytes, scan_tile, &t);
    if (status == BF_OK && s->job->words != NULL) memcpy(s->job->words, t.words, size);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

enum { LEAST = 1 << 18 /* bytes that are worth a thread */ };

static bf_status scan_all(const scan *s, int workers, int64_t bytes) {
    const bf_scan_job *job = s->job;
    const int64_t lines = job->outer * job->inner;
    const bool tiled = job->inner == 1 && job->length > TILE && lines < 2 * workers && workers > 1;
    bf_status status = BF_OK;
    if (!tiled && job->words == NULL) {
        const int64_t piece = 1 + lines / (16 * workers);
        return bf_parallel_watched(s->context, workers, lines, piece, bytes, scan_lines,
                                   (void *)(uintptr_t)s);
    }
    for (int64_t i = 0; i < lines && status == BF_OK; i++)
        status = scan_tiles(s, workers, i, bytes / lines);
    return status;
}

bf_status bf_cpu_scan(bf_context *context, const bf_scan_job *job) {
    const scan s = {context, job};
    const int64_t bytes =
        job->outer * job->length * job->inner * bf_number_bytes(job->prefix.dtype);
    int workers = bf_workers(context, bytes, LEAST);
    workers = bf_workers_within(workers, sizeof(room));
    if (!bf_rooms_open(context, workers, sizeof(room))) return BF_E_MEMORY;
    bf_environment environment = bf_environment_enter();
    bf_status status = scan_all(&s, workers, bytes);
    bf_environment_leave(environment);
    if (status == BF_E_EMPTY || status == BF_E_OVERFLOW)
        return bf_scan_refuse(context, status, &job->prefix);
    return status;
}
