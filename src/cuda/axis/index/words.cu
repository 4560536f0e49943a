/* Results in the words of a state: of slots and pieces that are marked, or of all; and of giants.
 */
#include "cuda/axis/index/slots.cuh"

namespace {

enum { THREADS = BF_CUDA_INDEX_THREADS, BLOCKS = 2 /* a multiprocessor */ };

__device__ __forceinline__ uint64_t load(const bf_cuda_index_params &p, const void *from,
                                         int64_t i) {
    switch (p.bytes) {
    case 1: return ((const uint8_t *)from)[i];
    case 2: return ((const uint16_t *)from)[i];
    case 4: return ((const uint32_t *)from)[i];
    default: return ((const uint64_t *)from)[i];
    }
}

__device__ void take_rows(const bf_cuda_index_params &p, const bf_cuda_index_task &t,
                          int64_t column, int64_t *words) {
    const bf_sum_shape shape = bf_sum_shape_of(p.kind, p.dtype);
    for (int k = 0; k < p.words; k++) words[k] = 0;
    for (uint32_t i = t.begin; i < t.end; i++) {
        int64_t at = bf_cuda_index_row(p.order, i) * p.width + column;
        uint64_t x = load(p, p.a, at);
        if (shape.sum.limbs > 0)
            bf_sum_take(p.dtype, &shape, words, x);
        else
            bf_sum_take_pair(p.dtype, &shape, words, x, p.b != nullptr ? load(p, p.b, at) : x);
    }
}

__global__ void __launch_bounds__(THREADS)
    reduce_marked(const __grid_constant__ bf_cuda_index_params p) {
    if (p.marks != nullptr && p.board->marked == 0) return;
    const uint64_t giants = p.board->giants;
    const int64_t end = (p.order.slots + (uint32_t)giants) * p.width;
    const int64_t columns = p.width / p.lanes; /* that share a mark */
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < end;
         i += (int64_t)gridDim.x * THREADS) {
        bf_cuda_index_task t;
        int64_t number = i / p.width, column = i % p.width;
        int64_t mark = number * p.lanes + column / columns;
        if (p.marks != nullptr && (p.marks[mark / 32] >> (mark % 32) & 1) == 0) continue;
        if (!bf_cuda_index_find(p.order, giants, number, &t)) continue;
        bf_work *work;
        int64_t *words = bf_cuda_index_thread_words(p, &work);
        take_rows(p, t, column, words);
        if (!t.piece && p.states.counts == nullptr) {
            bf_cuda_index_finish(p, t.slot * p.width + column, words, work);
            continue;
        }
        bf_cuda_index_target to(p, t, column);
        if (p.states.counts == nullptr) bf_sum_carry(p.kind, p.dtype, words);
        for (int k = 0; k < p.words; k++)
            if (words[k] != 0) to.add(k, words[k]);
    }
}

/* --- products --- */

__global__ void __launch_bounds__(THREADS)
    gather_rows(const __grid_constant__ bf_cuda_index_params p, char *to) {
    const int64_t end = p.order.n * p.width;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < end;
         i += (int64_t)gridDim.x * THREADS) {
        int64_t row = bf_cuda_index_row(p.order, (uint32_t)(i / p.width));
        uint64_t x = load(p, p.a, row * p.width + i % p.width);
        switch (p.bytes) {
        case 1: ((uint8_t *)to)[i] = (uint8_t)x; break;
        case 2: ((uint16_t *)to)[i] = (uint16_t)x; break;
        case 4: ((uint32_t *)to)[i] = (uint32_t)x; break;
        default: ((uint64_t *)to)[i] = x;
        }
    }
}

/* --- giants --- */

__global__ void __launch_bounds__(THREADS)
    clear_giants(const __grid_constant__ bf_cuda_index_params p) {
    const int64_t end = (int64_t)(p.board->giants >> 32) * p.width * p.words;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < end;
         i += (int64_t)gridDim.x * THREADS) {
        bool counts = p.kind != BF_KIND_EXTREME || i % p.words == 2; /* NaNs */
        p.pool[i] = counts ? 0 : INT64_MAX;
    }
}

__global__ void __launch_bounds__(THREADS)
    finish_giants(const __grid_constant__ bf_cuda_index_params p) {
    const int64_t end = (int64_t)(p.board->giants >> 32) * p.width;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < end;
         i += (int64_t)gridDim.x * THREADS) {
        int64_t slot = p.order.giants[i / p.width].slot, r = slot * p.width + i % p.width;
        int64_t *words = p.pool + i * p.words;
        if (p.kind == BF_KIND_EXTREME) {
            uint32_t rows = p.order.offsets[slot + 1] - p.order.offsets[slot];
            bf_cuda_index_finish_extreme(p, r, rows, *(const bf_cuda_index_extreme *)words);
            continue;
        }
        bf_work *work;
        (void)bf_cuda_index_thread_words(p, &work);
        bf_cuda_index_finish(p, r, words, work);
    }
}

} // namespace

int64_t bf_cuda_index_word_blocks(const bf_cuda *cuda) {
    return (int64_t)BLOCKS * cuda->multiprocessors;
}

size_t bf_cuda_index_words_bytes(const bf_cuda *cuda, int words) {
    size_t each = (size_t)words + (sizeof(bf_work) + 7) / 8;
    return (size_t)bf_cuda_index_word_blocks(cuda) * THREADS * each * sizeof(int64_t);
}

cudaError_t bf_cuda_index_gather(const bf_cuda *cuda, const bf_cuda_index_params &p, void *to) {
    gather_rows<<<(unsigned)cuda->multiprocessors * 8, THREADS, 0, cuda->stream>>>(p, (char *)to);
    return cudaGetLastError();
}

cudaError_t bf_cuda_index_clear_giants(const bf_cuda *cuda, const bf_cuda_index_params &p) {
    clear_giants<<<(unsigned)bf_cuda_index_word_blocks(cuda), THREADS, 0, cuda->stream>>>(p);
    return cudaGetLastError();
}

cudaError_t bf_cuda_index_reduce_marked(const bf_cuda *cuda, const bf_cuda_index_params &p) {
    reduce_marked<<<(unsigned)bf_cuda_index_word_blocks(cuda), THREADS, 0, cuda->stream>>>(p);
    return cudaGetLastError();
}

cudaError_t bf_cuda_index_finish_giants(const bf_cuda *cuda, const bf_cuda_index_params &p) {
    finish_giants<<<(unsigned)bf_cuda_index_word_blocks(cuda), THREADS, 0, cuda->stream>>>(p);
    return cudaGetLastError();
}
