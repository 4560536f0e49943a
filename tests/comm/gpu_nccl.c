/* Sums over ranks by NCCL, against exact sums. Each rank has a GPU; one thread drives them all. */
#include "tests/comm/links.h"

/* Returns false where there is no NCCL, or no GPU for each rank. */
static bool open_nccl(int ranks, double limit) {
    char why[BF_MESSAGE_TEXT];
    bf_link_options options = {.limit = limit, .by_nccl = true};
    if (gpus < ranks) return false;
    assert_int_equal(by->link_local(contexts, ranks, &options, links, why), BF_OK);
    if (links[0] == NULL) print_message("no links: %s\n", why);
    return links[0] != NULL;
}

static void what_links_can_do(void **unused) {
    (void)unused;
    bf_sums job = {.dtype = BF_F32, .n = 4, .in = on_device[0], .terms = 1, .out = on_device[0]};
    if (!open_nccl(2, 20)) skip();
    assert_false(by->is_capturable(links[0]));
    assert_true(by->can_sum(links[0], &job));
    job.terms = 2;
    assert_false(by->can_sum(links[0], &job));
    close_links(2);
}

/* Arrays of one piece and of several, to all, owners and a root. */
static void sums_are_exact(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {1, 1001, 20011, 150001};
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_BF16, BF_I32, BF_U8};
    for (int ranks = 2; ranks <= RANKS; ranks++) {
        one c = {.ranks = ranks, .terms = 1};
        if (!open_nccl(ranks, 20)) {
            if (ranks == 2) skip();
            return;
        }
        for (int i = 0; i < 4; i++)
            for (int d = 0; d < 5; d++)
                for (int to = BF_SUMS_TO_ALL; to <= BF_SUMS_TO_ROOT; to++) {
                    c.to = (bf_sums_to)to;
                    c.dtype = dtypes[d];
                    c.root = (i + d) % ranks;
                    c.n = to == BF_SUMS_TO_OWNERS ? (sizes[i] / ranks + 1) * ranks : sizes[i];
                    c.kind = is_float(c.dtype) ? KIND_FULL : d == 4 ? KIND_EXTREME : KIND_NARROW;
                    c.in_place = (i + d + to) % 2;
                    c.offset = i == 1 ? 8 : 0;
                    check(&c, (uint64_t)i);
                }
        close_links(ranks);
    }
}

static void a_rank_that_does_not_come(void **unused) {
    (void)unused;
    one c = {.ranks = 2, .terms = 1, .n = 1000, .dtype = BF_F32};
    if (!open_nccl(2, 0.2)) skip();
    prepare(&c, 1);
    bf_sums job = job_of(&c, 0);
    print_message("one rank waits\n");
    assert_int_equal(by->sum(links[0], &job, true), BF_E_COMM);
    assert_int_equal(by->sum(links[0], &job, false), BF_E_COMM);
    print_message("links close\n");
    close_links(2);
}

/* Closing a link ends the sums that no other rank takes part in. */
static void links_close_before_all_ranks_come(void **unused) {
    (void)unused;
    one c = {.ranks = 2, .terms = 1, .n = 1000, .dtype = BF_F32};
    if (!open_nccl(2, 20)) skip();
    prepare(&c, 1);
    bf_sums job = job_of(&c, 0);
    assert_int_equal(by->sum(links[0], &job, false), BF_OK);
    print_message("links close\n");
    close_links(2);
    assert_int_equal(bf_context_synchronize(contexts[0]), BF_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_links_can_do),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(a_rank_that_does_not_come),
        cmocka_unit_test(links_close_before_all_ranks_come),
    };
    return RUN_ON_GPU(tests);
}
