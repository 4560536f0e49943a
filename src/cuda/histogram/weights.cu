/* Weights of histograms. Each weight is added to the words of its element's bin
 * (rules/reduce/sum.h) by atomic additions of integers, which commute. */
#include "cuda/histogram/histogram.cuh"

#include "cuda/reduce/sum_limbs.cuh"

namespace {

enum { THREADS = 256, BLOCKS_EACH = 8 };

struct weight_params {
    bf_bin_job job;
    bf_bins bins; /* with edges, or steps, on the device */
    bf_sum_shape shape;
    int64_t *words;
};

/* Adds a weight as bf_sum_take does, but does not count it. */
__device__ void deposit_weight(const weight_params &p, int64_t *words, uint64_t bits) {
    bf_dtype dtype = p.job.weights_dtype;
    bool is_float = bf_dtype_is_float(dtype);
    bf_format f = bf_format_of(dtype);
    int special = is_float ? bf_sum_special(f, bits) : 0;
    if (is_float && bf_sum_neg_zero(f, bits)) special = BF_SUM_NEG_ZERO;
    if (special) {
        bf_cuda_add_word(words + special, 1);
        return;
    }
    bf_finite d = is_float ? bf_decode(f, bits) : bf_decode_integer(dtype, bits);
    int position = is_float ? bf_sum_position(f, p.shape.sum, d.position, 1) : 0;
    bf_cuda_add_term(words + p.shape.sum_at, position, d.magnitude, d.negative);
}

__global__ void __launch_bounds__(THREADS) absorb_weights(const weight_params p) {
    int bytes = bf_dtype_bytes(p.job.dtype), weight_bytes = bf_dtype_bytes(p.job.weights_dtype);
    int64_t stride = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < p.job.count; i += stride) {
        uint64_t bits = bf_cuda_element::load_bits(p.job.data, bytes, i);
        int64_t row = bf_bin_of_bits(&p.bins, p.job.dtype, bits);
        if (row >= p.bins.count) continue;
        bits = bf_cuda_element::load_bits(p.job.weights, weight_bytes, i);
        deposit_weight(p, p.words + row * p.shape.words, bits);
    }
}

__global__ void __launch_bounds__(THREADS)
    carry_sums(int64_t *words, int64_t bins, bf_sum_shape shape) {
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < bins) bf_limbs_carry(words + i * shape.words + shape.sum_at, shape.sum.limbs);
}

} // namespace

cudaError_t bf_cuda_absorb_weights(const bf_cuda *cuda, const bf_bin_job *job, const void *edges,
                                   int64_t *words) {
    weight_params p = {*job, *job->bins, bf_sum_shape_of(BF_KIND_SUM, job->weights_dtype), words};
    p.bins.edges = (const double *)edges;
    if (p.bins.steps != NULL) p.bins.steps = (const int64_t *)edges;
    const unsigned blocks = bf_cuda_blocks(cuda, job->count, THREADS, BLOCKS_EACH);
    absorb_weights<<<blocks, THREADS, 0, cuda->stream>>>(p);
    int64_t carriers = (p.bins.count + THREADS - 1) / THREADS;
    carry_sums<<<(unsigned)carriers, THREADS, 0, cuda->stream>>>(words, p.bins.count, p.shape);
    return cudaGetLastError();
}
