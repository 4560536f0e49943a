/* The sort of elements of 1 byte: each value is counted, and then written as often as it is there.
 */
#include "cuda/order/places.cuh"
#include "cuda/runtime/elements.cuh"
#include "cuda/runtime/memory.cuh"

namespace {

enum {
    VALUES = 256,
    COUNTERS = 1024, /* threads of a block that counts */
    COPIES = 32,     /* copies of a counter: one for each lane */
    WRITERS = 256,
    VECTOR = 16
};

struct bytes_params {
    const void *a, *b; /* the elements, as bf_cuda_operands has them: b is not used */
    int64_t count;
    bf_dtype dtype;
    bf_order order;
    uint8_t *sorted;
    unsigned long long *counts; /* cleared: of each byte */
};

/* Counts the bytes of each value. */
__global__ void __launch_bounds__(COUNTERS) count_bytes(const bytes_params p) {
    typedef bf_cuda_operands<uint8_t, false> operands;
    typedef bf_cuda_tile<operands, 2> tile_type;
    __shared__ uint32_t counts[VALUES * COPIES];
    const unsigned mine = bf_cuda_shared_address(counts + threadIdx.x % COPIES);
    for (int i = (int)threadIdx.x; i < VALUES * COPIES; i += COUNTERS) counts[i] = 0;
    __syncthreads();
    const operands e(p);
    const int64_t tiles = tile_type::number_of(e);
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
        tile_type tile;
        tile.load(e, number);
        const bool whole = tile_type::whole(e, number);
#pragma unroll
        for (int v = 0; v < 2; v++) {
            const bf_cuda_elements<uint8_t> vector(tile.a[v]);
            const int64_t first = tile_type::vector(number, v) * VECTOR;
#pragma unroll
            for (int k = 0; k < VECTOR; k++)
                if (whole || e.holds(first + k))
                    bf_cuda_shared_count(mine + vector.e[k] * (COPIES * 4));
        }
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < VALUES; i += COUNTERS) {
        const int64_t sum = bf_cuda_sum_of_copies(counts + i * COPIES, COPIES, 0);
        if (sum > 0) atomicAdd(&p.counts[i], (unsigned long long)sum);
    }
}

/* The elements in order, and where each begins. */
struct value_table {
    unsigned long long begin[VALUES + 1];
    uint8_t value[VALUES];
};

__device__ void fill_table(const bytes_params &p, value_table &t) {
    const unsigned i = threadIdx.x;
    const bool descending = p.order != BF_ASCENDING, is_bool = p.dtype == BF_BOOL;
    /* bytes that mean true count as 1, wherever they are in the table */
    const uint8_t place = (uint8_t)(descending ? ~i : i);
    const uint8_t byte = p.dtype == BF_I8 ? (uint8_t)(place ^ 0x80) : place;
    const unsigned long long mine = p.counts[byte];
    unsigned long long all;
    t.begin[i] = bf_cuda_block_sum_before<VALUES / BF_CUDA_WARP>(mine, &all);
    t.value[i] = is_bool ? byte != 0 : byte;
    if (i == VALUES - 1) t.begin[VALUES] = all;
    __syncthreads();
}

/* Returns the last value that begins at an element, or before it. */
__device__ __forceinline__ unsigned value_at(const value_table &t, unsigned long long element) {
    unsigned value = 0;
    for (unsigned step = VALUES / 2; step > 0; step /= 2)
        if (t.begin[value + step] <= element) value += step;
    return value;
}

/* Writes the elements in order, in vectors. */
__global__ void __launch_bounds__(WRITERS) write_bytes(const bytes_params p) {
    static_assert(WRITERS == VALUES, "a thread for each value");
    __shared__ value_table t;
    fill_table(p, t);
    /* elements count from the start of the first vector */
    const uint64_t before = (uintptr_t)p.sorted % VECTOR, n = (uint64_t)p.count;
    uint8_t *to = p.sorted - before;
    const uint64_t vectors = (before + n + VECTOR - 1) / VECTOR;
    for (uint64_t v = (uint64_t)blockIdx.x * WRITERS + threadIdx.x; v < vectors;
         v += (uint64_t)gridDim.x * WRITERS) {
        const uint64_t first = v * VECTOR < before ? before : v * VECTOR;
        const uint64_t end = (v + 1) * VECTOR < before + n ? (v + 1) * VECTOR : before + n;
        unsigned value = value_at(t, first - before);
        if (end - first == VECTOR && t.begin[value + 1] >= end - before) {
            const uint32_t word = t.value[value] * 0x01010101u;
            ((uint4 *)to)[v] = make_uint4(word, word, word, word);
            continue;
        }
        for (uint64_t i = first; i < end; i++) {
            while (t.begin[value + 1] <= i - before) value++;
            to[i] = t.value[value];
        }
    }
}

} // namespace

bf_status bf_cuda_order_sort_bytes(bf_context *context, const bf_cuda_order_array *array,
                                   void *sorted) {
    const bf_cuda *cuda = context->cuda;
    const size_t bytes = VALUES * sizeof(unsigned long long);
    const int64_t n = array->lines.n;
    bytes_params p = {array->values,
                      NULL,
                      n,
                      array->dtype,
                      array->order,
                      (uint8_t *)sorted,
                      (unsigned long long *)bf_cuda_alloc(context, bytes)};
    if (p.counts == NULL) return BF_E_MEMORY;
    cudaError_t error = cudaMemsetAsync(p.counts, 0, bytes, cuda->stream);
    const unsigned blocks = bf_cuda_blocks(cuda, n, 2 * VECTOR * COUNTERS, 2);
    if (error == cudaSuccess) {
        count_bytes<<<blocks, COUNTERS, 0, cuda->stream>>>(p);
        write_bytes<<<bf_cuda_blocks(context->cuda, n / VECTOR + 1, WRITERS), WRITERS, 0,
                      cuda->stream>>>(p);
        error = cudaGetLastError();
    }
    bf_cuda_free(context, p.counts);
    return bf_cuda_order_check(context, error);
}
