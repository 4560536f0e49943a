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

static void copy_elements(const char *from, int64_t from_stride, char *to, int64_t to_stride,
                          int bytes, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * to_stride, from + i * from_stride, (size_t)bytes);
}

/* Scans elements [first, first + n) of a line. */
static bf_status scan_block(room *r, const line *l, int64_t first, int64_t n) {
    const bf_prefix *p = r->scanner.prefix;
    const int bytes = bf_number_bytes(p->dtype), to_bytes = bf_number_bytes(p->to);
    const char *from = l->elements + first * l->stride;
    char *to = l->values + first * l->to_stride;
    if (l->stride == bytes) return bf_scanner_run(&r->scanner, from, to, n);
    copy_elements(from, l->stride, r->elements, bytes, bytes, n);
    bf_status status = bf_scanner_run(&r->scanner, r->elements, r->values, n);
    copy_elements(r->values, to_bytes, to, l->to_stride, to_bytes, n);
    return status;
}

static bf_status scan_line(room *r, const line *l) {
    bf_status status = BF_OK;
    for (int64_t at = 0; at < l->length && status == BF_OK; at += BF_SCAN_BLOCK) {
        const int64_t left = l->length - at;
        status = scan_block(r, l, at, left < BF_SCAN_BLOCK ? left : BF_SCAN_BLOCK);
    }
    return status;
}

static bf_status scan_lines(void *arg, int worker, int64_t first, int64_t n) {
    const scan *s = arg;
    room *r = bf_room(s->context, worker);
    bf_status status = BF_OK;
    for (int64_t i = first; i < first + n && status == BF_OK; i++) {
        const line l = find_line(s->job, i);
        bf_scanner_begin(&r->scanner, s->context->cpu->isa, s->job, s->job->words);
        status = scan_line(r, &l);
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
