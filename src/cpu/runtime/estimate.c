/* The number of different keys, from a sample: keys with `rate` zero bits in the middle of their
 * hash are counted, each once (P. Gibbons, Distinct Sampling, VLDB 2001). */
#include "cpu/runtime/estimate.h"

#include "rules/key/rank.h"

#include <stdlib.h>

enum {
    WANTED = 1 << 14, /* samples, if all keys are different */
    SLOTS = 1 << 16,  /* what a set of samples has */
    ENOUGH = SLOTS * 3 / 4,
    PIECE = 1 << 16,     /* keys that a worker takes at a time */
    KEYS_LEAST = 1 << 15 /* so many are worth a thread */
};

typedef struct sample_set {
    int64_t count;
    uint64_t hashes[SLOTS]; /* 0: none here; the hash 0 is not counted */
} sample_set;

typedef struct estimate_job {
    bf_hash_seed seed;
    bf_dtype dtype;
    const char *keys;
    size_t step;
    uint64_t skipped; /* bits of a hash that are 0 in a sample */
    sample_set *sets; /* one for each worker */
} estimate_job;

static void add_sample(sample_set *s, uint64_t hash) {
    uint64_t at = (hash * 0x9e3779b97f4a7c15u) >> 48;
    if (hash == 0 || s->count >= ENOUGH) return;
    for (; s->hashes[at] != 0; at = (at + 1) % SLOTS)
        if (s->hashes[at] == hash) return;
    s->hashes[at] = hash;
    s->count++;
}

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE uint64_t hash_of(bf_hash_seed seed, bf_dtype dtype, const char *key) {
    uint64_t words[2];
    if (dtype == BF_PAIR) {
        memcpy(words, key, sizeof words);
        return bf_hash_16(seed, words[0], words[1]);
    }
    int bytes = bf_dtype_bytes(dtype);
    uint64_t bits = bf_key_canonical(dtype, bf_load_bits(key, bytes));
    return bytes == 4 ? bf_hash_4(seed, (uint32_t)bits) : bf_hash_8(seed, bits);
}

static ALWAYS_INLINE void sample_keys(const estimate_job *job, bf_dtype dtype, sample_set *set,
                                      int64_t first, int64_t n) {
    const estimate_job j = *job;
    const char *key = j.keys + (size_t)first * j.step;
    for (int64_t i = 0; i < n; i++, key += j.step) {
        uint64_t hash = hash_of(j.seed, dtype, key);
        if ((hash & j.skipped) == 0) add_sample(set, hash);
    }
}

/* Compiled with every kind of key as a constant. */
static bf_status sample_piece(void *arg, int worker, int64_t first, int64_t n) {
    const estimate_job *job = arg;
    sample_set *set = &job->sets[worker];
    if (job->dtype == BF_PAIR)
        sample_keys(job, BF_PAIR, set, first, n);
    else if (job->dtype == BF_F64)
        sample_keys(job, BF_F64, set, first, n);
    else if (job->dtype == BF_F32)
        sample_keys(job, BF_F32, set, first, n);
    else if (bf_dtype_bytes(job->dtype) == 8)
        sample_keys(job, BF_U64, set, first, n);
    else
        sample_keys(job, BF_U32, set, first, n);
    return BF_OK;
}

bf_status bf_estimate_keys(bf_context *context, bf_hash_seed seed, bf_dtype dtype, const char *keys,
                           size_t step, int64_t n, int64_t *different) {
    int workers = bf_workers(context, n, KEYS_LEAST), rate = 0;
    estimate_job job = {.seed = seed, .dtype = dtype, .keys = keys, .step = step};
    while (n >> rate > WANTED && rate < 31) rate++;
    job.skipped = (((uint64_t)1 << rate) - 1) << 32;
    job.sets = calloc((size_t)workers, sizeof *job.sets);
    if (job.sets == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to count keys");
    bf_status status = bf_parallel_watched(context, workers, n, PIECE, 0, sample_piece, &job);
    for (int w = 1; w < workers; w++)
        for (int k = 0; k < SLOTS; k++) add_sample(&job.sets[0], job.sets[w].hashes[k]);
    *different = job.sets[0].count << rate;
    free(job.sets);
    return status;
}
