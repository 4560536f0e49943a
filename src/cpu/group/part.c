/* Rows are counted by partition, and then go to their places: the ranks of all, and the values. */
#include "cpu/group/part.h"

enum { BATCH = BF_GROUP_BATCH / 2 }; /* ranks on the stack */

int64_t bf_group_row_bytes(const bf_group_rows *r) {
    const bf_cpu_groups *g = r->groups;
    int64_t bytes = bf_key_bytes(g->key);
    for (int c = 0; c < g->arrays; c++) bytes += bf_number_bytes(g->array_dtypes[c]);
    return bytes;
}

static int64_t piece_begin(const bf_parting *p, int64_t i) { return p->n * i / p->pieces; }

/* Sets the ranks of rows of the block. */
static void rank_rows(const bf_parting *p, int64_t first, int64_t n, char *ranks) {
    const bf_cpu_groups *g = p->rows->groups;
    g->loops->rank(g->key, p->rows->keys + (p->first + first) * bf_key_bytes(g->key), n, ranks);
}

static bf_status count_piece(void *arg, int worker, int64_t i, int64_t unused) {
    bf_parting *p = arg;
    (void)worker, (void)unused;
    _Alignas(16) char ranks[BATCH * 16];
    const bf_cpu_groups *g = p->rows->groups;
    const int64_t end = piece_begin(p, i + 1);
    memset(p->at[i], 0, sizeof p->at[i]);
    for (int64_t first = piece_begin(p, i); first < end; first += BATCH) {
        const int64_t n = end - first < BATCH ? end - first : BATCH;
        uint8_t *partitions = p->partitions + first;
        rank_rows(p, first, n, ranks);
        if (p->ranges != NULL)
            g->loops->ranges(p->ranges, ranks, n, partitions);
        else
            g->loops->partitions(g->seed, ranks, n, partitions);
        for (int64_t k = 0; k < n; k++) p->at[i][partitions[k]]++;
    }
    return BF_OK;
}

static void place_pieces(bf_parting *p) {
    int64_t at = 0;
    for (int partition = 0; partition < BF_PARTITIONS; partition++) {
        p->begin[partition] = at;
        for (int i = 0; i < p->pieces; i++) {
            int64_t count = p->at[i][partition];
            p->at[i][partition] = at;
            at += count;
        }
    }
    p->begin[BF_PARTITIONS] = at;
}

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE void scatter_bytes(const uint8_t *partitions, int64_t *at, const char *from,
                                        char *to, int64_t n, size_t bytes) {
    for (int64_t i = 0; i < n; i++) {
        char *row = to + (size_t)at[partitions[i]]++ * bytes;
        __builtin_prefetch(row + BF_CPU_LINE, 1);
        memcpy(row, from + (size_t)i * bytes, bytes);
    }
}

/* Copies rows to their places, which move on. */
static void scatter_values(const uint8_t *partitions, int64_t *at, const char *from, char *to,
                           int64_t n, int bytes) {
    switch (bytes) {
    case 1: scatter_bytes(partitions, at, from, to, n, 1); break;
    case 2: scatter_bytes(partitions, at, from, to, n, 2); break;
    case 4: scatter_bytes(partitions, at, from, to, n, 4); break;
    case 8: scatter_bytes(partitions, at, from, to, n, 8); break;
    default: scatter_bytes(partitions, at, from, to, n, 16); break;
    }
}

static void scatter_ranks(const bf_parting *p, int64_t *at, int64_t first, int64_t end) {
    _Alignas(16) char ranks[BATCH * 16];
    for (; first < end; first += BATCH) {
        const int64_t n = end - first < BATCH ? end - first : BATCH;
        rank_rows(p, first, n, ranks);
        scatter_values(p->partitions + first, at, ranks, p->ranks, n, p->rows->groups->rank_bytes);
    }
}

static bf_status scatter_piece(void *arg, int worker, int64_t i, int64_t unused) {
    bf_parting *p = arg;
    (void)worker, (void)unused;
    const bf_cpu_groups *g = p->rows->groups;
    const int64_t first = piece_begin(p, i), end = piece_begin(p, i + 1);
    int64_t at[BF_PARTITIONS];
    memcpy(at, p->at[i], sizeof at);
    scatter_ranks(p, at, first, end);
    for (int c = 0; c < g->arrays; c++) {
        const int bytes = bf_number_bytes(g->array_dtypes[c]);
        const char *from = p->rows->values[c] + (p->first + first) * bytes;
        memcpy(at, p->at[i], sizeof at);
        scatter_values(p->partitions + first, at, from, p->values[c], end - first, bytes);
    }
    return BF_OK;
}

bool bf_parting_open(bf_parting *p, int64_t n) {
    const bf_cpu_groups *g = p->rows->groups;
    size_t count = (size_t)n;
    p->partitions = bf_zeros(count);
    p->ranks = bf_zeros(count * (size_t)g->rank_bytes);
    p->at = bf_calloc((size_t)p->pieces, sizeof *p->at);
    bool made = p->partitions != NULL && p->ranks != NULL && p->at != NULL;
    for (int c = 0; c < g->arrays && made; c++) {
        p->values[c] = bf_zeros(count * (size_t)bf_number_bytes(g->array_dtypes[c]));
        made = p->values[c] != NULL;
    }
    return made;
}

void bf_parting_close(bf_parting *p) {
    bf_free(p->partitions);
    bf_free(p->ranks);
    bf_free(p->at);
    for (int c = 0; c < p->rows->groups->arrays; c++) bf_free(p->values[c]);
}

bf_status bf_parting_run(bf_context *context, int workers, bf_parting *p, int64_t bytes) {
    bf_status status =
        bf_parallel_watched(context, workers, p->pieces, 1, bytes / 4, count_piece, p);
    if (status != BF_OK) return status;
    place_pieces(p);
    return bf_parallel_watched(context, workers, p->pieces, 1, bytes - bytes / 4, scatter_piece, p);
}
