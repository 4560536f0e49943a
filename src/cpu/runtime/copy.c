/* Copies of large memory: workers take pieces of it. */
#include "seam/copy.h"
#include "cpu/runtime/context.h"

#include <string.h>

enum {
    PIECE = 1 << 18, /* bytes */
    COPIERS = 8      /* threads, at most: more of them reach less of the memory's rate */
};

/* Copies between contiguous memory, or memory of any strides, and contiguous memory. */
typedef struct copy_work {
    char *to;
    const char *from;
    const bf_strided *strided;
    int64_t first; /* of the strided elements */
} copy_work;

static void run_copy(bf_context *context, copy_work *c, int64_t n, int64_t piece,
                     bf_host_work *work) {
    int workers = bf_workers(context, n, piece);
    bf_parallel(context, workers < COPIERS ? workers : COPIERS, n, piece, work, c);
}

static bf_status copy_piece(void *arg, int worker, int64_t first, int64_t n) {
    const copy_work *c = arg;
    (void)worker;
    memcpy(c->to + first, c->from + first, (size_t)n);
    return BF_OK;
}

static bf_status gather_piece(void *arg, int worker, int64_t first, int64_t n) {
    const copy_work *c = arg;
    (void)worker;
    return bf_cpu_gather(NULL, c->strided, c->first + first, n, c->to + first * c->strided->bytes);
}

static bf_status scatter_piece(void *arg, int worker, int64_t first, int64_t n) {
    const copy_work *c = arg;
    (void)worker;
    return bf_cpu_scatter(NULL, c->strided, c->first + first, n,
                          c->from + first * c->strided->bytes);
}

void bf_host_copy(bf_context *context, void *to, const void *from, size_t bytes) {
    copy_work c = {.to = to, .from = from};
    run_copy(context, &c, (int64_t)bytes, PIECE, copy_piece);
}

void bf_host_gather(bf_context *context, const bf_strided *from, int64_t first, int64_t count,
                    void *to) {
    copy_work c = {.to = to, .strided = from, .first = first};
    run_copy(context, &c, count, PIECE / 8, gather_piece);
}

void bf_host_scatter(bf_context *context, const bf_strided *to, int64_t first, int64_t count,
                     const void *from) {
    copy_work c = {.from = from, .strided = to, .first = first};
    run_copy(context, &c, count, PIECE / 8, scatter_piece);
}
