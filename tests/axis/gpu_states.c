/* Many states on a GPU: after the same chunks they save to the bytes of those on the CPU, and have
 * their results. */
#include "tests/support/both.h"

enum { AT_PLACES = 3 << 20, AT_SECOND = 6 << 20, USED = 9 << 20, CHUNKS = 5, ROWS_MOST = 300000 };

typedef struct problem {
    bf_reduction op;
    bool pairs;
    bf_dtype dtype;
    int64_t slots, width;
    bf_states *states[2]; /* on the CPU, on the GPU */
    uint64_t seed;
} problem;

static uint64_t pick(problem *p, uint64_t n) { return (next_random(&p->seed) >> 16) % n; }

static bf_context *context_of(int device) { return device ? gpu : cpu; }
static char *memory_of(int device) { return device ? on_device : on_host; }

static void make_states(problem *p) {
    for (int d = 0; d < 2; d++)
        assert_int_equal(
            bf_states_create(context_of(d), p->op, p->dtype, p->slots * p->width, &p->states[d]),
            BF_OK);
}

static void destroy_states(bf_states *states[2]) {
    for (int d = 0; d < 2; d++) bf_states_destroy(states[d]);
}

static void fill_values(problem *p, int64_t n) {
    for (int at = 0; at <= (p->pairs ? AT_SECOND : 0); at += AT_SECOND) {
        fill(p->dtype, on_host + at, n, (data_kind)pick(p, KIND_COUNT), p->seed);
        if (pick(p, 3) == 0) sprinkle(p->dtype, on_host + at, n, 50, p->seed);
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static int64_t slot_of(problem *p, int how) {
    if (how == 0 && pick(p, 2)) return p->slots / 2;
    return (int64_t)pick(p, (uint64_t)(how == 1 ? 1 + p->slots / 50 : p->slots));
}

static void fill_index(problem *p, bf_dtype dtype, int64_t rows) {
    const int how = (int)pick(p, 3);
    const size_t bytes = bf_dtype_size(dtype);
    for (int64_t i = 0; i < rows; i++)
        store_bits(on_host + AT_PLACES + (size_t)i * bytes, bytes, (uint64_t)slot_of(p, how));
}

static void fill_offsets(problem *p, bf_dtype dtype, int64_t rows) {
    const size_t bytes = bf_dtype_size(dtype);
    int64_t at = rows > 0 ? (int64_t)pick(p, 3) % rows : 0;
    for (int64_t s = 0; s <= p->slots; s++) {
        store_bits(on_host + AT_PLACES + (size_t)s * bytes, bytes, (uint64_t)at);
        int64_t length = (int64_t)pick(p, pick(p, 20) ? 5 : 3000);
        at = length > rows - at ? rows : at + length;
    }
}

static bf_array rows_in(const problem *p, int device, int64_t rows) {
    bf_array a = bf_array_of(p->dtype, memory_of(device), rows);
    a.ndim = 2;
    a.shape[1] = p->width;
    a.strides[0] = p->width;
    a.strides[1] = 1;
    return a;
}

static bf_status absorb_rows(const problem *p, int device, int64_t rows, bf_dtype dtype,
                             bool index) {
    const bf_array a = rows_in(p, device, rows);
    const bf_array places =
        bf_array_of(dtype, memory_of(device) + AT_PLACES, index ? rows : p->slots + 1);
    bf_array b = a;
    b.data = memory_of(device) + AT_SECOND;
    if (p->pairs)
        return index ? bf_states_absorb_pair_index(p->states[device], &a, &b, &places)
                     : bf_states_absorb_pair_segments(p->states[device], &a, &b, &places);
    return index ? bf_states_absorb_index(p->states[device], &a, &places)
                 : bf_states_absorb_segments(p->states[device], &a, &places);
}

static void absorb_placed(problem *p, int64_t rows, bool index) {
    static const bf_dtype dtypes[] = {BF_I32, BF_I64, BF_U32, BF_U64};
    const bf_dtype dtype = dtypes[pick(p, index ? 4 : 2)];
    if (index)
        fill_index(p, dtype, rows);
    else
        fill_offsets(p, dtype, rows);
    assert_int_equal(bf_memory_copy(gpu, on_device, on_host, USED), BF_OK);
    for (int d = 0; d < 2; d++) assert_int_equal(absorb_rows(p, d, rows, dtype, index), BF_OK);
}

/* Fibres along the middle of three dimensions. */
static void absorb_fibres(problem *p, int64_t length) {
    const int axis = 1;
    assert_int_equal(bf_memory_copy(gpu, on_device, on_host, USED), BF_OK);
    for (int d = 0; d < 2; d++) {
        bf_array a = bf_array_of(p->dtype, memory_of(d), p->slots);
        a.ndim = 3;
        a.shape[1] = length;
        a.shape[2] = p->width;
        a.strides[0] = length * p->width;
        a.strides[1] = p->width;
        a.strides[2] = 1;
        bf_array b = a;
        b.data = memory_of(d) + AT_SECOND;
        assert_int_equal(p->pairs ? bf_states_absorb_pair_axes(p->states[d], &a, &b, &axis, 1)
                                  : bf_states_absorb_axes(p->states[d], &a, &axis, 1),
                         BF_OK);
    }
}

static void absorb_chunk(problem *p) {
    const int64_t most = is_small() ? 3000 : pick(p, 3) ? 20000 : ROWS_MOST;
    const int64_t rows = (int64_t)pick(p, (uint64_t)most) / p->width, way = (int64_t)pick(p, 3);
    fill_values(p, rows * p->width);
    if (way == 2)
        absorb_fibres(p, rows / p->slots);
    else
        absorb_placed(p, rows, way == 0);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void fail_for(const problem *p, const char *what) {
    fail_msg("%s of %s, %lld x %lld states: %s differ", bf_reduction_name(p->op),
             bf_dtype_name(p->dtype), (long long)p->slots, (long long)p->width, what);
}

static void *save(bf_states *s, size_t *size) {
    assert_int_equal(bf_states_save_size(s, size), BF_OK);
    void *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(bf_states_save(s, bytes), BF_OK);
    return bytes;
}

/* Both save to the same bytes; then the GPU goes on with what the CPU saved, now and then. */
static void compare_saved(problem *p) {
    size_t size[2];
    void *saved[2];
    for (int d = 0; d < 2; d++) saved[d] = save(p->states[d], &size[d]);
    if (size[0] != size[1] || memcmp(saved[0], saved[1], size[0])) fail_for(p, "saved forms");
    if (pick(p, 3) == 0) {
        bf_states_destroy(p->states[1]);
        assert_int_equal(bf_states_load(gpu, saved[0], size[0], &p->states[1]), BF_OK);
    }
    free(saved[0]);
    free(saved[1]);
}

/* One of the reductions that keep the same sums as p->op. */
static bf_reduction kin_of(problem *p) {
    enum { ROWS = 6, COLUMNS = 5 };
    static const bf_reduction kin[ROWS][COLUMNS + 1] = {
        {BF_SUM, BF_MEAN},   {BF_COV, BF_CORR, BF_SLOPE, BF_INTERCEPT, BF_R2},
        {BF_VAR, BF_STD},    {BF_WMEAN, BF_WVAR, BF_WSTD},
        {BF_SUMSQ, BF_NORM}, {BF_SKEW, BF_KURTOSIS}};
    static const uint64_t count[ROWS] = {2, 5, 2, 3, 2, 2};
    for (int i = 0; i < ROWS; i++)
        for (uint64_t k = 0; k < count[i]; k++)
            if (kin[i][k] == p->op) return kin[i][pick(p, count[i])];
    return p->op;
}

static void compare_results(problem *p, bf_nan_policy nan, bf_dtype out) {
    const int64_t n = p->slots * p->width;
    const bf_reduction op = kin_of(p);
    bf_value empty = {.dtype = bf_reduce_dtype(op, p->dtype, NULL), .as.u64 = 9};
    bf_reduce_options o = BF_REDUCE_OPTIONS(.nan = nan, .ddof = 1, .out_dtype = out);
    if ((op == BF_MIN || op == BF_MAX) && pick(p, 3)) o.empty = &empty;
    const bf_dtype to = bf_reduce_dtype(op, p->dtype, &o);
    const size_t bytes = (size_t)n * bf_dtype_size(to);
    bf_status status[2];
    memset(on_host, 0x5a, USED);
    assert_int_equal(bf_memory_copy(gpu, on_device, on_host, USED), BF_OK);
    for (int d = 0; d < 2; d++) {
        const bf_array values = bf_array_of(to, memory_of(d), n);
        const bf_array fits = bf_array_of(BF_BOOL, memory_of(d) + AT_PLACES, n);
        status[d] = op == p->op ? bf_states_result(p->states[d], &o, &values, &fits)
                                : bf_states_result_of(p->states[d], op, &o, &values, &fits);
    }
    assert_int_equal(status[0], status[1]);
    if (status[0] != BF_OK) return;
    char *found = malloc(USED);
    assert_int_equal(bf_memory_copy(gpu, found, on_device, USED), BF_OK);
    if (memcmp(found, on_host, bytes) || memcmp(found + AT_PLACES, on_host + AT_PLACES, (size_t)n))
        fail_for(p, "results");
    free(found);
}

static void compare_counts(problem *p) {
    const int64_t n = p->slots * p->width;
    int64_t *counts[2];
    for (int d = 0; d < 2; d++) {
        counts[d] = malloc((size_t)n * 8);
        const bf_array to = bf_array_of(BF_I64, counts[d], n);
        assert_int_equal(bf_states_counts(p->states[d], &to), BF_OK);
    }
    if (memcmp(counts[0], counts[1], (size_t)n * 8)) fail_for(p, "counts");
    free(counts[0]);
    free(counts[1]);
}

static void compare(problem *p) {
    compare_saved(p);
    compare_counts(p);
    compare_results(p, (bf_nan_policy)pick(p, 3), BF_NONE);
    if (is_float(p->dtype) && p->op != BF_MIN && p->op != BF_MAX)
        compare_results(p, BF_NAN_PROPAGATE, BF_F32);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const bf_reduction ops[] = {BF_SUM,  BF_MEAN, BF_VAR, BF_STD,
                                   BF_NORM, BF_MIN,  BF_MAX, BF_SUMSQ};
enum { OPS = sizeof ops / sizeof *ops };

/* Two sets of states absorb chunks; then one is merged into the other. */
static void absorb_and_merge(problem *p) {
    bf_states *other[2];
    make_states(p);
    memcpy(other, p->states, sizeof other);
    make_states(p);
    const uint64_t chunks = pick(p, CHUNKS);
    for (uint64_t c = 0; c < chunks; c++) {
        absorb_chunk(p);
        if (pick(p, 2)) compare_saved(p);
    }
    bf_states *mine[2];
    memcpy(mine, p->states, sizeof mine);
    memcpy(p->states, other, sizeof other);
    absorb_chunk(p);
    memcpy(other, p->states, sizeof other);
    memcpy(p->states, mine, sizeof mine);
    for (int d = 0; d < 2; d++) assert_int_equal(bf_states_merge(p->states[d], other[d]), BF_OK);
    compare(p);
    /* The states of the CPU, merged into those of the GPU, and the opposite. */
    for (int d = 0; d < 2; d++)
        assert_int_equal(bf_states_merge(p->states[d], other[1 - d]), BF_OK);
    compare(p);
    for (int d = 0; d < 2; d++) assert_int_equal(bf_states_clear(p->states[d]), BF_OK);
    absorb_chunk(p);
    compare(p);
    destroy_states(other);
    destroy_states(p->states);
}

static void states_save_to_the_bytes_of_the_cpu(void **unused) {
    static const int64_t slots[] = {1, 7, 300, 3000};
    (void)unused;
    const int rounds = is_small() ? 1 : 3;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int i = 0; i < OPS; i++) {
            for (int r = 0; r < rounds; r++) {
                problem p = {.op = ops[i], .dtype = all_dtypes[d]};
                p.seed = (uint64_t)(d + 100 * i + 10000 * r + 1);
                p.slots = slots[pick(&p, is_small() ? 3 : 4)];
                p.width = pick(&p, 2) ? 1 : 1 + (int64_t)pick(&p, 9);
                absorb_and_merge(&p);
            }
        }
    }
}

/* Pairs, weights and powers, on the GPU indeed. */
static void joint_states_save_to_the_bytes_of_the_cpu(void **unused) {
    static const bf_reduction joint[] = {BF_CORR, BF_WSTD, BF_KURTOSIS, BF_INTERCEPT, BF_SKEW};
    static const int64_t slots[] = {1, 7, 300};
    (void)unused;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int i = d % 2; i < 5; i += 2) {
            problem p = {.op = joint[i], .pairs = i % 2 || i == 0, .dtype = all_dtypes[d]};
            p.seed = (uint64_t)(d + 100 * i + 1);
            p.slots = slots[pick(&p, 3)];
            p.width = pick(&p, 2) ? 1 : 1 + (int64_t)pick(&p, 5);
            absorb_and_merge(&p);
            assert_string_equal(bf_context_device(gpu), "cuda:0");
        }
}

static void a_wrong_place_changes_nothing(void **unused) {
    (void)unused;
    const int64_t rows = 5000;
    for (int turn = 0; turn < 4; turn++) {
        const bool index = turn % 2 != 0, pairs = turn > 1;
        problem p = {.op = pairs ? BF_COV : BF_VAR,
                     .pairs = pairs,
                     .dtype = BF_F64,
                     .slots = 100,
                     .width = 2,
                     .seed = 5};
        make_states(&p);
        fill_values(&p, rows * p.width);
        absorb_placed(&p, rows, index);
        /* A row for a slot that is not there. */
        const int64_t wrong = index ? p.slots : rows + 1;
        if (index)
            fill_index(&p, BF_I64, rows);
        else
            fill_offsets(&p, BF_I64, rows);
        store_bits(on_host + AT_PLACES + 8 * 77, 8, (uint64_t)wrong);
        assert_int_equal(bf_memory_copy(gpu, on_device, on_host, USED), BF_OK);
        for (int d = 0; d < 2; d++)
            assert_int_equal(absorb_rows(&p, d, rows, BF_I64, index), BF_E_ARGUMENT);
        assert_string_equal(bf_context_message(gpu), bf_context_message(cpu));
        compare(&p);
        destroy_states(p.states);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_place_changes_nothing),
        cmocka_unit_test(states_save_to_the_bytes_of_the_cpu),
        cmocka_unit_test(joint_states_save_to_the_bytes_of_the_cpu),
    };
    return RUN_ON_GPU(tests);
}
