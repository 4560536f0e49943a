/* Histograms of elements whose rows are found by a guess or by a search.
 *
 * template <bf_dtype D, class Rule, class Table>: a Rule finds the rows of elements. It has
 *   Number       the type of numbers
 *   blocks       that a multiprocessor should hold
 *   vectors      that a thread takes at a time
 *   prepare()    all threads call it first
 *   find_rows()  finds the rows of several elements at once, so that their steps overlap
 *
 * A Table counts rows in shared memory: start(), add(), and finish() at the end. */
#ifndef BF_CUDA_HISTOGRAM_ROWS_CUH
#define BF_CUDA_HISTOGRAM_ROWS_CUH

#include "cuda/histogram/histogram.cuh"

namespace bf_cuda_counting {

/* --- tables --- */

/* A counter for each row, and one for all rows that another launch counts. The hardware combines
 * lanes of a warp that add to one counter: more copies of the counters make no data faster. */
struct all_rows {
    static __device__ void start(const bf_cuda_count_params &p) { clear_shared(p.rows + 1, 0); }
    static __device__ __forceinline__ void add(const bf_cuda_count_params &p, unsigned row) {
        row -= p.first; /* may wrap around for other rows */
        atomicAdd((unsigned *)memory + (row < p.rows ? row : p.rows), 1u);
    }
    /* Adds the counters to the totals. Blocks begin in different places, so as not to queue up. */
    static __device__ void finish(const bf_cuda_count_params &p, unsigned ticket) {
        const unsigned *counters = (const unsigned *)memory;
        bool alone = p.counts != nullptr && gridDim.x == 1;
        unsigned skip = (unsigned)((uint64_t)p.rows * blockIdx.x / gridDim.x);
        for (unsigned i = threadIdx.x; i < p.rows; i += blockDim.x) {
            unsigned r = i < p.rows - skip ? i + skip : i + skip - p.rows;
            if (alone)
                p.counts[r] = counters[r];
            else
                add_total(p, p.first + r, counters[r]);
        }
        if (p.counts == nullptr || alone || !is_last(ticket)) return;
        for (unsigned r = threadIdx.x; r < p.rows; r += blockDim.x)
            p.counts[r] = collect_total(p.totals + r);
    }
};

/* For more rows than counters: the first row that comes to a slot has its counter there; all others
 * are counted in global memory. So frequent rows, for which threads would queue up, are mostly
 * counted in shared memory. */
struct frequent_rows {
    enum { SLOTS = 1 << BF_CUDA_CACHE_SLOTS_BITS };
    static constexpr unsigned NO_ROW = 0xffffffff;

    static __device__ unsigned *owners() { return (unsigned *)memory; }
    static __device__ unsigned *counters() { return (unsigned *)memory + SLOTS; }

    static __device__ void start(const bf_cuda_count_params &) {
        clear_shared(SLOTS, NO_ROW);
        for (unsigned i = threadIdx.x; i < SLOTS; i += blockDim.x) counters()[i] = 0;
    }
    static __device__ __forceinline__ void add(const bf_cuda_count_params &p, unsigned row) {
        unsigned slot = row * 0x9e3779b1u >> (32 - BF_CUDA_CACHE_SLOTS_BITS);
        unsigned owner = *(volatile unsigned *)(owners() + slot);
        if (owner == NO_ROW) owner = atomicCAS(owners() + slot, NO_ROW, row);
        if (owner == NO_ROW || owner == row)
            atomicAdd(counters() + slot, 1u);
        else
            atomicAdd(p.totals + row, 1ull);
    }
    static __device__ void finish(const bf_cuda_count_params &p, unsigned) {
        for (unsigned i = threadIdx.x; i < SLOTS; i += blockDim.x)
            if (counters()[i] != 0)
                atomicAdd(p.totals + owners()[i], (unsigned long long)counters()[i]);
    }
};

/* --- rules --- */

static __device__ __forceinline__ const bf_cuda_guess<float> &
guess_of(const bf_cuda_count_params &p, float) {
    return p.f32;
}
static __device__ __forceinline__ const bf_cuda_guess<double> &
guess_of(const bf_cuda_count_params &p, double) {
    return p.f64;
}

/* Returns floor(t), also as an integer, for t in [0, 2^23) or [0, 2^32): an addition that rounds
 * down leaves the integer in the last bits. */
static __device__ __forceinline__ float floor_of(float t, unsigned *integer) {
    float sum = __fadd_rd(t, 0x1p23f);
    *integer = __float_as_uint(sum) - 0x4b000000u;
    return sum - 0x1p23f;
}
static __device__ __forceinline__ double floor_of(double t, unsigned *integer) {
    double sum = __dadd_rd(t, 0x1p52);
    *integer = (unsigned)__double2loint(sum);
    return sum - 0x1p52;
}

/* Returns whether 0 <= t <= most, for most > 0 and no t = -0. It compares bits: those of NaN and of
 * negative numbers are greater. */
static __device__ __forceinline__ bool is_within(float t, float most) {
    return __float_as_uint(t) <= __float_as_uint(most);
}
static __device__ __forceinline__ bool is_within(double t, double most) {
    return (uint64_t)__double_as_longlong(t) <= (uint64_t)__double_as_longlong(most);
}

/* bf_bin_guessed of rules/histogram/bin.h. A guess is off by less than half a bin, so a number
 * close to a whole one is in the bin before or after that edge: one comparison tells. */
template <class T> struct guess_rule {
    typedef T Number;
    static constexpr int blocks = 2, vectors = sizeof(T) == 4 ? 4 : 2;

    static __device__ void prepare(const bf_cuda_count_params &) {}

    static __device__ __forceinline__ T guess(const bf_cuda_count_params &p, T x) {
        const bf_cuda_guess<T> &g = guess_of(p, x);
        return (x - g.first) * g.scale;
    }
    /* Returns whether the guessed row is sure. */
    static __device__ __forceinline__ bool is_sure(const bf_cuda_count_params &p, T x,
                                                   unsigned *row) {
        const bf_cuda_guess<T> &g = guess_of(p, x);
        unsigned i;
        T t = guess(p, x), rest = t - floor_of(t, &i);
        *row = min(i, p.bins - 1);
        return rest > g.above && rest < g.before && is_within(t, g.most);
    }
    /* Returns the edge to compare with. */
    static __device__ __forceinline__ unsigned edge_of(const bf_cuda_count_params &p, T x) {
        const bf_cuda_guess<T> &g = guess_of(p, x);
        T t = guess(p, x);
        unsigned i;
        T rest = t - floor_of(t, &i);
        return is_within(t, g.most) ? min(i + (rest > g.above), p.bins) : 0;
    }
    static __device__ __forceinline__ unsigned decide_row(const bf_cuda_count_params &p, T x,
                                                          unsigned i, T edge) {
        T t = guess(p, x);
        if (!(t >= 0)) return p.bins + (t < 0 ? BF_BIN_BELOW : BF_BIN_NAN);
        if (t > guess_of(p, x).most) return p.bins + BF_BIN_ABOVE;
        if (i == p.bins) return x > edge ? p.bins + BF_BIN_ABOVE : p.bins - 1;
        if (x >= edge) return i;
        return i == 0 ? p.bins + BF_BIN_BELOW : i - 1;
    }

    /* Finds rows by comparisons with edges, where these are needed. */
    template <int N>
    static __device__ __forceinline__ void compare_edges(const bf_cuda_count_params &p,
                                                         const T (&given)[N], unsigned (&row)[N]) {
        const T *edges = (const T *)p.edges;
        T x[N], edge[N];
        bool sure[N];
#pragma unroll
        for (int k = 0; k < N; k++) {
            x[k] = bf_cuda_forget(given[k]);
            sure[k] = is_sure(p, x[k], &row[k]);
            if (!sure[k]) edge[k] = edges[row[k] = edge_of(p, x[k])];
        }
#pragma unroll
        for (int k = 0; k < N; k++)
            if (!sure[k]) row[k] = decide_row(p, x[k], row[k], edge[k]);
    }

    template <int N>
    static __device__ __forceinline__ void find_rows(const bf_cuda_count_params &p, const T (&x)[N],
                                                     unsigned (&row)[N]) {
        bool all = true;
#pragma unroll
        for (int k = 0; k < N; k++) all = is_sure(p, x[k], &row[k]) && all;
        if (!all) compare_edges(p, x, row);
    }
};

/* bf_bin_of of rules/histogram/bin.h, by a search down the tree: a comparison a level. */
template <class T> struct search_rule {
    typedef T Number;
    static constexpr int blocks = 2, vectors = 2;

    static __device__ __forceinline__ T *shared_tree(const bf_cuda_count_params &p) {
        return (T *)(memory + (p.rows + 4) / 4);
    }
    static __device__ void prepare(const bf_cuda_count_params &p) {
        if (!p.tree_in_shared) return;
        for (unsigned i = threadIdx.x; i <= 1u << p.levels; i += blockDim.x)
            shared_tree(p)[i] = ((const T *)p.edges)[i];
    }

    template <int N>
    static __device__ __forceinline__ void descend_tree(const T *tree, int levels, const T (&x)[N],
                                                        unsigned (&node)[N]) {
#pragma unroll
        for (int k = 0; k < N; k++) node[k] = 1;
#pragma unroll 1
        for (int level = 0; level < levels; level++) {
#pragma unroll
            for (int k = 0; k < N; k++) node[k] = 2 * node[k] + (x[k] >= tree[node[k]]);
        }
    }

    template <int N>
    static __device__ __forceinline__ void find_rows(const bf_cuda_count_params &p, const T (&x)[N],
                                                     unsigned (&row)[N]) {
        const T *tree = (const T *)p.edges;
        const unsigned leaves = 1u << p.levels;
        if (p.tree_in_shared)
            descend_tree(shared_tree(p), p.levels, x, row);
        else
            descend_tree(tree, p.levels, x, row);
        const T first = tree[0], last = tree[leaves];
#pragma unroll
        for (int k = 0; k < N; k++) {
            row[k] -= leaves;
            if (x[k] < first) row[k] = p.bins + BF_BIN_BELOW;
            if (x[k] > last) row[k] = p.bins + BF_BIN_ABOVE;
            if (x[k] != x[k]) row[k] = p.bins + BF_BIN_NAN;
        }
    }
};

/* bf_bin_of_rank of rules/histogram/bin.h, by a search down a tree of the steps. */
struct step_rule : search_rule<int64_t> {
    template <int N>
    static __device__ __forceinline__ void find_rows(const bf_cuda_count_params &p,
                                                     const int64_t (&x)[N], unsigned (&row)[N]) {
        if (p.tree_in_shared)
            descend_tree(shared_tree(p), p.levels, x, row);
        else
            descend_tree((const int64_t *)p.edges, p.levels, x, row);
#pragma unroll
        for (int k = 0; k < N; k++) {
            const unsigned steps = min(row[k] - (1u << p.levels), p.steps); /* not above x */
            row[k] = steps == 0        ? p.bins + BF_BIN_BELOW
                     : steps <= p.bins ? steps - 1
                                       : p.bins + BF_BIN_ABOVE;
        }
    }
};

/* --- the kernel --- */

/* An element as a number that kernels compute with: of integers the rank. */
template <class T, class X> static __device__ __forceinline__ T number_of(X x) { return (T)x; }
template <> __device__ __forceinline__ int64_t number_of<int64_t>(uint64_t x) {
    return (int64_t)(x ^ 1ull << 63);
}

template <bf_dtype D, class Rule, class Table> struct row_counter {
    typedef bf_cuda_element::stored_of<D> E;
    typedef typename Rule::Number Number;
    static constexpr int N = 16 / (int)sizeof(E), GROUP = 16 / (int)sizeof(Number);
    const bf_cuda_count_params &p;

    template <int n> __device__ __forceinline__ void count_group(const E *e) const {
        Number x[n];
        unsigned row[n];
#pragma unroll
        for (int k = 0; k < n; k++)
            x[k] = number_of<Number>(bf_cuda_element::element<D>::decode(e[k]));
        Rule::find_rows(p, x, row);
#pragma unroll
        for (int k = 0; k < n; k++) Table::add(p, row[k]);
    }
    __device__ __forceinline__ void vector(uint4 v) const {
        E e[N];
        memcpy(e, &v, sizeof v);
#pragma unroll
        for (int g = 0; g < N; g += GROUP) count_group<GROUP>(e + g);
    }
    __device__ __forceinline__ void one(E e) const { count_group<1>(&e); }
};

template <bf_dtype D, class Rule, class Table>
__global__ void __launch_bounds__(BF_CUDA_COUNT_THREADS, Rule::blocks)
    count_rows(const bf_cuda_count_params p) {
    Table::start(p);
    bf_cuda_wait_for_previous();
    unsigned ticket = draw_ticket(p);
    Rule::prepare(p);
    __syncthreads();
    row_counter<D, Rule, Table> visitor = {p};
    visit_elements<bf_cuda_element::stored_of<D>, Rule::vectors>(p.data, p.count, visitor);
    __syncthreads();
    Table::finish(p, ticket);
}

template <bf_dtype D, class Rule> static const void *kernel_of(bool cached) {
    return cached ? (const void *)count_rows<D, Rule, frequent_rows>
                  : (const void *)count_rows<D, Rule, all_rows>;
}

/* Returns the kernel for a dtype that is exact as f32. */
template <class Rule> static const void *kernel_of_single(bf_dtype dtype, bool cached) {
    switch (dtype) {
    case BF_I16: return kernel_of<BF_I16, Rule>(cached);
    case BF_U16: return kernel_of<BF_U16, Rule>(cached);
    case BF_F16: return kernel_of<BF_F16, Rule>(cached);
    case BF_BF16: return kernel_of<BF_BF16, Rule>(cached);
    default: return kernel_of<BF_F32, Rule>(cached);
    }
}

/* Returns the kernel for any other dtype wider than a byte. */
template <class Rule> static const void *kernel_of_double(bf_dtype dtype, bool cached) {
    switch (dtype) {
    case BF_I32: return kernel_of<BF_I32, Rule>(cached);
    case BF_U32: return kernel_of<BF_U32, Rule>(cached);
    case BF_I64: return kernel_of<BF_I64, Rule>(cached);
    case BF_U64: return kernel_of<BF_U64, Rule>(cached);
    default: return kernel_of<BF_F64, Rule>(cached);
    }
}

} // namespace bf_cuda_counting

#endif
