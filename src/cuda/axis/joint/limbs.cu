/* Results that fit no window, and those of integers of 64 bits: a block takes units of their
 * elements in limbs. */
#include "cuda/axis/joint/joint.cuh"

#include "cuda/reduce/joint/limbs.cuh"
#include "cuda/runtime/element.cuh"
#include "cuda/runtime/launch.cuh"

namespace {

enum { LIST_THREADS = 256, LIMBS_THREADS = 512 };

/* Lists the units of all results that are marked. A long one has several, if there is a slot. */
__global__ void __launch_bounds__(LIST_THREADS)
    list_units(const __grid_constant__ bf_cuda_joint_params q) {
    if (bf_cuda_axis_is_wrong(q.axis)) return;
    for (const int64_t i : bf_cuda_indices<LIST_THREADS>(q.end - q.first)) {
        const int64_t r = q.first + i;
        if (!bf_cuda_joint_has(q.marks, i)) continue;
        const int64_t length = bf_cuda_axis_line_of(q.axis.at, r).length;
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
    __device__ void take(const bf_cuda_joint_unit &u, int64_t *words) const {
        const bf_cuda_axis_params &p = q.axis;
        const bf_cuda_axis_line line = bf_cuda_axis_line_of(p.at, u.r);
        bf_cuda_joint_limbs limbs;
        limbs.open(parts, columns);
        bf_cuda_joint_limbs_clear(parts, columns);
        __syncthreads();
        for (int64_t i = u.from + threadIdx.x; i < u.to; i += LIMBS_THREADS) {
            const int64_t a = line.a + bf_cuda_axis_element(p.at, 0, i);
            const int64_t b = line.b + bf_cuda_axis_element(p.at, 1, i);
            limbs.take<Kind>(p.dtype, bf_cuda_element::load_bits(p.a, p.element, a),
                             p.b != nullptr ? bf_cuda_element::load_bits(p.b, p.element, b) : 0);
        }
        __syncthreads();
        limbs.add_counters(words);
        bf_cuda_joint_limbs_fold(parts, columns, words);
        __threadfence();
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
    __device__ void finish(int k) const {
        int64_t *words = d->words[k];
        const bf_cuda_axis_params &p = q.axis;
        words[BF_SUM_COUNT] = bf_cuda_axis_line_of(p.at, d->r[k]).length;
        bf_sum_carry(p.kind, p.dtype, words);
        const bf_joint_sums sums = {p.dtype, &parts, words};
        const int64_t thread = (int64_t)blockIdx.x * BF_CUDA_JOINT_PENDING + k;
        bf_cuda_joint_write(p, d->r[k], sums, q.numbers + thread * BF_JOINT_ROOM);
    }
    /* Makes the results on the desk, each by a thread of another warp, and clears the words. */
    __device__ void finish_all() const {
        const int k = (int)threadIdx.x / BF_CUDA_WARP;
        if (threadIdx.x % BF_CUDA_WARP == 0 && k < d->count) finish(k);
        __syncthreads();
        for (int i = 0; i < d->count; i++)
            for (int w = (int)threadIdx.x; w < bf_cuda_joint_words(parts); w += LIMBS_THREADS)
                d->words[i][w] = 0;
        __syncthreads();
        if (threadIdx.x == 0) d->count = 0;
        __syncthreads();
    }
};

template <bf_kind Kind>
__global__ void __launch_bounds__(LIMBS_THREADS, BF_CUDA_JOINT_LIMBS_BLOCKS)
    take_units(const __grid_constant__ bf_cuda_joint_params q) {
    extern __shared__ unsigned columns[];
    __shared__ desk d;
    if (bf_cuda_axis_is_wrong(q.axis)) return;
    const block b = {q, bf_parts_of(Kind, q.axis.dtype), &d, columns};
    const int64_t count = (int64_t)q.board->units;
    if (threadIdx.x == 0) d.count = 0;
    __syncthreads();
    for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
        const bf_cuda_joint_unit u = q.units[i];
        int64_t *words = u.slot >= 0 ? b.words_of(u.slot) : b.own(d.count);
        b.take<Kind>(u, words);
        if (threadIdx.x == 0 && b.is_last(u, words)) {
            d.words[d.count] = words;
            d.r[d.count++] = u.r;
        }
        __syncthreads();
        if (d.count == BF_CUDA_JOINT_PENDING) b.finish_all();
    }
    b.finish_all();
}

template <bf_kind Kind> cudaError_t launch_of(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    const bf_parts parts = bf_parts_of(Kind, q.axis.dtype);
    const bf_cuda_shape shape = {(int64_t)BF_CUDA_JOINT_LIMBS_BLOCKS * cuda->multiprocessors,
                                 LIMBS_THREADS, bf_cuda_joint_limbs_bytes(parts), false, false};
    return bf_cuda_launch(cuda, take_units<Kind>, shape, q);
}

} // namespace

cudaError_t bf_cuda_joint_launch_limbs(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, q.end - q.first, LIST_THREADS), LIST_THREADS,
                                 0, false, false};
    const cudaError_t error = bf_cuda_launch(cuda, list_units, shape, q);
    if (error != cudaSuccess) return error;
    switch (q.axis.kind) {
    case BF_KIND_POWERS: return launch_of<BF_KIND_POWERS>(cuda, q);
    case BF_KIND_COMOMENTS: return launch_of<BF_KIND_COMOMENTS>(cuda, q);
    default: return launch_of<BF_KIND_WEIGHTED>(cuda, q);
    }
}
