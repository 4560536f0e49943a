/* What ranks merge, and what all of it must be: for ranks of any carrier. */
#ifndef BITFOLD_TESTS_COMM_MERGES_H
#define BITFOLD_TESTS_COMM_MERGES_H

#include "tests/comm/ranks.h"
#include "tests/support/forms.h"

enum { N = 5000, KEYS = 300 };

typedef struct problem {
    bf_dtype dtype;
    bool refused; /* every rank but 0 asks for something else */
    char data[N * 8];
    int32_t keys[N];
    double weights[N];
} problem;

static inline problem *make_problem(bf_dtype dtype, data_kind kind) {
    problem *p = calloc(1, sizeof *p);
    uint64_t rng = 5;
    p->dtype = dtype;
    fill(dtype, p->data, N, kind, 11);
    for (int i = 0; i < N; i++) {
        p->keys[i] = (int32_t)(next_random(&rng) % KEYS) - 9;
        p->weights[i] = ldexp((double)(int64_t)next_random(&rng), (int)(next_random(&rng) % 60));
    }
    return p;
}

/* Elements [first, end) of the problem. */
static inline bf_array part_of(const problem *p, int64_t first, int64_t end) {
    size_t bytes = bf_dtype_size(p->dtype);
    return bf_array_of(p->dtype, p->data + (size_t)first * bytes, end - first);
}

/* ---- states ---------------------------------------------------------------------------------- */

static inline bool is_ordered(bf_reduction op, bf_dtype dtype) {
    return op == BF_ARGMIN || op == BF_ARGMAX || op == BF_DESCRIBE ||
           (op == BF_PROD && is_float(dtype));
}

static const bf_reduction ops[] = {
#define BF_X(id, number, name, state, result, text) BF_##id,
    BF_REDUCTION_LIST(BF_X)
#undef BF_X
};
enum { OPS = sizeof ops / sizeof *ops };

/* The state of an op over elements [first, end). */
static inline bf_state *state_of(bf_context *context, const problem *p, bf_reduction op,
                                 int64_t first, int64_t end) {
    bf_state *s = NULL;
    bf_array part = part_of(p, first, end);
    if (bf_state_create(context, op, p->dtype, &s) != BF_OK) return NULL;
    bf_status status = is_ordered(op, p->dtype) ? bf_state_seek(s, first) : BF_OK;
    if (status == BF_OK)
        status = bf_reduction_arrays(op) == 2 ? bf_state_absorb_pair(s, &part, &part)
                                              : bf_state_absorb(s, &part);
    if (status == BF_OK) return s;
    bf_state_destroy(s);
    return NULL;
}

static inline bool merge_all_ops(bf_comm *comm, bf_context *context, void *arg) {
    const problem *p = arg;
    bf_state *states[OPS], *whole[OPS];
    int rank = bf_comm_rank(comm), count = bf_comm_ranks(comm);
    for (int i = 0; i < OPS; i++) {
        states[i] = state_of(context, p, ops[i], part_begin(N, rank, count),
                             part_begin(N, rank + 1, count));
        whole[i] = state_of(context, p, ops[i], 0, N);
        CHECK(states[i] != NULL && whole[i] != NULL);
    }
    CHECK(bf_comm_merge_states(comm, states, OPS) == BF_OK);
    for (int i = 0; i < OPS; i++) CHECK(same_form(states[i], whole[i]));
    CHECK(bf_comm_merge_states(comm, states, 0) == BF_OK);
    for (int i = 0; i < OPS; i++) {
        bf_state_destroy(states[i]);
        bf_state_destroy(whole[i]);
    }
    return true;
}

/* All ranks get one status, and no state changes. */
static inline bool refuse_states(bf_comm *comm, bf_context *context, void *arg) {
    const problem *p = arg;
    int rank = bf_comm_rank(comm);
    bf_state *s = state_of(context, p, BF_SUM, 0, 9), *was = state_of(context, p, BF_SUM, 0, 9);
    bf_state *other = state_of(context, p, BF_MEAN, 0, 9),
             *least = state_of(context, p, BF_MIN, 0, 9);
    bf_state *first = state_of(context, p, BF_ARGMIN, 0, 9);
    bf_state *none = NULL;
    CHECK(s && was && other && least && first);
    CHECK(bf_comm_merge_states(comm, rank == 1 ? &none : &s, 1) == BF_E_ARGUMENT);
    CHECK(strstr(bf_context_message(context), rank == 1 ? "NULL" : "1 of 3 ranks failed") != NULL);
    CHECK(bf_comm_merge_states(comm, rank == 1 ? NULL : &s, 1) == BF_E_ARGUMENT);
    CHECK(bf_comm_merge_states(comm, rank == 1 ? &other : &s, 1) == BF_E_COMM);
    CHECK(bf_comm_merge_states(comm, rank == 1 ? &least : &s, 1) == BF_E_COMM);
    CHECK(bf_comm_merge_states(comm, &s, rank == 1) == BF_E_COMM);
    CHECK(bf_comm_merge_histogram(comm, NULL) == BF_E_ARGUMENT);
    CHECK(bf_comm_exchange_groups(comm, NULL) == BF_E_ARGUMENT);
    bf_state *both[] = {s, first}; /* indices overlap */
    CHECK(bf_comm_merge_states(comm, both, 2) == BF_E_STATE);
    CHECK(same_form(s, was));
    CHECK(bf_comm_merge_states(comm, &s, 1) == BF_OK);
    bf_state_destroy(s), bf_state_destroy(was), bf_state_destroy(other);
    bf_state_destroy(least), bf_state_destroy(first);
    return true;
}

/* ---- many states ----------------------------------------------------------------------------- */

/* Many states over elements [first, end): element i goes to state i % count. */
static inline bf_states *many_of(bf_context *context, const problem *p, bf_reduction op,
                                 int64_t count, int64_t first, int64_t end) {
    bf_states *s = NULL;
    int32_t slots[N];
    const bf_array part = part_of(p, first, end), index = bf_array_of(BF_I32, slots, end - first);
    for (int64_t i = first; i < end; i++) slots[i - first] = (int32_t)(i % (count + !count));
    if (bf_states_create(context, op, p->dtype, count, &s) != BF_OK) return NULL;
    const bf_array next = {&first, BF_I64, 1, {count}, {0}};
    const bool ordered = op == BF_ARGMIN || op == BF_DESCRIBE;
    if (ordered && bf_states_seek(s, &next) != BF_OK) return NULL;
    if (count == 0 || bf_states_absorb_index(s, &part, &index) == BF_OK) return s;
    bf_states_destroy(s);
    return NULL;
}

static inline bool merge_many_states(bf_comm *comm, bf_context *context, void *arg) {
    static const bf_reduction some[] = {BF_SUM, BF_STD, BF_MAX, BF_ARGMIN, BF_DESCRIBE};
    enum { SOME = sizeof some / sizeof *some };
    static const int64_t counts[] = {0, 1, 3, 700};
    const problem *p = arg;
    const int rank = bf_comm_rank(comm), ranks = bf_comm_ranks(comm);
    const int64_t first = part_begin(N, rank, ranks), end = part_begin(N, rank + 1, ranks);
    for (int i = 0; i < SOME * 4; i++) {
        const int64_t count = counts[i / SOME];
        bf_states *s = many_of(context, p, some[i % SOME], count, first, end);
        bf_states *whole = many_of(context, p, some[i % SOME], count, 0, N);
        CHECK(s != NULL && whole != NULL);
        CHECK(bf_comm_merge_many(comm, s) == BF_OK);
        CHECK(same_form(s, whole));
        CHECK(bf_states_append(s, whole) == BF_OK); /* they go on */
        bf_states_destroy(s);
        bf_states_destroy(whole);
    }
    return true;
}

/* Doubles states until each holds 2^60 elements. */
static inline bool double_states(bf_context *context, bf_states *s, int64_t elements) {
    bf_status status = BF_OK;
    for (; elements < (int64_t)1 << 60 && status == BF_OK; elements *= 2) {
        bf_states *same = NULL;
        char bytes[1 << 10];
        size_t size = 0;
        status = bf_states_save_size(s, &size);
        if (status == BF_OK && size > sizeof bytes) return false;
        if (status == BF_OK) status = bf_states_save(s, bytes);
        if (status == BF_OK) status = bf_states_load(context, bytes, size, &same);
        if (status == BF_OK) status = bf_states_merge(s, same);
        bf_states_destroy(same);
    }
    return status == BF_OK;
}

/* All ranks get one status, and no state changes. */
static inline bool refuse_many(bf_comm *comm, bf_context *context, void *arg) {
    const problem *p = arg;
    const int rank = bf_comm_rank(comm);
    bf_states *s = many_of(context, p, BF_SUM, 3, 0, 12),
              *was = many_of(context, p, BF_SUM, 3, 0, 12);
    bf_states *mean = many_of(context, p, BF_MEAN, 3, 0, 12);
    bf_states *four = many_of(context, p, BF_SUM, 4, 0, 12);
    CHECK(s && was && mean && four);
    CHECK(bf_comm_merge_many(comm, rank == 1 ? NULL : s) == BF_E_ARGUMENT);
    CHECK(strstr(bf_context_message(context), rank == 1 ? "no states" : "1 of 3 ranks") != NULL);
    CHECK(bf_comm_merge_many(comm, rank == 1 ? mean : s) == BF_E_COMM);
    CHECK(bf_comm_merge_many(comm, rank == 1 ? four : s) == BF_E_COMM);
    CHECK(same_form(s, was));
    CHECK(double_states(context, s, 4) && double_states(context, was, 4));
    CHECK(bf_comm_merge_many(comm, s) == BF_E_OVERFLOW); /* 9 * 2^60 elements */
    CHECK(same_form(s, was));
    bf_states_destroy(s), bf_states_destroy(was), bf_states_destroy(mean), bf_states_destroy(four);
    return true;
}

/* ---- quantiles ------------------------------------------------------------------------------- */

enum { QUANTILES = 3 };
static const double wanted_quantiles[QUANTILES] = {0, 0.3, 0.99};

static inline bool absorb_part(bf_quantiles *q, const problem *p, int64_t first, int64_t end) {
    const bf_array part = part_of(p, first, end);
    return bf_quantiles_absorb(q, &part) == BF_OK;
}

/* In each pass a rank absorbs its part; what merges is what one that has all data would have. */
static inline bool merge_quantiles(bf_comm *comm, bf_context *context, void *arg) {
    const problem *p = arg;
    const int rank = bf_comm_rank(comm), ranks = bf_comm_ranks(comm);
    const int64_t first = part_begin(N, rank, ranks), end = part_begin(N, rank + 1, ranks);
    bf_quantiles *q = NULL, *whole = NULL;
    CHECK(bf_quantiles_create(context, p->dtype, wanted_quantiles, QUANTILES, NULL, &q) == BF_OK);
    CHECK(bf_quantiles_create(context, p->dtype, wanted_quantiles, QUANTILES, NULL, &whole) ==
          BF_OK);
    for (int done = 0, all_done = 0; !done;) {
        CHECK(absorb_part(q, p, first, end) && absorb_part(whole, p, 0, N));
        CHECK(bf_comm_merge_quantiles(comm, q) == BF_OK);
        CHECK(same_form(q, whole));
        CHECK(bf_quantiles_next(q, &done) == BF_OK && bf_quantiles_next(whole, &all_done) == BF_OK);
        CHECK(done == all_done);
    }
    CHECK(same_form(q, whole));
    CHECK(bf_comm_merge_quantiles(comm, q) == BF_E_STATE);
    bf_quantiles_destroy(q), bf_quantiles_destroy(whole);
    return true;
}

/* All ranks get one status, and no quantiles change. */
static inline bool refuse_quantiles(bf_comm *comm, bf_context *context, void *arg) {
    const problem *p = arg;
    const bool odd = bf_comm_rank(comm) == 1;
    int done = 0;
    bf_quantiles *q = NULL, *was = NULL, *median = NULL;
    CHECK(bf_quantiles_create(context, p->dtype, wanted_quantiles, QUANTILES, NULL, &q) == BF_OK);
    CHECK(bf_quantiles_create(context, p->dtype, wanted_quantiles, QUANTILES, NULL, &was) == BF_OK);
    CHECK(bf_quantiles_create(context, p->dtype, NULL, 0, NULL, &median) == BF_OK);
    CHECK(absorb_part(q, p, 0, N) && absorb_part(was, p, 0, N));
    CHECK(bf_comm_merge_quantiles(comm, odd ? NULL : q) == BF_E_ARGUMENT);
    CHECK(strstr(bf_context_message(context), odd ? "no quantiles" : "1 of 3 ranks") != NULL);
    CHECK(bf_comm_merge_quantiles(comm, odd ? median : q) == BF_E_COMM);
    CHECK(same_form(q, was));
    CHECK(bf_quantiles_next(q, &done) == BF_OK && !done);
    CHECK(bf_comm_merge_quantiles(comm, odd ? was : q) == BF_E_COMM); /* another pass */
    CHECK(bf_quantiles_next(was, &done) == BF_OK);
    CHECK(absorb_part(q, p, 0, N) && absorb_part(was, p, 0, N));
    CHECK(bf_comm_merge_quantiles(comm, q) == BF_E_STATE); /* three times the elements */
    CHECK(same_form(q, was));
    bf_quantiles_destroy(q), bf_quantiles_destroy(was), bf_quantiles_destroy(median);
    return true;
}

/* ---- histograms and groups ------------------------------------------------------------------- */

static inline bool merge_counts(bf_comm *comm, bf_context *context, void *arg) {
    const problem *p = arg;
    int rank = bf_comm_rank(comm), count = bf_comm_ranks(comm);
    int64_t first = part_begin(N, rank, count), end = part_begin(N, rank + 1, count);
    for (int64_t bins = 7; bins < 3000; bins *= 20) {
        const bf_histogram_options o =
            BF_HISTOGRAM_OPTIONS(.bins = bins, .range = 1, .lo = -2, .hi = 2,
                                 .weights = bins == 7 ? 0 : BF_F64);
        bf_array part = part_of(p, first, end), all = part_of(p, 0, N);
        bf_array weights = bf_array_of(BF_F64, p->weights + first, end - first);
        bf_array every = bf_array_of(BF_F64, p->weights, N);
        bf_histogram *h = NULL, *whole = NULL;
        CHECK(bf_histogram_create(context, p->dtype, &o, &h) == BF_OK);
        CHECK(bf_histogram_create(context, p->dtype, &o, &whole) == BF_OK);
        CHECK(bf_histogram_absorb(h, &part, o.weights ? &weights : NULL) == BF_OK);
        CHECK(bf_histogram_absorb(whole, &all, o.weights ? &every : NULL) == BF_OK);
        CHECK(bf_comm_merge_histogram(comm, h) == BF_OK);
        CHECK(same_form(h, whole));
        bf_histogram_destroy(h);
        bf_histogram_destroy(whole);
    }
    return true;
}

static inline bool refuse_bins(bf_comm *comm, bf_context *context, void *arg) {
    (void)arg;
    bf_histogram *h = NULL;
    const bf_histogram_options o =
        BF_HISTOGRAM_OPTIONS(.bins = 5, .range = 1, .lo = 0, .hi = bf_comm_rank(comm) == 2 ? 2 : 1);
    CHECK(bf_histogram_create(context, BF_F32, &o, &h) == BF_OK);
    CHECK(bf_comm_merge_histogram(comm, h) == BF_E_COMM);
    bf_histogram_destroy(h);
    return true;
}

static inline bool absorb_rows(bf_groups *g, const problem *p, int64_t first, int64_t end) {
    bf_array keys = bf_array_of(BF_I32, p->keys + first, end - first);
    bf_array values = part_of(p, first, end);
    const bf_array *columns[] = {&values, &values};
    return bf_groups_absorb(g, &keys, columns) == BF_OK;
}

/* Merges the groups of all ranks by gathering them; they are those of all rows, each on one rank.
 */
static inline bool share_groups(bf_comm *comm, bf_context *context, void *arg) {
    const problem *p = arg;
    int rank = bf_comm_rank(comm), count = bf_comm_ranks(comm);
    const bf_aggregate aggregates[] = {{BF_STD, p->dtype}, {BF_MIN, p->dtype}};
    bf_groups_options o = BF_GROUPS_OPTIONS(.key = BF_I32, .count = 2, .aggregates = aggregates,
                                            .seed = (uint64_t)rank);
    bf_groups *g = NULL, *whole = NULL, *parts[RANKS_MOST];
    CHECK(bf_groups_create(context, &o, &g) == BF_OK);
    o.seed = 0;
    CHECK(bf_groups_create(context, &o, &whole) == BF_OK);
    CHECK(absorb_rows(g, p, part_begin(N, rank, count), part_begin(N, rank + 1, count)));
    CHECK(absorb_rows(whole, p, 0, N));
    CHECK(bf_comm_exchange_groups(comm, g) == BF_OK);
    CHECK(bf_groups_split(whole, count, parts) == BF_OK);
    int64_t size = bf_groups_size(g), n = bf_groups_size(parts[rank]), groups = 0, rows = 0;
    CHECK(size == n && bf_groups_rows(g) == bf_groups_rows(parts[rank]));
    CHECK(size > 0 && (count == 1 || size < 3 * KEYS / count));
    int32_t keys[2][KEYS];
    bf_value values[2][KEYS];
    bf_array at[] = {bf_array_of(BF_I32, keys[0], n), bf_array_of(BF_I32, keys[1], n)};
    CHECK(bf_groups_list(g, &at[0], NULL) == BF_OK);
    CHECK(bf_groups_list(parts[rank], &at[1], NULL) == BF_OK);
    CHECK(memcmp(keys[0], keys[1], (size_t)n * 4) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(bf_groups_result(g, i, NULL, values[0]) == BF_OK);
        CHECK(bf_groups_result(parts[rank], i, NULL, values[1]) == BF_OK);
        for (int64_t k = 0; k < n; k++)
            CHECK(memcmp(&values[0][k].as, &values[1][k].as, sizeof values[0][k].as) == 0);
    }
    for (int r = 0; r < count; r++) {
        groups += bf_groups_size(parts[r]);
        rows += bf_groups_rows(parts[r]);
        bf_groups_destroy(parts[r]);
    }
    CHECK(groups == bf_groups_size(whole) && rows == N);
    bf_groups_destroy(g);
    bf_groups_destroy(whole);
    return true;
}

#endif
