/* Scans of more than 2^31 elements: in one call, and of more than 2^32 in chunks. */
#include "tests/support/huge.h"

enum { CHUNK = 1 << 26 };
static const int64_t LONGEST = ((int64_t)1 << 32) + 1;

/* Zeros with ones at 1 and at the end: the last sum is 2. */
TEST(sums_in_chunks) {
    uint8_t *const x = calloc(CHUNK, 1);
    uint64_t *const to = malloc(CHUNK * sizeof *to);
    bf_state *state;
    assert_true(x != NULL && to != NULL);
    assert_int_equal(bf_state_create(context, BF_SUM, BF_U8, &state), BF_OK);
    for (int64_t at = 0, n; at < LONGEST; at += n) {
        n = LONGEST - at < CHUNK ? LONGEST - at : CHUNK;
        const bf_array from = bf_array_of(BF_U8, x, n), values = bf_array_of(BF_U64, to, n);
        x[1] = at == 0;
        x[n - 1] = at + n == LONGEST;
        assert_int_equal(bf_state_scan(state, &from, NULL, &values), BF_OK);
        for (int64_t i = 0; i < n; i++)
            if (to[i] != (uint64_t)(at + i >= 1) + (at + i == LONGEST - 1))
                fail_msg("sum %lld is %llu", (long long)(at + i), (unsigned long long)to[i]);
    }
    assert_true(to[0] == 2);
    bf_state_destroy(state);
    free(x);
    free(to);
}

/* In place, so that an element that was read twice or not at all shows. */
TEST(one_call) {
    const int64_t n = ((int64_t)1 << 31) + 12345, places[] = {1, ((int64_t)1 << 31) + 5, n - 1};
    int8_t *const x = calloc((size_t)n, 1);
    assert_non_null(x);
    const bf_array a = bf_array_of(BF_I8, x, n);
    for (int p = 0; p < 3; p++) x[places[p]] = (int8_t)(p + 1);
    assert_int_equal(bf_scan(context, BF_MAX, &a, 0, NULL, &a), BF_OK);
    for (int64_t i = 0; i < n; i++)
        if (x[i] != (i >= places[0]) + (i >= places[1]) + (i >= places[2]))
            fail_msg("maximum %lld is %d", (long long)i, x[i]);
    free(x);
}

HUGE_TESTS
