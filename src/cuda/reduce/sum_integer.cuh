/* Exact sums of integers: of x, of products, or of both, as int64 sums of 32-bit parts. */
#ifndef BF_CUDA_REDUCE_SUM_INTEGER_CUH
#define BF_CUDA_REDUCE_SUM_INTEGER_CUH

#include "cuda/reduce/fold.cuh"
#include "cuda/runtime/element.cuh"

/* --- what a thread keeps: part i weighs 2^(32 i) --- */

/* Sums of the elements of a vector, and of the products of two, by their size and sign. */
template <class E, bool Signed, int Bytes> struct bf_cuda_integer;

/* Bytes, four at a time: their sums stay far from 2^31 in a vector. */
template <class E, bool Signed> struct bf_cuda_integer<E, Signed, 1> {
    static constexpr int sums = 1, products = 1;
    static __device__ __forceinline__ void sum(uint4 a, int64_t *v) {
        const unsigned ones = 0x01010101u;
        if (Signed)
            v[0] += __dp4a((int)a.x, (int)ones,
                           __dp4a((int)a.y, (int)ones,
                                  __dp4a((int)a.z, (int)ones, __dp4a((int)a.w, (int)ones, 0))));
        else
            v[0] += __dp4a(a.x, ones, __dp4a(a.y, ones, __dp4a(a.z, ones, __dp4a(a.w, ones, 0u))));
    }
    static __device__ __forceinline__ void product(uint4 a, uint4 b, int64_t *v) {
        if (Signed)
            v[0] += __dp4a((int)a.x, (int)b.x,
                           __dp4a((int)a.y, (int)b.y,
                                  __dp4a((int)a.z, (int)b.z, __dp4a((int)a.w, (int)b.w, 0))));
        else
            v[0] += __dp4a(a.x, b.x, __dp4a(a.y, b.y, __dp4a(a.z, b.z, __dp4a(a.w, b.w, 0u))));
    }
};

template <class E, bool Signed> struct bf_cuda_integer<E, Signed, 2> {
    static constexpr int sums = 1, products = 1;
    static __device__ __forceinline__ void sum(uint4 a, int64_t *v) {
        bf_cuda_elements<E> e(a);
        int sum = 0;
#pragma unroll
        for (int k = 0; k < 8; k++) sum += (int)e.e[k];
        v[0] += sum;
    }
    static __device__ __forceinline__ void product(uint4 a, uint4 b, int64_t *v) {
        bf_cuda_elements<E> x(a), y(b);
#pragma unroll
        for (int k = 0; k < 8; k++)
            v[0] += Signed ? (int64_t)x.e[k] * y.e[k]
                           : (int64_t)((uint64_t)(unsigned)x.e[k] * (unsigned)y.e[k]);
    }
};

template <class E, bool Signed> struct bf_cuda_integer<E, Signed, 4> {
    static constexpr int sums = 1, products = 2;
    static __device__ __forceinline__ void sum(uint4 a, int64_t *v) {
        bf_cuda_elements<E> e(a);
#pragma unroll
        for (int k = 0; k < 4; k++) v[0] += (int64_t)e.e[k];
    }
    static __device__ __forceinline__ void product(uint4 a, uint4 b, int64_t *v) {
        bf_cuda_elements<E> x(a), y(b);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            uint64_t p = Signed ? (uint64_t)((int64_t)x.e[k] * (int64_t)y.e[k])
                                : (uint64_t)x.e[k] * (uint64_t)y.e[k];
            v[0] += (unsigned)p;
            v[1] += Signed ? (int64_t)p >> 32 : (int64_t)(p >> 32);
        }
    }
};

template <class E, bool Signed> struct bf_cuda_integer<E, Signed, 8> {
    static constexpr int sums = 2, products = 4;
    static __device__ __forceinline__ int64_t upper(uint64_t x) {
        return Signed ? (int64_t)x >> 32 : (int64_t)(x >> 32);
    }
    static __device__ __forceinline__ void sum(uint4 a, int64_t *v) {
        bf_cuda_elements<E> e(a);
#pragma unroll
        for (int k = 0; k < 2; k++) {
            v[0] += (unsigned)e.e[k];
            v[1] += upper((uint64_t)e.e[k]);
        }
    }
    static __device__ __forceinline__ void product(uint4 a, uint4 b, int64_t *v) {
        bf_cuda_elements<E> x(a), y(b);
#pragma unroll
        for (int k = 0; k < 2; k++) {
            uint64_t low = (uint64_t)x.e[k] * (uint64_t)y.e[k];
            uint64_t high = Signed ? (uint64_t)__mul64hi((long long)x.e[k], (long long)y.e[k])
                                   : __umul64hi((uint64_t)x.e[k], (uint64_t)y.e[k]);
            v[0] += (unsigned)low;
            v[1] += (int64_t)(low >> 32);
            v[2] += (unsigned)high;
            v[3] += upper(high);
        }
    }
};

/* --- the loop --- */

template <bf_dtype D, bf_kind Kind, class SideFold> struct bf_cuda_integer_loop {
    using E = bf_cuda_element::stored_of<D>;
    using Parts = bf_cuda_integer<E, std::is_signed<E>::value, (int)sizeof(E)>;
    using Side = SideFold;
    static constexpr bool pair = Kind == BF_KIND_DOT;
    static constexpr bool has_sum = Kind != BF_KIND_SQUARES && Kind != BF_KIND_DOT;
    static constexpr bool has_product = Kind != BF_KIND_SUM;
    static constexpr int of_sum = has_sum ? Parts::sums : 0;
    static constexpr int of_product = has_product ? Parts::products : 0;
    static constexpr int sums = of_sum + of_product;
    static constexpr int threads = BF_CUDA_THREADS, blocks = Side::words > 0 ? 1 : 2;
    static constexpr int tile = pair || sums > 4 ? 2 : 4;
    struct Shared {};
    using Block = bf_cuda_block<bf_cuda_integer_loop>;
    static int tables(int) { return 0; }
    static int shared_bytes(int, int) { return 0; }

    /* Bools as 0 and 1. */
    static __device__ __forceinline__ uint4 truth(uint4 a) {
        if (D != BF_BOOL) return a;
        const unsigned ones = 0x01010101u;
        return make_uint4(__vminu4(a.x, ones), __vminu4(a.y, ones), __vminu4(a.z, ones),
                          __vminu4(a.w, ones));
    }

    static __device__ __forceinline__ void add(uint4 a, uint4 b, int64_t *values) {
        a = truth(a);
        if (has_sum) Parts::sum(a, values);
        if (has_product) Parts::product(a, pair ? truth(b) : a, values + of_sum);
    }

    /* Adds the elements of one array, which the side takes as well. */
    struct Taker {
        int64_t *values;
        Side &side;

        __device__ __forceinline__ void take(const E (&elements)[16 / sizeof(E)], int64_t index) {
            uint4 v;
            memcpy(&v, elements, sizeof v);
            add(v, v, values);
            side.take(elements, index);
        }
        __device__ __forceinline__ void take_one(E element, int64_t index) {
            uint4 v = make_uint4(0, 0, 0, 0);
            memcpy(&v, &element, sizeof element);
            add(v, v, values);
            side.take_one(element, index);
        }
    };

    /* Two arrays: the next tile is on its way while another is taken. */
    static __device__ __forceinline__ void take_pairs(const bf_cuda_params &p, int64_t *values) {
        using Pairs = bf_cuda_operands<E, true>;
        Pairs e(p);
        bf_cuda_tile<Pairs, tile> next;
        int64_t tiles = next.number_of(e);
        next.load(e, blockIdx.x);
        for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
            const bf_cuda_tile<Pairs, tile> now = next;
            if (number + gridDim.x < tiles) next.load(e, number + gridDim.x);
#pragma unroll
            for (int v = 0; v < tile; v++) add(now.a[v], now.b[v], values);
        }
    }

    static __device__ unsigned run(const bf_cuda_params &p, Block *, bf_cuda_no_look,
                                   int64_t *values, Side &side) {
        Taker taker = {values, side};
        side.start();
#pragma unroll
        for (int i = 0; i < sums; i++) values[i] = 0;
        if (pair)
            take_pairs(p, values);
        else
            bf_cuda_sweep<E, tile>::run(p, taker);
        __syncthreads();
        return 0;
    }

    static __device__ void finish(const bf_cuda_params &p, Block *block) {
        const bf_cuda_series s = {of_sum, of_product, 0, 0, -32};
        bf_cuda_finish<D, Kind, Side, false>(p, s, block->sums.total, 0, 0, block->side.total.at);
    }
};

#endif
