/* Sums over links of one process against exact sums, through the seam: what tests of both ways
 * share. Ranks share GPUs where there are fewer of them. */
#ifndef BITFOLD_TESTS_COMM_LINKS_H
#define BITFOLD_TESTS_COMM_LINKS_H

#include "seam/backend.h"
#include "seam/comm.h"
#include "tests/comm/exact.h"
#include "tests/support/run.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 8, ROOM = 40 << 20 };

static const bf_comm_backend *by;
static bf_context *contexts[RANKS];
static bf_link *links[RANKS];
static char *on_device[RANKS], *on_host[RANKS], *expected; /* ROOM bytes each */
static int gpus;

static inline void get_device(int rank, char name[BF_DEVICE_TEXT]) {
    bf_device_format(rank % gpus, name);
}

static inline int set_up(void **unused) {
    (void)unused;
    by = bf_backend_gpu()->comm;
    gpus = bf_device_count();
    expected = malloc(ROOM);
    for (int r = 0; r < RANKS; r++) {
        char name[BF_DEVICE_TEXT];
        void *memory;
        get_device(r, name);
        on_host[r] = malloc(ROOM);
        if (bf_context_create(&BF_OPTIONS(.device = name), &contexts[r])) return -1;
        if (bf_memory_allocate(contexts[r], ROOM, &memory)) return -1;
        on_device[r] = memory;
    }
    return 0;
}

static inline int tear_down(void **unused) {
    (void)unused;
    for (int r = 0; r < RANKS; r++) {
        bf_memory_free(contexts[r], on_device[r]);
        bf_context_destroy(contexts[r]);
        free(on_host[r]);
    }
    free(expected);
    return 0;
}

static inline void close_links(int ranks) {
    for (int r = 0; r < ranks; r++) by->unlink(links[r]);
}

/* ---- one case -------------------------------------------------------------------------------- */

typedef struct one {
    bf_sums_to to;
    int root, ranks, terms, offset; /* terms of rank 0; rank r has r % 2 more. Bytes into memory */
    bf_dtype dtype;
    int64_t n;
    data_kind kind;
    bool in_place;
} one;

static inline int terms_of(const one *c, int rank) {
    return c->terms + (c->terms > 1 ? rank % 2 : 0);
}
static inline size_t in_bytes(const one *c, int rank) {
    return (size_t)terms_of(c, rank) * (size_t)c->n * bf_dtype_size(c->dtype);
}
static inline size_t out_at(const one *c, int rank) {
    size_t bytes = in_bytes(c, rank) / 64 * 64 + 64;
    return c->in_place ? (size_t)c->offset : bytes + (size_t)c->offset;
}

/* Fills all terms; returns whether a sum does not fit. */
static inline bool prepare(const one *c, uint64_t seed) {
    size_t bytes = bf_dtype_size(c->dtype);
    bool misfit = false;
    const void *at[RANKS * 130];
    for (int r = 0; r < c->ranks; r++) {
        fill(c->dtype, on_host[r] + c->offset, terms_of(c, r) * c->n, c->kind, seed + (uint64_t)r);
        if (r > 0 && c->kind == KIND_CANCEL) /* half of the sums cancel over ranks */
            for (int64_t i = 0; i < c->n; i += 2)
                store_bits(on_host[r] + c->offset + (size_t)i * bytes, bytes,
                           load_bits(on_host[r - 1] + c->offset + (size_t)i * bytes, bytes) ^
                               (is_float(c->dtype) ? sign_bit(c->dtype) : 0));
        assert_cuda(cudaMemcpy(on_device[r] + c->offset, on_host[r] + c->offset, in_bytes(c, r),
                               cudaMemcpyDefault));
    }
    for (int64_t i = 0; i < c->n; i++) {
        int n = 0;
        for (int r = 0; r < c->ranks; r++)
            for (int t = 0; t < terms_of(c, r); t++)
                at[n++] = on_host[r] + c->offset + (size_t)(t * c->n + i) * bytes;
        store_bits(expected + (size_t)i * bytes, bytes, exact_sum(c->dtype, at, n, &misfit));
    }
    return misfit;
}

static inline bf_sums job_of(const one *c, int rank) {
    return (bf_sums){.to = c->to,
                     .root = c->root,
                     .dtype = c->dtype,
                     .n = c->n,
                     .in = on_device[rank] + c->offset,
                     .terms = terms_of(c, rank),
                     .out = on_device[rank] + out_at(c, rank)};
}

static inline void enqueue(const one *c) {
    for (int r = 0; r < c->ranks; r++) {
        bf_sums job = job_of(c, r);
        assert_int_equal(by->sum(links[r], &job, false), BF_OK);
    }
}

static inline void compare(const one *c) {
    size_t bytes = bf_dtype_size(c->dtype);
    for (int r = 0; r < c->ranks; r++) {
        if (c->to == BF_SUMS_TO_ROOT && r != c->root) continue;
        int64_t n = c->to == BF_SUMS_TO_OWNERS ? c->n / c->ranks : c->n;
        const char *right = expected + (c->to == BF_SUMS_TO_OWNERS ? (size_t)(r * n) * bytes : 0);
        assert_cuda(cudaMemcpy(on_host[r], on_device[r] + out_at(c, r), (size_t)n * bytes,
                               cudaMemcpyDefault));
        if (memcmp(on_host[r], right, (size_t)n * bytes) == 0) continue;
        int64_t i = 0;
        while (!memcmp(on_host[r] + (size_t)i * bytes, right + (size_t)i * bytes, bytes)) i++;
        fail_msg("to %d, rank %d of %d, %d terms, %s, n %lld, kind %d, offset %d%s: element %lld "
                 "is %llx, not %llx",
                 c->to, r, c->ranks, c->terms, bf_dtype_name(c->dtype), (long long)c->n, c->kind,
                 c->offset, c->in_place ? ", in place" : "", (long long)i,
                 (unsigned long long)load_bits(on_host[r] + (size_t)i * bytes, bytes),
                 (unsigned long long)load_bits(right + (size_t)i * bytes, bytes));
    }
}

static inline void check(const one *c, uint64_t seed) {
    bool misfit = prepare(c, seed);
    for (int again = 0; again < (c->in_place ? 1 : 2); again++) {
        enqueue(c);
        for (int r = 0; r < c->ranks; r++)
            assert_int_equal(bf_context_synchronize(contexts[r]), misfit ? BF_E_OVERFLOW : BF_OK);
    }
    if (!misfit) compare(c);
}

#endif
