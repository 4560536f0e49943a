/* All entries of a table: copied out region by region, and sorted by key. */
#include "cpu/table/table.h"

#include <stdlib.h>

/* ---- out of the table ------------------------------------------------------------------------ */

typedef struct collect_job {
    const bf_cpu_table *table;
    char *keys, *values;
    const int64_t *begin; /* of each region's entries */
} collect_job;

static void collect_region(const collect_job *job, int64_t region, int64_t at) {
    const bf_cpu_table *t = job->table;
    char *values = job->values == NULL ? NULL : job->values + at * t->value_bytes;
    t->loops->collect(t, (uint64_t)region, job->keys + at * t->key_bytes, values);
}

static void collect_shared(void *arg, int64_t region) {
    const collect_job *job = arg;
    collect_region(job, region, job->begin[region]);
}

void bf_table_collect(bf_context *context, const bf_cpu_table *table, char *keys, char *values) {
    int64_t at = 0, regions = (int64_t)bf_slots_regions(&table->slots);
    int64_t *begin = malloc((size_t)regions * sizeof *begin);
    collect_job job = {.table = table, .keys = keys, .values = values, .begin = begin};
    for (int64_t r = 0; r < regions; r++) {
        if (begin != NULL)
            begin[r] = at;
        else
            collect_region(&job, r, at); /* threads would need to know where */
        at += table->slots.regions[r].used;
    }
    if (begin != NULL)
        bf_table_share(context, bf_table_threads(context, at), regions, collect_shared, &job);
    free(begin);
    if (!table->has_aside) return;
    memcpy(keys + at * table->key_bytes, table->pattern, (size_t)table->key_bytes);
    if (values != NULL)
        memcpy(values + at * table->value_bytes, table->aside, (size_t)table->value_bytes);
}

/* ---- sorted ---------------------------------------------------------------------------------- */

enum { PIECE = 1 << 16, DIGITS = 1 << BF_DIGIT_BITS };

typedef struct piece_bits {
    uint64_t all[2], common[2];
} piece_bits;

/* Ranks are distributed by their highest digit to scratch memory; then each part is sorted, and
 * comes back. */
typedef struct bf_sorting {
    const bf_table_loops *loops;
    bf_dtype dtype;
    int key_bytes, value_bytes;
    int64_t n, pieces;
    int shift; /* of the digit */
    char *keys, *values, *to_keys, *to_values;
    piece_bits *bits; /* of each piece's ranks */
    uint32_t *counts; /* of each piece's digits */
    int64_t *at;      /* where they go */
    int64_t begin[DIGITS + 1];
} sort_job;

static int64_t piece_size(const sort_job *job, int64_t i) {
    return job->n - i * PIECE < PIECE ? job->n - i * PIECE : PIECE;
}

static char *value_at(const sort_job *job, char *values, int64_t i) {
    return values == NULL ? NULL : values + i * job->value_bytes;
}

static void rank_piece(void *arg, int64_t i) {
    sort_job *job = arg;
    job->bits[i] = (piece_bits){{0, 0}, {~(uint64_t)0, ~(uint64_t)0}};
    job->loops->rank(job->dtype, piece_size(job, i), job->keys + i * PIECE * job->key_bytes,
                     job->bits[i].all, job->bits[i].common);
}

static void count_piece(void *arg, int64_t i) {
    sort_job *job = arg;
    job->loops->digits(job->keys + i * PIECE * job->key_bytes, piece_size(job, i), job->shift,
                       job->counts + i * DIGITS);
}

static void distribute_piece(void *arg, int64_t i) {
    sort_job *job = arg;
    job->loops->distribute(job->keys + i * PIECE * job->key_bytes,
                           value_at(job, job->values, i * PIECE), piece_size(job, i), job->shift,
                           job->at + i * DIGITS, job->to_keys, job->to_values);
}

static void sort_part(void *arg, int64_t digit) {
    sort_job *job = arg;
    int64_t first = job->begin[digit], n = job->begin[digit + 1] - first;
    char *ranks = job->to_keys + first * job->key_bytes, *keys = job->keys + first * job->key_bytes;
    char *values = value_at(job, job->to_values, first), *to = value_at(job, job->values, first);
    if (n == 0) return;
    if (!job->loops->sort(ranks, values, n, job->shift, keys, to)) {
        memcpy(keys, ranks, (size_t)(n * job->key_bytes));
        if (to != NULL) memcpy(to, values, (size_t)(n * job->value_bytes));
    }
    job->loops->unrank(job->dtype, n, keys);
}

/* The highest digit in which ranks differ. */
static int digit_shift(const sort_job *job) {
    piece_bits b = job->bits[0];
    for (int64_t i = 1; i < job->pieces; i++) {
        for (int w = 0; w < 2; w++) {
            b.all[w] |= job->bits[i].all[w];
            b.common[w] &= job->bits[i].common[w];
        }
    }
    int high = job->key_bytes == 16 ? bf_bit_length(b.all[1] & ~b.common[1]) : 0;
    int length = high > 0 ? 64 + high : bf_bit_length(b.all[0] & ~b.common[0]);
    return length > BF_DIGIT_BITS ? length - BF_DIGIT_BITS : 0;
}

static void place_digits(sort_job *job) {
    int64_t at = 0;
    for (int d = 0; d < DIGITS; d++) {
        job->begin[d] = at;
        for (int64_t i = 0; i < job->pieces; i++) {
            job->at[i * DIGITS + d] = at;
            at += job->counts[i * DIGITS + d];
        }
    }
    job->begin[DIGITS] = at;
}

static bool allocate(sort_job *job, bool values) {
    size_t digits = (size_t)job->pieces * DIGITS;
    job->bits = calloc((size_t)job->pieces, sizeof *job->bits);
    job->counts = calloc(digits, sizeof *job->counts);
    job->at = calloc(digits, sizeof *job->at);
    job->to_keys = bf_zeros((size_t)(job->n * (job->key_bytes + job->value_bytes)));
    if (job->to_keys != NULL && values) job->to_values = job->to_keys + job->n * job->key_bytes;
    return job->bits != NULL && job->counts != NULL && job->at != NULL && job->to_keys != NULL;
}

static void run(bf_context *context, sort_job *job) {
    int threads = bf_table_threads(context, job->n);
    bf_table_share(context, threads, job->pieces, rank_piece, job);
    job->shift = digit_shift(job);
    bf_table_share(context, threads, job->pieces, count_piece, job);
    place_digits(job);
    bf_table_share(context, threads, job->pieces, distribute_piece, job);
    bf_table_share(context, threads, DIGITS, sort_part, job);
}

static void drop(bf_sorting *job) {
    if (job == NULL) return;
    free(job->bits);
    free(job->counts);
    free(job->at);
    free(job->to_keys);
    free(job);
}

bf_sorting *bf_sorting_make(bf_context *context, const bf_cpu_table *table, int64_t n,
                            bool values) {
    bf_sorting *job = calloc(1, sizeof *job);
    if (job != NULL) {
        *job = (sort_job){.loops = table->loops,
                          .dtype = table->kind.key,
                          .n = n,
                          .key_bytes = table->key_bytes,
                          .value_bytes = table->value_bytes,
                          .pieces = (n - 1) / PIECE + 1};
        if (allocate(job, values)) return job;
    }
    drop(job);
    bf_fail(context, BF_E_MEMORY, "no memory to sort");
    return NULL;
}

void bf_sorting_run(bf_context *context, bf_sorting *job, char *keys, char *values) {
    job->keys = keys;
    job->values = values;
    run(context, job);
    drop(job);
}

bf_status bf_table_sort(bf_context *context, const bf_cpu_table *table, int64_t n, char *keys,
                        char *values) {
    bf_sorting *job = bf_sorting_make(context, table, n, values != NULL);
    if (job == NULL) return BF_E_MEMORY;
    bf_sorting_run(context, job, keys, values);
    return BF_OK;
}
