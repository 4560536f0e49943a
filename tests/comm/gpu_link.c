/* Sums over ranks on GPUs that reach each other's memory, against exact sums. */
#include "tests/comm/links.h"

/* Arrays of up to SMALL bytes go in packets, others in steps. */
enum { SMALL = 1 << 13 };

static void open_links_of(int ranks, bf_link_options options) {
    char why[BF_MESSAGE_TEXT];
    assert_int_equal(by->link_local(contexts, ranks, &options, links, why), BF_OK);
    if (links[0] == NULL) fail_msg("no links: %s", why);
}

static void open_links(int ranks, double limit) {
    open_links_of(ranks, (bf_link_options){.limit = limit, .small_bytes = SMALL, .shared = true});
}

static const int rank_counts[] = {1, 2, 3, 4, 8};

static void sums_of_every_dtype_are_exact(void **unused) {
    (void)unused;
    for (int k = 0; k < 5; k++) {
        one c = {.ranks = rank_counts[k], .terms = 1};
        open_links(c.ranks, 20);
        for (int d = 0; d < 2 * DTYPE_COUNT; d++) {
            c.dtype = all_dtypes[d / 2];
            c.n = d % 2 ? 1003 : 20011;
            if (c.dtype == BF_BOOL) continue;
            for (c.kind = 0; c.kind < KIND_COUNT; c.kind++) check(&c, 100u * (unsigned)d);
        }
        close_links(c.ranks);
    }
}

static void sizes_and_alignments(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {1,    2,    3,    7,    31,   257,  1023, 1024,  1025,   2047,
                                    2048, 2049, 4095, 4096, 4097, 8191, 8193, 30011, 1 << 17};
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_BF16, BF_I8, BF_U64};
    static const int offsets[] = {0, 16, 8, 4, 3};
    for (int k = 1; k < 5; k++) {
        one c = {.ranks = rank_counts[k], .terms = 1, .kind = KIND_NARROW};
        open_links(c.ranks, 20);
        for (int i = 0; i < 19; i++)
            for (int d = 0; d < 5; d++)
                for (int o = 0; o < 5; o++) {
                    c.n = sizes[i];
                    c.dtype = dtypes[d];
                    c.offset = offsets[o];
                    c.in_place = (i + d + o) % 2;
                    c.kind = c.dtype == BF_I8 ? KIND_EXTREME : KIND_NARROW;
                    check(&c, (uint64_t)i);
                }
        close_links(c.ranks);
    }
}

/* Where a thread has two vectors, and beyond. */
static void arrays_at_the_limit(void **unused) {
    (void)unused;
    for (int k = 1; k < 5; k++) {
        one c = {.ranks = rank_counts[k], .terms = 1, .kind = KIND_FULL};
        int64_t limit = (1 << 20) / (c.ranks - 1);
        open_links_of(c.ranks, (bf_link_options){.limit = 20, .shared = true});
        for (int i = 0; i < 4; i++) {
            c.dtype = i == 1 ? BF_F64 : i == 2 ? BF_BF16 : i == 3 ? BF_U16 : BF_F32;
            c.to = i == 1 ? BF_SUMS_TO_ROOT : i == 2 ? BF_SUMS_TO_OWNERS : BF_SUMS_TO_ALL;
            c.n = limit / (int64_t)bf_dtype_size(c.dtype) / c.ranks * c.ranks;
            c.kind = i == 3 ? KIND_NARROW : KIND_FULL;
            check(&c, (uint64_t)i);
            c.n += c.ranks;
            check(&c, (uint64_t)i);
        }
        close_links(c.ranks);
    }
}

static void many_terms(void **unused) {
    (void)unused;
    static const int terms[] = {2, 3, 8, 33, 127};
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_BF16, BF_I32};
    for (int k = 0; k < 5; k++) {
        one c = {.ranks = rank_counts[k]};
        open_links(c.ranks, 20);
        for (int t = 0; t < 5; t++)
            for (int d = 0; d < 4; d++)
                for (int kind = 0; kind < 2; kind++)
                    for (int size = 0; size < 2; size++) {
                        c.terms = terms[t];
                        c.dtype = dtypes[d];
                        c.kind = kind ? KIND_FULL : KIND_NARROW;
                        c.n = !size ? 501 : c.terms < 8 ? 30001 : 5001;
                        c.in_place = size;
                        if (c.dtype == BF_I32) c.kind = KIND_NARROW;
                        check(&c, (uint64_t)t);
                    }
        close_links(c.ranks);
    }
}

static void parts_and_roots(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {1, 5, 1000, 9999, 30000};
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_F16, BF_I16};
    for (int k = 1; k < 5; k++) {
        one c = {.ranks = rank_counts[k]};
        open_links(c.ranks, 20);
        for (int i = 0; i < 5; i++)
            for (int d = 0; d < 4; d++)
                for (int terms = 1; terms < 4; terms += 2)
                    for (int to = BF_SUMS_TO_OWNERS; to <= BF_SUMS_TO_ROOT; to++) {
                        c.to = (bf_sums_to)to;
                        c.dtype = dtypes[d];
                        c.terms = terms;
                        c.root = (i + d) % c.ranks;
                        c.n = to == BF_SUMS_TO_OWNERS ? sizes[i] * c.ranks : sizes[i] * 3;
                        c.kind = is_float(c.dtype) ? KIND_FULL : i % 2 ? KIND_EXTREME : KIND_NARROW;
                        c.in_place = (i + d + terms / 2) % 2;
                        c.offset = i == 2 ? 8 : 0;
                        check(&c, (uint64_t)i);
                    }
        close_links(c.ranks);
    }
}

/* Calls of different sizes and kinds, with nothing between them that waits. */
static void calls_follow_each_other(void **unused) {
    (void)unused;
    for (int k = 1; k < 5; k++) {
        one c = {.ranks = rank_counts[k], .terms = 1, .n = 1 << 17, .kind = KIND_NARROW};
        one small = {.ranks = c.ranks, .terms = 2, .n = 77, .dtype = BF_F64, .offset = 30 << 20};
        one packets = {.ranks = c.ranks, .terms = 1, .n = 900, .dtype = BF_F64, .offset = 32 << 20};
        open_links(c.ranks, 20);
        c.dtype = BF_F32;
        prepare(&small, 3);
        prepare(&packets, 3);
        prepare(&c, 4);
        for (int i = 0; i < 100; i++) {
            one other = i % 7 > 3 ? packets : i % 3 ? small : c;
            other.to = i % 5 == 0 ? BF_SUMS_TO_ROOT : BF_SUMS_TO_ALL;
            other.root = i % c.ranks;
            enqueue(&other);
        }
        for (int r = 0; r < c.ranks; r++)
            assert_int_equal(bf_context_synchronize(contexts[r]), BF_OK);
        compare(&c);
        close_links(c.ranks);
    }
}

static void run_graphs(int64_t n) {
    cudaStream_t streams[2];
    cudaGraphExec_t graphs[2];
    one c = {.ranks = 2, .terms = 1, .n = n, .dtype = BF_F32, .kind = KIND_FULL};
    open_links(c.ranks, 20);
    prepare(&c, 5);
    for (int r = 0; r < 2; r++) {
        cudaGraph_t graph;
        bf_sums job = job_of(&c, r);
        assert_cuda(cudaSetDevice(r % gpus));
        assert_cuda(cudaStreamCreateWithFlags(&streams[r], cudaStreamNonBlocking));
        assert_int_equal(bf_context_set_stream(contexts[r], streams[r]), BF_OK);
        assert_cuda(cudaStreamBeginCapture(streams[r], cudaStreamCaptureModeThreadLocal));
        assert_int_equal(by->sum(links[r], &job, false), BF_OK);
        assert_int_equal(by->sum(links[r], &job, true), BF_E_ARGUMENT);
        assert_cuda(cudaStreamEndCapture(streams[r], &graph));
        assert_cuda(cudaGraphInstantiate(&graphs[r], graph, 0));
        assert_cuda(cudaGraphDestroy(graph));
    }
    for (int i = 0; i < 5; i++) {
        prepare(&c, 6 + (uint64_t)i);
        for (int r = 0; r < 2; r++) {
            assert_cuda(cudaSetDevice(r % gpus));
            assert_cuda(cudaGraphLaunch(graphs[r], streams[r]));
        }
        if (i == 2) enqueue(&c);
        for (int r = 0; r < 2; r++) assert_cuda(cudaStreamSynchronize(streams[r]));
        compare(&c);
    }
    for (int r = 0; r < 2; r++) {
        assert_int_equal(bf_context_set_stream(contexts[r], NULL), BF_OK);
        assert_cuda(cudaGraphExecDestroy(graphs[r]));
        assert_cuda(cudaStreamDestroy(streams[r]));
    }
    assert_cuda(cudaSetDevice(0));
    close_links(c.ranks);
}

static void graphs_run_again(void **unused) {
    (void)unused;
    run_graphs(1003);
    run_graphs(100003);
}

static void miss_rank(int64_t n) {
    one c = {.ranks = 3, .terms = 1, .n = n, .dtype = BF_F32};
    open_links(c.ranks, 0.1);
    prepare(&c, 1);
    for (int r = 0; r < 2; r++) {
        bf_sums job = job_of(&c, r);
        assert_int_equal(by->sum(links[r], &job, false), BF_OK);
    }
    for (int r = 0; r < 2; r++) assert_int_equal(bf_context_synchronize(contexts[r]), BF_E_COMM);
    for (int r = 0; r < 3; r++) {
        bf_sums job = job_of(&c, r);
        assert_int_equal(by->sum(links[r], &job, true), BF_E_COMM);
    }
    close_links(c.ranks);
}

static void a_rank_that_does_not_come(void **unused) {
    (void)unused;
    miss_rank(1000);
    miss_rank(100000);
}

static void ranks_that_disagree(void **unused) {
    (void)unused;
    for (int i = 0; i < 6; i++) {
        int k = i / 2;
        one c = {.ranks = 3, .terms = 1, .n = i % 2 ? 1000 : 100000, .dtype = BF_F32};
        open_links(c.ranks, 20);
        prepare(&c, 1);
        for (int r = 0; r < 3; r++) {
            bf_sums job = job_of(&c, r);
            if (r == 1 && k == 0) job.n = 7;
            if (r == 1 && k == 1) job.dtype = BF_I32;
            if (r == 1 && k == 2) job.to = BF_SUMS_TO_ROOT;
            assert_int_equal(by->sum(links[r], &job, false), BF_OK);
        }
        for (int r = 0; r < 3; r++)
            assert_int_equal(bf_context_synchronize(contexts[r]), BF_E_COMM);
        close_links(c.ranks);
    }
}

static void what_cannot_be_linked(void **unused) {
    (void)unused;
    char why[BF_MESSAGE_TEXT];
    bf_context *same[] = {contexts[0], contexts[0]};
    bf_link_options options = {.limit = 0};
    assert_int_equal(by->link_local(same, 2, &options, links, why), BF_OK);
    assert_null(links[0]);
    assert_string_equal(why, "two ranks share a GPU");
    open_links(1, 0);
    bf_sums job = {.dtype = BF_F32, .n = 4, .in = on_host[0], .terms = 1, .out = on_device[0]};
    assert_false(by->can_sum(links[0], &job));
    assert_int_equal(by->sum(links[0], &job, true), BF_E_ARGUMENT);
    job.in = on_device[0];
    job.terms = 1000;
    assert_int_equal(by->sum(links[0], &job, true), BF_E_ARGUMENT);
    close_links(1);
}

int main(void) {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); /* ranks that share a GPU run at once */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_linked),
        cmocka_unit_test(sums_of_every_dtype_are_exact),
        cmocka_unit_test(sizes_and_alignments),
        cmocka_unit_test(arrays_at_the_limit),
        cmocka_unit_test(many_terms),
        cmocka_unit_test(parts_and_roots),
        cmocka_unit_test(calls_follow_each_other),
        cmocka_unit_test(graphs_run_again),
        cmocka_unit_test(a_rank_that_does_not_come),
        cmocka_unit_test(ranks_that_disagree),
    };
    return RUN_ON_GPU(tests);
}
