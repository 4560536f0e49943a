/* Reading of arrays in vectors of 16 bytes, several at a time. */
#ifndef BF_CUDA_RUNTIME_ELEMENTS_CUH
#define BF_CUDA_RUNTIME_ELEMENTS_CUH

#include "cuda/runtime/grid.cuh"

/* The elements of a vector. */
template <class E> struct bf_cuda_elements {
    E e[16 / sizeof(E)];
    __device__ __forceinline__ explicit bf_cuda_elements(uint4 v) { memcpy(e, &v, sizeof v); }
};

/* The vectors of an array, and the corresponding ones of a second array. Elements count from the
 * start of vector 0, which may begin before the array; the last vector may end behind it. Elements
 * outside the array read as 0. */
template <class E, bool Pair> struct bf_cuda_operands {
    using Element = E;
    static constexpr bool pair = Pair;
    static constexpr int N = 16 / (int)sizeof(E);
    const E *a, *b;
    int64_t before, end; /* elements [before, end) are the array's */
    int64_t count;       /* vectors */
    bool aligned;        /* b's vectors are aligned, too */

    /* From p.a, p.b and p.count of a kernel's parameters. */
    template <class P> __device__ explicit bf_cuda_operands(const P &p) {
        uintptr_t skip = (uintptr_t)p.a & 15;
        a = (const E *)((uintptr_t)p.a - skip);
        before = (int64_t)(skip / sizeof(E));
        end = before + p.count;
        count = (end + N - 1) / N;
        b = Pair ? (const E *)p.b - before : nullptr;
        aligned = ((uintptr_t)b & 15) == 0;
    }
    __device__ __forceinline__ bool holds(int64_t at) const { return at >= before && at < end; }
    __device__ __forceinline__ bool whole(int64_t i) const {
        return i * N >= before && (i + 1) * N <= end;
    }
    __device__ __forceinline__ E element(int64_t at) const { return a[at]; }

    __device__ __forceinline__ uint4 load_a(int64_t i) const {
        return whole(i) ? ((const uint4 *)a)[i] : gather(a, i);
    }
    __device__ __forceinline__ uint4 load_b(int64_t i) const {
        return aligned && whole(i) ? ((const uint4 *)b)[i] : gather(b, i);
    }

  private:
    __device__ uint4 gather(const E *from, int64_t i) const {
        E e[N];
        uint4 v;
#pragma unroll
        for (int k = 0; k < N; k++) {
            memset(&e[k], 0, sizeof(E));
            if (holds(i * N + k)) e[k] = from[i * N + k];
        }
        memcpy(&v, e, sizeof v);
        return v;
    }
};

/* A tile of a block; this is a thread's part of it: `size` vectors of each array. */
template <class Operands, int size> struct bf_cuda_tile {
    uint4 a[size], b[Operands::pair ? size : 1];

    static __device__ __forceinline__ int64_t vector(int64_t number, int v) {
        return (number * size + v) * blockDim.x + threadIdx.x;
    }
    static __device__ int64_t number_of(const Operands &e) {
        return (e.count + size * blockDim.x - 1) / (size * blockDim.x);
    }
    /* Returns whether all vectors of a tile lie within the arrays. */
    static __device__ __forceinline__ bool whole(const Operands &e, int64_t number) {
        int64_t first = number * size * blockDim.x, end = first + size * blockDim.x;
        return e.whole(first) && e.whole(end - 1) && (!Operands::pair || e.aligned);
    }
    __device__ __forceinline__ void load(const Operands &e, int64_t number) {
        bool all = whole(e, number);
#pragma unroll
        for (int v = 0; v < size; v++) load(e, number, v, all);
    }
    /* Loads vector v of a tile. all: the tile is whole. */
    __device__ __forceinline__ void load(const Operands &e, int64_t number, int v, bool all) {
        int64_t i = vector(number, v);
        if (all) {
            a[v] = ((const uint4 *)e.a)[i];
            if (Operands::pair) b[v] = ((const uint4 *)e.b)[i];
        } else {
            a[v] = e.load_a(i);
            if (Operands::pair) b[v] = e.load_b(i);
        }
    }
};

#endif
