/* Sums of the arrays of ranks: every element is the exact sum of the terms of all ranks, rounded
 * once, on every ISA, whatever the ranks, the sizes and the terms of each are.
 * Builds: release, asan, tsan (full). */
#include "tests/comm/sums.h"
#include "tests/support/unit.h"

TEST(sums_are_exact) {
    const int64_t sizes[] = {1, 2, 7, 24, 240, 777, 2520};
    const int step = CASE_STEP > 1 ? CASE_STEP : DATA_SHARE > 1 ? 2 : 1;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int i = d % step; i < 7 && all_dtypes[d] != BF_BOOL; i += step)
            for (int k = 0; k < KIND_COUNT; k += 1 + i / 3) {
                int n = 1 + (d + i + k) % RANKS_MOST, terms = n + (i + k) % (TERMS_MOST - n + 1);
                sum_problem p;
                make_sum_problem(&p, all_dtypes[d], (data_kind)k, sizes[i], terms);
                on_ranks(n, add_arrays, &p);
                free_sum_problem(&p);
            }
}

/* More than the scratch holds: several pieces. */
TEST(large_arrays_go_in_pieces) {
    sum_problem p = {.dtype = BF_I64, .n = 6 * 1000003 / 2, .terms = 4};
    p.data = malloc((size_t)p.n * 4 * 8);
    p.expected = malloc((size_t)p.n * 8);
    for (int64_t i = 0; i < 4 * p.n; i++) store_bits(p.data + i * 8, 8, (uint64_t)(i * i));
    expect_sums(&p);
    on_ranks(3, add_arrays, &p);
    free_sum_problem(&p);
}

/* ---- the loops of each ISA ------------------------------------------------------------------- */

TEST(every_isa_adds_alike) {
    needs_no_threads();
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int k = 0; k < KIND_COUNT && all_dtypes[d] != BF_BOOL; k++) {
            sum_problem p;
            make_sum_problem(&p, all_dtypes[d], (data_kind)k, 1500, 3 + k);
            char *out = malloc((size_t)p.n * 8);
            for (int i = 0; bf_isa_name(i) != NULL; i++) {
                OWN(bf_context) *context = NULL;
                OWN(bf_comm) *comm = NULL;
                const bf_options o = BF_OPTIONS(.device = "cpu", .isa = bf_isa_name(i));
                if (!bf_isa_available(i)) continue;
                assert_int_equal(bf_context_create(&o, &context), BF_OK);
                assert_int_equal(bf_comm_create(context, NULL, &comm), BF_OK);
                bf_array in = terms_of(&p, p.data, p.terms), to = terms_of(&p, out, 1);
                assert_int_equal(bf_comm_allreduce(comm, &in, &to),
                                 p.overflows ? BF_E_OVERFLOW : BF_OK);
                if (!p.overflows)
                    assert_memory_equal(out, p.expected, (size_t)p.n * bf_dtype_size(p.dtype));
            }
            free(out);
            free_sum_problem(&p);
        }
}

/* ---- refusals -------------------------------------------------------------------------------- */

TEST(what_one_rank_refuses_all_refuse) { on_ranks(3, refuse_arrays, NULL); }

UNIT_TESTS(comm_sum, NULL, NULL)
