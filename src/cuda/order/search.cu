/* Places in an order: binary search, and whether an array is in order. */
#include "cuda/order/places.cuh"
#include "cuda/runtime/mailbox.cuh"

namespace {

enum { SEARCH_THREADS = 256, SEARCH_AHEAD = 8, SEARCH_TILE = SEARCH_THREADS * SEARCH_AHEAD };

/* Loads places of elements, by dtype; pairs have two words. */
template <bf_dtype D> struct loader {
    typedef bf_cuda_place_type<D> place;
    bf_cuda_coding coding;
    const bf_cuda_bits_type<D> *elements;

    loader(bf_dtype dtype, bf_order order, const void *e)
        : coding(bf_cuda_coding_of(dtype, order)), elements((const bf_cuda_bits_type<D> *)e) {}
    __device__ __forceinline__ place operator[](int64_t i) const {
        return bf_cuda_place_of<D>(coding, elements[i]);
    }
};

struct pair_place {
    uint64_t hi, lo;
    __device__ __forceinline__ bool operator<(const pair_place &other) const {
        return hi != other.hi ? hi < other.hi : lo < other.lo;
    }
};

struct pair_loader {
    typedef pair_place place;
    bf_order order;
    const uint64_t *elements;

    pair_loader(bf_dtype, bf_order o, const void *e) : order(o), elements((const uint64_t *)e) {}
    __device__ __forceinline__ place operator[](int64_t i) const {
        const uint64_t flip = order == BF_ASCENDING ? 0 : ~(uint64_t)0;
        return {elements[2 * i] ^ flip, elements[2 * i + 1] ^ flip};
    }
};

/* Calls f with a loader's type. */
template <class L> struct loader_type { typedef L type; };
template <class F> void by_loader(bf_dtype dtype, F f) {
    if (dtype == BF_PAIR)
        f(loader_type<pair_loader>());
    else
        bf_cuda_by_dtype(dtype, [&](auto d) { f(loader_type<loader<decltype(d)::value>>()); });
}

template <class L>
__global__ void __launch_bounds__(SEARCH_THREADS)
    search(const L sorted, int64_t n, const L wanted, int64_t m, bool right, int64_t *places) {
    for (const int64_t i : bf_cuda_indices<SEARCH_THREADS>(m)) {
        const typename L::place mine = wanted[i];
        places[i] = bf_cuda_count_first(n, [&](int64_t k) {
            const typename L::place there = sorted[k];
            return right ? !(mine < there) : there < mine;
        });
    }
}

/* Blocks take tiles in turn, and stop when one has found an element that is before the one in front
 * of it. */
template <class L>
__global__ void __launch_bounds__(SEARCH_THREADS)
    find_disorder(const L values, int64_t n, unsigned long long *found) {
    volatile unsigned long long *stop = found;
    for (int64_t first = (int64_t)blockIdx.x * SEARCH_TILE + threadIdx.x; first < n;
         first += (int64_t)gridDim.x * SEARCH_TILE) {
        bool wrong = false;
#pragma unroll
        for (int k = 0; k < SEARCH_AHEAD; k++) {
            const int64_t i = first + k * SEARCH_THREADS;
            if (i < n && i > 0) wrong |= values[i] < values[i - 1];
        }
        if (wrong) *stop = 1;
        if (*stop) break;
    }
}

} // namespace

bf_status bf_cuda_search(bf_context *context, bf_dtype dtype, bf_order order, const void *sorted,
                         int64_t n, const void *wanted, int64_t m, bool right, void *places) {
    const size_t bytes = (size_t)bf_key_bytes(dtype);
    const int align = bf_cuda_order_align(dtype);
    bf_cuda_call call;
    void *out = NULL;
    bf_status status = bf_cuda_call_begin(&call, context);
    if (status == BF_OK)
        status = bf_cuda_call_read(&call, sorted, (size_t)n * bytes, align, &sorted);
    if (status == BF_OK)
        status = bf_cuda_call_read(&call, wanted, (size_t)m * bytes, align, &wanted);
    if (status == BF_OK) status = bf_cuda_call_write(&call, places, (size_t)m * 8, 8, &out);
    if (status == BF_OK && m > 0) {
        by_loader(dtype, [&](auto l) {
            typedef typename decltype(l)::type L;
            search<L><<<bf_cuda_blocks(context->cuda, m, SEARCH_THREADS), SEARCH_THREADS, 0,
                        context->cuda->stream>>>(L(dtype, order, sorted), n,
                                                 L(dtype, order, wanted), m, right, (int64_t *)out);
        });
        status = bf_cuda_order_check(context, cudaGetLastError());
    }
    return bf_cuda_call_end(&call, status);
}

bf_status bf_cuda_is_sorted(bf_context *context, bf_dtype dtype, bf_order order, const void *values,
                            int64_t n, bool *sorted) {
    bf_cuda_call call;
    unsigned long long *found = NULL, disorder = 0;
    bf_status status = bf_cuda_call_begin(&call, context);
    if (status == BF_OK)
        status = bf_cuda_call_read(&call, values, (size_t)n * (size_t)bf_key_bytes(dtype),
                                   bf_cuda_order_align(dtype), &values);
    if (status == BF_OK &&
        (found = (unsigned long long *)bf_cuda_call_alloc(&call, sizeof *found)) == NULL)
        status = BF_E_MEMORY;
    if (status == BF_OK) {
        cudaStream_t stream = context->cuda->stream;
        cudaError_t error = cudaMemsetAsync(found, 0, sizeof *found, stream);
        by_loader(dtype, [&](auto l) {
            typedef typename decltype(l)::type L;
            find_disorder<L>
                <<<bf_cuda_blocks(context->cuda, (n - 1) / SEARCH_AHEAD + 1, SEARCH_THREADS),
                   SEARCH_THREADS, 0, stream>>>(L(dtype, order, values), n, found);
        });
        if (error == cudaSuccess) error = cudaGetLastError();
        status = bf_cuda_fetch_words(context, error, found, 1, &disorder, "order on a GPU");
    }
    if (status == BF_OK) *sorted = disorder == 0;
    return bf_cuda_call_end(&call, status);
}
