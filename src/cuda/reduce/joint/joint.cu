/* Joint kinds: all sums of a^i b^j of a kind in one pass.
 *
 * A warp takes chunks of the arrays. A thread adds each term to a window of its part
 * (cuda/reduce/sum_window.cuh): a product of two elements is p + e, both doubles, and those of
 * three and four are the products of such parts, split again. All of it is exact, or the window
 * says that it was not: then the chunk is listed, and a second kernel takes it in limbs
 * (limbs.cuh). Integers of 64 bits go to limbs alone. Which way a chunk went does not show. */
#include "cuda/reduce/joint/joint.cuh"

#include "cuda/reduce/joint/limbs.cuh"
#include "cuda/reduce/sum_window.cuh"
#include "cuda/runtime/element.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/pipeline.cuh"

namespace {

enum {
    THREADS = 512,
    ROWS = 32, /* elements of a chunk that a thread takes: no level gets more than
                  six deposits of each */
    CHUNK = ROWS * BF_CUDA_WARP,
    AHEAD = 4,    /* it loads so many at a time */
    SAMPLES = 16, /* each lane takes so many */
    VARIANTS = 3,
    FOLDS_MOST = 1 << 11, /* chunks of a thread: their sums stay below 2^63 */
    LIMBS_THREADS = 512,
    LIMBS_BLOCKS = 2 /* a multiprocessor has shared memory for the columns of both */
};

/* The levels of a window of terms of so many factors. */
__host__ __device__ constexpr int levels_of(int factors, int variant) {
    return variant == 0 ? factors + 1 : (variant + 1) * factors;
}
enum { SUMS = levels_of(1, 2) + levels_of(2, 2) + levels_of(3, 2) + levels_of(4, 2) };

/* What the kernels of a call share. */
struct joint_board {
    int variant;
    int bottom[BF_PARTS_MOST];
    unsigned listed;                  /* chunks that go to limbs */
    unsigned long long sums[SUMS][2]; /* each level's: lo + hi * 2^32 */
};

struct joint_params {
    const void *a, *b;
    int64_t count, chunks;
    bf_kind kind;
    bf_dtype dtype;
    joint_board *board;
    unsigned *list;
    int64_t *words; /* what limbs are added to */
};

/* ---- elements -------------------------------------------------------------------------------- */

/* Elements as doubles. is_wide: their products may need two. checked: products of four may leave
 * the range of doubles. */
struct of_f64 {
    static constexpr bool is_wide = true, checked = true;
    static __device__ __forceinline__ double at(const joint_params &, const void *x, int64_t i) {
        return ((const double *)x)[i];
    }
};
struct of_f32 {
    static constexpr bool is_wide = false, checked = false;
    static __device__ __forceinline__ double at(const joint_params &, const void *x, int64_t i) {
        return (double)((const float *)x)[i];
    }
};
struct of_others {
    static constexpr bool is_wide = true, checked = false;
    static __device__ __forceinline__ double at(const joint_params &p, const void *x, int64_t i) {
        switch (p.dtype) {
#define BF_X(id, ...)                                                                              \
    case BF_##id:                                                                                  \
        return (double)bf_cuda_element::element<BF_##id>::decode(                                  \
            ((const bf_cuda_element::stored_of<BF_##id> *)x)[i]);
            BF_DTYPE_LIST(BF_X)
#undef BF_X
        default: return 0;
        }
    }
};

/* ---- windows --------------------------------------------------------------------------------- */

/* What did not fit since the chunk began: bits below the last level, or changes of the sign and
 * exponent of a top level. Integer instructions tell, for additions of doubles are the limit. */
struct misfit_bits {
    unsigned left, moved;
    __device__ __forceinline__ bool any() const { return left != 0 || moved >> 20 != 0; }
};

/* The sums of the levels at the end of each chunk, of each thread: shared memory [level][thread].
 */
using level_sums = int64_t (*)[THREADS];

/* The sum of terms of one part. */
template <int Factors, int Variant> struct series {
    static constexpr int levels = levels_of(Factors, Variant);
    bf_cuda_window<levels, levels> window;

    __device__ __forceinline__ void fold(level_sums sums) {
#pragma unroll
        for (int l = 0; l < levels; l++)
            sums[l][threadIdx.x] += __double_as_longlong(window.level[l]) -
                                    (int64_t)((uint64_t)window.start_of(l) << 32);
        window.reset();
    }
    /* Takes x, which is no more than what level First - 1 leaves. */
    template <int First> __device__ __forceinline__ void take(double x, misfit_bits &misfit) {
        double rounded = window.round(First, x);
        if (First == 0) misfit.moved |= bf_cuda_high(window.level[0]) ^ window.start;
#pragma unroll
        for (int l = First + 1; l < levels; l++) {
            x = x - rounded;
            rounded = window.round(l, x);
        }
        misfit.left |= bf_cuda_high(x) ^ bf_cuda_high(rounded);
        misfit.left |= (unsigned)__double2loint(x) ^ (unsigned)__double2loint(rounded);
    }
    /* Takes u * v. */
    template <int First, bool Rest>
    __device__ __forceinline__ void take(double u, double v, misfit_bits &misfit) {
        const double p = u * v;
        take<First>(p, misfit);
        if (Rest) take<First + 1>(fma(u, v, -p), misfit);
    }
    /* Takes (p + e) * x. */
    template <bool Wide>
    __device__ __forceinline__ void take_third(double p, double e, double x, misfit_bits &misfit) {
        take<0, true>(p, x, misfit);
        if (Wide) take<1, true>(e, x, misfit);
    }
    /* Takes (p + e)^2. */
    template <bool Wide>
    __device__ __forceinline__ void take_fourth(double p, double e, misfit_bits &misfit) {
        take<0, true>(p, p, misfit);
        if (!Wide) return;
        take<1, true>(2 * p, e, misfit);
        take<2, true>(e, e, misfit);
    }
};

/* The parts of a kind, in the order of bf_kind_part: visit(part, number, level) is called for each
 * with the number of its first level. */
template <bf_kind Kind, int Variant> struct parts;

template <int V> struct parts<BF_KIND_POWERS, V> {
    static constexpr bool pairs = false;
    static constexpr int levels =
        levels_of(1, V) + levels_of(2, V) + levels_of(3, V) + levels_of(4, V);
    series<1, V> x;
    series<2, V> xx;
    series<3, V> xxx;
    series<4, V> xxxx;
    template <bool Wide>
    __device__ __forceinline__ void take(double a, double, misfit_bits &misfit) {
        const double p = a * a, e = Wide ? fma(a, a, -p) : 0;
        x.template take<0>(a, misfit);
        xx.template take<0, Wide>(a, a, misfit);
        xxx.template take_third<Wide>(p, e, a, misfit);
        xxxx.template take_fourth<Wide>(p, e, misfit);
    }
    template <class Visit> __device__ __forceinline__ void each(const Visit &visit) {
        visit(x, 0, 0);
        visit(xx, 1, x.levels);
        visit(xxx, 2, x.levels + xx.levels);
        visit(xxxx, 3, x.levels + xx.levels + xxx.levels);
    }
};

template <int V> struct parts<BF_KIND_COMOMENTS, V> {
    static constexpr bool pairs = true;
    static constexpr int levels = 2 * levels_of(1, V) + 3 * levels_of(2, V);
    series<1, V> x, y;
    series<2, V> xx, xy, yy;
    template <bool Wide>
    __device__ __forceinline__ void take(double a, double b, misfit_bits &misfit) {
        x.template take<0>(a, misfit);
        y.template take<0>(b, misfit);
        xx.template take<0, Wide>(a, a, misfit);
        xy.template take<0, Wide>(a, b, misfit);
        yy.template take<0, Wide>(b, b, misfit);
    }
    template <class Visit> __device__ __forceinline__ void each(const Visit &visit) {
        visit(x, 0, 0);
        visit(y, 1, x.levels);
        visit(xx, 2, 2 * x.levels);
        visit(xy, 3, 2 * x.levels + xx.levels);
        visit(yy, 4, 2 * x.levels + 2 * xx.levels);
    }
};

template <int V> struct parts<BF_KIND_WEIGHTED, V> {
    static constexpr bool pairs = true;
    static constexpr int levels = levels_of(1, V) + 2 * levels_of(2, V) + levels_of(3, V);
    series<1, V> y;
    series<2, V> yy, xy;
    series<3, V> xxy;
    template <bool Wide>
    __device__ __forceinline__ void take(double a, double b, misfit_bits &misfit) {
        const double p = a * b, e = Wide ? fma(a, b, -p) : 0;
        y.template take<0>(b, misfit);
        yy.template take<0, Wide>(b, b, misfit);
        xy.template take<0, Wide>(a, b, misfit);
        xxy.template take_third<Wide>(p, e, a, misfit);
    }
    template <class Visit> __device__ __forceinline__ void each(const Visit &visit) {
        visit(y, 0, 0);
        visit(yy, 1, y.levels);
        visit(xy, 2, y.levels + yy.levels);
        visit(xxy, 3, y.levels + 2 * yy.levels);
    }
};

/* ---- the choice of windows ------------------------------------------------------------------- */

__device__ bf_extent extent_of_term(bf_extent a, bf_extent b, int i, int j) {
    bf_extent e = {-(1 << 20), 1 << 20};
    if ((i > 0 && a.top < a.least) || (j > 0 && b.top < b.least)) return e;
    e.top = (i > 0 ? i * a.top : 0) + (j > 0 ? j * b.top : 0);
    e.least = (i > 0 ? i * a.least : 0) + (j > 0 ? j * b.least : 0);
    return e;
}

/* Places the windows of all parts, of one variant. */
__device__ bool place(const joint_params &p, const bf_parts &parts, bf_extent a, bf_extent b,
                      int variant, int *bottom) {
    const int below = bf_bit_length((uint64_t)(p.count / (SAMPLES * BF_CUDA_WARP))) + BF_CUDA_SPARE;
    bool holds = true;
    for (int i = 0; i < parts.count; i++) {
        const bf_part *part = &parts.part[i];
        const int factors = part->a + part->b, levels = levels_of(factors, variant);
        const int least = part->layout.exponent;
        bf_extent e = extent_of_term(a, b, part->a, part->b);
        if (e.top < e.least) e.top = e.least = least > 0 ? least : 0;
        holds &= bf_cuda_window_place(e, factors * below, least, {levels, levels}, part->layout,
                                      &bottom[i]);
    }
    return holds;
}

/* One warp: the first variant whose windows hold the samples, with what is to spare. */
template <class Source> __global__ void choose_windows(joint_params p) {
    const bf_parts parts = bf_parts_of(p.kind, p.dtype);
    bf_extent a = bf_cuda_extent(0), b = a;
    for (int i = 0; i < SAMPLES; i++) {
        const uint64_t anywhere =
            (uint64_t)(i * BF_CUDA_WARP + (int)threadIdx.x + 1) * 0x9e3779b97f4a7c15u;
        const int64_t at = (int64_t)__umul64hi(anywhere, (uint64_t)p.count);
        bf_cuda_extent_join(&a, bf_cuda_extent(Source::at(p, p.a, at)));
        if (p.b != nullptr) bf_cuda_extent_join(&b, bf_cuda_extent(Source::at(p, p.b, at)));
    }
    a = bf_cuda_extent_warp(a);
    b = bf_cuda_extent_warp(b);
    if (threadIdx.x != 0) return;
    int variant = 0;
    while (!place(p, parts, a, b, variant, p.board->bottom) && variant < VARIANTS - 1) variant++;
    p.board->variant = variant;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* May some error of a product not be a double? */
template <class Source> __device__ __forceinline__ bool is_far(double x) {
    const unsigned high = bf_cuda_high(x) & 0x7fffffffu, least = (1023u - 200u) << 20;
    if (!Source::checked || high - least < 400u << 20) return false;
    return (high | (unsigned)__double2loint(x)) != 0;
}

template <class Source, class Parts>
__device__ __forceinline__ bool take_chunk(const joint_params &p, int64_t chunk, Parts &all) {
    misfit_bits misfit = {0, 0};
    bool far = false;
    const int64_t first = chunk * CHUNK + threadIdx.x % BF_CUDA_WARP;
#pragma unroll 1
    for (int row = 0; row < ROWS; row += AHEAD) {
        double a[AHEAD], b[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int64_t i = first + (int64_t)(row + k) * BF_CUDA_WARP;
            a[k] = i < p.count ? Source::at(p, p.a, i) : 0;
            b[k] = Parts::pairs && i < p.count ? Source::at(p, p.b, i) : 0;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            far |= is_far<Source>(a[k]) | (Parts::pairs && is_far<Source>(b[k]));
            all.template take<Source::is_wide>(a[k], b[k], misfit);
        }
    }
    return !__any_sync(~0u, misfit.any() || far);
}

template <class Source, bf_kind Kind, int Variant>
__device__ __forceinline__ void take_chunks(const joint_params &p, level_sums sums) {
    using Parts = parts<Kind, Variant>;
    const int lane = (int)threadIdx.x % BF_CUDA_WARP;
    const int64_t step = (int64_t)gridDim.x * (THREADS / BF_CUDA_WARP);
    Parts all;
    all.each([&](auto &part, int i, int) { part.window.open(p.board->bottom[i]); });
#pragma unroll
    for (int l = 0; l < Parts::levels; l++) sums[l][threadIdx.x] = 0;
#pragma unroll 1
    for (int64_t chunk = (int64_t)(threadIdx.x / BF_CUDA_WARP) * gridDim.x + blockIdx.x;
         chunk < p.chunks; chunk += step) {
        if (take_chunk<Source>(p, chunk, all)) {
            all.each([&](auto &part, int, int level) { part.fold(sums + level); });
            continue;
        }
        all.each([&](auto &part, int, int) { part.window.reset(); });
        if (lane == 0) p.list[atomicAdd(&p.board->listed, 1u)] = (unsigned)chunk;
    }
    __syncthreads();
    for (int l = (int)threadIdx.x / BF_CUDA_WARP; l < Parts::levels; l += THREADS / BF_CUDA_WARP) {
        bf_cuda_pair sum = {0, 0};
        for (int t = lane; t < THREADS; t += BF_CUDA_WARP)
            sum = bf_cuda_pair_add(sum, bf_cuda_warp_sum(sums[l][t]));
        if (lane != 0) continue;
        atomicAdd(&p.board->sums[l][0], (unsigned long long)sum.lo);
        atomicAdd(&p.board->sums[l][1], (unsigned long long)sum.hi);
    }
}

template <class Source, bf_kind Kind>
__global__ void __launch_bounds__(THREADS) take_in_windows(joint_params p) {
    extern __shared__ int64_t sums[][THREADS];
    switch (p.board->variant) {
    case 0: take_chunks<Source, Kind, 0>(p, sums); break;
    case 1: take_chunks<Source, Kind, 1>(p, sums); break;
    default: take_chunks<Source, Kind, 2>(p, sums);
    }
}

/* ---- in limbs ---------------------------------------------------------------------------------
 */

/* Takes the elements of n listed chunks (list NULL: of the first n). */
template <bf_kind Kind>
__global__ void __launch_bounds__(LIMBS_THREADS, LIMBS_BLOCKS)
    take_in_limbs(joint_params p, int64_t n) {
    extern __shared__ unsigned columns[];
    const bf_parts parts = bf_parts_of(Kind, p.dtype);
    const int bytes = bf_dtype_bytes(p.dtype);
    bf_cuda_joint_limbs limbs;
    limbs.open(parts, columns);
    bf_cuda_joint_limbs_clear(parts, columns);
    __syncthreads();
    for (int64_t k : bf_cuda_indices<LIMBS_THREADS>(n * CHUNK)) {
        const int64_t chunk = p.list != nullptr ? (int64_t)p.list[k / CHUNK] : k / CHUNK;
        const int64_t i = chunk * CHUNK + k % CHUNK;
        if (i >= p.count) continue;
        const uint64_t a = bf_cuda_element::load_bits(p.a, bytes, i);
        limbs.take<Kind>(p.dtype, a,
                         p.b != nullptr ? bf_cuda_element::load_bits(p.b, bytes, i) : 0);
    }
    __syncthreads();
    limbs.add_counters(p.words);
    bf_cuda_joint_limbs_fold(parts, columns, p.words);
}

/* ---- a call ---------------------------------------------------------------------------------- */

struct joint_call {
    bf_context *context;
    joint_params params;
    bf_parts parts;
};

bf_status check(const joint_call *c, cudaError_t error) {
    return bf_cuda_check(c->context, error, "sums of powers or of pairs");
}

template <class Source, bf_kind Kind> cudaError_t launch_of_kind(const joint_call *c) {
    const joint_params &p = c->params;
    const bf_cuda *cuda = c->context->cuda;
    const size_t shared = sizeof(int64_t[parts<Kind, VARIANTS - 1>::levels][THREADS]);
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, p.chunks, THREADS / BF_CUDA_WARP, 1), THREADS,
                                 shared, false, false};
    choose_windows<Source><<<1, BF_CUDA_WARP, 0, cuda->stream>>>(p);
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? bf_cuda_launch(cuda, take_in_windows<Source, Kind>, shape, p)
                                : error;
}

template <class Source> cudaError_t launch_of(const joint_call *c) {
    switch (c->params.kind) {
    case BF_KIND_POWERS: return launch_of_kind<Source, BF_KIND_POWERS>(c);
    case BF_KIND_COMOMENTS: return launch_of_kind<Source, BF_KIND_COMOMENTS>(c);
    default: return launch_of_kind<Source, BF_KIND_WEIGHTED>(c);
    }
}

bf_status take_in_windows(const joint_call *c) {
    switch (c->params.dtype) {
    case BF_F64: return check(c, launch_of<of_f64>(c));
    case BF_F32: return check(c, launch_of<of_f32>(c));
    default: return check(c, launch_of<of_others>(c));
    }
}

/* Limbs += sum * 2^position, which may be negative: the window of an integer may reach below 1. */
void add_sum(int64_t *limbs, int position, bf_i128 sum) {
    const bool negative = sum < 0;
    bf_u128 size = negative ? 0 - (bf_u128)sum : (bf_u128)sum;
    if (size == 0) return;
    if (position < 0) {
        size >>= -position;
        position = 0;
    }
    bf_limbs_add(limbs, position, (uint64_t)size, negative);
    if (size >> 64 != 0) bf_limbs_add(limbs, position + 64, (uint64_t)(size >> 64), negative);
}

/* Adds the sums of the levels to words. */
void add_sums(const joint_call *c, const joint_board *board, int64_t *words) {
    const unsigned long long(*sums)[2] = board->sums;
    for (int i = 0; i < c->parts.count; i++) {
        const bf_part *part = &c->parts.part[i];
        const int levels = levels_of(part->a + part->b, board->variant);
        for (int l = 0; l < levels; l++, sums++) {
            const int position = bf_window_bottom(board->bottom[i], l) - part->layout.exponent;
            add_sum(words + part->at, position,
                    (bf_i128)(int64_t)(*sums)[0] +
                        (bf_i128)(int64_t)(*sums)[1] * ((bf_i128)1 << 32));
        }
    }
}

cudaError_t launch_in_limbs(const joint_call *c, int64_t n) {
    const joint_params &p = c->params;
    const bf_cuda *cuda = c->context->cuda;
    const int64_t elements = n * CHUNK < p.count ? n * CHUNK : p.count;
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, elements, LIMBS_THREADS, LIMBS_BLOCKS),
                                 LIMBS_THREADS, bf_cuda_joint_limbs_bytes(c->parts), false, false};
    switch (p.kind) {
    case BF_KIND_POWERS: return bf_cuda_launch(cuda, take_in_limbs<BF_KIND_POWERS>, shape, p, n);
    case BF_KIND_COMOMENTS:
        return bf_cuda_launch(cuda, take_in_limbs<BF_KIND_COMOMENTS>, shape, p, n);
    default: return bf_cuda_launch(cuda, take_in_limbs<BF_KIND_WEIGHTED>, shape, p, n);
    }
}

/* Takes n chunks in limbs, into words. */
bf_status absorb_in_limbs(joint_call *c, int64_t n, int64_t *words) {
    bf_context *context = c->context;
    const int width = c->parts.words;
    const size_t bytes = (size_t)width * sizeof(int64_t);
    int64_t sums[BF_PARTS_WORDS_MAX];
    c->params.words = (int64_t *)bf_cuda_alloc(context, bytes);
    if (c->params.words == NULL) return BF_E_MEMORY;
    bf_status status = check(c, cudaMemsetAsync(c->params.words, 0, bytes, context->cuda->stream));
    if (status == BF_OK) status = check(c, launch_in_limbs(c, n));
    if (status == BF_OK) status = bf_cuda_copy(context, sums, c->params.words, bytes);
    status = status == BF_OK ? bf_cuda_wait(context, cudaSuccess, "sums in limbs") : status;
    if (status == BF_OK)
        for (int i = 0; i < width; i++) words[i] += sums[i];
    bf_cuda_free(context, c->params.words);
    return status;
}

/* Elements in windows, then those chunks that did not fit, in limbs. */
bf_status absorb_floats(joint_call *c, int64_t *words) {
    bf_context *context = c->context;
    joint_params *p = &c->params;
    joint_board board;
    p->board = (joint_board *)bf_cuda_alloc(context, sizeof board);
    p->list = (unsigned *)bf_cuda_alloc(context, (size_t)p->chunks * sizeof *p->list);
    bf_status status = p->board != NULL && p->list != NULL ? BF_OK : BF_E_MEMORY;
    if (status == BF_OK)
        status = check(c, cudaMemsetAsync(p->board, 0, sizeof board, context->cuda->stream));
    if (status == BF_OK) status = take_in_windows(c);
    if (status == BF_OK) status = bf_cuda_copy(context, &board, p->board, sizeof board);
    if (status == BF_OK) status = bf_cuda_wait(context, cudaSuccess, "sums of powers or of pairs");
    if (status == BF_OK) add_sums(c, &board, words);
    if (status == BF_OK && board.listed > 0) status = absorb_in_limbs(c, board.listed, words);
    bf_cuda_free(context, p->list);
    bf_cuda_free(context, p->board);
    return status;
}

bool has_doubles(bf_dtype dtype) { return dtype == BF_F64 || bf_dtype_bytes(dtype) <= 4; }

/* Elements from `first` on, as many as a call takes. */
bf_status absorb_some(bf_context *context, const bf_job *job, int64_t first, int64_t n,
                      int64_t *words) {
    const int bytes = bf_dtype_bytes(job->dtype);
    joint_call c = {context, {}, bf_parts_of(job->kind, job->dtype)};
    c.params.a = (const char *)job->a + first * bytes;
    c.params.b = job->b != NULL ? (const char *)job->b + first * bytes : NULL;
    c.params.count = n;
    c.params.chunks = (n + CHUNK - 1) / CHUNK;
    c.params.kind = job->kind;
    c.params.dtype = job->dtype;
    bf_status status = has_doubles(job->dtype) ? absorb_floats(&c, words)
                                               : absorb_in_limbs(&c, c.params.chunks, words);
    if (status != BF_OK) return status;
    words[BF_SUM_COUNT] += n;
    bf_sum_carry(job->kind, job->dtype, words);
    return BF_OK;
}

} // namespace

bf_status bf_cuda_joint_absorb(bf_context *context, const bf_job *job, int64_t *words) {
    const int64_t warps = (int64_t)context->cuda->multiprocessors * THREADS / BF_CUDA_WARP;
    const int64_t most = warps * FOLDS_MOST * CHUNK;
    int64_t sums[BF_PARTS_WORDS_MAX];
    bf_status status = BF_OK;
    bf_state_init(job->kind, job->dtype, sums);
    for (int64_t first = 0, n; first < job->count && status == BF_OK; first += n) {
        n = job->count - first < most ? job->count - first : most;
        status = absorb_some(context, job, first, n, sums);
    }
    if (status == BF_OK) bf_sum_merge(job->kind, job->dtype, words, sums);
    return status;
}
