/* Co-moments of each two of several columns, in one pass: a worker takes blocks of rows that stay
 * in the cache until each pair has read them. Of a block of finite elements it adds up the moments
 * of each column and one dot product for each pair. A pair with a NaN counts in no sum of this pair
 * alone, so of another block it adds up all the sums of each pair. */
#include "cpu/reduce/reduce.h"

#include "rules/reduce/sum.h"

enum {
    BLOCK_BYTES = 1 << 19, /* all columns of a block have so many */
    ROWS_LEAST = 512,
    ROWS_MOST = 8192,
    BYTES_LEAST = 1 << 20 /* so many are worth a thread */
};

/* What all workers share. */
typedef struct shared {
    bf_context *context;
    const bf_variables *columns;
    bf_dtype held; /* as which elements are held: halves as f32, bools as u8 */
    int64_t pairs; /* i <= j */
    int moment_words, dot_words, joint_words;
    int64_t rows; /* each block has so many */
    struct sums *of_worker;
} shared;

/* The windows that fitted last. */
typedef struct windows_of {
    bf_window_memory sum, products;
} windows_of;

/* What a worker has added up: windows and words, those of columns and of pairs. */
typedef struct sums {
    const void **at; /* where the columns of the block are */
    char *block;     /* copies of those that are not read in place */
    windows_of *windows, *products;
    int64_t *moments, *dots; /* a column has no product with itself */
    int64_t *joint;          /* NULL: no block had a NaN or infinity */
} sums;

/* Pairs are numbered row by row: (0, 0), (0, 1), (1, 1), (0, 2) and so on. */
static int64_t pair_at(int i, int j) { return (int64_t)j * (j + 1) / 2 + i; }

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool is_in_place(const shared *m, int i) {
    const bf_strided *column = &m->columns->column[i];
    return m->held == m->columns->dtype && column->ndim == 1 &&
           (column->strides[0] == 1 || column->shape[0] == 1);
}

static void hold(const shared *m, const bf_strided *column, int64_t first, int64_t n, char *to) {
    uint16_t halves[ROWS_MOST];
    if (m->held == m->columns->dtype) {
        bf_cpu_gather(m->context, column, first, n, to);
    } else if (m->held == BF_F32) {
        bf_cpu_gather(m->context, column, first, n, halves);
        bf_widen_halves(m->context->cpu->isa, m->columns->dtype, (const char *)halves, (float *)to,
                        (size_t)n);
    } else {
        bf_cpu_gather(m->context, column, first, n, to);
        for (int64_t i = 0; i < n; i++) to[i] = to[i] != 0;
    }
}

/* Sets where each column's elements [first, first + n) are. */
static void take_block(const shared *m, sums *s, int64_t first, int64_t n) {
    const int64_t bytes = bf_number_bytes(m->held);
    for (int i = 0; i < m->columns->n; i++) {
        const bf_strided *column = &m->columns->column[i];
        char *copy = s->block + i * m->rows * bytes;
        if (!is_in_place(m, i)) hold(m, column, first, n, copy);
        s->at[i] = is_in_place(m, i) ? column->data + first * bytes : copy;
    }
}

/* Adding one to an exponent of all ones carries into the sign. */
static bool are_finite(bf_dtype dtype, const char *x, int64_t n) {
    uint64_t odd = 0, wide;
    uint32_t odd_floats = 0, narrow;
    if (dtype == BF_F32) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(&narrow, x + 4 * i, 4);
            odd_floats |= (narrow & INT32_MAX) + (UINT32_C(1) << 23);
        }
        return odd_floats >> 31 == 0;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(&wide, x + 8 * i, 8);
        odd |= (wide & INT64_MAX) + (UINT64_C(1) << 52);
    }
    return odd >> 63 == 0;
}

static bool is_finite(const shared *m, const sums *s, int64_t n) {
    if (!bf_dtype_is_float(m->held)) return true;
    for (int i = 0; i < m->columns->n; i++)
        if (!are_finite(m->held, s->at[i], n)) return false;
    return true;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void absorb(const shared *m, bf_kind kind, const void *a, const void *b, int64_t n,
                   windows_of *windows, int64_t *words) {
    const bf_job job = {.kind = kind, .dtype = m->held, .a = a, .b = b};
    bf_reducer reducer = {.isa = m->context->cpu->isa,
                          .sum = windows->sum,
                          .products = windows->products,
                          .mixed = true};
    bf_sum_absorb(&reducer, &job, 0, n, words);
    *windows = (windows_of){reducer.sum, reducer.products};
}

static void absorb_finite(const shared *m, sums *s, int64_t n) {
    for (int j = 0; j < m->columns->n; j++) {
        absorb(m, BF_KIND_MOMENTS, s->at[j], NULL, n, &s->windows[j],
               s->moments + j * m->moment_words);
        for (int i = 0; i < j; i++) {
            const int64_t pair = pair_at(i, j);
            absorb(m, BF_KIND_DOT, s->at[i], s->at[j], n, &s->products[pair],
                   s->dots + pair * m->dot_words);
        }
    }
}

static bool open_joint(const shared *m, sums *s) {
    if (s->joint != NULL) return true;
    s->joint = bf_alloc((size_t)(m->pairs * m->joint_words) * sizeof *s->joint);
    for (int64_t i = 0; i < m->pairs && s->joint != NULL; i++)
        bf_state_init(BF_KIND_COMOMENTS, m->held, s->joint + i * m->joint_words);
    return s->joint != NULL;
}

static bf_status absorb_joint(const shared *m, sums *s, int64_t n) {
    if (!open_joint(m, s)) return BF_E_MEMORY;
    for (int j = 0; j < m->columns->n; j++) {
        for (int i = 0; i <= j; i++) {
            const bf_job job = {
                .kind = BF_KIND_COMOMENTS, .dtype = m->held, .a = s->at[i], .b = s->at[j]};
            bf_reducer reducer = {.isa = m->context->cpu->isa};
            bf_joint_absorb(&reducer, &job, 0, n, s->joint + pair_at(i, j) * m->joint_words);
        }
    }
    return BF_OK;
}

/* ---- workers --------------------------------------------------------------------------------- */

static int64_t round_up(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/* The bytes of a worker's sums; s: where they are set to parts of memory, or NULL. */
static int64_t lay_out(const shared *m, char *memory, sums *s) {
    const int64_t n = m->columns->n;
    const int64_t bytes[] = {n * m->rows * bf_number_bytes(m->held),
                             n * m->moment_words * (int64_t)sizeof(int64_t),
                             m->pairs * m->dot_words * (int64_t)sizeof(int64_t),
                             n * (int64_t)sizeof(windows_of),
                             m->pairs * (int64_t)sizeof(windows_of),
                             n * (int64_t)sizeof(void *)};
    int64_t at[6], end = 0;
    for (int i = 0; i < 6; i++) {
        at[i] = end;
        end += round_up(bytes[i]);
    }
    if (s == NULL) return end;
    s->block = memory + at[0];
    s->moments = (int64_t *)(void *)(memory + at[1]);
    s->dots = (int64_t *)(void *)(memory + at[2]);
    s->windows = (windows_of *)(void *)(memory + at[3]);
    s->products = (windows_of *)(void *)(memory + at[4]);
    s->at = (const void **)(void *)(memory + at[5]);
    return end;
}

static bool open_sums(const shared *m, sums *s) {
    char *memory = bf_alloc((size_t)lay_out(m, NULL, NULL));
    if (memory == NULL) return false;
    lay_out(m, memory, s);
    for (int i = 0; i < m->columns->n; i++) {
        s->windows[i] = (windows_of){0};
        bf_state_init(BF_KIND_MOMENTS, m->held, s->moments + i * m->moment_words);
    }
    for (int64_t i = 0; i < m->pairs; i++) {
        s->products[i] = (windows_of){0};
        bf_state_init(BF_KIND_DOT, m->held, s->dots + i * m->dot_words);
    }
    return true;
}

static void close_sums(sums *s) {
    bf_free(s->joint);
    bf_free(s->block);
}

static bf_status absorb_block(void *arg, int worker, int64_t first, int64_t n) {
    const shared *m = arg;
    sums *s = &m->of_worker[worker];
    if (s->block == NULL && !open_sums(m, s)) return BF_E_MEMORY;
    take_block(m, s, first, n);
    if (!is_finite(m, s, n)) return absorb_joint(m, s, n);
    absorb_finite(m, s, n);
    return BF_OK;
}

static bf_status merge_sums(const shared *m, sums *into, const sums *from) {
    for (int i = 0; i < m->columns->n; i++)
        bf_state_merge_words(BF_KIND_MOMENTS, m->held, into->moments + i * m->moment_words,
                             from->moments + i * m->moment_words);
    for (int64_t i = 0; i < m->pairs; i++)
        bf_state_merge_words(BF_KIND_DOT, m->held, into->dots + i * m->dot_words,
                             from->dots + i * m->dot_words);
    if (from->joint == NULL) return BF_OK;
    if (!open_joint(m, into)) return BF_E_MEMORY;
    for (int64_t i = 0; i < m->pairs; i++)
        bf_state_merge_words(BF_KIND_COMOMENTS, m->held, into->joint + i * m->joint_words,
                             from->joint + i * m->joint_words);
    return BF_OK;
}

/* ---- words of pairs -------------------------------------------------------------------------- */

/* Adds the sum of terms of so many factors to the part of a^i b^k. */
static void add_part(const shared *m, int64_t *words, int i, int k, bf_kind kind,
                     const int64_t *from) {
    const bf_sum_shape shape = bf_sum_shape_of(kind, m->held);
    const bf_parts parts = bf_parts_of(BF_KIND_COMOMENTS, m->held);
    const int at = i + k == 1 ? shape.sum_at : shape.products_at;
    for (int p = 0; p < parts.count; p++) {
        const bf_part *part = &parts.part[p];
        if (part->a != i || part->b != k) continue;
        for (int l = 0; l < part->layout.limbs; l++) words[part->at + l] += from[at + l];
    }
}

static void join_words(const shared *m, const sums *s, int i, int j, int64_t *words) {
    const int64_t pair = pair_at(i, j);
    const int64_t *a = s->moments + i * m->moment_words, *b = s->moments + j * m->moment_words;
    bf_state_init(BF_KIND_COMOMENTS, m->held, words);
    if (s->joint != NULL)
        memcpy(words, s->joint + pair * m->joint_words, (size_t)m->joint_words * sizeof *s->joint);
    words[BF_SUM_COUNT] += a[BF_SUM_COUNT];
    for (int power = 1; power <= 2; power++) {
        add_part(m, words, power, 0, BF_KIND_MOMENTS, a);
        add_part(m, words, 0, power, BF_KIND_MOMENTS, b);
    }
    add_part(m, words, 1, 1, i == j ? BF_KIND_MOMENTS : BF_KIND_DOT,
             i == j ? a : s->dots + pair * m->dot_words);
    bf_sum_carry(BF_KIND_COMOMENTS, m->held, words);
}

static bf_status give_words(const shared *m, const sums *s, bf_take_comoments *take, void *arg) {
    int64_t words[BF_PARTS_WORDS_MAX];
    bf_status status = BF_OK;
    for (int j = 0; j < m->columns->n; j++) {
        for (int i = 0; i <= j && status == BF_OK; i++) {
            join_words(m, s, i, j, words);
            status = take(arg, i, j, words);
        }
    }
    return status;
}

/* ---- the call -------------------------------------------------------------------------------- */

static int64_t between(int64_t least, int64_t x, int64_t most) {
    return x < least ? least : x > most ? most : x;
}

static shared share(bf_context *context, const bf_variables *columns) {
    shared m = {.context = context, .columns = columns, .held = columns->dtype};
    if (bf_dtype_is_half(m.held)) m.held = BF_F32;
    if (m.held == BF_BOOL) m.held = BF_U8;
    m.pairs = pair_at(0, columns->n);
    m.moment_words = bf_state_words(BF_KIND_MOMENTS, m.held, NULL);
    m.dot_words = bf_state_words(BF_KIND_DOT, m.held, NULL);
    m.joint_words = bf_state_words(BF_KIND_COMOMENTS, m.held, NULL);
    m.rows = between(ROWS_LEAST, BLOCK_BYTES / (columns->n * bf_number_bytes(m.held)), ROWS_MOST);
    if (m.rows > columns->count) m.rows = columns->count;
    return m;
}

/* The sums of worker 0, who works even if no other does, become those of all. */
static bf_status run(const shared *m, int workers, bf_take_comoments *take, void *arg) {
    const bf_variables *columns = m->columns;
    const int64_t bytes = columns->count * columns->n * bf_number_bytes(columns->dtype);
    sums *of = m->of_worker;
    bf_status status = bf_parallel_watched(m->context, workers, columns->count, m->rows, bytes,
                                           absorb_block, (void *)(uintptr_t)m);
    if (status == BF_OK && of[0].block == NULL && !open_sums(m, &of[0])) status = BF_E_MEMORY;
    for (int w = 1; w < workers && status == BF_OK; w++)
        if (of[w].block != NULL) status = merge_sums(m, &of[0], &of[w]);
    if (status == BF_E_MEMORY)
        return bf_fail(m->context, status, "no memory for the sums of %lld pairs of columns",
                       (long long)m->pairs);
    return status == BF_OK ? give_words(m, &of[0], take, arg) : status;
}

bf_status bf_cpu_comoments(bf_context *context, const bf_variables *columns,
                           bf_take_comoments *take, void *arg) {
    shared m = share(context, columns);
    const int64_t bytes = columns->count * columns->n * bf_number_bytes(columns->dtype);
    int workers =
        bf_workers_within(bf_workers(context, bytes, BYTES_LEAST), (size_t)lay_out(&m, NULL, NULL));
    m.of_worker = bf_calloc((size_t)workers, sizeof *m.of_worker);
    if (m.of_worker == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for workers");
    bf_environment environment = bf_environment_enter();
    const bf_status status = run(&m, workers, take, arg);
    bf_environment_leave(environment);
    for (int w = 0; w < workers; w++) close_sums(&m.of_worker[w]);
    bf_free(m.of_worker);
    return status;
}
