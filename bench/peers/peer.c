#define _GNU_SOURCE
#include "peer.h"

#include "works/measured.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Keeps the data of the last question: filling them takes longer than a pass over them. */
typedef struct {
    char dtype[32], data[32];
    size_t bytes;
    char *memory;
} dataset;

static bool load(dataset *d, const peer_question *q, size_t elements) {
    size_t bytes = elements * (strchr(q->dtype, '6') ? 8 : 4); /* i64 and f64, i32 and f32 */
    if (bytes == d->bytes && strcmp(q->dtype, d->dtype) == 0 && strcmp(q->data, d->data) == 0)
        return true;
    if (bytes != d->bytes) {
        bench_free(d->memory, d->bytes);
        d->memory = bench_alloc(bytes);
        d->bytes = d->memory ? bytes : 0;
    }
    strcpy(d->dtype, q->dtype);
    strcpy(d->data, q->data);
    return d->memory && bench_fill(q->dtype, q->data, d->memory, elements);
}

double peer_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t vectors(const char *work) {
    return strcmp(work, "add") == 0 ? 3 : strcmp(work, "dot") == 0 ? 2 : 1;
}

static double measure(peer_fn *fn, const dataset *d, const peer_question *q) {
    const size_t n = vectors(q->work);
    const char *b = n > 1 ? d->memory + d->bytes / n : NULL;
    volatile double result = q->passes > 1 ? fn(d->memory, b, q->count) : 0;
    double start = peer_now();
    for (int i = 0; i < q->passes; i++) result = fn(d->memory, b, q->count);
    (void)result;
    return (peer_now() - start) / q->passes;
}

static peer_fn *find(const peer_work *works, const peer_question *q) {
    for (; works->work; works++)
        if (strcmp(works->work, q->work) == 0 && strcmp(works->dtype, q->dtype) == 0)
            return works->fn;
    return NULL;
}

int peer_answer(const char *name, peer_time *time, void *context) {
    peer_question q;
    while (scanf("%31s %31s %31s %zu %d %d", q.work, q.dtype, q.data, &q.count, &q.threads,
                 &q.passes) == 6) {
        const double seconds = time(context, &q);
        if (seconds > 0)
            printf("%s %.9g\n", name, seconds);
        else
            printf("%s -\n", name);
        fflush(stdout);
    }
    return 0;
}

typedef struct {
    const peer_work *works;
    void (*set_threads)(int);
    dataset data;
} server;

static double serve(void *context, const peer_question *q) {
    server *s = context;
    peer_fn *fn = find(s->works, q);
    if (!fn || !load(&s->data, q, vectors(q->work) * q->count)) return 0;
    s->set_threads(q->threads);
    return measure(fn, &s->data, q);
}

int peer_serve(const char *name, const peer_work *works, void (*set_threads)(int)) {
    server s = {.works = works, .set_threads = set_threads};
    const int code = peer_answer(name, serve, &s);
    bench_free(s.data.memory, s.data.bytes);
    return code;
}
