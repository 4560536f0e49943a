/* Reading of arrays of floats by warps: in strips of 16-byte vectors; elements before the first
 * strip and after the last are read one by one. */
#ifndef BF_CUDA_RUNTIME_STRIP_CUH
#define BF_CUDA_RUNTIME_STRIP_CUH

#include "cuda/runtime/grid.cuh"

/* Loads a vector that is read once, past the multiprocessor's own cache. */
static __device__ __forceinline__ uint4 bf_cuda_stream(const void *at) {
    uint4 v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at));
    return v;
}

/* A strip: the tile of a warp. Each lane has `size` vectors of it, and the corresponding ones of a
 * second array. */
template <class E, bool Pair, int size> struct bf_cuda_strip {
    static constexpr int N = 16 / (int)sizeof(E), elements = size * BF_CUDA_WARP * N;
    uint4 a[size], b[Pair ? size : 1];

    struct Array {
        const E *a, *b;
        int64_t count;
        int head;        /* elements before the first strip */
        unsigned strips; /* whole ones */
        bool aligned;    /* b's vectors are aligned, too */

        /* From p.a, p.b and p.count of a kernel's parameters. */
        template <class P> __device__ explicit Array(const P &p) {
            a = (const E *)p.a;
            b = Pair ? (const E *)p.b : nullptr;
            count = p.count;
            head = (int)((0 - (uintptr_t)a) & 15) / (int)sizeof(E);
            if (head > count) head = (int)count;
            strips = (unsigned)((count - head) / elements);
            aligned = !Pair || ((uintptr_t)(b + head) & 15) == 0;
        }
        /* The elements beside the strips: their number, and the index of one. */
        __device__ int ends() const { return (int)(count - (int64_t)strips * elements); }
        __device__ int64_t end(int i) const {
            return i < head ? i : (int64_t)strips * elements + i;
        }
        /* Returns the index of this lane's first element of strip n. */
        __device__ __forceinline__ int64_t first(unsigned n) const {
            return head + (int64_t)n * elements + (int)threadIdx.x % BF_CUDA_WARP * N;
        }
    };

    /* Returns the elements between a lane's first element of a strip and its vector v. */
    static __device__ constexpr int step(int v) { return v * BF_CUDA_WARP * N; }

    /* Loads vector v of the strip whose first elements, for this lane, are at x and y. */
    __device__ __forceinline__ void load(const E *x, const E *y, bool aligned, int v) {
        a[v] = bf_cuda_stream(x + step(v));
        if (!Pair) return;
        if (aligned)
            b[v] = bf_cuda_stream(y + step(v));
        else
            b[v] = gather(y + step(v));
    }
    __device__ __forceinline__ void load(const Array &s, unsigned n) {
        const int64_t first = s.first(n);
#pragma unroll
        for (int v = 0; v < size; v++) load(s.a + first, s.b + first, s.aligned, v);
    }

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
