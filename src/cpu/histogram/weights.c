/* Histograms with weights: each bin's weights enter an exact sum. Where bins are few, the weights
 * of a span are sorted by their bin, and each bin's are added by the loops of sums. */
#include "cpu/histogram/histogram.h"
#include "cpu/reduce/reduce.h"

enum {
    SORTED_MOST = 8192,     /* bins; with more, a span has too few weights for each */
    PRIVATE_WORDS = 1 << 23 /* the words of sums that all workers together may have of their own */
};

typedef struct weigh_job {
    const bf_context *context;
    const bf_bin_job *job;
    bf_sum_shape shape;
    int64_t *counts, *sums; /* the job's */
    int64_t *own;           /* each worker's in turn; NULL: there is one, which uses the job's */
} weigh_job;

/* A worker's room. */
typedef struct weigher {
    const weigh_job *shared; /* NULL: it comes for the first time */
    bf_reducer reducer;
    int64_t *counts, *sums;
    uint32_t bin[BF_SPAN];
    uint32_t start[SORTED_MOST + BF_BIN_OTHERS + 1]; /* where each bin's weights begin */
    uint64_t sorted[BF_SPAN];
} weigher;

static int64_t bins_of(const weigh_job *shared) { return shared->job->bins->count; }

static const char *weights_at(const weigher *w, int64_t i) {
    const bf_bin_job *job = w->shared->job;
    return (const char *)job->weights + i * bf_dtype_bytes(job->weights_dtype);
}

/* Returns the first limb that an element is added to. */
static int limb_of(bf_dtype dtype, bf_layout layout, uint64_t bits) {
    if (!bf_dtype_is_float(dtype)) return 0;
    bf_format f = bf_format_of(dtype);
    return bf_sum_position(f, layout, bf_decode(f, bits).position, 1) / 32;
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
    const bf_sum_shape *shape = &w->shared->shape;
    const int bytes = bf_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        w->counts[w->bin[i]]++;
        if (w->bin[i] >= bins_of(w->shared)) continue;
        int64_t *words = w->sums + w->bin[i] * (int64_t)shape->words;
        uint64_t bits = bf_load_bits(weights_at(w, first + i), bytes);
        bf_sum_take(dtype, shape, words, bits);
        carry_from(words + shape->sum_at, shape->sum.limbs, limb_of(dtype, shape->sum, bits));
    }
}

/* Counting sort: start[b] becomes where bin b's weights end. */
static void sort_weights(weigher *w, int64_t first, int64_t n) {
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
    bf_job job = {.op = BF_SUM, .kind = BF_KIND_SUM, .every_zero = true};
    job.dtype = w->shared->job->weights_dtype;
    uint32_t begin = 0;
    sort_weights(w, first, n);
    job.a = w->sorted;
    for (int64_t b = 0; b < bins_of(w->shared); begin = w->start[b++])
        if (w->start[b] > begin)
            bf_sum_absorb(&w->reducer, &job, begin, w->start[b] - begin,
                          w->sums + b * w->shared->shape.words);
}

static void weigh_span(weigher *w, int64_t first, int64_t n) {
    const weigh_job *shared = w->shared;
    for (int64_t i = 0; i < n; i += BF_BIN_BLOCK)
        bf_bins_of(w->reducer.isa, shared->job, first + i,
                   n - i < BF_BIN_BLOCK ? n - i : BF_BIN_BLOCK, w->bin + i);
    if (bins_of(shared) <= SORTED_MOST)
        weigh_sorted(w, first, n);
    else
        weigh_one_by_one(w, first, n);
}

/* Returns the words of a worker's own counts and sums. */
static int64_t own_words(const weigh_job *shared) {
    return bins_of(shared) * (1 + shared->shape.words) + BF_BIN_OTHERS;
}

static void open_weigher(weigher *w, const weigh_job *shared, int worker) {
    w->shared = shared;
    w->reducer = (bf_reducer){.isa = shared->context->cpu->isa};
    w->counts = shared->counts;
    w->sums = shared->sums;
    if (shared->own == NULL) return;
    w->counts = shared->own + worker * own_words(shared);
    w->sums = w->counts + bins_of(shared) + BF_BIN_OTHERS;
}

static bf_status weigh_piece(void *arg, int worker, int64_t first, int64_t n) {
    const weigh_job *shared = arg;
    weigher *w = bf_room(shared->context, worker);
    if (w->shared == NULL) open_weigher(w, shared, worker);
    weigh_span(w, first, n);
    return BF_OK;
}

static void merge_weigher(const weigh_job *shared, const weigher *w) {
    const int64_t bins = bins_of(shared), words = shared->shape.words;
    for (int64_t b = 0; b < bins + BF_BIN_OTHERS; b++) shared->counts[b] += w->counts[b];
    for (int64_t b = 0; b < bins; b++)
        if (w->counts[b] > 0)
            bf_sum_merge(BF_KIND_SUM, shared->job->weights_dtype, shared->sums + b * words,
                         w->sums + b * words);
}

bf_status bf_weigh_bins(bf_context *context, int workers, const bf_bin_job *job, int64_t *counts,
                        int64_t *sums) {
    weigh_job shared = {.context = context, .job = job, .counts = counts, .sums = sums};
    shared.shape = bf_sum_shape_of(BF_KIND_SUM, job->weights_dtype);
    int64_t words = own_words(&shared);
    workers = bf_workers_within(workers, (size_t)words * sizeof *shared.own);
    if (workers * words > PRIVATE_WORDS) workers = 1;
    bool made = bf_rooms_open(context, workers, sizeof(weigher));
    if (made && workers > 1) {
        shared.own = bf_calloc((size_t)(workers * words), sizeof *shared.own);
        made = shared.own != NULL;
    }
    if (!made) return bf_fail(context, BF_E_MEMORY, "no memory for sums of weights");
    bf_status status = bf_parallel(context, workers, job->count, BF_SPAN, weigh_piece, &shared);
    for (int i = 0; i < workers && shared.own != NULL && status == BF_OK; i++) {
        const weigher *w = bf_room(context, i);
        if (w->shared != NULL) merge_weigher(&shared, w);
    }
    bf_free(shared.own);
    return status;
}
