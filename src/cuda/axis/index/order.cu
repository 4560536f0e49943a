/* The order of rows by their slots. */
#include "cuda/axis/index/index.cuh"
#include "cuda/runtime/sort.cuh"

namespace {

enum { THREADS = BF_CUDA_INDEX_THREADS };

/* Makes entries of slots and row numbers. A row with a wrong index goes to slot 0. */
__global__ void __launch_bounds__(THREADS)
    make_entries(const void *index, bf_dtype dtype, int64_t slots, uint32_t n,
                 bf_cuda_entry<uint32_t> *entries, unsigned long long *wrong) {
    for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < n;
         i += gridDim.x * (uint64_t)THREADS) {
        uint64_t slot = bf_cuda_index_at(index, dtype, (int64_t)i);
        if (slot >= (uint64_t)slots) {
            atomicMin(wrong, (unsigned long long)i);
            slot = 0;
        }
        entries[i] = {(uint32_t)slot, (uint32_t)i};
    }
}

/* Returns how many entries have a slot below this one. */
__device__ __forceinline__ uint32_t count_below(const bf_cuda_entry<uint32_t> *rows, uint32_t n,
                                                uint64_t slot) {
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rows[middle].key < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__global__ void __launch_bounds__(THREADS)
    find_offsets(const bf_cuda_entry<uint32_t> *rows, uint32_t n, int64_t slots,
                 uint32_t *offsets) {
    for (int64_t s = blockIdx.x * (int64_t)THREADS + threadIdx.x; s <= slots;
         s += (int64_t)gridDim.x * THREADS)
        offsets[s] = count_below(rows, n, (uint64_t)s);
}

__global__ void __launch_bounds__(THREADS)
    find_giants(const uint32_t *offsets, int64_t slots, unsigned long long *giants,
                bf_cuda_index_giant *list) {
    for (int64_t s = blockIdx.x * (int64_t)THREADS + threadIdx.x; s < slots;
         s += (int64_t)gridDim.x * THREADS) {
        uint32_t rows = offsets[s + 1] - offsets[s];
        if (rows <= BF_CUDA_INDEX_GIANT) continue;
        uint32_t pieces = (rows - 1) / BF_CUDA_INDEX_PIECE + 1;
        unsigned long long before = atomicAdd(giants, 1ull << 32 | pieces);
        list[before >> 32] = {(uint32_t)s, (uint32_t)before};
    }
}

/* Offset s of rows by length or by offsets. */
__device__ __forceinline__ int64_t offset_of(const bf_rows &rows, int64_t s) {
    if (rows.by == BF_ROWS_BY_OFFSETS)
        return (int64_t)bf_cuda_index_at(rows.places, rows.places_dtype, s);
    return s > rows.count / rows.length ? rows.count : s * rows.length;
}

/* The offsets of rows [begin, begin + n), from the first of these. */
__global__ void __launch_bounds__(THREADS)
    cut_offsets(const bf_rows rows, int64_t begin, uint32_t n, uint32_t *offsets) {
    for (int64_t s = blockIdx.x * (int64_t)THREADS + threadIdx.x; s <= rows.slots;
         s += (int64_t)gridDim.x * THREADS) {
        int64_t at = offset_of(rows, s) - begin;
        offsets[s] = at < 0 ? 0 : at > n ? n : (uint32_t)at;
    }
}

/* Finds the first wrong offset, or the first wrong index. */
__global__ void __launch_bounds__(THREADS)
    check_places(const bf_rows rows, int64_t places, unsigned long long *wrong) {
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < places;
         i += (int64_t)gridDim.x * THREADS) {
        uint64_t at = bf_cuda_index_at(rows.places, rows.places_dtype, i);
        bool right = at < (uint64_t)rows.slots;
        if (rows.by == BF_ROWS_BY_OFFSETS) {
            int64_t before = i > 0 ? offset_of(rows, i - 1) : 0;
            right = (int64_t)at >= before && at <= (uint64_t)rows.count;
        }
        if (!right) atomicMin(wrong, (unsigned long long)i);
    }
}

int64_t blocks_for(const bf_context *context, int64_t n) {
    int64_t blocks = (n + THREADS - 1) / THREADS;
    int64_t most = (int64_t)context->cuda->multiprocessors * 16;
    return blocks < most ? blocks > 0 ? blocks : 1 : most;
}

int slot_bytes(int64_t slots) {
    int bytes = 0;
    while (bytes < 4 && (slots - 1) >> 8 * bytes > 0) bytes++;
    return bytes;
}

bool alloc_offsets(bf_context *context, int64_t slots, uint32_t n, bf_cuda_index_sorted *sorted) {
    size_t giants = (size_t)bf_cuda_index_giants(n) * sizeof(bf_cuda_index_giant);
    sorted->offsets = bf_cuda_alloc(context, ((size_t)slots + 1) * sizeof(uint32_t));
    sorted->giants = sorted->offsets != NULL ? bf_cuda_alloc(context, giants) : NULL;
    return sorted->giants != NULL;
}

bf_status list_giants(bf_context *context, bf_cuda_index_board *board,
                      const bf_cuda_index_sorted *sorted, bf_cuda_index_order *order) {
    bf_cuda_index_giant *list = (bf_cuda_index_giant *)sorted->giants;
    order->offsets = (const uint32_t *)sorted->offsets;
    order->giants = list;
    if (bf_cuda_index_giants(order->n) > 0)
        find_giants<<<(unsigned)blocks_for(context, order->slots), THREADS, 0,
                      context->cuda->stream>>>(order->offsets, order->slots, &board->giants, list);
    return bf_cuda_check(context, cudaGetLastError(), "ordering rows");
}

} // namespace

bf_status bf_cuda_index_sort(bf_context *context, const bf_rows *rows, bf_cuda_index_board *board,
                             bf_cuda_index_sorted *sorted, bf_cuda_index_order *order) {
    typedef bf_cuda_entry<uint32_t> entry;
    const bf_cuda *cuda = context->cuda;
    const uint32_t n = (uint32_t)rows->count;
    *sorted = {};
    sorted->entries[0] = bf_cuda_alloc(context, n * sizeof(entry));
    sorted->entries[1] = bf_cuda_alloc(context, n * sizeof(entry));
    if (sorted->entries[0] == NULL || sorted->entries[1] == NULL ||
        !alloc_offsets(context, rows->slots, n, sorted))
        return BF_E_MEMORY;
    void *by_slot = sorted->entries[0];
    bf_status status = BF_OK;
    if (n > 0)
        make_entries<<<(unsigned)blocks_for(context, n), THREADS, 0, cuda->stream>>>(
            rows->places, rows->places_dtype, rows->slots, n, (entry *)by_slot, &board->wrong);
    if (n > 0)
        status = bf_cuda_sort(context, 4, sorted->entries[0], sorted->entries[1], n,
                              slot_bytes(rows->slots), &by_slot);
    if (status != BF_OK) return status;
    unsigned blocks = (unsigned)blocks_for(context, rows->slots + 1);
    find_offsets<<<blocks, THREADS, 0, cuda->stream>>>((const entry *)by_slot, n, rows->slots,
                                                       (uint32_t *)sorted->offsets);
    *order = {rows->slots, n, (const entry *)by_slot, NULL, NULL};
    return list_giants(context, board, sorted, order);
}

bf_status bf_cuda_index_cut(bf_context *context, const bf_rows *rows, int64_t begin, uint32_t n,
                            bf_cuda_index_board *board, bf_cuda_index_sorted *sorted,
                            bf_cuda_index_order *order) {
    *sorted = {};
    if (!alloc_offsets(context, rows->slots, n, sorted)) return BF_E_MEMORY;
    cut_offsets<<<(unsigned)blocks_for(context, rows->slots + 1), THREADS, 0,
                  context->cuda->stream>>>(*rows, begin, n, (uint32_t *)sorted->offsets);
    *order = {rows->slots, n, NULL, NULL, NULL};
    return list_giants(context, board, sorted, order);
}

bf_status bf_cuda_index_check(bf_context *context, const bf_rows *rows,
                              bf_cuda_index_board *board) {
    int64_t places = rows->by == BF_ROWS_BY_INDEX ? rows->count : rows->slots + 1;
    if (rows->by == BF_ROWS_BY_LENGTH) return BF_OK;
    check_places<<<(unsigned)blocks_for(context, places), THREADS, 0, context->cuda->stream>>>(
        *rows, places, &board->wrong);
    return bf_cuda_check(context, cudaGetLastError(), "checking places");
}

void bf_cuda_index_sorted_free(bf_context *context, bf_cuda_index_sorted *sorted) {
    void *memory[] = {sorted->entries[0], sorted->entries[1], sorted->offsets, sorted->giants,
                      sorted->marks,      sorted->pool,       sorted->words};
    for (void *m : memory) bf_cuda_free(context, m);
}
