/* Many states of ranks on linked GPUs merge there to those of all data. Ranks share GPUs where
 * there are fewer of them. */
#include "api/comm/comm.h"
#include "seam/backend.h"
#include "tests/comm/merges.h"
#include "tests/support/run.h"

#include <stdatomic.h>

static const bf_comm_backend *by;
static bf_context *contexts[RANKS_MOST];
static atomic_int summed; /* arrays, over links */

static int set_up(void **unused) {
    (void)unused;
    by = bf_backend_gpu()->comm;
    for (int r = 0; r < RANKS_MOST; r++) {
        char name[BF_DEVICE_TEXT];
        bf_device_format(r % bf_device_count(), name);
        if (bf_context_create(&BF_OPTIONS(.device = name), &contexts[r])) return -1;
    }
    return 0;
}

static int tear_down(void **unused) {
    (void)unused;
    for (int r = 0; r < RANKS_MOST; r++) bf_context_destroy(contexts[r]);
    return 0;
}

static bf_status count_sum(bf_link *link, const bf_sums *job, bool waits) {
    summed++;
    return by->sum(link, job, waits);
}

/* Runs work on ranks whose communicators have links, also where they share a GPU. */
static void on_linked(int ranks, rank_work *work, void *arg) {
    bf_comm *comms[RANKS_MOST];
    bf_link *links[RANKS_MOST];
    rank_thread r[RANKS_MOST];
    char why[BF_MESSAGE_TEXT];
    const bf_link_options options = {.limit = 20, .small_bytes = 1 << 13, .shared = true};
    bf_comm_backend counting = *by;
    counting.sum = count_sum;
    summed = 0;
    assert_int_equal(bf_comm_create_local(contexts, ranks, comms), BF_OK);
    const bool is_linked = comms[0]->link != NULL;
    if (!is_linked) assert_int_equal(by->link_local(contexts, ranks, &options, links, why), BF_OK);
    for (int i = 0; i < ranks; i++) {
        if (!is_linked) comms[i]->link = links[i];
        comms[i]->by = &counting;
        r[i] = (rank_thread){comms[i], contexts[i], work, arg, false};
    }
    each_rank(r, ranks);
    for (int i = 0; i < ranks; i++) bf_comm_destroy(comms[i]);
}

/* The elements of ranks have other exponents, and those of some ranks NaN and -0. */
static problem *make_uneven(bf_dtype dtype) {
    problem *p = make_problem(dtype, KIND_SUBNORMAL);
    const size_t bytes = bf_dtype_size(dtype);
    fill(dtype, p->data + N / 2 * bytes, N / 2, KIND_HUGE, 3);
    if (!is_float(dtype)) return p;
    memset(p->data + (N - 9) * bytes, 0xff, 3 * bytes);
    store_bits(p->data + (N - 4) * bytes, bytes, sign_bit(dtype));
    return p;
}

/* Sums and deviations are merged by the link, three times each; the others are not. */
static void many_states_merge_to_those_of_all(void **unused) {
    (void)unused;
    static const int rank_counts[] = {1, 2, 3, 4, 8};
    for (int d = 0; d < DTYPE_COUNT; d++) {
        problem *each[] = {make_uneven(all_dtypes[d]), make_problem(all_dtypes[d], KIND_FULL)};
        for (int i = 0; i < 2; i++) {
            const int ranks = rank_counts[(d + i) % 5];
            on_linked(ranks, merge_many_states, each[i]);
            if (summed < 2 * 3 * 2 * ranks) fail_msg("%d sums of %d ranks", summed, ranks);
            free(each[i]);
        }
    }
}

static void what_one_rank_refuses_all_refuse(void **unused) {
    (void)unused;
    problem *p = make_problem(BF_F64, KIND_NARROW);
    on_linked(3, refuse_many, p);
    free(p);
}

int main(void) {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); /* ranks that share a GPU run at once */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_states_merge_to_those_of_all),
        cmocka_unit_test(what_one_rank_refuses_all_refuse),
    };
    return RUN_ON_GPU(tests);
}
