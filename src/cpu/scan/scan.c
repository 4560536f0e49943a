/* Lines: blocks of each are copied where they do not lie one element behind another. */
#include "cpu/scan/scan.h"

#include "cpu/scan/block.h"

/* A worker's room. */
typedef struct room {
    int64_t lines; /* scanned so far */
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

/* ---- all lines ------------------------------------------------------------------------------- */

static room *open_room(const scan *s, int worker) {
    room *r = bf_room(s->context, worker);
    if (r->lines++ == 0) bf_scanner_init(&r->scanner, s->context->cpu->isa, &s->job->prefix);
    return r;
}

static bf_status scan_lines(void *arg, int worker, int64_t first, int64_t n) {
    const scan *s = arg;
    room *r = open_room(s, worker);
    bf_status status = BF_OK;
    for (int64_t i = first; i < first + n && status == BF_OK; i++) {
        line l = find_line(s->job, i);
        bf_scanner_begin(&r->scanner, s->job->words);
        if (s->job->exclusive) status = write_first(r, &l);
        if (status == BF_OK) status = scan_line(r, l);
    }
    return status;
}

bf_status bf_cpu_scan(bf_context *context, const bf_scan_job *job) {
    scan s = {context, job};
    const int64_t lines = job->outer * job->inner;
    const int workers = bf_workers(context, lines, 1);
    if (!bf_rooms_open(context, workers, sizeof(room))) return BF_E_MEMORY;
    bf_environment environment = bf_environment_enter();
    const int64_t bytes = lines * job->length * bf_number_bytes(job->prefix.dtype);
    bf_status status = bf_parallel_watched(context, workers, lines, 1, bytes, scan_lines, &s);
    bf_environment_leave(environment);
    if (status == BF_E_EMPTY || status == BF_E_OVERFLOW)
        return bf_scan_refuse(context, status, &job->prefix);
    return status;
}
