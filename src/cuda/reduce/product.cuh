/* Products of integers as a Fold (kernel.cuh). The 16 bytes of a vector have an exact product of at
 * most 128 bits, in two halves of 64. Once a thread's product is larger than that, it continues
 * modulo 2^64. */
#ifndef BF_CUDA_REDUCE_PRODUCT_CUH
#define BF_CUDA_REDUCE_PRODUCT_CUH

#include "rules/reduce/product.h"

/* The types that hold exact products: Word of elements in 4 bytes, Half of those in 8. */
template <bool Signed> struct bf_cuda_product_words {
    typedef uint32_t Word;
    typedef uint64_t Half;
};
template <> struct bf_cuda_product_words<true> {
    typedef int32_t Word;
    typedef int64_t Half;
};

/* The words of a part are those of rules/reduce/product.h, without the count. */
template <bf_dtype D> struct bf_cuda_product {
    static constexpr bf_dtype dtype = D;
    static constexpr bf_kind kind = BF_KIND_PRODUCT;
    static constexpr bf_reduction op = BF_PROD;
    static constexpr int words = BF_PRODUCT_WORDS;
    static constexpr bool is_signed = D >= BF_I8 && D <= BF_I64;
    typedef typename bf_cuda_product_words<is_signed>::Word Word;
    typedef typename bf_cuda_product_words<is_signed>::Half Half;

    int64_t w[BF_PRODUCT_WORDS];

    __device__ __forceinline__ void start() { bf_product_init(w); }

    /* Absorbs N elements of 16 bytes. */
    template <class E, int N>
    __device__ __forceinline__ void take(const E (&elements)[N], int64_t) {
        static_assert(sizeof elements == 16, "a vector of elements");
        Half half[2] = {1, 1};
        bool zero = false;
        if (sizeof(E) == 8) {
            half[0] = factor(elements[0], &zero);
            half[1] = factor(elements[N / 2], &zero);
        } else {
#pragma unroll
            for (int k = 0; k < 4; k++) half[k / 2] *= word(elements, k, &zero);
        }
        absorb_product((uint64_t)half[0], (uint64_t)half[1], zero);
    }

    template <class E> __device__ __forceinline__ void take_one(E element, int64_t) {
        bool zero = false;
        Half half = factor(element, &zero);
        absorb_product((uint64_t)half, 1, zero);
    }

    __device__ __forceinline__ void part(int64_t *to) const {
#pragma unroll
        for (int i = 0; i < words; i++) to[i] = w[i];
    }

    static __host__ __device__ void merge(int64_t *into, const int64_t *from) {
        bf_product_merge(into, from);
    }

    /* Sets the words of the state of `count` elements from their part. */
    static __host__ __device__ void state(const int64_t *part, int64_t count, int64_t,
                                          int64_t *state_words) {
        for (int i = 0; i < words; i++) state_words[i] = part[i];
        state_words[BF_PRODUCT_COUNT] = count;
    }

  private:
    /* Returns an element, or 1 for zero. */
    template <class E> static __device__ __forceinline__ Half factor(E element, bool *zero) {
        *zero = *zero || element == 0;
        return D == BF_BOOL || element == 0 ? 1 : (Half)element;
    }

    /* Returns the product of the elements of word k. */
    template <class E, int N>
    static __device__ __forceinline__ Half word(const E (&elements)[N], int k, bool *zero) {
        const int per_word = N / 4;
        Word product = 1;
#pragma unroll
        for (int i = 0; i < per_word; i++)
            product *= (Word)factor(elements[k * per_word + i], zero);
        return product;
    }

    static __device__ __forceinline__ uint64_t magnitude(uint64_t x) {
        return is_signed && x >> 63 ? 0 - x : x;
    }

    /* Absorbs the product a * b of elements other than 0. zero: there was a 0. */
    __device__ __forceinline__ void absorb_product(uint64_t a, uint64_t b, bool zero) {
        if (zero) w[BF_PRODUCT_ZERO] = 1;
        if (is_signed) w[BF_PRODUCT_NEGATIVE] ^= (int64_t)((a ^ b) >> 63);
        w[BF_PRODUCT_WRAPPED] = (int64_t)((uint64_t)w[BF_PRODUCT_WRAPPED] * (a * b));
        if (w[BF_PRODUCT_LARGE]) return;
        a = magnitude(a);
        b = magnitude(b);
        if ((a | b) != 1) bf_product_multiply(w, (bf_u128)a * b, false);
    }
};

#endif
