/* How a thread reads many elements: some are under way while it adds others. */
#ifndef BF_CUDA_AXIS_STREAM_CUH
#define BF_CUDA_AXIS_STREAM_CUH

#include "cuda/axis/value.cuh"

/* How many vectors of a line, or of rows, a thread has under way. */
template <class A> constexpr int bf_cuda_axis_under_way = A::pair ? 2 : 4;

/* Vectors of a line, `step` bytes apart, in strips of a few. A group of strips that does not fit
 * the accumulator is taken again, one vector after another. */
template <class A> struct bf_cuda_axis_stream {
    using C = typename A::Class;
    using Value = typename A::Value;
    static constexpr int N = C::N, U = bf_cuda_axis_under_way<A>, group = A::most / (U * N);

    const bf_cuda_axis_params &p;
    const char *a, *b; /* the next vector of each operand */
    int64_t step;      /* bytes from one vector to the next */
    int64_t index;     /* where the next vector's first element is */
    int apart;         /* indices from one vector to the next */
    uint4 x[U], y[A::pair ? U : 1];

    /* Loads vector `at`, as the k-th of a strip. */
    __device__ __forceinline__ void load(int k, int at) {
        x[k] = C::fetch(p, a + at * step);
        if (A::pair) y[k] = C::fetch(p, b + at * step);
    }
    __device__ __forceinline__ void go_on(int64_t vectors) {
        a += vectors * step;
        if (A::pair) b += vectors * step;
        index += vectors * apart;
    }
    __device__ __forceinline__ void take_one(A &sum) {
        Value u[N], v[N];
        C::unpack(p, C::fetch(p, a), u);
        if (A::pair) C::unpack(p, C::fetch(p, b), v);
        sum.take(u, v, index, 1, N);
        go_on(1);
    }
    __device__ __forceinline__ void try_strip(A &sum, bool more) {
#pragma unroll
        for (int k = 0; k < U; k++) {
            Value u[N], v[N];
            C::unpack(p, x[k], u);
            if (A::pair) C::unpack(p, y[k], v);
            if (more) load(k, U + k);
            sum.try_values(u, v, index + k * apart);
        }
        go_on(U);
    }
    /* The vectors of the last group, once more. */
    static __device__ __forceinline__ void take_again(bf_cuda_axis_stream s, A &sum, int strips) {
        sum.drop();
        s.go_on(-(int64_t)strips * U);
        BF_ROLLED
        for (int i = 0; i < strips * U && sum.fits(); i++) s.take_one(sum);
    }
    __device__ __forceinline__ void take(A &sum, int count) {
        int strips = count / U;
        if (strips > 0) {
#pragma unroll
            for (int k = 0; k < U; k++) load(k, k);
        }
        BF_ROLLED
        while (strips > 0) {
            const int n = strips < group ? strips : group;
            BF_ROLLED
            for (int i = 0; i < n; i++) try_strip(sum, --strips > 0);
            if (!sum.fits()) take_again(*this, sum, n);
            sum.fold();
            if (sum.is_lost()) return;
        }
        BF_ROLLED
        for (int i = 0; i < count % U; i++) take_one(sum);
        sum.fold();
    }
};

/* W raw elements, in the words that they are loaded in: each takes no register of its own. */
template <class Raw, int W> struct bf_cuda_axis_raws {
    static constexpr int bytes = (int)sizeof(Raw);
    unsigned words[(W * bytes + 3) / 4];

    __device__ __forceinline__ Raw operator[](int k) const {
        uint64_t bits = words[k * bytes / 4] >> k * bytes % 4 * 8;
        if (bytes == 8) bits |= (uint64_t)words[(k * bytes + 7) / 4] << 32;
        Raw x;
        memcpy(&x, &bits, sizeof x); /* low bytes come first */
        return x;
    }
    __device__ __forceinline__ void set(const Raw (&x)[W]) {
#pragma unroll
        for (int i = 0; i < (W * bytes + 3) / 4; i++) words[i] = 0;
#pragma unroll
        for (int k = 0; k < W; k++) {
            uint64_t bits = 0;
            memcpy(&bits, &x[k], sizeof(Raw));
            words[k * bytes / 4] |= (unsigned)bits << k * bytes % 4 * 8;
            if (bytes == 8) words[(k * bytes + 7) / 4] = (unsigned)(bits >> 32);
        }
    }
};

/* The W columns of a thread: neighbours, which a vector holds, or some way apart. */
template <class C, int W> struct bf_cuda_axis_columns_at {
    using Raw = typename C::Raw;
    int column[W];    /* within the tile */
    int64_t distance; /* between neighbouring columns, in elements */

    template <bool vector>
    __device__ __forceinline__ void load(const bf_cuda_axis_params &p, const void *from, int64_t at,
                                         bf_cuda_axis_raws<Raw, W> &x) const {
        if constexpr (vector && sizeof(Raw) * W <= 16) {
            const uint4 v = bf_cuda_axis_bytes<(int)sizeof(Raw) * W>(
                (const char *)from + (at + column[0] * distance) * (int)sizeof(Raw));
            memcpy(x.words, &v, sizeof x.words);
        } else {
            Raw all[W];
            C::load(
                p, from, [&](int k) { return at + column[k] * distance; }, W, all);
            x.set(all);
        }
    }
};

/* A stream of W columns each; rows are `step` elements apart. */
template <class A, int W, bool vector> struct bf_cuda_axis_column_stream {
    using C = typename A::Class;
    using Raw = typename C::Raw;
    using Value = typename A::Value;
    using Raws = bf_cuda_axis_raws<Raw, W>;
    static constexpr int U = bf_cuda_axis_under_way<A> * 16 / (W * (int)sizeof(Raw));
    static constexpr int group = A::most / U;

    const bf_cuda_axis_params &p;
    const bf_cuda_axis_columns_at<C, W> &columns;
    int64_t a, b;           /* the next row: its first element in each operand */
    int64_t step_a, step_b; /* elements from one row to the next */
    int64_t index;          /* where the next row is */
    int apart;              /* indices from one row to the next */
    Raws x[U], y[A::pair ? U : 1];

    __device__ __forceinline__ void load(int row, Raws &u, Raws &v) {
        columns.template load<vector>(p, p.a, a + row * step_a, u);
        if (A::pair) columns.template load<vector>(p, p.b, b + row * step_b, v);
    }
    __device__ __forceinline__ void go_on(int64_t rows) {
        a += rows * step_a;
        if (A::pair) b += rows * step_b;
        index += rows * apart;
    }
    __device__ __forceinline__ void values_of(const Raws &from, Value (&to)[W]) {
#pragma unroll
        for (int w = 0; w < W; w++) to[w] = C::value(p, from[w]);
    }
    __device__ __forceinline__ void take_one(A (&sums)[W]) {
        Raws r, t;
        Value u[W], v[W];
        load(0, r, t);
        values_of(r, u);
        if (A::pair) values_of(t, v);
#pragma unroll
        for (int w = 0; w < W; w++) {
            Value i[1] = {u[w]}, j[1] = {A::pair ? v[w] : u[w]};
            sums[w].take(i, j, index, 0, 1);
        }
        go_on(1);
    }
    __device__ __forceinline__ void try_strip(A (&sums)[W], bool more) {
#pragma unroll
        for (int k = 0; k < U; k++) {
            Value u[W], v[W];
            values_of(x[k], u);
            if (A::pair) values_of(y[k], v);
            if (more) load(U + k, x[k], y[A::pair ? k : 0]);
            A::try_columns(sums, u, v, index + k * apart);
        }
        go_on(U);
    }
    static __device__ __forceinline__ bool any_fits(const A (&sums)[W]) {
        bool any = false;
#pragma unroll
        for (int w = 0; w < W; w++) any = any || sums[w].fits();
        return any;
    }
    static __device__ __forceinline__ bool all_lost(const A (&sums)[W]) {
        bool all = true;
#pragma unroll
        for (int w = 0; w < W; w++) all = all && sums[w].is_lost();
        return all;
    }
    __device__ __forceinline__ void fold(A (&sums)[W]) {
#pragma unroll
        for (int w = 0; w < W; w++) sums[w].fold();
    }
    /* Takes groups of strips, and then the rows that are left, one after another. So it does with a
     * group that does not fit the accumulators. */
    __device__ __forceinline__ void take(A (&sums)[W], int count) {
        int strips = count / U;
        if (strips > 0) {
#pragma unroll
            for (int k = 0; k < U; k++) load(k, x[k], y[A::pair ? k : 0]);
        }
        BF_ROLLED
        for (bool more = true; more;) {
            const int n = strips < group ? strips : group;
            int single = n > 0 ? 0 : count % U;
            more = n > 0;
            BF_ROLLED
            for (int i = 0; i < n; i++) try_strip(sums, --strips > 0);
            bool fits = true;
#pragma unroll
            for (int w = 0; w < W; w++) fits = sums[w].fits() && fits;
            if (!fits) {
#pragma unroll
                for (int w = 0; w < W; w++) sums[w].drop();
                single = n * U;
                go_on(-single);
            }
            BF_ROLLED
            for (; single > 0 && any_fits(sums); single--) take_one(sums);
            fold(sums);
            if (all_lost(sums)) return;
        }
    }
};

/* Takes one element of each operand. */
template <class A>
static __device__ __forceinline__ void bf_cuda_axis_take_one(const bf_cuda_axis_params &p, A &sum,
                                                             int64_t a, int64_t b, int64_t index) {
    using C = typename A::Class;
    typename C::Raw r[1];
    typename A::Value u[1], v[1];
    C::load(
        p, p.a, [&](int) { return a; }, 1, r);
    u[0] = v[0] = C::value(p, r[0]);
    if (A::pair) {
        C::load(
            p, p.b, [&](int) { return b; }, 1, r);
        v[0] = C::value(p, r[0]);
    }
    sum.take(u, v, index, 1, 1);
}

/* Elements before the first vector of a line that begins at this element. */
template <class C>
static __device__ __forceinline__ int bf_cuda_axis_head(const bf_cuda_axis_params &p,
                                                        const void *from, int64_t at) {
    const uintptr_t address = (uintptr_t)from + (uintptr_t)(at * p.element);
    const unsigned bytes = (0 - (unsigned)address) & (unsigned)(C::N * p.element - 1);
    return C::N == 1 ? 0 : (int)bytes >> (__ffs(p.element) - 1);
}

/* Takes elements [from, to) of a line, of which neighbours lie next to each other, by `lanes`
 * threads; those of two operands begin a vector at the same element. Indices begin with `index`. */
template <class A>
static __device__ __forceinline__ void
bf_cuda_axis_take_line(const bf_cuda_axis_params &p, A &sum, int64_t a, int64_t b, int64_t from,
                       int64_t to, int lane, int lanes, int64_t index) {
    using C = typename A::Class;
    constexpr int N = C::N;
    const int length = (int)(to - from);
    int head = bf_cuda_axis_head<C>(p, p.a, a + from);
    if (head > length) head = length;
    const int vectors = (length - head) / N, ends = length - vectors * N;
    if (lane < ends) {
        BF_ROLLED
        for (int i = lane; i < ends; i += lanes) {
            const int64_t j = from + (i < head ? i : i + vectors * N);
            bf_cuda_axis_take_one(p, sum, a + j, b + j, index + j);
        }
        sum.keep(2 * N);
    }
    if (lane >= vectors) return;
    sum.fold();
    const int64_t first = from + head + (int64_t)lane * N;
    bf_cuda_axis_stream<A> s = {p,
                                (const char *)p.a + (a + first) * p.element,
                                (const char *)p.b + (b + first) * p.element,
                                (int64_t)lanes * N * p.element,
                                index + first,
                                lanes * N,
                                {},
                                {}};
    s.take(sum, (vectors - lane + lanes - 1) / lanes);
}

/* Takes a stream into what proves results directly (direct.cuh), of one operand. */
template <class A>
static __device__ __forceinline__ void
bf_cuda_axis_take_directly(const bf_cuda_axis_params &p, typename A::Direct &direct, int64_t a,
                           int64_t length, int lane, int lanes) {
    using C = typename A::Class;
    constexpr int N = C::N, U = 4, E = N > 1 ? N / 2 : 1; /* vectors, and elements, at a time */
    int head = bf_cuda_axis_head<C>(p, p.a, a);
    if (head > length) head = (int)length;
    const int vectors = ((int)length - head) / N, ends = (int)length - vectors * N;
    const typename C::Raw *elements = (const typename C::Raw *)p.a + a;
    BF_ROLLED
    for (int i = lane; i < ends; i += E * lanes) {
        typename C::Raw x[E];
#pragma unroll
        for (int k = 0; k < E; k++) {
            const int j = i + k * lanes;
            if (j < ends) x[k] = __ldcs(elements + (j < head ? j : j + vectors * N));
        }
#pragma unroll
        for (int k = 0; k < E; k++)
            if (i + k * lanes < ends) direct.take(C::value(p, x[k]));
    }
    const char *at = (const char *)(elements + head);
    BF_ROLLED
    for (int v = lane; v < vectors; v += U * lanes) {
        uint4 x[U];
#pragma unroll
        for (int k = 0; k < U; k++)
            if (v + k * lanes < vectors) x[k] = C::fetch(p, at + 16 * (v + k * lanes));
#pragma unroll
        for (int k = 0; k < U; k++) {
            if (v + k * lanes >= vectors) break;
            typename A::Value u[N];
            C::unpack(p, x[k], u);
#pragma unroll
            for (int n = 0; n < N; n++) direct.take(u[n]);
        }
    }
}

#endif
