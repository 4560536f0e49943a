/* Exact sums of floats of any exponent: terms that fit no window go to bins.
 *
 * A number is an integer magnitude at a position in the limbs (rules/reduce/sum.h). A table has an
 * int64 for every 44 bits of them, and a column for each lane, so that no two lanes meet and no
 * access needs to be atomic. A magnitude is shifted to its position and cut into three digits of up
 * to 44 bits, which are added to three neighbouring bins. Tables are shared: a warp takes one for a
 * group of tiles, then adds its columns to the block's limbs. One bin for each range of exponents
 * is the idea of Neal's superaccumulators (2015). */
#ifndef BF_CUDA_REDUCE_SUM_BY_EXPONENT_CUH
#define BF_CUDA_REDUCE_SUM_BY_EXPONENT_CUH

#include "cuda/reduce/kernel.cuh"
#include "cuda/reduce/sum_limbs.cuh"
#include "cuda/runtime/float.cuh"

/* --- bins --- */

enum { BF_CUDA_BIN = 44, BF_CUDA_DIGITS_OF_64 = 3 /* enough for 64 bits shifted by up to 43 */ };

/* Returns the number of bins for magnitudes at positions up to `most`. */
static __host__ __device__ constexpr int bf_cuda_bins_for(int most) {
    return most / BF_CUDA_BIN + BF_CUDA_DIGITS_OF_64;
}

/* A number cut into digits: those of bins `bin` and the next two. */
struct bf_cuda_placed {
    int64_t digit[3];
    int bin;
};

/* Cuts (negative ? -1 : 1) * magnitude * 2^position into digits. */
static __device__ __forceinline__ bf_cuda_placed bf_cuda_bins_place(uint64_t magnitude,
                                                                    int position, bool negative) {
    const uint64_t mask = ((uint64_t)1 << BF_CUDA_BIN) - 1;
    bf_cuda_placed p;
    int shift = position % BF_CUDA_BIN;
    int64_t sign = negative ? -1 : 0; /* (x ^ sign) - sign negates x */
    uint64_t low = magnitude << shift, high = magnitude >> 1 >> (63 - shift);
    p.bin = position / BF_CUDA_BIN;
    p.digit[0] = (int64_t)(low & mask);
    p.digit[1] = (int64_t)((low >> BF_CUDA_BIN | high << (64 - BF_CUDA_BIN)) & mask);
    p.digit[2] = (int64_t)(high >> (2 * BF_CUDA_BIN - 64));
#pragma unroll
    for (int i = 0; i < 3; i++) p.digit[i] = (p.digit[i] ^ sign) - sign;
    return p;
}

/* Adds the digits to the lane's column. */
static __device__ __forceinline__ void bf_cuda_bins_add(int64_t *table, const bf_cuda_placed &p) {
    int64_t *at = table + p.bin * BF_CUDA_WARP + threadIdx.x % BF_CUDA_WARP;
    int64_t bins[3] = {at[0], at[BF_CUDA_WARP], at[2 * BF_CUDA_WARP]};
#pragma unroll
    for (int i = 0; i < 3; i++) at[i * BF_CUDA_WARP] = bins[i] + p.digit[i];
}

static __device__ void bf_cuda_bins_clear(int64_t *table, int bins) {
    for (int i = 0; i < bins; i++) table[i * BF_CUDA_WARP + threadIdx.x % BF_CUDA_WARP] = 0;
    __syncwarp();
}

/* Adds a table to the limbs and clears it. A lane sums a bin; neighbours begin in different
 * columns. */
static __device__ void bf_cuda_bins_fold(int64_t *table, int bins, int64_t *limbs) {
    int lane = (int)threadIdx.x % BF_CUDA_WARP;
    __syncwarp();
    for (int bin = lane; bin < bins; bin += BF_CUDA_WARP) {
        int64_t sum = 0;
        for (int k = 0; k < BF_CUDA_WARP; k++) {
            int64_t *at = table + bin * BF_CUDA_WARP + (k + lane) % BF_CUDA_WARP;
            sum += *at;
            *at = 0;
        }
        if (sum != 0)
            bf_cuda_add_term(limbs, BF_CUDA_BIN * bin, sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum,
                             sum < 0);
    }
    __syncwarp();
}

/* --- tables of a block --- */

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
            bf_cuda_add_word(&scratch->words[i], words[i]);
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
        bf_cuda_add_word(&own->words[special], 1);
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
