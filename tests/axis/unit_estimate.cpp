/* Results of joint kinds in two doubles, as a GPU makes them: what these prove is what the rules
 * make of the same sums, and they prove most of them.
 * Builds: release, asan (full). */
#include <cmath>

#include "cuda/reduce/joint/estimate.cuh"
#include "rules/reduce/joint.h"
#include "rules/reduce/sum.h"
#include "rules/reduce/totals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

extern "C" {
#include <cmocka.h>
}

using namespace bf_cuda_estimates;

namespace {

enum { MOST = 64, LEVELS = 3 };

uint64_t seed = 1;
uint64_t next_random() {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 16;
}
int64_t below(int64_t n) { return (int64_t)(next_random() % (uint64_t)n); }

/* Integers in units of 2^unit. */
struct problem {
    int n, unit;
    int64_t x[MOST], y[MOST];
    bf_reduction op;
    bf_dtype to;
    bf_reduce_options options;
};

/* Numbers of so many bits, around 0, far from it, or y near x. */
problem any_problem(bf_reduction op) {
    problem p = {};
    const int64_t kind = below(4), range = (int64_t)1 << (1 + below(26));
    const int64_t shift = kind == 1 ? below(1 << 20) : kind == 2 ? -range / 2 : 0;
    p.n = 1 + (int)below(below(2) != 0 ? 8 : MOST - 1);
    p.unit = -(int)below(40);
    for (int i = 0; i < p.n; i++) {
        p.x[i] = below(range) + shift;
        p.y[i] = kind == 3 ? p.x[i] + below(3) : below(range) + (kind == 2 ? shift : 0);
    }
    p.op = op;
    p.to = below(2) != 0 ? BF_F64 : BF_F32;
    p.options.ddof = (int)below(2);
    p.options.weights = below(2) != 0 ? BF_WEIGHTS_RELIABILITY : BF_WEIGHTS_FREQUENCY;
    return p;
}

bf_i128 bits_of(int64_t x, int unit) {
    const double value = ldexp((double)x, unit);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bf_i128)bits;
}

uint64_t bits_by_rules(const problem &p) {
    static int64_t words[BF_PARTS_WORDS_MAX];
    const bf_kind kind = bf_kind_of(p.op, BF_F64);
    const bf_parts parts = bf_parts_of(kind, BF_F64);
    bf_state_init(kind, BF_F64, words);
    for (int i = 0; i < p.n; i++)
        bf_sum_take_joint(kind, BF_F64, &parts, words, bits_of(p.x[i], p.unit),
                          bits_of(p.y[i], p.unit));
    bf_sum_carry(kind, BF_F64, words);
    return bf_joint_result(kind, p.op, BF_F64, words, &p.options, bf_format_of(p.to));
}

/* The sum of x^i y^j, of its leading bits, or in levels of which the lower ones may be negative. */
number sum_of(const problem &p, int i, int j) {
    bf_i128 sum = 0;
    bf_i128 level[LEVELS];
    for (int k = 0; k < p.n; k++) {
        bf_i128 term = 1;
        for (int a = 0; a < i; a++) term *= p.x[k];
        for (int b = 0; b < j; b++) term *= p.y[k];
        sum += term;
    }
    bool negative;
    const bf_leading leading = bf_leading_of_i128(sum, (i + j) * p.unit, &negative);
    if (below(2) != 0) return of_leading(leading, negative);
    const int step = BF_WINDOW_BITS + 1;
    for (int l = LEVELS - 1; l > 0; l--) {
        level[l] = sum & (((int64_t)1 << step) - 1);
        if (below(2) != 0) level[l] -= (int64_t)1 << step;
        sum = (sum - level[l]) >> step;
    }
    level[0] = sum;
    return of_levels(level, LEVELS, (i + j) * p.unit + (LEVELS - 1) * step, step);
}

number estimate_of(const problem &p) {
    const bf_kind kind = bf_kind_of(p.op, BF_F64);
    const number n = exactly(p.n);
    number sum[BF_PARTS_MOST];
    for (int k = 0; k < BF_PARTS_MOST && bf_kind_part(kind, k) != 0; k++)
        sum[k] = sum_of(p, bf_kind_part(kind, k) >> 4, bf_kind_part(kind, k) & 15);
    return of_kind(kind, p.op, n, &p.options, sum);
}

void what_is_proven_is_right(void **) {
    static const bf_reduction ops[] = {BF_COV,   BF_CORR, BF_SLOPE, BF_INTERCEPT, BF_R2,
                                       BF_WMEAN, BF_WVAR, BF_WSTD,  BF_SKEW,      BF_KURTOSIS};
    for (const bf_reduction op : ops) {
        const int cases = 20000;
        int proven = 0;
        for (int i = 0; i < cases; i++) {
            const problem p = any_problem(op);
            uint64_t bits;
            if (!is_proven(estimate_of(p), p.to, &bits)) continue;
            proven++;
            assert_int_equal(bits, bits_by_rules(p));
        }
        assert_true(proven > cases / 2);
    }
}

/* What is known to no bit proves nothing: sums that do not fit, and differences of equals. */
void nothing_is_proven_of_nothing(void **) {
    uint64_t bits;
    bf_i128 large[] = {(bf_i128)1 << 97, 0, 0};
    const number third = exactly(1) / exactly(3);
    assert_false(is_proven(of_levels(large, LEVELS, 0, BF_WINDOW_BITS + 1), BF_F64, &bits));
    assert_false(is_proven(third - third, BF_F64, &bits));
    assert_false(is_proven(exactly(1) / (third - third), BF_F64, &bits));
    assert_false(is_proven(root(third - third), BF_F32, &bits));
    assert_false(
        is_proven(exactly(0x1p-500) * exactly(0x1p-500) * exactly(0x1p500), BF_F64, &bits));
    assert_false(is_proven(exactly(0x1p600) * exactly(0x1p600), BF_F64, &bits));
    /* A zero of either sign. */
    assert_false(is_proven({-0x1p-200, 0, 0x1p-190}, BF_F32, &bits));
    assert_true(is_proven({-0x1p-200, 0, 0x1p-210}, BF_F32, &bits));
    assert_int_equal(bits, 0x80000000u);
}

} // namespace

int main() {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_proven_is_right),
                                       cmocka_unit_test(nothing_is_proven_of_nothing)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
