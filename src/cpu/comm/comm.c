/* Adds arrays element by element: workers take pieces, and these go block by block. */
#include "cpu/comm/comm.h"

#include "cpu/runtime/cast.h"
#include "rules/reduce/finish.h"
#include "rules/reduce/terms.h"

enum {
    PIECE = 1 << 14, /* elements a worker takes at a time */
    WORTH = 1 << 16  /* elements times terms that are worth a worker */
};

typedef struct adding {
    const bf_isa *isa;
    const bf_comm_job *job;
    int bytes; /* the size of an element */
} adding;

static const void *term_at(const adding *a, int t, int64_t at) {
    return (const char *)a->job->in[t] + at * a->bytes;
}

static void *out_at(const adding *a, int64_t at) { return (char *)a->job->out + at * a->bytes; }

/* ---- by the rules ---------------------------------------------------------------------------- */

/* Returns what bf_terms_sum does. Of floats by the words of a sum, which is faster where there is
 * memory for them. */
static uint64_t sum_at(const adding *a, int64_t at, bool *misfit) {
    const bf_dtype dtype = a->job->dtype;
    const bf_terms terms = {dtype, a->job->terms, a->job->in, at};
    const bf_sum_shape shape = bf_sum_shape_of(BF_KIND_SUM, dtype);
    int64_t words[BF_SUM_WORDS_MAX];
    bf_work work;
    if (!bf_dtype_is_float(dtype)) return bf_terms_sum(&terms, misfit);
    bf_state_init(BF_KIND_SUM, dtype, words);
    for (int t = 0; t < terms.n; t++) bf_sum_take(dtype, &shape, words, bf_terms_bits(&terms, t));
    bf_sum_carry(BF_KIND_SUM, dtype, words);
    return bf_finish_sum(dtype, words, false, bf_format_of(dtype), &work);
}

static bool add_by_rules(const adding *a, int64_t first, int n) {
    bool misfit = false;
    for (int64_t i = first; i < first + n; i++)
        bf_store_bits(out_at(a, i), a->bytes, sum_at(a, i, &misfit));
    return misfit;
}

/* ---- by loops -------------------------------------------------------------------------------- */

/* Writes the rounded sums of a block. Those that were lost are found by the rules, before the
 * output, which may be a term, is written. */
static void write_floats(const adding *a, bf_comm_block *b, bool lost, int64_t first, int n) {
    bf_dtype dtype = a->job->dtype;
    char sums[BF_COMM_BLOCK * 8];
    bool misfit = false;
    (void)bf_cast_block(a->isa, BF_F64, dtype, b->s, sums, n);
    for (int i = 0; i < n && lost; i++)
        if (b->lost[i] != 0)
            bf_store_bits(sums + i * a->bytes, a->bytes, sum_at(a, first + i, &misfit));
    memcpy(out_at(a, first), sums, (size_t)(n * a->bytes));
}

static void add_float_pairs(const adding *a, int64_t first, int n) {
    bf_comm_block b;
    double x[BF_COMM_BLOCK];
    (void)bf_cast_block(a->isa, a->job->dtype, BF_F64, term_at(a, 0, first), b.s, n);
    (void)bf_cast_block(a->isa, a->job->dtype, BF_F64, term_at(a, 1, first), x, n);
    a->isa->comm->add_pair(&b, x, n);
    write_floats(a, &b, false, first, n);
}

static void add_floats(const adding *a, int64_t first, int n) {
    bf_comm_block b;
    double x[BF_COMM_BLOCK];
    const bf_comm_loops *loops = a->isa->comm;
    const bf_dtype dtype = a->job->dtype;
    memset(b.e, 0, sizeof b.e);
    memset(b.g, 0, sizeof b.g);
    memset(b.lost, 0, sizeof b.lost);
    (void)bf_cast_block(a->isa, dtype, BF_F64, term_at(a, 0, first), b.s, n);
    for (int t = 1; t < a->job->terms; t++) {
        (void)bf_cast_block(a->isa, dtype, BF_F64, term_at(a, t, first), x, n);
        (dtype == BF_F64 ? loops->add_f64 : loops->add)(&b, x, n);
    }
    bool lost = (dtype == BF_F64 ? loops->finish_f64 : loops->finish)(&b, n);
    write_floats(a, &b, lost, first, n);
}

/* Integers of at most 32 bits: 2^31 of them fit an i64. */
static bool add_integers(const adding *a, int64_t first, int n) {
    int64_t sums[BF_COMM_BLOCK], x[BF_COMM_BLOCK];
    const bf_dtype dtype = a->job->dtype;
    (void)bf_cast_block(a->isa, dtype, BF_I64, term_at(a, 0, first), sums, n);
    for (int t = 1; t < a->job->terms; t++) {
        (void)bf_cast_block(a->isa, dtype, BF_I64, term_at(a, t, first), x, n);
        for (int i = 0; i < n; i++) sums[i] += x[i];
    }
    return bf_cast_block(a->isa, BF_I64, dtype, sums, out_at(a, first), n);
}

/* Integers of 64 bits. */
static bool add_long_integers(const adding *a, int64_t first, int n) {
    bf_i128 sums[BF_COMM_BLOCK] = {0};
    const bf_dtype dtype = a->job->dtype;
    bool misfit = false;
    for (int t = 0; t < a->job->terms; t++)
        for (int i = 0; i < n; i++)
            sums[i] += bf_integer_decode(dtype, bf_load_bits(term_at(a, t, first + i), 8));
    for (int i = 0; i < n; i++) {
        uint64_t bits = bf_integer_encode(dtype, bf_integer_make(sums[i]), false, &misfit);
        bf_store_bits(out_at(a, first + i), 8, bits);
    }
    return misfit;
}

static bool add_block(const adding *a, int64_t first, int n) {
    if (a->isa->comm == NULL) return add_by_rules(a, first, n);
    if (!bf_dtype_is_float(a->job->dtype))
        return a->bytes == 8 ? add_long_integers(a, first, n) : add_integers(a, first, n);
    (a->job->terms == 2 ? add_float_pairs : add_floats)(a, first, n);
    return false;
}

static bf_status add_piece(void *arg, int worker, int64_t first, int64_t n) {
    bool misfit = false;
    (void)worker;
    for (int64_t at = 0; at < n; at += BF_COMM_BLOCK) {
        int some = n - at < BF_COMM_BLOCK ? (int)(n - at) : BF_COMM_BLOCK;
        misfit |= add_block(arg, first + at, some);
    }
    return misfit ? BF_E_OVERFLOW : BF_OK;
}

bf_status bf_cpu_comm_add(bf_context *context, const bf_comm_job *job) {
    adding a = {context->cpu->isa, job, bf_dtype_bytes(job->dtype)};
    int workers = bf_workers(context, job->n, WORTH / (job->terms < WORTH ? job->terms : WORTH));
    bf_environment environment = bf_environment_enter();
    bf_status status = bf_parallel(context, workers, job->n, PIECE, add_piece, &a);
    bf_environment_leave(environment);
    if (status != BF_E_OVERFLOW) return status;
    return bf_fail(context, status, "a sum of %d terms does not fit %s", job->terms,
                   bf_dtype_name(job->dtype));
}
