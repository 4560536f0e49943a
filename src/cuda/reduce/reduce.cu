/* A reduction on the GPU: the kernel for it, launched once where its data are, or piece by piece as
 * they come through the pipeline. */
#include "cuda/reduce/joint/joint.cuh"
#include "cuda/reduce/launch.cuh"
#include "cuda/reduce/product_tree.cuh"
#include "cuda/reduce/sum_computed.cuh"
#include "cuda/runtime/pipeline.cuh"
#include "cuda/runtime/workspace.cuh"

#include <stdlib.h>

/* Reductions that were enqueued one after another, and nothing between. All else on the GPU had
 * ended before the second of them began, so that from then on elements may be read while the
 * reduction before is still at work; unless they lie among the chain's own values. */
typedef struct bf_cuda_chain {
    uint64_t call;         /* the number of its last call; 0: none */
    uintptr_t values, end; /* where its values lie; none: both 0 */
} bf_cuda_chain;

/* What a workspace keeps for reductions. */
static const bf_cuda_part_kind scratch_part = {}, tree_part = {};
static const bf_cuda_part_kind chain_part = {.bytes = sizeof(bf_cuda_chain)};

static const bf_cuda_reduction *find_reduction(const bf_job *job) {
    if (job->kind == BF_KIND_EXTREME) return bf_cuda_reduction_extreme(job->op, job->dtype);
    if (job->kind == BF_KIND_PRODUCT) return bf_cuda_reduction_product(job->dtype);
    switch (job->dtype) {
    case BF_F16: return bf_cuda_sum_f16(job->kind, job->every_zero);
    case BF_BF16: return bf_cuda_sum_bf16(job->kind, job->every_zero);
    case BF_F32: return bf_cuda_sum_f32(job->kind, job->every_zero);
    case BF_F64: return bf_cuda_sum_f64(job->kind, job->every_zero);
    default: return bf_cuda_sum_integer(job->kind, job->dtype);
    }
}

static bool is_best_in_place(const bf_context *context, const bf_job *job) {
    int align = bf_dtype_bytes(job->dtype);
    int64_t bytes = job->count * align;
    return bf_cuda_best_in_place(context, job->a, align, bytes) &&
           (job->b == NULL || bf_cuda_best_in_place(context, job->b, align, bytes));
}

static bool is_in_place(const bf_context *context, const bf_job *job) {
    int align = bf_dtype_bytes(job->dtype);
    return bf_cuda_in_place(context, job->a, align) &&
           (job->b == NULL || bf_cuda_in_place(context, job->b, align));
}

/* For a launch with the workspace of the call at hand. */
static bf_status fill_params(bf_context *context, const bf_job *job, bf_cuda_params *params,
                             bf_cuda_chain **chain) {
    bf_cuda_workspace *w = bf_cuda_workspace_of(context);
    if (w == NULL) return BF_E_MEMORY;
    bf_cuda_params p = {};
    p.a = job->a;
    p.b = job->b;
    p.count = job->count;
    p.index = job->index;
    p.scratch =
        (bf_cuda_scratch *)bf_cuda_workspace_part(context, w, &scratch_part, sizeof *p.scratch);
    p.request.op = job->op;
    p.request.dtype = job->dtype;
    *params = p;
    *chain = (bf_cuda_chain *)bf_cuda_workspace_part(context, w, &chain_part, 0);
    return p.scratch != NULL && *chain != NULL ? BF_OK : BF_E_MEMORY;
}

/* Elements of a launch: those of 1 TiB. An int64 of a thread then adds less than 2^31 parts of 32
 * bits (of integers: 512 threads at least share the elements); a warp's sums add less than 2^25
 * folds of 2^11 elements (of 16 warps at least); and the limbs for what fits no window less than
 * 2^29 tables, each of which adds less than 2^34 to a limb. */
static int64_t most_at_once(bf_dtype dtype) { return ((int64_t)1 << 40) / bf_dtype_bytes(dtype); }

/* --- chains --- */

static bool overlaps(const bf_cuda_chain *chain, const void *p, int64_t bytes) {
    uintptr_t first = (uintptr_t)p;
    return p != NULL && first < chain->end && first + (uintptr_t)bytes > chain->values;
}

/* Is the job the next of the chain, so that its elements may be read early? A single call is faster
 * without. */
static bool follows(const bf_cuda *cuda, const bf_cuda_chain *chain, const bf_job *job,
                    const bf_value *value) {
    int64_t bytes = job->count * bf_dtype_bytes(job->dtype);
    bool is_next = chain->call != 0 && chain->call + 1 == cuda->calls;
    return value != NULL && is_next && !overlaps(chain, job->a, bytes) &&
           !overlaps(chain, job->b, bytes);
}

static void note_value(bf_cuda_chain *chain, const bf_value *value) {
    uintptr_t first = (uintptr_t)value, end = first + sizeof *value;
    chain->values = chain->end == 0 || first < chain->values ? first : chain->values;
    chain->end = end > chain->end ? end : chain->end;
}

/* Launches a reduction as the next of the chain, or as the first of a new one. A stream that is the
 * caller's has no chains: what else is on it is not known. */
static cudaError_t launch_reduction(bf_context *context, const bf_cuda_reduction *reduction,
                                    const bf_job *job, bf_cuda_chain *chain, bf_cuda_params *p) {
    const bf_cuda *cuda = context->cuda;
    p->early = follows(cuda, chain, job, p->value);
    if (!p->early) chain->values = chain->end = 0;
    if (p->value != NULL) note_value(chain, p->value);
    chain->call = 0;
    cudaError_t error = reduction->launch(context, *p, job->count * bf_dtype_bytes(job->dtype));
    if (error == cudaSuccess && cuda->stream == cuda->own) chain->call = cuda->calls;
    return error;
}

/* The words of the letter; the first of them tells how many there are. */
static bool receive_letter(const bf_cuda *cuda, int64_t *chunks, cudaError_t *error) {
    int n = 1;
    for (int i = 0; i < n; i++) {
        if (!bf_cuda_receive_word(cuda, i, &chunks[i], error)) return false;
        if (i > 0) continue;
        int sums = (int)(chunks[0] >> 8 & 0xff) + (int)(chunks[0] >> 16 & 0xff);
        n = BF_CUDA_LETTER_HEAD + 2 * sums + (int)(chunks[0] >> 24 & 0xff);
    }
    return true;
}

/* --- one launch --- */

/* Any kind but BF_KIND_PRODUCT_TREE. program: of elements that are computed; else NULL. */
static bf_status absorb_plain(bf_context *context, const bf_cuda_reduction *reduction,
                              const bf_job *job, const bf_cuda_computed *program, int64_t *words) {
    bf_cuda *cuda = context->cuda;
    bf_cuda_params p;
    bf_cuda_chain *chain;
    int64_t chunks[BF_CUDA_LETTER_WORDS], taken[BF_STATE_WORDS_SMALL + 4];
    bf_status status = fill_params(context, job, &p, &chain);
    if (status != BF_OK) return status;
    p.letter = &cuda->mailbox->memory->letter;
    p.number = bf_cuda_next_letter(cuda);
    p.program = program;
    cudaError_t error = launch_reduction(context, reduction, job, chain, &p);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "launching a reduction");
    if (!receive_letter(cuda, chunks, &error))
        return bf_cuda_fail(context, error == cudaSuccess ? cudaErrorUnknown : error,
                            "a reduction");
    reduction->receive(job, chunks, p.letter->plain, taken);
    bf_state_merge_plain(job->kind, job->dtype, words, taken);
    return BF_OK;
}

static bf_cuda_product_tree *tree_of(bf_context *context) {
    bf_cuda_workspace *w = bf_cuda_workspace_of(context);
    if (w == NULL) return NULL;
    return (bf_cuda_product_tree *)bf_cuda_workspace_part(context, w, &tree_part,
                                                          bf_cuda_product_tree_bytes);
}

static bf_status absorb_tree(bf_context *context, const bf_job *job, int64_t *words) {
    bf_cuda_product_tree *tree = tree_of(context);
    return tree != NULL ? bf_cuda_product_tree_reduce(context, job, tree, words) : BF_E_MEMORY;
}

/* What is in place enters words. */
static bf_status absorb_at_once(bf_context *context, const bf_job *job, int64_t *words) {
    if (job->kind == BF_KIND_PRODUCT_TREE) return absorb_tree(context, job, words);
    if (bf_kind_is_joint(job->kind)) return bf_cuda_joint_absorb(context, job, words);
    return absorb_plain(context, find_reduction(job), job, NULL, words);
}

/* --- pieces --- */

typedef struct absorption {
    const bf_job *job;
    int64_t *words;
} absorption;

/* Elements [first, first + n) of the job, which are at at[]. */
static bf_status absorb_piece(bf_context *context, void *arg, void *const at[], int64_t first,
                              int64_t n) {
    const absorption *a = (const absorption *)arg;
    bf_job piece = *a->job;
    piece.a = at[0];
    piece.b = a->job->b != NULL ? at[1] : NULL;
    piece.count = n;
    piece.index = a->job->index + first;
    return absorb_at_once(context, &piece, a->words);
}

static bf_status absorb_pieces(bf_context *context, const bf_job *job, int64_t *words) {
    int bytes = bf_dtype_bytes(job->dtype);
    bf_cuda_operand operands[] = {{job->a, NULL, bytes, bytes, NULL, NULL, 0},
                                  {job->b, NULL, bytes, bytes, NULL, NULL, 0}};
    absorption a = {job, words};
    return bf_cuda_pipeline(context, operands, job->b != NULL ? 2 : 1, job->count,
                            most_at_once(job->dtype), absorb_piece, &a);
}

/* On failure words are as they were: they are a copy until all is done. */
static bf_status absorb(bf_context *context, const bf_job *job, int64_t *words) {
    if (is_best_in_place(context, job) && job->count <= most_at_once(job->dtype))
        return absorb_at_once(context, job, words);
    int64_t *copy = (int64_t *)malloc(BF_STATE_WORDS_MAX * sizeof *copy);
    if (copy == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a state");
    size_t used = (size_t)bf_state_words(job->kind, job->dtype, words) * sizeof *words;
    memcpy(copy, words, used);
    bf_status status = absorb_pieces(context, job, copy);
    used = (size_t)bf_state_words(job->kind, job->dtype, copy) * sizeof *words;
    if (status == BF_OK) memcpy(words, copy, used);
    free(copy);
    return status;
}

static bf_status reduce_job(bf_context *context, const bf_job *job, int64_t *words) {
    int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = absorb(context, job, words);
    bf_cuda_leave(previous);
    return status;
}

bf_status bf_cuda_reduce_computed(bf_context *context, const bf_job *job,
                                  const bf_cuda_computed *program, int64_t *words) {
    const bf_cuda_reduction *reduction = job->dtype == BF_F32
                                             ? bf_cuda_sum_computed_f32(program->columns)
                                             : bf_cuda_sum_computed_f64(program->columns);
    bf_job computed = *job;
    computed.a = computed.b = NULL;
    return absorb_plain(context, reduction, &computed, program, words);
}

/* --- enqueued --- */

static __global__ void store_value(bf_value *to, bf_value value) { *to = value; }

/* The result of no elements, which no kernel has to look for. */
static bf_status enqueue_empty(bf_context *context, const bf_job *job,
                               const bf_reduce_options *options, bf_value *to) {
    int64_t *words = (int64_t *)malloc(BF_STATE_WORDS_MAX * sizeof *words);
    if (words == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a state");
    bf_work work;
    bf_value value = bf_value_from_bits(BF_U64, 0);
    bf_state_init(job->kind, job->dtype, words);
    bf_status status =
        job->kind == BF_KIND_PRODUCT_TREE
            ? bf_result_product_tree(words, bf_product_tree_root(words), options, &value)
            : bf_result_plain(job->op, job->dtype, words, options, &value, &work);
    free(words);
    if (status != BF_OK) value.dtype = BF_NONE;
    store_value<<<1, 1, 0, context->cuda->stream>>>(to, value);
    cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "launching a reduction");
}

static bf_status enqueue(bf_context *context, const bf_job *job, const bf_reduce_options *options,
                         bf_value *value) {
    if (job->count == 0) return enqueue_empty(context, job, options, value);
    if (job->kind == BF_KIND_PRODUCT_TREE) {
        bf_cuda_product_tree *tree = tree_of(context);
        if (tree == NULL) return BF_E_MEMORY;
        return bf_cuda_product_tree_reduce_async(context, job, tree, options, value);
    }
    bf_cuda_params p;
    bf_cuda_chain *chain;
    bf_status status = fill_params(context, job, &p, &chain);
    if (status != BF_OK) return status;
    p.value = value;
    p.request.nan = options->nan;
    p.request.out_dtype = options->out_dtype;
    p.request.ddof = options->ddof;
    p.request.overflow = options->overflow;
    cudaError_t error = launch_reduction(context, find_reduction(job), job, chain, &p);
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "launching a reduction");
}

static bf_status reduce_job_async(bf_context *context, const bf_job *job,
                                  const bf_reduce_options *options, bf_value *value) {
    bool reachable = job->count == 0 || is_in_place(context, job);
    if (!reachable || !bf_cuda_in_place(context, value, 8))
        return bf_fail(context, BF_E_ARGUMENT, "the GPU cannot reach the memory where it is");
    if (job->count > most_at_once(job->dtype))
        return bf_fail(context, BF_E_ARGUMENT, "too many elements for one launch");
    int previous = bf_cuda_enter(context);
    bf_status status = enqueue(context, job, options, value);
    bf_cuda_leave(previous);
    return status;
}

extern const bf_reduce_backend bf_cuda_reduce_backend = {.absorb = reduce_job,
                                                         .enqueue = reduce_job_async};
