/* Reductions along axes: fibres as lines. Where the elements of a fibre lie further apart than
 * fibres do, neighbouring fibres are taken together. */
#include "cpu/axis/columns.h"
#include "cpu/axis/integers.h"
#include "cpu/axis/stretches.h"
#include "cpu/axis/window.h"

enum {
    ROW_BYTES = 4096, /* the least row of columns that are taken at once */
    COLUMNS_LEAST = 64,
    LINES_COST = 5,        /* how many times as long as columns lines take */
    BYTES_LEAST = 1 << 20, /* so many are worth a thread */
    PIECE_BYTES = 1 << 18, /* a worker takes so many at a time */
    TOGETHER_BYTES = 128   /* the most that fibres take which are taken together: two cache lines */
};

/* How fibres are taken: groups of neighbours along one kept dimension, the lane. */
typedef struct division {
    bf_axis_job job;
    const bf_fibres *fibres;
    int lane;       /* -1: fibres are taken one by one */
    int64_t extent; /* the lane's; 1 without one */
    int64_t groups; /* how many the lane has */
    int64_t step;   /* between the results of neighbours */
    int64_t count;  /* groups in all */
    int together;   /* fibres of a group, at most */
    bool columns;   /* loops take columns at once */
    bool stretches; /* fibres are short and contiguous: loops take many at once */
    bf_lines lines; /* without data */
} division;

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* The kept dimension of the least stride, if that is less than the distance of a fibre's elements;
 * or -1. */
static int find_lane(const bf_fibres *x) {
    int lane = -1;
    if (x->reduced == 0) return -1;
    int64_t least = magnitude(x->reduced_strides[0][x->reduced - 1]);
    for (int d = 0; d < x->kept; d++) {
        if (magnitude(x->kept_strides[0][d]) >= least) continue;
        least = magnitude(x->kept_strides[0][d]);
        lane = d;
    }
    return lane;
}

/* Can the loops take neighbouring fibres as columns? */
static bool are_columns(const division *x) {
    const bf_fibres *f = x->fibres;
    const bf_operands *o = x->job.operands;
    bf_axis_sum sums[BF_AXIS_SUMS];
    if (x->lane < 0 || f->reduced != 1 || f->kept_strides[0][x->lane] != 1) return false;
    if (o->b != NULL && f->kept_strides[1][x->lane] != 1) return false;
    if (bf_can_take_integers(&x->job)) return f->length < INT32_MAX;
    return bf_axis_sums_of(x->job.context->cpu->isa, o, sums);
}

/* Can the loops take many fibres as stretches? */
static bool are_stretches(const division *x) {
    const bf_fibres *f = x->fibres;
    if (x->lane >= 0 || f->reduced > 1 || f->length > BF_STRETCH_MOST) return false;
    if (f->reduced == 1 && f->reduced_strides[0][0] != 1) return false;
    if (f->reduced == 1 && x->job.operands->b != NULL && f->reduced_strides[1][0] != 1)
        return false;
    return bf_can_take_stretches(&x->job);
}

/* Columns of a group: a pass reads some KiB, so that what it prefetches stays in the cache. */
static int columns_of_group(const division *x) {
    int columns = ROW_BYTES / bf_dtype_bytes(x->job.operands->dtype);
    return columns < BF_COLUMNS_MOST ? columns : BF_COLUMNS_MOST;
}

/* Takes fibres as columns, unless lines that are shared out by pieces would be faster. */
static void divide_columns(division *x, int workers) {
    int columns = columns_of_group(x);
    int64_t others = x->fibres->count / x->extent, share = (x->extent - 1) / workers + 1;
    if (share < COLUMNS_LEAST) share = COLUMNS_LEAST;
    if (others < workers && share < columns) columns = (int)share;
    x->columns = LINES_COST * others * ((x->extent - 1) / columns + 1) >= workers;
    if (!x->columns) return;
    x->together = columns;
    x->job.more = bf_columns_room(&x->job);
}

static void divide_fibres(division *x, const bf_fibres *fibres, int workers) {
    const int bytes = bf_dtype_bytes(x->job.operands->dtype);
    x->fibres = fibres;
    x->lane = find_lane(fibres);
    x->columns = false;
    x->extent = x->step = 1;
    x->together = 1;
    bf_lines *lines = &x->lines;
    *lines = (bf_lines){.length = fibres->length, .ndim = fibres->reduced};
    memcpy(lines->shape, fibres->reduced_shape, sizeof lines->shape);
    memcpy(lines->strides, fibres->reduced_strides, sizeof lines->strides);
    if (lines->ndim == 0) lines->shape[lines->ndim++] = 1;
    if (x->lane >= 0) {
        x->extent = fibres->kept_shape[x->lane];
        for (int d = x->lane + 1; d < fibres->kept; d++) x->step *= fibres->kept_shape[d];
        x->together =
            TOGETHER_BYTES / bytes < BF_LINES_MOST ? TOGETHER_BYTES / bytes : BF_LINES_MOST;
        for (int k = 0; k < 2; k++) lines->line_stride[k] = fibres->kept_strides[k][x->lane];
    }
    if (are_columns(x)) divide_columns(x, workers);
    x->stretches = are_stretches(x);
    if (x->stretches) x->job.more = bf_stretches_room(&x->job);
    x->groups = (x->extent - 1) / x->together + 1;
    x->count = fibres->count / x->extent * x->groups;
}

/* Sets lines to those of a group; returns the number of their first result. */
static int64_t lines_of(const division *x, int64_t group, bf_lines *lines) {
    const bf_fibres *f = x->fibres;
    const bf_operands *o = x->job.operands;
    int64_t first = group % x->groups * x->together, left = x->extent - first;
    int64_t at[2] = {0, 0}, number = 0, step = 1, rest = group / x->groups;
    for (int d = f->kept - 1; d >= 0; d--) {
        int64_t i = d == x->lane ? first : rest % f->kept_shape[d];
        if (d != x->lane) rest /= f->kept_shape[d];
        for (int k = 0; k < 2; k++) at[k] += i * f->kept_strides[k][d];
        number += i * step;
        step *= f->kept_shape[d];
    }
    *lines = x->lines;
    lines->lines = left < x->together ? (int)left : x->together;
    int64_t bytes = bf_dtype_bytes(o->dtype);
    lines->data[0] = (const char *)o->a + at[0] * bytes;
    if (o->b != NULL) lines->data[1] = (const char *)o->b + at[1] * bytes;
    return number;
}

/* Takes groups of columns. */
static bf_status take_columns(void *arg, int worker, int64_t first, int64_t n) {
    division *x = arg;
    const int64_t bytes = bf_dtype_bytes(x->job.operands->dtype);
    bf_taker *t = bf_taker_of(&x->job, worker);
    for (int64_t group = first; group < first + n; group++) {
        bf_lines lines;
        int64_t number = lines_of(x, group, &lines);
        bf_columns columns = {.a = lines.data[0], .b = lines.data[1], .rows = lines.length};
        columns.columns = lines.lines;
        columns.a_step = lines.strides[0][0] * bytes;
        columns.b_step = lines.strides[1][0] * bytes;
        columns.next = columns.a + columns.columns * bytes;
        if (columns.b == NULL) {
            columns.b = columns.a;
            columns.b_step = columns.a_step;
        }
        if (bf_can_take_integers(&x->job))
            bf_reduce_integers(&x->job, t, &columns, number, x->step);
        else
            bf_reduce_columns(&x->job, t, &columns, number, x->step);
    }
    return BF_OK;
}

/* Sets `some` to fibres from number `fibre` on, at most n: the rest of a row of them. */
static void find_stretches(const division *x, int64_t fibre, int64_t n, bf_stretches *some) {
    const bf_fibres *f = x->fibres;
    const int64_t bytes = bf_dtype_bytes(x->job.operands->dtype), last = f->kept - 1;
    int64_t left = last < 0 ? 1 : f->kept_shape[last] - fibre % f->kept_shape[last];
    if (left > n) left = n;
    int64_t a_step = last < 0 ? 0 : f->kept_strides[0][last] * bytes;
    int64_t b_step = last < 0 ? 0 : f->kept_strides[1][last] * bytes;
    bf_lines lines;
    lines_of(x, fibre, &lines);
    bool pairs = x->job.operands->b != NULL;
    some->n = left < BF_STRETCHES ? (int)left : BF_STRETCHES;
    for (int i = 0; i < some->n; i++) {
        some->a[i] = lines.data[0] + i * a_step;
        some->b[i] = pairs ? lines.data[1] + i * b_step : some->a[i];
        some->length[i] = f->length;
    }
}

static bf_status take_stretches(void *arg, int worker, int64_t first, int64_t n) {
    division *x = arg;
    bf_taker *t = bf_taker_of(&x->job, worker);
    bf_stretches some;
    for (int64_t fibre = first; fibre < first + n; fibre += some.n) {
        find_stretches(x, fibre, first + n - fibre, &some);
        bf_reduce_stretches(&x->job, t, &some, fibre);
    }
    return BF_OK;
}

static bf_status take_groups(void *arg, int worker, int64_t first, int64_t n) {
    division *x = arg;
    bf_taker *t = bf_taker_of(&x->job, worker);
    for (int64_t group = first; group < first + n; group++) {
        bf_lines lines;
        int64_t number = lines_of(x, group, &lines);
        bf_taker_begin(&x->job, t, lines.lines);
        bf_taker_take(&x->job, t, &lines, 0, lines.length);
        for (int l = 0; l < lines.lines; l++)
            bf_axis_write(&x->job, bf_taker_words(&x->job, t, l), number + l * x->step);
    }
    return BF_OK;
}

static bf_status take_long_groups(division *x, int workers) {
    bf_status status = BF_OK;
    for (int64_t group = 0; group < x->count && status == BF_OK; group++) {
        bf_lines lines;
        int64_t number = lines_of(x, group, &lines);
        status = bf_reduce_long(&x->job, workers, &lines, number, x->step);
    }
    return status;
}

static bf_status take_fibres(division *x, int workers, int64_t bytes) {
    bf_lines lines;
    lines_of(x, 0, &lines);
    if (!x->columns && workers > 1 && x->count < 2 * workers && bf_lines_are_long(&x->job, &lines))
        return take_long_groups(x, workers);
    int64_t group_bytes = bytes / x->count, piece = 1;
    if (group_bytes < PIECE_BYTES) piece = PIECE_BYTES / (group_bytes + 1);
    return bf_parallel_watched(x->job.context, workers, x->count, piece, bytes,
                               x->columns     ? take_columns
                               : x->stretches ? take_stretches
                                              : take_groups,
                               x);
}

static bf_strategy strategy_of(const division *x) {
    return (bf_strategy){x->columns     ? "columns"
                         : x->stretches ? "stretches"
                                        : "lines",
                         x->fibres->count,
                         x->fibres->length,
                         x->count,
                         x->together,
                         1,
                         1};
}

bf_status bf_cpu_reduce_fibres(bf_context *context, const bf_operands *operands,
                               const bf_fibres *fibres, const bf_results *results) {
    division x;
    int64_t bytes = fibres->count * fibres->length * bf_dtype_bytes(operands->dtype);
    int workers = bf_workers(context, bytes, BYTES_LEAST);
    bf_axis_job_open(&x.job, context, operands, results);
    divide_fibres(&x, fibres, workers);
    context->strategy = strategy_of(&x);
    bf_status status = bf_axis_rooms_open(&x.job, workers);
    if (status != BF_OK) return status;
    bf_environment environment = bf_environment_enter();
    status = take_fibres(&x, workers, bytes);
    bf_environment_leave(environment);
    return bf_axis_job_close(&x.job, status);
}
