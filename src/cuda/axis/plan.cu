/* The first kernels of a call: the windows that all its threads add in, and the check of offsets.
 */
#include "cuda/axis/axis.cuh"
#include "cuda/axis/layout.cuh"
#include "cuda/reduce/sum_terms.cuh"

namespace {

enum {
    SAMPLES = 512 /* one of a thread */,
    CHECKED = 8 /* offsets of a thread */,
    CHECK_THREADS = 256
};

/* The window's bottom, for what samples have shown. Half of what is to spare is for smaller values,
 * of which more elements have some. */
__device__ int place_window(bf_extent e, int below, int least, bf_cuda_depth d, bf_layout layout) {
    e = bf_cuda_extent_warp(e);
    if (e.top < e.least) e.top = e.least = layout.exponent > 0 ? layout.exponent : 0;
    e.least = max(e.least - BF_CUDA_SPARE, least);
    const int last = max(e.least - below, least);
    const int spare = max(
        0, min(bf_window_span(d.hot) - (e.top - e.least), bf_window_span(d.all) - (e.top - last)));
    return bf_window_clamp(e.top - BF_WINDOW_BITS + spare / 3, d.all, layout);
}

template <bf_dtype D, bf_kind Kind>
__device__ void place_windows(bf_extent x, bf_extent y, int below, bf_cuda_axis_board *board) {
    using Levels = bf_cuda_levels<D, Kind>;
    constexpr int v = D == BF_F64, least = bf_cuda_float<D>::least;
    const bool pair = Kind == BF_KIND_DOT;
    int sum = 0, product = 0;
    if (Levels::sum(v) > 0)
        sum = place_window(x, below, least, Levels::of_sum(v), bf_layout_sum(D));
    if (Levels::product(v) > 0)
        product = place_window(y, pair ? below : 2 * below, 2 * least, Levels::of_product(v),
                               bf_layout_products(D));
    if (threadIdx.x != 0) return;
    board->sum_bottom = sum;
    board->product_bottom = product;
}

template <bf_dtype D>
__device__ void place_kind(bf_kind kind, bf_extent x, bf_extent y, int below,
                           bf_cuda_axis_board *board) {
    switch (kind) {
    case BF_KIND_SUM: place_windows<D, BF_KIND_SUM>(x, y, below, board); break;
    case BF_KIND_SQUARES: place_windows<D, BF_KIND_SQUARES>(x, y, below, board); break;
    case BF_KIND_MOMENTS: place_windows<D, BF_KIND_MOMENTS>(x, y, below, board); break;
    default: place_windows<D, BF_KIND_DOT>(x, y, below, board);
    }
}

__device__ double value_at(bf_dtype dtype, const void *from, int64_t at) {
    switch (dtype) {
    case BF_F64: return ((const double *)from)[at];
    case BF_F32: return (double)((const float *)from)[at];
    case BF_F16: return bf_cuda_float<BF_F16>::value(((const uint16_t *)from)[at]);
    default: return bf_cuda_float<BF_BF16>::value(((const uint16_t *)from)[at]);
    }
}

__device__ void sample(const bf_cuda_axis_params &p, bf_extent *x, bf_extent *y, int64_t count) {
    const bool rows = p.at.offsets != nullptr;
    const unsigned k = threadIdx.x;
    bf_cuda_axis_line line = {0, 0, 0};
    if (rows)
        line.a = line.b = bf_cuda_axis_pick(count, k, 1);
    else
        line = bf_cuda_axis_line_of(p.at, bf_cuda_axis_pick(p.at.results, k, 1));
    const int64_t j = rows ? 0 : bf_cuda_axis_pick(p.at.length, k, 1 << 20);
    const double u = value_at(p.dtype, p.a, line.a + (rows ? 0 : bf_cuda_axis_element(p.at, 0, j)));
    *x = *y = bf_cuda_extent(u);
    if (p.b != nullptr)
        *y = bf_cuda_extent(
            value_at(p.dtype, p.b, line.b + (rows ? 0 : bf_cuda_axis_element(p.at, 1, j))));
    *y = bf_cuda_extent_product(*x, *y);
}

/* To the first warp: what each warp has. */
__device__ void join_warps(bf_extent *x, bf_extent *y) {
    __shared__ bf_extent all[2][SAMPLES / BF_CUDA_WARP];
    const int warp = (int)threadIdx.x / BF_CUDA_WARP, lane = (int)threadIdx.x % BF_CUDA_WARP;
    *x = bf_cuda_extent_warp(*x);
    *y = bf_cuda_extent_warp(*y);
    if (lane == 0) {
        all[0][warp] = *x;
        all[1][warp] = *y;
    }
    __syncthreads();
    *x = all[0][lane % (SAMPLES / BF_CUDA_WARP)];
    *y = all[1][lane % (SAMPLES / BF_CUDA_WARP)];
}

__device__ void set_board(bf_cuda_axis_board *board, unsigned long long wrong) {
    board->failure = ~0ull;
    board->wrong = wrong;
    board->units = board->giants = board->failed = board->left = board->deferred = 0;
    board->sum_bottom = board->product_bottom = 0;
}

__global__ void __launch_bounds__(SAMPLES)
    plan_windows(const __grid_constant__ bf_cuda_axis_params p) {
    bf_cuda_wait_for_previous();
    if (threadIdx.x == 0) set_board(p.board, ~0ull);
    if (!bf_kind_is_sum(p.kind) || bf_kind_is_joint(p.kind)) return;
    if (!bf_dtype_is_float(p.dtype) || p.spans > 0) return;
    const bool rows = p.at.offsets != nullptr;
    const int64_t count = rows ? p.at.rows * p.at.width : p.at.results * p.at.length;
    bf_extent x = bf_cuda_extent(0), y = x;
    if (count > 0) sample(p, &x, &y, count);
    join_warps(&x, &y);
    if (threadIdx.x >= BF_CUDA_WARP) return;
    const int below = bf_bit_length((uint64_t)(count / SAMPLES));
    if (p.dtype == BF_F64)
        place_kind<BF_F64>(p.kind, x, y, below, p.board);
    else
        place_kind<BF_F32>(p.kind, x, y, below, p.board);
}

/* The first offset of a thread that is outside the rows, or less than the one before; ~0: none. */
__device__ unsigned long long find_wrong(const bf_cuda_axis_params &p) {
    const int64_t n = p.at.results / p.at.width + 1;
    unsigned long long wrong = ~0ull;
    int64_t s = (int64_t)blockIdx.x * (CHECK_THREADS * CHECKED) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < CHECKED; i++, s += CHECK_THREADS) {
        if (s >= n) break;
        const int64_t x = bf_cuda_axis_offset_at(p.at, s);
        const int64_t before = s > 0 ? bf_cuda_axis_offset_at(p.at, s - 1) : 0;
        const bool good = x >= 0 && x <= p.at.rows && x >= before;
        if (!good && (unsigned long long)s < wrong) wrong = (unsigned long long)s;
    }
    return wrong;
}

__global__ void __launch_bounds__(CHECK_THREADS)
    check_offsets(const __grid_constant__ bf_cuda_axis_params p) {
    bf_cuda_wait_for_previous();
    const unsigned long long wrong = find_wrong(p);
    if (wrong != ~0ull) atomicMin(&p.board->wrong, wrong);
}

/* The last block sets the board. */
__global__ void __launch_bounds__(CHECK_THREADS)
    open_segments(const __grid_constant__ bf_cuda_axis_params p) {
    bf_cuda_wait_for_previous();
    const unsigned long long wrong = find_wrong(p);
    if (wrong != ~0ull) atomicMax(&p.board->found, ~wrong);
    __threadfence();
    __syncthreads();
    if (threadIdx.x != 0 || atomicAdd(&p.board->checked, 1u) != gridDim.x - 1) return;
    __threadfence();
    set_board(p.board, ~atomicExch(&p.board->found, 0ull));
    p.board->checked = 0;
}

__global__ void report_wrong(const __grid_constant__ bf_cuda_axis_params p) {
    bf_cuda_wait_for_previous();
    *p.report = (int64_t)p.board->wrong; /* ~0 is -1 */
}

/* Blocks that check all offsets. */
bf_cuda_shape shape_of_check(const bf_cuda_axis_params &p) {
    const int64_t tile = CHECK_THREADS * CHECKED, n = p.at.results / p.at.width + 1;
    return {(n + tile - 1) / tile, CHECK_THREADS, 0, true, false};
}

} // namespace

cudaError_t bf_cuda_axis_launch_plan(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    const bf_cuda_shape shape = {1, SAMPLES, 0, true, false};
    return bf_cuda_launch(cuda, plan_windows, shape, p);
}

cudaError_t bf_cuda_axis_launch_check(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    return bf_cuda_launch(cuda, check_offsets, shape_of_check(p), p);
}

cudaError_t bf_cuda_axis_launch_opening(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    return bf_cuda_launch(cuda, open_segments, shape_of_check(p), p);
}

cudaError_t bf_cuda_axis_launch_report(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    const bf_cuda_shape shape = {1, 1, 0, true, false};
    return bf_cuda_launch(cuda, report_wrong, shape, p);
}
