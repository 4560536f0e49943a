/* Plain loops: instances of a template for each type and vector width, run by spinning threads. */
#include "bench/plain.h"

#include "runtime/progress.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#define FENCE() _mm_sfence()
#else
#define FENCE() (void)0
#endif

/* The most bytes of a vector that may stay in a cache with two others. */
#define PLAIN_CACHED ((size_t)4 << 20)

typedef struct {
    plain_fn *sum_f32, *sum_f64, *dot_f32, *dot_f64, *add_f32, *add_f64, *read;
} plain_set;

#define LANES 16
#define TARGET
#ifdef __x86_64__
#define STREAM(p, v) _mm_stream_si128((__m128i *)(p), (__m128i)(v))
#else
#define STREAM(p, v) (*(p) = (v))
#endif
#define WIDTH(f) f##_base
#include "bench/plain_widths.h"

#ifdef __x86_64__
#define LANES 32
#define TARGET __attribute__((target("avx2,fma")))
#define STREAM(p, v) _mm256_stream_si256((__m256i *)(p), (__m256i)(v))
#define WIDTH(f) f##_avx2
#include "bench/plain_widths.h"

#define LANES 64
#define TARGET __attribute__((target("avx512f,fma")))
#define STREAM(p, v) _mm512_stream_si512((void *)(p), (__m512i)(v))
#define WIDTH(f) f##_avx512
#include "bench/plain_widths.h"
#endif

static const plain_set *widest(void) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) return &set_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &set_avx2;
#endif
    return &set_base;
}

plain_fn *plain_find(const char *work, const char *dtype) {
    const plain_set *set = widest();
    if (strcmp(work, "read") == 0) return set->read;
    bool f32 = strcmp(dtype, "f32") == 0;
    if (!f32 && strcmp(dtype, "f64") != 0) return NULL;
    if (strcmp(work, "sum") == 0) return f32 ? set->sum_f32 : set->sum_f64;
    if (strcmp(work, "dot") == 0) return f32 ? set->dot_f32 : set->dot_f64;
    if (strcmp(work, "add") == 0) return f32 ? set->add_f32 : set->add_f64;
    return NULL;
}

/* The caller starts a pass by adding 1 to `pass`. The pass is done when every helper has added 1 to
 * `done`. */
typedef struct {
    plain_fn *fn;
    const char *a, *b;
    size_t bytes, ahead;
    int threads, passes;
    _Alignas(64) atomic_int pass;
    _Alignas(64) atomic_int done;
    _Alignas(64) atomic_int next_rank;
} team;

static void do_share(const team *t, int rank) {
    size_t share = t->bytes / (size_t)t->threads & ~(size_t)63;
    size_t from = share * (size_t)rank;
    size_t bytes = rank == t->threads - 1 ? t->bytes - from : share;
    double result = t->fn(t->a + from, t->b ? t->b + from : NULL, bytes, t->ahead);
    __asm__ volatile("" : : "m"(result)); /* keeps the compiler from dropping the loop */
}

/* Spins, which is the fastest way to wait as long as each thread has a processor. */
static void wait_for(atomic_int *counter, int value) {
    for (int spins = 0; atomic_load_explicit(counter, memory_order_acquire) < value; spins++)
        if (spins > 10000) sched_yield();
}

static void *helper(void *argument) {
    team *t = argument;
    int rank = atomic_fetch_add(&t->next_rank, 1);
    for (int pass = 1; pass <= t->passes; pass++) {
        wait_for(&t->pass, pass);
        do_share(t, rank);
        atomic_fetch_add_explicit(&t->done, 1, memory_order_release);
    }
    return NULL;
}

static double run_plain(team *t) {
    double start = progress_clock();
    for (int pass = 1; pass <= t->passes; pass++) {
        atomic_store_explicit(&t->pass, pass, memory_order_release);
        do_share(t, 0);
        wait_for(&t->done, pass * (t->threads - 1));
    }
    return progress_clock() - start;
}

bool plain_time(plain_fn *fn, const void *a, const void *b, size_t bytes, size_t ahead, int threads,
                int passes, double *seconds) {
    team t = {.fn = fn,
              .a = a,
              .b = b,
              .bytes = bytes,
              .ahead = ahead,
              .threads = threads,
              .passes = passes,
              .next_rank = 1};
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    int started = 0;
    while (ids && started < threads - 1 && pthread_create(&ids[started], NULL, helper, &t) == 0)
        started++;
    bool good = ids && started == threads - 1;
    if (good)
        *seconds = run_plain(&t);
    else /* lets the threads that did start end */
        atomic_store(&t.pass, passes);
    for (int i = 0; i < started; i++) pthread_join(ids[i], NULL);
    free(ids);
    return good;
}
