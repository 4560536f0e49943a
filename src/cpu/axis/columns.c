/* Sums along an axis whose neighbours lie next to each other: the columns of a matrix, many at
 * once. Data that fit no window are taken as lines. */
#include "cpu/axis/columns.h"

#include "cpu/axis/window.h"

enum {
    BATCH_ROWS = 1 << 13,  /* the most that a batch has: a total gains less than 2^62 in it */
    BATCH_BYTES = 1 << 19, /* one that is summed twice stays in the cache */
    NARROW = 64,           /* columns that are no longer divided to find those that fit no window */
    NARROW_ROW = 64, /* rows of fewer columns, which follow each other, are taken as longer ones */
    GUESS_TERMS = 1 << 13, /* a wider window costs more than a batch that is done again at times */
    SAMPLE_ROWS = 16,
    SAMPLE_COLUMNS = 16
};

static int sums_of(const bf_axis_job *job) {
    return job->operands->kind == BF_KIND_COMOMENTS ? BF_AXIS_SUMS : BF_AXIS_TWO;
}

size_t bf_columns_room(const bf_axis_job *job) {
    size_t totals = (size_t)sums_of(job) * BF_LEVELS_MAX * (2 * BF_COLUMNS_MOST + 8 * NARROW_ROW);
    size_t wide = bf_axis_widens(job) ? 2 * (size_t)BATCH_BYTES : 0;
    return (totals + (size_t)BF_COLUMNS_MOST * (size_t)job->words) * sizeof(int64_t) + wide;
}

/* A worker and the columns that it takes. */
typedef struct task {
    bf_axis_job *job;
    bf_taker *taker;
    const bf_columns_loop *loops;
    bf_axis_sum sums[BF_AXIS_SUMS];
    int64_t *totals[BF_AXIS_SUMS]; /* [level][column] */
    int64_t *saved[BF_AXIS_SUMS];  /* before the last batch */
    int64_t *longer[BF_AXIS_SUMS]; /* totals of longer rows */
    int64_t *words;                /* one column after another */
    float *wide[2];                /* a batch of 16-bit floats, and their factors, as f32 */
    int which;                     /* the sum that is taken now */
    const bf_columns *x;           /* these columns, as the loops take them */
} task;

static int64_t element_bytes(const task *t) { return bf_dtype_bytes(t->job->operands->dtype); }

/* The size of an element of t->x. */
static int64_t taken_bytes(const task *t) { return bf_dtype_bytes(bf_axis_dtype(t->job)); }

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
    if (first + n < x->rows) cut.next = x->a + (first + n) * x->a_step;
    return cut;
}

/* ---- windows --------------------------------------------------------------------------------- */

static size_t copy_sample(const task *t, const char *from, int64_t step, char *to) {
    int64_t bytes = taken_bytes(t), columns = t->x->columns, rows = t->x->rows;
    int64_t wide = columns < SAMPLE_COLUMNS ? columns : SAMPLE_COLUMNS;
    int64_t high = rows < SAMPLE_ROWS ? rows : SAMPLE_ROWS;
    for (int64_t r = 0; r < high; r++)
        memcpy(to + r * wide * bytes,
               from + rows / high * r * step + (columns - wide) * r / high * bytes,
               (size_t)(wide * bytes));
    return (size_t)(wide * high);
}

/* Are the levels of a window doubles, and within the limbs? */
static bool is_window(const task *t, const bf_window_memory *window) {
    bf_dtype dtype = t->job->operands->dtype;
    bf_layout layout = t->sums[t->which].pairs ? bf_layout_products(dtype) : bf_layout_sum(dtype);
    int last = bf_window_bottom(window->bottom, window->levels - 1);
    return window->levels <= BF_LEVELS_MAX && last >= BF_WINDOW_LEAST && last >= layout.exponent;
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
    if (!bf_window_guess(t->taker->reducer.isa, t->job->operands->dtype, a, factors, n, GUESS_TERMS,
                         window))
        return false;
    bf_window_memory lower = *window;
    lower.bottom -= BF_PASS_BITS + 1; /* a bit of what it has to spare at its top */
    if (is_window(t, &lower)) *window = lower;
    return true;
}

/* Sums that a loop adds up at once, `count` of them from number `first` on. */
typedef struct addition {
    bf_columns_loop loop;
    int first, count;
    bf_window_memory windows[BF_AXIS_SUMS];
} addition;

/* Adds the sums of columns that follow each other row by row, and are fewer than a vector or so, as
 * those of rows `factor` times as long. */
static bool add_long_rows(const task *t, const addition *add) {
    const bf_columns *x = t->x;
    int64_t factor = NARROW_ROW / x->columns * 8, columns = factor * x->columns;
    bf_columns longer = {x->a,    x->b,   x->a_step * factor, x->b_step * factor, x->rows / factor,
                         columns, x->next};
    bf_columns rest = cut_rows(x, longer.rows * factor, x->rows % factor);
    for (int s = 0; s < add->count; s++)
        memset(t->longer[s], 0, (size_t)(add->windows[s].levels * columns) * sizeof **t->longer);
    if (!add->loop(&longer, add->windows, t->longer, (size_t)columns)) return false;
    for (int s = 0; s < add->count; s++)
        for (int l = 0; l < add->windows[s].levels; l++)
            for (int64_t i = 0; i < columns; i++)
                t->totals[add->first + s][l * BF_COLUMNS_MOST + i % x->columns] +=
                    t->longer[s][l * columns + i];
    return add->loop(&rest, add->windows, t->totals + add->first, BF_COLUMNS_MOST);
}

static bool add_batch(const task *t, const addition *add) {
    const bf_columns *x = t->x;
    int64_t row = x->columns * taken_bytes(t);
    bool follow = x->a_step == row && x->b_step == row;
    if (follow && x->columns < NARROW_ROW && x->rows > 8 * NARROW_ROW) return add_long_rows(t, add);
    return add->loop(x, add->windows, t->totals + add->first, BF_COLUMNS_MOST);
}

/* Copies the totals of some levels, or sets them to 0. */
static void copy_totals(const task *t, int first, int levels, int64_t *to, const int64_t *from) {
    for (int l = first; l < levels; l++) {
        size_t at = (size_t)l * BF_COLUMNS_MOST, bytes = (size_t)t->x->columns * sizeof *to;
        if (from != NULL)
            memcpy(to + at, from + at, bytes);
        else
            memset(to + at, 0, bytes);
    }
}

/* May the totals gain what a batch adds? */
static bool have_room(const task *t, int levels) {
    const int64_t *totals = t->totals[t->which];
    uint64_t large = 0;
    for (int l = 0; l < levels; l++)
        for (int64_t c = 0; c < t->x->columns; c++) {
            int64_t total = totals[l * BF_COLUMNS_MOST + c];
            large |= (uint64_t)(total ^ total >> 63);
        }
    return large >> 61 == 0;
}

static bool row_has_special(const char *row, int64_t n, bool wide) {
    uint64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = bf_load_bits(row + i * (wide ? 8 : 4), wide ? 8 : 4);
        uint64_t inf = wide ? (uint64_t)0x7ff << 52 : (uint64_t)0xff << 23;
        found |= (bits & inf) == inf;
    }
    return found != 0;
}

/* Is a NaN or an infinity among the elements? Then no window holds them. */
static bool has_special(const task *t) {
    const bf_columns *x = t->x;
    bool wide = t->job->operands->dtype == BF_F64, pairs = t->sums[t->which].pairs;
    for (int64_t r = 0; r < x->rows; r++) {
        if (row_has_special(x->a + r * x->a_step, x->columns, wide)) return true;
        if (pairs && row_has_special(x->b + r * x->b_step, x->columns, wide)) return true;
    }
    return false;
}

/* Gives totals, and those that are saved, as many levels as the window. */
static void deepen_totals(task *t, const bf_window_memory *window) {
    bf_axis_sum *sum = &t->sums[t->which];
    if (sum->window.levels >= window->levels) return;
    copy_totals(t, sum->window.levels, window->levels, t->totals[t->which], NULL);
    copy_totals(t, sum->window.levels, window->levels, t->saved[t->which], NULL);
    sum->window.levels = window->levels;
}

static void restore_totals(task *t) {
    copy_totals(t, 0, t->sums[t->which].window.levels, t->totals[t->which], t->saved[t->which]);
}

/* The window for a batch: the remembered one, unless that of the totals is another. */
static bf_window_memory next_window(const task *t) {
    const bf_axis_sum *sum = &t->sums[t->which];
    const bf_window_memory *memory = bf_axis_memory(t->taker, t->which);
    return memory->bottom == sum->window.bottom ? *memory : sum->window;
}

static void save_totals(const task *t) {
    copy_totals(t, 0, t->sums[t->which].window.levels, t->saved[t->which], t->totals[t->which]);
}

/* Adds a batch to totals that are there: in their window, or one with more levels below. On failure
 * they are as they were. */
static bool extend_totals(task *t) {
    const bf_axis_sum *sum = &t->sums[t->which];
    addition add = {.loop = t->loops[sum->input], .first = t->which, .count = 1};
    bf_window_memory *window = add.windows;
    *window = next_window(t);
    if (!have_room(t, sum->window.levels)) return false;
    save_totals(t);
    for (int tries = 0;; tries++) {
        deepen_totals(t, window);
        if (add_batch(t, &add)) {
            bf_window_settle(bf_axis_memory(t->taker, t->which), window, tries == 0);
            return true;
        }
        restore_totals(t);
        window->levels++;
        if (!is_window(t, window) || (tries == 1 && has_special(t))) return false;
    }
}

/* Sets totals to the sums of a batch, in the window that is remembered or one by a sample. */
static bool begin_totals(task *t) {
    bf_axis_sum *sum = &t->sums[t->which];
    bf_window_memory *memory = bf_axis_memory(t->taker, t->which);
    bool known = memory->levels > 0;
    for (int tries = known ? 2 : 1; tries > 0; tries--) {
        bf_window_memory window = *memory;
        if (tries == 1 && !guess_window(t, &window)) break;
        sum->window = window;
        copy_totals(t, 0, window.levels, t->totals[t->which], NULL);
        if (tries == 1) *memory = window;
        if (extend_totals(t)) return true;
    }
    return false;
}

/* Adds a batch to both totals in one pass, in the windows that are remembered. On failure, totals
 * that were pending are as they were. */
static bool sum_moments(task *t, bool pending) {
    addition add = {.loop = t->loops[BF_SUM_F32_MOMENTS], .count = BF_AXIS_TWO};
    for (t->which = 0; t->which < BF_AXIS_TWO; t->which++) {
        bf_axis_sum *sum = &t->sums[t->which];
        if (!pending) {
            sum->window = *bf_axis_memory(t->taker, t->which);
            copy_totals(t, 0, sum->window.levels, t->totals[t->which], NULL);
        }
        add.windows[t->which] = next_window(t);
        if (!have_room(t, sum->window.levels)) return false;
        save_totals(t);
        deepen_totals(t, &add.windows[t->which]);
    }
    if (!bf_axis_can_join(add.windows)) return false;
    bool fits = add_batch(t, &add);
    for (t->which = 0; t->which < BF_AXIS_TWO; t->which++) {
        bf_window_memory *memory = bf_axis_memory(t->taker, t->which);
        if (fits)
            bf_window_settle(memory, &add.windows[t->which], true);
        else
            restore_totals(t);
    }
    return fits;
}

static const char *widen_rows(const task *t, const bf_columns *x, const char *rows, int64_t step,
                              float *to) {
    const bf_isa *isa = t->taker->reducer.isa;
    int64_t columns = x->columns, row = columns * element_bytes(t);
    int64_t together = step == row ? x->rows : 1; /* so many rows follow each other */
    for (int64_t r = 0; r < x->rows; r += together)
        bf_widen_halves(isa, t->job->operands->dtype, rows + r * step, to + r * columns,
                        (size_t)(together * columns));
    return (const char *)to;
}

/* A batch as the loops take it. */
static bf_columns widen_columns(const task *t, const bf_columns *x) {
    bf_columns wide = *x;
    if (!bf_axis_widens(t->job)) return wide;
    wide.a = wide.b = wide.next = widen_rows(t, x, x->a, x->a_step, t->wide[0]);
    if (x->b != x->a) wide.b = widen_rows(t, x, x->b, x->b_step, t->wide[1]);
    wide.a_step = wide.b_step = x->columns * taken_bytes(t);
    return wide;
}

/* Adds a batch to the totals, or begins them with it. False: no window holds it; totals that were
 * pending are as they were. */
static bool sum_batch(task *t, const bf_columns *x, bool pending) {
    const bf_columns wide = widen_columns(t, x);
    bf_columns of = wide;
    t->x = &of;
    if (bf_axis_are_moments(t->sums) && sum_moments(t, pending)) return true;
    for (t->which = 0; t->which < sums_of(t->job); t->which++) {
        if (!t->sums[t->which].needed) continue;
        of = bf_axis_columns_of(&t->sums[t->which], &wide);
        if (pending ? extend_totals(t) : begin_totals(t)) continue;
        while (pending && --t->which >= 0)
            if (t->sums[t->which].needed) restore_totals(t);
        return false;
    }
    return true;
}

/* ---- results --------------------------------------------------------------------------------- */

/* The totals of columns; *x lives as long. */
static bf_many_totals totals_of(const task *t, const bf_columns *x) {
    bf_many_totals all = {.sums = t->sums, .pitch = BF_COLUMNS_MOST, .length = &x->rows};
    for (int s = 0; s < sums_of(t->job); s++) all.totals[s] = t->totals[s];
    return all;
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
    bf_many_totals all = totals_of(t, x);
    for (int64_t c = 0; c < x->columns; c++) {
        bf_line_totals totals;
        bf_totals_of_line(&all, c, &totals);
        bool negative = counts && is_zero(&totals.of[sum]) && is_negative_zero(t, x, c);
        bf_line_add(t->job, &totals, negative, t->words + (first + c) * t->job->words);
    }
}

static void write_column(const task *t, const bf_columns *x, const bf_line_totals *totals,
                         int64_t column, int64_t number) {
    bool zero;
    if (!bf_line_is_simple(t->job, totals)) {
        bf_state_init(t->job->operands->kind, t->job->operands->dtype, t->words);
        bf_line_add(t->job, totals, false, t->words);
        bf_axis_write(t->job, t->words, number);
        return;
    }
    uint64_t bits = bf_line_bits(t->job, totals, &zero);
    if (zero && is_negative_zero(t, x, column))
        bits = bf_format_sign(bf_format_of(t->job->results->to));
    bf_axis_write_bits(t->job, bits, true, number);
}

static void write_totals(const task *t, const bf_columns *x, int64_t number, int64_t step) {
    const bf_axis_loops *loops = t->taker->reducer.isa->axis;
    bf_many_totals all = totals_of(t, x);
    for (int64_t c = 0; c < x->columns; c += BF_STRETCHES) {
        int n = x->columns - c < BF_STRETCHES ? (int)(x->columns - c) : BF_STRETCHES;
        uint64_t left = bf_write_lines(t->job, loops, &all, c, n, number + c * step, step);
        for (; left != 0; left &= left - 1) {
            int64_t column = c + __builtin_ctzll(left);
            bf_line_totals totals;
            bf_totals_of_line(&all, column, &totals);
            write_column(t, x, &totals, column, number + column * step);
        }
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
    if (sum_batch(t, x, false)) {
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

static void begin_words(const task *t, const bf_columns *x) {
    const bf_operands *o = t->job->operands;
    for (int64_t c = 0; c < x->columns; c++)
        bf_state_init(o->kind, o->dtype, t->words + c * t->job->words);
}

static int64_t batch_rows(const task *t, const bf_columns *x) {
    int64_t rows = BATCH_BYTES / (x->columns * taken_bytes(t));
    return rows < BATCH_ROWS ? rows : BATCH_ROWS;
}

/* Takes the rows in batches: into totals as long as these can be kept, else into words. Rows
 * [from, from + pending) are in the totals, those before in the words. */
static void reduce_columns(task *t, const bf_columns *x, int64_t number, int64_t step) {
    int64_t from = 0, pending = 0, n;
    bool words = false;
    for (int64_t row = 0; row < x->rows; row += n) {
        n = x->rows - row < batch_rows(t, x) ? x->rows - row : batch_rows(t, x);
        bf_columns batch = cut_rows(x, row, n), before = cut_rows(x, from, pending);
        if (sum_batch(t, &batch, pending > 0)) {
            pending += n;
            continue;
        }
        if (!words) begin_words(t, x);
        words = true;
        if (pending > 0) add_to_words(t, &before, 0);
        take_batch(t, &batch, 0);
        from = row + n;
        pending = 0;
    }
    bf_columns rest = cut_rows(x, from, pending);
    bf_many_totals all = totals_of(t, x);
    bf_line_totals totals;
    bf_totals_of_line(&all, 0, &totals);
    const bool pairs = t->job->operands->kind == BF_KIND_COMOMENTS && x->rows > 0;
    if (!words && (pairs || bf_line_is_simple(t->job, &totals))) {
        write_totals(t, x, number, step);
        return;
    }
    if (!words) begin_words(t, x);
    if (pending > 0) add_to_words(t, &rest, 0);
    for (int64_t c = 0; c < x->columns; c++)
        bf_axis_write(t->job, t->words + c * t->job->words, number + c * step);
}

void bf_reduce_columns(bf_axis_job *job, bf_taker *taker, const bf_columns *x, int64_t number,
                       int64_t step) {
    task t = {.job = job, .taker = taker, .loops = taker->reducer.isa->axis->columns};
    bf_axis_sums_of(taker->reducer.isa, job->operands, t.sums);
    t.words = taker->more;
    for (int s = 0; s < sums_of(job); s++) {
        t.totals[s] = t.words;
        t.saved[s] = t.totals[s] + BF_LEVELS_MAX * BF_COLUMNS_MOST;
        t.longer[s] = t.saved[s] + BF_LEVELS_MAX * BF_COLUMNS_MOST;
        t.words = t.longer[s] + BF_LEVELS_MAX * 8 * NARROW_ROW;
    }
    t.wide[0] = (float *)(t.words + (size_t)BF_COLUMNS_MOST * (size_t)job->words);
    t.wide[1] = t.wide[0] + BATCH_BYTES / sizeof(float);
    reduce_columns(&t, x, number, step);
}
