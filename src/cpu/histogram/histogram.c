/* A histogram on the CPU: each worker counts pieces of the array in counts of its own, which are
 * added up at the end. */
#include "cpu/histogram/histogram.h"

enum {
    PIECE = 1 << 17,        /* elements that a worker takes at a time */
    THREAD_BYTES = 1 << 20, /* so many are worth a thread */
    COUNTERS_LEAST = 4,     /* workers' counters that are worth a thread to end them */
    BYTES_LEAST = 1 << 11,  /* elements that are worth tables of bytes */
    PAIRS_LEAST = 1 << 20,  /* elements of each worker that are worth a table of pairs of bytes */
    WORDS_LEAST = 1 << 18,  /* 16-bit elements that are worth a table of words */
    PRIVATE_MOST = 1 << 20, /* each worker may have its own counts of so many bins */
    PRIVATE_SHARE = 8,      /* it has them only with so many elements for each bin */
    BYTE_BINS = 8192,       /* bin numbers that are counted together as bytes */
    FETCH_AHEAD = 24,       /* counts are fetched so many elements before they are needed */
    FETCH_LEAST = 1 << 15   /* where there are so many that caches do not hold them all */
};

/* How elements are counted. */
typedef enum method {
    COUNT_BYTES,     /* by their bits */
    COUNT_WORDS,     /* by their 16 bits */
    COUNT_BIN_BYTES, /* by bin numbers that fit a byte */
    COUNT_BINS       /* by bin numbers, in the counts of bins */
} method;

typedef struct count_job {
    const bf_context *context;
    const bf_bin_job *job;
    method method;
    int workers;
    int64_t values;  /* counts in a worker's totals */
    int64_t *totals; /* each worker's in turn; NULL: all share `counts` */
    int64_t *counts; /* the job's */
} count_job;

/* A worker's room. */
typedef struct count_room {
    int64_t pieces; /* counted so far */
    bf_counter counter;
} count_room;

static method choose_method(const bf_bin_job *job) {
    int64_t values = job->bins->count + BF_BIN_OTHERS;
    int bytes = bf_dtype_bytes(job->dtype);
    if (job->count < BYTES_LEAST) return COUNT_BINS;
    if (bytes == 1) return COUNT_BYTES;
    if (bytes == 2 && job->count >= WORDS_LEAST) return COUNT_WORDS;
    return values <= BF_BYTE_VALUES ? COUNT_BIN_BYTES : COUNT_BINS;
}

/* --- one thread, one piece --- */

/* fetch: counts are fetched ahead, because there are more than the cache holds. */
static void add_bins(int64_t *counts, const uint32_t *bin, int64_t n, bool fetch) {
    for (int64_t i = 0; i < n; i++) {
        if (fetch && i + FETCH_AHEAD < n) __builtin_prefetch(&counts[bin[i + FETCH_AHEAD]], 1);
        counts[bin[i]]++;
    }
}

/* Adds to counts that workers share. */
static void add_bins_shared(int64_t *counts, const uint32_t *bin, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (i + FETCH_AHEAD < n) __builtin_prefetch(&counts[bin[i + FETCH_AHEAD]], 1);
        __atomic_fetch_add(&counts[bin[i]], 1, __ATOMIC_RELAXED);
    }
}

static void count_bins(const count_job *c, int worker, int64_t first, int64_t n) {
    const bf_isa *isa = c->context->cpu->isa;
    int64_t *own = c->totals ? c->totals + worker * c->values : c->counts;
    uint32_t bin[BF_BIN_BLOCK];
    for (int64_t m; n > 0; n -= m, first += m) {
        m = n < BF_BIN_BLOCK ? n : BF_BIN_BLOCK;
        bf_bins_of(isa, c->job, first, m, bin);
        if (!c->totals && c->workers > 1)
            add_bins_shared(c->counts, bin, m);
        else if (c->job->bins->count > FETCH_LEAST)
            add_bins(own, bin, m, true);
        else
            add_bins(own, bin, m, false);
    }
}

static void count_bin_bytes(const count_job *c, bf_counter *counter, int64_t first, int64_t n) {
    uint8_t byte[BYTE_BINS];
    for (int64_t m; n > 0; n -= m, first += m) {
        m = n < BYTE_BINS ? n : BYTE_BINS;
        for (int64_t i = 0; i < m; i += BF_BIN_BLOCK) {
            int64_t left = m - i < BF_BIN_BLOCK ? m - i : BF_BIN_BLOCK;
            bf_byte_bins_of(c->context->cpu->isa, c->job, first + i, left, byte + i);
        }
        bf_count_bytes(counter, byte, (size_t)m);
    }
}

static bf_counter *open_counter(const count_job *c, int worker) {
    count_room *room = bf_room(c->context, worker);
    if (room->pieces++ == 0) {
        memset(&room->counter, 0, sizeof room->counter);
        room->counter.totals = c->totals + worker * c->values;
        room->counter.pairs = c->job->count / c->workers >= PAIRS_LEAST;
    }
    return &room->counter;
}

static bf_status count_piece(void *arg, int worker, int64_t first, int64_t n) {
    const count_job *c = arg;
    const char *data = (const char *)c->job->data + first * bf_dtype_bytes(c->job->dtype);
    switch (c->method) {
    case COUNT_BYTES: bf_count_bytes(open_counter(c, worker), data, (size_t)n); break;
    case COUNT_WORDS: bf_count_words(open_counter(c, worker), data, (size_t)n); break;
    case COUNT_BIN_BYTES: count_bin_bytes(c, open_counter(c, worker), first, n); break;
    default: count_bins(c, worker, first, n); break;
    }
    return BF_OK;
}

/* --- all of them --- */

/* Adds what the counters of workers [first, first + n) hold to their totals. */
static bf_status end_counters(void *arg, int worker, int64_t first, int64_t n) {
    const count_job *c = arg;
    (void)worker;
    for (int w = (int)first; w < (int)(first + n); w++) {
        count_room *room = bf_room(c->context, w);
        if (room->pieces == 0) continue;
        if (c->method == COUNT_WORDS)
            bf_count_words_end(&room->counter);
        else
            bf_count_bytes_end(&room->counter);
    }
    return BF_OK;
}

/* Adds up the workers' totals, which are of bins or of elements' bits. */
static void add_totals(const count_job *c) {
    const bool by_bits = c->method == COUNT_BYTES || c->method == COUNT_WORDS;
    const int64_t bins = c->job->bins->count + BF_BIN_OTHERS;
    for (int64_t v = 0; v < (by_bits ? c->values : bins); v++) {
        int64_t total = 0;
        for (int w = 0; w < c->workers; w++) total += c->totals[w * c->values + v];
        if (total == 0) continue;
        int64_t bin = by_bits ? bf_bin_of_bits(c->job->bins, c->job->dtype, (uint64_t)v) : v;
        c->counts[bin] += total;
    }
}

/* Counts all elements in c->counts, by way of the workers' totals if there are any. */
static bf_status count_all(bf_context *context, count_job *c) {
    int64_t share = (c->job->count + c->workers - 1) / c->workers;
    bf_status status = bf_parallel(context, c->workers, c->job->count,
                                   share < PIECE ? share : PIECE, count_piece, c);
    if (status != BF_OK || c->totals == NULL) return status;
    if (c->method != COUNT_BINS)
        (void)bf_parallel(context, bf_workers(context, c->workers, COUNTERS_LEAST), c->workers, 1,
                          end_counters, c);
    add_totals(c);
    return BF_OK;
}

/* Returns whether each worker counts bins in totals of its own, and not all in the job's. */
static bool wants_own_bins(const count_job *c) {
    const int64_t bins = c->job->bins->count;
    return c->workers > 1 && bins <= PRIVATE_MOST && c->job->count >= PRIVATE_SHARE * bins;
}

/* Makes the workers' totals and rooms. false: no memory. */
static bool make_totals(bf_context *context, count_job *c) {
    if (c->method == COUNT_BINS && !wants_own_bins(c)) return true;
    if (c->method == COUNT_BINS)
        c->values = c->job->bins->count + BF_BIN_OTHERS;
    else
        c->values = c->method == COUNT_WORDS ? BF_WORD_VALUES : BF_BYTE_VALUES;
    if (c->method != COUNT_BINS && !bf_rooms_open(context, c->workers, sizeof(count_room)))
        return false;
    c->workers = bf_workers_within(c->workers, (size_t)c->values * sizeof *c->totals);
    c->totals = bf_calloc((size_t)(c->workers * c->values), sizeof *c->totals);
    return c->totals != NULL;
}

static bf_status count_elements(bf_context *context, int workers, const bf_bin_job *job,
                                int64_t *counts) {
    count_job c = {.context = context, .job = job, .workers = workers, .counts = counts};
    c.method = choose_method(job);
    if (!make_totals(context, &c))
        return bf_fail(context, BF_E_MEMORY, "no memory for a histogram's tables");
    bf_status status = count_all(context, &c);
    bf_free(c.totals);
    return status;
}

bf_status bf_cpu_histogram(bf_context *context, const bf_bin_job *job, int64_t *counts,
                           int64_t *sums) {
    int workers = bf_workers(context, job->count * bf_dtype_bytes(job->dtype), THREAD_BYTES);
    bf_environment environment = bf_environment_enter();
    bf_status status = job->weights ? bf_weigh_bins(context, workers, job, counts, sums)
                                    : count_elements(context, workers, job, counts);
    bf_environment_leave(environment);
    return status;
}
