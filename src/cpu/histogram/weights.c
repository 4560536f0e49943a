/* Histograms with weights: each bin's weights enter an exact sum. Where bins are few, the weights
 * of a span are sorted by their bin, and each bin's are added by the loops of sums. */
#include "cpu/histogram/histogram.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    SORTED_MOST = 8192,     /* bins up to which a span has enough weights for each */
    PRIVATE_WORDS = 1 << 23 /* of sums that all threads together may have of their own */
};

typedef struct shared_weights {
    const bf_bin_job *job;
    bf_exact_shape shape;
    struct weigher *weighers; /* of each thread */
    pthread_mutex_t lock;     /* of counts and sums */
    int64_t *counts, *sums;   /* the job's */
    _Atomic int64_t next;     /* first element that no thread has taken */
} shared_weights;

/* What one thread works with. */
typedef struct weigher {
    const shared_weights *shared;
    bf_worker worker;
    int64_t *counts, *sums; /* its own, or the job's where there is one thread only */
    uint32_t bin[BF_SPAN];
    uint32_t start[SORTED_MOST + BF_BIN_OTHERS + 1]; /* of each bin's weights */
    uint64_t sorted[BF_SPAN];
} weigher;

static int64_t bins_of(const shared_weights *shared) { return shared->job->bins->count; }

static const char *weights_at(const weigher *w, int64_t i) {
    const bf_bin_job *job = w->shared->job;
    return (const char *)job->weights + i * bf_dtype_bytes(job->weights_dtype);
}

/* Where in the limbs an element is added to. */
static int limb_of(bf_dtype dtype, bf_layout layout, uint64_t bits) {
    if (!bf_dtype_is_float(dtype)) return 0;
    bf_format f = bf_format_of(dtype);
    return bf_exact_position(f, layout, bf_decode(f, bits).position, 1) / 32;
}

/* bf_limbs_carry, where limbs were carried before an element was added to limb `at` and the next
 * two: mostly nothing is to be carried beyond them. */
static void carry_from(int64_t *limbs, int count, int at) {
    int64_t carry = 0;
    int i = at;
    for (; i < count - 1 && (i < at + 3 || carry != 0); i++) {
        int64_t sum = limbs[i] + carry;
        limbs[i] = sum & 0xffffffff;
        carry = sum >> 32;
    }
    limbs[i] += carry;
}

static void weigh_one_by_one(weigher *w, int64_t first, int64_t n) {
    const bf_dtype dtype = w->shared->job->weights_dtype;
    const bf_exact_shape *shape = &w->shared->shape;
    const int bytes = bf_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        w->counts[w->bin[i]]++;
        if (w->bin[i] >= bins_of(w->shared)) continue;
        int64_t *words = w->sums + w->bin[i] * (int64_t)shape->words;
        uint64_t bits = bf_load_bits(weights_at(w, first + i), bytes);
        bf_exact_take(dtype, shape, words, bits);
        carry_from(words + shape->sum_at, shape->sum.limbs, limb_of(dtype, shape->sum, bits));
    }
}

/* Counting sort: start[b] becomes where bin b's weights end. */
static void sort(weigher *w, int64_t first, int64_t n) {
    const int bytes = bf_dtype_bytes(w->shared->job->weights_dtype);
    const int64_t bins = bins_of(w->shared) + BF_BIN_OTHERS;
    memset(w->start, 0, (size_t)(bins + 1) * sizeof *w->start);
    for (int64_t i = 0; i < n; i++) w->start[w->bin[i] + 1]++;
    for (int64_t b = 0; b < bins; b++) {
        w->counts[b] += w->start[b + 1];
        w->start[b + 1] += w->start[b];
    }
    for (int64_t i = 0; i < n; i++) {
        char *to = (char *)w->sorted + (size_t)w->start[w->bin[i]]++ * (size_t)bytes;
        bf_store_bits(to, bytes, bf_load_bits(weights_at(w, first + i), bytes));
    }
}

static void weigh_sorted(weigher *w, int64_t first, int64_t n) {
    bf_job job = {.op = BF_SUM, .kind = BF_KIND_SUM, .dtype = w->shared->job->weights_dtype};
    uint32_t begin = 0;
    sort(w, first, n);
    job.a = w->sorted;
    for (int64_t b = 0; b < bins_of(w->shared); begin = w->start[b++])
        if (w->start[b] > begin)
            bf_exact_absorb(&w->worker, &job, begin, w->start[b] - begin,
                            w->sums + b * w->shared->shape.words);
}

static void weigh_span(weigher *w, int64_t first, int64_t n) {
    const shared_weights *shared = w->shared;
    for (int64_t i = 0; i < n; i += BF_BIN_BLOCK)
        bf_bins_of(w->worker.isa, shared->job, first + i,
                   n - i < BF_BIN_BLOCK ? n - i : BF_BIN_BLOCK, w->bin + i);
    if (bins_of(shared) <= SORTED_MOST)
        weigh_sorted(w, first, n);
    else
        weigh_one_by_one(w, first, n);
}

static void merge(shared_weights *shared, const weigher *w) {
    const int64_t bins = bins_of(shared), words = shared->shape.words;
    pthread_mutex_lock(&shared->lock);
    for (int64_t b = 0; b < bins + BF_BIN_OTHERS; b++) shared->counts[b] += w->counts[b];
    for (int64_t b = 0; b < bins; b++)
        if (w->counts[b] > 0)
            bf_exact_merge(BF_KIND_SUM, shared->job->weights_dtype, shared->sums + b * words,
                           w->sums + b * words);
    pthread_mutex_unlock(&shared->lock);
}

static void take_spans(void *arg, int thread) {
    shared_weights *shared = arg;
    const int64_t count = shared->job->count;
    weigher *w = &shared->weighers[thread];
    bf_environment environment = bf_environment_enter();
    for (;;) {
        int64_t first = atomic_fetch_add(&shared->next, BF_SPAN), left = count - first;
        if (left <= 0) break;
        weigh_span(w, first, left < BF_SPAN ? left : BF_SPAN);
    }
    bf_environment_leave(environment);
    if (w->counts != shared->counts) merge(shared, w);
}

/* The threads' workers: of more than one, each has counts and sums in `own`. */
static void make_weighers(shared_weights *shared, const bf_isa *isa, int threads, int64_t *own) {
    const int64_t counts = bins_of(shared) + BF_BIN_OTHERS;
    const int64_t sums = bins_of(shared) * shared->shape.words;
    for (int t = 0; t < threads; t++) {
        weigher *w = &shared->weighers[t];
        w->shared = shared;
        w->worker = (bf_worker){.isa = isa};
        w->counts = own ? own + t * (counts + sums) : shared->counts;
        w->sums = own ? w->counts + counts : shared->sums;
    }
}

/* Words that a thread needs for counts and sums of its own. */
static int64_t private_words(const shared_weights *shared) {
    return bins_of(shared) * (1 + shared->shape.words) + BF_BIN_OTHERS;
}

bf_status bf_weigh_bins(bf_context *context, int threads, const bf_bin_job *job, int64_t *counts,
                        int64_t *sums) {
    bf_cpu *cpu = context->cpu;
    shared_weights shared = {.job = job, .counts = counts, .sums = sums};
    shared.shape = bf_exact_shape_of(BF_KIND_SUM, job->weights_dtype);
    int64_t words = private_words(&shared), *own = NULL;
    if (threads * words > PRIVATE_WORDS) threads = 1;
    shared.weighers = malloc((size_t)threads * sizeof *shared.weighers);
    if (threads > 1) own = calloc((size_t)(threads * words), sizeof *own);
    bool made = shared.weighers != NULL && (threads == 1 || own != NULL);
    if (made) {
        make_weighers(&shared, cpu->isa, threads, own);
        pthread_mutex_init(&shared.lock, NULL);
        bf_pool_run(cpu->pool, threads, take_spans, &shared);
        pthread_mutex_destroy(&shared.lock);
    }
    free(shared.weighers);
    free(own);
    return made ? BF_OK : bf_fail(context, BF_E_MEMORY, "no memory for sums of weights");
}
