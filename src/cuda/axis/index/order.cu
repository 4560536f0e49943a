/* The order of rows by their slots.
 *
 * Where rows of a slot may come in any order, row numbers are sorted into tiles, and taken by items
 * (tiles.cuh). The rows of each slot are counted, item by item; what other items have counted
 * before is where an item's rows of a slot begin. Then a block sorts an item in shared memory, and
 * copies each slot's rows to their place. Else pairs of slot and row number are sorted. */
#include "cuda/axis/index/tiles.cuh"
#include "cuda/runtime/sort/sort.cuh"

namespace {

using bf_cuda_tiles::tiles;

enum {
    ITEM_THREADS = 512,
    ITEM = 8192,   /* most rows of an item */
    FEW = 1 << 22, /* rows that would be few items */
    ITEM_BITS = 8
};

__device__ __forceinline__ void add_giant(unsigned long long *giants, bf_cuda_index_giant *list,
                                          uint32_t slot, uint32_t rows, uint32_t piece) {
    const uint32_t pieces = (rows - 1) / piece + 1;
    const unsigned long long before = atomicAdd(giants, 1ull << 32 | pieces);
    list[before >> 32] = {slot, (uint32_t)before};
}

/* --- in any order --- */

struct row_numbers {
    using Value = uint32_t;
    static constexpr auto how = bf_cuda_tiles::staging::NONE;
    __device__ __forceinline__ uint32_t value(uint32_t i) const { return i; }
};

/* Elements, as unsigned integers of their size. */
template <class E> struct elements {
    using Value = E;
    static constexpr auto how =
        sizeof(E) < 4 ? bf_cuda_tiles::staging::LOADS : bf_cuda_tiles::staging::COPIES;
    const E *from;
    __device__ __forceinline__ E load(uint32_t i) const { return from[i]; }
    __device__ __forceinline__ E value(E e) const { return e; }
};

/* What is known of slots. Those of an item are [item << bits, (item + 1) << bits). */
struct slot_counts {
    uint32_t *all;    /* rows of each slot */
    uint32_t *before; /* for each item: rows of the slot in other items that come first */
    uint32_t *own;    /* for each item: its rows of the slot */
};

__global__ void __launch_bounds__(ITEM_THREADS)
    count_slots(const tiles t, const slot_counts counts) {
    extern __shared__ __align__(16) uint32_t found[];
    bf_cuda_wait_for_previous();
    if (blockIdx.x >= *t.item_count) return;
    const bf_cuda_tiles::item x = t.items[blockIdx.x];
    const uint32_t width = 1u << t.bits;
    for (uint32_t s = threadIdx.x; s < width; s += ITEM_THREADS) found[s] = 0;
    __syncthreads();
    bf_cuda_tiles::visit_rows<uint32_t, false>(
        t, x, [&](uint32_t slot, uint32_t) { atomicAdd(&found[slot], 1); });
    __syncthreads();
    for (uint32_t s = threadIdx.x; s < width; s += ITEM_THREADS) {
        const size_t at = ((size_t)blockIdx.x << t.bits) + s;
        counts.own[at] = found[s];
        if (found[s] > 0)
            counts.before[at] = atomicAdd(&counts.all[(x.digit << t.bits) + s], found[s]);
    }
}

/* Finds offsets, and giants: a block for each digit. */
__global__ void __launch_bounds__(1024)
    sum_counts(const tiles t, const slot_counts counts, int64_t slots, uint32_t *offsets,
               uint32_t giant, uint32_t piece, unsigned long long *giants,
               bf_cuda_index_giant *list) {
    bf_cuda_wait_for_previous();
    const int64_t first = (int64_t)blockIdx.x << t.bits;
    const auto rows_of = [&](uint32_t k) { return first + k < slots ? counts.all[first + k] : 0; };
    const auto put = [&](uint32_t k, uint32_t before, uint32_t rows) {
        const int64_t s = first + k;
        if (s < slots) offsets[s] = before;
        if (s == slots - 1) offsets[slots] = before + rows;
        if (rows > giant) add_giant(giants, list, (uint32_t)s, rows, piece);
    };
    bf_cuda_block_sums<32>(1u << t.bits, t.firsts[blockIdx.x], rows_of, put);
}

template <class V> struct item_memory {
    V values[ITEM];
    uint16_t slots[ITEM];
};

/* Copies the values of an item's rows to their places. */
template <class V>
__global__ void __launch_bounds__(ITEM_THREADS)
    place_rows(const tiles t, const slot_counts counts, const uint32_t *offsets, V *values) {
    extern __shared__ __align__(16) char shared[];
    bf_cuda_wait_for_previous();
    if (blockIdx.x >= *t.item_count) return;
    const bf_cuda_tiles::item x = t.items[blockIdx.x];
    const uint32_t width = 1u << t.bits;
    item_memory<V> &m = *(item_memory<V> *)shared;
    uint32_t *next = (uint32_t *)(shared + sizeof m), *move = next + width;
    const size_t first = (size_t)blockIdx.x << t.bits;
    const auto put = [&](uint32_t s, uint32_t before, uint32_t own) {
        next[s] = before;
        if (own > 0) move[s] = offsets[(x.digit << t.bits) + s] + counts.before[first + s] - before;
    };
    bf_cuda_block_sums<ITEM_THREADS / 32>(
        width, 0u, [&](uint32_t s) { return counts.own[first + s]; }, put);
    bf_cuda_tiles::visit_rows<V, true>(t, x, [&](uint32_t slot, V value) {
        const uint32_t to = atomicAdd(&next[slot], 1);
        m.values[to] = value;
        m.slots[to] = (uint16_t)slot;
    });
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < x.end - x.begin; i += ITEM_THREADS)
        values[i + move[m.slots[i]]] = m.values[i];
}

/* --- stably --- */

/* Makes entries of slots and row numbers. A row with a wrong index goes to slot 0. */
__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    make_entries(const void *index, bf_dtype dtype, int64_t slots, uint32_t n,
                 bf_cuda_entry<uint32_t> *entries, unsigned long long *wrong) {
    for (const int64_t i : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(n)) {
        uint64_t slot = bf_cuda_index_at(index, dtype, i);
        if (slot >= (uint64_t)slots) {
            atomicMin(wrong, (unsigned long long)i);
            slot = 0;
        }
        entries[i] = {(uint32_t)slot, (uint32_t)i};
    }
}

__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    find_offsets(const bf_cuda_entry<uint32_t> *rows, uint32_t n, int64_t slots,
                 uint32_t *offsets) {
    for (const int64_t s : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(slots + 1))
        offsets[s] = bf_cuda_count_first(n, [&](uint32_t i) { return rows[i].key < s; });
}

__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    find_giants(const uint32_t *offsets, int64_t slots, unsigned long long *giants,
                bf_cuda_index_giant *list) {
    for (const int64_t s : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(slots)) {
        uint32_t rows = offsets[s + 1] - offsets[s];
        if (rows > BF_CUDA_INDEX_GIANT)
            add_giant(giants, list, (uint32_t)s, rows, BF_CUDA_INDEX_PIECE);
    }
}

/* Offset s of rows by length or by offsets. */
__device__ __forceinline__ int64_t offset_of(const bf_rows &rows, int64_t s) {
    if (rows.by == BF_ROWS_BY_OFFSETS)
        return (int64_t)bf_cuda_index_at(rows.places, rows.places_dtype, s);
    return s > rows.count / rows.length ? rows.count : s * rows.length;
}

/* The offsets of rows [begin, begin + n), from the first of these. */
__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    cut_offsets(const bf_rows rows, int64_t begin, uint32_t n, uint32_t *offsets) {
    for (const int64_t s : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(rows.slots + 1)) {
        int64_t at = offset_of(rows, s) - begin;
        offsets[s] = at < 0 ? 0 : at > n ? n : (uint32_t)at;
    }
}

/* Finds the first wrong offset. */
__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    check_offsets(const bf_rows rows, unsigned long long *wrong) {
    for (const int64_t s : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(rows.slots + 1)) {
        const int64_t at = offset_of(rows, s), before = s > 0 ? offset_of(rows, s - 1) : 0;
        if (at < before || at > rows.count) atomicMin(wrong, (unsigned long long)s);
    }
}

int slot_bytes(int64_t slots) {
    int bytes = 0;
    while (bytes < 4 && (slots - 1) >> 8 * bytes > 0) bytes++;
    return bytes;
}

/* Opens an order of n rows, or of their values. */
bool open_order(bf_context *context, int64_t slots, uint32_t n, bool values,
                bf_cuda_index_sorted *sorted, bf_cuda_index_order *order) {
    *sorted = {};
    const uint32_t giant = values ? BF_CUDA_INDEX_VALUES_GIANT : BF_CUDA_INDEX_GIANT;
    const uint32_t piece = values ? BF_CUDA_INDEX_VALUES_PIECE : BF_CUDA_INDEX_PIECE;
    *order = {slots, n, NULL, 1, giant, piece, NULL, NULL};
    size_t giants = (size_t)bf_cuda_index_giants(order) * sizeof(bf_cuda_index_giant);
    sorted->offsets = bf_cuda_alloc(context, ((size_t)slots + 1) * sizeof(uint32_t));
    sorted->giants = sorted->offsets != NULL ? bf_cuda_alloc(context, giants) : NULL;
    return sorted->giants != NULL;
}

void set_offsets(const bf_cuda_index_sorted *sorted, bf_cuda_index_order *order) {
    order->offsets = (const uint32_t *)sorted->offsets;
    order->giants = (const bf_cuda_index_giant *)sorted->giants;
}

bf_status list_giants(bf_context *context, bf_cuda_index_board *board,
                      const bf_cuda_index_sorted *sorted, bf_cuda_index_order *order) {
    set_offsets(sorted, order);
    if (bf_cuda_index_giants(order) > 0)
        find_giants<<<bf_cuda_blocks(context->cuda, order->slots, BF_CUDA_INDEX_THREADS),
                      BF_CUDA_INDEX_THREADS, 0, context->cuda->stream>>>(
            order->offsets, order->slots, &board->giants, (bf_cuda_index_giant *)sorted->giants);
    return bf_cuda_check(context, cudaGetLastError(), "ordering rows");
}

bf_status sort_stably(bf_context *context, const bf_rows *rows, bf_cuda_index_board *board,
                      bf_cuda_index_sorted *sorted, bf_cuda_index_order *order) {
    typedef bf_cuda_entry<uint32_t> entry;
    const bf_cuda *cuda = context->cuda;
    const uint32_t n = (uint32_t)rows->count;
    sorted->entries[0] = bf_cuda_alloc(context, n * sizeof(entry));
    sorted->entries[1] = bf_cuda_alloc(context, n * sizeof(entry));
    if (sorted->entries[0] == NULL || sorted->entries[1] == NULL) return BF_E_MEMORY;
    void *by_slot = sorted->entries[0];
    bf_status status = BF_OK;
    if (n > 0)
        make_entries<<<bf_cuda_blocks(context->cuda, n, BF_CUDA_INDEX_THREADS),
                       BF_CUDA_INDEX_THREADS, 0, cuda->stream>>>(
            rows->places, rows->places_dtype, rows->slots, n, (entry *)by_slot, &board->wrong);
    if (n > 0)
        status = bf_cuda_sort(context, 4, sorted->entries[0], sorted->entries[1], n,
                              slot_bytes(rows->slots), &by_slot);
    if (status != BF_OK) return status;
    unsigned blocks = bf_cuda_blocks(context->cuda, rows->slots + 1, BF_CUDA_INDEX_THREADS);
    find_offsets<<<blocks, BF_CUDA_INDEX_THREADS, 0, cuda->stream>>>(
        (const entry *)by_slot, n, rows->slots, (uint32_t *)sorted->offsets);
    order->rows = &((const entry *)by_slot)->value;
    order->pitch = sizeof(entry) / sizeof(uint32_t);
    return list_giants(context, board, sorted, order);
}

/* Divides memory among tiles and the counts of slots; returns the bytes that they need. */
size_t divide(tiles *t, int bytes, slot_counts *counts, int64_t slots, char *memory) {
    const size_t tile_bytes = bf_cuda_tiles::divide(t, bytes, memory);
    const size_t of_items = bf_cuda_tiles::items_of(*t) << t->bits;
    counts->all = (uint32_t *)(memory + tile_bytes);
    counts->before = counts->all + slots;
    counts->own = counts->before + of_items;
    return tile_bytes + ((size_t)slots + 2 * of_items) * sizeof(uint32_t);
}

template <class Source>
cudaError_t launch_order(const bf_cuda *cuda, const Source &source, const bf_rows *rows,
                         const tiles &t, const slot_counts &counts, bf_cuda_index_board *board,
                         const bf_cuda_index_sorted *sorted, const bf_cuda_index_order *order) {
    typedef typename Source::Value V;
    const size_t width = (size_t)4 << t.bits;
    const int64_t items = (int64_t)bf_cuda_tiles::items_of(t);
    uint32_t *offsets = (uint32_t *)sorted->offsets;
    cudaError_t error =
        cudaMemsetAsync(counts.all, 0, (size_t)rows->slots * sizeof(uint32_t), cuda->stream);
    if (error == cudaSuccess) error = bf_cuda_tiles::launch(cuda, source, rows, t, board);
    if (error != cudaSuccess) return error;
    bf_cuda_shape shape = {.blocks = items,
                           .threads = ITEM_THREADS,
                           .shared = width,
                           .overlaps = true,
                           .spares_cache = true};
    error = bf_cuda_launch(cuda, count_slots, shape, t, counts);
    if (error != cudaSuccess) return error;
    bf_cuda_shape digits = {.blocks = t.digits, .threads = 1024, .overlaps = true};
    error = bf_cuda_launch(cuda, sum_counts, digits, t, counts, rows->slots, offsets, order->giant,
                           order->piece, &board->giants, (bf_cuda_index_giant *)sorted->giants);
    if (error != cudaSuccess) return error;
    shape.shared = sizeof(item_memory<V>) + 2 * width;
    return bf_cuda_launch(cuda, place_rows<V>, shape, t, counts, (const uint32_t *)offsets,
                          (V *)sorted->entries[1]);
}

/* Brings the values of a source into the order of their slots: sorted->entries[1]. */
template <class Source>
bf_status sort_anyhow(bf_context *context, const Source &source, const bf_rows *rows,
                      bf_cuda_index_board *board, bf_cuda_index_sorted *sorted,
                      bf_cuda_index_order *order) {
    enum { BYTES = sizeof(typename Source::Value) };
    slot_counts counts;
    tiles t = bf_cuda_tiles::plan(rows->count, rows->slots, ITEM_BITS);
    t.most = t.rows < FEW ? ITEM / 2 : ITEM;
    sorted->entries[0] = bf_cuda_alloc(context, divide(&t, BYTES, &counts, rows->slots, NULL));
    sorted->entries[1] = bf_cuda_alloc(context, (size_t)rows->count * BYTES);
    if (sorted->entries[0] == NULL || sorted->entries[1] == NULL) return BF_E_MEMORY;
    divide(&t, BYTES, &counts, rows->slots, (char *)sorted->entries[0]);
    set_offsets(sorted, order);
    return bf_cuda_check(context,
                         launch_order(context->cuda, source, rows, t, counts, board, sorted, order),
                         "ordering rows");
}

template <class E>
bf_status sort_elements(bf_context *context, const void *from, const bf_rows *rows,
                        bf_cuda_index_board *board, bf_cuda_index_sorted *sorted,
                        bf_cuda_index_order *order) {
    return sort_anyhow(context, elements<E>{(const E *)from}, rows, board, sorted, order);
}

bool is_tiled(const bf_rows *rows) {
    return rows->count > 0 && rows->slots > 0 &&
           rows->slots <= (int64_t)1 << bf_cuda_tiles::SLOT_BITS;
}

} // namespace

bf_status bf_cuda_index_sort(bf_context *context, const bf_rows *rows, bool stable,
                             bf_cuda_index_board *board, bf_cuda_index_sorted *sorted,
                             bf_cuda_index_order *order) {
    if (!open_order(context, rows->slots, (uint32_t)rows->count, false, sorted, order))
        return BF_E_MEMORY;
    if (stable || !is_tiled(rows)) return sort_stably(context, rows, board, sorted, order);
    bf_status status = sort_anyhow(context, row_numbers{}, rows, board, sorted, order);
    order->rows = (const uint32_t *)sorted->entries[1];
    return status;
}

bool bf_cuda_index_sorts_values(const bf_cuda *cuda, const bf_rows *rows, int bytes) {
    return rows->width == 1 && is_tiled(rows) &&
           bf_cuda_tiles::keeps_values(cuda, bytes < 4 ? 4 : bytes);
}

bf_status bf_cuda_index_sort_values(bf_context *context, const bf_rows *rows, const void *from,
                                    int bytes, bf_cuda_index_board *board,
                                    bf_cuda_index_sorted *sorted, bf_cuda_index_order *order,
                                    const void **values) {
    if (!open_order(context, rows->slots, (uint32_t)rows->count, true, sorted, order))
        return BF_E_MEMORY;
    const auto sort = bytes == 1   ? sort_elements<uint8_t>
                      : bytes == 2 ? sort_elements<uint16_t>
                      : bytes == 4 ? sort_elements<uint32_t>
                                   : sort_elements<uint64_t>;
    bf_status status = sort(context, from, rows, board, sorted, order);
    *values = sorted->entries[1];
    return status;
}

bf_status bf_cuda_index_cut(bf_context *context, const bf_rows *rows, int64_t begin, uint32_t n,
                            bf_cuda_index_board *board, bf_cuda_index_sorted *sorted,
                            bf_cuda_index_order *order) {
    if (!open_order(context, rows->slots, n, false, sorted, order)) return BF_E_MEMORY;
    cut_offsets<<<bf_cuda_blocks(context->cuda, rows->slots + 1, BF_CUDA_INDEX_THREADS),
                  BF_CUDA_INDEX_THREADS, 0, context->cuda->stream>>>(*rows, begin, n,
                                                                     (uint32_t *)sorted->offsets);
    return list_giants(context, board, sorted, order);
}

bf_status bf_cuda_index_check(bf_context *context, const bf_rows *rows,
                              bf_cuda_index_board *board) {
    check_offsets<<<bf_cuda_blocks(context->cuda, rows->slots + 1, BF_CUDA_INDEX_THREADS),
                    BF_CUDA_INDEX_THREADS, 0, context->cuda->stream>>>(*rows, &board->wrong);
    return bf_cuda_check(context, cudaGetLastError(), "checking offsets");
}

void bf_cuda_index_sorted_free(bf_context *context, bf_cuda_index_sorted *sorted) {
    void *memory[] = {sorted->entries[0], sorted->entries[1], sorted->offsets, sorted->giants,
                      sorted->marks,      sorted->pool,       sorted->words};
    for (void *m : memory) bf_cuda_free(context, m);
}
