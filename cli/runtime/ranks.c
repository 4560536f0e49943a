#define _GNU_SOURCE /* cpu_set_t */
#include "runtime/ranks.h"

#include "runtime/report.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bf_carrier carrier;
static bool together, separated; /* several ranks; rank 0 works alone */

void ranks_set(const bf_carrier *c) {
    carrier = *c;
    carrier.destroy = NULL;
    together = c->ranks > 1;
    report_hold(together);
}

bool ranks_alone(void) {
    separated = separated || together;
    together = false;
    report_hold(false);
    return carrier.rank == 0;
}

int ranks_rank(void) { return together ? carrier.rank : 0; }
int ranks_count(void) { return together ? carrier.ranks : 1; }

/* Ends this process, and so the job: the other ranks cannot be reached. */
static _Noreturn void lose_ranks(void) {
    report_hold(false);
    fail(EXIT_IO, NULL, "the ranks cannot reach each other any more");
    _exit(EXIT_IO);
}

void *ranks_allocate(size_t bytes) {
    void *memory = calloc(1, bytes + 1);
    if (memory) return memory;
    report_hold(false);
    fail_memory(NULL);
    _exit(EXIT_IO);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Sends to every rank the next to_bytes[rank] bytes of `to`, and receives from_bytes[rank] bytes
 * from each into `from`, in their order. */
static void exchange(const void *to, const int64_t to_bytes[], void *from,
                     const int64_t from_bytes[]) {
    if (carrier.exchange(carrier.arg, to, to_bytes, from, from_bytes) != 0) lose_ranks();
}

void ranks_gather(const void *mine, void *all, int64_t bytes) {
    const size_t n = (size_t)ranks_count();
    memcpy(all, mine, (size_t)bytes);
    if (!together) return;
    if (carrier.gather) {
        if (carrier.gather(carrier.arg, mine, all, bytes) != 0) lose_ranks();
        return;
    }
    char *to = ranks_allocate(n * (size_t)bytes);
    int64_t *sizes = ranks_allocate(n * sizeof *sizes);
    for (size_t i = 0; i < n; i++) memcpy(to + i * (size_t)bytes, mine, (size_t)bytes);
    for (size_t i = 0; i < n; i++) sizes[i] = bytes;
    exchange(to, sizes, all, sizes);
    free(sizes);
    free(to);
}

char *ranks_collect(const void *mine, int64_t bytes, int64_t sizes[]) {
    const size_t n = (size_t)ranks_count();
    const bool receives = ranks_rank() == 0;
    int64_t all = 0, *to = ranks_allocate(n * sizeof *to), *none = ranks_allocate(n * sizeof *none);
    ranks_gather(&bytes, sizes, sizeof bytes);
    for (size_t i = 0; i < n; i++) all += sizes[i];
    char *from = receives ? ranks_allocate((size_t)all) : NULL;
    to[0] = bytes;
    if (together)
        exchange(mine, to, from, receives ? sizes : none);
    else
        memcpy(from, mine, (size_t)bytes);
    free(none);
    free(to);
    return from;
}

void ranks_share_words(int64_t *words, int64_t first, int64_t end) {
    const size_t n = (size_t)ranks_count(), mine = (size_t)(end - first) * sizeof *words;
    if (!together) return;
    int64_t *sizes = ranks_allocate(2 * n * sizeof *sizes), *to_sizes = sizes + n;
    char *to = ranks_allocate(n * mine);
    const int64_t size = (int64_t)mine;
    ranks_gather(&size, sizes, sizeof size);
    for (size_t i = 0; i < n; i++) to_sizes[i] = size;
    for (size_t i = 0; i < n; i++) memcpy(to + i * mine, words + first, mine);
    exchange(to, to_sizes, words, sizes);
    free(to);
    free(sizes);
}

int64_t ranks_sum(int64_t mine) {
    int64_t *all = ranks_allocate((size_t)ranks_count() * sizeof *all), sum = 0;
    ranks_gather(&mine, all, sizeof mine);
    for (int i = 0; i < ranks_count(); i++) sum += all[i];
    free(all);
    return sum;
}

int64_t ranks_least(int64_t mine) {
    int64_t *all = ranks_allocate((size_t)ranks_count() * sizeof *all), least = mine;
    ranks_gather(&mine, all, sizeof mine);
    for (int i = 0; i < ranks_count(); i++) least = all[i] < least ? all[i] : least;
    free(all);
    return least;
}

/* ---- agreement ------------------------------------------------------------------------------- */

int ranks_agree(int code) {
    if (!together) return code;
    const int n = carrier.ranks;
    int *codes = ranks_allocate((size_t)n * sizeof *codes), first = 0;
    ranks_gather(&code, codes, sizeof code);
    while (first < n - 1 && codes[first] == EXIT_DONE) first++;
    code = codes[first];
    free(codes);
    report_release(code != EXIT_DONE && first == carrier.rank);
    return code;
}

int ranks_end(int code) {
    together = together || separated;
    return ranks_agree(code);
}

static bool says(bool mine, bool any) {
    char one = mine, *all = ranks_allocate((size_t)ranks_count());
    ranks_gather(&one, all, 1);
    bool found = all[0];
    for (int i = 1; any && i < ranks_count(); i++) found = found || all[i];
    free(all);
    return found;
}

bool ranks_first_says(bool mine) { return together ? says(mine, false) : mine; }
bool ranks_any(bool mine) { return together ? says(mine, true) : mine; }

void ranks_and(unsigned *words, int n) {
    if (!together) return;
    const size_t ranks = (size_t)ranks_count();
    unsigned *all = ranks_allocate(ranks * (size_t)n * sizeof *all);
    ranks_gather(words, all, (int64_t)((size_t)n * sizeof *words));
    for (size_t i = 0; i < ranks; i++)
        for (int k = 0; k < n; k++) words[k] &= all[i * (size_t)n + (size_t)k];
    free(all);
}

int ranks_open(bf_context *context, bf_comm **comm, const char *file) {
    *comm = NULL;
    const bf_status st = bf_comm_create(context, &carrier, comm);
    const int code = ranks_agree(st == BF_OK ? EXIT_DONE : fail_status(st, context, file));
    if (code != EXIT_DONE) bf_comm_destroy(*comm);
    return code;
}

/* ---- machines -------------------------------------------------------------------------------- */

/* A machine by its name, and the cores that this rank may run on. */
typedef struct place {
    char host[64];
    cpu_set_t cores;
} place;

void ranks_neighbours(int *sharing, int *before) {
    place mine;
    memset(&mine, 0, sizeof mine);
    gethostname(mine.host, sizeof mine.host - 1);
    sched_getaffinity(0, sizeof mine.cores, &mine.cores);
    place *all = ranks_allocate((size_t)ranks_count() * sizeof *all);
    ranks_gather(&mine, all, sizeof mine);
    *sharing = *before = 0;
    for (int i = 0; i < ranks_count(); i++) {
        if (strcmp(all[i].host, mine.host) != 0) continue;
        *sharing += CPU_EQUAL(&all[i].cores, &mine.cores) != 0;
        *before += i < ranks_rank();
    }
    free(all);
}
