/* Elements that are computed as they are read, by a short program of floats or of doubles. A lane
 * computes many at a time, so that they share the cost of finding out what a step does. */
#ifndef BF_CUDA_RUNTIME_COMPUTED_CUH
#define BF_CUDA_RUNTIME_COMPUTED_CUH

#include "cuda/runtime/arithmetic.cuh"
#include "cuda/runtime/strip.cuh"

enum {
    BF_CUDA_COMPUTED_COLUMNS = 8,
    BF_CUDA_COMPUTED_CONSTANTS = 16,
    BF_CUDA_COMPUTED_KEPT = 4,
    BF_CUDA_COMPUTED_STEPS = 32
};

enum bf_cuda_computed_op {
    BF_CUDA_COMPUTED_ADD,
    BF_CUDA_COMPUTED_SUB,
    BF_CUDA_COMPUTED_MUL,
    BF_CUDA_COMPUTED_DIV,
    BF_CUDA_COMPUTED_MIN,
    BF_CUDA_COMPUTED_MAX,
    BF_CUDA_COMPUTED_FMA,
    BF_CUDA_COMPUTED_SQRT,
    BF_CUDA_COMPUTED_NEG,
    BF_CUDA_COMPUTED_ABS,
    BF_CUDA_COMPUTED_FLOOR,
    BF_CUDA_COMPUTED_CEIL,
    /* Bools are 0 and 1: */
    BF_CUDA_COMPUTED_COMPARE,
    BF_CUDA_COMPUTED_AND,
    BF_CUDA_COMPUTED_OR,
    BF_CUDA_COMPUTED_NOT,
    BF_CUDA_COMPUTED_TRUTH,  /* in[0] != 0 */
    BF_CUDA_COMPUTED_SELECT, /* in[0] != 0 ? in[1] : in[2]; a NaN keeps its bits */
    BF_CUDA_COMPUTED_COPY
};

enum bf_cuda_computed_kind {
    BF_CUDA_COMPUTED_LAST, /* the result of the step before */
    BF_CUDA_COMPUTED_COLUMN,
    BF_CUDA_COMPUTED_CONSTANT,
    BF_CUDA_COMPUTED_REGISTER /* what an earlier step has kept */
};

struct bf_cuda_computed_place {
    uint8_t kind, number;
};

struct alignas(16) bf_cuda_computed_step {
    uint8_t op, arity;
    uint8_t relations; /* of COMPARE: see arithmetic.cuh */
    uint8_t kept;      /* the number of the register that keeps the result, from 1 on; 0: none */
    bf_cuda_computed_place in[3];
};

struct bf_cuda_computed_column {
    const void *data;
    uint8_t bytes; /* of an element: those of the program's, or 4, a float; or 1, a bool */
    bool aligned;  /* the vectors behind the head are */
    bool again;    /* it is read more than once */
};

struct bf_cuda_computed {
    bf_cuda_computed_step step[BF_CUDA_COMPUTED_STEPS];
    uint64_t constant[BF_CUDA_COMPUTED_CONSTANTS]; /* the bits of T */
    bf_cuda_computed_column column[BF_CUDA_COMPUTED_COLUMNS];
    int steps;
    int head; /* elements before the first vector */
};

/* The elements of a lane: `size` vectors of N, a warp's apart. Canonical: a NaN that a step makes
 * is the canonical one, else any. */
template <class T, int size, int N, bool Canonical> struct bf_cuda_computing {
    static constexpr int V = size * N;
    T last[V];                        /* the result of the last step */
    T kept[BF_CUDA_COMPUTED_KEPT][V]; /* in memory, for their number is not known */

    static __device__ constexpr int step(int k) { return k / N * BF_CUDA_WARP * N + k % N; }

    /* --- inputs --- */

    static __device__ __forceinline__ T number(uint64_t bits) {
        using Bits = typename std::conditional<sizeof(T) == 4, uint32_t, uint64_t>::type;
        return bf_cuda_element::of_bits((Bits)bits);
    }

    static __device__ __forceinline__ T element(const bf_cuda_computed_column &c, int64_t i) {
        using namespace bf_cuda_element;
        if (c.bytes == sizeof(T)) return ((const T *)c.data)[i];
        if (c.bytes == 1) return (T)(((const uint8_t *)c.data)[i] != 0);
        return canonical((T)((const float *)c.data)[i]);
    }
    static __device__ __forceinline__ void read_vectors(const T *from, bool again, T (&to)[V]) {
#pragma unroll
        for (int v = 0; v < size; v++) {
            const T *at = from + step(v * N);
            const uint4 x = again ? *(const uint4 *)at : bf_cuda_stream(at);
            memcpy(&to[v * N], &x, sizeof x);
        }
    }
    static __device__ __forceinline__ void read(const bf_cuda_computed_column &c, int64_t first,
                                                T (&to)[V]) {
        if (N > 1 && c.aligned && c.bytes == sizeof(T)) {
            read_vectors((const T *)c.data + first, c.again, to);
            return;
        }
#pragma unroll
        for (int k = 0; k < V; k++) to[k] = element(c, first + step(k));
    }
    __device__ __forceinline__ void fetch(const bf_cuda_computed &p, bf_cuda_computed_place from,
                                          int64_t first, T (&to)[V]) const {
        switch (from.kind) {
        case BF_CUDA_COMPUTED_COLUMN: read(p.column[from.number], first, to); return;
        case BF_CUDA_COMPUTED_CONSTANT: {
            const T x = number(p.constant[from.number]);
#pragma unroll
            for (int k = 0; k < V; k++) to[k] = x;
            return;
        }
        case BF_CUDA_COMPUTED_REGISTER:
#pragma unroll
            for (int k = 0; k < V; k++) to[k] = kept[from.number][k];
            return;
        default:
#pragma unroll
            for (int k = 0; k < V; k++) to[k] = last[k];
        }
    }

    /* --- steps --- */

    static __device__ __forceinline__ T end(T x) {
        return Canonical ? bf_cuda_element::canonical(x) : x;
    }
    __device__ __forceinline__ void compute(const bf_cuda_computed_step &s, const T (&x)[V],
                                            const T (&y)[V], const T (&z)[V]) {
        using namespace bf_cuda_element;
#define EACH(id, result)                                                                           \
    case BF_CUDA_COMPUTED_##id:                                                                    \
        _Pragma("unroll") for (int k = 0; k < V; k++) last[k] = (result);                          \
        return;
        switch (s.op) {
            EACH(ADD, end(x[k] + y[k]))
            EACH(SUB, end(x[k] - y[k]))
            EACH(MUL, end(x[k] * y[k]))
            EACH(DIV, end(x[k] / y[k]))
            EACH(MIN, end(least(x[k], y[k])))
            EACH(MAX, end(greatest(x[k], y[k])))
            EACH(FMA, end(multiply_add(x[k], y[k], z[k])))
            EACH(SQRT, end(square_root(x[k])))
            EACH(NEG, end(-x[k]))
            EACH(ABS, end(magnitude(x[k])))
            EACH(FLOOR, end(whole(x[k], false)))
            EACH(CEIL, end(whole(x[k], true)))
            EACH(COMPARE, (T)holds(x[k], y[k], s.relations))
            EACH(AND, (T)(x[k] != 0 && y[k] != 0))
            EACH(OR, (T)(x[k] != 0 || y[k] != 0))
            EACH(NOT, (T)(x[k] == 0))
            EACH(TRUTH, (T)(x[k] != 0))
            EACH(SELECT, x[k] != 0 ? y[k] : z[k])
        default:
#pragma unroll
            for (int k = 0; k < V; k++) last[k] = end(x[k]);
        }
#undef EACH
    }
    /* Computes the elements of which the first has this index, into `last`. */
    __device__ __forceinline__ void run(const bf_cuda_computed &p, int64_t first) {
        BF_ROLLED
        for (int n = 0; n < p.steps; n++) {
            const bf_cuda_computed_step s = p.step[n];
            T x[V], y[V], z[V];
            fetch(p, s.in[0], first, x);
            if (s.arity > 1) fetch(p, s.in[1], first, y);
            if (s.arity > 2) fetch(p, s.in[2], first, z);
            compute(s, x, y, z);
            if (s.kept == 0) continue;
#pragma unroll
            for (int k = 0; k < V; k++) kept[s.kept - 1][k] = last[k];
        }
    }
};

#endif
