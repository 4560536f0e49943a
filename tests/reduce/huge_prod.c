/* Products of more than 2^31 elements: exact ones, ones modulo 2^64, and of floats those that a
 * double holds. */
#include "tests/support/forms.h"
#include "tests/support/huge.h"

static bool is_unsigned(bf_dtype dtype) { return dtype >= BF_U8 && dtype <= BF_U64; }

/* ---- integers -------------------------------------------------------------------------------- */

static int64_t odd_number(bf_dtype dtype, int64_t i) {
    const int64_t odd = 1 + 2 * (int64_t)(scramble((uint64_t)i) % 60);
    return i % 3 == 0 && !is_unsigned(dtype) ? -odd : odd;
}

static int64_t unit(bf_dtype dtype, int64_t i) {
    return scramble((uint64_t)i) % 2 && !is_unsigned(dtype) ? -1 : 1;
}

static periodic integers(bf_dtype dtype, number_rule *rule) {
    periodic h = huge_of(dtype, PAST_31_BITS, rule);
    set_mark(&h, far_index(h.n) + 5, 97);
    set_mark(&h, far_index(h.n) + 1000, 101);
    set_mark(&h, h.n - 1, 103);
    return h;
}

TEST(integers_modulo_64_bits) {
    static const bf_dtype dtypes[] = {BF_I8, BF_I32, BF_U16, BF_U64};
    for (int d = 0; d < 4; d++) {
        periodic h = integers(dtypes[d], odd_number);
        const bf_array a = array_of(&h);
        bf_value v;
        assert_int_equal(
            bf_reduce(context, BF_PROD, &a, &BF_REDUCE_OPTIONS(.overflow = BF_OVERFLOW_WRAP), &v),
            BF_OK);
        assert_true(v.as.u64 == product_modulo(&h));
        huge_free(&h);
    }
}

TEST(integers_that_fit) {
    static const bf_dtype dtypes[] = {BF_I16, BF_I64, BF_U8, BF_U32};
    for (int d = 0; d < 4; d++) {
        periodic h = integers(dtypes[d], unit);
        const bf_array a = array_of(&h);
        bf_value v;
        int64_t product;
        assert_int_equal(bf_reduce(context, BF_PROD, &a, NULL, &v), BF_OK);
        assert_int_equal(bf_value_i64(&v, &product), BF_OK);
        assert_true((uint64_t)product == product_modulo(&h));
        huge_free(&h);
    }
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* Powers of two, of which a number and its neighbour multiply to one or minus one. */
static int64_t power_of_two(bf_dtype dtype, int64_t i) {
    const uint64_t r = scramble((uint64_t)(i & ~(int64_t)1));
    const int exponent = (int)(r % (2 * FRACTION + 1)) - FRACTION;
    (void)dtype;
    return (int64_t)(r >> 63 && i % 2 ? -1 : 1) << (FRACTION + (i % 2 ? -exponent : exponent));
}

/* Only the marks, and what stands alone at the end or beside a mark, are not one. */
static double product_of_powers(const periodic *h) {
    double product = 1, block = 1, rest = 1;
    for (int64_t i = 0; i < PERIOD; i++) {
        block *= double_of(h->dtype, h->rule(h->dtype, i));
        if (i < h->n % PERIOD) rest *= double_of(h->dtype, h->rule(h->dtype, i));
    }
    product = (h->n / PERIOD % 2 ? block : 1) * rest; /* the block is one or minus one */
    for (int m = 0; m < h->marks; m++)
        product *= double_of(h->dtype, h->mark[m].number) /
                   double_of(h->dtype, h->rule(h->dtype, h->mark[m].at % PERIOD));
    return product;
}

static periodic powers(bf_dtype dtype) {
    periodic h = huge_of(dtype, PAST_31_BITS, power_of_two);
    set_mark(&h, far_index(h.n) + 5, 3 << FRACTION);
    set_mark(&h, far_index(h.n) + 1000, -(5 << FRACTION));
    set_mark(&h, h.n - 1, 7 << FRACTION);
    return h;
}

TEST(floats) {
    for (bf_dtype dtype = BF_F16; dtype <= BF_F64; dtype++) {
        periodic h = powers(dtype);
        const bf_array a = array_of(&h);
        bf_value v;
        assert_int_equal(bf_reduce(context, BF_PROD, &a, NULL, &v), BF_OK);
        assert_same_float(v.as.f64, product_of_powers(&h));
        huge_free(&h);
    }
}

/* ---- states ---------------------------------------------------------------------------------- */

static bf_state *state_of(const periodic *h, int64_t begin, int64_t end) {
    const bf_array a =
        bf_array_of(h->dtype, h->data + begin * (int64_t)bf_dtype_size(h->dtype), end - begin);
    bf_state *s;
    assert_int_equal(bf_state_create(context, BF_PROD, h->dtype, &s), BF_OK);
    assert_int_equal(bf_state_seek(s, begin), BF_OK);
    assert_int_equal(bf_state_absorb(s, &a), BF_OK);
    return s;
}

/* Ends inside of a leaf, past 31 bits. */
TEST(parts_make_the_whole) {
    periodic h = powers(BF_F32);
    const int64_t middle = far_index(h.n) + 777;
    size_t size, part_size;
    bf_state *whole = state_of(&h, 0, h.n), *head = state_of(&h, 0, middle),
             *tail = state_of(&h, middle, h.n), *loaded;
    unsigned char *part = save_form(tail, &part_size);
    assert_int_equal(bf_state_load(context, part, part_size, &loaded), BF_OK);
    assert_int_equal(bf_state_merge(head, loaded), BF_OK);
    unsigned char *expected = save_form(whole, &size), *found = save_form(head, &part_size);
    assert_int_equal(part_size, size);
    assert_memory_equal(found, expected, size);
    free(part);
    free(expected);
    free(found);
    bf_state_destroy(whole);
    bf_state_destroy(head);
    bf_state_destroy(tail);
    bf_state_destroy(loaded);
    huge_free(&h);
}

HUGE_TESTS
