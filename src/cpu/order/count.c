/* Elements of one or two bytes are sorted by counting each value. */
#include "cpu/order/sorting.h"

#include <string.h>

enum {
    PIECE = 1 << 16,
    FILLED = 1 << 10 /* places that a worker fills at a time */
};

/* Bytes alternate between tables, so that an addition does not wait for the one before. */
static void count_bytes(const char *from, int64_t n, int64_t *counts) {
    enum { TABLES = 4 };
    uint32_t count[TABLES][256] = {0};
    const uint8_t *element = (const uint8_t *)from;
    int64_t i = 0;
    for (; i + TABLES <= n; i += TABLES)
        for (int t = 0; t < TABLES; t++) count[t][element[i + t]]++;
    for (; i < n; i++) count[0][element[i]]++;
    for (int v = 0; v < 256; v++)
        for (int t = 0; t < TABLES; t++) counts[v] += count[t][v];
}

static void count_words(const char *from, int64_t n, int64_t *counts) {
    for (int64_t i = 0; i < n; i++) {
        uint16_t element;
        memcpy(&element, from + 2 * i, 2);
        counts[element]++;
    }
}

/* The element at a place. */
static uint32_t element_at(const bf_order_sorter *s, int place) {
    uint32_t top = 1u << (8 * s->bytes - 1);
    bool negative = (((uint32_t)place ^ (uint32_t)s->code.negative) & top) != 0;
    return (uint32_t)place ^ (uint32_t)(negative ? s->code.negative : s->code.other);
}

static bool is_nan(const bf_order_sorter *s, uint32_t element) {
    return (element << 1 & ((1u << 8 * s->bytes) - 1)) > s->code.nan;
}

/* Fills the run of one element. */
static void fill_run(int bytes, uint32_t element, int64_t n, char *to) {
    if (bytes == 1) {
        memset(to, (int)element, (size_t)n);
        return;
    }
    uint16_t value = (uint16_t)element;
    for (int64_t i = 0; i < n; i++) memcpy(to + 2 * i, &value, 2);
}

void bf_order_count_bytes(const bf_order_sorter *s, const char *from, int64_t n, char *to) {
    int64_t counts[256] = {0};
    count_bytes(from, n, counts);
    for (int v = 2; v < 256 && s->code.most == 1; v++) { /* a bool of any other bits is 1 */
        counts[1] += counts[v];
        counts[v] = 0;
    }
    for (int place = 0; place < 256; place++) {
        uint32_t element = element_at(s, place);
        memset(to, (int)element, (size_t)counts[element]);
        to += counts[element];
    }
}

typedef struct counting {
    const bf_order_sorter *s;
    const char *from;
    char *to;
    int values;      /* an element has so many */
    int64_t *counts; /* each worker's, `values` of them; in the end the first are those of all */
    int64_t *begin;  /* where the run of each place begins */
} counting;

static bf_status count_piece(void *arg, int worker, int64_t first, int64_t n) {
    const counting *c = arg;
    int64_t *counts = c->counts + (int64_t)worker * c->values;
    if (c->s->bytes == 1)
        count_bytes(c->from + first, n, counts);
    else
        count_words(c->from + 2 * first, n, counts);
    return BF_OK;
}

static bf_status fill_places(void *arg, int worker, int64_t first, int64_t n) {
    const counting *c = arg;
    (void)worker;
    for (int place = (int)first; place < first + n; place++) {
        uint32_t element = element_at(c->s, place);
        if (!is_nan(c->s, element))
            fill_run(c->s->bytes, element, c->counts[element],
                     c->to + c->begin[place] * c->s->bytes);
    }
    return BF_OK;
}

/* Adds the workers' counts up. Returns the number of NaNs. */
static int64_t add_counts(const counting *c, int workers) {
    int64_t nans = 0;
    for (int v = 0; v < c->values; v++) {
        int64_t *counts = c->counts + v;
        for (int w = 1; w < workers; w++) *counts += counts[(int64_t)w * c->values];
        if (is_nan(c->s, (uint32_t)v)) nans += *counts;
    }
    for (int v = 2; v < c->values && c->s->code.most == 1; v++) {
        c->counts[1] += c->counts[v];
        c->counts[v] = 0;
    }
    return nans;
}

static void place_runs(const counting *c, int64_t nans) {
    int64_t at = c->s->nan_first ? nans : 0;
    for (int place = 0; place < c->values; place++) {
        uint32_t element = element_at(c->s, place);
        c->begin[place] = at;
        if (!is_nan(c->s, element)) at += c->counts[element];
    }
}

/* Copies the NaNs, which are of two bytes. */
static void copy_nans(const counting *c, int64_t n, char *nans) {
    for (int64_t i = 0; i < n; i++) {
        uint16_t element;
        memcpy(&element, c->from + 2 * i, 2);
        if (!is_nan(c->s, element)) continue;
        memcpy(nans, &element, 2);
        nans += 2;
    }
}

static bf_status fill_long(bf_context *context, counting *c, int64_t n, int workers) {
    const int64_t bytes = n * c->s->bytes, nans = add_counts(c, workers);
    char *kept = nans > 0 ? bf_alloc((size_t)(2 * nans)) : NULL;
    if (nans > 0) {
        if (kept == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to sort");
        copy_nans(c, n, kept);
        memcpy(c->to + (c->s->nan_first ? 0 : 2 * (n - nans)), kept, (size_t)(2 * nans));
        bf_free(kept);
    }
    place_runs(c, nans);
    return bf_parallel_watched(context, workers, c->values, FILLED, bytes / 2, fill_places, c);
}

bf_status bf_order_count_long(bf_context *context, const bf_order_sorter *s, const char *from,
                              int64_t n, char *to) {
    const int values = 1 << 8 * s->bytes, most = bf_workers(context, n, BF_ORDER_LEAST);
    const int workers = bf_workers_within(most, (size_t)values * sizeof(int64_t));
    int64_t *counts = bf_calloc((size_t)(workers + 1) * (size_t)values, sizeof *counts);
    counting c = {s, from, to, values, counts, counts + (int64_t)workers * values};
    if (counts == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to sort");
    bf_status status =
        bf_parallel_watched(context, workers, n, PIECE, n * s->bytes / 2, count_piece, &c);
    if (status == BF_OK) status = fill_long(context, &c, n, workers);
    bf_free(counts);
    return status;
}
