/* bf_map on a GPU gives the bits and the messages of the CPU's rules: every operation, dtype and
 * policy, wherever the operands are and however they are aligned. */
#include "tests/map/gpu_problem.h"

static void every_operation_gives_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {1, 3, 255, 4097};
    uint64_t seed = 1;
    for (int op = BF_MAP_ADD; op < BF_MAP_CAST; op++) {
        for (int d = 0; d < DTYPE_COUNT; d++) {
            for (int s = 0; s < 4; s++) {
                bf_dtype t = all_dtypes[d];
                problem p = problem_of((bf_map_op)op, t, t, t, sizes[s]);
                every_policy(&p, &seed);
            }
        }
    }
}

static void mixed_dtypes_meet(void **unused) {
    (void)unused;
    uint64_t seed = 2;
    for (int op = BF_MAP_ADD; op < BF_MAP_CAST; op++) {
        for (int a = 0; a < DTYPE_COUNT; a++) {
            for (int b = 0; b < DTYPE_COUNT && bf_map_arity((bf_map_op)op) > 1; b++) {
                bf_dtype c = all_dtypes[next_random(&seed) % DTYPE_COUNT];
                problem p = problem_of((bf_map_op)op, all_dtypes[a], all_dtypes[b], c, 1025);
                every_policy(&p, &seed);
            }
        }
    }
}

static void casts_give_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    uint64_t seed = 3;
    for (int from = 0; from < DTYPE_COUNT; from++) {
        for (int to = 0; to < DTYPE_COUNT; to++) {
            for (int64_t n = 1; n < 20000; n = 19 * n + 4) {
                bf_dtype t = all_dtypes[to];
                problem p = problem_of(BF_MAP_CAST, all_dtypes[from], t, t, n);
                p.place[OUT] = (place)(n % PLACES);
                every_policy(&p, &seed);
            }
        }
    }
}

/* Every byte offset of an input and of the output, alike and apart. */
static void alignment_does_not_show(void **unused) {
    (void)unused;
    uint64_t seed = 4;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int offset = 0; offset < 256; offset++) {
            bf_dtype t = all_dtypes[d];
            problem p = problem_of(offset % 3 ? BF_MAP_MAX : BF_MAP_LE, t, t, t, 517);
            p.offset[0] = p.offset[1] = offset % 16;
            p.offset[OUT] = offset / 16;
            for (int k = 0; k < 3; k++) fill_input(&p, k, any_kind(&seed), &seed);
            check(&p);
            p.offset[1] = p.offset[OUT];
            check(&p);
        }
    }
}

static void any_memory_will_do(void **unused) {
    (void)unused;
    uint64_t seed = 5;
    for (int places = 0; places < PLACES * PLACES * PLACES; places++) {
        for (int d = 0; d < DTYPE_COUNT; d++) {
            bf_dtype t = all_dtypes[d];
            problem p = problem_of(BF_MAP_FMA, t, t, t, 1003);
            p.place[0] = (place)(places % PLACES);
            p.place[1] = p.place[2] = (place)(places / PLACES % PLACES);
            p.place[OUT] = (place)(places / PLACES / PLACES);
            every_policy(&p, &seed);
        }
    }
}

/* So large that a thread takes several vectors, that arrays are streamed, that blocks are cut. */
static void large_arrays(void **unused) {
    (void)unused;
    uint64_t seed = 6;
    static const bf_map_op ops[] = {BF_MAP_ADD, BF_MAP_FMA, BF_MAP_LT, BF_MAP_CAST};
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int i = 0; i < 4; i++) {
            bf_dtype t = all_dtypes[d], other = all_dtypes[(d + 5) % DTYPE_COUNT];
            problem p = problem_of(ops[i], t, i < 3 ? t : other, t, MOST);
            p.overflow = BF_OVERFLOW_SATURATE;
            p.place[i] = (place)(d % PLACES);
            for (int k = 0; k < 3; k++) fill_input(&p, k, any_kind(&seed), &seed);
            check(&p);
        }
    }
}

/* 2^25 + 5 elements in the GPU's memory: past the size from which stores are streamed. */
static void huge_arrays(void **unused) {
    (void)unused;
    enum { N = (1 << 25) + 5 };
    float *x = malloc(4 * (size_t)N), *out = malloc(4 * (size_t)N);
    void *a, *b;
    assert_true(x != NULL && out != NULL);
    for (int i = 0; i < N; i++) x[i] = (float)(i % 65536) * 0.37f;
    assert_int_equal(bf_memory_allocate(gpu, 4 * (size_t)N, &a), BF_OK);
    assert_int_equal(bf_memory_allocate(gpu, 4 * (size_t)N, &b), BF_OK);
    copy(a, x, 4 * (size_t)N);
    assert_int_equal(bf_mul_f32(gpu, a, a, N, b), BF_OK);
    copy(out, b, 4 * (size_t)N);
    for (int i = 0; i < N; i++) assert_true(out[i] == x[i] * x[i]);
    assert_int_equal(bf_add_f32(gpu, out, x, N, out), BF_OK); /* staged, in several pieces */
    for (int i = 0; i < N; i++) {
        volatile float square = x[i] * x[i]; /* rounded: not contracted */
        assert_true(out[i] == square + x[i]);
    }
    int32_t least = INT32_MIN; /* found in the last piece */
    memset(x, 0, 4 * (size_t)N);
    memcpy(x + N - 3, &least, 4);
    bf_array in = bf_array_of(BF_I32, x, N), to = bf_array_of(BF_I32, out, N);
    const bf_array *inputs[] = {&in};
    assert_int_equal(bf_map(gpu, BF_MAP_NEG, inputs, 1, NULL, &to), BF_E_OVERFLOW);
    assert_non_null(strstr(bf_context_message(gpu), "index 33554434 "));
    bf_memory_free(gpu, a);
    bf_memory_free(gpu, b);
    free(x);
    free(out);
}

static void single_inputs_stand_for_all(void **unused) {
    (void)unused;
    uint64_t seed = 7;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int i = 0; i < PLACES * 8; i++) {
            bf_dtype t = all_dtypes[d], other = i % 3 ? t : all_dtypes[(d + i) % DTYPE_COUNT];
            problem p = problem_of(BF_MAP_FMA, t, other, t, 333);
            for (int k = 0; k < 3; k++)
                if (i % 8 >> k & 1) p.count[k] = 1, p.place[k] = (place)(i / 8);
            every_policy(&p, &seed);
        }
        problem p = problem_of(BF_MAP_CAST, all_dtypes[d], BF_F32, BF_F32, 333);
        p.count[0] = 1;
        every_policy(&p, &seed);
    }
}

static void plain_numbers(void **unused) {
    (void)unused;
    uint64_t seed = 8;
    double half = 0.5;
    int64_t two = 2;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int i = 0; i < 2; i++) {
            problem p = problem_of(BF_MAP_MUL, all_dtypes[d], i ? BF_F64 : BF_I64, BF_F64, 257);
            p.weak = 2;
            p.count[1] = 1;
            p.place[1] = HOST;
            if (bf_map_result_dtype(p.op, p.from, 2, p.weak, &p.to) != BF_OK) continue;
            fill_input(&p, 0, KIND_NARROW, &seed);
            memcpy(data[1], i ? (const void *)&half : &two, 8);
            check(&p);
            p.op = BF_MAP_DIV;
            if (bf_map_result_dtype(p.op, p.from, 2, p.weak, &p.to) == BF_OK) check(&p);
        }
    }
}

static void in_place(void **unused) {
    (void)unused;
    uint64_t seed = 9;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int where = 0; where < PLACES; where++) {
            bf_dtype t = all_dtypes[d];
            problem p = problem_of(BF_MAP_MIN, t, t, t, 3001);
            char *operands[OPERANDS];
            for (int k = 0; k < 3; k++) fill_input(&p, k, any_kind(&seed), &seed);
            for (int k = 0; k < 3; k++) operands[k] = memory[where][k];
            for (int k = 0; k < 2; k++) copy(operands[k], data[k], bytes_of(&p, k));
            operands[OUT] = operands[where % 2];
            assert_int_equal(call(cpu, &p, data), BF_OK);
            assert_int_equal(call(gpu, &p, operands), BF_OK);
            copy(found, operands[OUT], bytes_of(&p, OUT));
            assert_memory_equal(found, data[OUT], bytes_of(&p, OUT));
        }
    }
}

/* --- failures --- */

/* The least of three places, in a large array. */
static void the_first_failure_is_found(void **unused) {
    (void)unused;
    uint64_t seed = 10;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        bf_dtype t = all_dtypes[d];
        if (t == BF_BOOL || is_float(t)) continue;
        size_t bytes = bf_dtype_size(t);
        problem p = problem_of(BF_MAP_ADD, t, t, t, MOST);
        p.index = 1000000000000;
        memset(data[0], 1, bytes_of(&p, 0));
        memset(data[1], 0, bytes_of(&p, 1));
        for (int i = 0; i < 6; i++) {
            size_t where = next_random(&seed) % MOST;
            memset(data[0] + where * bytes, 0x7f, bytes);
            memset(data[1] + where * bytes, is_signed(t) ? 0x7f : 0xff, bytes);
            p.async = i % 2 == 1;
            p.place[0] = p.async ? DEVICE : (place)(i % PLACES);
            p.offset[1] = p.async ? 0 : i % 2;
            check(&p);
        }
    }
}

static void integer_division_by_zero_is_an_error(void **unused) {
    (void)unused;
    problem p = problem_of(BF_MAP_DIV, BF_I32, BF_U8, BF_U8, 70000);
    memset(data[0], 3, bytes_of(&p, 0));
    memset(data[1], 7, bytes_of(&p, 1));
    for (int i = 0; i < 3; i++) {
        p.async = i == 2;
        check(&p);
        data[1][69000 - 1000 * i] = 0;
        check(&p);
    }
}

static void synchronize_reports_once(void **unused) {
    (void)unused;
    problem p = problem_of(BF_MAP_NEG, BF_U16, BF_U16, BF_U16, 1000);
    memset(data[0], 1, bytes_of(&p, 0));
    p.async = true;
    check(&p);
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    memset(data[0], 0, bytes_of(&p, 0));
    check(&p);
}

static void async_refuses_what_the_gpu_cannot_reach(void **unused) {
    (void)unused;
    problem p = problem_of(BF_MAP_ADD, BF_F64, BF_F64, BF_F64, 1000);
    char *operands[OPERANDS];
    p.async = true;
    for (int k = 0; k < OPERANDS; k++) operands[k] = memory[DEVICE][k];
    operands[1] = data[1];
    assert_int_equal(call(gpu, &p, operands), BF_E_ARGUMENT);
}

/* --- strides, streams and graphs --- */

/* Rows and columns exchanged, backwards, repeated, and with gaps. */
static void any_strides_will_do(void **unused) {
    (void)unused;
    enum { ROWS = 37, COLUMNS = 53, GAP = 3 };
    uint64_t seed = 11;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int i = 0; i < 2 * PLACES; i++) {
            bf_dtype t = all_dtypes[d];
            int64_t n = ROWS * COLUMNS;
            problem p = problem_of(BF_MAP_MAX, t, t, t, n * GAP);
            char *base[2][3] = {{data[0], data[1], data[OUT]}, {NULL}};
            for (int k = 0; k < 2; k++) fill_input(&p, k, any_kind(&seed), &seed);
            memset(data[OUT], 0, bytes_of(&p, OUT));
            for (int k = 0; k < 3; k++) {
                int operand = k < 2 ? k : OUT;
                base[1][k] = memory[i % PLACES][operand] + (i < PLACES ? 0 : 1);
                copy(base[1][k], data[operand], bytes_of(&p, operand));
            }
            for (int side = 0; side < 2; side++) {
                bf_array a = bf_array_of(t, base[side][0], n), b = a, out = a;
                a.ndim = b.ndim = out.ndim = 2;
                a.shape[0] = b.shape[0] = out.shape[0] = ROWS;
                a.shape[1] = b.shape[1] = out.shape[1] = COLUMNS;
                a.strides[0] = 1, a.strides[1] = ROWS;
                b.data = base[side][1] + (size_t)(n - 1) * bf_dtype_size(t);
                b.strides[0] = -COLUMNS, b.strides[1] = -1;
                out.data = base[side][2];
                out.strides[0] = COLUMNS * GAP, out.strides[1] = GAP;
                const bf_array *inputs[2] = {&a, &b};
                assert_int_equal(bf_map(side ? gpu : cpu, p.op, inputs, 2, NULL, &out), BF_OK);
            }
            copy(found, base[1][2], bytes_of(&p, OUT));
            assert_memory_equal(found, data[OUT], bytes_of(&p, OUT));
        }
    }
}

static void a_captured_call_can_be_replayed(void **unused) {
    (void)unused;
    enum { N = 5000, REPLAYS = 1000 };
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int32_t *x = (int32_t *)(void *)data[0], *step = (int32_t *)(void *)data[1];
    problem p = problem_of(BF_MAP_ADD, BF_I32, BF_I32, BF_I32, N);
    for (int i = 0; i < N; i++) x[i] = -i, step[i] = i;
    char *operands[OPERANDS];
    for (int k = 0; k < OPERANDS; k++) operands[k] = memory[DEVICE][k];
    operands[OUT] = operands[0];
    for (int k = 0; k < 2; k++) copy(operands[k], data[k], bytes_of(&p, k));
    bf_array a = bf_array_of(BF_I32, operands[0], N), b = bf_array_of(BF_I32, operands[1], N);
    const bf_array *inputs[] = {&a, &b};
    assert_int_equal(cudaStreamCreate(&stream), cudaSuccess);
    assert_int_equal(bf_context_set_stream(gpu, stream), BF_OK);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    assert_int_equal(bf_map_async(gpu, BF_MAP_ADD, inputs, 2, NULL, &a), BF_OK);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    for (int i = 0; i < REPLAYS; i++) assert_int_equal(cudaGraphLaunch(exec, stream), cudaSuccess);
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    copy(found, operands[0], bytes_of(&p, 0));
    for (int i = 0; i < N; i++) assert_int_equal(((int32_t *)(void *)found)[i], (REPLAYS - 1) * i);
    assert_int_equal(bf_context_set_stream(gpu, NULL), BF_OK);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}

static void nothing_to_do(void **unused) {
    (void)unused;
    problem p = problem_of(BF_MAP_ADD, BF_F32, BF_F32, BF_F32, 0);
    check(&p);
    p.async = true;
    check(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_gives_the_bits_of_the_cpu),
        cmocka_unit_test(mixed_dtypes_meet),
        cmocka_unit_test(casts_give_the_bits_of_the_cpu),
        cmocka_unit_test(alignment_does_not_show),
        cmocka_unit_test(any_memory_will_do),
        cmocka_unit_test(large_arrays),
        cmocka_unit_test(huge_arrays),
        cmocka_unit_test(single_inputs_stand_for_all),
        cmocka_unit_test(plain_numbers),
        cmocka_unit_test(in_place),
        cmocka_unit_test(the_first_failure_is_found),
        cmocka_unit_test(integer_division_by_zero_is_an_error),
        cmocka_unit_test(synchronize_reports_once),
        cmocka_unit_test(async_refuses_what_the_gpu_cannot_reach),
        cmocka_unit_test(any_strides_will_do),
        cmocka_unit_test(a_captured_call_can_be_replayed),
        cmocka_unit_test(nothing_to_do),
    };
    return RUN_ON_GPU(tests);
}
