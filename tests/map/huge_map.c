/* Element-wise operations on more than 2^31 elements. */
#include "tests/support/huge.h"

static int64_t other_number(bf_dtype dtype, int64_t i) { return some_number(dtype, i + PERIOD); }

/* ---- outputs --------------------------------------------------------------------------------- */

/* An output of which only some blocks are memory of their own: the first, and those with the marks
 * of an input. All others are one block, and whatever is written there is not looked at. */
static char *output_for(const periodic *h, bf_dtype dtype) {
    const size_t size = bf_dtype_size(dtype), block = PERIOD * size, bytes = (size_t)h->n * size;
    const int file = block_file(block);
    char *data = map_again(file, block, bytes, MAP_SHARED);
    close(file);
    for (int m = -1; m < h->marks; m++) {
        const size_t at = m < 0 ? 0 : (size_t)(h->mark[m].at / PERIOD) * block;
        const size_t part = bytes - at < block ? bytes - at : block;
        assert_true(mmap(data + at, part, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == data + at);
    }
    return data;
}

/* Element i of the output, from elements of up to three inputs. */
typedef uint64_t output_rule(const periodic *inputs, int64_t i);

static bool has_mark(const periodic *h, int64_t block) {
    for (int m = 0; m < h->marks; m++)
        if (h->mark[m].at / PERIOD == block) return true;
    return false;
}

/* The blocks of an output: all of them, or those that are memory of their own. */
static void check_output(const periodic *inputs, bf_dtype dtype, const char *data, bool all,
                         output_rule *rule) {
    const size_t size = bf_dtype_size(dtype);
    char *expected = malloc(PERIOD * size);
    assert_non_null(expected);
    for (int64_t i = 0; i < PERIOD; i++)
        store_bits(expected + (size_t)i * size, size, rule(inputs, i));
    for (int64_t first = 0; first < inputs->n; first += PERIOD) {
        const int64_t n = inputs->n - first < PERIOD ? inputs->n - first : PERIOD;
        const bool marked = has_mark(inputs, first / PERIOD);
        if (!all && !marked && first > 0) continue;
        for (int turn = 0; turn < 2 && marked; turn++) { /* turn 0: puts them there */
            for (int m = 0; m < inputs->marks; m++) {
                const int64_t at = inputs->mark[m].at;
                if (at / PERIOD != first / PERIOD) continue;
                store_bits(expected + (size_t)(at % PERIOD) * size, size,
                           rule(inputs, turn ? at % PERIOD : at));
            }
            if (turn == 0 && memcmp(data + (size_t)first * size, expected, (size_t)n * size))
                fail_msg("wrong near the marks after %lld", (long long)first);
        }
        if (!marked && memcmp(data + (size_t)first * size, expected, (size_t)n * size))
            fail_msg("wrong after %lld", (long long)first);
    }
    free(expected);
}

static void map(bf_map_op op, const periodic *inputs, int count, bf_overflow_policy overflow,
                bf_dtype dtype, void *out) {
    const bf_array arrays[] = {array_of(&inputs[0]), array_of(&inputs[count > 1]),
                               array_of(&inputs[count > 2 ? 2 : 0])};
    const bf_array *pointers[] = {&arrays[0], &arrays[1], &arrays[2]};
    const bf_array to = bf_array_of(dtype, out, inputs->n);
    assert_int_equal(
        bf_map(context, op, pointers, count, &BF_MAP_OPTIONS(.overflow = overflow), &to), BF_OK);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static uint64_t sum_of_bytes(const periodic *in, int64_t i) {
    return (uint64_t)(number_at(&in[0], i) + number_at(&in[1], i)) & 255;
}

/* 2 GiB. */
TEST(every_byte) {
    periodic in[2] = {marked_huge(BF_U8, PAST_31_BITS, some_number),
                      huge_of(BF_U8, PAST_31_BITS, other_number)};
    char *out = room_of(in->n);
    map(BF_MAP_ADD, in, 2, BF_OVERFLOW_WRAP, BF_U8, out);
    check_output(in, BF_U8, out, true, sum_of_bytes);
    munmap(out, (size_t)in->n);
    huge_free(&in[0]);
    huge_free(&in[1]);
}

static uint64_t saturated_negative(const periodic *in, int64_t i) {
    const int64_t x = -number_at(in, i);
    return (uint64_t)(x > INT8_MAX ? INT8_MAX : x);
}

/* 2 GiB: in place. */
TEST(in_place) {
    periodic h = marked_huge(BF_I8, PAST_31_BITS, some_number);
    char *from = h.data;
    h.data = room_of(h.n);
    memcpy(h.data, from, (size_t)h.n);
    map(BF_MAP_NEG, &h, 1, BF_OVERFLOW_SATURATE, BF_I8, h.data);
    check_output(&h, BF_I8, h.data, true, saturated_negative);
    munmap(from, huge_bytes(&h));
    huge_free(&h);
}

static uint64_t bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

static uint64_t product_of_floats(const periodic *in, int64_t i) {
    const float product = (float)double_of(BF_F32, number_at(&in[0], i)) *
                          (float)double_of(BF_F32, number_at(&in[1], i));
    uint32_t bits;
    memcpy(&bits, &product, 4);
    return bits;
}

static uint64_t fused_doubles(const periodic *in, int64_t i) {
    return bits_of_double(fma(double_of(BF_F64, number_at(&in[0], i)),
                              double_of(BF_F64, number_at(&in[1], i)),
                              double_of(BF_F64, number_at(&in[2], i))));
}

static uint64_t less_doubles(const periodic *in, int64_t i) {
    return number_at(&in[0], i) < number_at(&in[1], i);
}

static uint64_t double_of_integer(const periodic *in, int64_t i) {
    return bits_of_double((double)number_at(in, i));
}

TEST(wide_elements) {
    static const struct {
        bf_map_op op;
        int inputs;
        bf_dtype from, to;
        output_rule *rule;
    } cases[] = {
        {BF_MAP_MUL, 2, BF_F32, BF_F32, product_of_floats},
        {BF_MAP_FMA, 3, BF_F64, BF_F64, fused_doubles},
        {BF_MAP_LT, 2, BF_F64, BF_BOOL, less_doubles},
        {BF_MAP_CAST, 1, BF_I32, BF_F64, double_of_integer},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        periodic in[3] = {marked_huge(cases[c].from, PAST_31_BITS, some_number),
                          huge_of(cases[c].from, PAST_31_BITS, other_number),
                          huge_of(cases[c].from, PAST_31_BITS, other_number)};
        char *out = output_for(in, cases[c].to);
        map(cases[c].op, in, cases[c].inputs, BF_OVERFLOW_ERROR, cases[c].to, out);
        check_output(in, cases[c].to, out, false, cases[c].rule);
        munmap(out, (size_t)in->n * bf_dtype_size(cases[c].to));
        for (int i = 0; i < 3; i++) huge_free(&in[i]);
    }
}

static int64_t never_zero(bf_dtype dtype, int64_t i) { return 1 + llabs(some_number(dtype, i)); }

/* What does not fit is found, and said where. */
TEST(failures_are_found) {
    periodic bytes = huge_of(BF_I8, PAST_31_BITS, some_number);
    periodic divisors = huge_of(BF_I32, PAST_31_BITS, never_zero);
    set_mark(&bytes, far_index(bytes.n) + 5, INT8_MIN);
    set_mark(&bytes, bytes.n - 1, INT8_MIN);
    set_mark(&divisors, divisors.n - 1, 0);
    char *out = output_for(&divisors, BF_F64);
    const bf_array a = array_of(&bytes), b = array_of(&divisors);
    const bf_array to = bf_array_of(BF_I8, out, a.shape[0]),
                   quotients = bf_array_of(BF_F64, out, b.shape[0]);
    const bf_array *one[] = {&a}, *two[] = {&b, &b};
    char index[40];
    assert_int_equal(bf_map(context, BF_MAP_NEG, one, 1, NULL, &to), BF_E_OVERFLOW);
    snprintf(index, sizeof index, "index %lld ", (long long)bytes.mark[0].at);
    assert_non_null(strstr(bf_context_message(context), index));
    assert_int_equal(bf_map(context, BF_MAP_DIV, two, 2, NULL, &quotients), BF_E_ARGUMENT);
    snprintf(index, sizeof index, "index %lld", (long long)divisors.mark[0].at);
    assert_non_null(strstr(bf_context_message(context), index));
    munmap(out, (size_t)divisors.n * 8);
    huge_free(&bytes);
    huge_free(&divisors);
}

static int64_t third_number(bf_dtype dtype, int64_t i) {
    return some_number(dtype, 3 * i % PERIOD);
}

/* 2 GiB: every third element of an array, and a row that stands for three. */
TEST(strides) {
    periodic h = huge_of(BF_U8, 3 * PAST_31_BITS, some_number);
    periodic thirds[2] = {{.dtype = BF_U8, .n = PAST_31_BITS, .rule = third_number, .marks = 1}, h};
    thirds[0].mark[0].at = thirds[0].n - 1;
    thirds[0].mark[0].number = UINT8_MAX;
    set_mark(&h, 3 * thirds[0].mark[0].at, UINT8_MAX);
    char *out = room_of(thirds[0].n);
    bf_array a = bf_array_of(BF_U8, h.data, thirds[0].n),
             b = bf_array_of(BF_U8, h.data, a.shape[0]);
    a.strides[0] = 3;
    const bf_array *inputs[] = {&a, &b};
    bf_array to = bf_array_of(BF_U8, out, a.shape[0]);
    const bf_map_options wrap = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
    assert_int_equal(bf_map(context, BF_MAP_ADD, inputs, 2, &wrap, &to), BF_OK);
    check_output(thirds, BF_U8, out, true, sum_of_bytes);

    const int64_t row = a.shape[0] / 3;
    const uint8_t three[3] = {10, 20, 30};
    bf_array long_row = bf_array_of(BF_U8, h.data, row),
             column = {(void *)(uintptr_t)three, BF_U8, 2, {3, 1}, {1, 1}};
    bf_array table = {out, BF_U8, 2, {3, row}, {row, 1}};
    inputs[0] = &long_row;
    inputs[1] = &column;
    assert_int_equal(bf_map(context, BF_MAP_ADD, inputs, 2, &wrap, &table), BF_OK);
    for (int r = 0; r < 3; r++)
        for (int64_t i = 0; i < row; i++)
            if ((uint8_t)out[r * row + i] != (uint8_t)(h.data[i] + three[r]))
                fail_msg("row %d, element %lld", r, (long long)i);
    munmap(out, (size_t)to.shape[0]);
    huge_free(&h);
}

HUGE_TESTS
