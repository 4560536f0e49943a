/* Sums of arrays in one GPU's memory. */
#include "cuda/comm/terms.cuh"

#include "cuda/comm/add.cuh"
#include "cuda/runtime/launch.cuh"
#include "rules/number/dtype.h"

namespace {

enum { THREADS = 256, BLOCKS_EACH = 4 /* the most that a multiprocessor has */ };

template <bf_dtype D> struct array_sums {
    using E = bf_cuda_add::stored_of<D>;
    static constexpr int N = 16 / (int)sizeof(E);
    E *out;
    int64_t count;
    template <bool whole> __device__ __forceinline__ void store(int vector, uint4 v) const {
        if (whole)
            ((uint4 *)out)[vector] = v;
        else
            bf_cuda_add::store_part(out + (int64_t)vector * N, count - (int64_t)vector * N, v);
    }
};

/* Adds the first `full` vectors, which are whole and aligned, and the rest. */
template <bf_dtype D>
__global__ void __launch_bounds__(THREADS)
    add_arrays(const __grid_constant__ bf_cuda_terms terms, int full) {
    using sums_of = array_sums<D>;
    const sums_of sums = {(typename sums_of::E *)terms.out, terms.count};
    const int used = (int)((terms.count + sums_of::N - 1) / sums_of::N);
    bf_cuda_add::share share = {(int)(blockIdx.x * blockDim.x + threadIdx.x),
                                (int)(gridDim.x * blockDim.x)};
    bool misfit = terms.n == 2
                      ? bf_cuda_add::add_pairs<D>(sums, terms.in, share, full)
                      : bf_cuda_add::add_vectors<D, true>(sums, terms.in, terms.n, share, full);
    share.first += full;
    misfit |= bf_cuda_add::add_vectors<D, false>(sums, terms.in, terms.n, share, used);
    if (bf_cuda_element::is_integer(D) && misfit) *(volatile uint32_t *)terms.misfit = 1;
}

typedef void add_kernel(bf_cuda_terms, int);

add_kernel *add_kernel_of(bf_dtype dtype) {
    switch (dtype) {
    case BF_I8: return add_arrays<BF_I8>;
    case BF_I16: return add_arrays<BF_I16>;
    case BF_I32: return add_arrays<BF_I32>;
    case BF_I64: return add_arrays<BF_I64>;
    case BF_U8: return add_arrays<BF_U8>;
    case BF_U16: return add_arrays<BF_U16>;
    case BF_U32: return add_arrays<BF_U32>;
    case BF_U64: return add_arrays<BF_U64>;
    case BF_F16: return add_arrays<BF_F16>;
    case BF_BF16: return add_arrays<BF_BF16>;
    case BF_F32: return add_arrays<BF_F32>;
    default: return add_arrays<BF_F64>;
    }
}

bool are_aligned(const bf_cuda_terms *terms) {
    uintptr_t all = (uintptr_t)terms->out;
    for (int t = 0; t < terms->n; t++) all |= (uintptr_t)terms->in[t];
    return all % 16 == 0;
}

} // namespace

cudaError_t bf_cuda_load_terms(void) {
    cudaError_t error = cudaSuccess;
    cudaFuncAttributes unused;
    for (int dtype = BF_I8; dtype <= BF_F64 && error == cudaSuccess; dtype++)
        error = cudaFuncGetAttributes(&unused, (const void *)add_kernel_of((bf_dtype)dtype));
    return error;
}

cudaError_t bf_cuda_add_terms(const bf_cuda *cuda, cudaStream_t stream,
                              const bf_cuda_terms *terms) {
    int64_t bytes = terms->count * bf_dtype_bytes(terms->dtype);
    int full = are_aligned(terms) ? (int)(bytes / 16) : 0;
    const unsigned blocks = bf_cuda_blocks(cuda, bytes / 16, THREADS, BLOCKS_EACH);
    add_kernel_of(terms->dtype)<<<blocks, THREADS, 0, stream>>>(*terms, full);
    return cudaGetLastError();
}
