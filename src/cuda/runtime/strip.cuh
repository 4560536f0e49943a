/* Reading of arrays of floats by warps: in strips of 16-byte vectors; elements before the first
 * strip and after the last are read one by one. */
#ifndef BF_CUDA_RUNTIME_STRIP_CUH
#define BF_CUDA_RUNTIME_STRIP_CUH

#include "cuda/runtime/grid.cuh"

/* Where strips of `elements` elements lie, of which a lane has vectors of N. */
template <int elements, int N> struct bf_cuda_strips {
    int64_t count;
    int head;        /* elements before the first strip */
    unsigned strips; /* whole ones */

    __device__ bf_cuda_strips(int64_t all, int before) {
        count = all;
        head = before > all ? (int)all : before;
        strips = (unsigned)((count - head) / elements);
    }
    /* The elements beside the strips: their number, and the index of one. */
    __device__ int ends() const { return (int)(count - (int64_t)strips * elements); }
    __device__ int64_t end(int i) const { return i < head ? i : (int64_t)strips * elements + i; }
    /* Returns the index of this lane's first element of strip n. */
    __device__ __forceinline__ int64_t first(unsigned n) const {
        return head + (int64_t)n * elements + (int)threadIdx.x % BF_CUDA_WARP * N;
    }
};

/* A strip: the tile of a warp. Each lane has `size` vectors of it, and the corresponding ones of a
 * second array. */
template <class E, bool Pair, int size> struct bf_cuda_strip {
    static constexpr int N = 16 / (int)sizeof(E), elements = size * BF_CUDA_WARP * N;
    uint4 a[size], b[Pair ? size : 1];

    struct Array : bf_cuda_strips<elements, N> {
        const E *a, *b;
        bool aligned; /* b's vectors are aligned, too */

        /* From p.a, p.b and p.count of a kernel's parameters. */
        template <class P>
        __device__ explicit Array(const P &p)
            : bf_cuda_strips<elements, N>(p.count,
                                          (int)((0 - (uintptr_t)p.a) & 15) / (int)sizeof(E)) {
            a = (const E *)p.a;
            b = Pair ? (const E *)p.b : nullptr;
            aligned = !Pair || ((uintptr_t)(b + this->head) & 15) == 0;
        }
        __device__ __forceinline__ E element(int64_t at) const { return a[at]; }
        __device__ __forceinline__ E other(int64_t at) const { return b[at]; }
    };

    /* A lane's first element of a strip. */
    struct Place {
        const E *x, *y;
        __device__ __forceinline__ Place(const Array &s, unsigned n) {
            const int64_t first = s.first(n);
            x = s.a + first;
            y = Pair ? s.b + first : x;
        }
        __device__ __forceinline__ void move(unsigned by) {
            x += by;
            if (Pair) y += by;
        }
        __device__ __forceinline__ int64_t index(const Array &s) const { return x - s.a; }
    };

    /* These do as much before there is an Array. All threads open the parameters first. */
    template <class P> static __device__ void open(const P &) {}
    template <class P> static __device__ __forceinline__ E element(const P &p, int64_t at) {
        return ((const E *)p.a)[at];
    }
    template <class P> static __device__ __forceinline__ E other(const P &p, int64_t at) {
        return ((const E *)p.b)[at];
    }
    template <class P> static __device__ __forceinline__ void prefetch(const P &p, int64_t at) {
        bf_cuda_prefetch((const E *)p.a + at);
        if (Pair) bf_cuda_prefetch((const E *)p.b + at);
    }

    /* Returns the elements between a lane's first element of a strip and its vector v. */
    static __device__ constexpr int step(int v) { return v * BF_CUDA_WARP * N; }

    /* Loads vector v of the strip at a place. The vectors are loaded in order. */
    __device__ __forceinline__ void load(const Array &s, const Place &at, int v) {
        a[v] = bf_cuda_stream(at.x + step(v));
        if (!Pair) return;
        if (s.aligned)
            b[v] = bf_cuda_stream(at.y + step(v));
        else
            b[v] = gather(at.y + step(v));
    }
    __device__ __forceinline__ void load(const Array &s, unsigned n) {
        const Place at(s, n);
#pragma unroll
        for (int v = 0; v < size; v++) load(s, at, v);
    }

    /* The elements of vector v. */
    __device__ __forceinline__ uint4 get(const Array &, int v) const { return a[v]; }

    /* Moves vectors 1 and on to 0 and on. */
    __device__ __forceinline__ void move_up() {
#pragma unroll
        for (int v = 1; v < size; v++) {
            a[v - 1] = a[v];
            if (Pair) b[v - 1] = b[v];
        }
    }

  private:
    static __device__ __forceinline__ uint4 gather(const E *from) {
        E e[N];
        uint4 v;
#pragma unroll
        for (int k = 0; k < N; k++) e[k] = from[k];
        memcpy(&v, e, sizeof v);
        return v;
    }
};

#endif
