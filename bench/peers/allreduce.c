/* Times sums over the GPUs of this machine, side by side: exact ones over the memory of peers and
 * over NCCL, and NCCL's own. One line of JSON each.
 *
 *     allreduce [GPUS [DTYPE...]]
 *
 * Every GPU has a thread, which enqueues calls on its stream one after another. "us" is the time of
 * one call of a batch on the slowest GPU, by events; the median of several batches. "alone" is that
 * of a call whose end the thread waits for, by the clock. NCCL is loaded from libnccl.so.2; without
 * it, or if BITFOLD_ALONE is set, bitfold runs alone; if BITFOLD_NCCL_ONLY is, over NCCL only. */
#include "seam/backend.h"
#include "seam/comm.h"

#include <bitfold.h>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_RANKS = 16, MOST_BATCHES = 15 };

typedef struct rank {
    int number, ranks;
    bf_context *context;
    bf_link *links[2]; /* over peers, and over NCCL */
    ncclComm_t nccl;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    void *in, *out;
    pthread_t thread;
    float us[MOST_BATCHES], alone[MOST_BATCHES];
} rank;

static rank ranks[MOST_RANKS];
static pthread_barrier_t together;
static const size_t most = (size_t)1 << 30;

static void check(int failed, const char *what) {
    if (!failed) return;
    fprintf(stderr, "allreduce: %s failed\n", what);
    exit(1);
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

static ncclResult_t (*nccl_init)(ncclComm_t *, int, const int *);
static ncclResult_t (*nccl_allreduce)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t,
                                      ncclComm_t, cudaStream_t);

static void load_nccl(int n) {
    ncclComm_t comms[MOST_RANKS];
    void *library = getenv("BITFOLD_ALONE") ? NULL : dlopen("libnccl.so.2", RTLD_NOW);
    if (library == NULL) return;
    *(void **)&nccl_init = dlsym(library, "ncclCommInitAll");
    *(void **)&nccl_allreduce = dlsym(library, "ncclAllReduce");
    if (!nccl_init || !nccl_allreduce || nccl_init(comms, n, NULL) != ncclSuccess) return;
    for (int r = 0; r < n; r++) ranks[r].nccl = comms[r];
}

static ncclDataType_t nccl_type(bf_dtype dtype) {
    switch (dtype) {
    case BF_F64: return ncclFloat64;
    case BF_F16: return ncclFloat16;
    case BF_BF16: return ncclBfloat16;
    case BF_I32: return ncclInt32;
    default: return ncclFloat32;
    }
}

/* ---- a thread -------------------------------------------------------------------------------- */

typedef enum way { OVER_PEERS, OVER_NCCL, BY_NCCL, WAYS } way;
static const char *const way_names[] = {"bitfold", "bitfold over NCCL", "NCCL"};

typedef struct measure {
    bf_dtype dtype;
    size_t bytes;
    int calls, batches;
    way by;
} measure;

static measure current; /* calls 0: the end */

static void call_once(rank *r, const measure *m) {
    int64_t n = (int64_t)(m->bytes / bf_dtype_size(m->dtype));
    if (m->by == BY_NCCL) {
        check(nccl_allreduce(r->in, r->out, (size_t)n, nccl_type(m->dtype), ncclSum, r->nccl,
                             r->stream) != ncclSuccess,
              "ncclAllReduce");
        return;
    }
    bf_sums job = {.dtype = m->dtype, .n = n, .in = r->in, .terms = 1, .out = r->out};
    check(bf_backend_gpu()->comm->sum(r->links[m->by], &job, false),
          bf_context_message(r->context));
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Returns the microseconds of a call by events. */
static float time_stream(rank *r, const measure *m) {
    float ms = 0;
    call_once(r, m);
    check(cudaEventRecord(r->begin, r->stream), "an event");
    for (int i = 0; i < m->calls; i++) call_once(r, m);
    check(cudaEventRecord(r->end, r->stream), "an event");
    check(cudaStreamSynchronize(r->stream), "the stream");
    cudaEventElapsedTime(&ms, r->begin, r->end);
    return ms * 1000 / (float)m->calls;
}

static float time_alone(rank *r, const measure *m) {
    double begun = now();
    for (int i = 0; i < m->calls; i++) {
        call_once(r, m);
        check(cudaStreamSynchronize(r->stream), "the stream");
    }
    return (float)(now() - begun) / (float)m->calls;
}

static void *run_rank(void *arg) {
    rank *r = arg;
    cudaSetDevice(r->number);
    for (;;) {
        pthread_barrier_wait(&together);
        measure m = current;
        if (m.calls == 0) return NULL;
        for (int b = -1; b < m.batches; b++) { /* the first does not count */
            check(cudaStreamSynchronize(r->stream), "the stream");
            pthread_barrier_wait(&together);
            float us = time_stream(r, &m), alone = time_alone(r, &m);
            if (b < 0) continue;
            r->us[b] = us;
            r->alone[b] = alone;
        }
        check(bf_context_synchronize(r->context), "the context");
        pthread_barrier_wait(&together);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The median over batches of the slowest GPU. */
static float find_median(int n, const float *(*times)(const rank *)) {
    float us[MOST_BATCHES];
    for (int b = 0; b < current.batches; b++) {
        us[b] = 0;
        for (int r = 0; r < n; r++)
            if (times(&ranks[r])[b] > us[b]) us[b] = times(&ranks[r])[b];
    }
    qsort(us, (size_t)current.batches, sizeof *us, compare_floats);
    return us[current.batches / 2];
}

static const float *in_stream(const rank *r) { return r->us; }
static const float *when_alone(const rank *r) { return r->alone; }

static void print_time(int n) {
    printf("{\"what\": \"allreduce\", \"by\": \"%s\", \"gpus\": %d, \"dtype\": \"%s\", \"bytes\": "
           "%zu, \"us\": %.2f, \"alone\": %.2f}\n",
           way_names[current.by], n, bf_dtype_name(current.dtype), current.bytes,
           find_median(n, in_stream), find_median(n, when_alone));
    fflush(stdout);
}

static int has_way(way by) {
    return by == BY_NCCL ? ranks[0].nccl != NULL : ranks[0].links[by] != NULL;
}

static void time_size(int n, bf_dtype dtype, size_t bytes) {
    for (way by = 0; by < WAYS; by++) {
        if (!has_way(by)) continue;
        int calls = bytes <= (1 << 20) ? 50 : bytes <= (1 << 26) ? 10 : 3;
        current = (measure){dtype, bytes, calls, bytes <= (1 << 26) ? 11 : 5, by};
        pthread_barrier_wait(&together);
        for (int b = -1; b < current.batches; b++) pthread_barrier_wait(&together);
        pthread_barrier_wait(&together);
        print_time(n);
    }
}

static void open_links(bf_context *const contexts[], int n, way by) {
    bf_link *links[MOST_RANKS];
    char why[BF_MESSAGE_TEXT];
    bf_link_options options = {.by_nccl = by == OVER_NCCL};
    check(bf_backend_gpu()->comm->link_local(contexts, n, &options, links, why), why);
    if (links[0] == NULL) fprintf(stderr, "allreduce: %s: %s\n", way_names[by], why);
    for (int r = 0; r < n; r++) ranks[r].links[by] = links[r];
}

static void open_ranks(int n) {
    bf_context *contexts[MOST_RANKS];
    for (int r = 0; r < n; r++) {
        char name[BF_DEVICE_TEXT];
        rank *k = &ranks[r];
        k->number = r;
        k->ranks = n;
        cudaSetDevice(r);
        check(cudaStreamCreateWithFlags(&k->stream, cudaStreamNonBlocking), "a stream");
        cudaEventCreate(&k->begin);
        cudaEventCreate(&k->end);
        check(cudaMalloc(&k->in, most) || cudaMalloc(&k->out, most), "memory");
        check(cudaMemset(k->in, 0x3d, most), "memory"); /* finite in all dtypes */
        bf_device_format(r, name);
        check(bf_context_create(&BF_OPTIONS(.device = name, .stream = k->stream), &k->context),
              "a context");
        contexts[r] = k->context;
    }
    if (!getenv("BITFOLD_NCCL_ONLY")) open_links(contexts, n, OVER_PEERS);
    if (!getenv("BITFOLD_ALONE")) open_links(contexts, n, OVER_NCCL);
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {8,       1 << 16, 1 << 18, 1 << 19, 1 << 20, 1 << 21,
                                   1 << 22, 1 << 24, 1 << 26, 1 << 28, 1 << 30};
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_BF16};
    int n = argc > 1 ? atoi(argv[1]) : bf_device_count();
    check(n < 1 || n > MOST_RANKS || n > bf_device_count(), "the number of GPUs");
    open_ranks(n);
    load_nccl(n);
    pthread_barrier_init(&together, NULL, (unsigned)n + 1);
    for (int r = 0; r < n; r++) pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]);
    for (int d = 0; d < (argc > 2 ? argc - 2 : 3); d++) {
        bf_dtype dtype = argc > 2 ? bf_dtype_from_name(argv[d + 2]) : dtypes[d];
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) time_size(n, dtype, sizes[s]);
    }
    current.calls = 0;
    pthread_barrier_wait(&together);
    for (int r = 0; r < n; r++) pthread_join(ranks[r].thread, NULL);
    for (int r = 0; r < n; r++) {
        for (way by = 0; by < BY_NCCL; by++)
            if (ranks[r].links[by] != NULL) bf_backend_gpu()->comm->unlink(ranks[r].links[by]);
        bf_context_destroy(ranks[r].context);
    }
    return 0;
}
