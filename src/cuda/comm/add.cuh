/* Adds vectors of several terms, element by element: exactly, rounded once.
 *
 * Most sums are proven exact in registers. The others are computed again by integers, from memory
 * (rules/reduce/terms.h). */
#ifndef BF_CUDA_COMM_ADD_CUH
#define BF_CUDA_COMM_ADD_CUH

#include "cuda/runtime/element.cuh"
#include "cuda/runtime/float.cuh"
#include "rules/reduce/terms.h"

namespace bf_cuda_add {

using namespace bf_cuda_element;

/* --- vectors of arrays that may be misaligned --- */

template <class W> static __device__ void copy_words(void *to, const void *from, int bytes) {
    BF_ROLLED
    for (int i = 0; i < bytes / (int)sizeof(W); i++) ((W *)to)[i] = ((const W *)from)[i];
}

/* Copies bytes in the largest words that are aligned on both sides, and make them up. */
static __device__ void copy_bytes(void *to, const void *from, int bytes) {
    unsigned all = (unsigned)((uintptr_t)to | (uintptr_t)from | (unsigned)bytes);
    if (all % 8 == 0)
        copy_words<uint64_t>(to, from, bytes);
    else if (all % 4 == 0)
        copy_words<uint32_t>(to, from, bytes);
    else if (all % 2 == 0)
        copy_words<uint16_t>(to, from, bytes);
    else
        copy_words<uint8_t>(to, from, bytes);
}

template <class E> static __device__ __forceinline__ bool is_whole(const E *p, int64_t left) {
    return left >= 16 / (int)sizeof(E) && (uintptr_t)p % 16 == 0;
}

/* Vectors of which not all exists, or that are not aligned. */
static __device__ __noinline__ uint4 load_odd(const void *p, int bytes) {
    uint4 v = {0, 0, 0, 0};
    copy_bytes(&v, p, bytes);
    return v;
}
static __device__ __noinline__ void store_odd(void *p, int bytes, uint4 v) {
    copy_bytes(p, &v, bytes);
}

template <class E> static __device__ __forceinline__ int bytes_of(int64_t left) {
    constexpr int N = 16 / (int)sizeof(E);
    return left < 0 ? 0 : left < N ? (int)left * (int)sizeof(E) : 16;
}

/* Returns the vector at p, of whose elements `left` exist; 0 stands for others. */
template <class E> static __device__ __forceinline__ uint4 load_part(const E *p, int64_t left) {
    if (is_whole(p, left)) return __ldcg((const uint4 *)p);
    return load_odd(p, bytes_of<E>(left));
}

template <class E> static __device__ __forceinline__ void store_part(E *p, int64_t left, uint4 v) {
    if (is_whole(p, left))
        *(uint4 *)p = v;
    else
        store_odd(p, bytes_of<E>(left), v);
}

/* --- the sum of one element --- */

/* f16, bf16 and f32. */
template <bf_dtype D> struct sum {
    using E = typename bf_cuda_float<D>::Element;
    double s, e;
    bool exact;
    __device__ __forceinline__ void begin(E x) {
        s = bf_cuda_float<D>::value(x);
        e = 0;
        exact = true;
    }
    __device__ __forceinline__ void add(E x) {
        exact &= bf_terms_add(&s, &e, bf_cuda_float<D>::value(x));
    }
    /* Returns the sum rounded. False: it is not proven. */
    __device__ __forceinline__ bool finish(E *out) const {
        double d = bf_terms_odd(s, e);
        if constexpr (D == BF_F32)
            *out = canonical((float)d);
        else
            *out = D == BF_F16 ? narrow_f16(bf_narrow_odd(d)) : narrow_bf16(bf_narrow_odd(d));
        return exact | !(s - s == 0);
    }
};

template <> struct sum<BF_F64> {
    double s, e, g;
    bool exact;
    __device__ __forceinline__ void begin(double x) {
        s = x;
        e = g = 0;
        exact = true;
    }
    __device__ __forceinline__ void add(double x) { exact &= bf_terms_add_f64(&s, &e, &g, x); }
    __device__ __forceinline__ bool finish(double *out) const {
        *out = bf_terms_f64(s, e, g);
        return exact & (*out - *out == 0);
    }
};

/* An accumulator for as many terms as ranks can have. */
template <int bytes> struct wide;
template <> struct wide<1> { typedef int32_t type; };
template <> struct wide<2> { typedef int32_t type; };
template <> struct wide<4> { typedef int64_t type; };
template <> struct wide<8> { typedef bf_i128 type; };

template <class E> struct integer_sum {
    typename wide<sizeof(E)>::type s;
    __device__ __forceinline__ void begin(E x) { s = x; }
    __device__ __forceinline__ void add(E x) { s += x; }
    /* False: it does not fit. */
    __device__ __forceinline__ bool finish(E *out) const {
        *out = (E)s;
        return *out == s;
    }
};
template <> struct sum<BF_I8> : integer_sum<int8_t> {};
template <> struct sum<BF_I16> : integer_sum<int16_t> {};
template <> struct sum<BF_I32> : integer_sum<int32_t> {};
template <> struct sum<BF_I64> : integer_sum<int64_t> {};
template <> struct sum<BF_U8> : integer_sum<uint8_t> {};
template <> struct sum<BF_U16> : integer_sum<uint16_t> {};
template <> struct sum<BF_U32> : integer_sum<uint32_t> {};
template <> struct sum<BF_U64> : integer_sum<uint64_t> {};

/* --- vectors --- */

/* Returns the sums of two vectors. *misfit: an integer does not fit. */
template <bf_dtype D>
static __device__ __forceinline__ uint4 add_pair(uint4 a, uint4 b, bool *misfit) {
    using E = stored_of<D>;
    constexpr int N = 16 / (int)sizeof(E);
    E x[N], y[N];
    memcpy(x, &a, 16);
    memcpy(y, &b, 16);
#pragma unroll
    for (int k = 0; k < N; k++) {
        if constexpr (is_integer(D)) {
            sum<D> s;
            s.begin(x[k]);
            s.add(y[k]);
            *misfit |= !s.finish(&x[k]);
        } else {
            x[k] = element<D>::encode(element<D>::decode(x[k]) + element<D>::decode(y[k]));
        }
    }
    memcpy(&a, x, 16);
    return a;
}

/* The sums of a vector's elements, term by term. */
template <bf_dtype D> struct chain {
    using E = stored_of<D>;
    static constexpr int N = 16 / (int)sizeof(E);
    sum<D> sums[N];
    __device__ __forceinline__ void begin(uint4 v) {
        E e[N];
        memcpy(e, &v, sizeof e);
#pragma unroll
        for (int k = 0; k < N; k++) sums[k].begin(e[k]);
    }
    __device__ __forceinline__ void add(uint4 v) {
        E e[N];
        memcpy(e, &v, sizeof e);
#pragma unroll
        for (int k = 0; k < N; k++) sums[k].add(e[k]);
    }
    /* Sets *which to the bits of those of the first `left` elements whose sum is not proven, or
     * does not fit. */
    __device__ __forceinline__ void finish(int64_t left, uint4 *v, unsigned *which) const {
        E e[N];
        *which = 0;
#pragma unroll
        for (int k = 0; k < N; k++) *which |= (unsigned)(!sums[k].finish(&e[k]) & (k < left)) << k;
        memcpy(v, e, sizeof e);
    }
};

/* Returns v with those elements computed by integers whose bits are set in `which`. They are the
 * elements from number `first` on of n arrays. */
template <bf_dtype D>
static __device__ __noinline__ uint4 add_by_integers(uint4 v, unsigned which, const void *const *in,
                                                     int n, int64_t first) {
    using E = stored_of<D>;
    E e[16 / sizeof(E)];
    memcpy(e, &v, sizeof e);
    BF_ROLLED
    for (; which != 0; which &= which - 1) {
        int k = __ffs((int)which) - 1;
        bool misfit = false;
        bf_terms terms = {D, n, in, first + k};
        uint64_t bits = bf_terms_sum(&terms, &misfit);
        memcpy(&e[k], &bits, sizeof(E));
    }
    memcpy(&v, e, sizeof v);
    return v;
}

/* The vectors that a thread adds at a time: at, at + stride, and so on. whole: arrays are aligned,
 * and end with a vector. */
template <bf_dtype D, bool whole> struct batch {
    using E = stored_of<D>;
    static constexpr int N = 16 / (int)sizeof(E);
    static constexpr int vectors = whole && N < 8 ? 4 / N : 1;
    uint4 out[vectors];
    unsigned failed[vectors]; /* by element: the sum is not proven, or does not fit */

    /* Adds arrays in[0 .. n), of `count` elements. */
    __device__ __forceinline__ void add(const void *const *in, int n, int64_t count, int at,
                                        int stride) {
        chain<D> chains[vectors];
        uint4 v[vectors], next[vectors];
        load(v, in[0], count, at, stride);
        if (n > 1) load(next, in[1], count, at, stride);
#pragma unroll
        for (int u = 0; u < vectors; u++) chains[u].begin(v[u]);
        BF_ROLLED
        for (int t = 1; t < n; t++) {
#pragma unroll
            for (int u = 0; u < vectors; u++) v[u] = next[u];
            if (t + 1 < n) load(next, in[t + 1], count, at, stride);
#pragma unroll
            for (int u = 0; u < vectors; u++) chains[u].add(v[u]);
        }
#pragma unroll
        for (int u = 0; u < vectors; u++)
            chains[u].finish(count - (int64_t)(at + u * stride) * N, &out[u], &failed[u]);
    }

  private:
    __device__ __forceinline__ void load(uint4 *v, const void *in, int64_t count, int at,
                                         int stride) const {
#pragma unroll
        for (int u = 0; u < vectors; u++) {
            int64_t first = (int64_t)(at + u * stride) * N;
            const E *p = (const E *)in + first;
            if (!whole)
                v[u] = load_part(p, count - first);
            else
                v[u] = first < count ? __ldcg((const uint4 *)p) : uint4{0, 0, 0, 0};
        }
    }
};

/* A thread's vectors: first, first + stride, and so on. */
struct share {
    int first, stride;
};

/* Adds two arrays: this thread's share of their vectors before number `used`, which are whole and
 * aligned. Returns whether an integer does not fit. */
template <bf_dtype D, class Sums>
static __device__ __forceinline__ bool add_pairs(const Sums &sums, const void *const *in,
                                                 share mine, int used) {
    constexpr int AT_ONCE = 4; /* vectors in flight */
    const uint4 *x = (const uint4 *)in[0], *y = (const uint4 *)in[1];
    bool misfit = false;
    BF_ROLLED
    for (int at = mine.first; at < used; at += AT_ONCE * mine.stride) {
        uint4 a[AT_ONCE], b[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            if (at + u * mine.stride >= used) continue;
            a[u] = __ldcg(x + at + u * mine.stride);
            b[u] = __ldcg(y + at + u * mine.stride);
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++)
            if (at + u * mine.stride < used)
                sums.template store<true>(at + u * mine.stride, add_pair<D>(a[u], b[u], &misfit));
    }
    return misfit;
}

/* Adds arrays in[0 .. terms), as above. Sums says how many elements there are, and takes vectors.
 * Not inline, so that it has registers of its own. */
template <bf_dtype D, bool whole, class Sums>
static __device__ __noinline__ bool add_vectors(const Sums sums, const void *const *in, int terms,
                                                share mine, int used) {
    using batch = bf_cuda_add::batch<D, whole>;
    bool misfit = false;
    BF_ROLLED
    for (int at = mine.first; at < used; at += batch::vectors * mine.stride) {
        batch b;
        b.add(in, terms, whole ? (int64_t)used * batch::N : sums.count, at, mine.stride);
#pragma unroll
        for (int u = 0; u < batch::vectors; u++) {
            int vector = at + u * mine.stride;
            if (is_integer(D))
                misfit |= b.failed[u] != 0;
            else if (b.failed[u] != 0)
                b.out[u] = add_by_integers<D>(b.out[u], b.failed[u], in, terms,
                                              (int64_t)vector * batch::N);
            if (vector < used) sums.template store<whole>(vector, b.out[u]);
        }
    }
    return misfit;
}

} // namespace bf_cuda_add

#endif
