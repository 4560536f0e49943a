/* Exact sums of floats of any exponent: what fits no window goes to bins (bins.cuh), in tables that
 * a block's warps take turns with. */
#ifndef BF_CUDA_BY_EXPONENT_CUH
#define BF_CUDA_BY_EXPONENT_CUH

#include "bins.cuh"
#include "float.cuh"

enum { BF_CUDA_TABLE_BYTES = 128 * 1024 /* of a block; what is left is for loads on their way */ };

/* What its warps share. */
struct bf_cuda_exponents {
    int locks[BF_CUDA_WARPS]; /* of the tables: 0 new, 1 taken, 2 cleared */
    int64_t words[BF_EXACT_WORDS_MAX];

    /* By all threads. */
    __device__ void clear() {
        for (int i = (int)threadIdx.x; i < BF_EXACT_WORDS_MAX; i += (int)blockDim.x) words[i] = 0;
        if (threadIdx.x < BF_CUDA_WARPS) locks[threadIdx.x] = 0;
    }
    /* The words enter the grid's. */
    __device__ void add_to(bf_cuda_scratch *scratch) const {
        for (int i = (int)threadIdx.x; i < BF_EXACT_WORDS_MAX; i += (int)blockDim.x)
            bf_cuda_limb_add(&scratch->words[i], words[i]);
        __threadfence();
        __syncthreads();
    }
};

/* Tables for terms of a kind: elements, products of two, or both. */
template <bf_dtype D, bf_kind Kind> struct bf_cuda_by_exponent {
    using Dtype = bf_cuda_float<D>;
    using E = typename Dtype::Element;
    static constexpr bool pair = Kind == BF_KIND_PRODUCTS;
    static constexpr bool has_sum = Kind != BF_KIND_SQUARES && Kind != BF_KIND_PRODUCTS;
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
    /* How many tables a block of so many warps has. */
    static int tables(int warps) {
        int fit = BF_CUDA_TABLE_BYTES / table_bytes();
        return fit < warps ? fit : warps;
    }
    static __device__ int64_t *table(int i) {
        extern __shared__ int64_t bf_cuda_tables[];
        return bf_cuda_tables + i * (table_bytes() / (int)sizeof(int64_t));
    }

    /* Takes a, of pairs times b. */
    static __device__ __forceinline__ void take_term(bf_cuda_exponents *own, int64_t *table, E a,
                                                     E b) {
        const bf_format f = bf_format_of(D);
        uint64_t x = bf_load_bits(&a, sizeof(E)), y = bf_load_bits(&b, sizeof(E));
        int special = has_sum ? bf_exact_special(f, x) : bf_exact_special_pair(f, x, y);
        if (special) {
            atomicAdd((unsigned long long *)&own->words[special], 1ull);
            return;
        }
        if (has_sum ? bf_exact_nonzero(f, x) : bf_exact_nonzero_pair(f, x, y))
            own->words[BF_EXACT_NONZERO] = 1;
        bf_finite u = bf_decode(f, x);
        if (has_sum)
            bf_cuda_bins_take(table, u.magnitude,
                              bf_exact_position(f, bf_layout_sum(D), u.position, 1), u.negative);
        if (has_product)
            take_product(table + sum_bins() * BF_CUDA_WARP, f, u, pair ? bf_decode(f, y) : u);
    }

    static __device__ __forceinline__ void take_product(int64_t *table, bf_format f, bf_finite u,
                                                        bf_finite v) {
        int position = bf_exact_position(f, bf_layout_products(D), u.position + v.position, 2);
        bool negative = u.negative != v.negative;
        bf_cuda_bins_take(table, u.magnitude * v.magnitude, position, negative);
        if (D == BF_F64)
            bf_cuda_bins_take(table, __umul64hi(u.magnitude, v.magnitude), position + 64, negative);
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
        bf_exact_shape s = bf_exact_shape_of(kind, D);
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
