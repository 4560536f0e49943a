/* Weights of histograms. Each weight is added to the words of its element's bin
 * (rules/reduce/sum.h) by atomic additions of integers, which commute. */
#include "cuda/histogram/histogram.cuh"

#include "rules/reduce/sum.h"

namespace {

enum { THREADS = 256, BLOCKS_EACH = 8 };

struct weight_params {
    bf_bin_job job;
    bf_bins bins; /* with edges, or steps, on the device */
    bf_sum_shape shape;
    int64_t *words;
};

/* Returns the bits of the element at p, which is aligned. */
__device__ __forceinline__ uint64_t load_bits(const void *p, int bytes) {
    switch (bytes) {
    case 1: return *(const uint8_t *)p;
    case 2: return *(const uint16_t *)p;
    case 4: return *(const uint32_t *)p;
    default: return *(const uint64_t *)p;
    }
}

__device__ __forceinline__ void add_word(int64_t *word, int64_t x) {
    if (x != 0) atomicAdd((unsigned long long *)word, (unsigned long long)x);
}

/* Adds a weight as bf_sum_take does, but does not count it. */
__device__ void deposit_weight(const weight_params &p, int64_t *words, uint64_t bits) {
    bf_dtype dtype = p.job.weights_dtype;
    bool is_float = bf_dtype_is_float(dtype);
    bf_format f = bf_format_of(dtype);
    int special = is_float ? bf_sum_special(f, bits) : 0;
    if (is_float && bf_sum_neg_zero(f, bits)) special = BF_SUM_NEG_ZERO;
    if (special) {
        add_word(words + special, 1);
        return;
    }
    bf_finite d = is_float ? bf_decode(f, bits) : bf_decode_integer(dtype, bits);
    int position = is_float ? bf_sum_position(f, p.shape.sum, d.position, 1) : 0;
    int64_t part[3] = {0, 0, 0};
    bf_limbs_add(part, position % 32, d.magnitude, d.negative);
    for (int i = 0; i < 3; i++) add_word(words + p.shape.sum_at + position / 32 + i, part[i]);
}

__global__ void __launch_bounds__(THREADS) absorb_weights(const weight_params p) {
    int bytes = bf_dtype_bytes(p.job.dtype), weight_bytes = bf_dtype_bytes(p.job.weights_dtype);
    int64_t stride = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < p.job.count; i += stride) {
        uint64_t bits = load_bits((const char *)p.job.data + i * bytes, bytes);
        int64_t row = bf_bin_of_bits(&p.bins, p.job.dtype, bits);
        if (row >= p.bins.count) continue;
        bits = load_bits((const char *)p.job.weights + i * weight_bytes, weight_bytes);
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
    int64_t blocks = (job->count + THREADS - 1) / THREADS,
            most = cuda->multiprocessors * BLOCKS_EACH;
    absorb_weights<<<(unsigned)(blocks < most ? blocks : most), THREADS, 0, cuda->stream>>>(p);
    int64_t carriers = (p.bins.count + THREADS - 1) / THREADS;
    carry_sums<<<(unsigned)carriers, THREADS, 0, cuda->stream>>>(words, p.bins.count, p.shape);
    return cudaGetLastError();
}
