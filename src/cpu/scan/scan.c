/* Lines: blocks of each are copied where they do not lie one element behind another. Many lines are
 * shared out among threads; a long one, or one of segments, is cut into tiles. */
#include "cpu/scan/scan.h"

#include "cpu/reduce/reduce.h"
#include "cpu/scan/block.h"

#include <sched.h>

enum {
    COLUMNS = 16, /* neighbouring lines that are scanned together, so that whole rows are read */
    ROWS = 256,
    COLUMN_BYTES = ROWS * 16 + BF_CPU_LINE /* not a power of two, which caches dislike */
};

/* A worker's room. */
typedef struct room {
    int64_t parts; /* scanned so far */
    bf_reducer reducer;
    int64_t words[BF_STATE_WORDS_SMALL];
    bf_scan_buffers buffers;
    bf_scanner scanners[COLUMNS];
    char elements[COLUMNS * COLUMN_BYTES], values[COLUMNS * COLUMN_BYTES];
} room;

typedef struct scan {
    bf_context *context;
    const bf_scan_job *job;
} scan;

/* A line, or neighbouring ones: strides, in bytes, lead from element to element. */
typedef struct line {
    const char *elements;
    char *values; /* NULL: nobody wants them */
    int64_t stride, to_stride, length;
} line;

/* Lines, or segments of one. */
static int64_t count_lines(const bf_scan_job *job) {
    return job->offsets != NULL ? job->segments : job->outer;
}

static char *behind(char *values, int64_t bytes) { return values != NULL ? values + bytes : NULL; }

/* A column of n rows from row `first` on; scanned in reverse, it begins with the last. */
static line find_rows(const bf_scan_job *job, int64_t first, int64_t n, int64_t column) {
    const int64_t bytes = bf_number_bytes(job->prefix.dtype);
    const int64_t to_bytes = bf_number_bytes(job->prefix.to), step = job->reverse ? -1 : 1;
    const int64_t at = (job->reverse ? first + n - 1 : first) * job->inner + column;
    return (line){(const char *)job->elements + at * bytes, behind(job->values, at * to_bytes),
                  step * job->inner * bytes, step * job->inner * to_bytes, n};
}

static line find_line(const bf_scan_job *job, int64_t number, int64_t column) {
    const int64_t *offsets = job->offsets;
    if (offsets == NULL) return find_rows(job, number * job->length, job->length, column);
    return find_rows(job, offsets[number], offsets[number + 1] - offsets[number], column);
}

/* The state of what came before a line, or a segment; NULL: nothing did. */
static const int64_t *start_of(const bf_scan_job *job, int64_t number, int64_t column) {
    const bf_prefix *p = &job->prefix;
    if (job->starts == NULL) return NULL;
    return job->starts +
           (number * job->inner + column) * bf_state_words(p->kind, p->dtype, job->starts);
}

static void move_values(line *l, int64_t n) {
    l->values = behind(l->values, n * l->to_stride);
    l->length -= n;
}

static void move_on(line *l, int64_t n) {
    l->elements += n * l->stride;
    move_values(l, n);
}

static room *open_room(const scan *s, int worker) {
    room *r = bf_room(s->context, worker);
    const bf_isa *isa = s->context->cpu->isa;
    if (r->parts++ > 0) return r;
    r->reducer = (bf_reducer){.isa = isa};
    for (int c = 0; c < COLUMNS; c++)
        bf_scanner_init(&r->scanners[c], isa, &s->job->prefix, &r->buffers);
    return r;
}

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

/* ---- lines whose elements lie together ------------------------------------------------------- */

/* Scans the first n elements of a line; backwards, copies of them. */
static bf_status scan_block(room *r, const line *l, int64_t n) {
    bf_scanner *scanner = &r->scanners[0];
    const int bytes = bf_number_bytes(scanner->prefix->dtype);
    const int to_bytes = bf_number_bytes(scanner->prefix->to);
    const bool backwards = l->stride < 0, aside = backwards || l->values == NULL;
    const char *elements = backwards ? r->elements : l->elements;
    if (backwards) copy_elements(l->elements, l->stride, r->elements, bytes, n, bytes);
    bf_status status = bf_scanner_run(scanner, elements, aside ? r->values : l->values, n);
    if (backwards && l->values != NULL)
        copy_elements(r->values, to_bytes, l->values, l->to_stride, n, to_bytes);
    return status;
}

/* Exclusive scans write what came before a line as its first result; the others follow the elements
 * but the last. */
static bf_status scan_line(const scan *s, room *r, line l, const int64_t *words) {
    bf_status status = BF_OK;
    if (l.length == 0) return BF_OK;
    bf_scanner_begin(&r->scanners[0], words);
    if (s->job->exclusive) {
        status = bf_scanner_stand(&r->scanners[0], l.values != NULL ? l.values : r->values);
        move_values(&l, 1);
    }
    for (int64_t n; l.length > 0 && status == BF_OK; move_on(&l, n)) {
        n = l.length < BF_SCAN_BLOCK ? l.length : BF_SCAN_BLOCK;
        status = scan_block(r, &l, n);
    }
    return status;
}

/* Lines [first, first + n), each by itself. */
static bf_status scan_lines(void *arg, int worker, int64_t first, int64_t n) {
    const scan *s = arg;
    room *r = open_room(s, worker);
    bf_status status = BF_OK;
    for (int64_t i = first; i < first + n && status == BF_OK; i++)
        status = scan_line(s, r, find_line(s->job, i, 0), start_of(s->job, i, 0));
    return status;
}

/* ---- columns: lines whose elements lie in rows ----------------------------------------------- */

/* Scans the first n rows of so many columns. */
static bf_status scan_rows(room *r, const line *l, int64_t n, int columns) {
    const bf_prefix *p = r->scanners[0].prefix;
    const int bytes = bf_number_bytes(p->dtype), to_bytes = bf_number_bytes(p->to);
    bf_status status = BF_OK;
    for (int64_t i = 0; i < n; i++)
        copy_elements(l->elements + i * l->stride, bytes, r->elements + i * bytes, COLUMN_BYTES,
                      columns, bytes);
    for (int c = 0; c < columns && status == BF_OK; c++)
        status = bf_scanner_run(&r->scanners[c], r->elements + c * COLUMN_BYTES,
                                r->values + c * COLUMN_BYTES, n);
    for (int64_t i = 0; l->values != NULL && i < n && status == BF_OK; i++)
        copy_elements(r->values + i * to_bytes, COLUMN_BYTES, l->values + i * l->to_stride,
                      to_bytes, columns, to_bytes);
    return status;
}

/* Scans so many lines of this number, from a column on. */
static bf_status scan_columns(const scan *s, room *r, int64_t number, int64_t column, int columns) {
    line l = find_line(s->job, number, column);
    const int to_bytes = bf_number_bytes(s->job->prefix.to);
    bf_status status = BF_OK;
    if (l.length == 0) return BF_OK;
    for (int c = 0; c < columns && status == BF_OK; c++) {
        bf_scanner_begin(&r->scanners[c], start_of(s->job, number, column + c));
        if (s->job->exclusive)
            status = bf_scanner_stand(&r->scanners[c],
                                      (l.values != NULL ? l.values : r->values) + c * to_bytes);
    }
    if (s->job->exclusive) move_values(&l, 1);
    for (int64_t n; l.length > 0 && status == BF_OK; move_on(&l, n)) {
        n = l.length < ROWS ? l.length : ROWS;
        status = scan_rows(r, &l, n, columns);
    }
    return status;
}

static int64_t groups_of(const bf_scan_job *job) { return (job->inner + COLUMNS - 1) / COLUMNS; }

/* Groups [first, first + n) of columns. */
static bf_status scan_groups(void *arg, int worker, int64_t first, int64_t n) {
    const scan *s = arg;
    const bf_scan_job *job = s->job;
    room *r = open_room(s, worker);
    bf_status status = BF_OK;
    for (int64_t i = first; i < first + n && status == BF_OK; i++) {
        const int64_t column = i % groups_of(job) * COLUMNS, left = job->inner - column;
        status =
            scan_columns(s, r, i / groups_of(job), column, left < COLUMNS ? (int)left : COLUMNS);
    }
    return status;
}

/* ---- one long line: each tile by one thread -------------------------------------------------- */

/* Elements of a tile, which a core's cache holds between its two readings. */
enum { TILE = BF_SPAN };

typedef struct tiles {
    scan scan;
    line line;
    int64_t number;                      /* the line's */
    int64_t words[BF_STATE_WORDS_SMALL]; /* the state before the tile whose turn it is */
    int64_t turn;                        /* its first element */
} tiles;

static line part_of(const line *l, int64_t first, int64_t n) {
    line part = *l;
    move_on(&part, first);
    part.length = n;
    return part;
}

static size_t state_bytes(const tiles *t) {
    const bf_prefix *p = &t->scan.job->prefix;
    return (size_t)bf_state_words(p->kind, p->dtype, t->words) * sizeof *t->words;
}

/* Sets words to the state of what came before the line, or its segment of this number. */
static void begin_words(const tiles *t, int64_t segment, int64_t *words) {
    const int64_t *start = start_of(t->scan.job, t->number + segment, 0);
    bf_prefix_init(&t->scan.job->prefix, words);
    if (start != NULL) memcpy(words, start, state_bytes(t));
}

/* In the order of the scan: where segment `number` of the line begins, and which one has the
 * element that is this far along it. */
static int64_t find_start(const bf_scan_job *job, int64_t number) {
    const int64_t *offsets = job->offsets;
    if (offsets == NULL) return number * job->length;
    return job->reverse ? job->length - offsets[job->segments - number] : offsets[number];
}

static int64_t find_segment(const bf_scan_job *job, int64_t at) {
    int64_t low = 0, high = job->offsets != NULL ? job->segments : 1;
    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;
        if (find_start(job, middle) <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Sets words to the state of elements of a tile, which lie together. */
static void reduce_part(const tiles *t, room *r, const line *tile) {
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

/* Waits for the tiles before, sets words to the state of their elements, and lets the next tile go
 * on: from these and the tile's own, or, if a segment begins in this tile (begun, else -1), from
 * its own alone. */
static void take_turn(tiles *t, room *r, int64_t first, int64_t end, int64_t begun) {
    const bf_prefix *p = &t->scan.job->prefix;
    while (__atomic_load_n(&t->turn, __ATOMIC_ACQUIRE) != first) sched_yield();
    int64_t before[BF_STATE_WORDS_SMALL];
    memcpy(before, t->words, sizeof before);
    if (begun >= 0) begin_words(t, begun, t->words);
    bf_state_merge_plain(p->kind, p->dtype, t->words, r->words);
    memcpy(r->words, before, sizeof before);
    __atomic_store_n(&t->turn, end, __ATOMIC_RELEASE);
}

/* Scans the parts of segments in [first, end), of which r->words came before the first. */
static bf_status scan_parts(const tiles *t, room *r, int64_t first, int64_t end) {
    const bf_scan_job *job = t->scan.job;
    int64_t number = find_segment(job, first);
    bf_status status = BF_OK;
    for (int64_t at = first; at < end && status == BF_OK; number++) {
        const int64_t next = find_start(job, number + 1), n = (next < end ? next : end) - at;
        const bool begins = job->words == NULL && at == find_start(job, number);
        status = scan_line(&t->scan, r, part_of(&t->line, at, n),
                           begins ? start_of(job, t->number + number, 0) : r->words);
        at += n;
    }
    return status;
}

/* Tiles are handed out in order, so the one before is done, or another thread is at it. The next
 * one goes on from the last segment of this one. */
static bf_status scan_tile(void *arg, int worker, int64_t first, int64_t n) {
    tiles *t = arg;
    const bf_scan_job *job = t->scan.job;
    room *r = open_room(&t->scan, worker);
    const int64_t end = first + n, segment = find_segment(job, end - 1);
    const int64_t start = find_start(job, segment);
    const bool begins = job->words == NULL && start >= first;
    const int64_t from = begins ? start : first;
    const line last = part_of(&t->line, from, end - from);
    reduce_part(t, r, &last);
    take_turn(t, r, first, end, begins ? segment : -1);
    return scan_parts(t, r, first, end);
}

static bf_status scan_tiles(const scan *s, int workers, int64_t number, int64_t bytes) {
    tiles t = {.scan = *s, .number = number};
    t.line = find_rows(s->job, number * s->job->length, s->job->length, 0);
    bf_prefix_init(&s->job->prefix, t.words);
    const size_t size = state_bytes(&t);
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
    const bool together = job->inner == 1;
    const int64_t items = count_lines(job) * (together ? 1 : groups_of(job));
    const bool few = job->offsets != NULL || items < 2 * workers;
    const bool tiled = together && job->length > TILE && few && workers > 1;
    bf_status status = BF_OK;
    if (!tiled && job->words == NULL)
        return bf_parallel_watched(s->context, workers, items, 1 + items / (16 * workers), bytes,
                                   together ? scan_lines : scan_groups, (void *)(uintptr_t)s);
    for (int64_t i = 0; i < job->outer && status == BF_OK; i++)
        status = scan_tiles(s, workers, i, bytes / job->outer);
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
