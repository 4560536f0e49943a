/* Results in limbs, which take every exponent: of slots and pieces that are marked, or of all; and
 * of giants. */
#include "cuda/axis/index/slots.cuh"
#include "cuda/reduce/sum_limbs.cuh"

namespace {

/* --- sums in limbs --- */

/* Sums of elements or of their products. D: BF_NONE, or their dtype. */
template <bf_dtype D> struct limb_sums : bf_cuda_limb_sums {
    static __device__ __forceinline__ bf_dtype dtype(const bf_cuda_index_params &p) {
        return D == BF_NONE ? p.dtype : D;
    }
    static __device__ __forceinline__ uint64_t load(const bf_cuda_index_params &p, const void *from,
                                                    int64_t at) {
        if (D == BF_F64) return ((const uint64_t *)from)[at];
        if (D == BF_F32) return ((const uint32_t *)from)[at];
        return bf_cuda_element::load_bits(from, p.bytes, at);
    }
    __device__ __forceinline__ void open(const bf_cuda_index_params &p) {
        extern __shared__ unsigned lane_limbs[];
        start(p.kind, dtype(p), bf_cuda_shared_address(lane_limbs + threadIdx.x),
              4 * BF_CUDA_INDEX_THREADS);
        for (int i = 0; i < limbs(); i++)
            bf_cuda_shared_store(sum.at + (unsigned)i * sum.step, BF_CUDA_LIMB_MIDDLE);
    }
    /* Takes bits x, which lie there. */
    __device__ __forceinline__ void take(const bf_cuda_index_params &p, uint64_t x, int64_t at) {
        bf_cuda_limb_sums::take(p.kind, dtype(p), x, p.kind == BF_KIND_DOT ? load(p, p.b, at) : x);
    }
    __device__ __forceinline__ void finish(const bf_cuda_index_params &p, int64_t r,
                                           uint32_t rows) const {
        const int64_t counts[BF_SUM_LIMBS] = {rows, nans, pos_infs, neg_infs, invalid, neg_zeros};
        const bool error = p.options.nan == BF_NAN_ERROR && nans > 0;
        uint64_t bits;
        if (error)
            bf_cuda_index_fail(p, r, BF_CUDA_AXIS_NAN);
        else if (bf_dtype_is_float(p.to) && bf_cuda_axis_round_sums(
                                                bf_cuda_index_asked(p), counts,
                                                [&](bool of_products, bool *negative) {
                                                    return leading(of_products, negative);
                                                },
                                                &bits))
            bf_cuda_index_write(p, r, bits, true);
        else
            finish_words(p, r, counts);
    }
    __device__ __forceinline__ void finish_words(const bf_cuda_index_params &p, int64_t r,
                                                 const int64_t *counts) const {
        bf_work *work;
        int64_t *words = bf_cuda_index_thread_words(p, &work);
        for (int k = 0; k < p.words; k++) words[k] = k < BF_SUM_LIMBS ? counts[k] : 0;
        each_limb([&](int k, int64_t value) { words[k] = value; });
        bf_cuda_index_finish(p, r, words, work);
    }
    __device__ __forceinline__ void add(uint32_t rows, const bf_cuda_index_target &to) const {
        const int64_t counts[BF_SUM_LIMBS] = {rows, nans, pos_infs, neg_infs, invalid, neg_zeros};
#pragma unroll
        for (int k = 0; k < BF_SUM_LIMBS; k++)
            if (counts[k] != 0) to.add(k, counts[k]);
        each_limb([&](int k, int64_t value) {
            if (value != 0) to.add(k, value);
        });
    }
};

/* Sums of f32 in limbs of 64 bits, 32 apart, of which a term changes one. Nothing is carried until
 * there are as many terms as a limb has room for. */
struct wide_sums : limb_sums<BF_F32> {
    enum { STEP = 8 * BF_CUDA_INDEX_THREADS, TERMS = 128 };
    unsigned terms;

    __device__ __forceinline__ void open(const bf_cuda_index_params &) {
        extern __shared__ unsigned lane_limbs[];
        start(BF_KIND_SUM, BF_F32, bf_cuda_shared_address(lane_limbs + 2 * threadIdx.x), STEP);
        for (int i = 0; i < limbs(); i++) bf_cuda_shared_store(sum.at + i * STEP, (int64_t)0);
        terms = 0;
    }
    __device__ __forceinline__ void take(const bf_cuda_index_params &, uint64_t x64, int64_t) {
        const unsigned bits = (unsigned)x64, field = bits >> 23 & 255, normal = min(field, 1u);
        if (field == 255) {
            count(bf_sum_special(bf_format_of(BF_F32), bits));
            return;
        }
        neg_zeros += bits == 1u << 31;
        const unsigned position = field - normal, at = sum.at + (position >> 5) * STEP;
        const int64_t x = (int64_t)((bits & ((1u << 23) - 1)) | normal << 23) << (position & 31);
        bf_cuda_shared_store(at, bf_cuda_shared_load_i64(at) + ((int32_t)bits < 0 ? -x : x));
        if (++terms == TERMS) carry(0);
    }
    /* Makes each limb one of 32 bits with a sign, plus `more`. */
    __device__ __noinline__ void carry(int64_t more) {
        int64_t up = 0;
        for (int i = 0; i < limbs(); i++) {
            const int64_t x = bf_cuda_shared_load_i64(sum.at + i * STEP) + up, digit = (int32_t)x;
            up = (x - digit) >> 32;
            bf_cuda_shared_store(sum.at + i * STEP, digit + more);
        }
        terms = 0;
    }
    __device__ __forceinline__ void finish(const bf_cuda_index_params &p, int64_t r,
                                           uint32_t rows) {
        carry(BF_CUDA_LIMB_MIDDLE);
        limb_sums::finish(p, r, rows);
    }
    __device__ __forceinline__ void add(uint32_t rows, const bf_cuda_index_target &to) {
        carry(BF_CUDA_LIMB_MIDDLE);
        limb_sums::add(rows, to);
    }
};

bool takes_wide_sums(const bf_cuda_index_params &p) {
    return p.kind == BF_KIND_SUM && p.dtype == BF_F32;
}

/* Row numbers are loaded ahead of rows. */
template <class A>
__device__ __forceinline__ void reduce_task(const bf_cuda_index_params &p,
                                            const bf_cuda_index_task &t, int64_t column) {
    enum { AHEAD = 4 };
    A sums;
    sums.open(p);
    uint32_t next[AHEAD];
    const auto find_rows = [&](uint32_t i) {
#pragma unroll
        for (uint32_t k = 0; k < AHEAD; k++)
            next[k] = i + k < t.end ? bf_cuda_index_row(p.order, i + k) : 0;
    };
    find_rows(t.begin);
    for (uint32_t i = t.begin; i < t.end; i += AHEAD) {
        int64_t at[AHEAD];
        uint64_t x[AHEAD];
#pragma unroll
        for (uint32_t k = 0; k < AHEAD; k++) {
            at[k] = next[k] * p.width + column;
            x[k] = i + k < t.end ? A::load(p, p.a, at[k]) : 0;
        }
        find_rows(i + AHEAD);
#pragma unroll
        for (uint32_t k = 0; k < AHEAD; k++)
            if (i + k < t.end) sums.take(p, x[k], at[k]);
    }
    if (t.piece || p.states.counts != nullptr)
        sums.add(t.end - t.begin, bf_cuda_index_target(p, t, column));
    else
        sums.finish(p, t.slot * p.width + column, t.end - t.begin);
}

template <class A>
__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    reduce_marked(const __grid_constant__ bf_cuda_index_params p) {
    bf_cuda_wait_for_previous();
    if (p.marks != nullptr && p.board->marked == 0) return;
    const uint64_t giants = p.board->giants;
    const int64_t end = (p.order.slots + (uint32_t)giants) * p.width;
    const int64_t columns = p.width / p.lanes; /* so many share a mark */
    for (const int64_t i : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(end)) {
        bf_cuda_index_task t;
        int64_t column, rest;
        const int64_t number = bf_cuda_axis_divide(i, p.width, &column);
        const int64_t mark = number * p.lanes + bf_cuda_axis_divide(column, columns, &rest);
        const bool marked = p.marks == nullptr || (p.marks[mark / 32] >> (mark % 32) & 1) != 0;
        if (marked && bf_cuda_index_find(p.order, giants, number, &t)) reduce_task<A>(p, t, column);
    }
}

bf_cuda_index_kernel marked_kernel(const bf_cuda_index_params &p) {
    if (takes_wide_sums(p)) return reduce_marked<wide_sums>;
    if (p.dtype == BF_F64) return reduce_marked<limb_sums<BF_F64>>;
    return p.dtype == BF_F32 ? reduce_marked<limb_sums<BF_F32>> : reduce_marked<limb_sums<BF_NONE>>;
}

/* --- rows by slot --- */

__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    gather_rows(const __grid_constant__ bf_cuda_index_params p, const void *from, char *to) {
    const int64_t end = p.order.n * p.width;
    for (const int64_t i : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(end)) {
        int64_t row = bf_cuda_index_row(p.order, (uint32_t)(i / p.width));
        bf_cuda_element::store_bits(
            to, p.bytes, i, bf_cuda_element::load_bits(from, p.bytes, row * p.width + i % p.width));
    }
}

/* --- giants --- */

__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    clear_giants(const __grid_constant__ bf_cuda_index_params p) {
    bf_cuda_wait_for_previous();
    const int64_t giants = (int64_t)(p.board->giants >> 32) * bf_cuda_index_copies(p);
    const int64_t end = giants * p.width * p.words;
    for (const int64_t i : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(end)) {
        bool counts = p.kind != BF_KIND_EXTREME || i % p.words == 2; /* NaNs */
        p.pool[i] = counts ? 0 : INT64_MAX;
    }
}

/* Adds the copies of giants' words to the first ones. */
__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    merge_copies(const __grid_constant__ bf_cuda_index_params p) {
    bf_cuda_wait_for_previous();
    const int64_t copies = bf_cuda_index_copies(p), each = p.width * p.words;
    const int64_t end = (int64_t)(p.board->giants >> 32) * each;
    if (copies == 1) return;
    for (const int64_t i : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(end)) {
        int64_t *words = p.pool + i / each * copies * each + i % each, sum = 0;
#pragma unroll 8
        for (int64_t c = 0; c < copies; c++) sum += words[c * each];
        words[0] = sum;
    }
}

__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    finish_giants(const __grid_constant__ bf_cuda_index_params p) {
    bf_cuda_wait_for_previous();
    const int64_t end = (int64_t)(p.board->giants >> 32) * p.width;
    for (const int64_t i : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(end)) {
        int64_t slot = p.order.giants[i / p.width].slot, r = slot * p.width + i % p.width;
        int64_t *words =
            p.pool + (i / p.width * bf_cuda_index_copies(p) * p.width + i % p.width) * p.words;
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

cudaError_t launch_giants(const bf_cuda *cuda, bf_cuda_index_kernel kernel,
                          const bf_cuda_index_params &p) {
    bf_cuda_shape shape = {.blocks = bf_cuda_index_word_blocks(cuda, p),
                           .threads = BF_CUDA_INDEX_THREADS,
                           .overlaps = true};
    return bf_cuda_launch(cuda, kernel, shape, p);
}

} // namespace

/* Most results take registers alone, and many blocks. */
bool bf_cuda_index_takes_words(const bf_cuda_index_params &p) {
    return p.states.counts == NULL && (p.kind == BF_KIND_MOMENTS || !bf_dtype_is_float(p.to));
}

int64_t bf_cuda_index_word_blocks(const bf_cuda *cuda, const bf_cuda_index_params &p) {
    return (int64_t)(bf_cuda_index_takes_words(p) ? 2 : 8) * cuda->multiprocessors;
}

size_t bf_cuda_index_words_bytes(const bf_cuda *cuda, const bf_cuda_index_params &p) {
    size_t each = (size_t)p.words + (sizeof(bf_work) + 7) / 8;
    if (!bf_cuda_index_takes_words(p)) return 0;
    return (size_t)bf_cuda_index_word_blocks(cuda, p) * BF_CUDA_INDEX_THREADS * each *
           sizeof(int64_t);
}

cudaError_t bf_cuda_index_gather(const bf_cuda *cuda, const bf_cuda_index_params &p,
                                 const void *from, void *to) {
    gather_rows<<<(unsigned)cuda->multiprocessors * 8, BF_CUDA_INDEX_THREADS, 0, cuda->stream>>>(
        p, from, (char *)to);
    return cudaGetLastError();
}

cudaError_t bf_cuda_index_clear_giants(const bf_cuda *cuda, const bf_cuda_index_params &p) {
    return launch_giants(cuda, clear_giants, p);
}

cudaError_t bf_cuda_index_reduce_marked(const bf_cuda *cuda, const bf_cuda_index_params &p) {
    const bf_sum_shape shape = bf_sum_shape_of(p.kind, p.dtype);
    const int limbs = bf_cuda_limbs_of(shape.sum.limbs) + bf_cuda_limbs_of(shape.products.limbs);
    bf_cuda_shape launch = {.blocks = bf_cuda_index_word_blocks(cuda, p),
                            .threads = BF_CUDA_INDEX_THREADS,
                            .shared = (size_t)limbs * BF_CUDA_INDEX_THREADS *
                                      (takes_wide_sums(p) ? 8 : 4),
                            .overlaps = true};
    return bf_cuda_launch(cuda, marked_kernel(p), launch, p);
}

cudaError_t bf_cuda_index_merge_copies(const bf_cuda *cuda, const bf_cuda_index_params &p) {
    return launch_giants(cuda, merge_copies, p);
}

cudaError_t bf_cuda_index_finish_giants(const bf_cuda *cuda, const bf_cuda_index_params &p) {
    return launch_giants(cuda, finish_giants, p);
}
