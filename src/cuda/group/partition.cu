/* Rows partitioned by the hash of their keys, in no order within a partition. Partitions are
 * counted; then blocks sort tiles of rows in shared memory and append each run of a tile to its
 * partition. So few lines of memory are written at a time, and they are full when they leave the
 * cache. Values follow their keys. Partitions that are probably about equal have room to spare
 * instead of counts. */
#include "cuda/group/sorter.cuh"

namespace {

template <class R>
__global__ void __launch_bounds__(BF_CUDA_BATCH_THREADS)
    count_partitions(const __grid_constant__ partition_params p) {
    enum { AHEAD = 8 };
    __shared__ unsigned counts[PARTITIONS_MOST];
    const unsigned begin = min(blockIdx.x * p.rows, p.n), end = min(begin + p.rows, p.n);
    const R *ranks = (const R *)p.ranks;
    for (unsigned i = threadIdx.x; i < 1u << p.bits; i += BF_CUDA_BATCH_THREADS) counts[i] = 0;
    __syncthreads();
    unsigned row = begin + threadIdx.x;
    for (; row + (AHEAD - 1) * BF_CUDA_BATCH_THREADS < end; row += AHEAD * BF_CUDA_BATCH_THREADS) {
        R rank[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) rank[k] = ranks[row + k * BF_CUDA_BATCH_THREADS];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) atomicAdd(counts + partition_of(p, rank[k]), 1u);
    }
    for (; row < end; row += BF_CUDA_BATCH_THREADS)
        atomicAdd(counts + partition_of(p, ranks[row]), 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 1u << p.bits; i += BF_CUDA_BATCH_THREADS)
        if (counts[i] > 0) atomicAdd(p.cursors + i, counts[i]);
}

template <class R, bool Values>
__global__ void __launch_bounds__(BF_CUDA_BATCH_THREADS)
    move_rows(const __grid_constant__ partition_params p) {
    __shared__ unsigned full;
    constexpr unsigned ROWS = Tile<R, Values>::ROWS;
    const unsigned whole = p.n / ROWS * ROWS, begin = min(blockIdx.x * p.rows, whole),
                   end = min(begin + p.rows, whole);
    Sorter<R, Values> sorter(p, &full);
    if (threadIdx.x == 0) full = 0;
    sorter.clear_counts();
    if (!Values && begin < end) sorter.load_ranks(begin);
    __syncthreads();
    for (unsigned first = begin; first < end; first += ROWS)
        if (!sorter.move_tile(first, min(first + ROWS, end - ROWS))) return;
    if (blockIdx.x == gridDim.x - 1) sorter.move_rest(whole);
}

/* Sets the beginnings of partitions with equal room. */
__global__ void __launch_bounds__(BF_CUDA_BATCH_THREADS)
    set_even_cursors(unsigned *cursors, int partitions, unsigned room) {
    for (int i = (int)threadIdx.x; i < partitions; i += BF_CUDA_BATCH_THREADS)
        cursors[i] = (unsigned)i * room;
}

/* Makes a batch of each partition with equal room, which ends at its cursor. count[1]: a partition
 * had too little room. One block. */
__global__ void __launch_bounds__(BF_CUDA_BATCH_THREADS)
    make_even_batches(const unsigned *cursors, int partitions, unsigned room, bool mixes,
                      unsigned *count, bf_cuda_batch *batches) {
    if (threadIdx.x == 0) count[0] = (unsigned)partitions;
    for (int i = (int)threadIdx.x; i < partitions; i += BF_CUDA_BATCH_THREADS) {
        unsigned begin = (unsigned)i * room, end = cursors[i];
        if (end - begin > room) count[1] = 1;
        batches[i] = bf_cuda_batch{begin, end, !mixes};
    }
}

/* Turns the sizes of partitions into their beginnings, and makes batches of at most `most` rows;
 * *count: their number. One block. */
__global__ void __launch_bounds__(BF_CUDA_BATCH_THREADS)
    make_batches(unsigned *sizes, int partitions, unsigned most, bool mixes, unsigned *count,
                 bf_cuda_batch *batches) {
    __shared__ unsigned begins[PARTITIONS_MOST], counts[PARTITIONS_MOST];
    for (int i = (int)threadIdx.x; i < partitions; i += BF_CUDA_BATCH_THREADS) begins[i] = sizes[i];
    __syncthreads();
    for (int i = (int)threadIdx.x; i < partitions; i += BF_CUDA_BATCH_THREADS)
        counts[i] = (begins[i] + most - 1) / most;
    __syncthreads();
    unsigned last = counts[partitions - 1];
    __syncthreads();
    scan_counts(begins, (unsigned)partitions);
    __syncthreads();
    scan_counts(counts, (unsigned)partitions);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < partitions; i += BF_CUDA_BATCH_THREADS) {
        unsigned begin = begins[i], end = begin + sizes[i], alone = !mixes && sizes[i] <= most;
        sizes[i] = begin;
        for (unsigned at = counts[i]; begin < end; at++, begin += most)
            batches[at] = bf_cuda_batch{begin, end - begin < most ? end : begin + most, alone};
    }
    if (threadIdx.x == 0) *count = counts[partitions - 1] + last;
}

/* Blocks move whole tiles; the last one also moves the rest. */
template <class R, bool Values>
cudaError_t launch_move(const bf_context *context, partition_params p) {
    typedef Tile<R, Values> tile;
    unsigned blocks = (unsigned)context->cuda->multiprocessors, tiles = p.n / tile::ROWS;
    p.rows = (tiles + blocks - 1) / blocks * tile::ROWS;
    int bytes = (int)tile::ROWS * p.row_bytes + (8 << p.bits);
    bf_cuda_shape shape = {blocks, BF_CUDA_BATCH_THREADS, (size_t)bytes};
    return bf_cuda_launch(context->cuda, move_rows<R, Values>, shape, p);
}

template <class R>
cudaError_t partition_rows(const bf_context *context, const partition_params &p, unsigned blocks,
                           const bf_cuda_batch_plan *plan) {
    cudaStream_t stream = context->cuda->stream;
    int partitions = 1 << p.bits;
    cudaError_t error = cudaMemsetAsync(p.cursors, 0, sizeof(unsigned) << p.bits, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(plan->batch_count, 0, 2 * sizeof(unsigned), stream);
    if (error != cudaSuccess) return error;
    if (p.room > 0) {
        set_even_cursors<<<1, BF_CUDA_BATCH_THREADS, 0, stream>>>(p.cursors, partitions, p.room);
    } else {
        count_partitions<R><<<blocks, BF_CUDA_BATCH_THREADS, 0, stream>>>(p);
        make_batches<<<1, BF_CUDA_BATCH_THREADS, 0, stream>>>(
            p.cursors, partitions, plan->batch_rows, plan->mixes, plan->batch_count, plan->batches);
    }
    error = p.arrays > 0 ? launch_move<R, true>(context, p) : launch_move<R, false>(context, p);
    if (error != cudaSuccess || p.room == 0) return error;
    make_even_batches<<<1, BF_CUDA_BATCH_THREADS, 0, stream>>>(
        p.cursors, partitions, p.room, plan->mixes, plan->batch_count, plan->batches);
    return cudaGetLastError();
}

} // namespace

bf_status bf_cuda_groups_partition(bf_context *context, bf_cuda_groups *g,
                                   bf_cuda_batch_plan *plan) {
    partition_params p = {};
    unsigned blocks = 2 * (unsigned)context->cuda->multiprocessors;
    size_t n = (size_t)plan->n, capacity = (size_t)plan->capacity;
    size_t ranks = bf_cuda_part_bytes(capacity * (size_t)plan->rank_bytes);
    p.ranks = plan->ranks;
    p.n = (unsigned)n;
    p.bits = bf_bit_length((uint64_t)plan->partitions) - 1;
    p.rows = (unsigned)((n + blocks - 1) / blocks);
    p.factor = p.factor_again = plan->factor;
    p.room = plan->room;
    p.row_bytes = plan->rank_bytes;
    p.arrays = g->arrays;
    for (int i = 0; i < p.arrays; i++) {
        const int bytes = bf_dtype_bytes(g->dtypes[i]);
        p.array[i] = value_array{(const char *)plan->values[i], NULL, bytes};
        if (bytes > p.row_bytes) p.row_bytes = bytes;
    }
    size_t cursors = bf_cuda_part_bytes(sizeof(unsigned) << p.bits), total = cursors + ranks;
    for (int c = 0; c < p.arrays; c++)
        total += bf_cuda_part_bytes(capacity * (size_t)p.array[c].bytes);
    char *memory = (char *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_PARTITIONED, total);
    if (memory == NULL) return BF_E_MEMORY;
    p.cursors = (unsigned *)bf_cuda_next_part(&memory, cursors);
    p.partitioned = bf_cuda_next_part(&memory, ranks);
    for (int c = 0; c < p.arrays; c++)
        p.array[c].to = (char *)bf_cuda_next_part(&memory, capacity * (size_t)p.array[c].bytes);
    for (int i = 0; i < p.arrays; i++) plan->values[i] = p.array[i].to;
    plan->ranks = p.partitioned;
    return bf_cuda_group_check(context, plan->rank_bytes == 4
                                            ? partition_rows<uint32_t>(context, p, blocks, plan)
                                            : partition_rows<uint64_t>(context, p, blocks, plan));
}
