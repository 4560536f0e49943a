/* Exact sums by exponent (cuda/reduce/sum_bins.cuh), for the few results of which some element does
 * not fit the windows. A warp computes one, or several warps a long one, in the words of a state.
 */
#include "cuda/axis/layout.cuh"
#include "cuda/axis/store.cuh"
#include "cuda/reduce/sum_bins.cuh"

#include "rules/reduce/element.h"

namespace {

struct desk {
    int64_t words[BF_SUM_WORDS_MAX + 4]; /* a carry of nothing may touch the last */
    bf_work work;
};

__host__ __device__ int bins_of(bf_layout layout) {
    return layout.limbs > 0 ? bf_cuda_bins_for(32 * layout.limbs) : 0;
}

__device__ void count_word(desk *d, int word) {
    atomicAdd((unsigned long long *)&d->words[word], 1ull);
}

/* The elements of a result as terms, in a table. */
struct terms {
    const bf_cuda_axis_params &p;
    bf_sum_shape shape;
    bf_format f;
    int64_t *sums, *products;
    int sum_bins, product_bins;
    desk *d;

    __device__ terms(const bf_cuda_axis_params &params, int64_t *table, desk *to)
        : p(params), shape(bf_sum_shape_of(params.kind, params.dtype)),
          f(bf_format_of(params.dtype)), sums(table), sum_bins(bins_of(shape.sum)),
          product_bins(bins_of(shape.products)), d(to) {
        products = sums + sum_bins * BF_CUDA_WARP;
    }
    __device__ bf_finite decode(uint64_t x) const {
        return bf_dtype_is_float(p.dtype) ? bf_decode(f, x) : bf_decode_integer(p.dtype, x);
    }
    __device__ int position(bf_layout layout, int at, int factors) const {
        return bf_dtype_is_float(p.dtype) ? bf_sum_position(f, layout, at, factors) : 0;
    }
    __device__ void add(int64_t *table, uint64_t magnitude, int at, bool negative) const {
        if (magnitude != 0) bf_cuda_bins_add(table, bf_cuda_bins_place(magnitude, at, negative));
    }
    __device__ void take(uint64_t x, uint64_t y) const {
        const bool pair = p.kind == BF_KIND_SQUARES || p.kind == BF_KIND_DOT;
        if (bf_dtype_is_float(p.dtype)) {
            const int special = pair ? bf_sum_special_pair(f, x, y) : bf_sum_special(f, x);
            if (special) {
                count_word(d, special);
                return;
            }
            const bool zero = pair ? bf_sum_neg_zero_pair(f, x, y) : bf_sum_neg_zero(f, x);
            if (zero && bf_sum_counts_zeros(p.kind, p.dtype)) count_word(d, BF_SUM_NEG_ZERO);
        }
        const bf_finite u = decode(x), v = decode(y);
        if (sum_bins > 0) add(sums, u.magnitude, position(shape.sum, u.position, 1), u.negative);
        if (product_bins == 0) return;
        const int at = position(shape.products, u.position + v.position, 2);
        const bool negative = u.negative != v.negative;
        add(products, u.magnitude * v.magnitude, at, negative);
        add(products, __umul64hi(u.magnitude, v.magnitude), at + 64, negative);
    }
    __device__ uint64_t load(const void *from, int64_t at) const {
        const int bytes = bf_dtype_bytes(p.dtype);
        return bf_load_bits((const char *)from + at * bytes, bytes);
    }
    /* Adds elements [from, to) of a result to the words. */
    __device__ void absorb(const bf_cuda_axis_line &line, int64_t from, int64_t to) const {
        const int lane = (int)threadIdx.x;
        for (int64_t j = from + lane; j < to; j += BF_CUDA_WARP) {
            const uint64_t x = load(p.a, line.a + bf_cuda_axis_element(p.at, 0, j));
            take(x, p.b == nullptr ? x : load(p.b, line.b + bf_cuda_axis_element(p.at, 1, j)));
        }
        if (lane == 0) d->words[BF_SUM_COUNT] += to - from;
        bf_cuda_bins_fold(sums, sum_bins, d->words + shape.sum_at);
        bf_cuda_bins_fold(products, product_bins, d->words + shape.products_at);
    }
    __device__ void clear() const {
        __syncwarp();
        for (int i = (int)threadIdx.x; i < BF_SUM_WORDS_MAX + 4; i += BF_CUDA_WARP) d->words[i] = 0;
        __syncwarp();
    }
    /* From the words to the result. */
    __device__ void finish(int64_t r) const {
        __syncwarp();
        if (threadIdx.x != 0) return;
        bf_reduce_options o;
        memset(&o, 0, sizeof o);
        o.nan = p.nan;
        o.out_dtype = p.out_dtype;
        o.ddof = p.ddof;
        o.overflow = p.overflow;
        uint64_t bits = 0;
        bool fits = true;
        bf_sum_carry(p.kind, p.dtype, d->words);
        const bf_status status =
            bf_element_of_words(p.kind, p.op, p.dtype, d->words, &o, p.to, &bits, &fits, &d->work);
        if (status != BF_OK) bf_cuda_axis_fail(p, r, BF_CUDA_AXIS_NAN);
        bf_cuda_axis_store_fit(p, r, bits, fits);
        atomicAnd(&p.marks[r / 32], ~(1u << (r % 32)));
    }
    /* Adds the words to those of all warps that compute a result. The last of `pieces` finishes. */
    __device__ void merge(int64_t r, int64_t slot, int pieces) const {
        int64_t *all = p.words + slot * (BF_SUM_WORDS_MAX + 1);
        unsigned last = 0;
        for (int i = (int)threadIdx.x; i < shape.words; i += BF_CUDA_WARP)
            bf_cuda_limb_add(&all[i], d->words[i]);
        __threadfence();
        __syncwarp();
        if (threadIdx.x == 0)
            last = atomicAdd((unsigned long long *)&all[BF_SUM_WORDS_MAX], 1ull) ==
                   (unsigned long long)pieces - 1;
        if (!__shfl_sync(0xffffffffu, last, 0)) return;
        __threadfence();
        for (int i = (int)threadIdx.x; i < shape.words; i += BF_CUDA_WARP) {
            d->words[i] = __ldcg(&all[i]);
            all[i] = 0;
        }
        if (threadIdx.x == 0) all[BF_SUM_WORDS_MAX] = 0;
        finish(r);
    }
};

__device__ bool is_marked(const bf_cuda_axis_params &p, int64_t r) {
    return (*(volatile unsigned *)&p.marks[r / 32] >> (r % 32) & 1) != 0;
}

__device__ void compute_whole(const terms &t, int64_t r) {
    const bf_cuda_axis_line line = bf_cuda_axis_line_of(t.p.at, r);
    t.clear();
    t.absorb(line, 0, line.length);
    t.finish(r);
}

/* Results that one warp computes each. Those on the list are not among them, but for the last of
 * too many. */
__device__ void compute_short(const terms &t) {
    const bf_cuda_axis_params &p = t.p;
    const int64_t groups = (p.at.results + 31) / 32;
    for (int64_t g = blockIdx.x; g < groups; g += gridDim.x) {
        unsigned marks = *(volatile unsigned *)&p.marks[g];
        for (; marks != 0; marks &= marks - 1) {
            const int64_t r = 32 * g + __ffs((int)marks) - 1;
            if (p.at.offsets != nullptr && bf_cuda_axis_line_of(p.at, r).length > p.giant) continue;
            compute_whole(t, r);
        }
    }
}

/* Results of fibres that several warps compute each. */
__device__ void compute_long(const terms &t, int64_t pieces) {
    const bf_cuda_axis_params &p = t.p;
    for (int64_t u = blockIdx.x; u < p.at.results * pieces; u += gridDim.x) {
        const int64_t r = u / pieces, from = u % pieces * p.word_piece;
        if (!is_marked(p, r)) continue;
        const int64_t left = p.at.length - from;
        t.clear();
        t.absorb(bf_cuda_axis_line_of(p.at, r), from,
                 from + (left < p.word_piece ? left : p.word_piece));
        t.merge(r, r, (int)pieces);
    }
}

/* Segments on the list. */
__device__ void compute_listed(const terms &t) {
    const bf_cuda_axis_params &p = t.p;
    const int64_t width = p.at.width, units = (int64_t)p.board->units * width;
    for (int64_t u = blockIdx.x; u < units; u += gridDim.x) {
        const bf_cuda_axis_unit unit = p.units[u / width];
        const int64_t column = u % width, r = unit.slot * width + column;
        const int64_t slot = unit.giant * width + column;
        if (!is_marked(p, r)) continue;
        if (slot < p.word_slots) {
            t.clear();
            t.absorb(bf_cuda_axis_line_of(p.at, r), unit.first, unit.end);
            t.merge(r, slot, unit.pieces);
        } else if (unit.piece == 0) {
            compute_whole(t, r);
        }
    }
}

__global__ void __launch_bounds__(BF_CUDA_WARP)
    compute_words(const __grid_constant__ bf_cuda_axis_params p) {
    extern __shared__ int64_t memory[];
    bf_cuda_wait_for_previous();
    if (p.report != nullptr && blockIdx.x + threadIdx.x == 0) *p.report = (int64_t)p.board->wrong;
    if (p.board->failed == 0) return;
    const terms t(p, memory + sizeof(desk) / sizeof(int64_t), (desk *)memory);
    bf_cuda_bins_clear(t.sums, t.sum_bins + t.product_bins);
    const bool listed = p.at.offsets != nullptr;
    const int64_t pieces = listed ? 1 : (p.at.length + p.word_piece - 1) / p.word_piece;
    if (pieces > 1) {
        compute_long(t, pieces);
    } else {
        compute_short(t);
        if (listed) compute_listed(t);
    }
}

} // namespace

cudaError_t bf_cuda_axis_launch_words(const bf_cuda *cuda, const bf_cuda_axis_params &p) {
    const bf_sum_shape s = bf_sum_shape_of(p.kind, p.dtype);
    const size_t bins = (size_t)(bins_of(s.sum) + bins_of(s.products));
    const size_t shared = sizeof(desk) + bins * BF_CUDA_WARP * sizeof(int64_t);
    int64_t blocks = (int64_t)cuda->multiprocessors * ((160 << 10) / (int64_t)shared);
    if (blocks > 32 * cuda->multiprocessors) blocks = 32 * cuda->multiprocessors;
    if (p.spans > 0) blocks = cuda->multiprocessors; /* few results are left */
    const bf_cuda_shape shape = {blocks, BF_CUDA_WARP, shared, true, true};
    return bf_cuda_launch(cuda, compute_words, shape, p);
}
