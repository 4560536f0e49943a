/* A histogram on the CPU: threads take pieces of the array until none is left, each with counts of
 * its own, which are added up at the end. */
#include "cpu/histogram/histogram.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    PIECE = 1 << 17,            /* elements that a thread takes at a time */
    BYTES_PER_THREAD = 1 << 20, /* below this a thread costs more than it gains */
    BYTES_LEAST = 1 << 11,      /* elements for which tables of bytes are worth it */
    PAIRS_LEAST = 1 << 20,      /* elements of each thread for which one of pairs of bytes is */
    WORDS_LEAST = 1 << 18,      /* 16-bit elements for which a table of words is */
    PRIVATE_MOST = 1 << 20,     /* bins of which each thread may have its own counts, */
    PRIVATE_SHARE = 8,          /* and so many elements for each of them */
    BYTE_BINS = 8192,           /* bin numbers that are counted together as bytes */
    FETCH_AHEAD = 24,           /* elements by which counts are fetched before they are needed, */
    FETCH_LEAST = 1 << 15       /* where there are so many that caches do not hold them all */
};

/* What is counted, and how. */
typedef enum method {
    COUNT_BYTES,     /* elements, by their bits */
    COUNT_WORDS,     /* the same of 16 bits */
    COUNT_BIN_BYTES, /* bin numbers that fit bytes */
    COUNT_BINS       /* bin numbers, each in its place at once */
} method;

typedef struct shared_bins {
    const bf_bin_job *job;
    const bf_isa *isa;
    method method;
    int64_t values;       /* counts in a thread's totals */
    int64_t *totals;      /* of each thread in turn; NULL: all share `counts` */
    bf_counter *counters; /* of each thread; NULL: for COUNT_BINS */
    int64_t *counts;      /* the job's */
    _Atomic int64_t next; /* first element that no thread has taken */
    int threads;
    int64_t piece;
    bool alone; /* there is only one thread */
} shared_bins;

static method choose(const bf_bin_job *job) {
    int64_t values = job->bins->count + BF_BIN_OTHERS;
    int bytes = bf_dtype_bytes(job->dtype);
    if (job->count < BYTES_LEAST) return COUNT_BINS;
    if (bytes == 1) return COUNT_BYTES;
    if (bytes == 2 && job->count >= WORDS_LEAST) return COUNT_WORDS;
    return values <= BF_BYTE_VALUES ? COUNT_BIN_BYTES : COUNT_BINS;
}

/* --- one thread, one piece --- */

/* Many counts are fetched first, so that they come while others are counted. */
static void add_bins(int64_t *counts, const uint32_t *bin, int64_t n, bool fetch) {
    for (int64_t i = 0; i < n; i++) {
        if (fetch && i + FETCH_AHEAD < n) __builtin_prefetch(&counts[bin[i + FETCH_AHEAD]], 1);
        counts[bin[i]]++;
    }
}

/* The same where other threads add to the counts, too. */
static void add_bins_shared(int64_t *counts, const uint32_t *bin, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (i + FETCH_AHEAD < n) __builtin_prefetch(&counts[bin[i + FETCH_AHEAD]], 1);
        __atomic_fetch_add(&counts[bin[i]], 1, __ATOMIC_RELAXED);
    }
}

static void count_bins(const shared_bins *shared, int64_t thread, int64_t first, int64_t n) {
    int64_t *own = shared->totals ? shared->totals + thread * shared->values : shared->counts;
    uint32_t bin[BF_BIN_BLOCK];
    for (int64_t m; n > 0; n -= m, first += m) {
        m = n < BF_BIN_BLOCK ? n : BF_BIN_BLOCK;
        bf_bins_of(shared->isa, shared->job, first, m, bin);
        if (!shared->totals && !shared->alone)
            add_bins_shared(shared->counts, bin, m);
        else if (shared->job->bins->count > FETCH_LEAST)
            add_bins(own, bin, m, true);
        else
            add_bins(own, bin, m, false);
    }
}

static void count_bin_bytes(const shared_bins *shared, int64_t thread, int64_t first, int64_t n) {
    uint8_t byte[BYTE_BINS];
    for (int64_t m; n > 0; n -= m, first += m) {
        m = n < BYTE_BINS ? n : BYTE_BINS;
        for (int64_t i = 0; i < m; i += BF_BIN_BLOCK) {
            int64_t left = m - i < BF_BIN_BLOCK ? m - i : BF_BIN_BLOCK;
            bf_byte_bins_of(shared->isa, shared->job, first + i, left, byte + i);
        }
        bf_count_bytes(&shared->counters[thread], byte, (size_t)m);
    }
}

static void count_piece(const shared_bins *shared, int64_t thread, int64_t first, int64_t n) {
    const bf_bin_job *job = shared->job;
    const char *data = (const char *)job->data + first * bf_dtype_bytes(job->dtype);
    switch (shared->method) {
    case COUNT_BYTES: bf_count_bytes(&shared->counters[thread], data, (size_t)n); break;
    case COUNT_WORDS: bf_count_words(&shared->counters[thread], data, (size_t)n); break;
    case COUNT_BIN_BYTES: count_bin_bytes(shared, thread, first, n); break;
    default: count_bins(shared, thread, first, n); break;
    }
}

static void take_pieces(void *arg, int thread) {
    shared_bins *shared = arg;
    const int64_t count = shared->job->count;
    bf_environment environment = bf_environment_enter();
    for (;;) {
        int64_t first = atomic_fetch_add(&shared->next, shared->piece), left = count - first;
        if (left <= 0) break;
        count_piece(shared, thread, first, left < shared->piece ? left : shared->piece);
    }
    bf_environment_leave(environment);
    if (shared->counters == NULL) return;
    bf_counter *counter = &shared->counters[thread];
    if (shared->method == COUNT_BYTES || shared->method == COUNT_BIN_BYTES)
        bf_count_bytes_end(counter);
    else
        bf_count_words_end(counter);
}

/* --- all of them --- */

/* Totals are of bins, or of elements' bits. */
static void add_totals(const shared_bins *shared) {
    const bf_bin_job *job = shared->job;
    const bool by_bits = shared->method == COUNT_BYTES || shared->method == COUNT_WORDS;
    const int64_t bins = job->bins->count + BF_BIN_OTHERS;
    bf_environment environment = bf_environment_enter();
    for (int64_t v = 0; v < (by_bits ? shared->values : bins); v++) {
        int64_t total = 0;
        for (int64_t t = 0; t < shared->threads; t++)
            total += shared->totals[t * shared->values + v];
        if (total == 0) continue;
        int64_t bin = by_bits ? bf_bin_of_bits(job->bins, job->dtype, (uint64_t)v) : v;
        shared->counts[bin] += total;
    }
    bf_environment_leave(environment);
}

/* The threads' tables; false: no memory. */
static bool make_tables(shared_bins *shared, int threads) {
    const int64_t bins = shared->job->bins->count;
    const bool bytes = shared->method == COUNT_BYTES || shared->method == COUNT_BIN_BYTES;
    if (shared->method == COUNT_BINS) {
        if (shared->alone || bins > PRIVATE_MOST || shared->job->count < PRIVATE_SHARE * bins)
            return true;
        shared->values = bins + BF_BIN_OTHERS;
    } else {
        shared->values = bytes ? BF_BYTE_VALUES : BF_WORD_VALUES;
        shared->counters = calloc((size_t)threads, sizeof *shared->counters);
        if (shared->counters == NULL) return false;
    }
    shared->totals = calloc((size_t)(threads * shared->values), sizeof *shared->totals);
    if (shared->totals == NULL) return false;
    for (int t = 0; t < threads && shared->counters; t++) {
        shared->counters[t].totals = shared->totals + t * shared->values;
        shared->counters[t].pairs = shared->job->count / threads >= PAIRS_LEAST;
    }
    return true;
}

bf_status bf_cpu_histogram(bf_context *context, const bf_bin_job *job, int64_t *counts,
                           int64_t *sums) {
    bf_cpu *cpu = context->cpu;
    int64_t worth = job->count * bf_dtype_bytes(job->dtype) / BYTES_PER_THREAD;
    int threads = worth < bf_pool_threads(cpu->pool) ? (int)worth : bf_pool_threads(cpu->pool);
    if (threads < 1) threads = 1;
    if (job->weights) return bf_weigh_bins(context, threads, job, counts, sums);
    shared_bins shared = {.job = job, .isa = cpu->isa, .counts = counts, .alone = threads == 1};
    shared.threads = threads;
    int64_t share = (job->count + threads - 1) / threads;
    shared.piece = share < PIECE && share > 0 ? share : PIECE;
    shared.method = choose(job);
    bool made = make_tables(&shared, threads);
    if (made) bf_pool_run(cpu->pool, threads, take_pieces, &shared);
    if (made && shared.totals) add_totals(&shared);
    free(shared.totals);
    free(shared.counters);
    return made ? BF_OK : bf_fail(context, BF_E_MEMORY, "no memory for a histogram's tables");
}
