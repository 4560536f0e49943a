/* How many different keys many entries have, from a sample of the keys: those whose hash is one in
 * 2^rate, each as often as it comes, counted once (P. Gibbons, Distinct Sampling, VLDB 2001). */
#include "cpu/table/table.h"

#include <stdlib.h>

enum {
    WANTED = 1 << 14, /* samples, if all keys are different */
    PLACES = 1 << 16, /* of a set of samples */
    ENOUGH = PLACES * 3 / 4,
    PIECE = 1 << 10 /* entries at a time */
};

typedef struct sample_set {
    int64_t count;
    uint64_t hashes[PLACES]; /* 0: none here; the hash 0 is not counted */
} sample_set;

static void add(sample_set *s, uint64_t hash) {
    uint64_t at = (hash * 0x9e3779b97f4a7c15u) >> 48;
    if (hash == 0 || s->count >= ENOUGH) return;
    for (; s->hashes[at] != 0; at = (at + 1) % PLACES)
        if (s->hashes[at] == hash) return;
    s->hashes[at] = hash;
    s->count++;
}

typedef struct sample_job {
    const bf_cpu_table *table;
    const bf_entries *entries;
    int64_t n, slices;
    int rate;
    sample_set *sets; /* one for each slice */
} sample_job;

static void sample_slice(void *arg, int64_t i) {
    sample_job *job = arg;
    uint64_t hashes[PIECE];
    int64_t end = job->n / job->slices * (i + 1), at = job->n / job->slices * i;
    if (i + 1 == job->slices) end = job->n;
    for (; at < end; at += PIECE) {
        int64_t n = end - at < PIECE ? end - at : PIECE;
        int64_t found =
            job->table->loops->sample(job->table, job->entries, at, n, job->rate, hashes);
        for (int64_t k = 0; k < found; k++) add(&job->sets[i], hashes[k]);
    }
}

bf_status bf_table_estimate(bf_context *context, const bf_cpu_table *table,
                            const bf_entries *entries, int64_t n, int64_t *keys) {
    int threads = bf_table_threads(context, n);
    sample_job job = {.table = table, .entries = entries, .n = n, .slices = threads};
    while (n >> job.rate > WANTED && job.rate < 31) job.rate++;
    job.sets = calloc((size_t)job.slices, sizeof *job.sets);
    if (job.sets == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to insert");
    bf_table_share(context, threads, job.slices, sample_slice, &job);
    for (int64_t i = 1; i < job.slices; i++)
        for (int k = 0; k < PLACES; k++) add(&job.sets[0], job.sets[i].hashes[k]);
    *keys = job.sets[0].count << job.rate;
    free(job.sets);
    return BF_OK;
}
