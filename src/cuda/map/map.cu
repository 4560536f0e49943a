/* The backend's functions for element-wise operations: the choice of a kernel. Operands that it
 * does not reach go through the pipeline. */
#include "cuda/map/map.cuh"
#include "cuda/map/operation.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/pipeline.cuh"

extern "C" {
#include "base/where.h"
}

enum {
    THREADS_BUSY = 1024 /* threads of a multiprocessor: with fewer, a thread takes one vector */
};

/* The code of a failure: the dtype of the output; with this bit, of a cast; 0: division by zero. */
static const unsigned CAST_CODE = 0x80;

/* --- choosing a kernel --- */

/* Returns whether elements from `head` on are aligned for vectors of `lanes` elements. */
static bool is_aligned(const void *p, int bytes, int lanes, int64_t head) {
    return ((uintptr_t)p + (uintptr_t)(head * bytes)) % (unsigned)(lanes * bytes) == 0;
}

static bool are_aligned(const bf_cuda_map_params *p, bf_dtype work, int lanes, int64_t head) {
    if (!is_aligned(p->out, bf_dtype_bytes(p->to), lanes, head)) return false;
    for (int k = 0; k < p->arity; k++)
        if (!p->single[k] && !is_aligned(p->in[k], bf_dtype_bytes(work), lanes, head)) return false;
    return true;
}

/* Splits the elements into a head, whole vectors and the rest. Returns whether that is possible. */
static bool split_vectors(bf_cuda_map_params *p, bf_dtype work) {
    int lanes = 16 / bf_dtype_bytes(work);
    for (int k = 0; k < p->arity; k++)
        if (p->in[k] != NULL && p->from[k] != work) return false;
    p->head = 0;
    while (p->head < lanes && !are_aligned(p, work, lanes, p->head)) p->head++;
    if (p->head == lanes) return false;
    if (p->head > p->count) p->head = p->count;
    p->vectors = (p->count - p->head) / lanes;
    return true;
}

typedef struct launch_plan {
    const void *kernel;
    int64_t blocks;
} launch_plan;

static int64_t blocks_of(int64_t items, int per_thread) {
    int64_t tile = (int64_t)BF_CUDA_MAP_THREADS * per_thread;
    return (items + tile - 1) / tile;
}

static launch_plan plan_launch(const bf_context *context, bf_cuda_map_params *p, bf_map_op op,
                               bf_dtype work) {
    launch_plan plan;
    plan.kernel =
        op == BF_MAP_CAST ? bf_cuda_map_cast_kernel(p->from[0]) : bf_cuda_map_mixed_kernel(work);
    plan.blocks = blocks_of(p->count, BF_CUDA_MAP_ELEMENTS);
    if (op == BF_MAP_CAST || p->refuse_zero || !split_vectors(p, work)) return plan;
    bool few = p->vectors <= (int64_t)context->cuda->multiprocessors * THREADS_BUSY;
    p->per_thread =
        few ? 1 : bf_cuda_map_vectors(op, bf_dtype_is_float(work), bf_dtype_bytes(work));
    plan.kernel = bf_cuda_map_vector_kernel(op, work);
    plan.blocks = blocks_of(p->vectors, p->per_thread);
    return plan;
}

static bf_status launch_map(bf_context *context, bf_cuda_map_params *p, bf_map_op op,
                            bf_dtype work) {
    launch_plan plan = plan_launch(context, p, op, work);
    void *arguments[] = {p};
    bf_cuda_shape shape = {.blocks = plan.blocks, .threads = BF_CUDA_MAP_THREADS, .overlaps = true};
    cudaError_t error = bf_cuda_launch(context->cuda, plan.kernel, shape, arguments);
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "an element-wise operation");
}

/* --- operands --- */

/* A call: the kernels' parameters for all elements. Operands of the pipeline are the inputs that
 * are not single, and the output. */
typedef struct map_call {
    const bf_map_job *job;
    bf_cuda_map_params params;
    bf_cuda_operand operands[BF_CUDA_OPERANDS];
    int operand_count;
} map_call;

static bool is_reachable(const bf_context *context, const bf_map_job *job, int k) {
    return bf_cuda_in_place(context, job->in[k], bf_dtype_bytes(job->from[k]));
}

static bool is_number_on_host(const bf_map_job *job, int k) {
    return job->single[k] && bf_where_is(job->in[k], NULL) == BF_WHERE_HOST;
}

/* Makes a single element, which the host can read at p, a number among the parameters. */
static void set_number(bf_cuda_map_params *p, const bf_map_job *job, int k, const void *element) {
    bool misfit = false;
    uint64_t bits = bf_load_bits(element, bf_dtype_bytes(job->from[k]));
    if (job->op != BF_MAP_CAST && job->from[k] != job->work)
        bits = bf_cast(job->from[k], job->work, bits, false, &misfit);
    p->value[k] = bits;
    p->in[k] = NULL;
}

/* Fetches a single element that kernels do not reach, and makes it a number. */
static bf_status fetch_number(bf_context *context, bf_cuda_map_params *p, const bf_map_job *job,
                              int k) {
    uint64_t element = 0;
    cudaStream_t stream = context->cuda->stream;
    cudaError_t error = cudaMemcpyAsync(&element, job->in[k], (size_t)bf_dtype_bytes(job->from[k]),
                                        cudaMemcpyDefault, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "a copy");
    set_number(p, job, k, &element);
    return BF_OK;
}

static bf_cuda_map_params params_of(const bf_map_job *job) {
    bf_cuda_map_params p = {};
    p.op = bf_map_is_comparison(job->op) ? BF_MAP_EQ : job->op;
    p.arity = job->arity;
    p.relations = bf_cuda_map::relations_of(job->op);
    p.saturate = job->overflow == BF_OVERFLOW_SATURATE;
    p.refuse_zero = job->refuse_zero;
    p.to = job->to;
    p.out = job->out;
    p.count = job->count;
    p.code = (unsigned)job->to | (job->op == BF_MAP_CAST ? CAST_CODE : 0);
    if (job->refuse_zero) p.code = 0;
    for (int k = 0; k < job->arity; k++) {
        p.in[k] = job->in[k];
        p.single[k] = job->single[k];
        p.from[k] = job->from[k];
        if (is_number_on_host(job, k)) set_number(&p, job, k, job->in[k]);
    }
    return p;
}

static void add_operand(map_call *c, const void *in, void *out, bf_dtype dtype) {
    int bytes = bf_dtype_bytes(dtype);
    c->operands[c->operand_count++] = {in, out, bytes, bytes, NULL, NULL, 0};
}

static bf_status begin_call(bf_context *context, const bf_map_job *job, map_call *c) {
    *c = {job, params_of(job), {}, 0};
    bf_status status = BF_OK;
    for (int k = 0; k < job->arity && status == BF_OK; k++) {
        if (!job->single[k])
            add_operand(c, job->in[k], NULL, job->from[k]);
        else if (c->params.in[k] != NULL && !is_reachable(context, job, k))
            status = fetch_number(context, &c->params, job, k);
    }
    add_operand(c, NULL, job->out, job->to);
    return status;
}

/* --- failures --- */

static bool can_fail(const bf_map_job *job) {
    return job->refuse_zero || job->overflow == BF_OVERFLOW_ERROR;
}

/* --- entries --- */

/* Computes elements [first, first + n). */
static bf_status map_piece(bf_context *context, void *arg, void *const at[], int64_t first,
                           int64_t n) {
    const map_call *c = (const map_call *)arg;
    bf_cuda_map_params p = c->params;
    int i = 0;
    p.count = n;
    p.index += first;
    for (int k = 0; k < p.arity; k++)
        if (!p.single[k]) p.in[k] = at[i++];
    p.out = at[i];
    return launch_map(context, &p, c->job->op, c->job->work);
}

static bf_status run_map(bf_context *context, const bf_map_job *job) {
    const bf_cuda *cuda = context->cuda;
    map_call c;
    bf_status status = begin_call(context, job, &c);
    if (can_fail(job)) c.params.failed = &cuda->mailbox->memory->failures[BF_CUDA_FAILURE_NOW];
    if (status == BF_OK)
        status = bf_cuda_pipeline(context, c.operands, c.operand_count, job->count, job->count,
                                  map_piece, &c);
    cudaError_t error = cudaStreamSynchronize(cuda->stream);
    unsigned long long key = bf_cuda_fetch_failure(cuda, BF_CUDA_FAILURE_NOW);
    if (status != BF_OK) return status;
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "an element-wise operation");
    if (key == BF_CUDA_NO_FAILURE) return BF_OK;
    return bf_map_fail(context, job, job->index + (int64_t)(key >> 8));
}

static bool are_reachable(const bf_context *context, const bf_map_job *job) {
    for (int k = 0; k < job->arity; k++)
        if (!is_number_on_host(job, k) && !is_reachable(context, job, k)) return false;
    return bf_cuda_in_place(context, job->out, bf_dtype_bytes(job->to));
}

static bf_status run_map_async(bf_context *context, const bf_map_job *job) {
    if (!are_reachable(context, job))
        return bf_fail(context, BF_E_ARGUMENT, "the GPU cannot reach the memory where it is");
    bf_cuda_map_params p = params_of(job);
    if (can_fail(job)) p.failed = &context->cuda->mailbox->memory->failures[BF_CUDA_FAILURE_LATER];
    p.index = job->index;
    return launch_map(context, &p, job->op, job->work);
}

static bf_status compute_job(bf_context *context, const bf_map_job *job) {
    int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = run_map(context, job);
    bf_cuda_leave(previous);
    return status;
}

static bf_status compute_job_async(bf_context *context, const bf_map_job *job) {
    int previous = bf_cuda_enter(context);
    bf_status status = run_map_async(context, job);
    bf_cuda_leave(previous);
    return status;
}

bf_status bf_cuda_map_failure(bf_context *context) {
    bf_map_job job = {};
    unsigned long long key = bf_cuda_fetch_failure(context->cuda, BF_CUDA_FAILURE_LATER);
    if (key == BF_CUDA_NO_FAILURE) return BF_OK;
    job.refuse_zero = (key & 0xff) == 0;
    job.op = (key & CAST_CODE) != 0 ? BF_MAP_CAST : BF_MAP_ADD;
    job.to = (bf_dtype)(key & (CAST_CODE - 1));
    return bf_map_fail(context, &job, (int64_t)key >> 8);
}

extern const bf_map_backend bf_cuda_map_backend = {.run = compute_job,
                                                   .enqueue = compute_job_async};
