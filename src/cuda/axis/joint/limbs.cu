/* Results that fit no window, and those of integers of 64 bits, in limbs: a block takes units of
 * the elements of one, in columns for each lane, or short ones, each in a lane's column. */
#include "cuda/axis/joint/joint.cuh"

#include "cuda/reduce/joint/limbs.cuh"
#include "cuda/runtime/element.cuh"
#include "cuda/runtime/launch.cuh"

namespace {

enum { LIST_THREADS = 256, LIMBS_THREADS = 512, LIMBS_WARPS = LIMBS_THREADS / BF_CUDA_WARP };
static_assert(BF_CUDA_JOINT_PENDING == (int)BF_CUDA_WARP, "a short result for each lane");

/* Lists short results that are marked, and the units of others. A long one has several, if there is
 * a slot. */
__global__ void __launch_bounds__(LIST_THREADS)
    list_units(const __grid_constant__ bf_cuda_joint_params q) {
    if (bf_cuda_axis_is_wrong(q.axis)) return;
    for (const int64_t i : bf_cuda_indices<LIST_THREADS>(q.end - q.first)) {
        const int64_t r = q.first + i;
        if (!bf_cuda_joint_has(q.marks, i)) continue;
        const int64_t length = bf_cuda_axis_line_of(q.axis.at, r).length;
        if (length <= BF_CUDA_JOINT_SHORT) {
            q.shorts[atomicAdd(&q.board->shorts, 1ull)] = r;
            continue;
        }
        int64_t units = 1;
        int slot = -1;
        if (length > BF_CUDA_JOINT_GIANT) {
            const unsigned next = atomicAdd(&q.board->slots, 1u);
            if (next < BF_CUDA_JOINT_SLOTS) {
                slot = (int)next;
                units = (length - 1) / BF_CUDA_JOINT_GIANT + 1;
            }
        }
        bf_cuda_joint_unit *to = q.units + atomicAdd(&q.board->units, (unsigned long long)units);
        for (int64_t k = 0; k < units; k++) {
            const int64_t from = k * BF_CUDA_JOINT_GIANT;
            to[k] = {r, from, slot < 0 ? length : min(from + BF_CUDA_JOINT_GIANT, length), slot,
                     (int)units};
        }
    }
}

/* The words of results whose elements have all been added, which a block then makes. */
struct desk {
    int64_t *words[BF_CUDA_JOINT_PENDING];
    int64_t r[BF_CUDA_JOINT_PENDING];
    int count;
};

struct block {
    const bf_cuda_joint_params &q;
    const bf_parts parts;
    desk *d;
    unsigned *columns;

    __device__ int64_t *words_of(int64_t number) const {
        return q.words + number * bf_cuda_joint_words(parts);
    }
    /* Number k of the block's own. */
    __device__ int64_t *own(int k) const {
        return words_of(BF_CUDA_JOINT_SLOTS + (int64_t)blockIdx.x * BF_CUDA_JOINT_PENDING + k);
    }
    template <bf_kind Kind>
    __device__ void take_kind(bf_cuda_joint_limbs &limbs, int64_t r, int64_t from, int64_t to,
                              int64_t step) const {
        const bf_cuda_axis_params &p = q.axis;
        const bf_cuda_axis_line line = bf_cuda_axis_line_of(p.at, r);
        for (int64_t i = from; i < to; i += step) {
            const int64_t a = line.a + bf_cuda_axis_element(p.at, 0, i);
            const int64_t b = line.b + bf_cuda_axis_element(p.at, 1, i);
            limbs.take<Kind>(p.dtype, bf_cuda_element::load_bits(p.a, p.element, a),
                             p.b != nullptr ? bf_cuda_element::load_bits(p.b, p.element, b) : 0);
        }
    }
    /* Takes elements `from`, from + step and so on below `to` of a result. */
    __device__ __noinline__ void take(bf_cuda_joint_limbs *limbs, int64_t r, int64_t from,
                                      int64_t to, int64_t step) const {
        bf_cuda_joint_limbs mine = *limbs;
        switch (q.axis.kind) {
        case BF_KIND_POWERS: take_kind<BF_KIND_POWERS>(mine, r, from, to, step); break;
        case BF_KIND_COMOMENTS: take_kind<BF_KIND_COMOMENTS>(mine, r, from, to, step); break;
        default: take_kind<BF_KIND_WEIGHTED>(mine, r, from, to, step);
        }
        *limbs = mine;
    }
    __device__ void take_unit(const bf_cuda_joint_unit &u, int64_t *words) const {
        bf_cuda_joint_limbs limbs;
        limbs.open(parts, columns);
        bf_cuda_joint_limbs_clear(parts, columns);
        __syncthreads();
        take(&limbs, u.r, u.from + threadIdx.x, u.to, LIMBS_THREADS);
        __syncthreads();
        limbs.add_counters(words);
        bf_cuda_joint_limbs_fold(parts, columns, words);
        __threadfence();
        __syncthreads();
    }
    /* A result for each lane, of whose elements each warp takes some. */
    __device__ void take_shorts(int64_t first, int64_t count) const {
        const int lane = (int)threadIdx.x % BF_CUDA_WARP, warp = (int)threadIdx.x / BF_CUDA_WARP;
        const bool is_one = first + lane < count;
        const int64_t r = is_one ? q.shorts[first + lane] : 0;
        bf_cuda_joint_limbs limbs;
        limbs.open(parts, columns);
        bf_cuda_joint_limbs_clear(parts, columns);
        __syncthreads();
        if (is_one) {
            take(&limbs, r, warp, bf_cuda_axis_line_of(q.axis.at, r).length, LIMBS_WARPS);
            limbs.add_counters(own(lane));
            if (warp == 0) d->words[lane] = own(lane);
            if (warp == 0) d->r[lane] = r;
        }
        __syncthreads();
        if (is_one)
            bf_cuda_joint_limbs_each(parts, warp, LIMBS_WARPS, [&](int number, int word) {
                own(lane)[word] =
                    (int64_t)columns[number * BF_CUDA_WARP + lane] - BF_CUDA_LIMB_MIDDLE;
            });
        if (threadIdx.x == 0) d->count = (int)min(count - first, (int64_t)BF_CUDA_WARP);
        __syncthreads();
    }
    /* By one thread: are the elements of a result all there? */
    __device__ bool is_last(const bf_cuda_joint_unit &u, int64_t *words) const {
        if (u.slot < 0) return true;
        const bool last = atomicAdd((unsigned long long *)&words[parts.words], 1ull) ==
                          (unsigned long long)u.units - 1;
        __threadfence();
        return last;
    }
    /* Is a result of these words proven? */
    __device__ bool prove(int64_t r, const int64_t *words) const {
        bf_cuda_estimate sum[BF_PARTS_MOST];
        if (words[BF_SUM_POS_INF] + words[BF_SUM_NEG_INF] + words[BF_SUM_INVALID] > 0) return false;
        if (words[BF_SUM_NAN] > 0 && q.axis.nan != BF_NAN_SKIP) return false;
        for (int i = 0; i < parts.count; i++) {
            const bf_part &part = parts.part[i];
            bool negative;
            const bf_leading x = bf_leading_from_band(words + part.at, part.layout.limbs,
                                                      part.layout.exponent, &negative);
            sum[i] = bf_cuda_estimates::of_leading(x, negative);
        }
        const int64_t n = bf_finish_count(words);
        switch (q.axis.kind) {
        case BF_KIND_POWERS: return bf_cuda_joint_prove<BF_KIND_POWERS>(q.axis, r, n, sum);
        case BF_KIND_COMOMENTS: return bf_cuda_joint_prove<BF_KIND_COMOMENTS>(q.axis, r, n, sum);
        default: return bf_cuda_joint_prove<BF_KIND_WEIGHTED>(q.axis, r, n, sum);
        }
    }
    __device__ __noinline__ void finish(int k) const {
        int64_t *words = d->words[k];
        const bf_cuda_axis_params &p = q.axis;
        words[BF_SUM_COUNT] = bf_cuda_axis_line_of(p.at, d->r[k]).length;
        if (prove(d->r[k], words)) return;
        bf_sum_carry(p.kind, p.dtype, words);
        const bf_joint_sums sums = {p.dtype, &parts, words};
        const int64_t thread = (int64_t)blockIdx.x * BF_CUDA_JOINT_PENDING + k;
        bf_cuda_joint_write(p, d->r[k], sums, q.numbers + thread * BF_JOINT_ROOM);
    }
    /* Makes the results on the desk, and clears the words. */
    __device__ void finish_all() const {
        constexpr int each = LIMBS_THREADS / BF_CUDA_JOINT_PENDING;
        const int k = (int)threadIdx.x / each;
        if (threadIdx.x % each == 0 && k < d->count) finish(k);
        __syncthreads();
        for (int i = 0; i < d->count; i++)
            for (int w = (int)threadIdx.x; w < bf_cuda_joint_words(parts); w += LIMBS_THREADS)
                d->words[i][w] = 0;
        __syncthreads();
        if (threadIdx.x == 0) d->count = 0;
        __syncthreads();
    }
};

__global__ void __launch_bounds__(LIMBS_THREADS, BF_CUDA_JOINT_LIMBS_BLOCKS)
    take_units(const __grid_constant__ bf_cuda_joint_params q) {
    extern __shared__ unsigned columns[];
    __shared__ desk d;
    if (bf_cuda_axis_is_wrong(q.axis)) return;
    const block b = {q, bf_parts_of(q.axis.kind, q.axis.dtype), &d, columns};
    const int64_t count = (int64_t)q.board->units;
    if (threadIdx.x == 0) d.count = 0;
    __syncthreads();
    for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
        const bf_cuda_joint_unit u = q.units[i];
        int64_t *words = u.slot >= 0 ? b.words_of(u.slot) : b.own(d.count);
        b.take_unit(u, words);
        if (threadIdx.x == 0 && b.is_last(u, words)) {
            d.words[d.count] = words;
            d.r[d.count++] = u.r;
        }
        __syncthreads();
        if (d.count == BF_CUDA_JOINT_PENDING) b.finish_all();
    }
    b.finish_all();
    const int64_t shorts = (int64_t)q.board->shorts;
    for (int64_t i = blockIdx.x * (int64_t)BF_CUDA_WARP; i < shorts;
         i += gridDim.x * (int64_t)BF_CUDA_WARP) {
        b.take_shorts(i, shorts);
        b.finish_all();
    }
}

} // namespace

cudaError_t bf_cuda_joint_launch_limbs(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, q.end - q.first, LIST_THREADS), LIST_THREADS,
                                 0, false, false};
    const bf_parts parts = bf_parts_of(q.axis.kind, q.axis.dtype);
    const bf_cuda_shape units = {q.blocks, LIMBS_THREADS, bf_cuda_joint_limbs_bytes(parts), false,
                                 false};
    const cudaError_t error = bf_cuda_launch(cuda, list_units, shape, q);
    return error == cudaSuccess ? bf_cuda_launch(cuda, take_units, units, q) : error;
}
