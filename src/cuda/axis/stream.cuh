/* How a thread reads many elements: in vectors, some of which are under way while it adds others.
 */
#ifndef BF_CUDA_AXIS_STREAM_CUH
#define BF_CUDA_AXIS_STREAM_CUH

#include "cuda/axis/layout.cuh"

/* A thread's vectors of one operand: the first one, and the bytes from one to the next. */
struct bf_cuda_axis_vector_line {
    const char *at;
    int64_t step;
    bool whole; /* the vectors are aligned, and all of their elements are there */
};

/* Vectors of n elements: all for one accumulator, or one for each of W = n. */
template <class A, int W, int n> struct bf_cuda_axis_stream {
    using C = typename A::Class;
    using Value = typename A::Value;
    static constexpr int U = 64 / (n * (int)sizeof(Value)) / (A::pair ? 2 : 1);

    const bf_cuda_axis_params &p;
    bf_cuda_axis_vector_line a, b;
    int some; /* elements of a vector that is not whole */

    __device__ __forceinline__ uint4 load(const bf_cuda_axis_vector_line &line, int k) const {
        const char *at = line.at + k * line.step;
        if (line.whole) return C::template fetch<n>(p, at);
        return C::template gather<n>(p, at, some);
    }
    /* Takes `count` vectors; the first element has this index, and vectors are `step` apart. */
    __device__ __forceinline__ void take(A (&sums)[W], int count, int64_t index, int step) {
        uint4 x[U], y[A::pair ? U : 1];
#pragma unroll
        for (int k = 0; k < U; k++) {
            if (k >= count) continue;
            x[k] = load(a, k);
            if (A::pair) y[k] = load(b, k);
        }
#pragma unroll 1
        for (int i = 0; i < count; i += U) {
#pragma unroll
            for (int k = 0; k < U; k++) {
                if (i + k >= count) break;
                Value u[n], v[n];
                C::template unpack<n>(p, x[k], u);
                if (A::pair) C::template unpack<n>(p, y[k], v);
                if (i + k + U < count) {
                    x[k] = load(a, k + U);
                    if (A::pair) y[k] = load(b, k + U);
                }
                if constexpr (W > 1)
                    A::take_all(sums, u, v, index + (int64_t)(i + k) * step);
                else
                    sums[0].take(u, v, index + (int64_t)(i + k) * step, 1, n);
            }
            a.at += U * a.step;
            if (A::pair) b.at += U * b.step;
#pragma unroll
            for (int w = 0; w < W; w++) sums[w].keep(U * (W > 1 ? 1 : n));
        }
    }
};

/* Is a vector of n elements at this address aligned? */
template <class C, int n>
static __device__ __forceinline__ bool bf_cuda_axis_is_aligned(const bf_cuda_axis_params &p,
                                                               const char *at) {
    return ((uintptr_t)at & (unsigned)(n * p.element - 1)) == 0;
}

/* Takes elements [from, to) of a line, of which neighbours lie next to each other, by `lanes`
 * threads. Indices begin with `index`. */
template <class A>
static __device__ __forceinline__ void
bf_cuda_axis_take_line(const bf_cuda_axis_params &p, A (&sum)[1], int64_t a, int64_t b,
                       int64_t from, int64_t to, int lane, int lanes, int64_t index) {
    using C = typename A::Class;
    using Value = typename A::Value;
    constexpr int N = C::N;
    const char *x = (const char *)p.a + (a + from) * p.element;
    const char *y = A::pair ? (const char *)p.b + (b + from) * p.element : x;
    const int length = (int)(to - from);
    int head = (int)((0 - (uintptr_t)x) & (unsigned)(N * p.element - 1)) >> (__ffs(p.element) - 1);
    if (N == 1) head = 0;
    if (head > length) head = length;
    const int vectors = (length - head) / N, ends = length - vectors * N;
    for (int i = lane; i < ends; i += lanes) {
        const int64_t j = i < head ? i : i + vectors * N;
        Value u[1], v[1];
        C::template unpack<1>(p, C::template gather<1>(p, x + j * p.element, 1), u);
        if (A::pair) C::template unpack<1>(p, C::template gather<1>(p, y + j * p.element, 1), v);
        sum[0].take(u, v, index + from + j, 1, 1);
    }
    sum[0].keep(2 * N);
    if (lane >= vectors) return;
    const int64_t step = (int64_t)lanes * N * p.element;
    const int64_t first = head + (int64_t)lane * N;
    const char *to_y = y + first * p.element;
    bf_cuda_axis_stream<A, 1, N> s = {
        p,
        {x + first * p.element, step, true},
        {to_y, step, !A::pair || bf_cuda_axis_is_aligned<C, N>(p, to_y)},
        N};
    s.take(sum, (vectors - lane + lanes - 1) / lanes, index + from + first, lanes * N);
}

#endif
