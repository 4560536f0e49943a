/* Pairs: their different ones, the first of a line, and order statistics of the BF_I128 that they
 * stand for. All are sorted. */
#include "cpu/order/select/select.h"
#include "cpu/order/sorting.h"
#include "rules/key/rank.h"

enum { BYTES = 16, PIECE = 1 << 6 /* lines that a worker takes at a time */ };

/* Sorts lines to memory of its own, where they lie as lines->values do: *sorted (NULL: not wanted)
 * and the positions *index, which are freed by bf_free even after a failure. */
static bf_status sort_copy(bf_context *context, const bf_order_lines *lines, char **sorted,
                           char **index) {
    const int64_t end = bf_line_begin(lines, lines->count);
    bool made = true;
    if (sorted != NULL) made = (*sorted = bf_order_alloc((size_t)end * BYTES + 1)) != NULL;
    if (made && index != NULL) made = (*index = bf_order_alloc((size_t)end * 8 + 1)) != NULL;
    if (!made) return bf_fail(context, BF_E_MEMORY, "no memory to sort");
    return bf_cpu_sort(context, lines, sorted == NULL ? NULL : *sorted,
                       index == NULL ? NULL : *index);
}

/* ---- different pairs ------------------------------------------------------------------------- */

bf_status bf_order_unique_pairs(bf_context *context, const void *values, int64_t n, void *keys,
                                void *counts, int64_t room, int64_t *different) {
    const bf_order_lines line = {.dtype = BF_PAIR, .values = values, .count = 1, .length = n};
    char *sorted = NULL;
    bf_status status = sort_copy(context, &line, &sorted, NULL);
    int64_t found = 0, begin = 0;
    for (int64_t end = 1; status == BF_OK && end <= n; end++) {
        if (end < n && bf_order_same_pair(sorted + BYTES * end)) continue;
        const int64_t count = end - begin;
        if (keys != NULL && found < room)
            memcpy((char *)keys + BYTES * found, sorted + BYTES * begin, BYTES);
        if (counts != NULL && found < room) memcpy((char *)counts + 8 * found, &count, 8);
        found++;
        begin = end;
    }
    *different = found;
    bf_free(sorted);
    return status;
}

/* ---- the first of each line ------------------------------------------------------------------ */

static void take_first(const bf_order_lines *lines, int64_t k, const char *from, int bytes,
                       char *to) {
    for (int64_t l = 0; to != NULL && l < lines->count; l++)
        memcpy(to + l * k * bytes, from + l * lines->length * bytes, (size_t)(k * bytes));
}

bf_status bf_order_top_pairs(bf_context *context, const bf_order_lines *lines, int64_t k,
                             void *values, void *index) {
    char *sorted = NULL, *positions = NULL;
    bf_status status = sort_copy(context, lines, values == NULL ? NULL : &sorted,
                                 index == NULL ? NULL : &positions);
    if (status == BF_OK) take_first(lines, k, sorted, BYTES, values);
    if (status == BF_OK) take_first(lines, k, positions, 8, index);
    bf_free(sorted);
    bf_free(positions);
    return status;
}

/* ---- order statistics ------------------------------------------------------------------------ */

typedef struct selecting {
    const bf_order_lines *lines;
    const bf_selection *selection;
    const char *sorted; /* the first line, and the others behind it */
    char *results;
} selecting;

static bf_between between_of(const bf_selection *s, int i, int64_t n) {
    if (s->statistic == BF_STATISTIC_NTH) return bf_between_make(s->positions[i], 0);
    if (s->statistic == BF_STATISTIC_MEDIAN) return bf_median_between(n);
    return bf_quantile_between(s->method, n, s->q[i]);
}

static bf_i128 number_at(const char *line, int64_t i) {
    uint64_t pair[2];
    memcpy(pair, line + BYTES * i, sizeof pair);
    return bf_i128_of_pair(pair);
}

/* What lies between two elements of a line: a double where all results are such. */
static bf_value result_of(const bf_selection *s, int i, const char *line, int64_t n) {
    bf_value value = {.dtype = BF_NONE};
    if (n == 0) {
        value = *s->empty;
        value.scale = value.dtype == BF_I192 ? s->scale : 0;
        return value;
    }
    const bf_between b = between_of(s, i, n);
    const bf_i128 below = number_at(line, b.below), above = number_at(line, b.above);
    if (s->tagged || s->to == BF_PAIR)
        return bf_quantile_make_i128(below, above, b.weight, s->scale, s->to == BF_PAIR);
    value.dtype = BF_F64;
    value.as.u64 = bf_quantile_mix_i128(bf_format_f64(), below, above, b.weight, s->scale);
    return value;
}

/* A result in memory: a bf_value, a pair, or a double. */
static int result_bytes(const bf_selection *s) {
    return s->tagged ? (int)sizeof(bf_value) : s->to == BF_PAIR ? BYTES : 8;
}

static void store_result(const bf_selection *s, char *to, bf_value value) {
    uint64_t pair[2];
    bf_pair_of_i128((bf_i128)((bf_u128)value.as.i192[1] << 64 | value.as.i192[0]), pair);
    const bool is_pair = !s->tagged && s->to == BF_PAIR;
    memcpy(to,
           s->tagged ? (const void *)&value
           : is_pair ? (const void *)pair
                     : &value.as.f64,
           (size_t)result_bytes(s));
}

static bf_status select_lines(void *arg, int worker, int64_t first, int64_t n) {
    const selecting *x = arg;
    const bf_order_lines *lines = x->lines;
    const bf_selection *s = x->selection;
    (void)worker;
    for (int64_t l = first; l < first + n; l++) {
        const char *line = x->sorted + BYTES * (bf_line_begin(lines, l) - bf_line_begin(lines, 0));
        for (int i = 0; i < s->count; i++)
            store_result(s, x->results + (i * lines->count + l) * result_bytes(s),
                         result_of(s, i, line, bf_line_length(lines, l)));
    }
    return BF_OK;
}

/* Sorts the lines to memory, which bf_free frees, or to a file where there is none. */
static bf_status sort_aside(bf_context *context, selecting *x, char **sorted, bf_spool *file) {
    bf_status status = sort_copy(context, x->lines, sorted, NULL);
    if (status == BF_OK) x->sorted = *sorted + BYTES * bf_line_begin(x->lines, 0);
    if (status != BF_E_MEMORY || !bf_may_spill(context)) return status;
    bf_free(*sorted);
    *sorted = NULL;
    status = bf_order_sort_pairs_to_file(context, x->lines, file);
    x->sorted = file->map;
    return status;
}

bf_status bf_order_select_pairs(bf_context *context, const bf_order_lines *lines,
                                const bf_selection *selection, void *results) {
    char *sorted = NULL;
    bf_spool file = {.fd = -1};
    selecting x = {lines, selection, NULL, results};
    for (int64_t l = 0; l < lines->count && selection->empty == NULL; l++)
        if (bf_line_length(lines, l) == 0)
            return bf_select_refuse_empty(context, selection, lines->first + l);
    bf_status status = sort_aside(context, &x, &sorted, &file);
    bf_environment environment = bf_environment_enter();
    if (status == BF_OK)
        status = bf_parallel_watched(context, bf_workers(context, lines->count, PIECE),
                                     lines->count, PIECE, 0, select_lines, &x);
    bf_environment_leave(environment);
    bf_spool_close(&file);
    bf_free(sorted);
    return status;
}
