/* Places in sorted elements, and whether elements are in order. */
#include "cpu/order/sorting.h"

#include <stdatomic.h>

enum { PIECE = 1 << 14, WANTED_LEAST = 1 << 10 };

typedef struct searching {
    bf_order_sorter s;
    const char *sorted, *wanted;
    int64_t n;
    bool right;
    char *places;
} searching;

static bf_status search_piece(void *arg, int worker, int64_t first, int64_t n) {
    const searching *t = arg;
    (void)worker;
    t->s.element->search(&t->s.code, t->sorted, t->n, t->wanted + first * t->s.bytes, n, t->right,
                         t->places + 8 * first);
    return BF_OK;
}

bf_status bf_cpu_search(bf_context *context, bf_dtype dtype, bf_order order, const void *sorted,
                        int64_t n, const void *wanted, int64_t m, bool right, void *places) {
    searching t = {bf_order_sorter_of(context, dtype, order), sorted, wanted, n, right, places};
    int workers = bf_workers(context, m, WANTED_LEAST);
    return bf_parallel_watched(context, workers, m, PIECE, m * t.s.bytes, search_piece, &t);
}

typedef struct checking {
    bf_order_sorter s;
    const char *values;
    int64_t n;
    atomic_bool falls; /* seen somewhere */
} checking;

/* Looks at a piece and the element after it. */
static bf_status check_piece(void *arg, int worker, int64_t first, int64_t n) {
    checking *t = arg;
    int64_t more = first + n < t->n ? n + 1 : n;
    (void)worker;
    if (atomic_load_explicit(&t->falls, memory_order_relaxed)) return BF_OK;
    if (!t->s.element->ordered(&t->s.code, t->values + first * t->s.bytes, more))
        atomic_store_explicit(&t->falls, true, memory_order_relaxed);
    return BF_OK;
}

bf_status bf_cpu_is_sorted(bf_context *context, bf_dtype dtype, bf_order order, const void *values,
                           int64_t n, bool *sorted) {
    checking t = {.s = bf_order_sorter_of(context, dtype, order), .values = values, .n = n};
    int workers = bf_workers(context, n, BF_ORDER_LEAST);
    bf_status status =
        bf_parallel_watched(context, workers, n, PIECE, n * t.s.bytes, check_piece, &t);
    *sorted = !atomic_load(&t.falls);
    return status;
}
