/* Merging the states, histograms and groups of ranks gives what one rank finds in all data.
 * Builds: release, asan, tsan (full). */
#include "tests/comm/merges.h"
#include "tests/support/unit.h"

TEST(states_merge_to_the_state_of_all) {
    for (int n = 1; n <= RANKS_MOST; n++)
        for (int d = n % CASE_STEP; d < DTYPE_COUNT; d += CASE_STEP) {
            problem *p = make_problem(all_dtypes[d], n % 2 ? KIND_FULL : KIND_CANCEL);
            if (!is_float(p->dtype)) memset(p->data, 1, sizeof p->data); /* so that prod fits */
            on_ranks(n, merge_all_ops, p);
            free(p);
        }
}

TEST(what_one_rank_refuses_all_refuse) {
    problem *p = make_problem(BF_F64, KIND_NARROW);
    on_ranks(3, refuse_states, p);
    free(p);
}

TEST(many_states_merge_to_those_of_all) {
    for (int d = 0; d < DTYPE_COUNT; d += CASE_STEP) {
        problem *p = make_problem(all_dtypes[d], d % 2 ? KIND_FULL : KIND_CANCEL);
        on_ranks(1 + d % RANKS_MOST, merge_many_states, p);
        on_ranks(3, refuse_many, p);
        free(p);
    }
}

TEST(quantiles_merge_to_those_of_all) {
    for (int d = 0; d < DTYPE_COUNT; d++) {
        problem *p = make_problem(all_dtypes[d], d % 2 ? KIND_FULL : KIND_NARROW);
        on_ranks(1 + d % RANKS_MOST, merge_quantiles, p);
        on_ranks(RANKS_MOST - d % RANKS_MOST, merge_quantiles, p);
        free(p);
    }
    problem *p = make_problem(BF_F64, KIND_FULL);
    on_ranks(3, refuse_quantiles, p);
    free(p);
}

/* ---- histograms ------------------------------------------------------------------------------ */

TEST(histograms_merge_to_that_of_all) {
    for (int n = 1; n <= RANKS_MOST; n += 2) {
        problem *p = make_problem(n % 4 == 1 ? BF_F64 : BF_I8, KIND_NARROW);
        on_ranks(n, merge_counts, p);
        free(p);
    }
    on_ranks(3, refuse_bins, NULL);
}

/* ---- groups ---------------------------------------------------------------------------------- */

TEST(groups_end_on_one_rank_each) {
    for (int n = 1; n <= RANKS_MOST; n++) {
        problem *p = make_problem(n % 2 ? BF_F64 : BF_I16, KIND_NARROW);
        on_ranks(n, share_groups, p);
        free(p);
    }
}

UNIT_TESTS(comm_merge, NULL, NULL)
