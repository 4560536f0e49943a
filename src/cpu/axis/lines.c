/* One thread takes lines. A line that is contiguous is absorbed where it lies; of others, pieces
 * are copied first: of neighbouring lines together, for these share cache lines. */
#include "cpu/axis/axis.h"

#include "rules/reduce/element.h"

enum {
    TILE_BYTES = 1 << 16, /* so many bytes of each operand are copied at a time */
    TILE_GAP = 64,   /* with this much between lines: they do not fall into one set of the cache */
    RUN_LEAST = 1024 /* bytes of a contiguous stretch that is worth no copy */
};

static size_t tile_bytes(void) { return TILE_BYTES + BF_LINES_MOST * TILE_GAP; }

/* The words of a line that begins at its first element. */
static int words_of(const bf_operands *o) {
    if (o->kind == BF_KIND_PRODUCT_TREE) return BF_PRODUCT_TREE_HEAD_AT;
    return bf_state_words(o->kind, o->dtype, NULL);
}

void bf_axis_job_open(bf_axis_job *job, bf_context *context, const bf_operands *operands,
                      const bf_results *results) {
    *job = (bf_axis_job){.context = context, .operands = operands, .results = results};
    job->words = words_of(operands);
    job->refused = INT64_MAX;
}

bf_status bf_axis_rooms_open(const bf_axis_job *job, int workers) {
    size_t bytes = sizeof(bf_taker) + 2 * tile_bytes() + BF_LEAF * sizeof(double) + job->more;
    bytes += BF_LINES_MOST * (size_t)job->words * sizeof(int64_t);
    return bf_rooms_open(job->context, workers, bytes) ? BF_OK : BF_E_MEMORY;
}

bf_taker *bf_taker_of(const bf_axis_job *job, int worker) {
    bf_taker *t = bf_room(job->context, worker);
    if (t->used) return t;
    *t = (bf_taker){.used = 1, .reducer = {.isa = job->context->cpu->isa}};
    t->words = (int64_t *)(t + 1);
    t->leaf = (double *)(t->words + BF_LINES_MOST * job->words);
    t->tile[0] = (char *)(t->leaf + BF_LEAF);
    t->tile[1] = t->tile[0] + tile_bytes();
    t->more = t->tile[1] + tile_bytes();
    return t;
}

int64_t *bf_taker_words(const bf_axis_job *job, bf_taker *taker, int line) {
    return taker->words + (size_t)line * (size_t)job->words;
}

void bf_taker_begin(const bf_axis_job *job, bf_taker *taker, int lines) {
    for (int l = 0; l < lines; l++) {
        bf_state_init(job->operands->kind, job->operands->dtype, bf_taker_words(job, taker, l));
        taker->mixed[l] = false;
    }
}

bf_lines bf_lines_of_rows(const bf_operands *o, int64_t width, int64_t row, int64_t first) {
    const int64_t left = width - first;
    const int64_t at = (row * width + first) * bf_dtype_bytes(o->dtype);
    bf_lines lines = {.lines = left < BF_LINES_MOST ? (int)left : BF_LINES_MOST, .ndim = 1};
    for (int k = 0; k < 2; k++) {
        lines.line_stride[k] = 1;
        lines.strides[k][0] = width;
    }
    lines.data[0] = (const char *)o->a + at;
    if (o->b != NULL) lines.data[1] = (const char *)o->b + at;
    return lines;
}

/* ---- absorbing ------------------------------------------------------------------------------- */

/* Line l takes n contiguous elements, of which the first has this index. */
static void absorb_elements(const bf_axis_job *job, bf_taker *t, int l, const char *a,
                            const char *b, int64_t index, int64_t n) {
    const bf_operands *o = job->operands;
    int64_t *words = bf_taker_words(job, t, l);
    const bf_job part = {.op = o->op,
                         .kind = o->kind,
                         .dtype = o->dtype,
                         .a = a,
                         .b = b,
                         .count = n,
                         .index = index,
                         .every_zero = job->keep != NULL};
    switch (o->kind) {
    case BF_KIND_EXTREME: bf_extreme_absorb(&t->reducer, &part, 0, n, words); break;
    case BF_KIND_PRODUCT: bf_product_absorb(&part, 0, n, words); break;
    case BF_KIND_PRODUCT_TREE:
        bf_product_tree_take(t->reducer.isa, &part, 0, n, t->leaf, words);
        break;
    case BF_KIND_POWERS:
    case BF_KIND_COMOMENTS:
    case BF_KIND_WEIGHTED:
    case BF_KIND_DESCRIPTION: bf_reduce_absorb(&t->reducer, &part, 0, n, words); break;
    default:
        t->reducer.mixed = t->mixed[l];
        bf_sum_absorb(&t->reducer, &part, 0, n, words);
        t->mixed[l] = t->reducer.mixed;
        break;
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Inlined with bytes a constant: memcpy is then one load and one store. */
static inline __attribute__((always_inline)) void copy_run(char *to, int64_t pitch,
                                                           const char *from, int64_t line_step,
                                                           int64_t step, int lines, int64_t n,
                                                           size_t bytes) {
    if (lines == 1) {
        for (int64_t e = 0; e < n; e++) memcpy(to + e * (int64_t)bytes, from + e * step, bytes);
        return;
    }
    for (int64_t e = 0; e < n; e++)
        for (int l = 0; l < lines; l++)
            memcpy(to + l * pitch + e * (int64_t)bytes, from + e * step + l * line_step, bytes);
}

/* Copies n elements a step apart of each line; all in bytes. */
static void copy_lines(char *to, int64_t pitch, const char *from, int64_t line_step, int64_t step,
                       int lines, int64_t n, int bytes) {
    switch (bytes) {
    case 1: copy_run(to, pitch, from, line_step, step, lines, n, 1); break;
    case 2: copy_run(to, pitch, from, line_step, step, lines, n, 2); break;
    case 4: copy_run(to, pitch, from, line_step, step, lines, n, 4); break;
    default: copy_run(to, pitch, from, line_step, step, lines, n, 8); break;
    }
}

/* The place of element e in operand k, in elements; *left: how many follow it at the last stride,
 * itself among them. */
static int64_t place_of(const bf_lines *x, int k, int64_t e, int64_t *left) {
    int64_t at = 0;
    int last = x->ndim - 1;
    if (x->row != NULL) {
        *left = 1;
        return x->row[e] * x->strides[k][0];
    }
    *left = x->shape[last] - e % x->shape[last];
    for (int d = last; d > 0; e /= x->shape[d--]) at += e % x->shape[d] * x->strides[k][d];
    return at + e * x->strides[k][0];
}

/* Copies elements [first, first + n) of each line in operand k to the tile. */
static void fill_tile(const bf_lines *x, int k, int64_t first, int64_t n, int bytes, char *tile,
                      int64_t pitch) {
    int64_t left, step = x->strides[k][x->ndim - 1] * bytes;
    for (int64_t done = 0; done < n; done += left) {
        int64_t at = place_of(x, k, first + done, &left);
        if (left > n - done) left = n - done;
        copy_lines(tile + done * bytes, pitch, x->data[k] + at * bytes, x->line_stride[k] * bytes,
                   step, x->lines, left, bytes);
    }
}

static void take_copies(const bf_axis_job *job, bf_taker *t, const bf_lines *x, int64_t first,
                        int64_t n) {
    int bytes = bf_dtype_bytes(job->operands->dtype), arity = job->operands->b != NULL ? 2 : 1;
    int64_t most = TILE_BYTES / x->lines / bytes;
    for (int64_t done = 0; done < n; done += most) {
        int64_t count = n - done < most ? n - done : most, pitch = most * bytes + TILE_GAP;
        for (int k = 0; k < arity; k++)
            fill_tile(x, k, first + done, count, bytes, t->tile[k], pitch);
        for (int l = 0; l < x->lines; l++)
            absorb_elements(job, t, l, t->tile[0] + l * pitch,
                            arity == 2 ? t->tile[1] + l * pitch : NULL, first + done, count);
    }
}

/* ---- in place -------------------------------------------------------------------------------- */

/* Are the stretches of the last dimension contiguous, and long enough to be absorbed each? */
static bool has_stretches(const bf_axis_job *job, const bf_lines *x) {
    int last = x->ndim - 1;
    if (x->lines > 1 || x->row != NULL) return false;
    if (x->strides[0][last] != 1 && x->shape[last] > 1) return false;
    if (job->operands->b != NULL && x->strides[1][last] != 1 && x->shape[last] > 1) return false;
    return x->ndim == 1 || x->shape[last] * bf_dtype_bytes(job->operands->dtype) >= RUN_LEAST;
}

void bf_taker_take(const bf_axis_job *job, bf_taker *taker, const bf_lines *x, int64_t first,
                   int64_t n) {
    int64_t left, bytes = bf_dtype_bytes(job->operands->dtype);
    if (!has_stretches(job, x)) {
        take_copies(job, taker, x, first, n);
        return;
    }
    for (int64_t done = 0; done < n; done += left) {
        int64_t a = place_of(x, 0, first + done, &left), b = 0;
        if (job->operands->b != NULL) b = place_of(x, 1, first + done, &left);
        if (left > n - done) left = n - done;
        absorb_elements(job, taker, 0, x->data[0] + a * bytes,
                        job->operands->b != NULL ? x->data[1] + b * bytes : NULL, first + done,
                        left);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

static bf_status finish_words(const bf_axis_job *job, const int64_t *words, uint64_t *bits,
                              bool *fits) {
    const bf_operands *o = job->operands;
    const bf_results *r = job->results;
    bf_work work;
    bf_value v;
    *fits = true;
    if (o->kind != BF_KIND_PRODUCT_TREE)
        return bf_element_of_words(o->kind, o->op, o->dtype, words, r->options, r->to, bits, fits,
                                   &work);
    bf_status status = bf_result_product_tree(words, bf_product_tree_root(words), r->options, &v);
    if (status == BF_OK) memcpy(bits, &v.as, (size_t)bf_dtype_bytes(r->to));
    return status;
}

static void refuse_result(bf_axis_job *job, int64_t number, bf_status status) {
    int64_t mine = number * 16 + (int64_t)status, seen = job->refused;
    while (mine < seen)
        if (atomic_compare_exchange_weak(&job->refused, &seen, mine)) return;
}

void bf_axis_write_bits(bf_axis_job *job, uint64_t bits, bool fits, int64_t number) {
    const bf_results *r = job->results;
    int bytes = bf_dtype_bytes(r->to);
    bool may_wrap = r->fits != NULL || r->queued || r->options->overflow == BF_OVERFLOW_WRAP;
    if (!fits && !may_wrap) {
        refuse_result(job, number, BF_E_OVERFLOW);
        return;
    }
    bf_store_bits((char *)r->values + number * bytes, bytes, bits);
    if (r->fits != NULL) r->fits[number] = fits;
}

void bf_axis_write(bf_axis_job *job, const int64_t *words, int64_t number) {
    const bf_results *r = job->results;
    uint64_t bits = 0;
    bool fits;
    bf_status status = finish_words(job, words, &bits, &fits);
    if (status == BF_E_EMPTY && r->options->empty != NULL) {
        memcpy(&bits, &r->options->empty->as, (size_t)bf_dtype_bytes(r->to));
        status = BF_OK;
    }
    if (status == BF_OK)
        bf_axis_write_bits(job, bits, fits, number);
    else
        refuse_result(job, number, status);
}

bf_status bf_axis_job_close(bf_axis_job *job, bf_status status) {
    if (status != BF_OK || job->refused == INT64_MAX) return status;
    return bf_axis_refuse(job->context, (bf_status)(job->refused % 16), job->operands->op,
                          job->results->to, job->results->first + job->refused / 16);
}
