/* Scans on a GPU, of lines and of segments, and after states: the bits of the CPU's rules, whatever
 * the dtype, the shape, the axis, the data and the place of the arrays. */
#include "tests/support/both.h"

enum {
    LONGEST = 1 << 18,
    MOST_ELEMENTS = 6000000,
    OUT = 8 * MOST_ELEMENTS,
    MOST_CUTS = 2 * LONGEST,
    FORMS = 5
};

static const bf_reduction ops[] = {BF_SUM, BF_PROD, BF_MIN, BF_MAX};

static char *expected, *found;
static int64_t cuts[MOST_CUTS];
static int32_t narrow_cuts[MOST_CUTS];
static void *cuts_on_device;

static int64_t pick(uint64_t *seed, int64_t n) {
    return (int64_t)(next_random(seed) % (uint64_t)n);
}

/* Lines of all kinds that the kernels tell apart: (outer, length, inner). */
static void pick_shape(uint64_t *seed, bf_array *a) {
    const int64_t most = is_small() ? 3000 : LONGEST;
    static const int64_t lengths[] = {1,   2,   31,   32,   33,   100,  511,
                                      512, 513, 4096, 4097, 8192, 8193, 100000};
    int64_t length = pick(seed, 3) ? lengths[pick(seed, 14)] : 1 + pick(seed, most);
    if (length > most) length = most;
    const int64_t left = most / length;
    const int64_t inner =
        pick(seed, 2) ? 1 : 1 + pick(seed, left < 40 || pick(seed, 2) ? left : 40);
    const int64_t outer = 1 + pick(seed, left / inner);
    a->ndim = 3;
    a->shape[0] = outer, a->shape[1] = length, a->shape[2] = inner;
    a->strides[0] = length * inner, a->strides[1] = inner, a->strides[2] = 1;
}

static data_kind any_kind(uint64_t *seed) {
    static const data_kind kinds[] = {KIND_NARROW, KIND_NARROW, KIND_FULL,      KIND_CANCEL,
                                      KIND_HUGE,   KIND_TIES,   KIND_SUBNORMAL, KIND_EXTREME};
    return kinds[pick(seed, 8)];
}

/* Integers that seldom overflow when they are added, or multiplied. */
static void tame(const bf_array *a, int64_t n, bf_reduction op, uint64_t *seed) {
    const size_t bytes = bf_dtype_size(a->dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = load_bits((char *)a->data + (size_t)i * bytes, bytes);
        x = op == BF_PROD ? (x % 500 == 0 ? 0 : x % 37 == 0 ? 3 : 1) : x & 0xffff;
        store_bits((char *)a->data + (size_t)i * bytes, bytes, pick(seed, 9) ? x : 1);
    }
}

/* What is scanned, and after what. */
typedef enum scan_form { LINES, SEGMENTS, STATE, STATES, STATES_SEGMENTS } scan_form;

typedef struct scanned {
    char what[300];
    scan_form form;
    bf_array offsets; /* where segments begin, in host memory */
    bf_reduction op;
    bf_scan_options options;
    bf_value empty;
    bf_array array;
    bf_dtype to;
    bool queued;
} scanned;

static void pick_options(scanned *s, uint64_t *seed) {
    const bool is_sum_of_floats = is_float(s->array.dtype) && s->op == BF_SUM;
    static const bf_dtype floats[] = {BF_NONE, BF_NONE, BF_F16, BF_BF16, BF_F32, BF_F64};
    s->options = BF_SCAN_OPTIONS(.nan = (bf_nan_policy)pick(seed, 3), .fresh = (int)(*seed & 1));
    s->options.exclusive = (int)pick(seed, 2);
    s->options.reverse = s->form < STATE && pick(seed, 2);
    s->options.overflow = pick(seed, 2) ? BF_OVERFLOW_WRAP : BF_OVERFLOW_ERROR;
    if (is_sum_of_floats) s->options.out_dtype = floats[pick(seed, 6)];
    s->to = bf_scan_dtype(s->op, s->array.dtype, &s->options);
    s->empty = (bf_value){.dtype = s->to, .as.u64 = 7};
    if (pick(seed, 2)) s->options.empty = &s->empty;
    if (s->op == BF_SUM || s->op == BF_PROD) s->options.empty = NULL;
}

/* Makes one line of all, of rows as they are, and cuts it into segments, a fifth of them empty. */
static void cut_rows(scanned *s, uint64_t *seed) {
    static const int64_t longest[] = {1, 4, 40, 600, 9000, LONGEST};
    bf_array *a = &s->array;
    const int64_t rows = a->shape[0] * a->shape[1], most = longest[pick(seed, 6)];
    int64_t n = 0;
    *a = (bf_array){a->data, a->dtype, 2, {rows, a->shape[2]}, {a->shape[2], 1}};
    for (int64_t at = 0; at < rows; cuts[++n] = at) {
        const int64_t length = pick(seed, 5) ? 1 + pick(seed, most) : 0;
        at = rows - at < length || n == MOST_CUTS - 3 ? rows : at + length;
    }
    for (int64_t i = 0; i <= n; i++) narrow_cuts[i] = (int32_t)cuts[i];
    s->offsets =
        pick(seed, 2) ? bf_array_of(BF_I64, cuts, n + 1) : bf_array_of(BF_I32, narrow_cuts, n + 1);
}

static void make_line(bf_array *a) {
    const int64_t n = a->shape[0] * a->shape[1] * a->shape[2];
    *a = (bf_array){a->data, a->dtype, 1, {n}, {1}};
}

static int64_t elements_of(const bf_array *a) {
    int64_t n = 1;
    for (int d = 0; d < a->ndim; d++) n *= a->shape[d];
    return n;
}

/* ---- states ---------------------------------------------------------------------------------- */

typedef struct after {
    bf_state *one;
    bf_states *many;
} after;

static int64_t states_of(const scanned *s) {
    const bf_array *a = &s->array;
    if (s->form == STATES) return a->shape[0] * a->shape[2];
    return (s->offsets.shape[0] - 1) * a->shape[1];
}

static after make_states(bf_context *context, const scanned *s) {
    after made = {0};
    if (s->form == STATE)
        assert_int_equal(bf_state_create(context, s->op, s->array.dtype, &made.one), BF_OK);
    if (s->form > STATE)
        assert_int_equal(bf_states_create(context, s->op, s->array.dtype, states_of(s), &made.many),
                         BF_OK);
    return made;
}

static void free_states(after *a) {
    bf_state_destroy(a->one);
    bf_states_destroy(a->many);
}

static char *save(const after *a, size_t *size) {
    if (a->one != NULL)
        *size = bf_state_save_size(a->one);
    else
        assert_int_equal(bf_states_save_size(a->many, size), BF_OK);
    char *saved = malloc(*size);
    assert_non_null(saved);
    assert_int_equal(a->one != NULL ? bf_state_save(a->one, saved) : bf_states_save(a->many, saved),
                     BF_OK);
    return saved;
}

static void check_saved(const scanned *s, const after *there, const after *here) {
    size_t size, other;
    if (s->form < STATE) return;
    char *a = save(there, &size), *b = save(here, &other);
    if (size != other || memcmp(a, b, size)) fail_msg("%s: the states differ", s->what);
    free(a);
    free(b);
}

/* ---- a case ---------------------------------------------------------------------------------- */

/* Enqueues the scan, and waits. What goes on tells that no offset is wrong. */
static bf_status enqueue(bf_context *context, const scanned *s, const bf_array *in,
                         const bf_array *offsets, const bf_array *out) {
    const bf_scan_options *o = &s->options;
    int64_t place = -1, *const told = context == gpu ? (int64_t *)values_on_device : &place;
    bf_status status = s->form == LINES ? bf_scan_async(context, s->op, in, 1, o, out)
                                        : bf_scan_segments_async(context, s->op, in, offsets, o,
                                                                 out, o->later ? NULL : told);
    if (status == BF_OK) status = bf_context_synchronize(context);
    if (status != BF_OK || s->form == LINES || o->later) return status;
    assert_int_equal(bf_memory_copy(context, &place, told, sizeof place), BF_OK);
    if (place != -1) fail_msg("%s: offset %lld is wrong", s->what, (long long)place);
    return status;
}

/* Scans, or enqueues the scan. */
static bf_status scan(bf_context *context, const scanned *s, const after *states,
                      const bf_array *in, const bf_array *offsets, const bf_array *out) {
    const bf_scan_options *o = &s->options;
    if (s->queued) return enqueue(context, s, in, offsets, out);
    switch (s->form) {
    case SEGMENTS: return bf_scan_segments(context, s->op, in, offsets, o, out);
    case STATE: return bf_state_scan(states->one, in, o, out);
    case STATES: return bf_states_scan(states->many, in, 1, o, out);
    case STATES_SEGMENTS: return bf_states_scan_segments(states->many, in, offsets, o, out);
    default: return bf_scan(context, s->op, in, 1, o, out);
    }
}

/* What results lie over before they are written: the elements, if in place. */
static const void *before_results(const scanned *s, int place, size_t bytes) {
    if (place > 1 && s->to == s->array.dtype) return s->array.data;
    return memset(expected, 0x5a, bytes);
}

/* Scans on the GPU from and to device memory, or the host's, or in place. What fails writes
 * nothing, unless that is no matter. */
static bf_status scan_there(const scanned *s, const after *states, int64_t n, int place) {
    const size_t bytes = (size_t)n * bf_dtype_size(s->array.dtype);
    const size_t to_bytes = (size_t)n * bf_dtype_size(s->to);
    bf_array in = s->array, out = s->array, offsets = s->offsets;
    out.dtype = s->to;
    out.data = found;
    if (place > 0) {
        assert_int_equal(bf_memory_copy(gpu, on_device, s->array.data, bytes), BF_OK);
        in.data = on_device;
        out.data = place > 1 && s->to == s->array.dtype ? on_device : on_device + SECOND;
    }
    memset(found, 0x5a, to_bytes);
    if (place > 0 && out.data != in.data)
        assert_int_equal(bf_memory_copy(gpu, out.data, found, to_bytes), BF_OK);
    if (place > 0 && s->offsets.data != NULL) {
        offsets.data = cuts_on_device;
        assert_int_equal(bf_memory_copy(gpu, cuts_on_device, s->offsets.data,
                                        (size_t)offsets.shape[0] * bf_dtype_size(offsets.dtype)),
                         BF_OK);
    }
    bf_status status = scan(gpu, s, states, &in, &offsets, &out);
    if (place > 0) assert_int_equal(bf_memory_copy(gpu, found, out.data, to_bytes), BF_OK);
    if (status != BF_OK && !s->queued && !s->options.fresh &&
        memcmp(found, before_results(s, place, to_bytes), to_bytes))
        fail_msg("%s: failed, and wrote results", s->what);
    return status;
}

/* Scans on both. States go on from what they have absorbed. */
static void check_scan(const scanned *s, const after *there, const after *here, int place) {
    const int64_t n = elements_of(&s->array);
    const size_t bytes = bf_dtype_size(s->to);
    bf_array out = s->array;
    out.dtype = s->to;
    out.data = expected;
    const bf_status status = scan(cpu, s, here, &s->array, &s->offsets, &out);
    const bf_status other = scan_there(s, there, n, place);
    if (other != status)
        fail_msg("%s: %s (%s), not %s", s->what, bf_status_string(other), bf_context_message(gpu),
                 bf_status_string(status));
    if (status != BF_OK) assert_string_equal(bf_context_message(gpu), bf_context_message(cpu));
    for (int64_t i = 0; status == BF_OK && i < n; i++)
        if (memcmp(found + (size_t)i * bytes, expected + (size_t)i * bytes, bytes))
            fail_msg("%s: result %lld is %llx, not %llx", s->what, (long long)i,
                     (unsigned long long)load_bits(found + (size_t)i * bytes, bytes),
                     (unsigned long long)load_bits(expected + (size_t)i * bytes, bytes));
    check_saved(s, there, here);
}

/* Zeros of both signs: tiles that have any are scanned in other ways. */
static void put_zeros(const bf_array *a, int64_t n, uint64_t *seed) {
    const size_t bytes = bf_dtype_size(a->dtype);
    for (int64_t i = pick(seed, 50); i < n; i += 1 + pick(seed, 100))
        store_bits((char *)a->data + (size_t)i * bytes, bytes,
                   (uint64_t)pick(seed, 2) << (8 * bytes - 1));
}

static void fill_case(const scanned *s, uint64_t *seed) {
    const bf_dtype dtype = s->array.dtype;
    const int64_t n = elements_of(&s->array);
    fill(dtype, on_host, n, any_kind(seed), next_random(seed));
    if (!is_float(dtype) && pick(seed, 3)) tame(&s->array, n, s->op, seed);
    if (is_float(dtype) && pick(seed, 4) == 0)
        sprinkle(dtype, on_host, n, pick(seed, 2) ? 50 : 5000, next_random(seed));
    if (is_float(dtype) && pick(seed, 3) == 0) put_zeros(&s->array, n, seed);
}

static void check_case(uint64_t seed) {
    static const char *const forms[FORMS] = {"lines", "segments", "after a state", "after states",
                                             "segments after states"};
    scanned s = {.array = {.data = on_host}};
    const uint64_t name = seed;
    s.array.dtype = all_dtypes[pick(&seed, DTYPE_COUNT)];
    do s.op = ops[pick(&seed, 4)];
    while (s.op == BF_PROD && is_float(s.array.dtype));
    s.form = (scan_form)pick(&seed, FORMS);
    pick_shape(&seed, &s.array);
    if (s.form == SEGMENTS || s.form == STATES_SEGMENTS) cut_rows(&s, &seed);
    if (s.form == STATE) make_line(&s.array);
    pick_options(&s, &seed);
    const bool kept = s.form > STATE && s.op == BF_PROD; /* the CPU has the states of products */
    const int place = kept ? 0 : (int)pick(&seed, 3);
    s.queued = s.form < STATE && place > 0 && pick(&seed, 2);
    s.options.later = (int)pick(&seed, 2);
    snprintf(s.what, sizeof s.what,
             "%s of %s, %s, (%lld, %lld, %lld), %lld cuts, seed %llu, place %d%s%s%s%s",
             bf_reduction_name(s.op), bf_dtype_name(s.array.dtype), forms[s.form],
             (long long)s.array.shape[0], (long long)s.array.shape[1], (long long)s.array.shape[2],
             (long long)s.offsets.shape[0], (unsigned long long)name, place,
             s.options.exclusive ? ", exclusive" : "", s.options.reverse ? ", reverse" : "",
             s.queued ? ", queued" : "", s.options.later ? ", later" : "");
    after there = make_states(gpu, &s), here = make_states(cpu, &s);
    for (int i = 0; i < (s.form < STATE ? 1 : 3); i++) {
        fill_case(&s, &seed);
        check_scan(&s, &there, &here, place);
    }
    free_states(&there);
    free_states(&here);
}

static void random_scans_have_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    const uint64_t cases = random_cases(800, 100);
    check_case(6171); /* segments after states, some of -0 alone, exclusive */
    for (uint64_t i = 0; i < cases; i++) check_case(first_seed() + i);
}

/* ---- offsets that are wrong ------------------------------------------------------------------ */

/* Enqueues a scan that goes on, of offsets on the device, and returns the place that it tells. */
static int64_t place_told(const scanned *s, const bf_array *in) {
    bf_array out = *in, offsets = s->offsets;
    int64_t place = 99;
    out.data = on_device + SECOND;
    offsets.data = cuts_on_device;
    const bf_status status = bf_scan_segments_async(gpu, s->op, in, &offsets, &s->options, &out,
                                                    (int64_t *)values_on_device);
    assert_int_equal(status, BF_OK);
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, &place, values_on_device, sizeof place), BF_OK);
    return place;
}

/* Lines of one tile and of some, whose sums three doubles do not hold. */
static void wrong_offsets_are_refused(void **unused) {
    (void)unused;
    static const int64_t wrong[][5] = {
        {0, 3, 2, 9, 9}, {0, 3, 10, 3, 9}, {-1, 3, 4, 9, 9}, {1, 2, 3, 4, 9}, {0, 0, 0, 0, 8}};
    static const int64_t places[] = {2, 2, 0, 0, 4};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 8; k++) {
            const int place = k % 2;
            const int64_t each = k / 4 == 0 ? 1 : 1111, n = 9 * each;
            scanned s = {
                .form = SEGMENTS, .op = BF_SUM, .to = BF_F64, .queued = place && k / 2 % 2};
            s.options = BF_SCAN_OPTIONS(.reverse = place, .later = s.queued);
            s.array = bf_array_of(BF_F64, on_host, n);
            fill(BF_F64, on_host, n, KIND_FULL, 1);
            for (int c = 0; c < 5; c++) cuts[c] = wrong[i][c] * each;
            s.offsets = bf_array_of(BF_I64, cuts, 5);
            snprintf(s.what, sizeof s.what, "wrong offsets, number %d", i);
            check_scan(&s, NULL, NULL, place);
            assert_int_equal(scan_there(&s, NULL, n, place), BF_E_ARGUMENT);
            if (!s.queued) continue;
            s.options.later = 0;
            const bf_array there = bf_array_of(BF_F64, on_device, n);
            assert_int_equal(place_told(&s, &there), places[i]);
        }
}

/* ---- sums that barely fit ---------------------------------------------------------------------
 */

/* Lines of ones, or of their negatives, whose sums are 0 but for that up to element `at` of one
 * line: there it is the last that fits the dtype, or one beyond, and small again behind it. */
static void check_edge(scanned *s, bf_dtype dtype, int64_t line, int64_t at, bool over, int place) {
    const bf_array *a = &s->array;
    const bool low = dtype == BF_I64 && at % 2 == 0;
    const int64_t outer = a->shape[0], length = a->shape[1], inner = a->shape[2];
    const uint64_t most = dtype == BF_U64 ? UINT64_MAX : (uint64_t)INT64_MAX, one = low ? ~0ull : 1;
    uint64_t *x = (uint64_t *)on_host;
    memset(x, 0, (size_t)(outer * length * inner) * sizeof *x);
    x += (line / inner * length + (s->options.reverse ? length - 1 : 0)) * inner + line % inner;
    const int64_t step = s->options.reverse ? -inner : inner;
    for (int64_t i = 0; i < at; i++) x[i * step] = one;
    const uint64_t edge = most - (uint64_t)at + over; /* what makes the sum the most, or one more */
    x[at * step] = low ? ~edge : edge;
    if (dtype == BF_I64 && at + 1 < length) x[(at + 1) * step] = 0 - one;
    s->array.dtype = s->to = dtype;
    snprintf(s->what, sizeof s->what,
             "sums of %s, (%lld, %lld, %lld), %s at %lld of line %lld, place %d%s%s%s%s",
             bf_dtype_name(dtype), (long long)outer, (long long)length, (long long)inner,
             over ? "too large" : "barely fit", (long long)at, (long long)line, place,
             s->options.exclusive ? ", exclusive" : "", s->options.reverse ? ", reverse" : "",
             s->options.fresh ? ", fresh" : "", s->queued ? ", queued" : "");
    check_scan(s, NULL, NULL, place);
}

/* Each way of lines: a tile's, some tiles', joined ones, columns of tiles and a thread's. */
static void sums_fit_to_the_last(void **unused) {
    (void)unused;
    static const int64_t shapes[][3] = {{1, 4096, 1}, {1, 20000, 1}, {3, 9000, 1},
                                        {50, 301, 1}, {2, 3000, 3},  {2, 40, 300}};
    static const int64_t places[] = {1, 2, 15, 16, 300, 4095, 4096, 4097, 8191, 19999};
    for (int k = 0; k < (is_small() ? 60 : 960); k++) {
        scanned s = {.op = BF_SUM, .form = LINES, .array = {.data = on_host, .ndim = 3}};
        uint64_t seed = first_seed() + (uint64_t)k;
        const int64_t *shape = shapes[k % 6], length = shape[1];
        int64_t at = pick(&seed, 2) ? places[pick(&seed, 10)] : 1 + pick(&seed, length - 1);
        if (at >= length) at = length - 1;
        for (int d = 0; d < 3; d++) s.array.shape[d] = shape[d];
        s.array.strides[0] = length * shape[2];
        s.array.strides[1] = shape[2];
        s.array.strides[2] = 1;
        s.options = BF_SCAN_OPTIONS(.exclusive = (int)pick(&seed, 2), .fresh = (int)pick(&seed, 2));
        s.options.reverse = (int)pick(&seed, 2);
        s.options.later = 1;
        const int place = (int)pick(&seed, 3);
        s.queued = place > 0 && pick(&seed, 3) == 0;
        const bf_dtype dtype = pick(&seed, 2) ? BF_I64 : BF_U64;
        const int64_t line = pick(&seed, shape[0] * shape[2]);
        check_edge(&s, dtype, line, at, pick(&seed, 2), place);
    }
}

/* ---- long lines ------------------------------------------------------------------------------ */

/* Lines of many tiles, more than are in work at a time; the last one is not full. */
static void check_long(bf_dtype dtype, data_kind kind, bool exclusive) {
    const int64_t n = MOST_ELEMENTS - 5;
    scanned s = {.op = BF_SUM, .array = bf_array_of(dtype, on_host, n)};
    s.options = BF_SCAN_OPTIONS(.exclusive = exclusive, .overflow = BF_OVERFLOW_WRAP);
    s.to = bf_scan_dtype(s.op, dtype, &s.options);
    const size_t bytes = bf_dtype_size(s.to);
    fill(dtype, on_host, n, kind, (uint64_t)dtype);
    bf_array out = bf_array_of(s.to, expected, n);
    assert_int_equal(bf_scan(cpu, s.op, &s.array, 0, &s.options, &out), BF_OK);
    out.data = found;
    assert_int_equal(bf_scan(gpu, s.op, &s.array, 0, &s.options, &out), BF_OK);
    for (int64_t i = 0; i < n; i++)
        if (memcmp(found + (size_t)i * bytes, expected + (size_t)i * bytes, bytes))
            fail_msg("%s, kind %d: result %lld is %llx, not %llx", bf_dtype_name(dtype), (int)kind,
                     (long long)i, (unsigned long long)load_bits(found + (size_t)i * bytes, bytes),
                     (unsigned long long)load_bits(expected + (size_t)i * bytes, bytes));
}

static void long_lines_have_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    static const data_kind kinds[] = {KIND_NARROW, KIND_FULL, KIND_CANCEL, KIND_TIES};
    leave_out_if_small();
    for (int i = 0; i < DTYPE_COUNT; i++)
        for (int k = 0; k < (is_float(all_dtypes[i]) ? 4 : 2); k++)
            check_long(all_dtypes[i], kinds[k], k % 2);
}

static int set_up_scans(void **state) {
    expected = malloc(OUT);
    found = malloc(OUT);
    if (!expected || !found || set_up(state)) return -1;
    return bf_memory_allocate(gpu, sizeof cuts, &cuts_on_device) == BF_OK ? 0 : -1;
}

static int tear_down_scans(void **state) {
    bf_memory_free(gpu, cuts_on_device);
    free(expected);
    free(found);
    return tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_scans_have_the_bits_of_the_cpu),
                                       cmocka_unit_test(wrong_offsets_are_refused),
                                       cmocka_unit_test(sums_fit_to_the_last),
                                       cmocka_unit_test(long_lines_have_the_bits_of_the_cpu)};
    return RUN_ON_GPU_WITH(tests, set_up_scans, tear_down_scans);
}
