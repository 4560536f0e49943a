/* Reductions by index of any op: rows are sorted by slot, and each slot's rows are taken in their
 * order. */
#include "cpu/axis/places.h"

#include "cpu/runtime/sort.h"

enum {
    ROWS_LEAST = 1 << 16, /* that are worth a thread */
    PIECE = 1 << 12,      /* rows that a worker takes at a time */
    SLOT_ROWS = 4         /* what a slot costs beside its rows */
};

typedef struct division {
    bf_axis_job job;
    const bf_rows *rows;
    int64_t *slots; /* sorted, of each row, */
    int64_t *order; /* and its number */
    int64_t *begin; /* of each slot in order; the end of the last */
} division;

static bf_status list_rows(void *arg, int worker, int64_t first, int64_t n) {
    division *x = arg;
    (void)worker;
    for (int64_t i = first; i < first + n; i++) {
        x->slots[i] = bf_place_at(x->rows, i);
        x->order[i] = i;
    }
    return BF_OK;
}

/* Sets where slots begin. */
static void find_slots(division *x) {
    int64_t s = 0;
    for (int64_t i = 0; i < x->rows->count; i++)
        while (s <= x->slots[i]) x->begin[s++] = i;
    while (s <= x->rows->slots) x->begin[s++] = x->rows->count;
}

/* Makes positions among a slot's rows the numbers of these rows. */
static void number_rows(int64_t *words, const int64_t *order) {
    static const int indices[] = {BF_EXTREME_INDEX, BF_EXTREME_NAN_INDEX};
    for (int i = 0; i < 2; i++)
        if (words[indices[i]] >= 0) words[indices[i]] = order[words[indices[i]]];
}

/* The columns from `first` on of a slot. */
static bf_lines lines_of(const division *x, int64_t slot, int64_t first) {
    const bf_operands *o = x->job.operands;
    int64_t width = x->rows->width, left = width - first, bytes = bf_dtype_bytes(o->dtype);
    bf_lines lines = {.lines = left < BF_LINES_MOST ? (int)left : BF_LINES_MOST, .ndim = 1};
    lines.row = x->order + x->begin[slot];
    lines.length = lines.shape[0] = x->begin[slot + 1] - x->begin[slot];
    for (int k = 0; k < 2; k++) {
        lines.line_stride[k] = 1;
        lines.strides[k][0] = width;
    }
    lines.data[0] = (const char *)o->a + first * bytes;
    if (o->b != NULL) lines.data[1] = (const char *)o->b + first * bytes;
    return lines;
}

static void take_slot(division *x, bf_taker *t, int64_t slot) {
    for (int64_t first = 0; first < x->rows->width; first += BF_LINES_MOST) {
        bf_lines lines = lines_of(x, slot, first);
        bf_taker_begin(&x->job, t, lines.lines);
        if (lines.length > 0) bf_taker_take(&x->job, t, &lines, 0, lines.length);
        for (int l = 0; l < lines.lines; l++) {
            int64_t *words = bf_taker_words(&x->job, t, l);
            if (bf_is_indexed(x->job.operands->op)) number_rows(words, lines.row);
            bf_axis_write(&x->job, words, slot * x->rows->width + first + l);
        }
    }
}

/* The first slot with so much work before it. */
static int64_t find_slot(const division *x, int64_t work) {
    int64_t low = 0, high = x->rows->slots;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (x->begin[middle] + middle * SLOT_ROWS >= work)
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

static bf_status sort_rows(division *x, int workers) {
    bf_context *context = x->job.context;
    int64_t n = x->rows->count;
    bf_status status = bf_parallel(context, workers, n, PIECE, list_rows, x);
    if (status == BF_OK && n > 0)
        status = bf_sort_ranks(context, sizeof *x->slots, sizeof *x->order, n, (char *)x->slots,
                               (char *)x->order);
    if (status == BF_OK) find_slots(x);
    return status;
}

static bf_status reduce_rows(division *x, bf_context *context, const bf_operands *operands,
                             const bf_results *results) {
    int64_t n = x->rows->count, work = n + x->rows->slots * SLOT_ROWS;
    int workers = bf_workers(context, work, ROWS_LEAST);
    bf_axis_job_open(&x->job, context, operands, results);
    bf_status status = bf_axis_rooms_open(&x->job, workers);
    if (status != BF_OK) return status;
    x->slots = bf_alloc((size_t)(n + 1) * sizeof *x->slots);
    x->order = bf_alloc((size_t)(n + 1) * sizeof *x->order);
    x->begin = bf_alloc((size_t)(x->rows->slots + 1) * sizeof *x->begin);
    if (x->slots == NULL || x->order == NULL || x->begin == NULL)
        return bf_fail(context, BF_E_MEMORY, "no memory to sort rows by index");
    status = sort_rows(x, workers);
    int64_t bytes = n * x->rows->width * bf_dtype_bytes(operands->dtype);
    if (status == BF_OK)
        status = bf_parallel_watched(context, workers, work, PIECE, bytes, take_piece, x);
    return bf_axis_job_close(&x->job, status);
}

bf_status bf_cpu_reduce_sorted(bf_context *context, const bf_operands *operands,
                               const bf_rows *rows, const bf_results *results) {
    division x = {.rows = rows};
    bool skip;
    bf_status status = bf_check_places(context, rows, results, &skip);
    if (status != BF_OK || skip) return status;
    bf_environment environment = bf_environment_enter();
    status = reduce_rows(&x, context, operands, results);
    bf_environment_leave(environment);
    bf_free(x.slots);
    bf_free(x.order);
    bf_free(x.begin);
    return status;
}
