/* Tiles of windows whose sums the integers of rolling_sums.cu do not hold, by the limbs of the
 * rules. Each thread has a state, which elements enter and leave, and makes neighbouring results.
 * That is slow. The kernel reads how many tiles are marked: the host need not wait for that. */
#include "cuda/scan/rolling_tile.cuh"

namespace rolling_exact {

using namespace bf_cuda_rolling;

enum { THREADS = 128 };

struct exact_params {
    bf_cuda_rolling_params rolling;
    bf_sum_shape shape;
};

/* The element enters the words of a state, or leaves them. */
__device__ __forceinline__ void take(const exact_params &p, int64_t *words, uint64_t bits,
                                     bool leaves) {
    const bf_sum_shape &s = p.shape;
    const bf_format f = p.rolling.format;
    const int by = leaves ? -1 : 1;
    bf_finite d;
    int sum = 0, product = 0;
    words[BF_SUM_COUNT] += by;
    if (p.rolling.is_float) {
        const int special = bf_sum_special(f, bits);
        if (special) {
            words[special] += by;
            return;
        }
        words[BF_SUM_NEG_ZERO] += bf_sum_neg_zero(f, bits) ? by : 0;
        d = bf_decode(f, bits);
        sum = bf_sum_position(f, s.sum, d.position, 1);
        if (s.products.limbs > 0) product = bf_sum_position(f, s.products, 2 * d.position, 2);
    } else {
        d = bf_decode_integer(p.rolling.job.window.dtype, bits);
    }
    bf_limbs_add(words + s.sum_at, sum, d.magnitude, d.negative != leaves);
    if (s.products.limbs > 0)
        bf_limbs_add_product(words + s.products_at, product, d.magnitude, d.magnitude, leaves);
}

__device__ __forceinline__ void clear(const exact_params &p, int64_t *words) {
    for (int i = 0; i < p.shape.words; i++) words[i] = 0;
}

/* Adds the core's elements to the words, which the block's threads share. */
__device__ __forceinline__ void take_core(const exact_params &p, const tile &t, int64_t *words,
                                          int64_t *shared) {
    clear(p, words);
    visit_elements<THREADS>(p.rolling, t, t.core(), t.second,
                            [&](uint64_t bits) { take(p, words, bits, false); });
    bf_sum_carry(p.rolling.job.window.kind, p.rolling.job.window.dtype, words);
    for (int i = 0; i < p.shape.words; i++)
        if (words[i] != 0)
            atomicAdd((unsigned long long *)&shared[i], (unsigned long long)words[i]);
}

__device__ __forceinline__ void store_result(const exact_params &p, const window &w,
                                             const int64_t *words, bf_work *work) {
    const bf_window &rules = p.rolling.job.window;
    uint64_t bits;
    if (!bf_window_told(&rules, words, &bits)) {
        bf_band_sums g;
        for (int i = 0; i < BF_SUM_LIMBS; i++) g.counts[i] = words[i];
        g.sum = words + p.shape.sum_at;
        g.products = words + p.shape.products_at;
        g.sum_layout = p.shape.sum;
        g.products_layout = p.shape.products;
        g.words = false;
        bits = bf_window_sum(&rules, &g, work);
    }
    store_bits(p.rolling.job.values, p.rolling.to_bytes, w.to, bits);
}

__device__ __forceinline__ void make_results(const exact_params &p, const tile &t, int64_t *words,
                                             bf_work *work) {
    const int each = (t.n + THREADS - 1) / THREADS, from = (int)threadIdx.x * each;
    int first = 0, end = 0;
    for (int i = from; i < from + each && i < t.n; i++) {
        const window w = window_of(p.rolling, t, i);
        if (i == from) first = end = w.first;
        for (; end < w.end; end++) take(p, words, listed(p.rolling, t, end), false);
        for (; first < w.first; first++) take(p, words, listed(p.rolling, t, first), true);
        look_for_refused(p.rolling, words[BF_SUM_NAN]);
        store_result(p, w, words, work);
    }
}

__global__ void __launch_bounds__(THREADS) roll_exactly(const __grid_constant__ exact_params p) {
    __shared__ tile t;
    __shared__ int64_t core[BF_SUM_WORDS_MAX];
    int64_t words[BF_SUM_WORDS_MAX];
    bf_work work;
    const int64_t marked = (int64_t)p.rolling.board->marked;
    for (int64_t m = blockIdx.x; m < marked; m += gridDim.x) {
        for (int i = (int)threadIdx.x; i < p.shape.words; i += THREADS) core[i] = 0;
        if (threadIdx.x == 0) t = find_tile(p.rolling, p.rolling.marked[m]);
        __syncthreads();
        if (t.core() < t.second) take_core(p, t, words, core);
        __syncthreads();
        for (int i = 0; i < p.shape.words; i++) words[i] = core[i];
        make_results(p, t, words, &work);
        __syncthreads();
    }
}

} // namespace rolling_exact

bf_status bf_cuda_roll_exactly(bf_cuda_call *call, const bf_cuda_rolling_params &rolling) {
    const bf_cuda *cuda = call->context->cuda;
    const bf_window &w = rolling.job.window;
    const rolling_exact::exact_params p = {rolling, bf_sum_shape_of(w.kind, w.dtype)};
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, rolling.tiles, 1), rolling_exact::THREADS};
    return bf_cuda_check(call->context, bf_cuda_launch(cuda, rolling_exact::roll_exactly, shape, p),
                         "rolling windows");
}
