/* Element-wise operations. Pieces are taken in order, so the first failure is found, whatever the
 * threads. */
#include "cpu/map/map.h"

#include "rules/map/dtype.h"
#include "seam/map.h"

#include <stdatomic.h>

enum {
    PIECE = 1 << 17,      /* elements that a worker takes at a time */
    BYTES_LEAST = 1 << 19 /* so many bytes of output are worth a thread */
};

typedef struct map_job {
    const bf_context *context;
    const bf_map_job *job;
    bool stream;
    _Atomic int64_t failed; /* the first element that failed so far; INT64_MAX: none */
} map_job;

/* Computes elements [first, first + n). Returns the first that fails, or -1. */
static int64_t map_elements(bf_map_worker *worker, int64_t first, int64_t n) {
    int64_t room = bf_map_room(worker);
    for (int64_t at = 0; at < n; at += room) {
        int64_t left = n - at;
        int64_t place = bf_map_block(worker, first + at, left < room ? left : room);
        if (place >= 0) return first + at + place;
    }
    return -1;
}

static void note_failure(map_job *m, int64_t place) {
    int64_t before = atomic_load(&m->failed);
    while (place < before && !atomic_compare_exchange_weak(&m->failed, &before, place)) {
    }
}

static bf_status map_piece(void *arg, int number, int64_t first, int64_t n) {
    map_job *m = arg;
    bf_map_worker *worker = bf_room(m->context, number);
    if (worker->job == NULL) bf_map_prepare(worker, m->job, m->context->cpu->isa, m->stream);
    int64_t place = map_elements(worker, first, n);
    if (place < 0) return BF_OK;
    note_failure(m, place);
    return BF_E_OVERFLOW;
}

/* In place, the output's lines are in the cache already. */
static bool is_in_place(const bf_map_job *job) {
    for (int k = 0; k < job->arity; k++)
        if (job->in[k] == job->out) return true;
    return false;
}

bf_status bf_cpu_map(bf_context *context, const bf_map_job *job) {
    int64_t bytes = job->count * bf_dtype_bytes(job->to);
    int workers = bf_workers(context, bytes, BYTES_LEAST);
    map_job m = {.context = context, .job = job, .failed = INT64_MAX};
    m.stream = bytes >= BF_MAP_STREAM_BYTES && !is_in_place(job);
    if (!bf_rooms_open(context, workers, sizeof(bf_map_worker))) return BF_E_MEMORY;
    bf_environment environment = bf_environment_enter();
    bf_status status = bf_parallel(context, workers, job->count, PIECE, map_piece, &m);
    bf_environment_leave(environment);
    int64_t failed = atomic_load(&m.failed);
    return failed == INT64_MAX ? status : bf_map_fail(context, job, job->index + failed);
}
