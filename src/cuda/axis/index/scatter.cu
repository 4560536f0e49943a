/* Sums by index of one float a row.
 *
 * Rows are sorted into tiles, and taken by items (tiles.cuh). A block adds the rows of an item to
 * limbs of their slots in shared memory (sum_limbs.cuh), and these to the slots' words. A thread
 * then rounds a slot's words. There are copies of all limbs, each for some lanes, as many as there
 * is room for in half of a multiprocessor's memory; two in all of it. */
#include "cuda/axis/index/results.cuh"
#include "cuda/axis/index/tiles.cuh"
#include "cuda/reduce/sum_limbs.cuh"

#include <cuda_fp16.h>

namespace {

using bf_cuda_tiles::tiles;

enum { SCATTER_LEAST = 1 << 15 /* rows that are worth a block */ };

/* Floats as the bits of an f32, or of an f64. */
template <class V> struct floats {
    using Value = V;
    static constexpr auto how = bf_cuda_tiles::staging::COPIES;
    const V *from;
    __device__ __forceinline__ V value(V bits) const { return bits; }
};
template <bf_dtype D> struct small_floats {
    using Value = uint32_t;
    static constexpr auto how = bf_cuda_tiles::staging::LOADS;
    const uint16_t *from;
    __device__ __forceinline__ uint32_t load(uint32_t i) const {
        if (D == BF_BF16) return (uint32_t)from[i] << 16;
        return __float_as_uint(__half2float(__ushort_as_half(from[i])));
    }
    __device__ __forceinline__ uint32_t value(uint32_t bits) const { return bits; }
};

/* --- sums --- */

/* What a block adds up: limbs of values, of their squares or of both, and the number of rows. Word
 * k of a slot is at (k * slots + slot) * copies + copy in shared memory. */
template <class V, bool has_sum, bool has_squares, bool has_count> struct slot_sums {
    static constexpr bf_dtype dtype = sizeof(V) == 8 ? BF_F64 : BF_F32;
    static constexpr int fraction = sizeof(V) == 8 ? 52 : 23;
    static constexpr unsigned most = sizeof(V) == 8 ? 2047 : 255; /* the field of infinities */
    static constexpr V sign_bit = (V)1 << (8 * sizeof(V) - 1);
    static constexpr int sums = !has_sum ? 0 : sizeof(V) == 8 ? 67 : 10;
    static constexpr int squares = !has_squares ? 0 : 19;
    static constexpr int limbs = sums + squares, words = limbs + 1;
    static_assert(!has_squares || sizeof(V) == 4, "squares of f64 have too many limbs");

    unsigned at, step, slot_step; /* shared address of this lane's copy; bytes of a word, a slot */
    int64_t *all;                 /* words of the digit's first slot */
    int each;                     /* words of a slot in `all` */

    /* NaN, an infinity or -0. */
    static __device__ __noinline__ void count_special(int64_t *words, V bits) {
        const bf_format f = bf_format_of(dtype);
        int special = has_sum ? bf_sum_special(f, bits) : bf_sum_special_pair(f, bits, bits);
        bf_cuda_add_word(words + BF_SUM_COUNT, 1);
        bf_cuda_add_word(words + (special != 0 ? special : (int)BF_SUM_NEG_ZERO), 1);
    }
    /* For sums 1 stands for any number. */
    __device__ __forceinline__ void count_row(unsigned to) const {
        if (has_count)
            bf_cuda_shared_count(to + limbs * step);
        else
            bf_cuda_shared_store(to + limbs * step, 1u);
    }
    __device__ __forceinline__ void add_sum(unsigned to, V magnitude, unsigned position,
                                            unsigned sign) const {
        const bf_cuda_limbs number = {to, step};
        if (sizeof(V) == 8) {
            bf_cuda_limbs_add_wide(number, (int)position, magnitude, sign != 0);
            return;
        }
        const unsigned m = (unsigned)magnitude;
        const unsigned part[2] = {m << (position & 31), __funnelshift_l(m, 0, position)};
        bf_cuda_limbs_add(number, position >> 5, part, sign);
    }
    __device__ __forceinline__ void operator()(unsigned slot, V bits) const {
        const unsigned field = (unsigned)(bits >> fraction) & most, normal = min(field, 1u);
        const unsigned sign = (bits & sign_bit) != 0 ? ~0u : 0;
        const V magnitude = (bits & (((V)1 << fraction) - 1)) | (V)normal << fraction;
        const unsigned position = field - normal, to = at + slot * slot_step;
        const bool special = field == most || (!has_squares && bits == sign_bit);
        if (special)
            count_special(all + slot * each, bits);
        else
            count_row(to);
        if (magnitude == 0 || special) return;
        if (has_sum) add_sum(to, magnitude, position, sign);
        if (has_squares)
            bf_cuda_limbs_add_wide({to + sums * step, step}, (int)(2 * position),
                                   (uint64_t)magnitude * magnitude, false);
    }
};

template <class Sums> struct value_of;
template <class V, bool a, bool b, bool c> struct value_of<slot_sums<V, a, b, c>> {
    using type = V;
};

template <class Sums>
__global__ void __launch_bounds__(1024, 1)
    add_items(const tiles t, int64_t slots, int copies, int64_t *all_words, int each) {
    extern __shared__ __align__(16) unsigned slot_limbs[];
    bf_cuda_wait_for_previous();
    if (blockIdx.x >= *t.item_count) return;
    const bf_cuda_tiles::item x = t.items[blockIdx.x];
    const unsigned width = 1u << t.bits, stride = width * copies;
    const int64_t base = (int64_t)x.digit << t.bits;
    Sums sums;
    sums.all = all_words + base * each;
    sums.each = each;
    for (unsigned i = threadIdx.x; i < stride * Sums::words; i += blockDim.x)
        slot_limbs[i] = i < stride * Sums::limbs ? BF_CUDA_LIMB_MIDDLE : 0;
    __syncthreads();
    sums.at = bf_cuda_shared_address(slot_limbs) + 4 * (threadIdx.x & (copies - 1));
    sums.step = 4 * stride;
    sums.slot_step = 4 * copies;
    bf_cuda_tiles::visit_rows<typename value_of<Sums>::type, true>(t, x, sums);
    __syncthreads();
    /* Squares alone follow the counters; sums have one limb less than in a state. */
    const int gap = Sums::sums > 0 && Sums::squares > 0;
    for (unsigned s = threadIdx.x; s < width && base + s < slots; s += blockDim.x) {
        for (int k = 0; k < Sums::words; k++) {
            const int64_t sum = bf_cuda_sum_of_copies(slot_limbs + k * stride + s * copies, copies,
                                                      k < Sums::limbs ? BF_CUDA_LIMB_MIDDLE : 0);
            const int to =
                k == Sums::limbs ? BF_SUM_COUNT : BF_SUM_LIMBS + k + (k >= Sums::sums ? gap : 0);
            bf_cuda_add_word(sums.all + (int64_t)s * each + to, sum);
        }
    }
}

/* --- results --- */

__global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS)
    finish_slots(const __grid_constant__ bf_cuda_index_params p, int64_t slots) {
    for (const int64_t s : bf_cuda_indices<BF_CUDA_INDEX_THREADS>(slots)) {
        bf_work *work;
        (void)bf_cuda_index_thread_words(p, &work);
        bf_cuda_index_finish(p, s, p.pool + s * p.words, work);
    }
}

/* --- launches --- */

/* Words of a slot in shared memory. */
int shared_words(bf_kind kind, bf_dtype dtype) {
    if (dtype == BF_F64) return slot_sums<uint64_t, true, false, true>::words;
    if (kind == BF_KIND_MOMENTS) return slot_sums<uint32_t, true, true, true>::words;
    if (kind == BF_KIND_SQUARES) return slot_sums<uint32_t, false, true, false>::words;
    return slot_sums<uint32_t, true, false, true>::words;
}

tiles plan_tiles(bf_dtype dtype, const bf_rows *rows) {
    tiles t = bf_cuda_tiles::plan(rows->count, rows->slots, dtype == BF_F64 ? 8 : 9);
    t.most = t.rows >> 10;
    if (t.most < SCATTER_LEAST) t.most = SCATTER_LEAST;
    if (t.most < 128u << t.bits) t.most = 128u << t.bits;
    return t;
}

cudaError_t launch_tiles(const bf_cuda *cuda, const bf_cuda_index_params &p, const bf_rows *rows,
                         const tiles &t) {
    switch (p.dtype) {
    case BF_F16:
        return bf_cuda_tiles::launch(cuda, small_floats<BF_F16>{(const uint16_t *)p.a}, rows, t,
                                     p.board);
    case BF_BF16:
        return bf_cuda_tiles::launch(cuda, small_floats<BF_BF16>{(const uint16_t *)p.a}, rows, t,
                                     p.board);
    case BF_F32:
        return bf_cuda_tiles::launch(cuda, floats<uint32_t>{(const uint32_t *)p.a}, rows, t,
                                     p.board);
    default:
        return bf_cuda_tiles::launch(cuda, floats<uint64_t>{(const uint64_t *)p.a}, rows, t,
                                     p.board);
    }
}

template <class Sums>
cudaError_t launch_sums(const bf_cuda *cuda, const bf_cuda_index_params &p, const bf_rows *rows,
                        const tiles &t) {
    size_t each = (size_t)4 * Sums::words << t.bits, room = (size_t)cuda->shared - 1024;
    size_t half = room / 2 - 1024;
    int copies = 1;
    while (copies < 32 && 2 * copies * each <= half) copies *= 2;
    if (copies == 1 && 2 * each <= room) copies = 2;
    bf_cuda_shape shape = {.blocks = (int64_t)bf_cuda_tiles::items_of(t),
                           .threads = copies * each <= half ? 512 : 1024,
                           .shared = copies * each,
                           .overlaps = true,
                           .spares_cache = true};
    return bf_cuda_launch(cuda, add_items<Sums>, shape, t, rows->slots, copies, p.pool, p.words);
}

cudaError_t launch_items(const bf_cuda *cuda, const bf_cuda_index_params &p, const bf_rows *rows,
                         const tiles &t) {
    const bool mean = p.op == BF_MEAN;
    if (p.kind == BF_KIND_MOMENTS)
        return launch_sums<slot_sums<uint32_t, true, true, true>>(cuda, p, rows, t);
    if (p.kind == BF_KIND_SQUARES)
        return launch_sums<slot_sums<uint32_t, false, true, false>>(cuda, p, rows, t);
    if (p.dtype == BF_F64)
        return mean ? launch_sums<slot_sums<uint64_t, true, false, true>>(cuda, p, rows, t)
                    : launch_sums<slot_sums<uint64_t, true, false, false>>(cuda, p, rows, t);
    return mean ? launch_sums<slot_sums<uint32_t, true, false, true>>(cuda, p, rows, t)
                : launch_sums<slot_sums<uint32_t, true, false, false>>(cuda, p, rows, t);
}

cudaError_t launch_finish(const bf_cuda *cuda, const bf_cuda_index_params &p, int64_t slots) {
    const int64_t blocks = bf_cuda_blocks(cuda, slots, BF_CUDA_INDEX_THREADS);
    const int64_t most = bf_cuda_index_word_blocks(cuda, p);
    finish_slots<<<(unsigned)(blocks < most ? blocks : most), BF_CUDA_INDEX_THREADS, 0,
                   cuda->stream>>>(p, slots);
    return cudaGetLastError();
}

} // namespace

bool bf_cuda_index_scatters(const bf_cuda *cuda, const bf_operands *operands, const bf_rows *rows) {
    const bf_kind kind = operands->kind;
    const bool squares = kind == BF_KIND_MOMENTS || kind == BF_KIND_SQUARES;
    if (!bf_dtype_is_float(operands->dtype) || (kind != BF_KIND_SUM && !squares)) return false;
    if (squares && operands->dtype == BF_F64) return false;
    if (!bf_cuda_tiles::keeps_values(cuda, operands->dtype == BF_F64 ? 8 : 4)) return false;
    const int64_t words = bf_sum_shape_of(kind, operands->dtype).words;
    if (rows->width != 1 || rows->count == 0 || rows->slots == 0 ||
        rows->slots * words > 64 * rows->count)
        return false;
    const int bits = plan_tiles(operands->dtype, rows).bits;
    return bits <= bf_cuda_tiles::BITS_MOST &&
           (size_t)(4 * shared_words(kind, operands->dtype)) << bits <= (size_t)cuda->shared - 1024;
}

bf_status bf_cuda_index_scatter(bf_context *context, bf_cuda_index_params *p, const bf_rows *rows) {
    const bf_cuda *cuda = context->cuda;
    const int bytes = p->dtype == BF_F64 ? 8 : 4;
    tiles t = plan_tiles(p->dtype, rows);
    size_t words = (size_t)rows->slots * (size_t)p->words * sizeof(int64_t);
    void *memory = bf_cuda_alloc(context, bf_cuda_tiles::divide(&t, bytes, NULL));
    void *work = bf_cuda_alloc(context, bf_cuda_index_words_bytes(cuda, *p));
    p->pool = (int64_t *)bf_cuda_alloc(context, words);
    p->thread_words = (int64_t *)work;
    cudaError_t error = cudaErrorMemoryAllocation;
    if (memory != NULL && work != NULL && p->pool != NULL) {
        bf_cuda_tiles::divide(&t, bytes, (char *)memory);
        error = cudaMemsetAsync(p->pool, 0, words, cuda->stream);
        if (error == cudaSuccess) error = launch_tiles(cuda, *p, rows, t);
        if (error == cudaSuccess) error = launch_items(cuda, *p, rows, t);
        if (error == cudaSuccess) error = launch_finish(cuda, *p, rows->slots);
    }
    bf_cuda_free(context, p->pool);
    bf_cuda_free(context, work);
    bf_cuda_free(context, memory);
    p->pool = p->thread_words = NULL;
    return error == cudaErrorMemoryAllocation ? BF_E_MEMORY
                                              : bf_cuda_check(context, error, "sums by index");
}
