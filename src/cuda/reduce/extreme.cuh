/* Minima, maxima and their indices as Folds (kernel.cuh). A thread first compares the elements of a
 * vector with each other, and then their best with its own; only if that wins does it look for the
 * element. NaNs are counted, and compete with a key that never wins: no branch tests for them. */
#ifndef BF_CUDA_REDUCE_EXTREME_CUH
#define BF_CUDA_REDUCE_EXTREME_CUH

#include "cuda/runtime/ptx.cuh"

#include "rules/reduce/extreme.h"

/* --- elements as keys --- */

/* The type of keys in a thread: those of rules/key/order.h, in 32 bits if they fit. Of floats, only
 * NaNs have the least and the greatest key. */
template <bf_dtype D> struct bf_cuda_key {
    typedef int32_t type;
    static constexpr type least = INT32_MIN, greatest = INT32_MAX;
};
struct bf_cuda_key_16 {
    typedef int32_t type;
    static constexpr type least = INT16_MIN, greatest = INT16_MAX;
};
template <> struct bf_cuda_key<BF_F16> : bf_cuda_key_16 {};
template <> struct bf_cuda_key<BF_BF16> : bf_cuda_key_16 {};
template <> struct bf_cuda_key<BF_U32> {
    typedef uint32_t type;
    static constexpr type least = 0, greatest = UINT32_MAX;
};
struct bf_cuda_key_64 {
    typedef int64_t type;
    static constexpr type least = INT64_MIN, greatest = INT64_MAX;
};
template <> struct bf_cuda_key<BF_I64> : bf_cuda_key_64 {};
template <> struct bf_cuda_key<BF_U64> : bf_cuda_key_64 {};
template <> struct bf_cuda_key<BF_F64> : bf_cuda_key_64 {};

/* The key that loses to all others. */
template <bf_dtype D, bool Greatest>
constexpr typename bf_cuda_key<D>::type bf_cuda_key_none =
    Greatest ? bf_cuda_key<D>::least : bf_cuda_key<D>::greatest;

/* Returns bf_order_rank; for floats of 4 and 8 bytes without a branch. */
template <bf_dtype D>
static __device__ __forceinline__ typename bf_cuda_key<D>::type bf_cuda_key_of(uint64_t bits) {
    typedef typename bf_cuda_key<D>::type Key;
    if (D == BF_F32) {
        int32_t x = (int32_t)bits;
        return (Key)(x ^ (x >> 31 & INT32_MAX));
    }
    if (D == BF_F64) {
        int64_t x = (int64_t)bits;
        return (Key)(x ^ (x >> 63 & INT64_MAX));
    }
    return (Key)bf_order_rank(D, bits);
}

/* A vector: 16 bytes of elements. */
struct bf_cuda_vector {
    uint32_t word[4];
};

template <bf_dtype D>
static __device__ __forceinline__ uint64_t bf_cuda_bits_at(const bf_cuda_vector &v, int i) {
    int bytes = bf_dtype_bytes(D), at = i * bytes;
    if (bytes == 8) return (uint64_t)v.word[2 * i + 1] << 32 | v.word[2 * i];
    if (bytes == 4) return v.word[i];
    return v.word[at / 4] >> 8 * (at % 4) & (bytes == 2 ? 0xffffu : 0xffu);
}

/* --- the best of two, of a vector --- */

template <bool Greatest, class Key>
static __device__ __forceinline__ bool bf_cuda_before(Key a, Key b) {
    return Greatest ? a > b : a < b;
}

template <bool Greatest, class Key>
static __device__ __forceinline__ Key bf_cuda_best(Key a, Key b) {
    return bf_cuda_before<Greatest>(b, a) ? b : a;
}

/* Returns the best of each 16-bit half. */
template <bool Greatest, bool Signed>
static __device__ __forceinline__ uint32_t bf_cuda_best_halves(uint32_t a, uint32_t b) {
    if (Greatest) return Signed ? __vmaxs2(a, b) : __vmaxu2(a, b);
    return Signed ? __vmins2(a, b) : __vminu2(a, b);
}

/* Returns the best of the two halves of a word. */
template <bool Greatest, bool Signed>
static __device__ __forceinline__ int32_t bf_cuda_best_half(uint32_t x) {
    int32_t low = Signed ? (int16_t)x : (int32_t)(x & 0xffff);
    int32_t high = Signed ? (int32_t)x >> 16 : (int32_t)(x >> 16);
    return bf_cuda_best<Greatest>(low, high);
}

template <bool Greatest, bool Signed>
static __device__ __forceinline__ uint32_t bf_cuda_best_pair(const bf_cuda_vector &v) {
    uint32_t low = bf_cuda_best_halves<Greatest, Signed>(v.word[0], v.word[1]);
    uint32_t high = bf_cuda_best_halves<Greatest, Signed>(v.word[2], v.word[3]);
    return bf_cuda_best_halves<Greatest, Signed>(low, high);
}

/* Returns the best byte. Bytes compete as the upper bytes of halves, where the lower ones cannot
 * change the winner. */
template <bool Greatest, bool Signed>
static __device__ __forceinline__ int32_t bf_cuda_best_byte(const bf_cuda_vector &v) {
    bf_cuda_vector even;
#pragma unroll
    for (int k = 0; k < 4; k++) even.word[k] = v.word[k] << 8;
    uint32_t a = bf_cuda_best_pair<Greatest, Signed>(v);
    uint32_t b = bf_cuda_best_pair<Greatest, Signed>(even);
    uint32_t halves = bf_cuda_best_halves<Greatest, Signed>(a, b);
    return bf_cuda_best_half<Greatest, Signed>(halves) >> 8;
}

/* Turns bytes other than 0 into 0x80. */
static __device__ __forceinline__ bf_cuda_vector bf_cuda_truth(bf_cuda_vector v) {
#pragma unroll
    for (int k = 0; k < 4; k++)
        v.word[k] = (((v.word[k] & 0x7f7f7f7fu) + 0x7f7f7f7fu) | v.word[k]) & 0x80808080u;
    return v;
}

/* Returns the keys of two floats of 2 bytes. NaNs are added to *nans, and get the key that loses.
 */
template <bf_dtype D, bool Greatest>
static __device__ __forceinline__ uint32_t bf_cuda_half_keys(uint32_t bits, int *nans) {
    const uint32_t most = 0x7fff7fffu, none = Greatest ? ~most : most;
    const uint32_t beyond = (most & 0xffff) - (uint32_t)bf_format_inf(bf_format_of(D));
    uint32_t keys = bits ^ (bf_cuda_half_masks(bits) & most);
    uint32_t is_nan = bf_cuda_half_masks((bits & most) + beyond * 0x10001u);
    *nans = __dp4a((int)is_nan, 0x00ff00ff, *nans);
    return (keys & ~is_nan) | (none & is_nan);
}

template <bf_dtype D, bool Greatest>
static __device__ __forceinline__ int32_t bf_cuda_best_float_half(bf_cuda_vector v, int *nans) {
#pragma unroll
    for (int k = 0; k < 4; k++) v.word[k] = bf_cuda_half_keys<D, Greatest>(v.word[k], nans);
    return bf_cuda_best_half<Greatest, true>(bf_cuda_best_pair<Greatest, true>(v));
}

template <bf_dtype D> static __device__ __forceinline__ bool bf_cuda_is_nan(uint64_t bits) {
    return bf_dtype_is_float(D) && bf_is_nan(bf_format_of(D), bits);
}

/* Returns the best key of elements of 4 and 8 bytes. */
template <bf_dtype D, bool Greatest>
static __device__ __forceinline__ typename bf_cuda_key<D>::type
bf_cuda_best_wide(const bf_cuda_vector &v, int *nans) {
    typename bf_cuda_key<D>::type best = bf_cuda_key_none<D, Greatest>, key;
#pragma unroll
    for (int i = 0; i < 16 / bf_dtype_bytes(D); i++) {
        uint64_t bits = bf_cuda_bits_at<D>(v, i);
        bool is_nan = bf_cuda_is_nan<D>(bits);
        key = is_nan ? bf_cuda_key_none<D, Greatest> : bf_cuda_key_of<D>(bits);
        best = bf_cuda_best<Greatest>(best, key);
        *nans += is_nan;
    }
    return best;
}

/* Returns the best key of a vector. NaNs, which have none, are added to *nans. */
template <bf_dtype D, bool Greatest>
static __device__ __forceinline__ typename bf_cuda_key<D>::type
bf_cuda_best_of(const bf_cuda_vector &v, int *nans) {
    typedef typename bf_cuda_key<D>::type Key;
    switch (D) {
    case BF_BOOL: return (Key)(bf_cuda_best_byte<Greatest, false>(bf_cuda_truth(v)) != 0);
    case BF_U8: return (Key)bf_cuda_best_byte<Greatest, false>(v);
    case BF_I8: return (Key)bf_cuda_best_byte<Greatest, true>(v);
    case BF_U16:
        return (Key)bf_cuda_best_half<Greatest, false>(bf_cuda_best_pair<Greatest, false>(v));
    case BF_I16:
        return (Key)bf_cuda_best_half<Greatest, true>(bf_cuda_best_pair<Greatest, true>(v));
    case BF_F16:
    case BF_BF16: return (Key)bf_cuda_best_float_half<D, Greatest>(v, nans);
    default: return bf_cuda_best_wide<D, Greatest>(v, nans);
    }
}

/* Turns elements with this key, and only these, into 0. */
template <bf_dtype D>
static __device__ __forceinline__ bf_cuda_vector
bf_cuda_differences(const bf_cuda_vector &v, typename bf_cuda_key<D>::type key) {
    bf_cuda_vector x = D == BF_BOOL ? bf_cuda_truth(v) : v;
    uint64_t bits = D == BF_BOOL ? (uint64_t)key << 7 : bf_order_bits(D, (int64_t)key);
    if (bf_dtype_bytes(D) == 1) bits *= 0x01010101u;
    if (bf_dtype_bytes(D) == 2) bits *= 0x00010001u;
#pragma unroll
    for (int k = 0; k < 4; k++)
        x.word[k] ^= (uint32_t)(bf_dtype_bytes(D) == 8 && k % 2 ? bits >> 32 : bits);
    return x;
}

/* --- the Folds --- */

/* One extreme of elements of dtype D; with its index, if Indexed. The words of a part: the key as
 * rules/reduce/extreme.h holds it, and then those that exist of index, number of NaNs, index of the
 * first NaN. INT64_MAX stands for no index, and for the key if floats have none. */
template <bf_dtype D, bool Greatest, bool Indexed> struct bf_cuda_extreme {
    typedef typename bf_cuda_key<D>::type Key;
    static constexpr bf_dtype dtype = D;
    static constexpr bf_kind kind = BF_KIND_EXTREME;
    static constexpr bf_reduction op =
        Indexed ? (Greatest ? BF_ARGMAX : BF_ARGMIN) : (Greatest ? BF_MAX : BF_MIN);
    static constexpr bool floats = D >= BF_F16 && D <= BF_F64;
    static constexpr int INDEX = 1, NAN_COUNT = 1 + Indexed, NAN_INDEX = NAN_COUNT + 1;
    static constexpr int words = (floats ? 2 : 1) * (Indexed ? 2 : 1);
    static constexpr Key none = bf_cuda_key_none<D, Greatest>;

    Key best;
    int64_t at, nan, nan_at;

    __device__ __forceinline__ void start() {
        best = none;
        at = nan_at = INT64_MAX;
        nan = 0;
    }

    /* Absorbs N elements of 16 bytes, the first with this index. */
    template <class E, int N>
    __device__ __forceinline__ void take(const E (&elements)[N], int64_t index) {
        static_assert(sizeof elements == sizeof(bf_cuda_vector), "a vector of elements");
        bf_cuda_vector v;
        memcpy(&v, elements, sizeof v);
        int nans = 0;
        Key key = bf_cuda_best_of<D, Greatest>(v, &nans);
        if (floats) nan += nans;
        if (!Indexed)
            best = bf_cuda_best<Greatest>(best, key);
        else if (wins(key, index))
            find<N>(v, key, index);
        if (floats && Indexed && (nans > 0) & (index < nan_at)) find_nan<N>(v, index);
    }

    template <class E> __device__ __forceinline__ void take_one(E element, int64_t index) {
        absorb_bits(bf_load_bits(&element, (int)sizeof element), index);
    }

    __device__ __forceinline__ void part(int64_t *w) const {
        int64_t key = (int64_t)best;
        w[0] = floats && best == none ? INT64_MAX : Greatest ? ~key : key;
        if (Indexed) w[INDEX] = at;
        if (floats) w[NAN_COUNT] = nan;
        if (floats && Indexed) w[NAN_INDEX] = nan_at;
    }

    static __host__ __device__ __forceinline__ void merge(int64_t *into, const int64_t *from) {
        bool less = from[0] < into[0];
        if (Indexed) less = less || (from[0] == into[0] && from[INDEX] < into[INDEX]);
        if (less) into[0] = from[0];
        if (Indexed && less) into[INDEX] = from[INDEX];
        if (floats) into[NAN_COUNT] += from[NAN_COUNT];
        if (floats && Indexed && from[NAN_INDEX] < into[NAN_INDEX])
            into[NAN_INDEX] = from[NAN_INDEX];
    }

    /* Sets the words of the state of `count` elements, the first with this index, from their part.
     */
    static __host__ __device__ void state(const int64_t *part, int64_t count, int64_t index,
                                          int64_t *state_words) {
        int64_t begin = Indexed ? index : 0;
        bool some = Indexed ? part[INDEX] != INT64_MAX : !floats || part[0] != INT64_MAX;
        bf_extreme_init(state_words);
        if (some) bf_extreme_take(state_words, part[0], Indexed ? begin + part[INDEX] : 0);
        if (floats && part[NAN_COUNT] > 0)
            bf_extreme_take_nan(state_words, part[NAN_COUNT],
                                Indexed ? begin + part[NAN_INDEX] : 0);
        bf_extreme_cover(state_words, count, begin, Indexed ? begin + count : 0);
    }

  private:
    /* Returns whether a key is better than the best so far, without a branch. */
    __device__ __forceinline__ bool wins(Key key, int64_t index) const {
        bool is_one = !floats | (key != none), ties = (key == best) & (index < at);
        return is_one & (bf_cuda_before<Greatest>(key, best) | ties);
    }

    /* Makes the vector's first element with this key the best so far. */
    template <int N>
    __device__ __forceinline__ void find(const bf_cuda_vector &v, Key key, int64_t index) {
        bf_cuda_vector others = bf_cuda_differences<D>(v, key);
        int first = 0;
#pragma unroll
        for (int i = N - 1; i >= 0; i--)
            if (bf_cuda_bits_at<D>(others, i) == 0) first = i;
        best = key;
        at = index + first;
    }

    /* Makes the vector's first NaN the first so far. */
    template <int N>
    __device__ __forceinline__ void find_nan(const bf_cuda_vector &v, int64_t index) {
        int first = 0;
#pragma unroll
        for (int i = N - 1; i >= 0; i--)
            if (bf_cuda_is_nan<D>(bf_cuda_bits_at<D>(v, i))) first = i;
        nan_at = index + first;
    }

    __device__ __forceinline__ void absorb_bits(uint64_t bits, int64_t index) {
        if (bf_cuda_is_nan<D>(bits)) {
            nan++;
            if (index < nan_at) nan_at = index;
            return;
        }
        Key key = bf_cuda_key_of<D>(bits);
        if (!wins(key, index)) return;
        best = key;
        at = index;
    }
};

/* The first minimum and the first maximum, for descriptions. */
template <bf_dtype D> struct bf_cuda_extremes {
    typedef bf_cuda_extreme<D, false, true> Least;
    typedef bf_cuda_extreme<D, true, true> Greatest;
    static constexpr int words = Least::words + Greatest::words;

    Least least;
    Greatest greatest;

    __device__ __forceinline__ void start() {
        least.start();
        greatest.start();
    }
    template <class E, int N>
    __device__ __forceinline__ void take(const E (&elements)[N], int64_t index) {
        least.take(elements, index);
        greatest.take(elements, index);
    }
    template <class E> __device__ __forceinline__ void take_one(E element, int64_t index) {
        least.take_one(element, index);
        greatest.take_one(element, index);
    }
    __device__ __forceinline__ void part(int64_t *w) const {
        least.part(w);
        greatest.part(w + Least::words);
    }
    static __host__ __device__ __forceinline__ void merge(int64_t *into, const int64_t *from) {
        Least::merge(into, from);
        Greatest::merge(into + Least::words, from + Least::words);
    }
    /* Sets the words of the two states, one after the other. */
    static __host__ __device__ void state(const int64_t *part, int64_t count, int64_t index,
                                          int64_t *state_words) {
        Least::state(part, count, index, state_words);
        Greatest::state(part + Least::words, count, index, state_words + BF_EXTREME_WORDS);
    }
};

#endif
