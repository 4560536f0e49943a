/* Rows parted by the hash of their keys, in no order within a part: parts are counted, then blocks
 * sort tiles of rows in shared memory and write them out, part by part, each run where the part's
 * last one ended. So few places are written to at a time, and lines are full when they leave the
 * cache. Values follow their keys. Where all parts are likely to be about equal they have room to
 * spare instead of counts. */
#include "cuda/group/sorter.cuh"

namespace {

template <class R>
__global__ void __launch_bounds__(THREADS) count_parts(const __grid_constant__ part_params p) {
    enum { AHEAD = 8 };
    __shared__ unsigned counts[PARTS_MOST];
    const unsigned begin = min(blockIdx.x * p.rows, p.n), end = min(begin + p.rows, p.n);
    const R *ranks = (const R *)p.ranks;
    for (unsigned i = threadIdx.x; i < 1u << p.bits; i += THREADS) counts[i] = 0;
    __syncthreads();
    unsigned row = begin + threadIdx.x;
    for (; row + (AHEAD - 1) * THREADS < end; row += AHEAD * THREADS) {
        R rank[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) rank[k] = ranks[row + k * THREADS];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) atomicAdd(counts + part_of(p, rank[k]), 1u);
    }
    for (; row < end; row += THREADS) atomicAdd(counts + part_of(p, ranks[row]), 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 1u << p.bits; i += THREADS)
        if (counts[i] > 0) atomicAdd(p.cursors + i, counts[i]);
}

template <class R, bool Values>
__global__ void __launch_bounds__(THREADS) move_rows(const __grid_constant__ part_params p) {
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

/* Where parts begin that have equal room. */
__global__ void __launch_bounds__(THREADS)
    even_cursors(unsigned *cursors, int parts, unsigned room) {
    for (int i = (int)threadIdx.x; i < parts; i += THREADS) cursors[i] = (unsigned)i * room;
}

/* From where their rows end. count[1]: a part had too little room. One block. */
__global__ void __launch_bounds__(THREADS)
    make_even_parts(const unsigned *cursors, int parts, unsigned room, bool mixes, unsigned *count,
                    bf_cuda_unit *units) {
    if (threadIdx.x == 0) count[0] = (unsigned)parts;
    for (int i = (int)threadIdx.x; i < parts; i += THREADS) {
        unsigned begin = (unsigned)i * room, end = cursors[i];
        if (end - begin > room) count[1] = 1;
        units[i] = bf_cuda_unit{begin, end, !mixes};
    }
}

/* Sizes of parts become where these begin. Parts become units of at most `most` rows; *count is
 * their number. One block. */
__global__ void __launch_bounds__(THREADS)
    make_units(unsigned *sizes, int parts, unsigned most, bool mixes, unsigned *count,
               bf_cuda_unit *units) {
    __shared__ unsigned begins[PARTS_MOST], counts[PARTS_MOST];
    for (int i = (int)threadIdx.x; i < parts; i += THREADS) begins[i] = sizes[i];
    __syncthreads();
    for (int i = (int)threadIdx.x; i < parts; i += THREADS)
        counts[i] = (begins[i] + most - 1) / most;
    __syncthreads();
    unsigned last = counts[parts - 1];
    __syncthreads();
    scan_counts(begins, (unsigned)parts);
    __syncthreads();
    scan_counts(counts, (unsigned)parts);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < parts; i += THREADS) {
        unsigned begin = begins[i], end = begin + sizes[i], alone = !mixes && sizes[i] <= most;
        sizes[i] = begin;
        for (unsigned at = counts[i]; begin < end; at++, begin += most)
            units[at] = bf_cuda_unit{begin, end - begin < most ? end : begin + most, alone};
    }
    if (threadIdx.x == 0) *count = counts[parts - 1] + last;
}

size_t padded(size_t bytes) { return (bytes + 255) & ~(size_t)255; }

/* Blocks have whole tiles; the last one also has the rest. */
template <class R, bool Values> cudaError_t launch_move(const bf_context *context, part_params p) {
    typedef Tile<R, Values> tile;
    unsigned blocks = (unsigned)context->cuda->multiprocessors, tiles = p.n / tile::ROWS;
    p.rows = (tiles + blocks - 1) / blocks * tile::ROWS;
    int bytes = (int)tile::ROWS * p.row_bytes + (8 << p.bits);
    bf_cuda_shape shape = {blocks, THREADS, (size_t)bytes};
    return bf_cuda_launch(context->cuda, move_rows<R, Values>, shape, p);
}

template <class R>
cudaError_t part(const bf_context *context, const part_params &p, unsigned blocks,
                 const bf_cuda_unit_plan *plan) {
    cudaStream_t stream = context->cuda->stream;
    int parts = 1 << p.bits;
    cudaError_t error = cudaMemsetAsync(p.cursors, 0, sizeof(unsigned) << p.bits, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(plan->unit_count, 0, 2 * sizeof(unsigned), stream);
    if (error != cudaSuccess) return error;
    if (p.room > 0) {
        even_cursors<<<1, THREADS, 0, stream>>>(p.cursors, parts, p.room);
    } else {
        count_parts<R><<<blocks, THREADS, 0, stream>>>(p);
        make_units<<<1, THREADS, 0, stream>>>(p.cursors, parts, plan->unit_rows, plan->mixes,
                                              plan->unit_count, plan->unit);
    }
    error = p.columns > 0 ? launch_move<R, true>(context, p) : launch_move<R, false>(context, p);
    if (error != cudaSuccess || p.room == 0) return error;
    make_even_parts<<<1, THREADS, 0, stream>>>(p.cursors, parts, p.room, plan->mixes,
                                               plan->unit_count, plan->unit);
    return cudaGetLastError();
}

} // namespace

bf_status bf_cuda_groups_part(bf_context *context, bf_cuda_groups *g, bf_cuda_unit_plan *plan) {
    part_params p = {};
    unsigned blocks = 2 * (unsigned)context->cuda->multiprocessors;
    size_t n = (size_t)plan->n, places = (size_t)plan->places;
    size_t ranks = padded(places * (size_t)plan->rank_bytes);
    p.ranks = plan->ranks;
    p.n = (unsigned)n;
    p.bits = bf_bit_length((uint64_t)plan->parts) - 1;
    p.rows = (unsigned)((n + blocks - 1) / blocks);
    p.factor = p.factor_again = plan->factor;
    p.room = plan->room;
    p.columns = g->columns;
    p.row_bytes = plan->rank_bytes;
    size_t cursors = padded(sizeof(unsigned) << p.bits), total = cursors + ranks;
    for (int c = 0; c < p.columns; c++)
        total += padded(places * (size_t)bf_dtype_bytes(g->aggregates[c].dtype));
    char *memory = (char *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_PARTED, total);
    if (memory == NULL) return BF_E_MEMORY;
    p.cursors = (unsigned *)memory;
    p.parted = memory + cursors;
    memory += cursors + ranks;
    for (int c = 0; c < p.columns; c++) {
        int bytes = bf_dtype_bytes(g->aggregates[c].dtype);
        p.column[c] = part_column{(const char *)plan->values[c], memory, bytes};
        plan->values[c] = memory;
        memory += padded(places * (size_t)bytes);
        if (bytes > p.row_bytes) p.row_bytes = bytes;
    }
    plan->ranks = p.parted;
    return bf_cuda_group_check(context, plan->rank_bytes == 4
                                            ? part<uint32_t>(context, p, blocks, plan)
                                            : part<uint64_t>(context, p, blocks, plan));
}
