/* Elements as places, and back. */
#include "cuda/order/places.cuh"
#include "cuda/runtime/warp.cuh"

namespace {

enum { PLACE_THREADS = 256, PLACE_AHEAD = 4 };

/* Notes the NaNs that the threads of a warp have met. */
__device__ __forceinline__ void note_nans(unsigned long long bits, unsigned long long others,
                                          bf_cuda_nans *nans) {
    if (!__any_sync(~0u, (bits | others) != 0)) return;
    bits = bf_cuda_warp_or(bits);
    others = bf_cuda_warp_or(others);
    if (threadIdx.x % 32 != 0) return;
    atomicOr(&nans->bits, bits);
    atomicOr(&nans->others, others);
}

template <bf_dtype D, class K, bool Lined>
__global__ void __launch_bounds__(PLACE_THREADS)
    write_places(const bf_cuda_order_array array, const bf_cuda_coding coding, K *places,
                 bf_cuda_nans *nans) {
    typedef bf_cuda_bits_type<D> element;
    const element *from = (const element *)array.values;
    const int64_t n = array.lines.n, step = (int64_t)gridDim.x * PLACE_THREADS * PLACE_AHEAD;
    unsigned long long bits = 0, others = 0;
    for (int64_t first = (int64_t)blockIdx.x * PLACE_THREADS * PLACE_AHEAD + threadIdx.x; first < n;
         first += step) {
        element e[PLACE_AHEAD];
#pragma unroll
        for (int k = 0; k < PLACE_AHEAD; k++)
            if (first + k * PLACE_THREADS < n) e[k] = from[first + k * PLACE_THREADS];
#pragma unroll
        for (int k = 0; k < PLACE_AHEAD; k++) {
            const int64_t i = first + k * PLACE_THREADS;
            if (i >= n) break;
            K place = (K)bf_cuda_place_of<D>(coding, e[k]);
            if constexpr (Lined) place |= (K)array.lines.line_of(i) << (8 * sizeof(element));
            places[i] = place;
            if (bf_cuda_is_nan<D>(coding, e[k])) {
                bits |= e[k];
                others |= (element)~e[k];
            }
        }
    }
    if (bf_cuda_element::is_float(D) && nans != NULL) note_nans(bits, others, nans);
}

template <bf_dtype D, class K>
__global__ void __launch_bounds__(PLACE_THREADS)
    write_elements(bf_cuda_coding coding, const K *places, int64_t n, const bf_cuda_nans *nans,
                   bf_cuda_bits_type<D> *elements) {
    typedef bf_cuda_bits_type<D> element;
    const bool is_float = bf_cuda_element::is_float(D);
    if (is_float) coding.nan = nans->bits;
    const int64_t step = (int64_t)gridDim.x * PLACE_THREADS * PLACE_AHEAD;
    for (int64_t first = (int64_t)blockIdx.x * PLACE_THREADS * PLACE_AHEAD + threadIdx.x; first < n;
         first += step) {
        K place[PLACE_AHEAD];
#pragma unroll
        for (int k = 0; k < PLACE_AHEAD; k++)
            if (first + k * PLACE_THREADS < n) place[k] = places[first + k * PLACE_THREADS];
#pragma unroll
        for (int k = 0; k < PLACE_AHEAD; k++) {
            const int64_t i = first + k * PLACE_THREADS;
            if (i >= n) break;
            const element mine = (element)place[k];
            elements[i] = is_float ? bf_cuda_decode_float(coding, mine)
                                   : (element)(mine ^ (element)coding.flip);
        }
    }
}

unsigned place_blocks(const bf_context *context, int64_t n) {
    return bf_cuda_blocks(context->cuda, (n + PLACE_AHEAD - 1) / PLACE_AHEAD, PLACE_THREADS);
}

} // namespace

cudaError_t bf_cuda_order_places(const bf_context *context, const bf_cuda_order_array *array,
                                 bool lined, int key_bytes, void *places, bf_cuda_nans *nans) {
    cudaStream_t stream = context->cuda->stream;
    const unsigned blocks = place_blocks(context, array->lines.n);
    const bf_cuda_coding coding = bf_cuda_coding_of(array->dtype, array->order);
    if (array->lines.n == 0) return cudaSuccess;
    bf_cuda_by_dtype(array->dtype, [&](auto d) {
        constexpr bf_dtype D = decltype(d)::value;
        if (lined)
            write_places<D, uint64_t, sizeof(bf_cuda_bits_type<D>) < 8>
                <<<blocks, PLACE_THREADS, 0, stream>>>(*array, coding, (uint64_t *)places, nans);
        else if (key_bytes == 4 && bf_dtype_bytes(D) < 8)
            write_places<D, uint32_t, false>
                <<<blocks, PLACE_THREADS, 0, stream>>>(*array, coding, (uint32_t *)places, nans);
        else
            write_places<D, uint64_t, false>
                <<<blocks, PLACE_THREADS, 0, stream>>>(*array, coding, (uint64_t *)places, nans);
    });
    return cudaGetLastError();
}

cudaError_t bf_cuda_order_elements(const bf_context *context, bf_dtype dtype, bf_order order,
                                   int key_bytes, const void *places, int64_t n,
                                   const bf_cuda_nans *nans, void *elements) {
    cudaStream_t stream = context->cuda->stream;
    const unsigned blocks = place_blocks(context, n);
    const bf_cuda_coding coding = bf_cuda_coding_of(dtype, order);
    if (n == 0) return cudaSuccess;
    bf_cuda_by_dtype(dtype, [&](auto d) {
        constexpr bf_dtype D = decltype(d)::value;
        bf_cuda_bits_type<D> *to = (bf_cuda_bits_type<D> *)elements;
        if (key_bytes == 4)
            write_elements<D><<<blocks, PLACE_THREADS, 0, stream>>>(
                coding, (const uint32_t *)places, n, nans, to);
        else
            write_elements<D><<<blocks, PLACE_THREADS, 0, stream>>>(
                coding, (const uint64_t *)places, n, nans, to);
    });
    return cudaGetLastError();
}
