/* Sums of short contiguous stretches: of fibres along the last axis, and of segments. Some of them
 * are summed in one window; if that does not hold them, each is tried alone, and then as a line. */
#include "cpu/axis/stretches.h"

#include "cpu/axis/window.h"

enum {
    PAIRS_LEAST = 8,     /* stretches of pairs that are taken at once, at least */
    SAMPLE = 256,        /* elements that the first window is chosen by */
    WIDE_MOST = 1 << 15, /* 16-bit floats that are widened at once */
    CACHED = 1 << 11 /* pairs that are taken at once, each of whose sums finds them in the cache */
};
_Static_assert((int)WIDE_MOST >= (int)BF_STRETCH_MOST, "a stretch has room");

/* The totals of a sum, by level and stretch. */
typedef int64_t stretch_totals[BF_LEVELS_MAX][BF_STRETCHES];

typedef struct task {
    bf_axis_job *job;
    bf_taker *taker;
    bf_axis_sum sums[BF_AXIS_SUMS];
    stretch_totals *totals; /* one for each sum */
} task;

bool bf_can_take_stretches(const bf_axis_job *job) {
    bf_axis_sum sums[BF_AXIS_SUMS];
    return bf_axis_sums_of(job->context->cpu->isa, job->operands, sums);
}

size_t bf_stretches_room(const bf_axis_job *job) {
    const size_t wide = bf_axis_widens(job) ? 2 * WIDE_MOST * sizeof(float) : 0;
    return wide + BF_AXIS_SUMS * sizeof(stretch_totals);
}

/* ---- windows --------------------------------------------------------------------------------- */

static size_t copy_sample(const task *t, const char *const from[], const bf_stretches *x,
                          char *to) {
    const int64_t bytes = bf_dtype_bytes(bf_axis_dtype(t->job));
    int64_t copied = 0;
    for (int i = 0; i < x->n && copied < SAMPLE; i++) {
        int64_t n = x->length[i] < SAMPLE - copied ? x->length[i] : SAMPLE - copied;
        if (n > 0) memcpy(to + copied * bytes, from[i], (size_t)(n * bytes));
        copied += n;
    }
    return (size_t)copied;
}

static bool guess_window(const task *t, int which, const bf_stretches *x,
                         bf_window_memory *window) {
    double a[SAMPLE], b[SAMPLE];
    const void *factors = NULL;
    size_t n = copy_sample(t, x->a, x, (char *)a);
    if (n == 0) return false;
    if (t->sums[which].pairs) {
        factors = a;
        if (x->b[0] != x->a[0]) {
            copy_sample(t, x->b, x, (char *)b);
            factors = b;
        }
    }
    return bf_window_guess(t->taker->reducer.isa, t->job->operands->dtype, a, factors, n, 16 * n,
                           window);
}

/* Tries the remembered window, then one by a sample and wider ones. */
static bool sum_stretches(task *t, int which, const bf_stretches *x) {
    bf_axis_sum *sum = &t->sums[which];
    bf_window_memory *memory = bf_axis_memory(t->taker, which), window = *memory;
    bf_stretches_loop loop = t->taker->reducer.isa->axis->fibres[sum->input];
    const bf_layout layout = bf_window_layout(t->job->operands->dtype, sum->pairs);
    bool first = memory->levels > 0;
    if (first && loop(x, &window, &t->totals[which])) {
        sum->window = window;
        bf_window_settle(memory, &window, true);
        return true;
    }
    if (!guess_window(t, which, x, &window)) return false;
    do {
        if (!loop(x, &window, &t->totals[which])) continue;
        sum->window = window;
        bf_window_settle(memory, &window, false);
        return true;
    } while (bf_window_widen(BF_TERMS_WHOLE, layout, &window));
    return false;
}

/* Takes elements and squares in one pass, in the windows that are remembered. */
static bool sum_moments(task *t, const bf_stretches *x) {
    bf_window_memory windows[BF_AXIS_TWO];
    for (int which = 0; which < BF_AXIS_TWO; which++)
        windows[which] = *bf_axis_memory(t->taker, which);
    if (!bf_axis_are_moments(t->sums) || !bf_axis_can_join(windows)) return false;
    if (!t->taker->reducer.isa->axis->fibres[BF_SUM_F32_MOMENTS](x, windows, t->totals))
        return false;
    for (int which = 0; which < BF_AXIS_TWO; which++) {
        t->sums[which].window = windows[which];
        bf_window_settle(bf_axis_memory(t->taker, which), &windows[which], true);
    }
    return true;
}

static bool sum_pairs(task *t, const bf_stretches *x) {
    for (int which = 0; which < BF_AXIS_SUMS; which++) {
        const bf_stretches of = bf_axis_stretches_of(&t->sums[which], x);
        if (!sum_stretches(t, which, &of)) return false;
    }
    return true;
}

static bool sum_all(task *t, const bf_stretches *x) {
    if (t->job->operands->kind == BF_KIND_COMOMENTS) return sum_pairs(t, x);
    if (sum_moments(t, x)) return true;
    for (int which = 0; which < BF_AXIS_TWO; which++)
        if (t->sums[which].needed && !sum_stretches(t, which, x)) return false;
    return true;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Takes stretch i as a line. */
static void take_line(const task *t, const bf_stretches *x, int i, int64_t number) {
    bf_lines line = {.data = {x->a[i], x->b[i]}, .lines = 1, .length = x->length[i], .ndim = 1};
    line.shape[0] = x->length[i];
    line.strides[0][0] = line.strides[1][0] = 1;
    bf_taker_begin(t->job, t->taker, 1);
    if (x->length[i] > 0) bf_taker_take(t->job, t->taker, &line, 0, x->length[i]);
    bf_axis_write(t->job, bf_taker_words(t->job, t->taker, 0), number);
}

static void write_stretch(const task *t, const bf_stretches *x, const bf_many_totals *all, int i,
                          int64_t number) {
    bf_line_totals totals;
    bf_totals_of_line(all, i, &totals);
    bool zero;
    if (!bf_line_is_simple(t->job, &totals)) {
        take_line(t, x, i, number);
        return;
    }
    uint64_t bits = bf_line_bits(t->job, &totals, &zero);
    if (zero && bf_line_is_negative_zero(t->job, x->a[i], x->b[i], x->length[i]))
        bits = bf_format_sign(bf_format_of(t->job->results->to));
    bf_axis_write_bits(t->job, bits, true, number);
}

static void write_stretches(const task *t, const bf_stretches *x, int64_t number) {
    const bf_axis_loops *loops = t->taker->reducer.isa->axis;
    bf_many_totals all = {.sums = t->sums, .pitch = BF_STRETCHES, .length = x->length, .step = 1};
    const bool pairs = t->job->operands->kind == BF_KIND_COMOMENTS;
    for (int s = 0; s < (pairs ? BF_AXIS_SUMS : BF_AXIS_TWO); s++) all.totals[s] = t->totals[s][0];
    uint64_t left = bf_write_lines(t->job, loops, &all, 0, x->n, number, 1);
    for (; left != 0; left &= left - 1) {
        int i = __builtin_ctzll(left);
        write_stretch(t, x, &all, i, number + i);
    }
}

static bf_stretches one_stretch(const bf_stretches *x, int i) {
    bf_stretches one;
    one.n = 1;
    one.a[0] = x->a[i];
    one.b[0] = x->b[i];
    one.length[0] = x->length[i];
    return one;
}

/* Reduces stretches; wide: as the loops take them. */
static void reduce_stretches(task *t, const bf_stretches *x, const bf_stretches *wide,
                             int64_t number) {
    if (sum_all(t, wide)) {
        write_stretches(t, x, number);
        return;
    }
    for (int i = 0; i < x->n; i++) {
        bf_stretches one = one_stretch(wide, i);
        bool sums = x->n > 1 && sum_all(t, &one);
        one = one_stretch(x, i);
        if (sums)
            write_stretches(t, &one, number + i);
        else
            take_line(t, x, i, number + i);
    }
}

/* ---- 16-bit floats --------------------------------------------------------------------------- */

static const char *widen(const task *t, const char *from, int64_t n, float *to) {
    bf_widen_halves(t->taker->reducer.isa, t->job->operands->dtype, from, to, (size_t)n);
    return (const char *)to;
}

/* Sets *some to stretches from number `first` on, as many as there is room for, and *wide to the
 * f32 that they equal. */
static void widen_stretches(const task *t, const bf_stretches *x, int first, bf_stretches *some,
                            bf_stretches *wide) {
    float *a = (float *)(t->totals + BF_AXIS_SUMS), *b = a + WIDE_MOST;
    int64_t at = 0;
    int n = 0;
    for (int i = first; i < x->n && at + x->length[i] <= WIDE_MOST; at += x->length[i++], n++) {
        some->a[n] = x->a[i];
        some->b[n] = x->b[i];
        some->length[n] = wide->length[n] = x->length[i];
        wide->a[n] = wide->b[n] = widen(t, x->a[i], x->length[i], a + at);
        if (x->b[i] != x->a[i]) wide->b[n] = widen(t, x->b[i], x->length[i], b + at);
    }
    some->n = wide->n = n;
}

static __attribute__((noinline)) void reduce_halves(task *t, const bf_stretches *x,
                                                    int64_t number) {
    bf_stretches some, wide;
    for (int i = 0; i < x->n; i += some.n) {
        widen_stretches(t, x, i, &some, &wide);
        reduce_stretches(t, &some, &wide, number + i);
    }
}

/* Pairs are taken by whole vectors of stretches, but not more than the cache holds. */
static __attribute__((noinline)) void reduce_pairs(task *t, const bf_stretches *x, int64_t number) {
    for (int i = 0, n; i < x->n; i += n) {
        bf_stretches some;
        int64_t pairs = 0;
        for (n = 0; i + n < x->n && (n % PAIRS_LEAST != 0 || pairs < CACHED); n++) {
            some.a[n] = x->a[i + n];
            some.b[n] = x->b[i + n];
            some.length[n] = x->length[i + n];
            pairs += x->length[i + n];
        }
        some.n = n;
        reduce_stretches(t, &some, &some, number + i);
    }
}

void bf_reduce_stretches(bf_axis_job *job, bf_taker *taker, const bf_stretches *x, int64_t number) {
    task t;
    t.job = job;
    t.taker = taker;
    t.totals = taker->more;
    bf_axis_sums_of(taker->reducer.isa, job->operands, t.sums);
    if (bf_axis_widens(job))
        reduce_halves(&t, x, number);
    else if (job->operands->kind == BF_KIND_COMOMENTS)
        reduce_pairs(&t, x, number);
    else
        reduce_stretches(&t, x, x, number);
}
