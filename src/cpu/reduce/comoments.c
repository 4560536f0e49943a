/* Co-moments of each two of several columns, in one pass: a worker takes blocks of rows that stay
 * in the cache until each pair has read them. Of a block of finite elements it adds up the moments
 * of each column, or its sums with weights, and one sum of products for each pair. A pair with a
 * NaN counts in no sum of this pair alone, so of another block it adds up all the sums of each
 * pair. */
#include "cpu/reduce/reduce.h"

#include "rules/reduce/sum.h"

enum {
    BLOCK_BYTES = 1 << 19, /* all columns of a block have so many */
    ROWS_LEAST = 512,
    ROWS_MOST = 8192,
    BYTES_LEAST = 1 << 20, /* so many are worth a thread */
    STATES_MOST = 3        /* states that have all the sums of a pair */
};

/* What all workers share. */
typedef struct shared {
    bf_context *context;
    const bf_variables *columns;
    bf_dtype held; /* as which elements are held: halves as f32, bools as u8 */
    int all;       /* columns, those of the weights too */
    int64_t pairs; /* i <= j */
    bf_kind of_column, of_pair;
    int column_words, pair_words;
    int states; /* seam/reduce.h lists them */
    bf_kind state[STATES_MOST];
    int words[STATES_MOST];
    int64_t rows; /* each block has so many */
    struct sums *of_worker;
} shared;

/* What a worker has added up: words of columns and of pairs, and what their loops remember. */
typedef struct sums {
    const void **at; /* where the columns of the block are */
    char *block;     /* copies of those that are not read in place */
    char *finite;    /* a copy of a pair and its weights */
    bf_reducer *of_columns, *of_pairs;
    int64_t *columns, *pairs;    /* a column has no product with itself */
    int64_t *joint[STATES_MOST]; /* NULL: no block had a NaN or infinity */
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
    for (int i = 0; i < m->all; i++) {
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
    for (int i = 0; i < m->all; i++)
        if (!are_finite(m->held, s->at[i], n)) return false;
    return true;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Adds n elements of as many of three arrays as the kind takes. */
static void absorb(const shared *m, bf_reducer *reducer, bf_kind kind, const void *const x[3],
                   int64_t n, int64_t *words) {
    const bf_job job = {
        .kind = kind, .dtype = m->held, .a = x[0], .b = x[1], .c = x[2], .every_zero = true};
    reducer->isa = m->context->cpu->isa;
    reducer->mixed = true;
    bf_reduce_absorb(reducer, &job, 0, n, words);
}

static void absorb_finite(const shared *m, sums *s, int64_t n) {
    const void *const weights = m->columns->weighted ? s->at[m->columns->n] : NULL;
    for (int j = 0; j < m->columns->n; j++) {
        const void *const one[] = {s->at[j], weights, NULL};
        absorb(m, &s->of_columns[j], m->of_column, one, n, s->columns + j * m->column_words);
        for (int i = 0; i < j; i++) {
            const int64_t pair = pair_at(i, j);
            const void *const two[] = {s->at[i], s->at[j], NULL};
            const void *const three[] = {s->at[i], weights, s->at[j]};
            absorb(m, &s->of_pairs[pair], m->of_pair, weights != NULL ? three : two, n,
                   s->pairs + pair * m->pair_words);
        }
    }
}

static bool open_joint(const shared *m, sums *s) {
    for (int k = 0; k < m->states; k++) {
        if (s->joint[k] != NULL) continue;
        s->joint[k] = bf_alloc((size_t)(m->pairs * m->words[k]) * sizeof(int64_t));
        if (s->joint[k] == NULL) return false;
        for (int64_t i = 0; i < m->pairs; i++)
            bf_state_init(m->state[k], m->held, s->joint[k] + i * m->words[k]);
    }
    return true;
}

/* Copies a pair and its weights. Where one of the three is not finite all are zeros, and it is
 * counted. */
static void copy_finite(const shared *m, const sums *s, int i, int j, int64_t n, int64_t *words) {
    const int bytes = bf_number_bytes(m->held);
    const bf_format f = bf_format_of(m->held);
    const char *const from[] = {s->at[i], s->at[m->columns->n], s->at[j]};
    for (int64_t at = 0; at < n * bytes; at += bytes) {
        uint64_t bits[3];
        int special = 0;
        for (int k = 0; k < 3; k++) {
            bits[k] = bf_load_bits(from[k] + at, bytes);
            if (bf_is_nan(f, bits[k])) special = BF_SUM_NAN;
            if (bf_is_inf(f, bits[k]) && special == 0) special = BF_SUM_POS_INF;
        }
        if (special != 0) words[special]++;
        for (int k = 0; k < 3; k++)
            bf_store_bits(s->finite + k * m->rows * bytes + at, bytes, special != 0 ? 0 : bits[k]);
    }
}

static void absorb_weighted(const shared *m, const sums *s, int i, int j, int64_t n) {
    const int64_t pair = pair_at(i, j), bytes = m->rows * bf_number_bytes(m->held);
    const char *const a = s->finite, *const w = a + bytes, *const c = w + bytes;
    const void *const x[STATES_MOST][3] = {{a, w, NULL}, {c, w, NULL}, {a, w, c}};
    copy_finite(m, s, i, j, n, s->joint[0] + pair * m->words[0]);
    for (int k = 0; k < STATES_MOST; k++) {
        bf_reducer reducer = {0};
        absorb(m, &reducer, m->state[k], x[k], n, s->joint[k] + pair * m->words[k]);
    }
}

static bf_status absorb_joint(const shared *m, sums *s, int64_t n) {
    if (!open_joint(m, s)) return BF_E_MEMORY;
    for (int j = 0; j < m->columns->n; j++) {
        for (int i = 0; i <= j; i++) {
            const void *const two[] = {s->at[i], s->at[j], NULL};
            bf_reducer reducer = {0};
            if (m->columns->weighted)
                absorb_weighted(m, s, i, j, n);
            else
                absorb(m, &reducer, m->state[0], two, n, s->joint[0] + pair_at(i, j) * m->words[0]);
        }
    }
    return BF_OK;
}

/* ---- workers --------------------------------------------------------------------------------- */

static int64_t round_up(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/* The bytes of a worker's sums; s: where they are set to parts of memory, or NULL. */
static int64_t lay_out(const shared *m, char *memory, sums *s) {
    const int64_t n = m->columns->n, block = m->rows * bf_number_bytes(m->held);
    const int64_t bytes[] = {m->all * block,
                             m->columns->weighted ? 3 * block : 0,
                             n * m->column_words * (int64_t)sizeof(int64_t),
                             m->pairs * m->pair_words * (int64_t)sizeof(int64_t),
                             n * (int64_t)sizeof(bf_reducer),
                             m->pairs * (int64_t)sizeof(bf_reducer),
                             m->all * (int64_t)sizeof(void *)};
    int64_t at[7], end = 0;
    for (int i = 0; i < 7; i++) {
        at[i] = end;
        end += round_up(bytes[i]);
    }
    if (s == NULL) return end;
    s->block = memory + at[0];
    s->finite = memory + at[1];
    s->columns = (int64_t *)(void *)(memory + at[2]);
    s->pairs = (int64_t *)(void *)(memory + at[3]);
    s->of_columns = (bf_reducer *)(void *)(memory + at[4]);
    s->of_pairs = (bf_reducer *)(void *)(memory + at[5]);
    s->at = (const void **)(void *)(memory + at[6]);
    return end;
}

static bool open_sums(const shared *m, sums *s) {
    char *memory = bf_alloc((size_t)lay_out(m, NULL, NULL));
    if (memory == NULL) return false;
    lay_out(m, memory, s);
    for (int i = 0; i < m->columns->n; i++) {
        s->of_columns[i] = (bf_reducer){0};
        bf_state_init(m->of_column, m->held, s->columns + i * m->column_words);
    }
    for (int64_t i = 0; i < m->pairs; i++) {
        s->of_pairs[i] = (bf_reducer){0};
        bf_state_init(m->of_pair, m->held, s->pairs + i * m->pair_words);
    }
    return true;
}

static void close_sums(sums *s) {
    for (int k = 0; k < STATES_MOST; k++) bf_free(s->joint[k]);
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

/* Merges n states of a kind, one after another. */
static void merge_states(const shared *m, bf_kind kind, int64_t n, int64_t *into,
                         const int64_t *from) {
    const int words = bf_state_words(kind, m->held, NULL);
    for (int64_t i = 0; i < n * words; i += words)
        bf_state_merge_words(kind, m->held, into + i, from + i);
}

static bf_status merge_sums(const shared *m, sums *into, const sums *from) {
    merge_states(m, m->of_column, m->columns->n, into->columns, from->columns);
    merge_states(m, m->of_pair, m->pairs, into->pairs, from->pairs);
    if (from->joint[0] == NULL) return BF_OK;
    if (!open_joint(m, into)) return BF_E_MEMORY;
    for (int k = 0; k < m->states; k++)
        merge_states(m, m->state[k], m->pairs, into->joint[k], from->joint[k]);
    return BF_OK;
}

/* ---- words of pairs -------------------------------------------------------------------------- */

/* Adds the part of a^i * b^k of one state to that of a^p * b^q of another. */
static void add_part(const shared *m, bf_kind to, int p, int q, int64_t *words, bf_kind kind, int i,
                     int k, const int64_t *from) {
    const bf_parts all = bf_parts_of(to, m->held), parts = bf_parts_of(kind, m->held);
    const bf_part *into = all.part, *of = parts.part;
    while (into->a != p || into->b != q) into++;
    while (of->a != i || of->b != k) of++;
    for (int l = 0; l < of->layout.limbs; l++) words[into->at + l] += from[of->at + l];
}

static void join_plain(const shared *m, const sums *s, int i, int j, int64_t *words) {
    const int64_t *a = s->columns + i * m->column_words, *b = s->columns + j * m->column_words;
    const bf_kind to = BF_KIND_COMOMENTS, of = BF_KIND_MOMENTS;
    words[BF_SUM_COUNT] += a[BF_SUM_COUNT];
    for (int power = 1; power <= 2; power++) {
        add_part(m, to, power, 0, words, of, power, 0, a);
        add_part(m, to, 0, power, words, of, power, 0, b);
    }
    if (i == j)
        add_part(m, to, 1, 1, words, of, 2, 0, a);
    else
        add_part(m, to, 1, 1, words, m->of_pair, 1, 1, s->pairs + pair_at(i, j) * m->pair_words);
    bf_sum_carry(to, m->held, words);
}

static void join_weighted(const shared *m, const sums *s, int i, int j, int64_t *const words[]) {
    const int64_t *const a = s->columns + i * m->column_words;
    merge_states(m, m->state[0], 1, words[0], a);
    merge_states(m, m->state[1], 1, words[1], s->columns + j * m->column_words);
    if (i != j) {
        merge_states(m, m->of_pair, 1, words[2], s->pairs + pair_at(i, j) * m->pair_words);
        return;
    }
    add_part(m, m->of_pair, 2, 1, words[2], m->of_column, 2, 1, a);
    bf_sum_carry(m->of_pair, m->held, words[2]);
}

/* words: room for the states of a pair. */
static bf_status give_words(const shared *m, const sums *s, int64_t *const words[],
                            bf_take_comoments *take, void *arg) {
    bf_status status = BF_OK;
    for (int j = 0; j < m->columns->n; j++) {
        for (int i = 0; i <= j && status == BF_OK; i++) {
            for (int k = 0; k < m->states; k++) {
                bf_state_init(m->state[k], m->held, words[k]);
                if (s->joint[k] != NULL)
                    merge_states(m, m->state[k], 1, words[k],
                                 s->joint[k] + pair_at(i, j) * m->words[k]);
            }
            if (m->columns->weighted)
                join_weighted(m, s, i, j, words);
            else
                join_plain(m, s, i, j, words[0]);
            status = take(arg, i, j, (const int64_t *const *)words);
        }
    }
    return status;
}

static bf_status give_all(const shared *m, const sums *s, bf_take_comoments *take, void *arg) {
    int64_t *words[STATES_MOST] = {NULL};
    bool made = true;
    for (int k = 0; k < m->states; k++) {
        words[k] = bf_alloc((size_t)m->words[k] * sizeof *words[k]);
        made &= words[k] != NULL;
    }
    const bf_status status = made ? give_words(m, s, words, take, arg) : BF_E_MEMORY;
    for (int k = 0; k < m->states; k++) bf_free(words[k]);
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
    m.all = columns->n + (columns->weighted ? 1 : 0);
    m.pairs = pair_at(0, columns->n);
    m.of_column = columns->weighted ? BF_KIND_WEIGHTED : BF_KIND_MOMENTS;
    m.of_pair = columns->weighted ? BF_KIND_TRIPLE : BF_KIND_DOT;
    m.column_words = bf_state_words(m.of_column, m.held, NULL);
    m.pair_words = bf_state_words(m.of_pair, m.held, NULL);
    m.states = columns->weighted ? STATES_MOST : 1;
    for (int k = 0; k < m.states; k++) {
        m.state[k] = !columns->weighted ? BF_KIND_COMOMENTS : k < 2 ? m.of_column : m.of_pair;
        m.words[k] = bf_state_words(m.state[k], m.held, NULL);
    }
    m.rows = between(ROWS_LEAST, BLOCK_BYTES / (m.all * bf_number_bytes(m.held)), ROWS_MOST);
    if (m.rows > columns->count) m.rows = columns->count;
    return m;
}

/* The sums of worker 0, who works even if no other does, become those of all. */
static bf_status run(const shared *m, int workers, bf_take_comoments *take, void *arg) {
    const bf_variables *columns = m->columns;
    const int64_t bytes = columns->count * m->all * bf_number_bytes(columns->dtype);
    sums *of = m->of_worker;
    bf_status status = bf_parallel_watched(m->context, workers, columns->count, m->rows, bytes,
                                           absorb_block, (void *)(uintptr_t)m);
    if (status == BF_OK && of[0].block == NULL && !open_sums(m, &of[0])) status = BF_E_MEMORY;
    for (int w = 1; w < workers && status == BF_OK; w++)
        if (of[w].block != NULL) status = merge_sums(m, &of[0], &of[w]);
    if (status == BF_OK) status = give_all(m, &of[0], take, arg);
    return status == BF_E_MEMORY
               ? bf_fail(m->context, status, "no memory for the sums of %lld pairs of columns",
                         (long long)m->pairs)
               : status;
}

bf_status bf_cpu_comoments(bf_context *context, const bf_variables *columns,
                           bf_take_comoments *take, void *arg) {
    shared m = share(context, columns);
    const int64_t bytes = columns->count * m.all * bf_number_bytes(columns->dtype);
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
