/* Rows in tiles, and within each by digits: the high bits of their slots.
 *
 * 1. A block sorts a tile of rows in shared memory by digit, and writes the tile whole, with the
 *    first row of each digit.
 * 2. Small kernels cut the rows of each digit into items of about the same size.
 * 3. A block takes an item, and each of its warps as many of the rows: it reads them from tile
 *    after tile. So a hot slot is only some items more. */
#ifndef BF_CUDA_AXIS_INDEX_TILES_CUH
#define BF_CUDA_AXIS_INDEX_TILES_CUH

#include "cuda/axis/index/index.cuh"
#include "cuda/runtime/grid.cuh"
#include "cuda/runtime/sort/partition_tile.cuh"

namespace bf_cuda_tiles {

enum {
    THREADS = 1024, /* threads of a block that sorts a tile */
    PER_THREAD = 8,
    ROWS = THREADS * PER_THREAD,
    COUNTERS = THREADS, /* a tile's: copies of those of each digit */
    DIGITS_MOST = 256,
    BITS_MOST = 12, /* the most bits of a slot within its digit */
    SLOT_BITS = 20  /* all bits of a slot */
};

/* Rows of a digit, by their numbers within it. */
struct item {
    uint32_t digit, begin, end;
};

struct tiles {
    void *values;     /* tile by tile, by digit */
    uint16_t *slots;  /* within the digit */
    uint16_t *starts; /* [digit][tile], and one more digit */
    uint32_t *before; /* [digit][tile]: rows of the digit in earlier tiles */
    uint32_t *totals; /* rows of each digit */
    uint32_t *firsts; /* rows of all digits before */
    item *items;
    unsigned *item_count;
    uint32_t count, rows; /* tiles; rows of all */
    int digits, bits;     /* bits: of a slot within its digit */
    uint32_t most;        /* rows of an item, about */
};

/* Sets what the numbers of rows and slots determine: digits of at least `bits` bits of a slot. */
static inline tiles plan(int64_t rows, int64_t slots, int bits) {
    tiles t = {};
    t.rows = (uint32_t)rows;
    t.count = (t.rows + ROWS - 1) / ROWS;
    while (t.bits < bits && slots > (int64_t)1 << t.bits) t.bits++;
    while ((slots - 1) >> t.bits >= DIGITS_MOST) t.bits++;
    t.digits = 1; /* a power of two: counters have as many copies for each */
    while ((int64_t)t.digits << t.bits < slots) t.digits *= 2;
    return t;
}

/* Returns how many items there are at most. */
static inline size_t items_of(const tiles &t) { return DIGITS_MOST + t.rows / t.most + 1; }

/* Divides memory among the arrays of tiles, of values of so many bytes; returns the bytes that they
 * need. */
static inline size_t divide(tiles *t, int value_bytes, char *memory) {
    const size_t rows = (size_t)t->count * ROWS;
    char *at = memory;
    t->values = bf_cuda_next_part(&at, rows * (size_t)value_bytes);
    t->slots = (uint16_t *)bf_cuda_next_part(&at, rows * 2);
    t->starts = (uint16_t *)bf_cuda_next_part(&at, ((size_t)t->digits + 1) * t->count * 2);
    t->before = (uint32_t *)bf_cuda_next_part(&at, (size_t)t->digits * t->count * 4);
    t->totals = (uint32_t *)bf_cuda_next_part(&at, DIGITS_MOST * 4);
    t->firsts = (uint32_t *)bf_cuda_next_part(&at, DIGITS_MOST * 4);
    t->items = (item *)bf_cuda_next_part(&at, items_of(*t) * sizeof(item));
    t->item_count = (unsigned *)bf_cuda_next_part(&at, 4);
    return (size_t)(at - memory);
}

/* --- tiles --- */

/* How the values of a tile come to shared memory. */
enum class staging {
    NONE,   /* not at all: value(i) is computed from the number of a row */
    COPIES, /* copied while the slots are sorted; value(v) is computed from what was copied */
    LOADS   /* by load(i) */
};

template <class V, bool staged> struct tile_memory {
    uint32_t places[ROWS]; /* sorted: slot within the digit << 16 | row within the tile */
    V values[staged ? ROWS : 4];
    uint32_t counters[COUNTERS + 1];
};
/* Whether a block has the shared memory for the values of a tile, of so many bytes each, and for
 * those of an item (order.cu), beside what else it needs. */
static inline bool keeps_values(const bf_cuda *cuda, int bytes) {
    return (bytes + 6) * ROWS + 2048 <= cuda->shared;
}

template <class Source>
using memory_of = tile_memory<typename Source::Value, Source::how != staging::NONE>;

/* Each copy of a digit's counter takes few of a tile's rows, so that a row's number within the copy
 * fits above its slot. */
static_assert(ROWS / (COUNTERS / DIGITS_MOST) < 1 << (32 - SLOT_BITS), "rank");
static_assert((int64_t)DIGITS_MOST << BITS_MOST <= 1 << SLOT_BITS, "slots");

/* Begins to copy n values to shared memory. */
template <class V>
static __device__ __forceinline__ void copy_values(V *to, const V *from, uint32_t n) {
    enum { EACH = 16 / sizeof(V) };
    if (n == ROWS && (uintptr_t)from % 16 == 0) {
#pragma unroll
        for (uint32_t i = threadIdx.x; i < ROWS / EACH; i += THREADS)
            bf_cuda_begin_copy<16>(to + i * EACH, from + i * EACH);
    } else {
        for (uint32_t i = threadIdx.x; i < n; i += THREADS)
            bf_cuda_begin_copy<sizeof(V)>(to + i, from + i);
    }
}

template <class Source>
static __device__ __forceinline__ void stage(const Source &source, typename Source::Value *to,
                                             uint32_t first, uint32_t n) {
    if constexpr (Source::how == staging::COPIES) {
        copy_values(to, source.from + first, n);
    } else if constexpr (Source::how == staging::LOADS) {
#pragma unroll
        for (int k = 0; k < PER_THREAD; k++) {
            const uint32_t i = k * THREADS + threadIdx.x;
            if (i < n) to[i] = source.load(first + i);
        }
    }
}

/* Elements of neighbouring rows, stored at once. */
template <class E, int n> struct alignas(n * sizeof(E)) several { E e[n]; };

/* Writes a tile: values, and slots within their digits. There is room for whole tiles. */
template <class Source>
static __device__ __forceinline__ void write_tile(const Source &source, const memory_of<Source> &m,
                                                  const tiles &t, uint32_t first, uint32_t n) {
    typedef typename Source::Value V;
    enum { EACH = sizeof(V) == 8 ? 2 : 4 };
    V *values = (V *)t.values + first;
    uint16_t *slots = t.slots + first;
#pragma unroll
    for (uint32_t i = threadIdx.x * EACH; i < ROWS; i += THREADS * EACH) {
        const several<uint32_t, EACH> place = *(const several<uint32_t, EACH> *)(m.places + i);
        several<V, EACH> v;
        several<uint16_t, EACH> s;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const uint32_t row = i + k < n ? place.e[k] & 0xffff : 0;
            s.e[k] = (uint16_t)(place.e[k] >> 16);
            if constexpr (Source::how == staging::NONE)
                v.e[k] = source.value(first + row);
            else
                v.e[k] = source.value(m.values[row]);
        }
        *(several<V, EACH> *)(values + i) = v;
        *(several<uint16_t, EACH> *)(slots + i) = s;
    }
}

/* Index: uint32_t or uint64_t, whose wrong values are at least 2^31. */
template <class Source, class Index>
__global__ void __launch_bounds__(THREADS, bf_cuda_blocks_held(THREADS, 2))
    sort_tile(const Source source, const Index *index, int64_t slots, const tiles t,
              unsigned long long *wrong) {
    extern __shared__ __align__(16) char memory[];
    memory_of<Source> &m = *(memory_of<Source> *)memory;
    const unsigned slot_mask = (1u << SLOT_BITS) - 1;
    const uint32_t first = blockIdx.x * ROWS;
    const uint32_t left = t.rows - first, rows = left < ROWS ? left : ROWS;
    const unsigned copies = COUNTERS / (unsigned)t.digits, copy = threadIdx.x & (copies - 1);
    uint32_t slot[PER_THREAD]; /* the rank too */
    Index at[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const uint32_t i = k * THREADS + threadIdx.x;
        at[k] = i < rows ? index[first + i] : 0;
    }
    stage(source, m.values, first, rows);
    m.counters[threadIdx.x] = 0;
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) slot[k] = at[k] < (uint64_t)slots ? (uint32_t)at[k] : ~0u;
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        if (slot[k] != ~0u) continue;
        atomicMin(wrong, (unsigned long long)first + k * THREADS + threadIdx.x);
        slot[k] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        if (k * THREADS + threadIdx.x >= rows) continue;
        slot[k] |= atomicAdd(&m.counters[(slot[k] >> t.bits) * copies + copy], 1) << SLOT_BITS;
    }
    __syncthreads();
    uint32_t all, mine = m.counters[threadIdx.x];
    m.counters[threadIdx.x] = bf_cuda_block_sum_before<THREADS / 32>(mine, &all);
    if (threadIdx.x == 0) m.counters[COUNTERS] = rows;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        const uint32_t i = k * THREADS + threadIdx.x, s = slot[k] & slot_mask;
        if (i >= rows) continue;
        m.places[m.counters[(s >> t.bits) * copies + copy] + (slot[k] >> SLOT_BITS)] =
            (s & ((1u << t.bits) - 1)) << 16 | i;
    }
    for (int d = threadIdx.x; d <= t.digits; d += THREADS)
        t.starts[(size_t)d * t.count + blockIdx.x] =
            (uint16_t)m.counters[d < t.digits ? d * copies : COUNTERS];
    bf_cuda_end_copies();
    __syncthreads();
    write_tile(source, m, t, first, rows);
}

/* --- items --- */

/* Makes the items of all digits. A block calls it. */
static __device__ __forceinline__ void make_items(const tiles &t) {
    __shared__ uint32_t firsts[DIGITS_MOST];
    const uint32_t digits = (uint32_t)t.digits;
    uint32_t all, rows = threadIdx.x < digits ? __ldcg(t.totals + threadIdx.x) : 0;
    uint32_t before = bf_cuda_block_sum_before<32>(rows, &all);
    if (threadIdx.x < digits) t.firsts[threadIdx.x] = before;
    __syncthreads();
    uint32_t at = bf_cuda_block_sum_before<32>(rows / t.most + (rows % t.most != 0), &all);
    if (threadIdx.x < digits) firsts[threadIdx.x] = at;
    if (threadIdx.x == 0) *t.item_count = all;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < all; i += 1024) {
        const uint32_t low =
            bf_cuda_count_first(digits - 1, [&](uint32_t k) { return firsts[k + 1] <= i; });
        uint64_t n = __ldcg(t.totals + low), k = i - firsts[low];
        uint64_t pieces = n / t.most + (n % t.most != 0);
        t.items[i] = {low, (uint32_t)(n * k / pieces), (uint32_t)(n * (k + 1) / pieces)};
    }
}

/* A block for each digit; the last one to end makes the items. */
static __global__ void __launch_bounds__(1024) count_digits(const tiles t, unsigned *ticket) {
    __shared__ bool is_last;
    bf_cuda_wait_for_previous();
    const uint16_t *starts = t.starts + (size_t)blockIdx.x * t.count, *ends = starts + t.count;
    uint32_t *before = t.before + (size_t)blockIdx.x * t.count;
    const uint32_t sum = bf_cuda_block_sums<32>(
        t.count, 0u, [&](uint32_t i) { return (uint32_t)ends[i] - starts[i]; },
        [&](uint32_t i, uint32_t at, uint32_t) { before[i] = at; });
    if (threadIdx.x == 0) {
        t.totals[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicAdd(ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    make_items(t);
}

template <class Source, class Index>
static cudaError_t launch_tiles(const bf_cuda *cuda, const Source &source, const bf_rows *rows,
                                const tiles &t, bf_cuda_index_board *board) {
    bf_cuda_shape shape = {.blocks = t.count,
                           .threads = THREADS,
                           .shared = sizeof(memory_of<Source>),
                           .overlaps = false,
                           .spares_cache = true};
    return bf_cuda_launch(cuda, sort_tile<Source, Index>, shape, source,
                          (const Index *)rows->places, rows->slots, t, &board->wrong);
}

/* Enqueues the making of tiles and items. */
template <class Source>
static cudaError_t launch(const bf_cuda *cuda, const Source &source, const bf_rows *rows,
                          const tiles &t, bf_cuda_index_board *board) {
    cudaError_t error = bf_dtype_bytes(rows->places_dtype) == 4
                            ? launch_tiles<Source, uint32_t>(cuda, source, rows, t, board)
                            : launch_tiles<Source, uint64_t>(cuda, source, rows, t, board);
    if (error != cudaSuccess) return error;
    bf_cuda_shape digits = {.blocks = t.digits, .threads = 1024, .overlaps = true};
    return bf_cuda_launch(cuda, count_digits, digits, t, &board->ticket);
}

/* --- the rows of an item --- */

/* Returns the place of bit number `rank` of those that are set; 31 if there are too few. */
static __device__ __forceinline__ unsigned find_bit(unsigned bits, unsigned rank) {
    unsigned place = 0;
#pragma unroll
    for (unsigned step = 16; step > 0; step /= 2)
        if (__popc(bits & ((1u << (place + step)) - 1)) <= rank) place += step;
    return place;
}

/* Visits rows of 32 tiles: each lane has the place of the first of a tile, and their number. Rows
 * of all tiles follow each other, so that all lanes have one. Lane k learns of the k-th tile that
 * has any: where its rows begin in that sequence. The tiles that begin among 32 rows are bits,
 * which a lane counts up to its own row. Values are not read if !loads. */
template <class V, bool loads, class Visit>
__device__ __forceinline__ void visit_runs(const tiles &t, uint32_t first, uint32_t length,
                                           const Visit &visit) {
    enum { AHEAD = sizeof(V) > 4 ? 6 : 8 };
    const uint32_t lane = threadIdx.x % 32, up_to_lane = ~0u >> (31 - lane);
    const uint32_t end = bf_cuda_warp_sum_up_to(length);
    const uint32_t all = __shfl_sync(~0u, end, 31), begin = end - length;
    const unsigned some = __ballot_sync(~0u, length > 0), tile = find_bit(some, lane);
    const uint32_t move = __shfl_sync(~0u, first - begin, tile);
    uint32_t start = __shfl_sync(~0u, begin, tile);
    if (lane >= __popc(some)) start = ~0u;
    int tiles_before = -1;
    for (uint32_t base = 0; base < all; base += 32 * AHEAD) {
        V value[AHEAD];
        uint16_t slot[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const uint32_t i = base + 32 * k + lane, off = start - (base + 32 * k);
            const unsigned begun = bf_cuda_warp_or(off < 32 ? 1u << off : 0);
            const uint32_t at =
                __shfl_sync(~0u, move, tiles_before + __popc(begun & up_to_lane)) + i;
            tiles_before += __popc(begun);
            if (i >= all) continue;
            value[k] = loads ? __ldcs((const V *)t.values + at) : 0;
            slot[k] = __ldcs(t.slots + at);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (base + 32 * k + lane < all) visit(slot[k], value[k]);
    }
}

/* Returns the last tile with `before` at most row. A warp compares 32 tiles at a time. */
static __device__ __forceinline__ uint32_t find_tile(const uint32_t *before, uint32_t count,
                                                     uint32_t row) {
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        uint32_t step = (high - low + 31) / 32, at = low + threadIdx.x % 32 * step;
        bool most = at < high && before[at] <= row;
        low += (__popc(__ballot_sync(~0u, most)) - 1) * step;
        high = min(high, low + step);
    }
    return low;
}

/* Calls visit(slot within the digit, value) for this warp's share of an item's rows. */
template <class V, bool loads, class Visit>
__device__ __forceinline__ void visit_rows(const tiles &t, const item &x, const Visit &visit) {
    const uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32, all = x.end - x.begin;
    const uint32_t begin = x.begin + (uint32_t)((uint64_t)all * warp / warps);
    const uint32_t end = x.begin + (uint32_t)((uint64_t)all * (warp + 1) / warps);
    const uint16_t *starts = t.starts + (size_t)x.digit * t.count, *ends = starts + t.count;
    const uint32_t *before = t.before + (size_t)x.digit * t.count;
    if (begin >= end) return;
    uint32_t tile = find_tile(before, t.count, begin) + threadIdx.x % 32;
    for (bool on = true; on; tile += 32) {
        uint32_t start = 0, length = 0, first = end;
        if (tile < t.count) {
            first = before[tile];
            start = starts[tile];
            length = ends[tile] - start;
            uint32_t skipped = begin > first ? min(begin - first, length) : 0;
            uint32_t last = min(length, end > first ? end - first : 0);
            start += skipped;
            length = last > skipped ? last - skipped : 0;
        }
        on = !__any_sync(~0u, first >= end);
        visit_runs<V, loads>(t, tile * ROWS + start, length, visit);
    }
}

} // namespace bf_cuda_tiles

#endif
