/* For the tests of many results at once on a GPU: the same call on the CPU's rules and on the GPU,
 * which have to agree in every bit. */
#ifndef BITFOLD_TESTS_AXIS_GPU_MANY_H
#define BITFOLD_TESTS_AXIS_GPU_MANY_H

#include <stdio.h>

#include "tests/support/both.h"

enum { OPS = 12, JOINTS = 10, OUT = 1 << 23 /* bytes of results */ };

static const bf_reduction all_ops[OPS] = {BF_SUM, BF_MEAN, BF_VAR,  BF_STD,    BF_SUMSQ,  BF_NORM,
                                          BF_MIN, BF_MAX,  BF_PROD, BF_ARGMIN, BF_ARGMAX, BF_DOT};
static const bf_reduction joint_ops[JOINTS] = {BF_COV,  BF_CORR,    BF_SLOPE, BF_INTERCEPT,
                                               BF_R2,   BF_WMEAN,   BF_WVAR,  BF_WSTD,
                                               BF_SKEW, BF_KURTOSIS};

static inline int64_t pick(uint64_t *seed, int64_t n) {
    return (int64_t)(next_random(seed) % (uint64_t)n);
}

/* Any reduction; of powers, pairs and weights fewer, for the rules take long for them. */
static inline bf_reduction any_op(uint64_t *seed) {
    return pick(seed, 5) ? all_ops[pick(seed, OPS)] : joint_ops[pick(seed, JOINTS)];
}

static inline bool is_joint(bf_reduction op) {
    for (int i = 0; i < JOINTS; i++)
        if (joint_ops[i] == op) return true;
    return false;
}

static char *results_on_device, *expected_memory, *found_memory;

/* A call: its results on the CPU and on the GPU. */
typedef struct many {
    char what[200];
    bf_reduction op;
    bf_dtype dtype;
    bf_reduce_options options;
    bf_value empty;
    bool has_fits, queued, later; /* later: a queued call, which fails later */
    bool queues_pairs;            /* there is a call that enqueues those of pairs */
    int64_t count;                /* how many results there are */
    bf_array values, fits;        /* shapes of results; where, is set by those below */
    char *expected, *found;       /* on the host: values, and behind them fits */
} many;

static inline data_kind any_kind(uint64_t *seed) {
    static const data_kind often[] = {KIND_NARROW, KIND_NARROW, KIND_NARROW,    KIND_FULL,
                                      KIND_CANCEL, KIND_HUGE,   KIND_SUBNORMAL, KIND_EXTREME};
    return often[pick(seed, 8)];
}

/* Kinds that no window holds. */
static inline data_kind any_exponents(uint64_t *seed) {
    static const data_kind kinds[] = {KIND_FULL, KIND_TIES, KIND_CANCEL};
    return kinds[pick(seed, 3)];
}

/* Fills n elements of each factor on the host, and copies them to the GPU. */
static inline void fill_factors(bf_dtype dtype, int64_t n, uint64_t seed) {
    const size_t bytes = (size_t)n * bf_dtype_size(dtype);
    for (int i = 0; i < 2; i++) {
        char *at = on_host + i * SECOND;
        fill(dtype, at, n, any_kind(&seed), next_random(&seed));
        if (pick(&seed, 3) == 0)
            sprinkle(dtype, at, n, pick(&seed, 2) ? 50 : 5000, next_random(&seed));
        if (pick(&seed, 20) == 0 && is_float(dtype)) /* -0 alone */
            for (int64_t k = 0; k < n; k++)
                store_bits(at + (size_t)k * bf_dtype_size(dtype), bf_dtype_size(dtype),
                           sign_bit(dtype));
        if (n > 0) assert_int_equal(bf_memory_copy(gpu, on_device + i * SECOND, at, bytes), BF_OK);
    }
}

static inline void pick_options(many *m, uint64_t *seed) {
    static const bf_nan_policy policies[] = {BF_NAN_PROPAGATE, BF_NAN_SKIP, BF_NAN_ERROR};
    m->queued = pick(seed, 2) && (bf_reduction_arrays(m->op) == 1 || m->queues_pairs);
    m->later = m->queued && pick(seed, 2);
    m->options = BF_REDUCE_OPTIONS(.nan = policies[pick(seed, m->queued && !m->later ? 2 : 3)],
                                   .ddof = (int)pick(seed, 2));
    m->options.later = m->later;
    if (m->op != BF_VAR && m->op != BF_STD && !is_joint(m->op)) m->options.ddof = 0;
    if (m->op == BF_WVAR || m->op == BF_WSTD)
        m->options.weights = pick(seed, 2) ? BF_WEIGHTS_RELIABILITY : BF_WEIGHTS_FREQUENCY;
    bool ordered = m->op == BF_MIN || m->op == BF_MAX || m->op == BF_ARGMIN || m->op == BF_ARGMAX;
    if (!ordered && pick(seed, 3) == 0) m->options.out_dtype = pick(seed, 2) ? BF_F32 : BF_F64;
    if (m->op == BF_PROD && !is_float(m->dtype) && pick(seed, 2))
        m->options.overflow = BF_OVERFLOW_WRAP;
    m->empty = (bf_value){.dtype = bf_reduce_dtype(m->op, m->dtype, &m->options)};
    assert_true(m->empty.dtype != BF_NONE);
    store_bits(&m->empty.as, bf_dtype_size(m->empty.dtype), 77);
    if (ordered && pick(seed, 2)) m->options.empty = &m->empty;
    m->has_fits = pick(seed, 2);
}

/* `offset` bytes of misalignment for the results. */
static inline void place_results(many *m, char *memory, int offset) {
    const size_t bytes = bf_dtype_size(m->values.dtype);
    m->values.data = memory + 64 + offset;
    m->fits.data = memory + 64 + offset + (size_t)m->count * bytes;
}

/* Copies the results from the GPU, and what `fits` says of them if it was asked for. */
static inline void fetch_results(many *m, int offset) {
    const size_t bytes = bf_dtype_size(m->values.dtype) + (m->has_fits ? 1 : 0);
    char *to = found_memory + 64 + offset;
    if (m->count > 0)
        assert_int_equal(bf_memory_copy(gpu, to, m->values.data, (size_t)m->count * bytes), BF_OK);
}

/* Returns what a call on the GPU ends with, once all is done. */
static inline bf_status finish_call(bf_status status) {
    return status == BF_OK ? bf_context_synchronize(gpu) : status;
}

static inline void compare(const many *m, const char *how, bf_status found, bf_status expected) {
    const size_t bytes = bf_dtype_size(m->values.dtype);
    if (found != expected)
        fail_msg("%s of %s: %s (%s), not %s", how, m->what, bf_status_string(found),
                 bf_context_message(gpu), bf_status_string(expected));
    if (m->later && expected != BF_OK)
        assert_string_equal(bf_context_message(gpu), bf_context_message(cpu));
    if (expected != BF_OK) return;
    for (int64_t i = 0; i < m->count; i++)
        if (memcmp(m->found + (size_t)i * bytes, m->expected + (size_t)i * bytes, bytes))
            fail_msg("%s of %s: result %lld of %lld is %llx, not %llx", how, m->what, (long long)i,
                     (long long)m->count,
                     (unsigned long long)load_bits(m->found + (size_t)i * bytes, bytes),
                     (unsigned long long)load_bits(m->expected + (size_t)i * bytes, bytes));
    const size_t all = (size_t)m->count * bytes;
    if (m->has_fits && memcmp(m->found + all, m->expected + all, (size_t)m->count))
        fail_msg("%s of %s: fits differ", how, m->what);
}

static inline int set_up_results(void **state) {
    void *memory;
    if (set_up(state) || bf_memory_allocate(gpu, OUT, &memory)) return -1;
    results_on_device = memory;
    expected_memory = calloc(1, OUT);
    found_memory = calloc(1, OUT);
    return expected_memory && found_memory ? 0 : -1;
}

static inline int tear_down_results(void **state) {
    bf_memory_free(gpu, results_on_device);
    free(expected_memory);
    free(found_memory);
    return tear_down(state);
}

#endif
