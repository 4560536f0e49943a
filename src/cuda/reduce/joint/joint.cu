/* Joint kinds: all sums of a^i b^j of a kind in one pass.
 *
 * A warp takes chunks of the arrays. A thread adds pairs of floats (floats.cuh), or cuts them in
 * pieces (pieces.cuh), or adds each term to a window of its part (windows.cuh). What does not fit
 * is listed in groups, and a second kernel takes these in limbs (limbs.cuh). Integers of 64 bits go
 * to limbs alone. Which way a group went does not show. */
#include "cuda/reduce/joint/joint.cuh"

#include "cuda/reduce/joint/limbs.cuh"
#include "cuda/reduce/joint/windows.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/pipeline.cuh"

namespace {

using namespace bf_cuda_joint;

enum {
    CHUNK = ROWS * BF_CUDA_WARP,
    GROUP = AT_ONCE * BF_CUDA_WARP,
    SAMPLES = 512,  /* a thread for each */
    LONG = 1 << 23, /* elements */
    LIMBS_THREADS = 512,
    LIMBS_BLOCKS = 2 /* a multiprocessor has shared memory for the columns of both */
};

/* What the kernels of a call share; 0 at first. */
struct joint_board {
    windows chosen;
    unsigned listed; /* groups that go to limbs */
    level_sum sums[LEVELS_MOST];
    int64_t words[BF_PARTS_WORDS_MAX]; /* what limbs are added to */
};

struct joint_params {
    const void *a, *b;
    int64_t count, chunks, groups;
    bf_kind kind;
    bf_dtype dtype;
    joint_board *board;
    unsigned *list; /* the groups that go to limbs; NULL: all do */
    bool aligned;   /* to 16 bytes */
};

/* A block takes samples, by which its first warp chooses the windows. */
template <class Source> __global__ void __launch_bounds__(SAMPLES) choose_windows(joint_params p) {
    constexpr int warps = SAMPLES / BF_CUDA_WARP;
    __shared__ bf_extent of_warps[2][warps];
    const uint64_t anywhere = (uint64_t)(threadIdx.x + 1) * 0x9e3779b97f4a7c15u;
    const int64_t at = (int64_t)__umul64hi(anywhere, (uint64_t)p.count);
    const int lane = (int)threadIdx.x % BF_CUDA_WARP, warp = (int)threadIdx.x / BF_CUDA_WARP;
    bf_extent a = extent_of<Source>(p.kind, Source::at(p.dtype, p.a, at)), b = bf_cuda_extent(0);
    if (p.b != nullptr) b = extent_of<Source>(p.kind, Source::at(p.dtype, p.b, at));
    a = bf_cuda_extent_warp(a);
    b = bf_cuda_extent_warp(b);
    if (lane == 0) of_warps[0][warp] = a;
    if (lane == 0) of_warps[1][warp] = b;
    __syncthreads();
    if (warp > 0) return;
    const int below = p.count < LONG ? spare_for(p.count / SAMPLES) : Source::spare;
    choose<Source>(p.kind, p.dtype, first_of<Source>(p.kind), of_warps[0][lane % warps],
                   of_warps[1][lane % warps], below, &p.board->chosen);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Lists so many groups. */
__device__ __forceinline__ void list_groups(const joint_params &p, int64_t first, int n) {
    if (threadIdx.x % BF_CUDA_WARP != 0) return;
    const unsigned at = atomicAdd(&p.board->listed, (unsigned)n);
    for (int i = 0; i < n; i++) p.list[at + (unsigned)i] = (unsigned)(first + i);
}

/* What the warps of a block have of all levels: more than 64 bits. */
template <class Sums> struct block_sums {
    bf_cuda_pair of[THREADS / BF_CUDA_WARP][Sums::levels];

    __device__ void clear() {
        for (int l = (int)threadIdx.x % BF_CUDA_WARP; l < Sums::levels; l += BF_CUDA_WARP)
            of[threadIdx.x / BF_CUDA_WARP][l] = {0, 0};
        __syncwarp();
    }
    /* Takes what the lanes of a warp have. */
    __device__ void take(level_sums sums) {
        for (int l = 0; l < Sums::levels; l++) {
            const bf_cuda_pair sum = bf_cuda_warp_sum(sums[l][threadIdx.x]);
            bf_cuda_pair *to = &of[threadIdx.x / BF_CUDA_WARP][l];
            sums[l][threadIdx.x] = 0;
            if (threadIdx.x % BF_CUDA_WARP == 0) *to = bf_cuda_pair_add(*to, sum);
        }
    }
    /* By all threads: adds all to the sums of the call. */
    __device__ void leave(const joint_params &p) {
        __syncthreads();
        for (int l = (int)threadIdx.x; l < Sums::levels; l += THREADS) {
            bf_cuda_pair sum = of[0][l];
            for (int w = 1; w < THREADS / BF_CUDA_WARP; w++) sum = bf_cuda_pair_add(sum, of[w][l]);
            atomicAdd(&p.board->sums[l].lo, (unsigned long long)sum.lo);
            atomicAdd(&p.board->sums[l].hi, (unsigned long long)sum.hi);
        }
    }
};

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

template <class Source, class Parts>
__device__ __forceinline__ void take_chunks(const joint_params &p) {
    extern __shared__ int64_t shared[];
    const auto room = (bf_cuda_joint::room<Source, Parts::levels> *)shared;
    const level_sums sums = room->sums;
    const int64_t step = (int64_t)gridDim.x * (THREADS / BF_CUDA_WARP);
    int64_t chunk = (int64_t)(threadIdx.x / BF_CUDA_WARP) * gridDim.x + blockIdx.x;
    __shared__ block_sums<Parts> of_block;
    Parts all;
    of_block.clear();
    all.open(p.board->chosen.bottom);
    for (int l = 0; l < Parts::levels; l++) sums[l][threadIdx.x] = 0;
    while (chunk < p.chunks) {
#pragma unroll 1
        for (int i = 0; i < FOLDS_MOST && chunk < p.chunks; i++, chunk += step) {
            if (take_chunk<Source>(p, chunk, room, all)) {
                all.fold(sums);
                continue;
            }
            all.reset();
            const int64_t first = chunk * (CHUNK / GROUP);
            list_groups(p, first, (int)min((int64_t)(CHUNK / GROUP), p.groups - first));
        }
        of_block.take(sums);
    }
    of_block.leave(p);
}

/* Does nothing where another variant was chosen. */
template <class Source, bf_kind Kind, int Variant>
__global__ void __launch_bounds__(THREADS, HELD) take_in_sums(joint_params p) {
    if (p.board->chosen.variant == Variant) take_chunks<Source, sums_of<Kind, Variant>>(p);
}

/* ---- pairs that are aligned ------------------------------------------------------------------ */

/* Groups that threads take soon, in shared memory. A thread has some vectors of 16 bytes of each
 * array, which it has copied itself. */
template <class Element> struct groups_ahead {
    static constexpr int EACH = 16 / sizeof(Element), VECTORS = AT_ONCE / EACH;
    static constexpr int AHEAD = EACH; /* groups on their way: as many bytes of each dtype */
    struct alignas(16) vector {
        Element x[EACH];
    };
    vector held[AHEAD + 1][2][VECTORS][THREADS];

    __device__ __forceinline__ void begin(const joint_params &p, int64_t group, int stage) {
        const int lane = (int)threadIdx.x % BF_CUDA_WARP;
        const Element *a = (const Element *)p.a + group * GROUP;
        const Element *b = (const Element *)p.b + group * GROUP;
        if ((group + 1) * GROUP <= p.count) {
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                const int i = (v * BF_CUDA_WARP + lane) * EACH;
                bf_cuda_begin_copy(&held[stage][0][v][threadIdx.x], a + i);
                bf_cuda_begin_copy(&held[stage][1][v][threadIdx.x], b + i);
            }
        } else {
            load_last(a, b, p.count - group * GROUP, stage);
        }
        bf_cuda_end_group();
    }
    /* The elements of the last group, of which there are so many, and zeros. */
    __device__ __noinline__ void load_last(const Element *a, const Element *b, int64_t count,
                                           int stage) {
        for (int v = 0; v < VECTORS; v++)
            for (int j = 0; j < EACH; j++) {
                const int i = (v * BF_CUDA_WARP + (int)threadIdx.x % BF_CUDA_WARP) * EACH + j;
                held[stage][0][v][threadIdx.x].x[j] = i < count ? a[i] : 0;
                held[stage][1][v][threadIdx.x].x[j] = i < count ? b[i] : 0;
            }
    }
    __device__ __forceinline__ void get(int stage, int operand, Element (&x)[AT_ONCE]) const {
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            const vector from = held[stage][operand][v][threadIdx.x];
#pragma unroll
            for (int j = 0; j < EACH; j++) x[v * EACH + j] = from.x[j];
        }
    }
};

/* The first variant of pairs that are floats: each warp takes one group after another. */
template <class Source>
__global__ void __launch_bounds__(THREADS, HELD) take_aligned_pairs(joint_params p) {
    constexpr int variant = first_of<Source>(BF_KIND_COMOMENTS);
    using Sums = sums_of<BF_KIND_COMOMENTS, variant>;
    using Ahead = groups_ahead<typename Source::Element>;
    extern __shared__ int64_t shared[];
    constexpr int AHEAD = Ahead::AHEAD;
    const auto ahead = (Ahead *)shared;
    const level_sums sums = (level_sums)(ahead + 1);
    const int64_t step = (int64_t)gridDim.x * (THREADS / BF_CUDA_WARP);
    int64_t group = (int64_t)(threadIdx.x / BF_CUDA_WARP) * gridDim.x + blockIdx.x;
    __shared__ block_sums<Sums> of_block;
    int stage = 0;
    Sums all;
    if (p.board->chosen.variant != variant) return;
    of_block.clear();
    all.open(p.board->chosen.bottom);
    for (int l = 0; l < Sums::levels; l++) sums[l][threadIdx.x] = 0;
    for (int i = 0; i < AHEAD; i++) ahead->begin(p, group + i * step, i);
    while (group < p.groups) {
        for (int f = 0; f < Sums::FOLDS && group < p.groups; f++) {
#pragma unroll 1
            for (int i = 0; i < Sums::ROWS_MOST / AT_ONCE && group < p.groups; i++, group += step) {
                typename Source::Element x[AT_ONCE], y[AT_ONCE];
                bf_cuda_wait_for_groups<AHEAD - 1>();
                ahead->begin(p, group + AHEAD * step, stage == 0 ? AHEAD : stage - 1);
                ahead->get(stage, 0, x);
                ahead->get(stage, 1, y);
                stage = stage == AHEAD ? 0 : stage + 1;
                if (!all.take_if_all_fit(x, y)) list_groups(p, group, 1);
            }
            all.fold(sums);
        }
        of_block.take(sums);
    }
    of_block.leave(p);
}

/* ---- in limbs ---------------------------------------------------------------------------------
 */

template <bf_kind Kind>
__global__ void __launch_bounds__(LIMBS_THREADS, LIMBS_BLOCKS) take_in_limbs(joint_params p) {
    extern __shared__ unsigned columns[];
    const int64_t n = p.list != nullptr ? (int64_t)p.board->listed : p.groups;
    if (blockIdx.x * (int64_t)LIMBS_THREADS >= n * GROUP) return;
    const bf_parts parts = bf_parts_of(Kind, p.dtype);
    const int bytes = bf_dtype_bytes(p.dtype);
    bf_cuda_joint_limbs limbs;
    limbs.open(parts, columns);
    bf_cuda_joint_limbs_clear(parts, columns);
    __syncthreads();
    for (int64_t k : bf_cuda_indices<LIMBS_THREADS>(n * GROUP)) {
        const int64_t group = p.list != nullptr ? (int64_t)p.list[k / GROUP] : k / GROUP;
        const int64_t i = group * GROUP + k % GROUP;
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
    const joint_params &p = c->params;
    if constexpr (way_of(Kind, Variant) != WINDOWS)
        if (p.aligned)
            return launch_resident(c->context->cuda, take_aligned_pairs<Source>,
                                   sizeof(groups_ahead<typename Source::Element>) +
                                       sizeof(int64_t[sums_of<Kind, Variant>::levels][THREADS]),
                                   p.groups, p);
    const size_t shared = sizeof(room<Source, sums_of<Kind, Variant>::levels>);
    return launch_resident(c->context->cuda, take_in_sums<Source, Kind, Variant>, shared, p.chunks,
                           p);
}

/* Each variant that is tried, after number Tried - 1. */
template <class Source, bf_kind Kind, int Tried> cudaError_t launch_from(const joint_call *c) {
    constexpr int variant = Tried == 0 ? first_of<Source>(Kind) : Source::first + Tried;
    const cudaError_t error = launch_of_variant<Source, Kind, variant>(c);
    if constexpr (Tried + 1 < Source::tried)
        if (error == cudaSuccess) return launch_from<Source, Kind, Tried + 1>(c);
    return error;
}

template <class Source, bf_kind Kind> cudaError_t launch_of_kind(const joint_call *c) {
    choose_windows<Source><<<1, SAMPLES, 0, c->context->cuda->stream>>>(c->params);
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? launch_from<Source, Kind, 0>(c) : error;
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
        const int variant = board->chosen.variant, step = step_of(c->params.kind, variant);
        const int levels = levels_of(c->params.kind, part->a + part->b, variant);
        for (int l = 0; l < levels; l++, sums++) {
            const int position = board->chosen.bottom[i] - l * step - part->layout.exponent;
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
        p->list = (unsigned *)bf_cuda_alloc(context, (size_t)p->groups * sizeof *p->list);
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

} // namespace

bf_status bf_cuda_joint_absorb(bf_context *context, const bf_job *job, int64_t *words) {
    joint_call c = {context, {}, bf_parts_of(job->kind, job->dtype)};
    int64_t sums[BF_PARTS_WORDS_MAX];
    c.params.a = job->a;
    c.params.b = job->b;
    c.params.count = job->count;
    c.params.chunks = (job->count + CHUNK - 1) / CHUNK;
    c.params.groups = (job->count + GROUP - 1) / GROUP;
    c.params.kind = job->kind;
    c.params.dtype = job->dtype;
    c.params.aligned = ((uintptr_t)job->a | (uintptr_t)job->b) % 16 == 0;
    bf_state_init(job->kind, job->dtype, sums);
    const bf_status status = absorb(&c, sums);
    if (status != BF_OK) return status;
    sums[BF_SUM_COUNT] += job->count;
    bf_sum_carry(job->kind, job->dtype, sums);
    bf_sum_merge(job->kind, job->dtype, words, sums);
    return BF_OK;
}
