/* Exact sums of floats of any exponent: what fits no window goes to bins (sum_bins.cuh), in tables
 * that a block's warps take turns with. */
#ifndef BF_CUDA_REDUCE_SUM_BY_EXPONENT_CUH
#define BF_CUDA_REDUCE_SUM_BY_EXPONENT_CUH

#include "cuda/reduce/sum_bins.cuh"
#include "cuda/runtime/float.cuh"

/* All blocks of a multiprocessor have so many bytes of tables; what is left is for loads on their
 * way. */
enum { BF_CUDA_TABLE_BYTES = 160 * 1024 };

/* What its warps share. */
struct bf_cuda_exponents {
    int locks[BF_CUDA_WARPS]; /* the tables': 0 new, 1 taken, 2 cleared */
    int64_t words[BF_SUM_WORDS_MAX];

    /* By all threads. */
    __device__ void clear() {
        for (int i = (int)threadIdx.x; i < BF_SUM_WORDS_MAX; i += (int)blockDim.x) words[i] = 0;
        if (threadIdx.x < BF_CUDA_WARPS) locks[threadIdx.x] = 0;
    }
    /* The words enter the grid's. */
    __device__ void add_to(bf_cuda_scratch *scratch) const {
        bf_cuda_wait_for_end();
        for (int i = (int)threadIdx.x; i < BF_SUM_WORDS_MAX; i += (int)blockDim.x)
            bf_cuda_limb_add(&scratch->words[i], words[i]);
        __threadfence();
        __syncthreads();
    }
};

/* Tables for terms of a kind: elements, products of two, or both. */
template <bf_dtype D, bf_kind Kind, bf_cuda_zeros Zeros> struct bf_cuda_by_exponent {
    using Dtype = bf_cuda_float<D>;
    using E = typename Dtype::Element;
    static constexpr bool pair = Kind == BF_KIND_DOT;
    static constexpr bool has_sum = Kind != BF_KIND_SQUARES && Kind != BF_KIND_DOT;
    static constexpr bool has_product = Kind != BF_KIND_SUM;

    /* The position of the last bit of the largest element in the limbs, of the largest product. */
    static __host__ __device__ constexpr int last_bit() { return Dtype::most - (Dtype::bits - 1); }
    static __host__ __device__ constexpr int sum_bins() {
        return has_sum ? bf_cuda_bins_for(last_bit() + (D == BF_F64 ? 1074 : 149)) : 0;
    }
    static __host__ __device__ constexpr int product_bins() {
        return has_product ? bf_cuda_bins_for(2 * last_bit() + (D == BF_F64 ? 2148 : 298) +
                                              (D == BF_F64 ? 64 : 0))
                           : 0;
    }
    static __host__ __device__ constexpr int table_bytes() {
        return (sum_bins() + product_bins()) * BF_CUDA_WARP * (int)sizeof(int64_t);
    }
    /* How many tables a block of so many warps has, of so many blocks. */
    static int tables(int warps, int blocks) {
        int fit = BF_CUDA_TABLE_BYTES / blocks / table_bytes();
        return fit < warps ? fit : warps;
    }
    static __device__ int64_t *table(int i) {
        extern __shared__ __align__(16) int64_t bf_cuda_table_memory[];
        return bf_cuda_table_memory + i * (table_bytes() / (int)sizeof(int64_t));
    }

    static __device__ __forceinline__ uint64_t bits(const E &x) {
        return bf_load_bits(&x, sizeof(E));
    }
    static __device__ __forceinline__ bool is_finite(const E &a, const E &b) {
        const bf_format f = bf_format_of(D);
        const uint64_t inf = bf_format_inf(f);
        return (bits(a) & inf) != inf && (!pair || (bits(b) & inf) != inf);
    }

    /* Takes n terms: elements of a, of pairs times those of b. */
    template <int n>
    static __device__ __forceinline__ void take_terms(bf_cuda_exponents *own, int64_t *table,
                                                      const E *a, const E *b) {
        bool finite = true;
#pragma unroll
        for (int k = 0; k < n; k++) finite = finite && is_finite(a[k], b[k]);
        if (finite) {
            take_finite<n>(own, table, a, b);
            return;
        }
#pragma unroll
        for (int k = 0; k < n; k++)
            if (is_finite(a[k], b[k]))
                take_finite<1>(own, table, a + k, b + k);
            else
                count(own, bits(a[k]), bits(b[k]));
    }

    static __device__ void count(bf_cuda_exponents *own, uint64_t x, uint64_t y) {
        const bf_format f = bf_format_of(D);
        int special = has_sum ? bf_sum_special(f, x) : bf_sum_special_pair(f, x, y);
        atomicAdd((unsigned long long *)&own->words[special], 1ull);
    }

    /* All are placed before the first is added, so that they need not wait for each other. */
    template <int n>
    static __device__ __forceinline__ void take_finite(bf_cuda_exponents *own, int64_t *table,
                                                       const E *a, const E *b) {
        const bf_format f = bf_format_of(D);
        bf_finite u[n], v[n];
        unsigned zeros = 0;
#pragma unroll
        for (int k = 0; k < n; k++) {
            uint64_t x = bits(a[k]), y = bits(b[k]);
            if (Zeros != BF_CUDA_ZEROS_NONE)
                zeros += has_sum ? bf_sum_neg_zero(f, x) : bf_sum_neg_zero_pair(f, x, y);
            u[k] = bf_decode(f, x);
            v[k] = pair ? bf_decode(f, y) : u[k];
        }
        if (Zeros == BF_CUDA_ZEROS_ALL && zeros < n) own->words[BF_SUM_NEG_ZERO] = 1;
        if (Zeros == BF_CUDA_ZEROS_EVERY && zeros > 0)
            atomicAdd((unsigned long long *)&own->words[BF_SUM_NEG_ZERO], zeros);
        if (has_sum) add_sums<n>(table, f, u);
        if (has_product) add_products<n>(table + sum_bins() * BF_CUDA_WARP, f, u, v);
    }

    template <int n>
    static __device__ __forceinline__ void add_sums(int64_t *table, bf_format f,
                                                    const bf_finite *u) {
        bf_cuda_placed placed[n];
#pragma unroll
        for (int k = 0; k < n; k++)
            placed[k] = bf_cuda_bins_place(u[k].magnitude,
                                           bf_sum_position(f, bf_layout_sum(D), u[k].position, 1),
                                           u[k].negative);
#pragma unroll
        for (int k = 0; k < n; k++) bf_cuda_bins_add(table, placed[k]);
    }

    template <int n>
    static __device__ __forceinline__ void add_products(int64_t *table, bf_format f,
                                                        const bf_finite *u, const bf_finite *v) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            int position =
                bf_sum_position(f, bf_layout_products(D), u[k].position + v[k].position, 2);
            bool negative = u[k].negative != v[k].negative;
            uint64_t low = u[k].magnitude * v[k].magnitude;
            bf_cuda_bins_add(table, bf_cuda_bins_place(low, position, negative));
            if (D != BF_F64) continue;
            uint64_t high = __umul64hi(u[k].magnitude, v[k].magnitude);
            bf_cuda_bins_add(table, bf_cuda_bins_place(high, position + 64, negative));
        }
    }

    /* A table for this warp, cleared. */
    static __device__ int64_t *take_table(bf_cuda_exponents *own, int n, int *which) {
        int lane = (int)threadIdx.x % BF_CUDA_WARP;
        int i = (int)threadIdx.x / BF_CUDA_WARP % n, state = 1;
        while (state == 1) {
            if (lane == 0) state = atomicExch(&own->locks[i], 1);
            state = __shfl_sync(0xffffffffu, state, 0);
            if (state == 1) __nanosleep(200);
        }
        __threadfence_block();
        __syncwarp();
        if (state == 0) bf_cuda_bins_clear(table(i), sum_bins() + product_bins());
        *which = i;
        return table(i);
    }

    /* Adds a table to the words and gives it back. */
    static __device__ void fold_table(bf_cuda_exponents *own, int64_t *table, int which) {
        bf_kind kind = Kind == BF_KIND_DESCRIPTION ? BF_KIND_MOMENTS : Kind;
        bf_sum_shape s = bf_sum_shape_of(kind, D);
        if (has_sum) bf_cuda_bins_fold(table, sum_bins(), own->words + s.sum_at);
        if (has_product)
            bf_cuda_bins_fold(table + sum_bins() * BF_CUDA_WARP, product_bins(),
                              own->words + s.products_at);
        __threadfence_block();
        __syncwarp();
        if (threadIdx.x % BF_CUDA_WARP == 0) atomicExch(&own->locks[which], 2);
    }
};

#endif
