/* Windows of medians and quantiles. The list is sorted once, so that each element has a rank, and
 * the ranks in the order of the list become a wavelet matrix (Claude, Navarro and Ordonez, 2015): a
 * level has the next lower bit of each rank, of all ranks in an order in which those with 0 come
 * first in all levels before. So a window is a range of every level, and the ranks in it that have
 * a 0 are counted; each count tells a bit of the rank that is looked for. */
#include "cuda/runtime/warp.cuh"
#include "cuda/scan/rolling_tile.cuh"

namespace rolling_quantiles {

using namespace bf_cuda_rolling;

enum {
    THREADS = 512,
    WARPS = THREADS / BF_CUDA_WARP,
    EACH = 8,
    ROOM = EACH * THREADS,
    LEVELS = 12,
    WORDS = ROOM / 32,
    LEAST = 64 /* elements that are sorted at least: those of a warp */
};
static_assert(ROOM == 1 << LEVELS && ROOM >= 2 * BF_ROLLING_QUANTILES_MOST, "no room");

/* 32 bits, and how many of those before them are set. */
struct word {
    uint32_t bits, before;
};

/* A list in shared memory. Ranks are those of its elements, and then those in the order of a level;
 * `others` has the element of each place, and then the ranks of the next level. A bit of `there`
 * says that an element is no NaN, and one of a level that a rank has this bit. */
struct list {
    uint64_t places[ROOM]; /* bf_order_place of each element; then these in order */
    uint16_t ranks[ROOM], others[ROOM];
    word there[WORDS + 1], levels[LEVELS][WORDS + 1];
};

/* --- bits --- */

/* A warp sets those of neighbours, of which this thread's has number i. */
__device__ __forceinline__ void set_bits(word *words, int i, bool bit) {
    const uint32_t bits = __ballot_sync(~0u, bit);
    if (i % 32 == 0) words[i / 32].bits = bits;
}

/* Counts what is set before each word of n bits, and before one behind them. */
__device__ __forceinline__ void count_bits(word *words, int n) {
    if (threadIdx.x == 0) words[n / 32].bits = 0;
    __syncthreads();
    bf_cuda_block_sums<WARPS>(
        n / 32 + 1, 0, [&](int i) { return __popc(words[i].bits); },
        [&](int i, int before, int) { words[i].before = (uint32_t)before; });
}

/* How many of the first i bits are set. */
__device__ __forceinline__ int bits_before(const word *words, int i) {
    const word w = words[i / 32];
    return (int)w.before + __popc(w.bits & ((1u << i % 32) - 1));
}

/* --- ranks --- */

/* Loads the list; behind it are places that no element precedes. */
__device__ __forceinline__ void load_places(const bf_cuda_rolling_params &p, const tile &t,
                                            list *l) {
    load_list<THREADS, EACH>(p, t, [&](int i, uint64_t bits) {
        const bool is_nan = p.is_float && bf_is_nan(p.format, bits);
        const bool is_there = i < t.count;
        l->places[i] = is_there ? bf_order_place(p.job.window.dtype, BF_ASCENDING, bits) : ~0ull;
        l->others[i] = (uint16_t)i;
        set_bits(l->there, i, is_there && !is_nan);
    });
    count_bits(l->there, ROOM);
}

/* Sorts n places, a power of two, with their elements (Batcher's bitonic sort). Strides of up to 32
 * stay within the 64 elements of a warp. */
__device__ __forceinline__ void sort_places(list *l, int n) {
    for (int size = 2; size <= n; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            if (stride > 32 || (stride == 32 && size > 64)) __syncthreads();
            __syncwarp();
            for (int i = (int)threadIdx.x; i < n / 2; i += THREADS) {
                const int a = 2 * i - (i & (stride - 1)), b = a + stride;
                const uint64_t x = l->places[a], y = l->places[b];
                if ((x > y) != ((a & size) == 0)) continue;
                l->places[a] = y;
                l->places[b] = x;
                const uint16_t element = l->others[a];
                l->others[a] = l->others[b];
                l->others[b] = element;
            }
        }
    __syncthreads();
}

/* Calls visit(i) for a thread's numbers of n, a multiple of 64. All lanes of a warp have some, or
 * none has. */
template <class Visit> __device__ __forceinline__ void visit_numbers(int n, const Visit &visit) {
    for (int i = (int)threadIdx.x; i < n; i += THREADS) visit(i);
}

/* Makes the levels of n ranks, each of which is there once: so half of them have a bit. */
__device__ __forceinline__ void make_levels(list *l, int n) {
    uint16_t *ranks = l->ranks, *others = l->others;
    visit_numbers(n, [&](int i) { ranks[others[i]] = (uint16_t)i; });
    __syncthreads();
    for (int level = 31 - __clz(n); level-- > 0;) {
        word *words = l->levels[level];
        visit_numbers(n, [&](int i) { set_bits(words, i, ranks[i] >> level & 1); });
        count_bits(words, n);
        visit_numbers(n, [&](int i) {
            const int ones = bits_before(words, i), rank = ranks[i];
            others[rank >> level & 1 ? n / 2 + ones : i - ones] = (uint16_t)rank;
        });
        __syncthreads();
        uint16_t *const next = others;
        others = ranks;
        ranks = next;
    }
}

/* --- results --- */

/* The place of number k, in order, of elements [first, end) of the list. */
__device__ __forceinline__ uint64_t find_place(const list &l, int n, int first, int end, int k) {
    int rank = 0;
    for (int level = 31 - __clz(n); level-- > 0;) {
        const int before = bits_before(l.levels[level], first);
        const int up_to = bits_before(l.levels[level], end);
        const int zeros = end - first - (up_to - before);
        const bool is_one = k >= zeros;
        first = is_one ? n / 2 + before : first - before;
        end = is_one ? n / 2 + up_to : end - up_to;
        k -= is_one ? zeros : 0;
        rank |= (int)is_one << level;
    }
    return l.places[rank];
}

/* The result number `number` of a window with so many elements that are no NaN. */
__device__ __forceinline__ uint64_t result_of(const bf_cuda_rolling_params &p, const list &l, int n,
                                              const window &w, int number, int members) {
    const bf_window &rules = p.job.window;
    const bf_between b = bf_window_between(&p.quantiles, number, members);
    const uint64_t below = find_place(l, n, w.first, w.end, (int)b.below);
    const uint64_t above =
        b.above > b.below ? find_place(l, n, w.first, w.end, (int)b.above) : below;
    return bf_window_between_bits(&rules, bf_order_element(rules.dtype, BF_ASCENDING, below),
                                  bf_order_element(rules.dtype, BF_ASCENDING, above), b.weight);
}

__device__ __forceinline__ void store_results(const bf_cuda_rolling_params &p, const list &l, int n,
                                              const window &w) {
    const int members = bits_before(l.there, w.end) - bits_before(l.there, w.first);
    int64_t counts[BF_SUM_LIMBS] = {w.rows};
    uint64_t told;
    counts[BF_SUM_NAN] = w.rows - members;
    look_for_refused(p, counts[BF_SUM_NAN]);
    const bool is_told = bf_window_told(&p.job.window, counts, &told);
    for (int i = 0; i < p.quantiles.count; i++)
        store_bits(p.job.values, p.to_bytes, w.to + i * p.job.apart,
                   is_told ? told : result_of(p, l, n, w, i, members));
}

__global__ void __launch_bounds__(THREADS, bf_cuda_blocks_held(THREADS, 2))
    roll_tiles(const __grid_constant__ bf_cuda_rolling_params p) {
    extern __shared__ uint64_t memory[];
    __shared__ tile t;
    list *l = (list *)memory;
    if (threadIdx.x == 0) t = find_tile(p, blockIdx.x);
    __syncthreads();
    int n = LEAST;
    while (n < t.count) n *= 2;
    load_places(p, t, l);
    sort_places(l, n);
    make_levels(l, n);
    for (int i = (int)threadIdx.x; i < t.n; i += THREADS)
        store_results(p, *l, n, window_of(p, t, i));
}

} // namespace rolling_quantiles

bf_cuda_rolling_kernels bf_cuda_rolling_quantiles() {
    return {(const void *)rolling_quantiles::roll_tiles,
            rolling_quantiles::THREADS,
            rolling_quantiles::ROOM,
            sizeof(rolling_quantiles::list),
            NULL,
            NULL,
            0};
}
