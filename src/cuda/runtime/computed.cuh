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
    BF_CUDA_COMPUTED_STEPS = 32,
    BF_CUDA_COMPUTED_SUMMED_COLUMNS = 3 /* most of a program whose results are only added */
};

/* Operations on x, y and z. */
enum bf_cuda_computed_op {
    BF_CUDA_COMPUTED_ADD,
    BF_CUDA_COMPUTED_SUB,      /* x - y */
    BF_CUDA_COMPUTED_SUB_FROM, /* y - x */
    BF_CUDA_COMPUTED_MUL,
    BF_CUDA_COMPUTED_DIV,      /* x / y */
    BF_CUDA_COMPUTED_DIV_INTO, /* y / x */
    BF_CUDA_COMPUTED_MIN,
    BF_CUDA_COMPUTED_MAX,
    BF_CUDA_COMPUTED_SQRT,
    BF_CUDA_COMPUTED_NEG,
    BF_CUDA_COMPUTED_ABS,
    BF_CUDA_COMPUTED_FLOOR,
    BF_CUDA_COMPUTED_CEIL,
    BF_CUDA_COMPUTED_CAST, /* x */
    /* The results of these are bools, 0 and 1. */
    BF_CUDA_COMPUTED_COMPARE,
    BF_CUDA_COMPUTED_AND,
    BF_CUDA_COMPUTED_OR,
    BF_CUDA_COMPUTED_NOT,
    BF_CUDA_COMPUTED_TRUTH, /* x != 0 */
    /* These have three inputs. */
    BF_CUDA_COMPUTED_FMA,   /* x * y + z */
    BF_CUDA_COMPUTED_SELECT /* x != 0 ? y : z; a NaN keeps its bits */
};

/* Where an input is, in ranges: a comparison tells which. */
enum bf_cuda_computed_place : uint32_t {
    BF_CUDA_COMPUTED_COLUMN = 0,                      /* the first of some */
    BF_CUDA_COMPUTED_LAST = BF_CUDA_COMPUTED_COLUMNS, /* the result of the step before */
    BF_CUDA_COMPUTED_NOTHING,
    BF_CUDA_COMPUTED_CONSTANT,
    /* From here on it is what an earlier step has kept. */
    BF_CUDA_COMPUTED_REGISTER = BF_CUDA_COMPUTED_CONSTANT + BF_CUDA_COMPUTED_CONSTANTS
};

/* 16 bytes, which are loaded at once. */
struct alignas(16) bf_cuda_computed_step {
    uint8_t op;
    uint8_t relations; /* for COMPARE: see arithmetic.cuh */
    uint8_t kept;      /* the register that keeps the result, from 1 on; 0: none */
    uint32_t x, y, z;  /* places; x is LAST, or neither y nor z is */
};

struct bf_cuda_computed_column {
    const void *data;
    uint8_t bytes; /* the size of an element: the program's, or 4, a float; or 1, a bool */
    bool aligned;  /* the vectors behind the head are */
    bool again;    /* it is read more than once */
};

struct bf_cuda_computed {
    bf_cuda_computed_step step[BF_CUDA_COMPUTED_STEPS];
    uint64_t constant[BF_CUDA_COMPUTED_CONSTANTS]; /* the bits of T */
    bf_cuda_computed_column column[BF_CUDA_COMPUTED_COLUMNS];
    int steps, columns, kept; /* how many there are */
    int head;                 /* elements before the first vector */
};

/* --- inputs --- */

/* Returns element i of a column. */
template <class T>
static __device__ __forceinline__ T bf_cuda_computed_element(const bf_cuda_computed_column &c,
                                                             int64_t i) {
    using namespace bf_cuda_element;
    if (c.bytes == sizeof(T)) return ((const T *)c.data)[i];
    if (c.bytes == 1) return (T)(((const uint8_t *)c.data)[i] != 0);
    return canonical((T)((const float *)c.data)[i]);
}

template <class T, int n>
static __device__ __forceinline__ void bf_cuda_computed_get_constant(const bf_cuda_computed &p,
                                                                     uint32_t place, T *to) {
    using Bits = typename std::conditional<sizeof(T) == 4, uint32_t, uint64_t>::type;
    const uint64_t bits = p.constant[place - BF_CUDA_COMPUTED_CONSTANT];
#pragma unroll
    for (int k = 0; k < n; k++) to[k] = bf_cuda_element::of_bits((Bits)bits);
}

/* Vectors of N elements that a lane has in a strip are a warp's apart: returns where element k is.
 */
template <int N> static __device__ constexpr int bf_cuda_computed_offset(int k) {
    return k / N * BF_CUDA_WARP * N + k % N;
}

/* Are the vectors of a column aligned ones of T? */
template <class T>
static __device__ __forceinline__ bool bf_cuda_computed_is_plain(const bf_cuda_computed_column &c) {
    return c.aligned && c.bytes == sizeof(T);
}

/* Registers in a block's shared memory: cell[register][vector][thread]. A thread's cells are its
 * own, whatever the sizes of its vectors. */
template <class T, int size, int N> struct bf_cuda_computed_cells {
    uint4 *cell; /* this thread's */
    int threads; /* how many the block has */

    static __host__ __device__ int bytes(int registers, int threads) {
        return registers * size * threads * (int)sizeof(uint4);
    }
    /* Gets vectors [v, v + n). */
    template <int n> __device__ __forceinline__ void get(int number, int v, T *to) const {
#pragma unroll
        for (int k = 0; k < n; k++) {
            const uint4 x = cell[(number * size + v + k) * threads];
            memcpy(to + k * N, &x, N * sizeof(T));
        }
    }
    __device__ __forceinline__ void keep(int number, const T *x) const {
#pragma unroll
        for (int v = 0; v < size; v++) {
            uint4 y = {};
            memcpy(&y, x + v * N, N * sizeof(T));
            cell[(number * size + v) * threads] = y;
        }
    }
};

/* The inputs of the elements from `first` on, which are read where they are. */
template <class T, int size, int N> struct bf_cuda_computed_in_place {
    const bf_cuda_computed &p;
    bf_cuda_computed_cells<T, size, N> registers;
    int64_t first;

    template <int n>
    __device__ __forceinline__ void read_vectors(const bf_cuda_computed_column &c, int v,
                                                 T *to) const {
#pragma unroll
        for (int k = 0; k < n; k++) {
            const T *at = (const T *)c.data + first + bf_cuda_computed_offset<N>((v + k) * N);
            const uint4 x = c.again ? *(const uint4 *)at : bf_cuda_stream(at);
            memcpy(to + k * N, &x, sizeof x);
        }
    }
    /* Vectors [v, v + n) of a column. */
    template <int n> __device__ __forceinline__ void read(uint32_t number, int v, T *to) const {
        const bf_cuda_computed_column &c = p.column[number];
        if constexpr (N > 1) {
            if (bf_cuda_computed_is_plain<T>(c)) {
                read_vectors<n>(c, v, to);
                return;
            }
        }
#pragma unroll
        for (int k = 0; k < n * N; k++)
            to[k] = bf_cuda_computed_element<T>(c, first + bf_cuda_computed_offset<N>(v * N + k));
    }
};

/* The inputs of a lane's elements of a strip, whose columns are in registers. */
template <class T, int columns, int size> struct bf_cuda_computed_held {
    static constexpr int N = 16 / (int)sizeof(T);
    const bf_cuda_computed &p;
    const uint4 (&column)[columns][size];
    bf_cuda_computed_cells<T, size, N> registers;

    /* Values are chosen: a choice of addresses would move columns to memory. */
    __device__ __forceinline__ uint4 choose(uint32_t number, int v) const {
        uint4 x = column[0][v];
#pragma unroll
        for (uint32_t i = 1; i < columns; i++) {
            x.x = number == i ? column[i][v].x : x.x;
            x.y = number == i ? column[i][v].y : x.y;
            x.z = number == i ? column[i][v].z : x.z;
            x.w = number == i ? column[i][v].w : x.w;
        }
        return x;
    }
    template <int n> __device__ __forceinline__ void read(uint32_t number, int v, T *to) const {
#pragma unroll
        for (int k = 0; k < n; k++) {
            const uint4 x = choose(number, v + k);
            memcpy(to + k * N, &x, sizeof x);
        }
    }
};

/* --- steps --- */

/* `size` vectors of N elements. Canonical: a NaN that a step makes is the canonical one, else any.
 */
template <class T, int size, int N, bool Canonical> struct bf_cuda_computing {
    static constexpr int V = size * N;
    T last[V]; /* the result of the last step */

    static __device__ __forceinline__ T end(T x) {
        return Canonical ? bf_cuda_element::canonical(x) : x;
    }
    template <class Inputs>
    __device__ __forceinline__ void compute(const bf_cuda_computed_step &s, const Inputs &inputs,
                                            const T (&y)[V]) {
        using namespace bf_cuda_element;
#define EACH(id, result)                                                                           \
    case BF_CUDA_COMPUTED_##id:                                                                    \
        _Pragma("unroll") for (int k = 0; k < V; k++) {                                            \
            const T x = last[k];                                                                   \
            last[k] = (result);                                                                    \
        }                                                                                          \
        return;
/* The last of three inputs comes vector by vector: registers are short. */
#define EACH_OF_3(id, result)                                                                      \
    case BF_CUDA_COMPUTED_##id:                                                                    \
        _Pragma("unroll") for (int v = 0; v < size; v++) {                                         \
            T z[N];                                                                                \
            get<1>(inputs, s.z, v, z);                                                             \
            _Pragma("unroll") for (int k = v * N; k < (v + 1) * N; k++) {                          \
                const T x = last[k];                                                               \
                last[k] = (result);                                                                \
            }                                                                                      \
        }                                                                                          \
        return;
        if (s.op >= BF_CUDA_COMPUTED_FMA) {
            switch (s.op) {
                EACH_OF_3(FMA, end(multiply_add(x, y[k], z[k % N])))
                EACH_OF_3(SELECT, x != 0 ? y[k] : z[k % N])
            }
        }
        switch (s.op) {
            EACH(ADD, end(x + y[k]))
            EACH(SUB, end(x - y[k]))
            EACH(SUB_FROM, end(y[k] - x))
            EACH(MUL, end(x * y[k]))
            EACH(DIV, end(x / y[k]))
            EACH(DIV_INTO, end(y[k] / x))
            EACH(MIN, end(least(x, y[k])))
            EACH(MAX, end(greatest(x, y[k])))
            EACH(SQRT, end(square_root(x)))
            EACH(NEG, end(-x))
            EACH(ABS, end(magnitude(x)))
            EACH(FLOOR, end(whole(x, false)))
            EACH(CEIL, end(whole(x, true)))
            EACH(CAST, end(x))
            EACH(COMPARE, (T)holds(x, y[k], s.relations))
            EACH(AND, (T)(x != 0 && y[k] != 0))
            EACH(OR, (T)(x != 0 || y[k] != 0))
            EACH(NOT, (T)(x == 0))
            EACH(TRUTH, (T)(x != 0))
        }
#undef EACH
#undef EACH_OF_3
    }
    /* Gets vectors [v, v + n) of an input. */
    template <int n, class Inputs>
    __device__ __forceinline__ void get(const Inputs &inputs, uint32_t from, int v, T *to) const {
        if (from < BF_CUDA_COMPUTED_LAST)
            inputs.template read<n>(from - BF_CUDA_COMPUTED_COLUMN, v, to);
        else if (from == BF_CUDA_COMPUTED_LAST) {
#pragma unroll
            for (int k = 0; k < n * N; k++) to[k] = last[v * N + k];
        } else if (from < BF_CUDA_COMPUTED_REGISTER)
            bf_cuda_computed_get_constant<T, n * N>(inputs.p, from, to);
        else
            inputs.registers.template get<n>((int)(from - BF_CUDA_COMPUTED_REGISTER), v, to);
    }
    /* Computes elements into `last`. */
    template <class Inputs>
    __device__ __forceinline__ void run(const bf_cuda_computed &p, const Inputs &inputs) {
        int n = 0;
        BF_ROLLED
        do {
            const uint4 loaded = *(const uint4 *)(const void *)&p.step[n];
            bf_cuda_computed_step s;
            T y[V];
            memcpy(&s, &loaded, sizeof s);
            if (s.x != BF_CUDA_COMPUTED_LAST) get<size>(inputs, s.x, 0, last);
            if (s.y != BF_CUDA_COMPUTED_NOTHING) get<size>(inputs, s.y, 0, y);
            compute(s, inputs, y);
            if (s.kept != 0) inputs.registers.keep(s.kept - 1, last);
        } while (++n < p.steps);
    }
};

#endif
