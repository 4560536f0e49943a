/* Joint kinds: all sums of a^i b^j of a kind in one pass.
 *
 * A warp takes chunks of the arrays. A thread adds each term to a window of its part
 * (windows.cuh). A chunk that does not fit is listed, and a second kernel takes it in limbs
 * (limbs.cuh). Integers of 64 bits go to limbs alone. Which way a chunk went does not show. */
#include "cuda/reduce/joint/joint.cuh"

#include "cuda/reduce/joint/limbs.cuh"
#include "cuda/reduce/joint/windows.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/pipeline.cuh"

namespace {

using namespace bf_cuda_joint;

enum {
    CHUNK = ROWS * BF_CUDA_WARP,
    SAMPLES = 16,   /* each lane takes so many */
    LONG = 1 << 23, /* elements */
    LIMBS_THREADS = 512,
    LIMBS_BLOCKS = 2 /* a multiprocessor has shared memory for the columns of both */
};

/* What the kernels of a call share; 0 at first. */
struct joint_board {
    windows chosen;
    unsigned listed; /* chunks that go to limbs */
    level_sum sums[LEVELS_MOST];
    int64_t words[BF_PARTS_WORDS_MAX]; /* what limbs are added to */
};

struct joint_params {
    const void *a, *b;
    int64_t count, chunks;
    bf_kind kind;
    bf_dtype dtype;
    joint_board *board;
    unsigned *list; /* the chunks that go to limbs; NULL: all do */
};

/* One warp chooses the windows. */
template <class Source> __global__ void choose_windows(joint_params p) {
    bf_extent a = bf_cuda_extent(0), b = a;
    for (int i = 0; i < SAMPLES; i++) {
        const uint64_t anywhere =
            (uint64_t)(i * BF_CUDA_WARP + (int)threadIdx.x + 1) * 0x9e3779b97f4a7c15u;
        const int64_t at = (int64_t)__umul64hi(anywhere, (uint64_t)p.count);
        bf_cuda_extent_join(&a, bf_cuda_extent(Source::at(p.dtype, p.a, at)));
        if (p.b != nullptr) bf_cuda_extent_join(&b, bf_cuda_extent(Source::at(p.dtype, p.b, at)));
    }
    const int below =
        p.count < LONG ? spare_for(p.count / (SAMPLES * BF_CUDA_WARP)) : Source::spare;
    choose<Source>(bf_parts_of(p.kind, p.dtype), a, b, below, &p.board->chosen);
}

/* ---- the pass -------------------------------------------------------------------------------- */

template <class Source, class Parts>
__device__ __forceinline__ bool take_chunk(const joint_params &p, int64_t chunk,
                                           room<Source, Parts::levels> *room, Parts &all) {
    const auto itself = [](int64_t i) { return i; };
    const int64_t first = chunk * CHUNK + threadIdx.x % BF_CUDA_WARP;
    const int rows = rows_of(first, p.count, BF_CUDA_WARP);
    const bool fits =
        take_rows<Source>(p.dtype, p.a, p.b, first, rows, BF_CUDA_WARP, itself, itself, room, all);
    return __all_sync(~0u, fits);
}

template <class Source, bf_kind Kind, int Variant>
__device__ __forceinline__ void take_chunks(const joint_params &p) {
    using Parts = parts<Kind, Variant>;
    extern __shared__ int64_t shared[];
    const auto room = (bf_cuda_joint::room<Source, Parts::levels> *)shared;
    const level_sums sums = room->sums;
    const int lane = (int)threadIdx.x % BF_CUDA_WARP;
    const int64_t step = (int64_t)gridDim.x * (THREADS / BF_CUDA_WARP);
    Parts all;
    all.each([&](auto &part, int i, int) { part.window.open(p.board->chosen.bottom[i]); });
#pragma unroll
    for (int l = 0; l < Parts::levels; l++) sums[l][threadIdx.x] = 0;
#pragma unroll 1
    for (int64_t chunk = (int64_t)(threadIdx.x / BF_CUDA_WARP) * gridDim.x + blockIdx.x;
         chunk < p.chunks; chunk += step) {
        if (take_chunk<Source>(p, chunk, room, all)) {
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
        atomicAdd(&p.board->sums[l].lo, (unsigned long long)sum.lo);
        atomicAdd(&p.board->sums[l].hi, (unsigned long long)sum.hi);
    }
}

/* Does nothing where another variant was chosen. */
template <class Source, bf_kind Kind, int Variant>
__global__ void __launch_bounds__(THREADS, HELD) take_in_windows(joint_params p) {
    if (p.board->chosen.variant == Variant) take_chunks<Source, Kind, Variant>(p);
}

/* ---- in limbs ---------------------------------------------------------------------------------
 */

template <bf_kind Kind>
__global__ void __launch_bounds__(LIMBS_THREADS, LIMBS_BLOCKS) take_in_limbs(joint_params p) {
    extern __shared__ unsigned columns[];
    const int64_t n = p.list != nullptr ? (int64_t)p.board->listed : p.chunks;
    if (blockIdx.x * (int64_t)LIMBS_THREADS >= n * CHUNK) return;
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
    limbs.add_counters(p.board->words);
    bf_cuda_joint_limbs_fold(parts, columns, p.board->words);
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

template <class Source, bf_kind Kind, int Variant>
cudaError_t launch_of_variant(const joint_call *c) {
    const size_t shared = sizeof(room<Source, parts<Kind, Variant>::levels>);
    return launch_resident(c->context->cuda, take_in_windows<Source, Kind, Variant>, shared,
                           c->params.chunks, c->params);
}

template <class Source, bf_kind Kind> cudaError_t launch_of_kind(const joint_call *c) {
    constexpr int first = Source::first;
    choose_windows<Source><<<1, BF_CUDA_WARP, 0, c->context->cuda->stream>>>(c->params);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) error = launch_of_variant<Source, Kind, first>(c);
    if (error == cudaSuccess) error = launch_of_variant<Source, Kind, first + 1>(c);
    if (error == cudaSuccess) error = launch_of_variant<Source, Kind, first + 2>(c);
    return error;
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

/* Adds the sums of the levels to words. */
void add_sums(const joint_call *c, const joint_board *board, int64_t *words) {
    const level_sum *sums = board->sums;
    for (int i = 0; i < c->parts.count; i++) {
        const bf_part *part = &c->parts.part[i];
        const int levels = levels_of(part->a + part->b, board->chosen.variant);
        for (int l = 0; l < levels; l++, sums++) {
            const int position =
                bf_window_bottom(board->chosen.bottom[i], l) - part->layout.exponent;
            bf_limbs_add_wide(words + part->at, position, value_of(*sums));
        }
    }
}

bf_status take_in_limbs(const joint_call *c) {
    const joint_params &p = c->params;
    const bf_cuda *cuda = c->context->cuda;
    const bf_cuda_shape shape = {bf_cuda_blocks(cuda, p.count, LIMBS_THREADS, LIMBS_BLOCKS),
                                 LIMBS_THREADS, bf_cuda_joint_limbs_bytes(c->parts), false, false};
    switch (p.kind) {
    case BF_KIND_POWERS:
        return check(c, bf_cuda_launch(cuda, take_in_limbs<BF_KIND_POWERS>, shape, p));
    case BF_KIND_COMOMENTS:
        return check(c, bf_cuda_launch(cuda, take_in_limbs<BF_KIND_COMOMENTS>, shape, p));
    default: return check(c, bf_cuda_launch(cuda, take_in_limbs<BF_KIND_WEIGHTED>, shape, p));
    }
}

/* Elements in windows, if they are doubles, then those chunks that did not fit, in limbs. */
bf_status absorb(joint_call *c, int64_t *words) {
    bf_context *context = c->context;
    joint_params *p = &c->params;
    const bool has_windows = has_doubles(p->dtype);
    joint_board board;
    p->board = (joint_board *)bf_cuda_alloc(context, sizeof board);
    if (has_windows)
        p->list = (unsigned *)bf_cuda_alloc(context, (size_t)p->chunks * sizeof *p->list);
    const bool has_list = p->list != NULL || !has_windows;
    bf_status status = p->board != NULL && has_list ? BF_OK : BF_E_MEMORY;
    if (status == BF_OK)
        status = check(c, cudaMemsetAsync(p->board, 0, sizeof board, context->cuda->stream));
    if (status == BF_OK && has_windows) status = take_in_windows(c);
    if (status == BF_OK) status = take_in_limbs(c);
    if (status == BF_OK) status = bf_cuda_copy(context, &board, p->board, sizeof board);
    if (status == BF_OK) status = bf_cuda_wait(context, cudaSuccess, "sums of powers or of pairs");
    if (status == BF_OK) {
        if (has_windows) add_sums(c, &board, words);
        for (int i = 0; i < c->parts.words; i++) words[i] += board.words[i];
    }
    bf_cuda_free(context, p->list);
    bf_cuda_free(context, p->board);
    return status;
}

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
    const bf_status status = absorb(&c, words);
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
