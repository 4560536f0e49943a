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

/* Of x, y and z. */
enum bf_cuda_computed_op {
    BF_CUDA_COMPUTED_ADD,
    BF_CUDA_COMPUTED_SUB,      /* x - y */
    BF_CUDA_COMPUTED_SUB_FROM, /* y - x */
    BF_CUDA_COMPUTED_MUL,
    BF_CUDA_COMPUTED_DIV,      /* x / y */
    BF_CUDA_COMPUTED_DIV_INTO, /* y / x */
    BF_CUDA_COMPUTED_MIN,
    BF_CUDA_COMPUTED_MAX,
    BF_CUDA_COMPUTED_FMA, /* x * y + z */
    BF_CUDA_COMPUTED_SQRT,
    BF_CUDA_COMPUTED_NEG,
    BF_CUDA_COMPUTED_ABS,
    BF_CUDA_COMPUTED_FLOOR,
    BF_CUDA_COMPUTED_CEIL,
    BF_CUDA_COMPUTED_CAST, /* x */
    /* Bools are 0 and 1: */
    BF_CUDA_COMPUTED_COMPARE,
    BF_CUDA_COMPUTED_AND,
    BF_CUDA_COMPUTED_OR,
    BF_CUDA_COMPUTED_NOT,
    BF_CUDA_COMPUTED_TRUTH, /* x != 0 */
    BF_CUDA_COMPUTED_SELECT /* x != 0 ? y : z; a NaN keeps its bits */
};

enum bf_cuda_computed_kind {
    BF_CUDA_COMPUTED_NOTHING,
    BF_CUDA_COMPUTED_LAST, /* the result of the step before */
    BF_CUDA_COMPUTED_COLUMN,
    BF_CUDA_COMPUTED_CONSTANT,
    BF_CUDA_COMPUTED_REGISTER /* what an earlier step has kept */
};

struct bf_cuda_computed_place {
    uint8_t kind, number;
};

struct alignas(4) bf_cuda_computed_step {
    uint8_t op;
    uint8_t relations;              /* of COMPARE: see arithmetic.cuh */
    uint8_t kept;                   /* the register that keeps the result, from 1 on; 0: none */
    bf_cuda_computed_place x, y, z; /* x is LAST, or neither y nor z is */
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
    int steps, columns, kept; /* how many there are */
    int head;                 /* elements before the first vector */
};

/* Has 16 bytes copied to shared memory. Copies begun since the last end are a group; a thread waits
 * until no more than n groups of its own are under way. */
static __device__ __forceinline__ void bf_cuda_begin_copy(void *to, const void *from) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
#else
    *(uint4 *)to = *(const uint4 *)from;
#endif
}
static __device__ __forceinline__ void bf_cuda_end_copies() {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int n> static __device__ __forceinline__ void bf_cuda_wait_for_copies() {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
#endif
}

/* The elements of a lane: `size` vectors of N, a warp's apart. Canonical: a NaN that a step makes
 * is the canonical one, else any. */
template <class T, int size, int N, bool Canonical> struct bf_cuda_computing {
    static constexpr int V = size * N;
    T last[V];           /* the result of the last step */
    T *kept;             /* registers of the block: [register][element][thread], in shared memory */
    const uint4 *copied; /* the columns' vectors: [column][vector][thread], in shared memory; NULL:
                            they are read where they are */
    int threads;

    /* memory: kept_bytes() of the program's registers and the block's threads. */
    __device__ __forceinline__ bf_cuda_computing(void *memory, int threads_of_block)
        : kept((T *)memory + threadIdx.x), copied(nullptr), threads(threads_of_block) {}
    static __host__ __device__ int kept_bytes(int registers, int threads_of_block) {
        return registers * V * threads_of_block * (int)sizeof(T);
    }
    /* Are the column's vectors copied, where columns are? */
    static __device__ __forceinline__ bool is_copied(const bf_cuda_computed_column &c) {
        return N > 1 && c.aligned && c.bytes == sizeof(T);
    }

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
    static __device__ __forceinline__ uint4 read_vector(const T *at, bool again) {
        return again ? *(const uint4 *)at : bf_cuda_stream(at);
    }
    /* Vectors [v, v + n) of a column. */
    template <int n>
    __device__ __forceinline__ void read(const bf_cuda_computed &p, int column, int64_t first,
                                         int v, T *to) const {
        const bf_cuda_computed_column &c = p.column[column];
        if (!is_copied(c)) {
#pragma unroll
            for (int k = 0; k < n * N; k++) to[k] = element(c, first + step(v * N + k));
            return;
        }
#pragma unroll
        for (int k = 0; k < n; k++) {
            const uint4 x =
                copied != nullptr
                    ? copied[(column * size + v + k) * threads]
                    : read_vector((const T *)c.data + first + step((v + k) * N), c.again);
            memcpy(to + k * N, &x, sizeof x);
        }
    }
    template <int n>
    __device__ __forceinline__ void fetch(const bf_cuda_computed &p, bf_cuda_computed_place from,
                                          int64_t first, int v, T *to) const {
        switch (from.kind) {
        case BF_CUDA_COMPUTED_COLUMN: read<n>(p, from.number, first, v, to); return;
        case BF_CUDA_COMPUTED_CONSTANT: {
            const T x = number(p.constant[from.number]);
#pragma unroll
            for (int k = 0; k < n * N; k++) to[k] = x;
            return;
        }
        case BF_CUDA_COMPUTED_REGISTER:
#pragma unroll
            for (int k = 0; k < n * N; k++) to[k] = kept[(from.number * V + v * N + k) * threads];
            return;
        default:
#pragma unroll
            for (int k = 0; k < n * N; k++) to[k] = last[v * N + k];
        }
    }

    /* --- steps --- */

    static __device__ __forceinline__ T end(T x) {
        return Canonical ? bf_cuda_element::canonical(x) : x;
    }
    __device__ __forceinline__ void compute(const bf_cuda_computed &p,
                                            const bf_cuda_computed_step &s, int64_t first,
                                            const T (&y)[V]) {
        using namespace bf_cuda_element;
#define EACH(id, result)                                                                           \
    case BF_CUDA_COMPUTED_##id:                                                                    \
        _Pragma("unroll") for (int k = 0; k < V; k++) {                                            \
            const T x = last[k];                                                                   \
            last[k] = (result);                                                                    \
        }                                                                                          \
        return;
/* Of three inputs, the last comes vector by vector: registers are short. */
#define EACH_OF_3(id, result)                                                                      \
    case BF_CUDA_COMPUTED_##id:                                                                    \
        _Pragma("unroll") for (int v = 0; v < size; v++) {                                         \
            T z[N];                                                                                \
            fetch<1>(p, s.z, first, v, z);                                                         \
            _Pragma("unroll") for (int k = v * N; k < (v + 1) * N; k++) {                          \
                const T x = last[k];                                                               \
                last[k] = (result);                                                                \
            }                                                                                      \
        }                                                                                          \
        return;
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
            EACH_OF_3(FMA, end(multiply_add(x, y[k], z[k % N])))
            EACH_OF_3(SELECT, x != 0 ? y[k] : z[k % N])
        }
#undef EACH
#undef EACH_OF_3
    }
    /* Computes the elements of which the first has this index, into `last`. */
    __device__ __forceinline__ void run(const bf_cuda_computed &p, int64_t first) {
        BF_ROLLED
        for (int n = 0; n < p.steps; n++) {
            const bf_cuda_computed_step s = p.step[n];
            T y[V];
            if (s.x.kind != BF_CUDA_COMPUTED_LAST) fetch<size>(p, s.x, first, 0, last);
            if (s.y.kind != BF_CUDA_COMPUTED_NOTHING) fetch<size>(p, s.y, first, 0, y);
            compute(p, s, first, y);
            if (s.kept == 0) continue;
#pragma unroll
            for (int k = 0; k < V; k++) kept[((s.kept - 1) * V + k) * threads] = last[k];
        }
    }
};

#endif
