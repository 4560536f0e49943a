/* Sums by index of one small float a row.
 *
 * 1. A block sorts a tile of rows in shared memory by the high bits of their slots, the digit, and
 *    writes the tile whole, with the first row of each digit.
 * 2. Small kernels cut the rows of each digit into items of about the same size.
 * 3. A block takes an item, and each of its warps as many of the rows: it reads them from tile
 * after tile, adds them to limbs of their slots in shared memory, and these to the slots' words. So
 * a hot slot is only some items more.
 * 4. A thread rounds a slot's words.
 *
 * Limbs in shared memory have 32 bits and cover all of f32. Each starts in the middle of its range,
 * so that few additions wrap around; those that do carry to the next limb. There are copies of all,
 * each for some lanes, as many as there is room for. */
#include "cuda/axis/index/slots.cuh"
#include "cuda/runtime/partition_tile.cuh"

#include <cuda_fp16.h>

namespace {

enum {
    TILE_THREADS = 1024,
    TILE_ITEMS = 8,
    TILE = TILE_THREADS * TILE_ITEMS,
    COUNTERS = TILE_THREADS, /* of a tile: copies of those of each digit */
    DIGITS_MOST = 256,
    SLOTS_BITS_MOST = 12, /* of a digit */
    SLOT_BITS = 20,       /* of all */
    LIMBS = 10,           /* 277 bits of f32, and a limb for carries */
    ITEM_LEAST = 1 << 15  /* rows that are worth a block */
};

const unsigned MIDDLE = 1u << 31;

struct tiles {
    uint32_t *values; /* f32 as bits, tile by tile, by digit */
    uint16_t *slots;  /* within the digit */
    uint16_t *starts; /* [digit][tile], and one more digit */
    uint32_t *before; /* [digit][tile]: rows of the digit in earlier tiles */
    uint32_t *totals; /* rows of each digit */
    struct item *items;
    unsigned *item_count;
    uint32_t count, rows; /* tiles; rows of all */
    int digits, bits;     /* bits: of a slot within its digit */
    uint32_t most;        /* rows of an item, about */
};

/* Rows of a digit, by their numbers within it. */
struct item {
    uint32_t digit, begin, end;
};

/* --- tiles --- */

template <bf_dtype D> __device__ __forceinline__ uint32_t load_float(const void *from, int64_t i) {
    if (D == BF_F32) return ((const uint32_t *)from)[i];
    uint16_t half = ((const uint16_t *)from)[i];
    if (D == BF_BF16) return (uint32_t)half << 16;
    return __float_as_uint(__half2float(__ushort_as_half(half)));
}

struct tile_memory {
    uint32_t values[TILE];
    uint16_t slots[TILE];
    uint32_t counters[COUNTERS + 1];
};

/* Each copy of a digit's counter takes few of a tile's rows, so that a row's number within the copy
 * fits above its slot. */
static_assert(TILE / (COUNTERS / DIGITS_MOST) < 1 << (32 - SLOT_BITS), "rank");
static_assert((int64_t)DIGITS_MOST << SLOTS_BITS_MOST <= 1 << SLOT_BITS, "slots");

template <bf_dtype D>
__global__ void __launch_bounds__(TILE_THREADS, 2)
    sort_tile(const void *values, const void *index, bf_dtype index_dtype, int64_t slots,
              const tiles t, unsigned long long *wrong) {
    extern __shared__ __align__(16) char memory[];
    tile_memory &m = *(tile_memory *)memory;
    const unsigned slot_mask = (1u << SLOT_BITS) - 1;
    const uint32_t first = blockIdx.x * TILE;
    const uint32_t left = t.rows - first, rows = left < TILE ? left : TILE;
    const unsigned copies = COUNTERS / (unsigned)t.digits;
    uint32_t slot[TILE_ITEMS], value[TILE_ITEMS]; /* of a slot the rank too */
    m.counters[threadIdx.x] = 0;
#pragma unroll
    for (int k = 0; k < TILE_ITEMS; k++) {
        uint32_t i = k * TILE_THREADS + threadIdx.x;
        if (i >= rows) continue;
        uint64_t s = bf_cuda_index_at(index, index_dtype, (int64_t)first + i);
        value[k] = load_float<D>(values, (int64_t)first + i);
        if (s >= (uint64_t)slots) {
            atomicMin(wrong, (unsigned long long)first + i);
            s = 0;
        }
        slot[k] = (uint32_t)s;
    }
    __syncthreads();
    const unsigned copy = threadIdx.x & (copies - 1);
#pragma unroll
    for (int k = 0; k < TILE_ITEMS; k++) {
        if (k * TILE_THREADS + threadIdx.x >= rows) continue;
        slot[k] |= atomicAdd(&m.counters[(slot[k] >> t.bits) * copies + copy], 1) << SLOT_BITS;
    }
    __syncthreads();
    uint32_t all, mine = m.counters[threadIdx.x];
    m.counters[threadIdx.x] = bf_cuda_partition::sum_before<TILE_THREADS / 32>(mine, &all);
    if (threadIdx.x == 0) m.counters[COUNTERS] = rows;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE_ITEMS; k++) {
        if (k * TILE_THREADS + threadIdx.x >= rows) continue;
        uint32_t s = slot[k] & slot_mask;
        uint32_t to = m.counters[(s >> t.bits) * copies + copy] + (slot[k] >> SLOT_BITS);
        m.values[to] = value[k];
        m.slots[to] = (uint16_t)(s & ((1u << t.bits) - 1));
    }
    for (int d = threadIdx.x; d <= t.digits; d += TILE_THREADS)
        t.starts[(size_t)d * t.count + blockIdx.x] =
            (uint16_t)m.counters[d < t.digits ? d * copies : COUNTERS];
    __syncthreads();
#pragma unroll
    for (uint32_t i = threadIdx.x; i < TILE / 4; i += TILE_THREADS) {
        uint4 v = ((const uint4 *)m.values)[i];
        ushort4 s = ((const ushort4 *)m.slots)[i];
        ((uint4 *)(t.values + first))[i] = v; /* there is room for whole tiles */
        ((ushort4 *)(t.slots + first))[i] = s;
    }
}

/* --- items --- */

/* A block for each digit. */
__global__ void __launch_bounds__(1024) count_digits(const tiles t) {
    const uint16_t *starts = t.starts + (size_t)blockIdx.x * t.count, *ends = starts + t.count;
    uint32_t *before = t.before + (size_t)blockIdx.x * t.count;
    uint32_t sum = 0, all;
    for (uint32_t base = 0; base < t.count; base += 1024) {
        uint32_t i = base + threadIdx.x;
        uint32_t rows = i < t.count ? (uint32_t)ends[i] - starts[i] : 0;
        uint32_t at = sum + bf_cuda_partition::sum_before<32>(rows, &all);
        if (i < t.count) before[i] = at;
        sum += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) t.totals[blockIdx.x] = sum;
}

/* One block. */
__global__ void __launch_bounds__(1024) make_items(const tiles t) {
    __shared__ uint32_t firsts[DIGITS_MOST];
    const uint32_t digits = (uint32_t)t.digits;
    uint32_t all, rows = threadIdx.x < digits ? t.totals[threadIdx.x] : 0;
    uint32_t at = bf_cuda_partition::sum_before<32>(rows / t.most + (rows % t.most != 0), &all);
    if (threadIdx.x < digits) firsts[threadIdx.x] = at;
    if (threadIdx.x == 0) *t.item_count = all;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < all; i += 1024) {
        uint32_t low = 0, high = digits; /* the last digit that begins at or before this item */
        while (high - low > 1) {
            uint32_t middle = (low + high) / 2;
            (firsts[middle] <= i ? low : high) = middle;
        }
        uint64_t n = t.totals[low], k = i - firsts[low], pieces = n / t.most + (n % t.most != 0);
        t.items[i] = {low, (uint32_t)(n * k / pieces), (uint32_t)(n * (k + 1) / pieces)};
    }
}

/* --- sums --- */

/* The limbs and counts of a block: word (limb * slots + slot) * copies + copy; counts are behind
 * the limbs. */
struct sums_view {
    unsigned at, step; /* shared address of this lane's copy of limb 0 of slot 0; bytes of a limb */
    unsigned slot_step;
};

__device__ __forceinline__ unsigned add_shared(unsigned at, unsigned x) {
    unsigned before;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(at), "r"(x) : "memory");
    return before;
}

__device__ __noinline__ void carry_on(unsigned at, unsigned step, int limbs, unsigned sign) {
    bool on = true;
    for (; on && limbs > 0; limbs--, at += step) on = (add_shared(at, sign | 1) ^ sign) == ~0u;
}

/* NaN, an infinity or -0. */
__device__ __noinline__ void count_special(int64_t *words, uint32_t bits) {
    int special = bf_sum_special(bf_format_f32(), bits);
    bf_cuda_add_word(words + (special != 0 ? special : (int)BF_SUM_NEG_ZERO), 1);
}

/* Counts a row: for sums 1 stands for any number. Special rows are counted apart. */
template <bool counts> __device__ __forceinline__ void count_row(unsigned at) {
    if (counts)
        asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(at) : "memory");
    else
        asm volatile("st.shared.u32 [%0], 1;" ::"r"(at) : "memory");
}

template <bool counts>
__device__ __forceinline__ void add_float(const sums_view &v, int64_t *words, unsigned slot,
                                          uint32_t bits) {
    const bf_layout layout = bf_layout_sum(BF_F32);
    unsigned field = bits >> 23 & 255, normal = min(field, 1u), sign = (unsigned)((int)bits >> 31);
    unsigned magnitude = (bits & 0x7fffffu) | normal << 23, position = field - normal;
    unsigned to = v.at + slot * v.slot_step;
    const bool special = field == 255 || bits == MIDDLE;
    if (!special) count_row<counts>(to + LIMBS * v.step);
    if (magnitude == 0 || special) {
        if (special) count_special(words + slot * (BF_SUM_LIMBS + layout.limbs), bits);
        return;
    }
    unsigned limb = position >> 5;
    unsigned low = magnitude << (position & 31), high = __funnelshift_l(magnitude, 0, position);
    to += limb * v.step;
    unsigned before = add_shared(to, (low ^ sign) - sign);
    high += (before ^ sign) > ~low;
    before = add_shared(to + v.step, (high ^ sign) - sign);
    if ((before ^ sign) > ~high) carry_on(to + 2 * v.step, v.step, (int)(LIMBS - 2 - limb), sign);
}

/* Adds rows of 32 tiles: each lane has the first of a tile, and their number. Four runs are read at
 * a time. */
template <bool counts>
__device__ __forceinline__ void add_runs(const tiles &t, const sums_view &v, int64_t *words,
                                         uint32_t tile, uint32_t start, uint32_t length) {
    enum { RUNS = 4, AHEAD = 2 };
    const uint32_t lane = threadIdx.x % 32;
    for (int k = 0; k < 32; k += RUNS) {
        uint32_t at[RUNS], rows[RUNS], value[RUNS][AHEAD];
        uint16_t slot[RUNS][AHEAD];
        uint32_t longest = 0;
#pragma unroll
        for (int r = 0; r < RUNS; r++) {
            at[r] = (tile + k + r) * TILE + __shfl_sync(~0u, start, k + r);
            rows[r] = __shfl_sync(~0u, length, k + r);
            longest = max(longest, rows[r]);
        }
        for (uint32_t i = lane; i < longest; i += 32 * AHEAD) {
#pragma unroll
            for (int r = 0; r < RUNS; r++)
#pragma unroll
                for (int j = 0; j < AHEAD; j++) {
                    if (i + 32 * j >= rows[r]) continue;
                    value[r][j] = __ldcs(t.values + at[r] + i + 32 * j);
                    slot[r][j] = __ldcs(t.slots + at[r] + i + 32 * j);
                }
#pragma unroll
            for (int r = 0; r < RUNS; r++)
#pragma unroll
                for (int j = 0; j < AHEAD; j++)
                    if (i + 32 * j < rows[r]) add_float<counts>(v, words, slot[r][j], value[r][j]);
        }
    }
}

/* Returns the last tile with `before` at most row. A warp compares 32 tiles at a time. */
__device__ __forceinline__ uint32_t find_tile(const uint32_t *before, uint32_t count,
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

/* Adds rows [begin, end) of a digit. */
template <bool counts>
__device__ __forceinline__ void add_rows(const tiles &t, const sums_view &v, int64_t *words,
                                         uint32_t digit, uint32_t begin, uint32_t end) {
    const uint16_t *starts = t.starts + (size_t)digit * t.count, *ends = starts + t.count;
    const uint32_t *before = t.before + (size_t)digit * t.count;
    uint32_t tile = find_tile(before, t.count, begin);
    for (bool on = true; on && tile < t.count; tile += 32) {
        uint32_t mine = tile + threadIdx.x % 32, start = 0, length = 0, first = end;
        if (mine < t.count) {
            first = before[mine];
            start = starts[mine];
            length = ends[mine] - start;
            uint32_t skipped = begin > first ? min(begin - first, length) : 0;
            uint32_t last = min(length, end > first ? end - first : 0);
            start += skipped;
            length = last > skipped ? last - skipped : 0;
        }
        on = !__any_sync(~0u, first >= end);
        add_runs<counts>(t, v, words, tile, start, length);
    }
}

template <bool counts>
__global__ void __launch_bounds__(1024, 1)
    add_items(const tiles t, int64_t slots, int copies, int64_t *all_words) {
    extern __shared__ __align__(16) unsigned shared[];
    if (blockIdx.x >= *t.item_count) return;
    const item x = t.items[blockIdx.x];
    const unsigned width = 1u << t.bits, stride = width * copies, words_each = LIMBS + 1;
    const int W = BF_SUM_LIMBS + bf_layout_sum(BF_F32).limbs;
    const int64_t base = (int64_t)x.digit << t.bits;
    int64_t *words = all_words + base * W;
    for (unsigned i = threadIdx.x; i < stride * words_each; i += blockDim.x)
        shared[i] = i < stride * LIMBS ? MIDDLE : 0;
    __syncthreads();
    sums_view v;
    v.at = (unsigned)__cvta_generic_to_shared(shared) + 4 * (threadIdx.x & (copies - 1));
    v.step = 4 * stride;
    v.slot_step = 4 * copies;
    const uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32, rows = x.end - x.begin;
    const uint32_t begin = x.begin + (uint32_t)((uint64_t)rows * warp / warps);
    const uint32_t end = x.begin + (uint32_t)((uint64_t)rows * (warp + 1) / warps);
    if (begin < end) add_rows<counts>(t, v, words, x.digit, begin, end);
    __syncthreads();
    for (unsigned s = threadIdx.x; s < width && base + s < slots; s += blockDim.x) {
        for (int k = 0; k < (int)words_each; k++) {
            int64_t sum = 0;
            for (int c = 0; c < copies; c++) {
                unsigned turn = (c + threadIdx.x) & (copies - 1);
                sum += (int64_t)shared[k * stride + s * copies + turn] -
                       (k < LIMBS ? (int64_t)MIDDLE : 0);
            }
            bf_cuda_add_word(words + (int64_t)s * W + (k < LIMBS ? BF_SUM_LIMBS + k : BF_SUM_COUNT),
                             sum);
        }
    }
}

/* --- results --- */

__device__ __forceinline__ uint64_t round_words(const bf_cuda_index_params &p,
                                                const int64_t *words) {
    const bf_layout layout = bf_layout_sum(BF_F32);
    const bf_format f = bf_format_of(p.to);
    const bool mean = p.op == BF_MEAN;
    int64_t n = words[BF_SUM_COUNT] + words[BF_SUM_NEG_ZERO];
    uint64_t bits;
    bool negative;
    if (bf_finish_special(words, p.options.nan == BF_NAN_SKIP, f, &bits)) return bits;
    if (mean && n == 0) return bf_format_nan(f);
    bf_leading x =
        bf_leading_from_band(words + BF_SUM_LIMBS, layout.limbs, layout.exponent, &negative);
    if (x.bits == 0) return n > 0 && words[BF_SUM_NEG_ZERO] == n ? bf_format_sign(f) : 0;
    return bf_leading_round(f, negative, mean ? bf_leading_divide(x, (uint64_t)n) : x);
}

__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    finish_slots(const __grid_constant__ bf_cuda_index_params p, int64_t slots) {
    for (int64_t s = blockIdx.x * (int64_t)BF_CUDA_INDEX_THREADS + threadIdx.x; s < slots;
         s += (int64_t)gridDim.x * BF_CUDA_INDEX_THREADS) {
        const int64_t *words = p.pool + s * p.words;
        if (p.options.nan == BF_NAN_ERROR && words[BF_SUM_NAN] > 0)
            bf_cuda_index_fail(p, s, BF_CUDA_INDEX_NAN);
        bf_cuda_index_write(p, s, round_words(p, words), true);
    }
}

/* --- launches --- */

size_t align_up(size_t bytes) { return (bytes + 255) & ~(size_t)255; }

/* Divides memory among the arrays of tiles; returns the bytes that they need. */
size_t divide(tiles *t, char *memory) {
    size_t rows = (size_t)t->count * TILE, at = 0;
    size_t items = DIGITS_MOST + t->rows / t->most + 1;
    void **arrays[] = {(void **)&t->values,    (void **)&t->slots,  (void **)&t->starts,
                       (void **)&t->before,    (void **)&t->totals, (void **)&t->items,
                       (void **)&t->item_count};
    size_t bytes[] = {rows * 4,
                      rows * 2,
                      ((size_t)t->digits + 1) * t->count * 2,
                      (size_t)t->digits * t->count * 4,
                      DIGITS_MOST * 4,
                      items * sizeof(item),
                      4};
    for (int i = 0; i < 7; i++) {
        *arrays[i] = memory + at;
        at += align_up(bytes[i]);
    }
    return at;
}

tiles plan_tiles(const bf_rows *rows) {
    tiles t = {};
    t.rows = (uint32_t)rows->count;
    t.count = (t.rows + TILE - 1) / TILE;
    while (t.bits < 9 && rows->slots > (int64_t)1 << t.bits) t.bits++;
    while ((rows->slots - 1) >> t.bits >= DIGITS_MOST) t.bits++;
    t.digits = 1; /* a power of two: counters have as many copies for each */
    while ((int64_t)t.digits << t.bits < rows->slots) t.digits *= 2;
    t.most = t.rows >> 10;
    if (t.most < ITEM_LEAST) t.most = ITEM_LEAST;
    if (t.most < 128u << t.bits) t.most = 128u << t.bits;
    return t;
}

template <bf_dtype D>
cudaError_t launch_tiles(const bf_cuda *cuda, const bf_cuda_index_params &p, const bf_rows *rows,
                         const tiles &t) {
    bf_cuda_shape shape = {.blocks = t.count,
                           .threads = TILE_THREADS,
                           .shared = sizeof(tile_memory),
                           .overlaps = false,
                           .spares_cache = true};
    return bf_cuda_launch(cuda, sort_tile<D>, shape, p.a, rows->places, rows->places_dtype,
                          rows->slots, t, &p.board->wrong);
}

cudaError_t launch_items(const bf_cuda *cuda, const bf_cuda_index_params &p, const bf_rows *rows,
                         const tiles &t) {
    size_t each = (size_t)4 * (LIMBS + 1) << t.bits, room = (size_t)cuda->shared - 1024;
    size_t half = room / 2 - 1024;
    int copies = 1;
    while (copies < 32 && 2 * copies * each <= half) copies *= 2;
    bf_cuda_shape shape = {.blocks = (int64_t)(DIGITS_MOST + t.rows / t.most + 1),
                           .threads = each <= half ? 512 : 1024,
                           .shared = copies * each,
                           .overlaps = false,
                           .spares_cache = true};
    count_digits<<<(unsigned)t.digits, 1024, 0, cuda->stream>>>(t);
    make_items<<<1, 1024, 0, cuda->stream>>>(t);
    return bf_cuda_launch(cuda, p.op == BF_MEAN ? add_items<true> : add_items<false>, shape, t,
                          rows->slots, copies, p.pool);
}

} // namespace

bool bf_cuda_index_scatters(const bf_operands *operands, const bf_rows *rows) {
    bool small =
        operands->dtype == BF_F32 || operands->dtype == BF_F16 || operands->dtype == BF_BF16;
    return small && operands->kind == BF_KIND_SUM && rows->width == 1 && rows->count > 0 &&
           rows->slots <= (int64_t)DIGITS_MOST << SLOTS_BITS_MOST && rows->slots / 4 <= rows->count;
}

bf_status bf_cuda_index_scatter(bf_context *context, bf_cuda_index_params *p, const bf_rows *rows) {
    const bf_cuda *cuda = context->cuda;
    tiles t = plan_tiles(rows);
    size_t words = (size_t)rows->slots * (size_t)p->words * sizeof(int64_t);
    void *memory = bf_cuda_alloc(context, divide(&t, NULL));
    p->pool = (int64_t *)bf_cuda_alloc(context, words);
    cudaError_t error = cudaErrorMemoryAllocation;
    if (memory != NULL && p->pool != NULL) {
        divide(&t, (char *)memory);
        error = cudaMemsetAsync(p->pool, 0, words, cuda->stream);
        if (error == cudaSuccess)
            error = p->dtype == BF_F32   ? launch_tiles<BF_F32>(cuda, *p, rows, t)
                    : p->dtype == BF_F16 ? launch_tiles<BF_F16>(cuda, *p, rows, t)
                                         : launch_tiles<BF_BF16>(cuda, *p, rows, t);
        if (error == cudaSuccess) error = launch_items(cuda, *p, rows, t);
        if (error == cudaSuccess) {
            int64_t blocks = (rows->slots + BF_CUDA_INDEX_THREADS - 1) / BF_CUDA_INDEX_THREADS;
            finish_slots<<<(unsigned)(blocks < 4096 ? blocks : 4096), BF_CUDA_INDEX_THREADS, 0,
                           cuda->stream>>>(*p, rows->slots);
            error = cudaGetLastError();
        }
    }
    bf_cuda_free(context, p->pool);
    bf_cuda_free(context, memory);
    p->pool = NULL;
    return error == cudaErrorMemoryAllocation ? BF_E_MEMORY
                                              : bf_cuda_check(context, error, "sums by index");
}
