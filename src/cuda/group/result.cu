/* The results of an aggregate of all groups on a GPU. A thread finishes one group at a time. */
#include "cuda/group/group.cuh"
#include "cuda/reduce/joint/finish.cuh"
#include "cuda/runtime/pipeline.cuh"

#include "rules/reduce/band.h"

namespace {

enum { INTEGER_BYTES = 24 };

struct result_params {
    bf_cuda_aggregate_params aggregate;
    bf_reduction op;
    bf_dtype to;
    int bytes; /* the size of an element */
    bf_reduce_options options;
    const unsigned *order;
    const int64_t *counts;
    void *work; /* NULL: there is nothing to do that needs it */
    char *values;
    uint8_t *fits;              /* NULL: an integer that does not fit is a failure */
    unsigned long long *failed; /* the number of groups from the first failure on; 0: none */
};

/* --- one group --- */

/* The sums of elements, and of their squares; where a kind keeps one, either name means it. */
__device__ __forceinline__ bf_band_sums sums_of(const result_params &p, int64_t number) {
    const bf_cuda_aggregate_params &c = p.aggregate;
    bf_band_sums g;
    bf_cuda_group_counts(c, number, p.counts[number], g.counts);
    const bf_cuda_band_params &sum = c.band[0], &products = c.band[c.bands - 1];
    g.sum = sum.words + number * sum.limbs;
    g.products = products.words + number * products.limbs;
    g.sum_layout = bf_cuda_band_layout(sum);
    g.products_layout = bf_cuda_band_layout(products);
    g.words = false;
    return g;
}

__device__ __forceinline__ void note_failure(const result_params &p, int64_t i) {
    atomicMax(p.failed, (unsigned long long)(p.aggregate.n - i));
}

__device__ __forceinline__ void store_bits(const result_params &p, int64_t i, uint64_t bits) {
    char *to = p.values + i * p.bytes;
    switch (p.bytes) {
    case 1: *(uint8_t *)to = (uint8_t)bits; break;
    case 2: *(uint16_t *)to = (uint16_t)bits; break;
    case 4: *(uint32_t *)to = (uint32_t)bits; break;
    default: *(uint64_t *)to = bits;
    }
}

/* --- kernels, by what a result is --- */

template <bf_reduction Op> struct floats {
    static __device__ __forceinline__ void finish(const result_params &p, int64_t i, int64_t number,
                                                  bf_work *work) {
        bf_band_sums g = sums_of(p, number);
        if (p.options.nan == BF_NAN_ERROR && g.counts[BF_SUM_NAN] > 0) note_failure(p, i);
        store_bits(p, i, bf_band_bits(Op, &g, &p.options, bf_format_of(p.to), work));
    }
};

struct integers {
    static __device__ __forceinline__ void finish(const result_params &p, int64_t i, int64_t number,
                                                  bf_work *) {
        uint64_t integer[3];
        bf_band_sums g = sums_of(p, number);
        bf_band_integer(p.op, &g, integer);
        bool fits = bf_integer_fits(p.to, integer);
        uint64_t *to = (uint64_t *)(p.values + i * p.bytes);
        to[0] = integer[0];
        if (p.to == BF_I192) to[1] = integer[1], to[2] = integer[2];
        if (p.fits != nullptr)
            p.fits[i] = fits;
        else if (!fits)
            note_failure(p, i);
    }
};

struct extremes {
    static __device__ __forceinline__ void finish(const result_params &p, int64_t i, int64_t number,
                                                  bf_work *) {
        const bf_cuda_aggregate_params &c = p.aggregate;
        int64_t nan = c.specials != nullptr ? c.specials[number * BF_CUDA_SPECIALS] : 0;
        if (p.options.nan == BF_NAN_ERROR && nan > 0) note_failure(p, i);
        store_bits(p, i,
                   bf_extreme_bits(p.op, p.to, p.counts[number], nan, c.keys[number],
                                   p.options.nan == BF_NAN_SKIP));
    }
};

template <class Kind>
__global__ void __launch_bounds__(BF_CUDA_GROUP_THREADS)
    finish_groups(const __grid_constant__ result_params p) {
    int64_t thread = blockIdx.x * (int64_t)BF_CUDA_GROUP_THREADS + threadIdx.x;
    for (int64_t i = thread; i < p.aggregate.n; i += (int64_t)gridDim.x * BF_CUDA_GROUP_THREADS)
        Kind::finish(p, i, p.order[i], (bf_work *)p.work + thread);
}

/* --- all --- */

bool needs_work(const result_params &p) {
    return p.op == BF_VAR || p.op == BF_STD || p.options.scale > 0;
}

unsigned blocks_of(const bf_context *context, const result_params &p) {
    unsigned blocks = bf_cuda_blocks(context->cuda, p.aggregate.n, BF_CUDA_GROUP_THREADS);
    unsigned most =
        (unsigned)context->cuda->multiprocessors; /* bf_work of more threads would be too large */
    return needs_work(p) && blocks > most ? most : blocks;
}

/* Variances have a bf_work for each thread. */
size_t work_bytes(const bf_context *context, const result_params &p) {
    if (bf_kind_is_joint(p.aggregate.kind))
        return bf_cuda_joint_finish_bytes(context->cuda, p.aggregate);
    const size_t threads = (size_t)blocks_of(context, p) * BF_CUDA_GROUP_THREADS;
    return needs_work(p) ? threads * sizeof(bf_work) : 0;
}

void (*kernel_of(bf_reduction op, bf_dtype result))(result_params) {
    if (result == BF_I192) return finish_groups<integers>;
    switch (op) {
    case BF_SUM: return finish_groups<floats<BF_SUM>>;
    case BF_MEAN: return finish_groups<floats<BF_MEAN>>;
    case BF_VAR: return finish_groups<floats<BF_VAR>>;
    case BF_STD: return finish_groups<floats<BF_STD>>;
    case BF_SUMSQ: return finish_groups<floats<BF_SUMSQ>>;
    case BF_NORM: return finish_groups<floats<BF_NORM>>;
    default: return finish_groups<extremes>;
    }
}

bf_cuda_joint_results joint_of(const result_params &p) {
    return {p.aggregate, p.op,     p.to,     p.options,     p.order,
            p.counts,    p.values, p.failed, (char *)p.work};
}

cudaError_t launch_finish(bf_context *context, const result_params &p, bf_dtype result) {
    cudaStream_t stream = context->cuda->stream;
    cudaError_t error = cudaMemsetAsync(p.failed, 0, sizeof *p.failed, stream);
    if (error == cudaSuccess && p.fits != NULL)
        error = cudaMemsetAsync(p.fits, 1, (size_t)p.aggregate.n, stream);
    if (error != cudaSuccess) return error;
    if (bf_kind_is_joint(p.aggregate.kind)) return bf_cuda_joint_finish(context->cuda, joint_of(p));
    kernel_of(p.op, result)<<<blocks_of(context, p), BF_CUDA_GROUP_THREADS, 0, stream>>>(p);
    return cudaGetLastError();
}

/* Allocates device memory for the results: the word for a failure, the elements, and whether they
 * fit. */
bf_status alloc_results(bf_context *context, bf_cuda_groups *g, result_params *p, bool fits) {
    size_t n = (size_t)p->aggregate.n, elements = (n * (size_t)p->bytes + 15) & ~(size_t)15;
    char *out = (char *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_OUT,
                                                 16 + elements + (fits ? n : 0));
    if (out == NULL) return BF_E_MEMORY;
    p->failed = (unsigned long long *)out;
    p->values = out + 16;
    p->fits = fits ? (uint8_t *)p->values + elements : NULL;
    const size_t bytes = work_bytes(context, *p);
    if (bytes > 0) p->work = bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_BATCHES, bytes);
    return bytes == 0 || p->work != NULL ? BF_OK : BF_E_MEMORY;
}

/* Finishes, and copies the results unless a group fails. */
bf_status copy_results(bf_context *context, const result_params &p, bf_dtype result, void *values,
                       uint8_t *fits) {
    unsigned long long failed = 0;
    cudaStream_t stream = context->cuda->stream;
    cudaError_t error = launch_finish(context, p, result);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(&failed, p.failed, sizeof failed, cudaMemcpyDefault, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    bf_status status = bf_cuda_group_check(context, error);
    if (status != BF_OK) return status;
    if (failed > 0 && result != BF_I192) return bf_group_refuse_nan(context);
    if (failed > 0) return bf_group_misfit(context, p.op, p.to, p.aggregate.n - (int64_t)failed);
    status = bf_cuda_copy(context, values, p.values, (size_t)(p.aggregate.n * p.bytes));
    if (status == BF_OK && fits != NULL)
        status = bf_cuda_copy(context, fits, p.fits, (size_t)p.aggregate.n);
    return status == BF_OK ? bf_cuda_group_check(context, cudaStreamSynchronize(stream)) : status;
}

bf_status aggregate_groups(bf_context *context, bf_cuda_groups *g, int which, bf_reduction op,
                           const bf_reduce_options *options, bf_dtype to, void *values,
                           uint8_t *fits) {
    bool wraps = options->overflow == BF_OVERFLOW_WRAP;
    bf_dtype result = bf_result_dtype(op, g->wanted[which].dtype, options->out_dtype);
    bf_status status = bf_cuda_groups_sort(context, g);
    if (status != BF_OK) return status;
    result_params p = {};
    p.aggregate = bf_cuda_aggregate_params_of(&g->set.aggregates[g->of[which]], g->set.size);
    p.op = op;
    p.to = to;
    p.bytes = to == BF_I192 ? (int)INTEGER_BYTES : bf_dtype_bytes(to);
    p.options = *options;
    p.order = (const unsigned *)g->order.memory;
    p.counts = (const int64_t *)g->set.counts.memory;
    status = alloc_results(context, g, &p, fits != NULL || wraps);
    return status == BF_OK ? copy_results(context, p, result, values, fits) : status;
}

} // namespace

bf_status bf_cuda_groups_aggregate(bf_context *context, void *groups, int which, bf_reduction op,
                                   const bf_reduce_options *options, bf_dtype to, void *values,
                                   uint8_t *fits) {
    int previous = bf_cuda_enter(context);
    bf_status status =
        aggregate_groups(context, (bf_cuda_groups *)groups, which, op, options, to, values, fits);
    bf_cuda_leave(previous);
    return status;
}
