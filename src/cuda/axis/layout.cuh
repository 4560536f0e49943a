/* Where the elements of a result are, for a thread. */
#ifndef BF_CUDA_AXIS_LAYOUT_CUH
#define BF_CUDA_AXIS_LAYOUT_CUH

#include "cuda/axis/axis.cuh"
#include "cuda/runtime/grid.cuh"

/* x / y and *rest; 32 bits divide much faster than 64. */
static __device__ __forceinline__ int64_t bf_cuda_axis_divide(int64_t x, int64_t y, int64_t *rest) {
    int64_t quotient;
    if (((uint64_t)x | (uint64_t)y) >> 32 == 0)
        quotient = (int64_t)((uint32_t)x / (uint32_t)y);
    else
        quotient = x / y;
    *rest = x - quotient * y;
    return quotient;
}

/* A number below `all` for sample k, anywhere. */
static __device__ __forceinline__ int64_t bf_cuda_axis_pick(int64_t all, unsigned k,
                                                            uint64_t salt) {
    uint64_t x = (k + salt) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
    return (int64_t)__umul64hi(x ^ x >> 29, (uint64_t)all);
}

/* The offset of index `number` in these dimensions. */
static __device__ __noinline__ int64_t bf_cuda_axis_offset(int dims, const int64_t *shape,
                                                           const int64_t *strides, int64_t number) {
    int64_t at = 0;
    BF_ROLLED
    for (int d = dims - 1; d > 0; d--) {
        int64_t index;
        number = bf_cuda_axis_divide(number, shape[d], &index);
        at += index * strides[d];
    }
    return dims > 0 ? at + number * strides[0] : 0;
}

static __device__ __forceinline__ int64_t bf_cuda_axis_offset_at(const bf_cuda_axis_layout &at,
                                                                 int64_t s) {
    return at.wide ? ((const int64_t *)at.offsets)[s] : ((const int32_t *)at.offsets)[s];
}
/* Whether an offset is wrong: then kernels do nothing. */
static __device__ __forceinline__ bool bf_cuda_axis_is_wrong(const bf_cuda_axis_params &p) {
    return p.at.offsets != nullptr && p.board->wrong != ~0ull;
}

/* Do neighbours of a result lie nearer than results? */
static inline bool bf_cuda_axis_is_along(const bf_cuda_axis_layout &at) {
    if (at.offsets != nullptr) return at.width == 1;
    const int64_t step = at.reduced_strides[0][at.reduced - 1];
    const int64_t next = at.kept > 0 ? at.kept_strides[0][at.kept - 1] : INT64_MAX;
    return llabs(step) <= llabs(next);
}

/* The mean length of results. */
static inline int64_t bf_cuda_axis_mean(const bf_cuda_axis_layout &at) {
    return at.offsets != nullptr ? at.rows / (at.results / at.width) : at.length;
}

/* A result's elements: element j is number a + j * step of the array, if `plain`. */
struct bf_cuda_axis_line {
    int64_t a, b, length;
};

static __device__ __forceinline__ bf_cuda_axis_line
bf_cuda_axis_segment(const bf_cuda_axis_layout &at, int64_t slot, int64_t column) {
    int64_t first = bf_cuda_axis_offset_at(at, slot);
    bf_cuda_axis_line line;
    line.a = line.b = first * at.width + column;
    line.length = bf_cuda_axis_offset_at(at, slot + 1) - first;
    return line;
}

static __device__ __forceinline__ bf_cuda_axis_line
bf_cuda_axis_line_of(const bf_cuda_axis_layout &at, int64_t r) {
    bf_cuda_axis_line line;
    if (at.offsets != nullptr) {
        int64_t column = 0;
        if (at.width > 1) r = bf_cuda_axis_divide(r, at.width, &column);
        return bf_cuda_axis_segment(at, r, column);
    }
    line.a = bf_cuda_axis_offset(at.kept, at.kept_shape, at.kept_strides[0], r);
    line.b = bf_cuda_axis_offset(at.kept, at.kept_shape, at.kept_strides[1], r);
    line.length = at.length;
    return line;
}

/* Elements between neighbours of a line that has one reduced dimension at most. */
static __device__ __forceinline__ int64_t bf_cuda_axis_step(const bf_cuda_axis_layout &at,
                                                            int operand) {
    return at.offsets != nullptr ? at.width : at.reduced > 0 ? at.reduced_strides[operand][0] : 0;
}

static __device__ __forceinline__ int64_t bf_cuda_axis_element(const bf_cuda_axis_layout &at,
                                                               int operand, int64_t j) {
    if (at.offsets != nullptr) return j * at.width;
    return bf_cuda_axis_offset(at.reduced, at.reduced_shape, at.reduced_strides[operand], j);
}

#endif
