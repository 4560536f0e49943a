/* Element-wise operations: threads take pieces in the order of their index, so that the first
 * failure is found however many there are. */
#include "cpu/map/map.h"

#include "rules/map/dtype.h"
#include "seam/map.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    PIECE = 1 << 17,            /* elements that a thread takes at a time */
    BYTES_PER_THREAD = 1 << 19, /* of output: below this a thread costs more than it gains */
    STREAM_BYTES = 1 << 24      /* of output: above this it would not stay in the caches anyway */
};

typedef struct shared_map {
    const bf_map_job *job;
    const bf_map_table *table;
    char *rooms; /* one for each thread */
    bool stream;
    _Atomic int64_t next; /* first element that no thread has taken */
    int64_t piece;
    pthread_mutex_t lock;
    int64_t failed; /* the first failure so far; -1: none */
} shared_map;

/* Elements [first, first + n): the first that fails, or -1. */
static int64_t take_piece(bf_map_worker *worker, int64_t first, int64_t n) {
    int64_t room = bf_map_room(worker);
    for (int64_t at = 0; at < n; at += room) {
        int64_t left = n - at;
        int64_t place = bf_map_block(worker, first + at, left < room ? left : room);
        if (place >= 0) return first + at + place;
    }
    return -1;
}

static void note_failure(shared_map *shared, int64_t place) {
    pthread_mutex_lock(&shared->lock);
    if (shared->failed < 0 || place < shared->failed) shared->failed = place;
    pthread_mutex_unlock(&shared->lock);
    atomic_store(&shared->next, shared->job->count); /* later pieces do not matter any more */
}

static void take_pieces(void *arg, int number) {
    shared_map *shared = arg;
    bf_map_worker *worker = (void *)(shared->rooms + number * BF_CPU_ROOM);
    bf_environment environment = bf_environment_enter();
    bf_map_prepare(worker, shared->job, shared->table, shared->stream);
    for (;;) {
        int64_t first = atomic_fetch_add(&shared->next, shared->piece);
        int64_t left = shared->job->count - first;
        if (left <= 0) break;
        int64_t place = take_piece(worker, first, left < shared->piece ? left : shared->piece);
        if (place >= 0) note_failure(shared, place);
    }
    bf_environment_leave(environment);
}

/* In place the lines are in the cache already. */
static bool is_in_place(const bf_map_job *job) {
    for (int k = 0; k < job->arity; k++)
        if (job->in[k] == job->out) return true;
    return false;
}

bf_status bf_cpu_map(bf_context *context, const bf_map_job *job) {
    bf_cpu *cpu = context->cpu;
    int64_t bytes = job->count * bf_dtype_bytes(job->to);
    shared_map shared = {.job = job, .table = cpu->isa->map, .failed = -1, .piece = PIECE};
    shared.rooms = bf_cpu_rooms(context);
    if (shared.rooms == NULL) return BF_E_MEMORY;
    shared.stream = bytes >= STREAM_BYTES && !is_in_place(job);
    int64_t worth = bytes / BYTES_PER_THREAD;
    int threads = worth < bf_pool_threads(cpu->pool) ? (int)worth : bf_pool_threads(cpu->pool);
    pthread_mutex_init(&shared.lock, NULL);
    bf_pool_run(cpu->pool, threads, take_pieces, &shared);
    pthread_mutex_destroy(&shared.lock);
    return shared.failed < 0 ? BF_OK : bf_map_fail(context, job, job->index + shared.failed);
}
