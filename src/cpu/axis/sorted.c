/* Reductions by index of any op: rows are sorted by slot, and each slot's rows are taken in their
 * order. */
#include "cpu/axis/sorted.h"

#include "cpu/axis/places.h"
#include "cpu/runtime/sort.h"

enum {
    ROWS_LEAST = 1 << 16, /* so many are worth a thread */
    PIECE = 1 << 12,      /* rows that a worker takes at a time */
    SLOT_ROWS = 4         /* what a slot costs beside its rows */
};

/* ---- the sort -------------------------------------------------------------------------------- */

static bf_status list_rows(void *arg, int worker, int64_t first, int64_t n) {
    bf_sorted_rows *x = arg;
    (void)worker;
    for (int64_t i = first; i < first + n; i++) {
        x->slots[i] = bf_place_at(x->rows, i);
        x->order[i] = i;
    }
    return BF_OK;
}

/* Sets where slots begin. */
static void find_slots(bf_sorted_rows *x) {
    int64_t s = 0;
    for (int64_t i = 0; i < x->rows->count; i++)
        while (s <= x->slots[i]) x->begin[s++] = i;
    while (s <= x->rows->slots) x->begin[s++] = x->rows->count;
}

bf_status bf_sorted_rows_open(bf_context *context, const bf_rows *rows, bf_sorted_rows *x) {
    const int64_t n = rows->count;
    *x = (bf_sorted_rows){.rows = rows};
    x->slots = bf_alloc((size_t)(n + 1) * sizeof *x->slots);
    x->order = bf_alloc((size_t)(n + 1) * sizeof *x->order);
    x->begin = bf_alloc((size_t)(rows->slots + 1) * sizeof *x->begin);
    if (x->slots == NULL || x->order == NULL || x->begin == NULL)
        return bf_fail(context, BF_E_MEMORY, "no memory to sort rows by index");
    bf_status status =
        bf_parallel(context, bf_workers(context, n, ROWS_LEAST), n, PIECE, list_rows, x);
    if (status == BF_OK && n > 0)
        status = bf_sort_ranks(context, sizeof *x->slots, sizeof *x->order, n, (char *)x->slots,
                               (char *)x->order);
    if (status == BF_OK) find_slots(x);
    return status;
}

void bf_sorted_rows_close(bf_sorted_rows *x) {
    bf_free(x->slots);
    bf_free(x->order);
    bf_free(x->begin);
}

void bf_sorted_rows_number(int64_t *words, const int64_t *order) {
    static const int indices[] = {BF_EXTREME_INDEX, BF_EXTREME_NAN_INDEX};
    for (int i = 0; i < 2; i++)
        if (words[indices[i]] >= 0) words[indices[i]] = order[words[indices[i]]];
}

bf_lines bf_sorted_rows_lines(const bf_sorted_rows *x, const bf_operands *o, int64_t slot,
                              int64_t first) {
    bf_lines lines = bf_lines_of_rows(o, x->rows->width, 0, first);
    lines.row = x->order + x->begin[slot];
    lines.length = lines.shape[0] = x->begin[slot + 1] - x->begin[slot];
    return lines;
}

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct division {
    bf_axis_job job;
    bf_sorted_rows sorted;
} division;

static void take_slot(division *x, bf_taker *t, int64_t slot) {
    const int64_t width = x->sorted.rows->width;
    for (int64_t first = 0; first < width; first += BF_LINES_MOST) {
        bf_lines lines = bf_sorted_rows_lines(&x->sorted, x->job.operands, slot, first);
        bf_taker_begin(&x->job, t, lines.lines);
        if (lines.length > 0) bf_taker_take(&x->job, t, &lines, 0, lines.length);
        for (int l = 0; l < lines.lines; l++) {
            int64_t *words = bf_taker_words(&x->job, t, l);
            if (bf_is_indexed(x->job.operands->op)) bf_sorted_rows_number(words, lines.row);
            bf_axis_write(&x->job, words, slot * width + first + l);
        }
    }
}

/* The first slot with so much work before it. */
static int64_t find_slot(const division *x, int64_t work) {
    int64_t low = 0, high = x->sorted.rows->slots;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (x->sorted.begin[middle] + middle * SLOT_ROWS >= work)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bf_status take_piece(void *arg, int worker, int64_t first, int64_t n) {
    division *x = arg;
    bf_taker *t = bf_taker_of(&x->job, worker);
    int64_t last = find_slot(x, first + n);
    for (int64_t slot = find_slot(x, first); slot < last; slot++) take_slot(x, t, slot);
    return BF_OK;
}

static bf_status reduce_rows(division *x, bf_context *context, const bf_operands *operands,
                             const bf_rows *rows, const bf_results *results) {
    int64_t n = rows->count, work = n + rows->slots * SLOT_ROWS;
    int workers = bf_workers(context, work, ROWS_LEAST);
    bf_axis_job_open(&x->job, context, operands, results);
    bf_status status = bf_axis_rooms_open(&x->job, workers);
    if (status == BF_OK) status = bf_sorted_rows_open(context, rows, &x->sorted);
    if (status != BF_OK) return status;
    int64_t bytes = n * rows->width * bf_dtype_bytes(operands->dtype);
    status = bf_parallel_watched(context, workers, work, PIECE, bytes, take_piece, x);
    return bf_axis_job_close(&x->job, status);
}

bf_status bf_cpu_reduce_sorted(bf_context *context, const bf_operands *operands,
                               const bf_rows *rows, const bf_results *results) {
    division x = {.sorted.rows = rows};
    bool skip;
    bf_status status = bf_check_places(context, rows, results, &skip);
    if (status != BF_OK || skip) return status;
    bf_environment environment = bf_environment_enter();
    status = reduce_rows(&x, context, operands, rows, results);
    bf_environment_leave(environment);
    bf_sorted_rows_close(&x.sorted);
    return status;
}
