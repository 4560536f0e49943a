/* Minima, maxima and their indices as Folds (see reduce.cuh). A thread compares the elements of a
 * vector with each other first, and then their best with its own; only where that wins is the
 * element looked for, and only vectors that hold a NaN go element by element. */
#ifndef BF_CUDA_EXTREME_CUH
#define BF_CUDA_EXTREME_CUH

#include "../rules/extreme.h"

/* --- elements as keys --- */

/* What a thread holds keys in: those of rules/order.h, in 32 bits where they fit. */
template <bf_dtype D> struct bf_cuda_key {
    typedef int32_t type;
    static constexpr type least = INT32_MIN, greatest = INT32_MAX;
};
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

/* bf_order_key; floats of 4 and 8 bytes without a branch. */
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
    return (Key)bf_order_key(D, bits);
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

/* Of each 16-bit half. */
template <bool Greatest, bool Signed>
static __device__ __forceinline__ uint32_t bf_cuda_best_halves(uint32_t a, uint32_t b) {
    if (Greatest) return Signed ? __vmaxs2(a, b) : __vmaxu2(a, b);
    return Signed ? __vmins2(a, b) : __vminu2(a, b);
}

/* Of the two halves of a word. */
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

/* Of bytes: they compete as the upper bytes of halves, where the lower ones cannot change who
 * wins. */
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

/* Bytes that are not 0 become 0x80. */
static __device__ __forceinline__ bf_cuda_vector bf_cuda_truth(bf_cuda_vector v) {
#pragma unroll
    for (int k = 0; k < 4; k++)
        v.word[k] = (((v.word[k] & 0x7f7f7f7fu) + 0x7f7f7f7fu) | v.word[k]) & 0x80808080u;
    return v;
}

/* The keys of floats of 2 bytes: bf_order_flip of both halves. */
static __device__ __forceinline__ bf_cuda_vector bf_cuda_half_keys(bf_cuda_vector v) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint32_t signs = v.word[k] & 0x80008000u;
        v.word[k] ^= signs - (signs >> 15);
    }
    return v;
}

/* Of elements of 4 and 8 bytes. */
template <bf_dtype D, bool Greatest>
static __device__ __forceinline__ typename bf_cuda_key<D>::type
bf_cuda_best_wide(const bf_cuda_vector &v) {
    typename bf_cuda_key<D>::type best = bf_cuda_key_of<D>(bf_cuda_bits_at<D>(v, 0));
#pragma unroll
    for (int i = 1; i < 16 / bf_dtype_bytes(D); i++)
        best = bf_cuda_best<Greatest>(best, bf_cuda_key_of<D>(bf_cuda_bits_at<D>(v, i)));
    return best;
}

/* The best key of a vector that holds no NaN. */
template <bf_dtype D, bool Greatest>
static __device__ __forceinline__ typename bf_cuda_key<D>::type
bf_cuda_best_of(const bf_cuda_vector &v) {
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
    case BF_BF16:
        return (Key)bf_cuda_best_half<Greatest, true>(
            bf_cuda_best_pair<Greatest, true>(bf_cuda_half_keys(v)));
    default: return bf_cuda_best_wide<D, Greatest>(v);
    }
}

/* --- NaNs --- */

/* Those of 2 bytes have keys beyond the infinities'. */
template <bf_dtype D>
static __device__ __forceinline__ bool bf_cuda_any_nan_half(const bf_cuda_vector &v) {
    bf_cuda_vector keys = bf_cuda_half_keys(v);
    int32_t inf = (int32_t)bf_format_inf(bf_format_of(D));
    return bf_cuda_best_half<true, true>(bf_cuda_best_pair<true, true>(keys)) > inf ||
           bf_cuda_best_half<false, true>(bf_cuda_best_pair<false, true>(keys)) < ~inf;
}

template <bf_dtype D>
static __device__ __forceinline__ bool bf_cuda_any_nan(const bf_cuda_vector &v) {
    if (!bf_dtype_is_float(D)) return false;
    if (bf_dtype_bytes(D) == 2) return bf_cuda_any_nan_half<D>(v);
    if (D == BF_F32)
        return isunordered(__uint_as_float(v.word[0]), __uint_as_float(v.word[1])) ||
               isunordered(__uint_as_float(v.word[2]), __uint_as_float(v.word[3]));
    return isunordered(__longlong_as_double((long long)bf_cuda_bits_at<BF_F64>(v, 0)),
                       __longlong_as_double((long long)bf_cuda_bits_at<BF_F64>(v, 1)));
}

/* --- the Folds --- */

/* One extreme of elements of dtype D; with its index, if Indexed. A part's words: the key as
 * rules/extreme.h holds it, then what there is of index, number of NaNs, index of the first NaN;
 * an index of nothing, and the key where floats have none, is INT64_MAX. */
template <bf_dtype D, bool Greatest, bool Indexed> struct bf_cuda_extreme {
    typedef typename bf_cuda_key<D>::type Key;
    static constexpr bf_dtype dtype = D;
    static constexpr bf_reduction op =
        Indexed ? (Greatest ? BF_ARGMAX : BF_ARGMIN) : (Greatest ? BF_MAX : BF_MIN);
    static constexpr bool floats = D >= BF_F16 && D <= BF_F64;
    static constexpr int INDEX = 1, NAN_COUNT = 1 + Indexed, NAN_INDEX = NAN_COUNT + 1;
    static constexpr int words = (floats ? 2 : 1) * (Indexed ? 2 : 1);
    static constexpr Key none = Greatest ? bf_cuda_key<D>::least : bf_cuda_key<D>::greatest;

    Key best;
    int64_t at, nan, nan_at;

    __device__ __forceinline__ void start() {
        best = none;
        at = nan_at = INT64_MAX;
        nan = 0;
    }

    /* N elements of 16 bytes, the first with this index. */
    template <class E, int N>
    __device__ __forceinline__ void take(const E (&elements)[N], int64_t index) {
        static_assert(sizeof elements == sizeof(bf_cuda_vector), "a vector of elements");
        bf_cuda_vector v;
        memcpy(&v, elements, sizeof v);
        if (bf_cuda_any_nan<D>(v)) {
#pragma unroll
            for (int i = 0; i < N; i++) take_bits(bf_cuda_bits_at<D>(v, i), index + i);
            return;
        }
        Key key = bf_cuda_best_of<D, Greatest>(v);
        if (!Indexed)
            best = bf_cuda_best<Greatest>(best, key);
        else if (wins(key, index))
            find<N>(v, key, index);
    }

    template <class E> __device__ __forceinline__ void take_one(E element, int64_t index) {
        take_bits(bf_load_bits(&element, (int)sizeof element), index);
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

    /* The words of the state of `count` elements, the first with this index, from their part. */
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
    __device__ __forceinline__ bool wins(Key key, int64_t index) const {
        return bf_cuda_before<Greatest>(key, best) || (key == best && index < at);
    }

    /* The vector's first element with this key is the best so far. */
    template <int N>
    __device__ __forceinline__ void find(const bf_cuda_vector &v, Key key, int64_t index) {
        int first = 0;
#pragma unroll
        for (int i = N - 1; i >= 0; i--)
            if (bf_cuda_key_of<D>(bf_cuda_bits_at<D>(v, i)) == key) first = i;
        best = key;
        at = index + first;
    }

    __device__ __forceinline__ void take_bits(uint64_t bits, int64_t index) {
        if (floats && bf_is_nan(bf_format_of(D), bits)) {
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

/* The first minimum and the first maximum: for descriptions. */
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
    /* The two states, one behind the other. */
    static __host__ __device__ void state(const int64_t *part, int64_t count, int64_t index,
                                          int64_t *state_words) {
        Least::state(part, count, index, state_words);
        Greatest::state(part + Least::words, count, index, state_words + BF_EXTREME_WORDS);
    }
};

#endif
