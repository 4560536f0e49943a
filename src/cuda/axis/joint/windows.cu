/* Elements of many results in windows: the sums of levels, of each result. */
#include "cuda/axis/joint/joint.cuh"

#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/warp.cuh"

namespace {

using namespace bf_cuda_joint;

enum {
    SAMPLES = 16, /* each lane takes so many */
    SPAN = 4096,  /* rows of longer ones that a warp takes at a time */
    SPAN_OF_COLUMNS = 512,
    LEAST_COLUMNS = 16 /* so many columns lie well for lanes that take one each */
};

/* ---- the choice of windows ------------------------------------------------------------------- */

template <class Source>
__global__ void choose_windows(const __grid_constant__ bf_cuda_joint_params q) {
    const bf_cuda_axis_params &p = q.axis;
    const bool rows = p.at.offsets != nullptr;
    const int64_t count = rows ? p.at.rows * p.at.width : p.at.results * p.at.length;
    bf_extent a = bf_cuda_extent(0), b = a;
    for (int i = 0; i < SAMPLES && count > 0; i++) {
        const unsigned k = (unsigned)i * BF_CUDA_WARP + threadIdx.x;
        bf_cuda_axis_line line = {0, 0, 0};
        int64_t j = 0;
        if (rows) {
            line.a = line.b = bf_cuda_axis_pick(count, k, 1);
        } else {
            line = bf_cuda_axis_line_of(p.at, bf_cuda_axis_pick(p.at.results, k, 1));
            j = bf_cuda_axis_pick(p.at.length, k, 1 << 20);
        }
        const auto at = [&](int operand) {
            return rows ? 0 : bf_cuda_axis_element(p.at, operand, j);
        };
        bf_cuda_extent_join(&a,
                            extent_of<Source>(p.kind, Source::at(p.dtype, p.a, line.a + at(0))));
        if (p.b != nullptr)
            bf_cuda_extent_join(
                &b, extent_of<Source>(p.kind, Source::at(p.dtype, p.b, line.b + at(1))));
    }
    /* One fibre of 4096 may not fit, where numbers lie around 0. */
    int spare = spare_for(count / (SAMPLES * BF_CUDA_WARP));
    if (!rows) spare = min(spare, bf_bit_length((uint64_t)p.at.length) + 3);
    choose<Source>(p.kind, p.dtype, Source::first, a, b, spare, &q.board->chosen);
}

/* ---- sums ------------------------------------------------------------------------------------ */

template <class Source, bf_kind Kind, int Variant> struct adder {
    using Parts = sums_of<Kind, Variant>;
    const bf_cuda_joint_params &q;
    room<Source, Parts::levels> *shared;
    level_sums sums;
    Parts all;

    __device__ adder(const bf_cuda_joint_params &of, int64_t *memory)
        : q(of), shared((room<Source, Parts::levels> *)memory), sums(shared->sums) {
        all.open(q.board->chosen.bottom);
        for (int l = 0; l < Parts::levels; l++) sums[l][threadIdx.x] = 0;
    }
    /* Takes elements `from`, from + step and so on below `end` of a line. Returns whether all fit.
     */
    __device__ __forceinline__ bool take(const bf_cuda_axis_line &line, int64_t from, int64_t end,
                                         int step) {
        const bf_cuda_axis_params &p = q.axis;
        const bool plain = p.at.offsets != nullptr || p.at.reduced == 1;
        const int64_t step_a = bf_cuda_axis_step(p.at, 0), step_b = bf_cuda_axis_step(p.at, 1);
        const auto at_a = [&](int64_t i) {
            return line.a + (plain ? i * step_a : bf_cuda_axis_element(p.at, 0, i));
        };
        const auto at_b = [&](int64_t i) {
            return line.b + (plain ? i * step_b : bf_cuda_axis_element(p.at, 1, i));
        };
        bool fits = true;
        for (int64_t i = from; i < end; i += ROWS * step) {
            fits &= take_rows<Source>(p.dtype, p.a, p.b, i, rows_of(i, end, step), step, at_a, at_b,
                                      shared, all);
            all.fold(sums);
        }
        return fits;
    }
    __device__ void add(int64_t r, int level, bf_cuda_pair sum) const {
        level_sum *to = bf_cuda_joint_sum_of(q, r - q.first, level);
        atomicAdd(&to->lo, (unsigned long long)sum.lo);
        atomicAdd(&to->hi, (unsigned long long)sum.hi);
    }
    /* The lanes of a warp have taken elements of the same result. */
    __device__ void leave_together(int64_t r, bool fits) {
        const bool first = threadIdx.x % BF_CUDA_WARP == 0;
        if (!__all_sync(~0u, fits) && first) bf_cuda_joint_set(q.marks, r - q.first);
        for (int l = 0; l < Parts::levels; l++) {
            const bf_cuda_pair sum = bf_cuda_warp_sum(sums[l][threadIdx.x]);
            if (first) add(r, l, sum);
            sums[l][threadIdx.x] = 0;
        }
    }
    /* Each lane has taken all n elements of a result of its own; -1: of none. */
    __device__ void finish(int64_t r, int64_t n, bool fits) {
        if (r >= 0 && !(fits && prove(r, n))) bf_cuda_joint_set(q.marks, r - q.first);
        for (int l = 0; l < Parts::levels; l++) sums[l][threadIdx.x] = 0;
    }
    __device__ __noinline__ bool prove(int64_t r, int64_t n) const {
        constexpr int step = step_of(Kind, Variant);
        bf_cuda_estimate sum[BF_PARTS_MOST] = {};
        int first = 0;
#pragma unroll
        for (int k = 0; k < BF_PARTS_MOST; k++) {
            const int powers = bf_kind_part(Kind, k);
            if (powers == 0) break;
            const int levels = levels_of(Kind, (powers >> 4) + (powers & 15), Variant);
            bf_i128 level[window_levels_of(BF_FACTORS_MOST, VARIANTS - 1)];
            for (int l = 0; l < levels; l++) level[l] = sums[first + l][threadIdx.x];
            sum[k] = bf_cuda_estimates::of_levels(level, levels, q.board->chosen.bottom[k], step);
            first += levels;
        }
        return bf_cuda_joint_prove<Kind>(q.axis, r, n, sum);
    }
    /* Each lane has taken some elements of a result of its own; -1: of none. */
    __device__ void leave(int64_t r, bool fits) {
        if (r < 0) return;
        if (!fits) bf_cuda_joint_set(q.marks, r - q.first);
        for (int l = 0; l < Parts::levels; l++) {
            const int64_t x = sums[l][threadIdx.x];
            add(r, l, {x & 0xffffffff, x >> 32});
            sums[l][threadIdx.x] = 0;
        }
    }
};

/* A warp takes tasks when it has done others: of many, several at a time. It asks for the next ones
 * before it begins some. */
template <class Take>
__device__ __forceinline__ void each_task(unsigned long long *taken, int64_t count,
                                          const Take &take) {
    const int64_t warps = (int64_t)gridDim.x * (THREADS / BF_CUDA_WARP),
                  each = count / (32 * warps) + 1;
    const bool asks = threadIdx.x % BF_CUDA_WARP == 0;
    unsigned long long next = asks ? atomicAdd(taken, 1ull) : 0;
    for (;;) {
        const int64_t first = (int64_t)__shfl_sync(~0u, next, 0) * each;
        if (first >= count) return;
        if (asks) next = atomicAdd(taken, 1ull);
        for (int64_t task = first; task < min(first + each, count); task++) take(task);
    }
}

/* ---- fibres and short segments --------------------------------------------------------------- */

/* A warp takes a piece of a fibre whose elements are neighbours; else each lane takes one of its
 * own, or a short segment, or a column of one. */
template <class Adder> __device__ void take_results(const bf_cuda_joint_params &q, Adder &sums) {
    const int lane = (int)threadIdx.x % BF_CUDA_WARP;
    const bool segments = q.axis.at.offsets != nullptr, along = q.axis.along && !segments;
    const int64_t results = q.end - q.first, pieces = segments ? 1 : q.pieces;
    const int64_t longest = segments ? BF_CUDA_JOINT_OWN : INT64_MAX;
    const int64_t each = segments ? BF_CUDA_JOINT_OWN : q.piece;
    const bool whole = segments || q.direct; /* a lane has all of a result */
    const int64_t groups = along ? results : (results + BF_CUDA_WARP - 1) / BF_CUDA_WARP;
    unsigned long long *taken = segments ? &q.board->taken_short : &q.board->taken;
    each_task(taken, groups * pieces, [&](int64_t task) {
        int64_t piece;
        const int64_t group = bf_cuda_axis_divide(task, pieces, &piece);
        const int64_t r = q.first + (along ? group : group * BF_CUDA_WARP + lane);
        const bf_cuda_axis_line line = bf_cuda_axis_line_of(q.axis.at, r < q.end ? r : q.first);
        const bool is_one = r < q.end && line.length <= longest;
        const int64_t from = piece * each, end = min(from + each, line.length);
        if (along)
            sums.leave_together(r, sums.take(line, from + lane, end, BF_CUDA_WARP));
        else if (whole)
            sums.finish(is_one ? r : -1, line.length, !is_one || sums.take(line, from, end, 1));
        else
            sums.leave(is_one ? r : -1, !is_one || sums.take(line, from, end, 1));
    });
}

/* ---- long segments --------------------------------------------------------------------------- */

/* Rows [from, end) of the array: what a long segment has of them. A warp takes the segment's
 * columns, or those of one group. */
template <class Adder>
__device__ void take_part(const bf_cuda_joint_params &q, Adder &sums, int64_t slot, int64_t from,
                          int64_t end, int64_t group) {
    const bf_cuda_axis_layout &at = q.axis.at;
    const int lane = (int)threadIdx.x % BF_CUDA_WARP;
    const int64_t begin = bf_cuda_axis_offset_at(at, slot);
    from = max(from, begin) - begin;
    end = min(end, bf_cuda_axis_offset_at(at, slot + 1)) - begin;
    if (at.width >= LEAST_COLUMNS) {
        const int64_t column = group * BF_CUDA_WARP + lane;
        const bool is_one = column < at.width;
        const bf_cuda_axis_line line = bf_cuda_axis_segment(at, slot, is_one ? column : 0);
        sums.leave(is_one ? slot * at.width + column : -1,
                   !is_one || sums.take(line, from, end, 1));
        return;
    }
    for (int64_t column = 0; column < at.width; column++) {
        const bf_cuda_axis_line line = bf_cuda_axis_segment(at, slot, column);
        sums.leave_together(slot * at.width + column,
                            sums.take(line, from + lane, end, BF_CUDA_WARP));
    }
}

/* All longer segments: warps take equal spans of their rows. */
template <class Adder> __device__ void take_long(const bf_cuda_joint_params &q, Adder &sums) {
    const bf_cuda_axis_layout &at = q.axis.at;
    const int lane = (int)threadIdx.x % BF_CUDA_WARP;
    const int64_t first = q.first / at.width, last = q.end / at.width;
    const int64_t begin = bf_cuda_axis_offset_at(at, first);
    const int64_t rows = bf_cuda_axis_offset_at(at, last) - begin;
    const bool columns = at.width >= LEAST_COLUMNS;
    const int64_t span = columns ? SPAN_OF_COLUMNS : SPAN;
    const int64_t groups = columns ? (at.width + BF_CUDA_WARP - 1) / BF_CUDA_WARP : 1;
    each_task(&q.board->taken, (rows + span - 1) / span * groups, [&](int64_t task) {
        int64_t group;
        const int64_t from = begin + bf_cuda_axis_divide(task, groups, &group) * span;
        const int64_t end = min(from + span, begin + rows);
        int64_t slot = first + bf_cuda_count_first(last - first, [&](int64_t i) {
                           return bf_cuda_axis_offset_at(at, first + i + 1) <= from;
                       });
        for (bool more = true; more; slot += BF_CUDA_WARP) {
            const int64_t mine = slot + lane;
            const int64_t at_row = mine < last ? bf_cuda_axis_offset_at(at, mine) : INT64_MAX;
            const bool is_long =
                at_row < end && bf_cuda_axis_offset_at(at, mine + 1) - at_row > BF_CUDA_JOINT_OWN;
            for (unsigned left = __ballot_sync(~0u, is_long); left != 0; left &= left - 1)
                take_part(q, sums, slot + __ffs((int)left) - 1, from, end, group);
            more = __all_sync(~0u, at_row < end);
        }
    });
}

/* ---- kernels --------------------------------------------------------------------------------- */

template <class Source, bf_kind Kind, int Variant>
__device__ __forceinline__ void take_all(const bf_cuda_joint_params &q) {
    extern __shared__ int64_t shared[];
    adder<Source, Kind, Variant> sums(q, shared);
    take_results(q, sums);
    if (q.axis.at.offsets != nullptr) take_long(q, sums);
}

/* Does nothing where another variant was chosen. */
template <class Source, bf_kind Kind, int Variant>
__global__ void __launch_bounds__(THREADS, HELD)
    add_in_windows(const __grid_constant__ bf_cuda_joint_params q) {
    if (q.board->chosen.variant == Variant && !bf_cuda_axis_is_wrong(q.axis))
        take_all<Source, Kind, Variant>(q);
}

template <class Source, bf_kind Kind, int Variant>
cudaError_t launch_of_variant(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    const size_t shared = sizeof(room<Source, sums_of<Kind, Variant>::levels>);
    const int64_t many = (int64_t)1 << 32; /* warps without a task end at once */
    return launch_resident(cuda, add_in_windows<Source, Kind, Variant>, shared, many, q);
}

/* Each variant that is tried, from this one on. */
template <class Source, bf_kind Kind, int Variant>
cudaError_t launch_from(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    const cudaError_t error = launch_of_variant<Source, Kind, Variant>(cuda, q);
    if constexpr (Variant + 1 < Source::first + Source::tried)
        if (error == cudaSuccess) return launch_from<Source, Kind, Variant + 1>(cuda, q);
    return error;
}

template <class Source> cudaError_t launch_of(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    switch (q.axis.kind) {
    case BF_KIND_POWERS: return launch_from<Source, BF_KIND_POWERS, Source::first>(cuda, q);
    case BF_KIND_COMOMENTS: return launch_from<Source, BF_KIND_COMOMENTS, Source::first>(cuda, q);
    default: return launch_from<Source, BF_KIND_WEIGHTED, Source::first>(cuda, q);
    }
}

} // namespace

cudaError_t bf_cuda_joint_launch_choice(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    const bf_cuda_shape shape = {1, BF_CUDA_WARP, 0, false, false};
    switch (q.axis.dtype) {
    case BF_F64: return bf_cuda_launch(cuda, choose_windows<of_f64>, shape, q);
    case BF_F32: return bf_cuda_launch(cuda, choose_windows<of_f32>, shape, q);
    default: return bf_cuda_launch(cuda, choose_windows<of_others>, shape, q);
    }
}

cudaError_t bf_cuda_joint_launch_windows(const bf_cuda *cuda, const bf_cuda_joint_params &q) {
    switch (q.axis.dtype) {
    case BF_F64: return launch_of<of_f64>(cuda, q);
    case BF_F32: return launch_of<of_f32>(cuda, q);
    default: return launch_of<of_others>(cuda, q);
    }
}
