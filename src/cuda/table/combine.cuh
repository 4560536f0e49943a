/* Rows with hot keys, which very many rows have. Before the rows are partitioned by region, equal
 * keys of a tile are combined. Such a key then has one row a tile, and does not occupy one block
 * with most of the work. */
#ifndef BF_CUDA_TABLE_COMBINE_CUH
#define BF_CUDA_TABLE_COMBINE_CUH

#include "cuda/table/rows.cuh"
#include "cuda/table/shared_region.cuh"

namespace bf_cuda_combining {

using namespace bf_cuda_partition;
using namespace bf_cuda_sources;

template <class W> constexpr int rows_each = 32 / (int)sizeof(W);
template <class W> constexpr int rows_of_tile = THREADS *rows_each<W>;

/* A tile, and a hash table of its keys. */
template <class W> struct tile_keys {
    static constexpr int rows = rows_of_tile<W>, slots = 2 * rows;
    W key[rows], value[rows];
    uint32_t order[rows]; /* the row that stands for a key: the least order among the key's rows */
    uint32_t owners[slots];
    uint32_t next; /* index of the block's next row in the output */
};

/* Inserts the key of a row. Returns the row that stands for this key: this row, or an earlier one.
 */
template <class W> __device__ __forceinline__ int insert_key(tile_keys<W> &f, W key, int row) {
    uint32_t slot = (uint32_t)(bf_cuda_bits(key) * 0x9e3779b9u >> 7) % tile_keys<W>::slots;
    for (;; slot = (slot + 1) % tile_keys<W>::slots) {
        uint32_t there =
            *(volatile uint32_t *)&f.owners[slot]; /* volatile: many lanes read it at once */
        if (there == 0) there = atomicCAS(&f.owners[slot], 0, (uint32_t)row + 1);
        if (there == 0) return row;
        if (f.key[there - 1] == key) return (int)there - 1;
    }
}

/* Combines a row with the row `to`, which stands for its key. */
template <class W>
__device__ __forceinline__ void combine_row(tile_keys<W> &f, bf_cuda_combine combine, int to,
                                            int row) {
    uint32_t order = bf_cuda_regions::order_of(combine, (uint32_t)row);
    if (combine == BF_CUDA_ADD)
        bf_cuda_regions::add_value(&f.value[to], f.value[row]);
    else if (combine == BF_CUDA_LEAST)
        bf_cuda_regions::keep_least(&f.value[to], f.value[row]);
    else if (*(volatile uint32_t *)&f.order[to] > order)
        atomicMin(&f.order[to], order);
}

/* Combines the tile of rows [first, end). Returns bits of the thread's rows that stay. */
template <class W, class Source>
__device__ __forceinline__ uint32_t combine_tile(tile_keys<W> &f, const Source &source,
                                                 bf_cuda_combine combine, uint32_t first,
                                                 uint32_t end) {
    uint32_t stay = 0;
    for (int s = threadIdx.x; s < tile_keys<W>::slots; s += THREADS) f.owners[s] = 0;
    for (int k = 0; k < rows_each<W>; k++) {
        int row = k * THREADS + (int)threadIdx.x;
        if ((uint32_t)row >= end - first) break;
        bf_cuda_entry<W> e = source.load((size_t)first + row);
        f.key[row] = source.key(e.key);
        f.value[row] = source.value(e.value);
        f.order[row] = bf_cuda_regions::order_of(combine, (uint32_t)row);
    }
    __syncthreads();
    for (int k = 0; k < rows_each<W>; k++) {
        int row = k * THREADS + (int)threadIdx.x;
        if ((uint32_t)row >= end - first) break;
        int to = insert_key(f, f.key[row], row);
        if (to == row)
            stay |= 1u << k;
        else
            combine_row(f, combine, to, row);
    }
    return stay;
}

/* Returns the row with this order: the row whose value stays. */
static __device__ __forceinline__ uint32_t row_by_order(bf_cuda_combine combine, uint32_t order) {
    return combine == BF_CUDA_FIRST ? order - 1 : ~(uint32_t)0 - 1 - order;
}

/* Each block copies its rows that stay to the beginning of its range, and sets counts[block] to
 * their number. Keys become hashes. */
template <class W, class Source>
__global__ void __launch_bounds__(THREADS)
    combine_kernel(Source source, uint32_t n, uint32_t each, bf_cuda_combine combine,
                   bf_cuda_entry<W> *out, uint32_t *counts) {
    extern __shared__ __align__(16) char shared[];
    tile_keys<W> &f = *(tile_keys<W> *)shared;
    row_range rows(n, each, NULL);
    bool by_order = combine == BF_CUDA_FIRST || combine == BF_CUDA_LAST;
    if (threadIdx.x == 0) f.next = rows.first;
    for (uint64_t first = rows.first; first < rows.end; first += tile_keys<W>::rows) {
        uint32_t stay = combine_tile(f, source, combine, (uint32_t)first, rows.end);
        __syncthreads();
        uint32_t to = stay == 0 ? 0 : atomicAdd(&f.next, (uint32_t)__popc(stay));
        for (uint32_t rest = stay; rest != 0; rest &= rest - 1) {
            uint32_t row = (__ffs((int)rest) - 1) * THREADS + threadIdx.x;
            uint32_t from = by_order ? row_by_order(combine, f.order[row]) : row;
            out[to++] = {f.key[row], f.value[from]};
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) counts[blockIdx.x] = f.next - rows.first;
}

template <class W, class Source>
static cudaError_t launch_combine(const bf_cuda *cuda, const plan &p, const Source &source,
                                  uint32_t n, bf_cuda_combine how, bf_cuda_entry<W> *out,
                                  uint32_t *counts) {
    bf_cuda_shape shape = {p.blocks, THREADS, sizeof(tile_keys<W>), false, true};
    return bf_cuda_launch(cuda, combine_kernel<W, Source>, shape, source, n, p.each, how, out,
                          counts);
}

} // namespace bf_cuda_combining

#endif
