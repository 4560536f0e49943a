/* Minima and maxima by index of one element a row, and where they are.
 *
 * An element is its place in the order (rules/key/order.h), so that the extreme is the least place;
 * the last place is that of a NaN, or of an integer. Rows are sorted into tiles, and taken by items
 * (tiles.cuh). A block finds the least place of each slot in shared memory, but for the last one:
 * slots with that are noted apart. Most rows change nothing: they only read. A pass over the rows
 * then finds where the extremes are, if that is asked for. */
#include "cuda/axis/index/results.cuh"
#include "cuda/axis/index/tiles.cuh"

namespace {

using bf_cuda_tiles::tiles;

enum {
    EXTREMES_THREADS = 512,
    EXTREMES_LEAST = 1 << 15, /* rows that are worth a block */
    AHEAD = 4                 /* rows that a thread of the last pass has under way */
};

/* Elements as their places. D: BF_NONE, or their dtype. */
template <class Place, bf_dtype D> struct places {
    using Value = Place;
    static constexpr auto how =
        D == BF_NONE ? bf_cuda_tiles::staging::LOADS : bf_cuda_tiles::staging::COPIES;
    const Place *from; /* these may be narrower elements, too */
    bf_dtype dtype;
    bf_order order;
    __device__ __forceinline__ Place place(uint64_t bits) const {
        return (Place)bf_order_place(D == BF_NONE ? dtype : D, order, bits);
    }
    __device__ __forceinline__ Place load(uint32_t i) const {
        const int bytes = bf_dtype_bytes(D == BF_NONE ? dtype : D);
        return place(bf_cuda_element::load_bits(from, bytes, i));
    }
    /* The place of what a tile has in shared memory. */
    __device__ __forceinline__ Place value(Place x) const { return D == BF_NONE ? x : place(x); }
};

/* What is known of each slot; all bits set: nothing. */
template <class Place> struct found {
    Place *least;    /* the least of its places that are not the last */
    uint32_t *lasts; /* the first row with the last place; 0, if no row is sought: there is one */
    uint32_t *rows;  /* the first row with the least place */
    Place last;
    bool seeks_rows;
};

__device__ __forceinline__ void lower(volatile uint32_t *to, uint32_t place) {
    atomicMin((uint32_t *)to, place);
}
__device__ __forceinline__ void lower(volatile uint64_t *to, uint64_t place) {
    atomicMin((unsigned long long *)to, (unsigned long long)place);
}

template <class Place>
__global__ void __launch_bounds__(EXTREMES_THREADS)
    reduce_items(const tiles t, int64_t slots, const found<Place> f) {
    extern __shared__ __align__(16) char least_memory[];
    volatile Place *least = (volatile Place *)least_memory;
    bf_cuda_wait_for_previous();
    if (blockIdx.x >= *t.item_count) return;
    const bf_cuda_tiles::item x = t.items[blockIdx.x];
    const int64_t base = (int64_t)x.digit << t.bits;
    const uint32_t width = 1u << t.bits;
    for (uint32_t s = threadIdx.x; s < width; s += EXTREMES_THREADS) least[s] = ~(Place)0;
    __syncthreads();
    bf_cuda_tiles::visit_rows<Place, true>(t, x, [&](unsigned slot, Place place) {
        if (place == f.last) {
            if (!f.seeks_rows) f.lasts[base + slot] = 0;
        } else if (place < least[slot]) {
            lower(least + slot, place);
        }
    });
    __syncthreads();
    for (uint32_t s = threadIdx.x; s < width && base + s < slots; s += EXTREMES_THREADS)
        if (least[s] != ~(Place)0) lower(f.least + base + s, least[s]);
}

__device__ __forceinline__ void find_first(uint32_t *first, uint32_t row) {
    if (row < __ldcg(first)) atomicMin(first, row);
}

template <class Source>
__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    find_rows(const Source source, const bf_rows rows, const found<typename Source::Value> f) {
    typedef typename Source::Value Place;
    const int64_t step = (int64_t)gridDim.x * BF_CUDA_INDEX_THREADS;
    int64_t i = blockIdx.x * (int64_t)BF_CUDA_INDEX_THREADS + threadIdx.x;
    for (; i < rows.count; i += AHEAD * step) {
        uint64_t slot[AHEAD];
        Place place[AHEAD], least[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int64_t row = i + k * step < rows.count ? i + k * step : i;
            slot[k] = bf_cuda_index_at(rows.places, rows.places_dtype, row);
            place[k] = source.load((uint32_t)row);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (slot[k] >= (uint64_t)rows.slots) slot[k] = 0;
            least[k] = f.least[slot[k]];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int64_t row = i + k * step;
            if (row >= rows.count) break;
            if (place[k] == f.last) find_first(f.lasts + slot[k], (uint32_t)row);
            if (place[k] == least[k]) find_first(f.rows + slot[k], (uint32_t)row);
        }
    }
}

template <class Place>
__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    finish_slots(const __grid_constant__ bf_cuda_index_params p, bf_order order, int64_t slots,
                 const found<Place> f) {
    for (const int64_t s : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(slots)) {
        const bool is_float = bf_dtype_is_float(p.dtype);
        Place place = f.least[s];
        uint32_t last = f.lasts[s], row = f.seeks_rows ? f.rows[s] : 0;
        const bool has_least = place != ~(Place)0, has_last = last != ~0u;
        if (!has_least && !is_float) {
            place = f.last;
            row = last;
        }
        const uint64_t bits = bf_order_element(p.dtype, order, place);
        const int64_t rank = bf_order_rank(p.dtype, bits) ^ (bf_is_greatest(p.op) ? -1 : 0);
        bf_cuda_index_finish_extreme(p, s, has_least + has_last,
                                     {rank, row, is_float && has_last, last});
    }
}

/* --- launches --- */

tiles plan_tiles(const bf_rows *rows) {
    tiles t = bf_cuda_tiles::plan(rows->count, rows->slots, 9);
    t.most = t.rows >> 10;
    if (t.most < EXTREMES_LEAST) t.most = EXTREMES_LEAST;
    return t;
}

template <class Source>
cudaError_t launch_all(const bf_cuda *cuda, const bf_cuda_index_params &p, const bf_rows *rows,
                       const tiles &t, const Source &source,
                       const found<typename Source::Value> &f) {
    typedef typename Source::Value Place;
    bf_cuda_shape items = {.blocks = (int64_t)bf_cuda_tiles::items_of(t),
                           .threads = EXTREMES_THREADS,
                           .shared = sizeof(Place) << t.bits,
                           .overlaps = true,
                           .spares_cache = true};
    cudaError_t error = bf_cuda_tiles::launch(cuda, source, rows, t, p.board);
    if (error == cudaSuccess)
        error = bf_cuda_launch(cuda, reduce_items<Place>, items, t, rows->slots, f);
    if (error != cudaSuccess) return error;
    if (f.seeks_rows)
        find_rows<<<bf_cuda_blocks(cuda, rows->count, BF_CUDA_INDEX_THREADS), BF_CUDA_INDEX_THREADS,
                    0, cuda->stream>>>(source, *rows, f);
    finish_slots<<<bf_cuda_blocks(cuda, rows->slots, BF_CUDA_INDEX_THREADS), BF_CUDA_INDEX_THREADS,
                   0, cuda->stream>>>(p, source.order, rows->slots, f);
    return cudaGetLastError();
}

/* Divides memory among the arrays of slots; returns the bytes that they need. */
template <class Place> size_t divide(found<Place> *f, int64_t slots, char *memory) {
    f->least = (Place *)memory;
    f->lasts = (uint32_t *)(f->least + slots);
    f->rows = f->lasts + slots;
    return (size_t)slots * (sizeof(Place) + 2 * sizeof(uint32_t));
}

template <class Place, bf_dtype D>
bf_status reduce(bf_context *context, const bf_cuda_index_params &p, const bf_rows *rows) {
    const bf_order order = bf_is_greatest(p.op) ? BF_DESCENDING_NAN_LAST : BF_ASCENDING;
    found<Place> f = {};
    tiles t = plan_tiles(rows);
    size_t slot_bytes = divide(&f, rows->slots, NULL);
    void *of_slots = bf_cuda_alloc(context, slot_bytes);
    void *of_tiles = bf_cuda_alloc(context, bf_cuda_tiles::divide(&t, sizeof(Place), NULL));
    cudaError_t error = cudaErrorMemoryAllocation;
    if (of_slots != NULL && of_tiles != NULL) {
        divide(&f, rows->slots, (char *)of_slots);
        bf_cuda_tiles::divide(&t, sizeof(Place), (char *)of_tiles);
        f.seeks_rows = bf_is_indexed(p.op);
        f.last = (Place)(~(uint64_t)0 >> (64 - 8 * p.bytes));
        error = cudaMemsetAsync(of_slots, 0xff, slot_bytes, context->cuda->stream);
        if (error == cudaSuccess)
            error = launch_all(context->cuda, p, rows, t,
                               places<Place, D>{(const Place *)p.a, p.dtype, order}, f);
    }
    bf_cuda_free(context, of_tiles);
    bf_cuda_free(context, of_slots);
    return error == cudaErrorMemoryAllocation ? BF_E_MEMORY
                                              : bf_cuda_check(context, error, "extremes by index");
}

} // namespace

bool bf_cuda_index_finds_extremes(const bf_cuda *cuda, const bf_operands *operands,
                                  const bf_rows *rows) {
    const int bytes = bf_dtype_bytes(operands->dtype);
    if (!bf_cuda_tiles::keeps_values(cuda, bytes < 4 ? 4 : bytes)) return false;
    return operands->kind == BF_KIND_EXTREME && rows->width == 1 && rows->count > 0 &&
           rows->slots > 0 && rows->slots <= (int64_t)1 << bf_cuda_tiles::SLOT_BITS;
}

bf_status bf_cuda_index_find_extremes(bf_context *context, const bf_cuda_index_params *p,
                                      const bf_rows *rows) {
    switch (p->dtype) {
    case BF_F32: return reduce<uint32_t, BF_F32>(context, *p, rows);
    case BF_F64: return reduce<uint64_t, BF_F64>(context, *p, rows);
    default:
        return p->bytes == 8 ? reduce<uint64_t, BF_NONE>(context, *p, rows)
                             : reduce<uint32_t, BF_NONE>(context, *p, rows);
    }
}
