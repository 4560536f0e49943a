/* Work for threads, cut into numbered parts. */
#include "cpu/table/table.h"

enum { ENTRIES_PER_THREAD = 1 << 15 }; /* below this a thread costs more than it gains */

int bf_table_threads(const bf_context *context, int64_t n) {
    int threads = bf_pool_threads(context->cpu->pool);
    int64_t worth = n / ENTRIES_PER_THREAD;
    if (worth < threads) threads = (int)worth;
    return threads > 1 ? threads : 1;
}

typedef struct shared_parts {
    _Atomic int64_t next;
    int64_t n;
    void (*work)(void *arg, int64_t i);
    void *arg;
} shared_parts;

static void take_parts(void *arg) {
    shared_parts *shared = arg;
    for (;;) {
        int64_t i = atomic_fetch_add(&shared->next, 1);
        if (i >= shared->n) return;
        shared->work(shared->arg, i);
    }
}

void bf_table_share(bf_context *context, int threads, int64_t n, void (*work)(void *arg, int64_t i),
                    void *arg) {
    shared_parts shared = {.n = n, .work = work, .arg = arg};
    bf_pool_run(context->cpu->pool, threads < n ? threads : (int)n, take_parts, &shared);
}
