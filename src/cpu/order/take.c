/* Elements at positions. */
#include "cpu/order/sorting.h"

#include <string.h>

enum { PIECE = 1 << 14 };

static inline __attribute__((always_inline)) void take_all(size_t bytes, const char *from,
                                                           const char *index, int64_t n, char *to) {
    for (int64_t i = 0; i < n; i++) {
        int64_t at, far;
        memcpy(&at, index + 8 * i, 8);
        if (i + BF_ORDER_FAR < n) {
            memcpy(&far, index + 8 * (i + BF_ORDER_FAR), 8);
            __builtin_prefetch(from + (size_t)far * bytes);
        }
        memcpy(to + (size_t)i * bytes, from + (size_t)at * bytes, bytes);
    }
}

void bf_order_take(int bytes, const char *from, const char *index, int64_t n, char *to) {
    switch (bytes) {
    case 1: take_all(1, from, index, n, to); break;
    case 2: take_all(2, from, index, n, to); break;
    case 4: take_all(4, from, index, n, to); break;
    case 8: take_all(8, from, index, n, to); break;
    default: take_all(16, from, index, n, to); break;
    }
}

typedef struct taking {
    int bytes;
    const char *from, *index;
    char *to;
} taking;

static bf_status take_piece(void *arg, int worker, int64_t first, int64_t n) {
    const taking *t = arg;
    (void)worker;
    bf_order_take(t->bytes, t->from, t->index + 8 * first, n, t->to + first * t->bytes);
    return BF_OK;
}

static bf_status copy_piece(void *arg, int worker, int64_t first, int64_t n) {
    const taking *t = arg;
    (void)worker;
    memcpy(t->to + first * t->bytes, t->from + first * t->bytes, (size_t)(n * t->bytes));
    return BF_OK;
}

bf_status bf_order_take_long(bf_context *context, int bytes, const char *from, const char *index,
                             int64_t n, char *to, char *scratch, int64_t told) {
    const int workers = bf_workers(context, n, BF_ORDER_LEAST);
    taking take = {bytes, from, index, scratch != NULL ? scratch : to};
    taking copy = {bytes, scratch, NULL, to};
    if (scratch != NULL) told /= 2;
    bf_status status = bf_parallel_watched(context, workers, n, PIECE, told, take_piece, &take);
    if (status != BF_OK || scratch == NULL) return status;
    return bf_parallel_watched(context, workers, n, PIECE, told, copy_piece, &copy);
}

bf_status bf_cpu_take(bf_context *context, int bytes, const void *from, const void *index,
                      int64_t n, void *to) {
    return bf_order_take_long(context, bytes, from, index, n, to, NULL, n * bytes);
}
