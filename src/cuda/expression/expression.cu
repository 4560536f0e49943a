/* The backend's functions for expressions: elements are computed in chunks. Columns and outputs
 * that kernels do not reach where they are become chunks of device memory. */
#include "cuda/expression/computed.cuh"
#include "cuda/expression/expression.cuh"
#include "cuda/map/operation.cuh"
#include "cuda/reduce/sum_computed.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/pipeline.cuh"

extern "C" {
#include "base/where.h"
#include "seam/reduce.h"
}

#include <stdlib.h>

namespace {

/* Elements of a chunk: those whose results stay in the L2 cache; those of floats that are reduced,
 * for which waiting counts more; those of calls that need no memory, and can be cancelled. */
static const int64_t CHUNK = 1 << 22, LARGE_CHUNK = 1 << 25, AT_ONCE = 1ll << 30;

enum { OWNED = 2 * BF_EXPRESSION_COLUMNS + 8 };

struct call {
    bf_context *context;
    const bf_expression_job *job;
    int64_t most;     /* elements of a chunk */
    bool is_computed; /* by this program, not by the other kernel */
    bf_cuda_computed_program computed;
    bf_cuda_expression_params params;
    bf_cuda_column *columns;             /* the columns of the chunk at hand */
    void *staged[BF_EXPRESSION_COLUMNS]; /* NULL: the column is used where it is */
    void *nulls[BF_EXPRESSION_COLUMNS];  /* bits of a chunk; NULL: none is NULL */
    void *placed;                        /* the columns on the GPU; NULL: among the parameters */
    void *out, *valid;                   /* a chunk's; NULL: used where they are */
    void *owned[OWNED];
    int owned_count;
};

bool is_contiguous(const bf_strided *x) { return x->ndim == 1 && x->strides[0] == 1; }

bool is_used_in_place(const bf_context *context, const bf_strided *x) {
    return is_contiguous(x) && bf_cuda_in_place(context, x->data, x->bytes);
}

/* --- memory --- */

bf_status own(call *c, int64_t bytes, void **memory) {
    *memory = c->owned[c->owned_count++] = bf_cuda_alloc(c->context, (size_t)bytes);
    return *memory != NULL ? BF_OK : BF_E_MEMORY;
}

void close_call(call *c) {
    for (int i = 0; i < c->owned_count; i++) bf_cuda_free(c->context, c->owned[i]);
    free(c->columns);
}

/* --- the program --- */

bf_cuda_place place_of(const bf_expression_program *p, bf_expression_operand x) {
    if (x.kind == BF_EXPRESSION_RESULT) return {BF_EXPRESSION_REGISTER, (uint16_t)p->registers};
    return {(uint8_t)x.kind, (uint16_t)x.number};
}

bf_cuda_step step_of(const bf_expression_program *p, const bf_expression_step *s) {
    bf_cuda_step to = {};
    to.op = (uint8_t)s->op;
    to.arity = (uint8_t)s->arity;
    if (s->op < BF_MAP_CAST) to.relations = (uint8_t)bf_cuda_map::relations_of((bf_map_op)s->op);
    to.refuse_zero = s->refuse_zero;
    to.work = (uint8_t)s->work;
    for (int k = 0; k < 3; k++) {
        to.from[k] = (uint8_t)s->from[k];
        to.in[k] = place_of(p, s->in[k]);
    }
    to.out = place_of(p, s->out);
    to.guard = place_of(p, s->guard);
    return to;
}

/* Copies constants and steps to the GPU. */
bf_status send_program(call *c) {
    const bf_expression_program *p = c->job->program;
    const size_t constants = (size_t)p->constants * sizeof(uint64_t);
    const size_t bytes = constants + (size_t)p->steps * sizeof(bf_cuda_step);
    void *there;
    char *made = (char *)malloc(bytes);
    if (made == NULL) return bf_fail(c->context, BF_E_MEMORY, "no memory for an expression");
    for (int i = 0; i < p->constants; i++) ((uint64_t *)(void *)made)[i] = p->constant[i].bits;
    bf_cuda_step *steps = (bf_cuda_step *)(void *)(made + constants);
    for (int i = 0; i < p->steps; i++) steps[i] = step_of(p, &p->step[i]);
    bf_status status = own(c, (int64_t)bytes, &there);
    if (status == BF_OK) status = bf_cuda_copy(c->context, there, made, bytes);
    if (status == BF_OK) status = bf_cuda_wait(c->context, cudaSuccess, "a program");
    free(made);
    c->params.constants = (const uint64_t *)there;
    c->params.steps = (const bf_cuda_step *)(const void *)((const char *)there + constants);
    return status;
}

/* The blocks that compute n elements: fewer where registers of theirs would take much memory. */
int64_t blocks_of(const call *c, int64_t n) {
    const int64_t registers = c->job->program->registers;
    const int64_t all = (int64_t)c->context->cuda->multiprocessors * 8;
    const int64_t most = registers > 256 ? (all * 256 + registers - 1) / registers : all;
    const int64_t blocks = (n + BF_CUDA_EXPRESSION_THREADS - 1) / BF_CUDA_EXPRESSION_THREADS;
    return blocks < most ? blocks : most;
}

/* Programs of many registers keep them in memory. */
bf_status make_registers(call *c) {
    const int64_t threads = blocks_of(c, c->most) * BF_CUDA_EXPRESSION_THREADS;
    const int64_t all = (c->job->program->registers + 1) * threads;
    void *bits, *filled;
    if (c->job->program->registers <= BF_CUDA_EXPRESSION_FEW) return BF_OK;
    bf_status status = own(c, all * (int64_t)sizeof(uint64_t), &bits);
    if (status == BF_OK) status = own(c, all, &filled);
    if (status != BF_OK) return status;
    c->params.bits = (uint64_t *)bits;
    c->params.filled = (uint8_t *)filled;
    return BF_OK;
}

/* --- columns --- */

/* Memory at strides that is another GPU's own is out of reach; what is contiguous is copied. */
bf_status check_strides(const call *c, const bf_strided *x) {
    int device;
    if (is_contiguous(x) || bf_where_is(x->data, &device) != BF_WHERE_DEVICE) return BF_OK;
    if (device == c->context->cuda->device) return BF_OK;
    return bf_fail(c->context, BF_E_DEVICE,
                   "an array with strides is in the memory of another GPU: copy it");
}

bf_status stage_column(call *c, int i) {
    const bf_expression_column *x = &c->job->columns[i];
    bf_status status = check_strides(c, &x->numbers);
    if (status == BF_OK && !is_used_in_place(c->context, &x->numbers))
        status = own(c, c->most * x->numbers.bytes, &c->staged[i]);
    if (status == BF_OK && x->valid != NULL) status = own(c, c->most / 8 + 2, &c->nulls[i]);
    return status;
}

bf_status make_columns(call *c) {
    const int n = c->job->program->columns;
    bf_status status = BF_OK;
    c->columns = (bf_cuda_column *)calloc((size_t)n + 1, sizeof *c->columns);
    if (c->columns == NULL) return bf_fail(c->context, BF_E_MEMORY, "no memory for an expression");
    for (int i = 0; i < n && status == BF_OK; i++) status = stage_column(c, i);
    if (status == BF_OK && n > BF_CUDA_EXPRESSION_COLUMNS)
        status = own(c, n * (int64_t)sizeof *c->columns, &c->placed);
    return status;
}

/* Copies elements [first, first + n) of a column to its chunk. */
bf_status fetch_column(call *c, int i, int64_t first, int64_t n) {
    const bf_strided *x = &c->job->columns[i].numbers;
    if (is_contiguous(x))
        return bf_cuda_copy(c->context, c->staged[i], x->data + first * x->bytes,
                            (size_t)(n * x->bytes));
    return bf_cuda_gather(c->context, x, first, n, c->staged[i]);
}

/* Finds elements [first, first + n) of a column. */
bf_status find_column(call *c, int i, int64_t first, int64_t n) {
    const bf_expression_column *x = &c->job->columns[i];
    bf_cuda_column *to = &c->columns[i];
    const int64_t bit = x->first + first;
    bf_status status = BF_OK;
    *to = {x->numbers.data + first * x->numbers.bytes, NULL, bit % 8, x->numbers.bytes};
    if (c->staged[i] != NULL) {
        to->data = c->staged[i];
        status = fetch_column(c, i, first, n);
    }
    if (status != BF_OK || x->valid == NULL) return status;
    to->valid = (const uint8_t *)c->nulls[i];
    return bf_cuda_copy(c->context, c->nulls[i], x->valid + bit / 8,
                        (size_t)((bit % 8 + n + 7) / 8));
}

bf_status find_columns(call *c, int64_t first, int64_t n) {
    const int columns = c->job->program->columns;
    bf_status status = BF_OK;
    for (int i = 0; i < columns && status == BF_OK; i++) status = find_column(c, i, first, n);
    if (status != BF_OK) return status;
    if (c->is_computed) {
        bf_cuda_expression_place(&c->computed, c->columns);
        return BF_OK;
    }
    if (c->placed == NULL) {
        memcpy(c->params.column, c->columns, (size_t)columns * sizeof *c->columns);
        return BF_OK;
    }
    c->params.columns = (const bf_cuda_column *)c->placed;
    status = bf_cuda_copy(c->context, c->placed, c->columns, (size_t)columns * sizeof *c->columns);
    return status == BF_OK ? bf_cuda_wait(c->context, cudaSuccess, "columns") : status;
}

/* --- chunks --- */

bool are_in_place(const bf_context *context, const bf_expression_job *job) {
    for (int i = 0; i < job->program->columns; i++)
        if (!is_used_in_place(context, &job->columns[i].numbers) || job->columns[i].valid != NULL)
            return false;
    return true;
}

bf_status open_call(call *c, bf_context *context, const bf_expression_job *job) {
    const bf_expression_program *p = job->program;
    *c = {};
    c->context = context;
    c->job = job;
    c->most = job->count < CHUNK ? job->count : CHUNK;
    c->is_computed = bf_cuda_expression_translate(job, &c->computed);
    c->params.step_count = p->steps;
    c->params.registers = p->registers;
    c->params.refuses = p->overflow == BF_OVERFLOW_ERROR;
    c->params.saturates = p->overflow == BF_OVERFLOW_SATURATE;
    c->params.out_bytes = bf_dtype_bytes(p->dtype);
    c->params.failed = &context->cuda->mailbox->memory->failures[BF_CUDA_FAILURE_NOW];
    bf_status status = c->is_computed ? BF_OK : send_program(c);
    if (status == BF_OK && !c->is_computed) status = make_registers(c);
    return status == BF_OK ? make_columns(c) : status;
}

/* Has chunks of up to this many elements where columns are in place, and are floats, which do not
 * fail. */
void enlarge_chunks(call *c, int64_t most) {
    if (c->is_computed && are_in_place(c->context, c->job))
        c->most = c->job->count < most ? c->job->count : most;
}

/* Launches a kernel that takes one struct. */
bf_status launch(const call *c, const void *kernel, int64_t blocks, int shared, void *params) {
    bf_cuda_shape shape = {};
    shape.blocks = blocks;
    shape.threads = BF_CUDA_EXPRESSION_THREADS;
    shape.shared = (size_t)shared;
    shape.overlaps = true;
    return bf_cuda_check(c->context, bf_cuda_launch(c->context->cuda, kernel, shape, &params),
                         "an expression");
}

bf_status compute_floats(call *c, int64_t n, void *out) {
    const int bytes = c->params.out_bytes;
    bf_cuda_computed_job job = {c->computed.steps, n, out, bytes, false};
    job.aligned = bytes == bf_dtype_bytes(c->computed.dtype) &&
                  ((uintptr_t)out + (uintptr_t)(job.program.head * bytes)) % 16 == 0;
    return launch(c, bf_cuda_expression_computing(c->computed.dtype), blocks_of(c, n),
                  bf_cuda_expression_kept_bytes(&c->computed), &job);
}

/* Enqueues the computation of elements [first, first + n) into `out`. */
bf_status compute_chunk(call *c, int64_t first, int64_t n, void *out, uint8_t *valid) {
    const bool few = c->params.bits == NULL;
    bf_status status = find_columns(c, first, n);
    if (status != BF_OK) return status;
    if (c->is_computed) return compute_floats(c, n, out);
    c->params.count = n;
    c->params.out = out;
    c->params.valid = valid;
    return launch(c, bf_cuda_expression_kernel(few), blocks_of(c, n), 0, &c->params);
}

/* Waits for a chunk that begins at element `first`, and fails if one of its elements did. */
bf_status end_chunk(const call *c, int64_t first, bf_status status) {
    const cudaError_t error = cudaStreamSynchronize(c->context->cuda->stream);
    const unsigned long long key = bf_cuda_fetch_failure(c->context->cuda, BF_CUDA_FAILURE_NOW);
    if (status != BF_OK) return status;
    if (error != cudaSuccess) return bf_cuda_fail(c->context, error, "an expression");
    if (key == BF_CUDA_NO_FAILURE) return BF_OK;
    const int step = (int)(key & ((1u << BF_CUDA_EXPRESSION_STEP_BITS) - 1));
    const int64_t index = c->job->index + first + (int64_t)(key >> BF_CUDA_EXPRESSION_STEP_BITS);
    return bf_expression_fail(
        c->context, step < c->job->program->steps ? &c->job->program->step[step] : NULL, index);
}

/* --- elements into an output --- */

bf_status make_output(call *c) {
    const bf_expression_job *job = c->job;
    bf_status status = check_strides(c, &job->out);
    if (status == BF_OK && !is_used_in_place(c->context, &job->out))
        status = own(c, c->most * job->out.bytes, &c->out);
    if (status == BF_OK && job->valid != NULL && !bf_cuda_in_place(c->context, job->valid, 1))
        status = own(c, c->most, &c->valid);
    return status;
}

/* Brings a chunk of results, and which of them are NULL, to where they belong. */
bf_status return_chunk(call *c, int64_t first, int64_t n) {
    const bf_expression_job *job = c->job;
    const bf_strided *out = &job->out;
    bf_status status = BF_OK;
    if (c->out != NULL && is_contiguous(out))
        status = bf_cuda_copy(c->context, out->data + first * out->bytes, c->out,
                              (size_t)(n * out->bytes));
    else if (c->out != NULL)
        status = bf_cuda_scatter(c->context, out, first, n, c->out);
    if (status == BF_OK && c->valid != NULL)
        status = bf_cuda_copy(c->context, job->valid + first, c->valid, (size_t)n);
    return status == BF_OK ? bf_cuda_wait(c->context, cudaSuccess, "an expression") : status;
}

bf_status eval_chunk(call *c, int64_t first, int64_t n) {
    const bf_expression_job *job = c->job;
    void *there = job->out.data + first * job->out.bytes;
    uint8_t *valid = job->valid != NULL ? job->valid + first : NULL;
    bf_status status = compute_chunk(c, first, n, c->out != NULL ? c->out : there,
                                     c->valid != NULL ? (uint8_t *)c->valid : valid);
    status = end_chunk(c, first, status);
    if (status == BF_OK) status = return_chunk(c, first, n);
    return status == BF_OK ? bf_watch_tick(c->context, 0) : status;
}

bf_status eval_chunks(bf_context *context, const bf_expression_job *job) {
    call c;
    bf_status status = bf_cuda_refuse_captured(context);
    if (status != BF_OK) return status;
    status = open_call(&c, context, job);
    if (is_used_in_place(context, &job->out)) enlarge_chunks(&c, AT_ONCE);
    if (status == BF_OK) status = make_output(&c);
    for (int64_t at = 0; at < job->count && status == BF_OK; at += c.most)
        status = eval_chunk(&c, at, job->count - at < c.most ? job->count - at : c.most);
    close_call(&c);
    return status;
}

bf_status eval_job(bf_context *context, const bf_expression_job *job) {
    const int previous = bf_cuda_enter(context);
    bf_status status = eval_chunks(context, job);
    bf_cuda_leave(previous);
    return status;
}

/* --- elements into a state --- */

/* Are floats added as they are computed? */
bool is_fused(const call *c, const bf_job *to) {
    const int columns = c->computed.steps.columns;
    return c->is_computed && to->kind == BF_KIND_SUM && to->dtype == c->computed.dtype &&
           columns > 0 && columns <= BF_CUDA_COMPUTED_SUMMED_COLUMNS;
}

bf_status sum_chunk(call *c, const bf_job *to, int64_t first, int64_t n, int64_t *words) {
    bf_job part = *to;
    part.count = n;
    bf_status status = find_columns(c, first, n);
    if (status == BF_OK)
        status = bf_cuda_reduce_computed(c->context, &part, &c->computed.steps, words);
    if (status != BF_OK) status = end_chunk(c, first, status);
    return status == BF_OK ? bf_watch_tick(c->context, 0) : status;
}

/* The reduction waits for the chunk. What it has added of one that failed is not kept. Floats do
 * not fail. */
bf_status absorb_chunk(call *c, const bf_job *to, int64_t first, int64_t n, int64_t *words) {
    bf_job part = *to;
    part.a = c->out;
    part.count = n;
    part.index = to->index + first;
    bf_status status = compute_chunk(c, first, n, c->out, NULL);
    if (status == BF_OK) status = c->context->used->reduce->absorb(c->context, &part, words);
    if (status != BF_OK || !c->is_computed) status = end_chunk(c, first, status);
    return status == BF_OK ? bf_watch_tick(c->context, 0) : status;
}

/* Memory for the results of a chunk; of a smaller one where the GPU has no room. */
bf_status make_results(call *c) {
    bf_status status = own(c, c->most * c->params.out_bytes, &c->out);
    if (status != BF_E_MEMORY || c->most <= CHUNK) return status;
    c->most = CHUNK;
    return own(c, c->most * c->params.out_bytes, &c->out);
}

bf_status absorb_chunks(bf_context *context, const bf_expression_job *job, const bf_job *to,
                        int64_t *words) {
    call c;
    bf_status status = bf_cuda_refuse_captured(context);
    if (status != BF_OK) return status;
    status = open_call(&c, context, job);
    const bool fused = is_fused(&c, to);
    enlarge_chunks(&c, fused ? AT_ONCE : LARGE_CHUNK);
    if (status == BF_OK && !fused) status = make_results(&c);
    for (int64_t at = 0; at < job->count && status == BF_OK; at += c.most) {
        const int64_t left = job->count - at, n = left < c.most ? left : c.most;
        status = fused ? sum_chunk(&c, to, at, n, words) : absorb_chunk(&c, to, at, n, words);
    }
    close_call(&c);
    return status;
}

bf_status absorb_job(bf_context *context, const bf_expression_job *job, const bf_job *to,
                     int64_t *words) {
    const int previous = bf_cuda_enter(context);
    bf_status status = absorb_chunks(context, job, to, words);
    bf_cuda_leave(previous);
    return status;
}

} // namespace

extern const bf_expression_backend bf_cuda_expression_backend = {
    .eval = eval_job, .absorb = absorb_job, .eval_strings = nullptr};
