/* Results of floats of any exponents, of few elements each, in registers: those that are marked.
 * Sums are found by sums.cuh, variances and sums of squares by spreads.cuh. */
#include "cuda/axis/exact/settle.cuh"
#include "cuda/axis/exact/spreads.cuh"
#include "cuda/axis/exact/sums.cuh"

namespace {

enum {
    SETTLE_THREADS = 256,
    SETTLE_BLOCKS = 4, /* a multiprocessor has so many */
    WORDS = 8,         /* words of marks whose results a warp takes together, at most */
    LANE_SHARE = 16    /* elements of a lane, at least */
};

/* Lists the marked results of some words, of which each of the first lanes has one, from result
 * `first` on, and takes their marks; longer results stay marked. Returns how many there are. */
__device__ int list_marked(const bf_cuda_axis_params &p, int64_t first, int each, unsigned words,
                           unsigned char *list) {
    const int64_t most = bf_cuda_axis_settled(p.kind);
    const int thread = (int)threadIdx.x % BF_CUDA_WARP;
    int count = 0;
    for (int k = 0; k < each; k++) {
        const unsigned word = __shfl_sync(~0u, words, k);
        if (word == 0) continue;
        const int64_t r = first + k * 32 + thread;
        const bool mine = (word >> thread & 1) != 0;
        const bool settles = mine && bf_cuda_axis_line_of(p.at, r).length <= most;
        const unsigned taken = __ballot_sync(~0u, settles);
        if (settles)
            list[count + __popc(taken & ((1u << thread) - 1))] = (unsigned char)(k * 32 + thread);
        count += __popc(taken);
        if (thread == 0) p.marks[r / 32] = word & ~taken;
        if (thread == 0 && word != taken) bf_cuda_axis_raise(&p.board->left);
    }
    __syncwarp();
    return count;
}

/* Way: descent or spread. */
template <class Way>
__global__ void __launch_bounds__(SETTLE_THREADS, SETTLE_BLOCKS)
    settle_marked(const __grid_constant__ bf_cuda_axis_params p, int size, int each) {
    __shared__ unsigned char lists[SETTLE_THREADS / BF_CUDA_WARP][WORDS * 32];
    bf_cuda_wait_for_previous();
    if (p.report != nullptr && blockIdx.x + threadIdx.x == 0) *p.report = (int64_t)p.board->wrong;
    if (p.board->failed == 0) return;
    const group lanes(size);
    const int thread = (int)threadIdx.x % BF_CUDA_WARP, groups = BF_CUDA_WARP / size;
    unsigned char *list = lists[threadIdx.x / BF_CUDA_WARP];
    const int64_t words = (p.at.results - 1) / 32 + 1,
                  warps = (int64_t)gridDim.x * SETTLE_THREADS / 32;
    int64_t first = ((int64_t)blockIdx.x * SETTLE_THREADS + threadIdx.x) / 32 * each;
    const auto marks_at = [&](int64_t at) {
        return thread < each && at + thread < words ? p.marks[at + thread] : 0;
    };
    unsigned next = marks_at(first);
    for (; first < words; first += warps * each) {
        const unsigned mine = next;
        next = marks_at(first + warps * each);
        if (!__any_sync(~0u, mine != 0)) continue;
        const int count = list_marked(p, first * 32, each, mine, list);
        for (int k = thread / size; k < count; k += groups) {
            const int64_t r = first * 32 + list[k];
            Way(p, bf_cuda_axis_line_of(p.at, r), lanes).write(r);
        }
        __syncwarp();
    }
}

/* All sums, whether or not they are marked. */
template <class C>
__global__ void __launch_bounds__(SETTLE_THREADS, SETTLE_BLOCKS)
    settle_all(const __grid_constant__ bf_cuda_axis_params p, int size) {
    bf_cuda_wait_for_previous();
    const group lanes(size);
    const int64_t groups = (int64_t)gridDim.x * (SETTLE_THREADS / size);
    int64_t r = ((int64_t)blockIdx.x * SETTLE_THREADS + threadIdx.x) / size;
    for (; r < p.at.results; r += groups) {
        descent<elements<C>>(p, bf_cuda_axis_line_of(p.at, r), lanes).write(r);
    }
}

template <class C> const void *kernel_of(bf_kind kind) {
    return kind == BF_KIND_SUM   ? (const void *)settle_marked<descent<elements<C>>>
           : kind == BF_KIND_DOT ? (const void *)settle_marked<descent<products<C>>>
                                 : (const void *)settle_marked<spread<C>>;
}
const void *kernel_of(const bf_cuda_axis_params &p) {
    if (p.element == 8) return kernel_of<bf_cuda_axis_floats_of<8>>(p.kind);
    return p.element == 4 ? kernel_of<bf_cuda_axis_floats_of<4>>(p.kind)
                          : kernel_of<bf_cuda_axis_floats_of<2>>(p.kind);
}

const void *kernel_of_all(const bf_cuda_axis_params &p) {
    if (p.element == 8) return (const void *)settle_all<bf_cuda_axis_floats_of<8>>;
    return p.element == 4 ? (const void *)settle_all<bf_cuda_axis_floats_of<4>>
                          : (const void *)settle_all<bf_cuda_axis_floats_of<2>>;
}

/* How many lanes share a result: few, but where there are few results, or their elements
 * neighbours. */
int lanes_of(const bf_cuda *cuda, const bf_cuda_axis_layout &at) {
    const bool many = at.results >= (int64_t)cuda->multiprocessors * SETTLE_THREADS;
    const int64_t length = bf_cuda_axis_mean(at);
    int lanes = 1;
    if (many && !bf_cuda_axis_is_along(at)) return lanes;
    while (lanes < BF_CUDA_WARP && length >= 2 * LANE_SHARE * lanes) lanes *= 2;
    return lanes;
}

} // namespace

cudaError_t bf_cuda_axis_launch_settle(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    bf_cuda_shape shape = {1, SETTLE_THREADS, 0, true, false};
    const void *kernel = kernel_of(p);
    int resident = 1, lanes = lanes_of(cuda, p.at); /* if it fails, the launch does too */
    (void)bf_cuda_occupancy(cuda, kernel, shape, &resident);
    shape.blocks = (int64_t)resident * cuda->multiprocessors;
    const int64_t share = p.at.results / (shape.blocks * SETTLE_THREADS); /* words of a warp */
    int each = share < 1 ? 1 : share < WORDS ? (int)share : WORDS;
    bf_cuda_axis_params q = p;
    void *arguments[] = {&q, &lanes, &each};
    return bf_cuda_launch(cuda, kernel, shape, arguments);
}

cudaError_t bf_cuda_axis_launch_settle_all(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    int lanes = lanes_of(cuda, p.at);
    const int64_t blocks = (p.at.results * lanes + SETTLE_THREADS - 1) / SETTLE_THREADS;
    const bf_cuda_shape shape = {blocks, SETTLE_THREADS, 0, true, false};
    bf_cuda_axis_params q = p;
    void *arguments[] = {&q, &lanes};
    return bf_cuda_launch(cuda, kernel_of_all(p), shape, arguments);
}
