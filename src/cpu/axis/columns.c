/* Sums along an axis whose neighbours lie next to each other: the columns of a matrix, many at
 * once. Data that fit no window are taken as lines. */
#include "cpu/axis/columns.h"

#include "cpu/axis/window.h"

enum {
    BATCH_ROWS = 1 << 15, /* whose totals surely fit an int64: a pass of 16 rows gains 2^51 */
    NARROW = 64,          /* columns that are no longer divided to find those that fit no window */
    NARROW_ROW = 64, /* rows of fewer columns, which follow each other, are taken as longer ones */
    SAMPLE_ROWS = 16,
    SAMPLE_COLUMNS = 16
};

size_t bf_columns_room(const bf_axis_job *job) {
    size_t totals = BF_LEVELS_MAX * (BF_AXIS_SUMS * BF_COLUMNS_MOST + 8 * NARROW_ROW);
    return (totals + (size_t)BF_COLUMNS_MOST * (size_t)job->words) * sizeof(int64_t);
}

/* A worker and the columns that it takes. */
typedef struct task {
    bf_axis_job *job;
    bf_taker *taker;
    bf_axis_sum sums[BF_AXIS_SUMS];
    int64_t *totals[BF_AXIS_SUMS]; /* [level][column] */
    int64_t *longer;               /* totals of longer rows */
    int64_t *words;                /* of each column */
    int which;                     /* sum that is taken now, */
    const bf_columns *x;           /* of these columns */
} task;

static int64_t element_bytes(const task *t) { return bf_dtype_bytes(t->job->operands->dtype); }

static bf_columns cut_columns(const task *t, const bf_columns *x, int64_t first, int64_t n) {
    bf_columns cut = *x;
    cut.a += first * element_bytes(t);
    if (x->b != NULL) cut.b += first * element_bytes(t);
    cut.columns = n;
    return cut;
}

static bf_columns cut_rows(const bf_columns *x, int64_t first, int64_t n) {
    bf_columns cut = *x;
    cut.a += first * x->a_step;
    if (x->b != NULL) cut.b += first * x->b_step;
    cut.rows = n;
    return cut;
}

/* ---- windows --------------------------------------------------------------------------------- */

static size_t copy_sample(const task *t, const char *from, int64_t step, char *to) {
    int64_t bytes = element_bytes(t), columns = t->x->columns, rows = t->x->rows;
    int64_t wide = columns < SAMPLE_COLUMNS ? columns : SAMPLE_COLUMNS;
    int64_t high = rows < SAMPLE_ROWS ? rows : SAMPLE_ROWS;
    for (int64_t r = 0; r < high; r++)
        memcpy(to + r * wide * bytes,
               from + rows / high * r * step + (columns - wide) * r / high * bytes,
               (size_t)(wide * bytes));
    return (size_t)(wide * high);
}

static bool guess_window(void *arg, bf_window_memory *window) {
    const task *t = arg;
    double a[SAMPLE_ROWS * SAMPLE_COLUMNS], b[SAMPLE_ROWS * SAMPLE_COLUMNS];
    const void *factors = NULL;
    size_t n = copy_sample(t, t->x->a, t->x->a_step, (char *)a);
    if (t->sums[t->which].pairs) {
        factors = a;
        if (t->x->b != t->x->a) {
            copy_sample(t, t->x->b, t->x->b_step, (char *)b);
            factors = b;
        }
    }
    return bf_window_guess(t->job->operands->dtype, a, factors, n,
                           (size_t)(t->x->rows * t->x->columns), window);
}

/* Adds the sums of columns that follow each other row by row, and are fewer than a vector or so, as
 * those of rows `factor` times as long. */
static bool add_long_rows(const task *t, bf_columns_loop loop, const bf_window_memory *window,
                          int64_t *totals) {
    const bf_columns *x = t->x;
    int64_t factor = NARROW_ROW / x->columns * 8, columns = factor * x->columns;
    int64_t *sums = t->longer;
    bf_columns longer = {x->a,   x->b, x->a_step * factor, x->b_step * factor, x->rows / factor,
                         columns};
    bf_columns rest = cut_rows(x, longer.rows * factor, x->rows % factor);
    memset(sums, 0, (size_t)(window->levels * columns) * sizeof *sums);
    if (!loop(&longer, window->bottom, window->levels, sums, (size_t)columns)) return false;
    for (int l = 0; l < window->levels; l++)
        for (int64_t i = 0; i < columns; i++)
            totals[l * BF_COLUMNS_MOST + i % x->columns] += sums[l * columns + i];
    return loop(&rest, window->bottom, window->levels, totals, BF_COLUMNS_MOST);
}

static bool attempt_window(void *arg, const bf_window_memory *window) {
    const task *t = arg;
    const bf_columns *x = t->x;
    bf_columns_loop loop = t->taker->reducer.isa->axis->columns[t->sums[t->which].input];
    int64_t *totals = t->totals[t->which], row = x->columns * element_bytes(t);
    for (int l = 0; l < window->levels; l++)
        memset(totals + l * BF_COLUMNS_MOST, 0, (size_t)x->columns * sizeof *totals);
    bool follow = x->a_step == row && (!t->sums[t->which].pairs || x->b_step == row);
    if (follow && x->columns < NARROW_ROW && x->rows > 8 * NARROW_ROW)
        return add_long_rows(t, loop, window, totals);
    return loop(x, window->bottom, window->levels, totals, BF_COLUMNS_MOST);
}

/* Sets the totals of at most BF_COLUMNS_MOST columns and BATCH_ROWS rows; false: no window holds
 * them. */
static bool sum_batch(task *t, const bf_columns *x) {
    t->x = x;
    for (t->which = 0; t->which < BF_AXIS_SUMS; t->which++) {
        bf_axis_sum *sum = &t->sums[t->which];
        if (!sum->needed) continue;
        if (!bf_axis_sum_up(t->taker, t->which, sum, t->job->operands->dtype, guess_window,
                            attempt_window, t))
            return false;
    }
    return true;
}

/* ---- results --------------------------------------------------------------------------------- */

static bf_line_totals totals_of(const task *t, const bf_columns *x, int64_t column) {
    bf_line_totals totals = {.n = x->rows};
    for (int s = 0; s < BF_AXIS_SUMS; s++)
        totals.of[s] = (bf_totals){t->totals[s] + column, BF_COLUMNS_MOST, t->sums[s].window.levels,
                                   t->sums[s].window.bottom};
    return totals;
}

/* Is every term of a column -0? */
static bool is_negative_zero(const task *t, const bf_columns *x, int64_t column) {
    bf_format f = bf_format_of(t->job->operands->dtype);
    int bytes = (int)element_bytes(t);
    bool dot = t->job->operands->kind == BF_KIND_DOT;
    for (int64_t r = 0; r < x->rows; r++) {
        uint64_t a = bf_load_bits(x->a + r * x->a_step + column * bytes, bytes);
        uint64_t b = dot ? bf_load_bits(x->b + r * x->b_step + column * bytes, bytes) : 0;
        if (!(dot ? bf_sum_neg_zero_pair(f, a, b) : bf_sum_neg_zero(f, a))) return false;
    }
    return true;
}

static bool is_zero(const bf_totals *totals) {
    bool zero = true;
    for (int l = 0; l < totals->levels; l++) zero = zero && totals->at[l * totals->pitch] == 0;
    return zero;
}

/* Adds the totals of columns to the words from column `first` on. */
static void add_to_words(const task *t, const bf_columns *x, int64_t first) {
    const bf_operands *o = t->job->operands;
    bool counts = bf_sum_counts_zeros(o->kind, o->dtype);
    int sum = o->kind == BF_KIND_DOT ? BF_AXIS_PRODUCTS : BF_AXIS_ELEMENTS;
    for (int64_t c = 0; c < x->columns; c++) {
        bf_line_totals totals = totals_of(t, x, c);
        bool negative = counts && is_zero(&totals.of[sum]) && is_negative_zero(t, x, c);
        bf_line_add(t->job, &totals, negative, t->words + (first + c) * t->job->words);
    }
}

static void write_totals(const task *t, const bf_columns *x, int64_t number, int64_t step) {
    uint64_t sign = bf_format_sign(bf_format_of(t->job->results->to));
    for (int64_t c = 0; c < x->columns; c++) {
        bf_line_totals totals = totals_of(t, x, c);
        bool zero;
        uint64_t bits = bf_line_bits(t->job, &totals, &zero);
        if (zero && is_negative_zero(t, x, c)) bits = sign;
        bf_line_write(t->job, bits, number + c * step);
    }
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Takes a batch of columns as lines. */
static void take_lines(const task *t, const bf_columns *x, int64_t first) {
    int64_t *own = t->taker->words, bytes = element_bytes(t);
    for (int64_t c = 0; c < x->columns; c += BF_LINES_MOST) {
        int64_t left = x->columns - c;
        bf_lines lines = {.lines = left < BF_LINES_MOST ? (int)left : BF_LINES_MOST, .ndim = 1};
        lines.data[0] = x->a + c * bytes;
        if (x->b != NULL) lines.data[1] = x->b + c * bytes;
        lines.length = lines.shape[0] = x->rows;
        for (int k = 0; k < 2; k++) lines.line_stride[k] = 1;
        lines.strides[0][0] = x->a_step / bytes;
        lines.strides[1][0] = x->b_step / bytes;
        memset(t->taker->mixed, 0, sizeof t->taker->mixed);
        t->taker->words = t->words + (first + c) * t->job->words;
        bf_taker_take(t->job, t->taker, &lines, 0, x->rows);
    }
    t->taker->words = own;
}

/* Adds a batch to the words from column `first` on. */
static void take_batch(task *t, const bf_columns *x, int64_t first) {
    if (sum_batch(t, x)) {
        add_to_words(t, x, first);
    } else if (x->columns <= NARROW) {
        take_lines(t, x, first);
    } else {
        for (int64_t c = 0; c < x->columns; c += NARROW) {
            int64_t left = x->columns - c;
            bf_columns part = cut_columns(t, x, c, left < NARROW ? left : NARROW);
            take_batch(t, &part, first + c);
        }
    }
}

static void reduce_by_words(task *t, const bf_columns *x, int64_t number, int64_t step) {
    const bf_operands *o = t->job->operands;
    for (int64_t c = 0; c < x->columns; c++)
        bf_state_init(o->kind, o->dtype, t->words + c * t->job->words);
    for (int64_t row = 0; row < x->rows; row += BATCH_ROWS) {
        int64_t left = x->rows - row;
        bf_columns batch = cut_rows(x, row, left < BATCH_ROWS ? left : BATCH_ROWS);
        take_batch(t, &batch, 0);
    }
    for (int64_t c = 0; c < x->columns; c++)
        bf_axis_write(t->job, t->words + c * t->job->words, number + c * step);
}

static void reduce_columns(task *t, const bf_columns *x, int64_t number, int64_t step) {
    if (x->rows <= BATCH_ROWS && sum_batch(t, x)) {
        bf_line_totals totals = totals_of(t, x, 0);
        if (bf_line_is_simple(t->job, &totals)) {
            write_totals(t, x, number, step);
            return;
        }
    }
    reduce_by_words(t, x, number, step);
}

void bf_reduce_columns(bf_axis_job *job, bf_taker *taker, const bf_columns *x, int64_t number,
                       int64_t step) {
    task t = {.job = job, .taker = taker};
    bf_axis_sums_of(taker->reducer.isa, job->operands, t.sums);
    t.totals[0] = taker->more;
    t.totals[1] = t.totals[0] + BF_LEVELS_MAX * BF_COLUMNS_MOST;
    t.longer = t.totals[1] + BF_LEVELS_MAX * BF_COLUMNS_MOST;
    t.words = t.longer + BF_LEVELS_MAX * 8 * NARROW_ROW;
    reduce_columns(&t, x, number, step);
}
