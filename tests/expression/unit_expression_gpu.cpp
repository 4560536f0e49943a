/* What the GPU's backend computes, on a fake GPU whose threads run one after another: random
 * programs give the CPU's bits, NULLs and failures, wherever the arrays are.
 * Builds: release, asan (full). */
#include <cmath>

#define __device__
#define __global__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__
static struct fake_place { unsigned x; } blockIdx, threadIdx, gridDim;
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
template <class T> inline T __shfl_xor_sync(unsigned, T x, int) { return x; } /* as well */
inline void __syncthreads() {} /* headers name these, and nobody calls them */
inline void __threadfence_system() {}
static inline unsigned long long atomicMin(unsigned long long *at, unsigned long long x) {
    unsigned long long before = *at;
    if (x < before) *at = x;
    return before;
}

namespace {
uint4 bf_cuda_kept_memory[1 << 13]; /* a block's */
}

/* The library may have a GPU's backend, too. */
#define bf_cuda_alloc fake_alloc
#define bf_cuda_free fake_release
#define bf_cuda_check fake_check
#define bf_cuda_copy fake_copy
#define bf_cuda_enter fake_enter
#define bf_cuda_expression_backend fake_expression_backend
#define bf_cuda_expression_computing fake_expression_computing
#define bf_cuda_expression_kept_bytes fake_expression_kept_bytes
#define bf_cuda_expression_kernel fake_expression_kernel
#define bf_cuda_expression_place fake_expression_place
#define bf_cuda_expression_translate fake_expression_translate
#define bf_cuda_fail fake_fail
#define bf_cuda_fetch_failure fake_fetch_failure
#define bf_cuda_gather fake_gather
#define bf_cuda_in_place fake_in_place
#define bf_cuda_launch fake_launch_kernel
#define bf_cuda_leave fake_leave
#define bf_cuda_reduce_computed fake_reduce_computed
#define bf_cuda_refuse_captured fake_refuse_captured
#define bf_cuda_scatter fake_scatter
#define bf_cuda_wait fake_wait

#pragma GCC diagnostic ignored "-Wunused-function" /* headers have such functions */
#include "cuda/expression/computed.cu"
#include "cuda/expression/expression.cu"
#include "cuda/expression/kernel.cu"

extern "C" {
#include "api/expression/expression.h"
#include "seam/reduce.h"
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

extern "C" {
#include "tests/support/sanitizer.h"
#include <cmocka.h>
}

#include <string>

static uint64_t seed = 1;
static uint64_t next_random() {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 32) * 0x9e3779b97f4a7c15u;
}
static unsigned below(unsigned n) { return (unsigned)((next_random() >> 32) % n); }

/* --- the rest of the fake backend --- */

static bf_context *context; /* the CPU's */
static bf_cuda gpu;
static fake_stream stream;
static bf_cuda_mailbox mailbox;
static bf_cuda_mailbox_memory letters;
static bool reachable[4]; /* is memory at such an address used in place? */

void *fake_alloc(bf_context *, size_t bytes) { return malloc(bytes + 1); }
void fake_release(bf_context *, void *memory) { free(memory); }
bf_status fake_copy(bf_context *, void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    return BF_OK;
}
bf_status fake_check(bf_context *, cudaError_t error, const char *) {
    return error == cudaSuccess ? BF_OK : BF_E_DEVICE;
}
bf_status fake_fail(bf_context *, cudaError_t, const char *) { return BF_E_DEVICE; }
bf_status fake_wait(bf_context *, cudaError_t error, const char *) {
    return fake_check(NULL, error, NULL);
}
bf_status fake_refuse_captured(bf_context *) { return BF_OK; }
int fake_enter(const bf_context *) { return -1; }
void fake_leave(int) {}
bool fake_in_place(const bf_context *, const void *p, int align) {
    return reachable[(uintptr_t)p / 4096 % 4] && (uintptr_t)p % (unsigned)align == 0;
}
bf_status fake_gather(bf_context *, const bf_strided *from, int64_t first, int64_t count,
                      void *to) {
    return bf_backend_cpu.memory->gather(NULL, from, first, count, to);
}
bf_status fake_scatter(bf_context *, const bf_strided *to, int64_t first, int64_t count,
                       const void *from) {
    return bf_backend_cpu.memory->scatter(NULL, to, first, count, from);
}
unsigned long long fake_fetch_failure(const bf_cuda *cuda, bf_cuda_failure which) {
    unsigned long long *at = &cuda->mailbox->memory->failures[which], found = *at;
    *at = BF_CUDA_NO_FAILURE;
    return found;
}

template <class Params>
static void run_kernel(const void *kernel, bf_cuda_shape shape, void *arguments) {
    typedef void run(const Params);
    run *start = (run *)(uintptr_t)kernel;
    gridDim.x = (unsigned)shape.blocks;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < (unsigned)shape.threads; threadIdx.x++)
            start(*(const Params *)arguments);
}
static int computing; /* launches of programs of floats */
cudaError_t fake_launch_kernel(const bf_cuda *, const void *kernel, bf_cuda_shape shape,
                               void **arguments) {
    const bool floats =
        kernel == fake_expression_computing(BF_F32) || kernel == fake_expression_computing(BF_F64);
    computing += floats;
    if (floats)
        run_kernel<bf_cuda_computed_job>(kernel, shape, arguments[0]);
    else
        run_kernel<bf_cuda_expression_params>(kernel, shape, arguments[0]);
    return cudaSuccess;
}

/* Computes terms as the kernel of sums does, which warps compute together; the CPU adds them. */
enum { SIZE_OF_STRIP = 3 };
template <class T, int columns>
static void compute_strip(const bf_cuda_computed *program, int64_t first, T *out) {
    const int N = 16 / (int)sizeof(T), size = SIZE_OF_STRIP;
    uint4 column[columns][size];
    for (int i = 0; i < columns; i++) {
        T x[size * N];
        for (int k = 0; k < size * N; k++)
            x[k] = bf_cuda_computed_element<T>(program->column[i],
                                               first + bf_cuda_computed_offset<N>(k));
        memcpy(column[i], x, sizeof x);
    }
    bf_cuda_computing<T, size, N, false> c;
    c.run(*program, bf_cuda_computed_held<T, columns, size>{
                        *program, column, {bf_cuda_kept_memory + threadIdx.x, BF_CUDA_WARP}});
    for (int k = 0; k < size * N; k++) out[first + bf_cuda_computed_offset<N>(k)] = c.last[k];
}
template <class T> static void compute_end(const bf_cuda_computed *program, int64_t at, T *out) {
    bf_cuda_computing<T, 1, 1, false> c;
    c.run(*program, bf_cuda_computed_in_place<T, 1, 1>{
                        *program, {bf_cuda_kept_memory + threadIdx.x, BF_CUDA_WARP}, at});
    out[at] = c.last[0];
}
template <class T> static void compute_all(const bf_cuda_computed *program, int64_t count, T *out) {
    const int N = 16 / (int)sizeof(T);
    const bf_cuda_strips<SIZE_OF_STRIP * BF_CUDA_WARP * N, N> s(count, program->head);
    for (unsigned n = 0; n < s.strips; n++)
        for (threadIdx.x = 0; threadIdx.x < BF_CUDA_WARP; threadIdx.x++)
            if (program->columns == 1)
                compute_strip<T, 1>(program, s.first(n), out);
            else if (program->columns == 2)
                compute_strip<T, 2>(program, s.first(n), out);
            else
                compute_strip<T, 3>(program, s.first(n), out);
    for (int i = 0; i < s.ends(); i++) compute_end(program, s.end(i), out);
}
static int fused;
bf_status fake_reduce_computed(bf_context *, const bf_job *job, const bf_cuda_computed *program,
                               int64_t *words) {
    bf_job part = *job;
    void *terms = malloc((size_t)job->count * 8);
    fused++;
    if (job->dtype == BF_F32)
        compute_all(program, job->count, (float *)terms);
    else
        compute_all(program, job->count, (double *)terms);
    part.a = terms;
    bf_status status = bf_backend_cpu.reduce->absorb(context, &part, words);
    free(terms);
    return status;
}

/* --- random programs --- */

static std::string one_of(std::initializer_list<const char *> list) {
    return list.begin()[below((unsigned)list.size())];
}

static std::string make_text(int depth) {
    if (depth == 0) return one_of({"a", "b", "c", "a", "b", "c", "2", "0", "1.5", "1%0"});
    const std::string x = make_text((int)below((unsigned)depth)), y = make_text(depth - 1);
    switch (below(10)) {
    case 0: return "(" + x + one_of({"==", "!=", "<", "<=", ">", ">="}) + y + ")";
    case 1: return "(" + x + one_of({"&&", "||"}) + y + ")";
    case 2: return "(" + x + "?" + y + ":" + make_text(depth - 1) + ")";
    case 3:
        return one_of({"abs", "sqrt", "floor", "ceil", "isnan", "isnull", "-", "!"}) + "(" + x +
               ")";
    case 4: return one_of({"min", "max"}) + "(" + x + "," + y + ")";
    case 5: return "fma(" + x + "," + y + ",b)";
    case 6: return "(" + x + ")**" + one_of({"0", "1", "2", "3"});
    default: return "(" + x + one_of({"+", "-", "*", "/", "%"}) + y + ")";
    }
}

/* --- one program on both --- */

enum { MOST = 3000, COLUMNS = 3 };

struct arrays {
    alignas(4096) char column[COLUMNS][8 * MOST * 2 + 4096], out[2][8 * MOST * 2 + 4096];
    uint8_t nulls[COLUMNS][MOST / 8 + 2], valid[2][MOST];
};
static arrays room;

static bf_strided strided(char *data, bf_dtype dtype, int64_t n, int step) {
    bf_strided x = {};
    x.data = data;
    x.bytes = bf_dtype_bytes(dtype);
    x.ndim = 1;
    x.shape[0] = n;
    x.strides[0] = step;
    return x;
}

static int compared, failed;

static bf_status eval_on(bool fake, bf_expression_job *job, std::string *message) {
    bf_status status = fake ? fake_expression_backend.eval(context, job)
                            : bf_backend_cpu.expression->eval(context, job);
    *message = status == BF_OK ? "" : context->message;
    return status;
}

static void check_eval(const std::string &text, bf_expression_job *job, bf_dtype dtype, int step) {
    std::string messages[2];
    bf_status status[2];
    for (int side = 0; side < 2; side++) {
        memset(room.out[side], 0x55, sizeof room.out[side]);
        job->out = strided(room.out[side], dtype, job->count, step);
        if (job->valid != NULL) job->valid = room.valid[side];
        status[side] = eval_on(side == 1, job, &messages[side]);
    }
    if (status[0] != status[1] || messages[0] != messages[1])
        fail_msg("%s: %s, not %s", text.c_str(), messages[1].c_str(), messages[0].c_str());
    compared++;
    failed += status[0] != BF_OK;
    if (status[0] != BF_OK) return;
    if (memcmp(room.out[0], room.out[1], sizeof room.out[0]) != 0)
        fail_msg("%s: other results", text.c_str());
    if (job->valid != NULL) assert_memory_equal(room.valid[0], room.valid[1], job->count);
}

static void check_sum(const std::string &text, bf_expression_job *job, bf_dtype dtype) {
    int64_t words[2][BF_STATE_WORDS_SMALL];
    bf_job to = {};
    std::string messages[2];
    bf_status status[2];
    to.op = BF_SUM;
    to.kind = bf_kind_of(BF_SUM, dtype);
    to.dtype = dtype;
    to.every_zero = true;
    job->valid = NULL;
    for (int side = 0; side < 2; side++) {
        bf_state_init(to.kind, dtype, words[side]);
        const bf_expression_backend *by =
            side ? &fake_expression_backend : bf_backend_cpu.expression;
        status[side] = by->absorb(context, job, &to, words[side]);
        messages[side] = status[side] == BF_OK ? "" : context->message;
    }
    if (status[0] != status[1] || messages[0] != messages[1])
        fail_msg("sum of %s: %s, not %s", text.c_str(), messages[1].c_str(), messages[0].c_str());
    if (status[0] == BF_OK)
        assert_memory_equal(words[0], words[1],
                            (size_t)bf_state_words(to.kind, dtype, words[0]) * sizeof(int64_t));
}

static const bf_dtype all_dtypes[] = {
#define BF_X(id, number, name, bytes, type, ...) BF_##id,
    BF_DTYPE_LIST(BF_X)
#undef BF_X
};
enum { DTYPES = sizeof all_dtypes / sizeof *all_dtypes };

/* Small whole numbers, or any bits. */
static void fill(bf_dtype dtype, char *data, int64_t n) {
    const int bytes = bf_dtype_bytes(dtype);
    const bool any = below(4) == 0;
    bool misfit = false;
    for (int64_t i = 0; i < n; i++) {
        const int64_t small = (int64_t)below(40) - (dtype == BF_BOOL ? 0 : 9);
        uint64_t bits = any ? next_random() * next_random() : 0;
        if (!any) bits = bf_cast(BF_I64, dtype, (uint64_t)small, false, &misfit);
        bf_store_bits(data + i * bytes, bytes, bits);
    }
}

static void fill_columns(const bf_dtype dtypes[COLUMNS]) {
    for (int i = 0; i < COLUMNS; i++) {
        fill(dtypes[i], room.column[i], 2 * MOST);
        for (uint8_t &byte : room.nulls[i]) byte = below(3) == 0 ? (uint8_t)below(256) : 255;
    }
    for (bool &r : reachable) r = below(2) == 0;
}

static void check_program(const std::string &text) {
    static const char *const names[] = {"a", "b", "c"};
    bf_dtype dtypes[COLUMNS];
    const bool decimals = below(4) == 0;
    int scales[COLUMNS] = {};
    bf_expression *e = NULL;
    bf_expression_options options = {};
    bf_expression_column columns[COLUMNS] = {};
    bf_expression_job job = {};
    for (bf_dtype &d : dtypes) d = all_dtypes[below(3) == 0 ? below(DTYPES) : DTYPES - 1];
    for (int i = 0; i < COLUMNS && decimals; i++) {
        if (below(2) == 0) dtypes[i] = BF_I64;
        if (dtypes[i] == BF_I64) scales[i] = (int)below(4);
    }
    if (decimals) options.scales = scales;
    options.rounded = (int)below(2);
    options.size = sizeof options;
    options.overflow = (bf_overflow_policy)below(3);
    if (bf_expression_parse(context, text.c_str(), names, dtypes, COLUMNS, &options, NULL, &e) !=
        BF_OK)
        return;
    if (e->program->wide) { /* the CPU's alone */
        bf_expression_destroy(e);
        return;
    }
    fill_columns(dtypes);
    const int step = below(4) == 0 ? 2 : 1;
    const bool nulls = below(2) == 0;
    job.program = e->program;
    job.columns = columns;
    job.count = 1 + below(MOST - 1);
    for (int i = 0; i < COLUMNS; i++) {
        if (e->number[i] < 0) continue;
        bf_expression_column *x = &columns[e->number[i]];
        x->numbers = strided(room.column[i], dtypes[i], job.count, below(4) == 0 ? 2 : 1);
        if (nulls && below(2) == 0) x->valid = room.nulls[i];
        x->first = below(8);
    }
    job.valid = nulls ? room.valid[0] : NULL;
    check_eval(text, &job, e->program->dtype, step);
    check_sum(text, &job, e->program->dtype);
    bf_expression_destroy(e);
}

static void programs_give_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    const int texts = 4000 / (DATA_SHARE * CASE_STEP);
    for (int i = 0; i < texts; i++) check_program(make_text(1 + i % 5));
    assert_true(compared > texts / 4);
    assert_true(failed > texts / 80 && failed < compared / 2);
    assert_true(computing > texts / 40 && fused > texts / 40);
}

/* More registers than a thread keeps, and more columns than there are parameters for. */
static void large_programs(void **unused) {
    (void)unused;
    std::string deep = "a";
    for (int i = 0; i < 40; i++) deep = "(a*b+" + deep + ")*(b-" + std::to_string(i) + ")";
    std::string wide = "a";
    for (int i = 0; i < 30; i++) wide = "(a+" + std::to_string(i) + "*(b+" + wide + "))";
    for (int i = 0; i < 20; i++) {
        check_program(deep);
        check_program(wide);
    }
}

/* Where bools stand beside doubles, no byte more is read. */
static void narrow_columns(void **unused) {
    (void)unused;
    static const char *const names[] = {"a", "b"};
    const bf_dtype dtypes[] = {BF_F64, BF_BOOL};
    bf_expression *e = NULL;
    bf_expression_column columns[2] = {};
    bf_expression_job job = {};
    bf_expression_options options = {};
    options.size = sizeof options;
    assert_int_equal(
        bf_expression_parse(context, "a + isnan(b)", names, dtypes, 2, &options, NULL, &e), BF_OK);
    const int before = fused;
    job.program = e->program;
    job.columns = columns;
    job.count = MOST;
    fill(BF_F64, room.column[0], MOST);
    char *bools = (char *)calloc(MOST, 1); /* no byte more */
    columns[e->number[0]].numbers = strided(room.column[0], BF_F64, MOST, 1);
    columns[e->number[1]].numbers = strided(bools, BF_BOOL, MOST, 1);
    for (bool &r : reachable) r = true;
    check_sum("a + isnan(b)", &job, BF_F64);
    assert_true(fused > before);
    free(bools);
    bf_expression_destroy(e);
}

int main(void) {
    mailbox.memory = &letters;
    for (unsigned long long &f : letters.failures) f = BF_CUDA_NO_FAILURE;
    gpu.multiprocessors = 1;
    gpu.mailbox = &mailbox;
    gpu.stream = &stream;
    if (bf_context_create(NULL, &context) != BF_OK) return 1;
    context->cuda = &gpu;
    context->used = &bf_backend_cpu;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_give_the_bits_of_the_cpu),
        cmocka_unit_test(large_programs),
        cmocka_unit_test(narrow_columns),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    context->cuda = NULL;
    bf_context_destroy(context);
    return failures;
}
