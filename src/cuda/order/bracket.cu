/* Ranks in a long line (after Floyd and Rivest, SELECT, 1975).
 *
 * 1. A sample tells for each wanted rank two places between which it almost surely lies.
 * 2. One read of the line counts the elements below each such bracket, and keeps those inside any.
 * 3. What was kept is counted by its leading bits, the elements that have those of the wanted rank
 *    are taken, and one block finds the rank among these.
 *
 * The counts prove the result. The ends of a bracket are not kept, so that equal elements cost no
 * memory: a rank that is not inside is looked for at the ends, by a second read that counts the
 * elements equal to them. If it is not there, another sample is taken, and in the end the line is
 * sorted. Neither the sample nor the order in which elements are kept shows in the result. */
#include "cuda/order/bracket.cuh"
#include "cuda/order/places.cuh"
#include "cuda/runtime/elements.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"

#include "rules/key/hash.h"

namespace {

enum {
    MOST = BF_CUDA_BRACKETS,
    RANKS = 2 * MOST,
    WARP = 32,
    SAMPLERS = 256,   /* threads of a block that takes a sample */
    SELECTORS = 1024, /* threads of a block that selects by itself */
    KEEPERS = 256,    /* threads of a block that keeps elements */
    TABLE_BITS = 12,  /* of its table's entries */
    TABLE = 1 << TABLE_BITS,
    FIELD = 6, /* bits of an entry for each bracket */
    BUCKET_BITS = 11,
    BUCKETS = 1 << BUCKET_BITS,
    LISTED = 1 << 15,      /* bytes of elements that a block that selects has in shared memory */
    SMALL = 1 << 14,       /* elements of the buckets of a rank: more are sorted */
    FIRST_MOST = 1 << 10,  /* of the first k: more are sorted */
    SAMPLE_ONE = 1 << 16,  /* elements of a sample for one bracket, */
    SAMPLE_MOST = 1 << 17, /* and for several */
    TRIES = 2
};

/* Where a rank is: found; before or behind its bracket; in brackets that kept too much, or in a
 * bucket that has too much. */
enum where_found { FOUND, BEFORE, BEHIND, OVERFLOWN, CROWDED };

/* What the kernels of a try tell each other, and the host: the first BOARD_WORDS words. */
struct board {
    unsigned long long nans;
    unsigned long long pooled;                  /* elements kept, in any bracket */
    unsigned long long low[MOST], high[MOST];   /* places from low on are kept, before high */
    unsigned long long below[MOST], kept[MOST]; /* elements before low, and those kept */
    unsigned long long place[RANKS], where[RANKS];
    unsigned long long sampled_nans;
    unsigned long long sampled_least, sampled_most; /* the least is complemented */
    unsigned long long bucket_low[MOST];            /* the range of the buckets, */
    int bucket_bits[MOST];                          /* which is less than 2^this */
    unsigned long long before[MOST];                /* of those kept, before the bucket */
    unsigned long long least[MOST], most[MOST]; /* of those for which SMALL is too few, and of one;
                                                   least is complemented */
    unsigned taken[MOST];                       /* elements of the buckets */
    alignas(16) unsigned counts[MOST][BUCKETS];
};
enum { BOARD_WORDS = 2 + 4 * MOST + 2 * RANKS };

struct bracket_params {
    const void *a, *b; /* the elements, as bf_cuda_operands has them: b is not used */
    int64_t count;
    bf_order order;
    int brackets;
    /* of results */
    bf_statistic statistic;
    bf_quantile_method method;
    bool skips; /* NaNs */
    double q[MOST];
    int64_t position[MOST];
    /* of the first k, instead */
    int64_t first;
    void *values; /* may be NULL, as index may be */
    int64_t *index;
    void *sample;
    unsigned sampled;
    uint64_t seed;
    bf_cuda_coding coding;
    void *kept;        /* `room` places, */
    uint32_t *numbers; /* and of the first k their positions */
    int64_t room;
    void *small; /* SMALL places for each bracket */
    board *at;
    unsigned one; /* 1, which compilers do not know */
};

/* --- 1. the sample --- */

/* Makes *most x if x is more. That is rare, so it looks first. */
__device__ void raise(unsigned long long *most, unsigned long long x) {
    if (*(volatile unsigned long long *)most < x) atomicMax(most, x);
}

/* Returns the greatest over a block of SAMPLERS; to its first thread. */
__device__ unsigned long long greatest_of_block(unsigned long long x) {
    __shared__ unsigned long long warps[SAMPLERS / WARP];
    for (int i = 0; i < 2; i++) {
        for (int d = WARP / 2; d > 0; d /= 2) {
            const unsigned long long other = __shfl_xor_sync(~0u, x, d);
            x = x > other ? x : other;
        }
        if (i == 1) break;
        __syncthreads();
        if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = x;
        __syncthreads();
        x = warps[threadIdx.x % (SAMPLERS / WARP)];
    }
    return x;
}

template <bf_dtype D>
__global__ void __launch_bounds__(SAMPLERS) take_sample(const bracket_params p) {
    const unsigned i = blockIdx.x * SAMPLERS + threadIdx.x;
    unsigned long long least = 0, most = 0;
    if (i < p.sampled) {
        const uint64_t n = (uint64_t)p.count, begin = n * i / p.sampled,
                       end = n * (i + 1) / p.sampled;
        const uint64_t random = bf_hash_mix(p.seed + i);
        const uint64_t at = begin + bf_hash_place(random, end - begin);
        const bf_cuda_bits_type<D> element = ((const bf_cuda_bits_type<D> *)p.a)[at];
        const bf_cuda_place_type<D> place = bf_cuda_place_of<D>(p.order, element);
        ((bf_cuda_place_type<D> *)p.sample)[i] = place;
        if (bf_cuda_is_nan<D>(element)) atomicAdd(&p.at->sampled_nans, 1ull);
        least = ~(unsigned long long)place;
        most = place;
    }
    least = greatest_of_block(least);
    most = greatest_of_block(most);
    if (threadIdx.x != 0) return;
    raise(&p.at->sampled_least, least);
    raise(&p.at->sampled_most, most);
}

/* --- selecting by one block --- */

/* Calls f for elements first, first + step and so on of n, several of which it loads at a time. */
template <class K, class F>
__device__ __forceinline__ void for_each(const K *from, uint64_t n, uint64_t first, uint64_t step,
                                         F f) {
    enum { AHEAD = 64 / sizeof(K) };
    for (; first < n; first += step * AHEAD) {
        K x[AHEAD];
        if (first + (AHEAD - 1) * step < n) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++) x[k] = from[first + k * step];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) f(x[k], first + k * step);
        } else {
            for (uint64_t i = first; i < n; i += step) f(from[i], i);
        }
    }
}

/* The memory of a block that selects. */
template <class K> struct select_memory {
    K list[LISTED / sizeof(K)];
    unsigned counts[BUCKETS];
    unsigned warps[SELECTORS / WARP];
    unsigned bucket, before, listed;
    K only;
};

/* Finds the bucket of a rank by its counts, and the elements before it. */
template <class K> __device__ void find_bucket(select_memory<K> &s, unsigned rank) {
    enum { EACH = BUCKETS / SELECTORS };
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    unsigned count[EACH], mine = 0;
    for (int k = 0; k < EACH; k++) mine += count[k] = s.counts[threadIdx.x * EACH + k];
    unsigned sum = mine;
    for (int d = 1; d < WARP; d *= 2) {
        const unsigned other = __shfl_up_sync(~0u, sum, d);
        if (lane >= (unsigned)d) sum += other;
    }
    if (lane == WARP - 1) s.warps[warp] = sum;
    __syncthreads();
    unsigned before = lane < warp ? s.warps[lane] : 0;
    for (int d = WARP / 2; d > 0; d /= 2) before += __shfl_xor_sync(~0u, before, d);
    sum += before - mine;
    for (int k = 0; k < EACH; k++) {
        if (rank >= sum && rank - sum < count[k]) {
            s.bucket = threadIdx.x * EACH + k;
            s.before = sum;
        }
        sum += count[k];
    }
    __syncthreads();
}

/* Finds the element of a rank among n, which are less than 2^bits from `base` on: digit after
 * digit, until one is left. As soon as few are, it has them in shared memory. */
template <class K>
__device__ K select_in_block(select_memory<K> &s, const K *from, unsigned n, unsigned rank, K base,
                             int bits) {
    K prefix = 0, mask = 0;
    bool listed = false;
    for (int shift = bits; shift > 0;) {
        const int digit = shift < BUCKET_BITS ? shift : (int)BUCKET_BITS;
        shift -= digit;
        for (int i = (int)threadIdx.x; i < BUCKETS; i += SELECTORS) s.counts[i] = 0;
        if (threadIdx.x == 0) s.listed = 0;
        __syncthreads();
        for_each(from, n, threadIdx.x, SELECTORS, [&](K x, uint64_t) {
            x -= base;
            if ((x & mask) == prefix)
                atomicAdd(&s.counts[(unsigned)(x >> shift) & ((1u << digit) - 1)], 1u);
        });
        __syncthreads();
        find_bucket(s, rank);
        const unsigned count = s.counts[s.bucket];
        prefix |= (K)s.bucket << shift;
        mask |= (K)((1u << digit) - 1) << shift;
        rank -= s.before;
        __syncthreads();
        if (shift == 0) break;
        if (count == 1) {
            for_each(from, n, threadIdx.x, SELECTORS, [&](K x, uint64_t) {
                if (((K)(x - base) & mask) == prefix) s.only = x;
            });
            __syncthreads();
            const K only = s.only;
            __syncthreads();
            return only;
        }
        if (listed || count > LISTED / sizeof(K)) continue;
        for_each(from, n, threadIdx.x, SELECTORS, [&](K x, uint64_t) {
            if (((K)(x - base) & mask) == prefix) s.list[atomicAdd(&s.listed, 1u)] = x;
        });
        from = s.list;
        n = count;
        listed = true;
        __syncthreads();
    }
    __syncthreads();
    return base + prefix;
}

/* Where the elements of a result should be among m sampled ones, and how far they may be off: by
 * four and a half standard deviations. */
__device__ void guess_range(const bracket_params &p, int bracket, double m, double *from,
                            double *to) {
    const double n = (double)p.count;
    double part = 0.5;
    if (p.first > 0)
        part = (double)p.first / n;
    else if (p.statistic == BF_STATISTIC_NTH)
        part = (double)p.position[bracket] / n;
    else if (p.statistic == BF_STATISTIC_QUANTILE)
        part = p.q[bracket];
    const double margin = 4.5 * sqrt(m * part * (1 - part)) + (p.first > 0 ? 4 : 8);
    *from = part * m - margin;
    *to = part * m + margin;
}

/* Block 2 b sets the low end of bracket b, and block 2 b + 1 the high one. */
template <class K>
__global__ void __launch_bounds__(SELECTORS, 1) place_ends(const bracket_params p) {
    __shared__ select_memory<K> shared;
    const int bracket = blockIdx.x / 2;
    const bool is_low = blockIdx.x % 2 == 0;
    const unsigned m = p.sampled - (p.skips ? (unsigned)p.at->sampled_nans : 0);
    double from, to;
    guess_range(p, bracket, (double)m, &from, &to);
    const double wanted = is_low ? from : to;
    unsigned long long *end = is_low ? &p.at->low[bracket] : &p.at->high[bracket];
    unsigned long long value = is_low ? 0 : (K) ~(K)0;
    const bool inside = wanted >= 0 && wanted < (double)m && !(is_low && p.first > 0);
    const K least = (K)~p.at->sampled_least, most = (K)p.at->sampled_most;
    if (inside)
        value = (unsigned long long)select_in_block(shared, (const K *)p.sample, p.sampled,
                                                    (unsigned)wanted, least,
                                                    bf_bit_length((uint64_t)(most - least))) +
                (is_low ? 1 : 0);
    if (value > (K) ~(K)0) value--; /* there is no place behind the last */
    if (threadIdx.x == 0) *end = value;
}

/* --- 2. the read --- */

/* The number of brackets of a read for the first k, which keeps positions. */
enum { FIRST = 0 };

template <class E> struct signed_of { typedef int32_t type; };
template <> struct signed_of<uint8_t> { typedef int8_t type; };
template <> struct signed_of<uint16_t> { typedef int16_t type; };
template <> struct signed_of<uint64_t> { typedef int64_t type; };

/* An entry of a table that says nothing else. */
static const uint32_t HARD = 1u << 31;

/* Each thread keeps elements in a column of shared memory, without a word to the others. When one
 * column may get full, the warp moves all of its columns to the pool. */
template <bf_dtype D, int Brackets> struct Keeper {
    typedef bf_cuda_bits_type<D> E;
    typedef bf_cuda_place_type<D> K;
    typedef typename signed_of<E>::type S;
    typedef bf_cuda_operands<E, false> Operands;
    static constexpr int BITS = 8 * (int)sizeof(E), VECTORS = BITS < 32 ? BITS / 8 : 4;
    static constexpr int N = 16 / (int)sizeof(E), EACH = VECTORS * N;
    static constexpr bool FLOAT = bf_cuda_element::is_float(D), INDEXED = Brackets == FIRST;
    static constexpr int ENDS = INDEXED ? 1 : Brackets;
    typedef bf_cuda_tile<Operands, VECTORS> Tile;
    typedef typename bf_cuda_bits_of<INDEXED ? 4 : (int)sizeof(K)>::type Item;
    enum { ROOM = EACH + 16, ROW = KEEPERS * sizeof(Item) };
    /* Several brackets of places of 4 bytes have a table. */
    static constexpr bool TABLED = Brackets == MOST && sizeof(K) == 4;
    struct memory {
        Item column[ROOM][KEEPERS];
        unsigned long long below[ENDS], nans;
        uint32_t table[TABLED ? TABLE + 2 : 1];
    };
    const bracket_params &p;
    memory &s;
    K low[ENDS], width[ENDS];
    uint32_t below[ENDS], nans, one;
    K start; /* of the table: places from here on, shifted, are its entries */
    int shift;
    bool tabled;
    uint32_t column, end; /* the addresses in shared memory of the column, and behind what it has */

    __device__ __forceinline__ Keeper(const bracket_params &params, memory &shared)
        : p(params), s(shared), nans(0), one((uint32_t)params.one), start(0), shift(0),
          tabled(false) {
        column = end = (uint32_t)__cvta_generic_to_shared(&shared.column[0][threadIdx.x]);
#pragma unroll
        for (int b = 0; b < ENDS; b++) {
            const K high = (K)p.at->high[b];
            low[b] = (K)p.at->low[b];
            width[b] = b < p.brackets && high > low[b] ? high - low[b] : 0;
            below[b] = 0;
        }
    }
    __device__ __forceinline__ unsigned kept() const { return (end - column) / ROW; }
    /* Returns the place of an element; of a NaN only if its bits are those of place_nan. */
    __device__ __forceinline__ K place(E e) const {
        if (D == BF_BOOL) e = e != 0;
        if (FLOAT) e ^= (E)((S)e >> (BITS - 1)) & (E)p.coding.negative;
        return (K)(E)(e ^ (E)p.coding.flip);
    }
    /* Returns whether one of two elements is a NaN. */
    static __device__ __forceinline__ bool any_nan(E a, E b) {
        if (D == BF_F32)
            return isunordered(__uint_as_float((unsigned)a), __uint_as_float((unsigned)b));
        if (D == BF_F64)
            return isunordered(__longlong_as_double((long long)a),
                               __longlong_as_double((long long)b));
        return bf_cuda_is_nan<D>(a) || bf_cuda_is_nan<D>(b);
    }
    static __device__ __forceinline__ bool any_nan(const E (&e)[EACH]) {
        bool any = false;
#pragma unroll
        for (int k = 0; k < EACH; k += 2) any |= any_nan(e[k], e[k + 1]);
        return any;
    }
    /* Counts a NaN, and gives it the bits whose place by masks is that of NaNs. */
    __device__ __forceinline__ void place_nan(E &e) {
        const E all = (E) ~(E)0, bits = p.order == BF_DESCENDING_NAN_LAST ? all : (E)(all >> 1);
        if (!bf_cuda_is_nan<D>(e)) return;
        e = bits;
        nans++;
    }
    /* The same for several, among which there is seldom one: compilers must not do it always. */
    __device__ __forceinline__ void place_nans(E (&e)[EACH]) {
        if (!FLOAT || !any_nan(e)) return;
        asm volatile("" ::: "memory");
#pragma unroll
        for (int k = 0; k < EACH; k++) place_nan(e[k]);
    }
    __device__ __forceinline__ void keep(Item item, bool keeps) {
        if (sizeof(Item) == 4)
            asm volatile("{\n\t.reg .pred keeps;\n\t"
                         "setp.ne.u32 keeps, %2, 0;\n\t"
                         "@keeps st.shared.u32 [%0], %1;\n\t"
                         "@keeps add.u32 %0, %0, %3;\n\t}"
                         : "+r"(end)
                         : "r"((uint32_t)item), "r"((uint32_t)keeps), "n"((int)ROW)
                         : "memory");
        else
            asm volatile("{\n\t.reg .pred keeps;\n\t"
                         "setp.ne.u32 keeps, %2, 0;\n\t"
                         "@keeps st.shared.u64 [%0], %1;\n\t"
                         "@keeps add.u32 %0, %0, %3;\n\t}"
                         : "+r"(end)
                         : "l"((uint64_t)item), "r"((uint32_t)keeps), "n"((int)ROW)
                         : "memory");
    }
    /* Adds 1 if x is less than y, by the multipliers, for the adders have enough to do. */
    __device__ __forceinline__ void count_less(uint32_t x, uint32_t y, uint32_t &count) const {
        asm("{\n\t.reg .pred less;\n\t"
            "setp.lt.u32 less, %1, %2;\n\t"
            "@less mad.lo.u32 %0, %3, %3, %0;\n\t}"
            : "+r"(count)
            : "r"(x), "r"(y), "r"(one));
    }
    __device__ __forceinline__ void count_less(uint64_t x, uint64_t y, uint32_t &count) const {
        asm("{\n\t.reg .pred less;\n\t"
            "setp.lt.u64 less, %1, %2;\n\t"
            "@less mad.lo.u32 %0, %3, %3, %0;\n\t}"
            : "+r"(count)
            : "l"(x), "l"(y), "r"(one));
    }
    /* Counts an element, and keeps it if it is in a bracket. */
    __device__ __forceinline__ void take(E element) {
        const K x = place(element);
        bool inside = false;
#pragma unroll
        for (int b = 0; b < ENDS; b++) {
            count_less(x, low[b], below[b]);
            inside |= (K)(x - low[b]) < width[b];
        }
        keep((Item)x, inside);
    }
    /* Makes the table. Each entry tells of equally many places, the first of all before, and the
     * last of all behind, below which brackets all of them are; or that it is not so simple. */
    __device__ void make_table() {
        uint64_t base = ~(uint64_t)0, top = 0;
        unsigned simple = 0;
#pragma unroll
        for (int b = 0; b < ENDS; b++) {
            if (b >= p.brackets) break;
            base = low[b] < base ? low[b] : base;
            top = (uint64_t)low[b] + width[b] > top ? (uint64_t)low[b] + width[b] : top;
        }
        const int bits = bf_bit_length(top - base);
        shift = bits > TABLE_BITS ? bits - TABLE_BITS : 0;
        const uint64_t each = (uint64_t)1 << shift;
        start = (K)(base > each ? base - each : 0);
        for (int i = (int)threadIdx.x; i < TABLE + 2; i += KEEPERS) {
            const uint64_t first = i == 0 ? 0 : start + i * each;
            const uint64_t last = i == TABLE + 1 ? ~(uint64_t)0 : start + (i + 1) * each - 1;
            uint32_t entry = 0;
#pragma unroll
            for (int b = 0; b < ENDS; b++) {
                if (last < low[b])
                    entry |= 1u << FIELD * b;
                else if (first < (uint64_t)low[b] + width[b] || first < low[b])
                    entry |= HARD;
            }
            s.table[i] = entry >= HARD ? HARD : entry;
        }
        __syncthreads();
        /* is it simple for most elements? */
        for (int k = 0; k < 4; k++) {
            const unsigned i = (k * KEEPERS + threadIdx.x) * (p.sampled / (4 * KEEPERS));
            simple +=
                (unsigned)__syncthreads_count((int32_t)entry_of(((const K *)p.sample)[i]) >= 0);
        }
        tabled = simple > 4 * KEEPERS / 8 * 7;
    }
    __device__ __forceinline__ uint32_t entry_of(K x) const {
        const K at = ((x > start ? x : start) - start) >> shift;
        return s.table[at < TABLE + 1 ? at : TABLE + 1];
    }
    /* Counts an element by the table, or keeps it for later if that is not so simple. */
    __device__ __forceinline__ void look_up(E element, uint32_t &sums) {
        const K x = place(element);
        const uint32_t entry = entry_of(x);
        sums += entry;
        keep((Item)x, (int32_t)entry < 0);
    }
    __device__ __forceinline__ void add_sums(uint32_t sums) {
#pragma unroll
        for (int b = 0; b < ENDS; b++) below[b] += sums >> FIELD * b & ((1u << FIELD) - 1);
    }
    __device__ __forceinline__ void look_up_whole(E (&element)[EACH]) {
        uint32_t sums = 0;
        place_nans(element);
#pragma unroll
        for (int k = 0; k < EACH; k++) look_up(element[k], sums);
        add_sums(sums);
    }
    /* Counts the elements of the column, and returns which are in a bracket. */
    __device__ __forceinline__ uint32_t count_column(unsigned n) {
        uint32_t rows = 0;
        for (unsigned k = 0; k < n; k++) {
            const K x = (K)s.column[k][threadIdx.x];
            bool inside = false;
#pragma unroll
            for (int b = 0; b < ENDS; b++) {
                count_less(x, low[b], below[b]);
                inside |= (K)(x - low[b]) < width[b];
            }
            rows |= (uint32_t)inside << k;
        }
        return rows;
    }
    __device__ __forceinline__ void take_whole(E (&element)[EACH]) {
        place_nans(element);
#pragma unroll
        for (int k = 0; k < EACH; k++) take(element[k]);
    }
    /* Keeps the positions of those of the first k, which are few. */
    __device__ __forceinline__ void keep_position(const Operands &e, int64_t i) {
        if (bf_cuda_place_of<D>(p.order, e.element(i)) < width[0]) keep((Item)(i - e.before), true);
    }
    __device__ __forceinline__ void keep_positions(const Operands &e, const E (&element)[EACH],
                                                   int64_t number) {
        bool any = FLOAT && any_nan(element);
#pragma unroll
        for (int k = 0; k < EACH; k++) any |= place(element[k]) < width[0];
        if (!any) return;
        asm volatile("" ::: "memory");
        unsigned hits = 0;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const bool hit =
                place(element[k]) < width[0] || (FLOAT && bf_cuda_is_nan<D>(element[k]));
            hits |= (unsigned)hit << k;
        }
        for (; hits != 0; hits &= hits - 1) {
            const int k = __ffs((int)hits) - 1;
            keep_position(e, Tile::vector(number, k / N) * N + k % N);
        }
    }
    /* The tiles at the ends of the line. */
    __device__ __forceinline__ void take_some(const Operands &e, int64_t number) {
#pragma unroll 1
        for (int k = 0; k < EACH; k++) {
            const int64_t i = Tile::vector(number, k / N) * N + k % N;
            if (!e.holds(i)) continue;
            E element = e.element(i);
            if (INDEXED) {
                keep_position(e, i);
            } else {
                uint32_t sums = 0;
                if (FLOAT) place_nan(element);
                if (TABLED && tabled)
                    look_up(element, sums);
                else
                    take(element);
                add_sums(sums);
            }
        }
    }
    /* Moves the columns of a warp to the pool. */
    __device__ __forceinline__ void flush(const Operands &e) {
        const unsigned lane = threadIdx.x % WARP;
        const unsigned mine = kept();
        uint32_t rows = mine < 32 ? (1u << mine) - 1 : ~0u;
        if (TABLED && tabled) rows = count_column(mine);
        unsigned sum = (unsigned)__popc(rows), most = mine;
        for (int d = WARP / 2; d > 0; d /= 2) {
            const unsigned other = __shfl_xor_sync(~0u, most, d);
            sum += __shfl_xor_sync(~0u, sum, d);
            most = most > other ? most : other;
        }
        end = column;
        if (sum == 0) return;
        unsigned long long at = 0;
        if (lane == 0) at = atomicAdd(&p.at->pooled, (unsigned long long)sum);
        at = __shfl_sync(~0u, at, 0);
        for (unsigned k = 0; k < most; k++) {
            const unsigned having = __ballot_sync(~0u, rows >> k & 1);
            const int64_t to = (int64_t)at + __popc(having & ((1u << lane) - 1));
            at += (unsigned)__popc(having);
            if (!(rows >> k & 1) || to >= p.room) continue;
            const Item item = s.column[k][threadIdx.x];
            if (INDEXED) {
                p.numbers[to] = (uint32_t)item;
                ((K *)p.kept)[to] =
                    bf_cuda_place_of<D>(p.order, e.element(e.before + (int64_t)item));
            } else {
                ((K *)p.kept)[to] = (K)item;
            }
        }
    }
    static __device__ __forceinline__ void add_count(uint32_t sum, unsigned long long *to) {
        for (int d = WARP / 2; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
        if (threadIdx.x % WARP == 0 && sum > 0) atomicAdd(to, (unsigned long long)sum);
    }
    /* Adds up the counts of the block, and then of all. */
    __device__ __forceinline__ void add_counts() {
        add_count(nans, &s.nans);
#pragma unroll
        for (int b = 0; b < ENDS; b++) add_count(below[b], &s.below[b]);
        __syncthreads();
        const int b = (int)threadIdx.x;
        if (b < p.brackets && s.below[b] > 0) atomicAdd(&p.at->below[b], s.below[b]);
        if (b == KEEPERS - 1 && s.nans > 0) atomicAdd(&p.at->nans, s.nans);
    }
    /* Loads a thread's part of a tile if all of that is in the line, and returns whether it is. */
    static __device__ __forceinline__ bool load_whole(const Operands &e, int64_t tiles,
                                                      int64_t number, uint4 (&to)[VECTORS]) {
        if (number >= tiles || !Tile::whole(e, number)) return false;
        const uint4 *from = (const uint4 *)e.a + Tile::vector(number, 0);
#pragma unroll
        for (int v = 0; v < VECTORS; v++) to[v] = __ldcs(from + v * KEEPERS);
        return true;
    }
    __device__ __forceinline__ void run() {
        if (threadIdx.x < ENDS) s.below[threadIdx.x] = 0;
        if (threadIdx.x == 0) s.nans = 0;
        __syncthreads();
        const Operands e(p);
        const int64_t tiles = Tile::number_of(e);
        if (TABLED) make_table();
        uint4 ahead[VECTORS];
        int64_t number = blockIdx.x;
        bool whole = load_whole(e, tiles, number, ahead);
        while (number < tiles) {
            const int64_t next = number + gridDim.x;
            E element[EACH];
            memcpy(element, ahead, sizeof element);
            const bool next_whole = load_whole(e, tiles, next, ahead);
            if (!whole)
                take_some(e, number);
            else if (INDEXED)
                keep_positions(e, element, number);
            else if (TABLED && tabled)
                look_up_whole(element);
            else
                take_whole(element);
            if (__any_sync(~0u, end - column > (ROOM - EACH) * ROW)) flush(e);
            number = next;
            whole = next_whole;
        }
        flush(e);
        if (!INDEXED) add_counts();
    }
};

template <bf_dtype D, int Brackets>
__global__ void __launch_bounds__(KEEPERS, 4) keep_elements(const bracket_params p) {
    extern __shared__ uint64_t shared[];
    typedef Keeper<D, Brackets> keeper;
    keeper(p, *(typename keeper::memory *)shared).run();
}

/* --- 3. what was kept --- */

/* The ranks of a bracket among what it kept: the first and the last that are inside. */
struct inner_ranks {
    where_found where[2];
    int64_t rank[2];
    bool any;
};

/* kept: how many elements the bracket has. */
__device__ inner_ranks find_ranks(const bracket_params &p, int bracket, int64_t kept) {
    const board &at = *p.at;
    const int64_t numbers = p.count - (p.skips ? (int64_t)at.nans : 0);
    inner_ranks r = {};
    bf_between between = {0, 0, 0};
    if (numbers > 0)
        between =
            bf_cuda_between(p.statistic, p.method, p.q[bracket], p.position[bracket], numbers);
    const int64_t rank[2] = {between.below, between.above};
    for (int i = 0; i < 2; i++) {
        r.rank[i] = rank[i] - (int64_t)at.below[bracket];
        r.where[i] = r.rank[i] < 0                 ? BEFORE
                     : (int64_t)at.pooled > p.room ? OVERFLOWN
                     : r.rank[i] >= kept           ? BEHIND
                                                   : FOUND;
    }
    r.any = r.where[0] == FOUND || r.where[1] == FOUND;
    if (r.where[0] != FOUND) r.rank[0] = r.rank[1];
    if (r.where[1] != FOUND) r.rank[1] = r.rank[0];
    return r;
}

/* A range of places: [low, low + width). The distances from low, shifted, are buckets. */
template <class K> struct place_range {
    K low, width;
    int shift; /* of distances */

    __device__ place_range() {}
    __device__ place_range(const board &at, int bracket) {
        const K high = (K)at.high[bracket];
        low = (K)at.low[bracket];
        width = high > low ? high - low : 0;
        const int bits = width > 1 ? bf_bit_length(width - 1) : 0;
        shift = bits > BUCKET_BITS ? bits - BUCKET_BITS : 0;
    }
    __device__ __forceinline__ bool holds(K x) const { return (K)(x - low) < width; }
    __device__ __forceinline__ unsigned bucket(K x) const {
        return (unsigned)((K)(x - low) >> shift);
    }
};

/* Calls f for each element that was kept, and each bracket whose range holds it. */
template <int Brackets, class K, class F>
__device__ __forceinline__ void for_kept(const bracket_params &p, uint64_t n,
                                         const place_range<K> (&ranges)[Brackets], F f) {
    for_each((const K *)p.kept, n, (uint64_t)blockIdx.x * SELECTORS + threadIdx.x,
             (uint64_t)gridDim.x * SELECTORS, [&](K x, uint64_t) {
#pragma unroll
                 for (int b = 0; b < Brackets; b++)
                     if (ranges[b].holds(x)) f(b, x);
             });
}

template <class K, int Brackets>
__global__ void __launch_bounds__(SELECTORS, 1) count_buckets(const bracket_params p) {
    __shared__ unsigned counts[Brackets][BUCKETS];
    unsigned *all = &counts[0][0];
    const int buckets = p.brackets * BUCKETS;
    const uint64_t n = p.at->pooled;
    place_range<K> ranges[Brackets];
    if (n > (uint64_t)p.room) return;
    for (int i = (int)threadIdx.x; i < buckets; i += SELECTORS) all[i] = 0;
#pragma unroll
    for (int b = 0; b < Brackets; b++) {
        ranges[b] = place_range<K>(*p.at, b);
        if (b >= p.brackets) ranges[b].width = 0;
    }
    __syncthreads();
    for_kept<Brackets>(p, n, ranges,
                       [&](int b, K x) { atomicAdd(&counts[b][ranges[b].bucket(x)], 1u); });
    __syncthreads();
    for (int i = (int)threadIdx.x; i < buckets; i += SELECTORS)
        if (all[i] > 0) atomicAdd(&p.at->counts[0][0] + i, all[i]);
}

/* Returns the sum over the lanes up to this one. */
__device__ __forceinline__ unsigned sum_up_to(unsigned x) {
    for (int d = 1; d < WARP; d *= 2) {
        const unsigned other = __shfl_up_sync(~0u, x, d);
        if (threadIdx.x % WARP >= (unsigned)d) x += other;
    }
    return x;
}

/* Finds the bucket of a rank, by a warp, and the elements before it. sum: of the buckets up to the
 * last of this lane, of which it has `mine`. */
__device__ unsigned find_bucket(const unsigned *counts, int64_t rank, unsigned sum, unsigned mine,
                                unsigned *before) {
    enum { EACH = BUCKETS / WARP };
    const unsigned lane = threadIdx.x % WARP;
    const int there = __ffs((int)__ballot_sync(~0u, rank < sum)) - 1;
    const unsigned base = __shfl_sync(~0u, sum - mine, there);
    const uint2 two = ((const uint2 *)counts)[there * (EACH / 2) + lane];
    const unsigned up_to = base + sum_up_to(two.x + two.y), first = up_to - two.y;
    const int at = __ffs((int)__ballot_sync(~0u, rank < up_to)) - 1;
    const bool is_first = rank < first;
    const unsigned bucket = (unsigned)there * EACH + 2 * lane + (is_first ? 0 : 1);
    *before = __shfl_sync(~0u, is_first ? first - two.x : first, at);
    return __shfl_sync(~0u, bucket, at);
}

/* Sets *range to that of the buckets of a bracket's ranks, by a warp: between them there is no
 * element. */
template <class K>
__device__ void find_buckets(const bracket_params &p, int bracket, place_range<K> *range) {
    enum { EACH = BUCKETS / WARP };
    const unsigned lane = threadIdx.x % WARP, *counts = p.at->counts[bracket];
    unsigned mine = 0, before[2], bucket[2];
#pragma unroll
    for (int k = 0; k < EACH / 4; k++) {
        const uint4 four = ((const uint4 *)counts)[lane * (EACH / 4) + k];
        mine += four.x + four.y + four.z + four.w;
    }
    const unsigned sum = sum_up_to(mine), kept = __shfl_sync(~0u, sum, WARP - 1);
    const inner_ranks ranks = find_ranks(p, bracket, kept);
    place_range<K> all(*p.at, bracket);
    if (blockIdx.x == 0) p.at->kept[bracket] = kept;
    range->width = 0;
    if (!ranks.any) return;
    for (int i = 0; i < 2; i++)
        bucket[i] = find_bucket(counts, ranks.rank[i], sum, mine, &before[i]);
    const K begin = (K)bucket[0] << all.shift,
            end = ((K)bucket[1] << all.shift) + (((K)1 << all.shift) - 1); /* the last */
    range->low = all.low + begin;
    range->width = (end < all.width ? end + 1 : all.width) - begin;
    if (blockIdx.x != 0) return;
    p.at->before[bracket] = before[0];
    p.at->bucket_low[bracket] = range->low;
    p.at->bucket_bits[bracket] = bf_bit_length((uint64_t)(range->width - 1));
}

template <class K, int Brackets>
__global__ void __launch_bounds__(SELECTORS, 1) take_buckets(const bracket_params p) {
    __shared__ place_range<K> found[Brackets];
    const int warp = (int)threadIdx.x / WARP;
    const uint64_t n = p.at->pooled;
    place_range<K> ranges[Brackets];
    if (n > (uint64_t)p.room) return;
    if (warp < Brackets) {
        if (warp < p.brackets)
            find_buckets(p, warp, &found[warp]);
        else
            found[warp].width = 0;
    }
    __syncthreads();
#pragma unroll
    for (int b = 0; b < Brackets; b++) ranges[b] = found[b];
    for_kept<Brackets>(p, n, ranges, [&](int b, K x) {
        unsigned to = *(volatile unsigned *)&p.at->taken[b];
        if (to <= SMALL) to = atomicAdd(&p.at->taken[b], 1u);
        if (to < SMALL) ((K *)p.small)[b * SMALL + to] = x;
        if (to > 0 && to < SMALL) return;
        raise(&p.at->least[b], ~(unsigned long long)x);
        raise(&p.at->most[b], (unsigned long long)x);
    });
}

/* Returns whether n elements are equal to x. */
template <class K> __device__ bool all_equal(const K *from, unsigned n, K x) {
    bool differs = false;
    for_each(from, n, threadIdx.x, SELECTORS, [&](K y, uint64_t) { differs |= y != x; });
    return !__syncthreads_or(differs);
}

template <class K>
__global__ void __launch_bounds__(SELECTORS, 1) finish_ranks(const bracket_params p) {
    __shared__ select_memory<K> shared;
    const int i = blockIdx.x, bracket = i / 2, side = i % 2;
    const inner_ranks ranks = find_ranks(p, bracket, (int64_t)p.at->kept[bracket]);
    unsigned long long where = ranks.where[side], place = 0;
    const board &at = *p.at;
    const K *small = (const K *)p.small + bracket * SMALL;
    if (where == FOUND) {
        const unsigned taken = at.taken[bracket];
        const bool alike = at.most[bracket] == ~at.least[bracket];
        if (taken > SMALL && alike && all_equal(small, SMALL, (K)at.most[bracket]))
            place = at.most[bracket];
        else if (taken > SMALL)
            where = CROWDED;
        else
            place = select_in_block(shared, small, taken,
                                    (unsigned)(ranks.rank[side] - (int64_t)at.before[bracket]),
                                    (K)at.bucket_low[bracket], at.bucket_bits[bracket]);
    }
    if (threadIdx.x != 0) return;
    p.at->place[i] = place;
    p.at->where[i] = where;
}

/* The first k of what was kept, by one block. */
template <class K> struct first_memory {
    union {
        select_memory<K> places;
        select_memory<uint32_t> positions;
        struct {
            K place[FIRST_MOST];
            uint32_t position[FIRST_MOST];
        };
    };
    unsigned less, equal;
    unsigned long long least;
};

/* Lists the first k: those before the place of the last, and the first of those that have it. */
template <class K>
__device__ bool list_first(first_memory<K> &s, const bracket_params &p, unsigned n) {
    const K *kept = (const K *)p.kept;
    uint32_t *ties = (uint32_t *)p.small;
    const unsigned k = (unsigned)p.first;
    K least = (K) ~(K)0;
    if (threadIdx.x == 0) {
        s.least = ~0ull;
        s.less = s.equal = 0;
    }
    __syncthreads();
    for_each(kept, n, threadIdx.x, SELECTORS,
             [&](K x, uint64_t) { least = x < least ? x : least; });
    atomicMin(&s.least, (unsigned long long)least);
    __syncthreads();
    least = (K)s.least;
    const K last = select_in_block(s.places, kept, n, k - 1, least,
                                   bf_bit_length((uint64_t)((K)p.at->high[0] - least)));
    unsigned before = 0;
    for_each(kept, n, threadIdx.x, SELECTORS, [&](K x, uint64_t i) {
        before += x < last;
        if (x != last) return;
        const unsigned to = atomicAdd(&s.equal, 1u);
        if (to < SMALL) ties[to] = p.numbers[i];
    });
    atomicAdd(&s.less, before);
    __syncthreads();
    const unsigned equal = s.equal, less = s.less;
    if (equal > SMALL) return false;
    const uint32_t last_tie =
        select_in_block(s.positions, ties, equal, k - 1 - less, (uint32_t)0, 32);
    if (threadIdx.x == 0) s.less = 0;
    __syncthreads();
    for_each(kept, n, threadIdx.x, SELECTORS, [&](K x, uint64_t i) {
        if (x > last) return;
        const uint32_t position = p.numbers[i];
        if (x == last && position > last_tie) return;
        const unsigned to = atomicAdd(&s.less, 1u);
        s.place[to] = x;
        s.position[to] = position;
    });
    __syncthreads();
    return true;
}

/* Writes the first k in order: each behind as many as are before it. */
template <bf_dtype D>
__global__ void __launch_bounds__(SELECTORS, 1) finish_first(const bracket_params p) {
    typedef bf_cuda_place_type<D> K;
    typedef bf_cuda_bits_type<D> E;
    __shared__ first_memory<K> s;
    const uint64_t n = p.at->pooled;
    const unsigned k = (unsigned)p.first;
    if (n < k || n > (uint64_t)p.room) return;
    if (!list_first(s, p, (unsigned)n)) {
        if (threadIdx.x == 0) p.at->where[0] = CROWDED;
        return;
    }
    if (threadIdx.x >= k) return;
    const K mine = s.place[threadIdx.x];
    const uint32_t position = s.position[threadIdx.x];
    unsigned to = 0;
    for (unsigned i = 0; i < k; i++)
        to += s.place[i] < mine || (s.place[i] == mine && s.position[i] < position);
    const E element = ((const E *)p.a)[position];
    if (p.values != NULL) ((E *)p.values)[to] = D == BF_BOOL ? (E)(element != 0) : element;
    if (p.index != NULL) p.index[to] = position;
}

/* --- the ends --- */

enum { ENDS = RANKS };

struct end_counts {
    unsigned long long before[ENDS], equal[ENDS];
};

struct end_params {
    const void *a;
    int64_t count;
    bf_order order;
    int ends;
    uint64_t place[ENDS];
    end_counts *counts;
};

/* Counts the elements before each end, and those equal to it. */
template <bf_dtype D> __global__ void __launch_bounds__(256) count_ends(const end_params p) {
    typedef bf_cuda_bits_type<D> E;
    typedef bf_cuda_place_type<D> K;
    const E *from = (const E *)p.a;
    for (int i = 0; i < p.ends; i += 2) {
        const K one = (K)p.place[i], two = (K)p.place[i + 1];
        unsigned long long sums[4] = {};
        for (int64_t k = (int64_t)blockIdx.x * 256 + threadIdx.x; k < p.count;
             k += (int64_t)gridDim.x * 256) {
            const K x = bf_cuda_place_of<D>(p.order, from[k]);
            sums[0] += x < one;
            sums[1] += x == one;
            sums[2] += x < two;
            sums[3] += x == two;
        }
        for (int j = 0; j < 4; j++) {
            for (int d = WARP / 2; d > 0; d /= 2) sums[j] += __shfl_xor_sync(~0u, sums[j], d);
            if (threadIdx.x % WARP != 0 || sums[j] == 0) continue;
            unsigned long long *to = j % 2 == 0 ? p.counts->before : p.counts->equal;
            atomicAdd(&to[i + j / 2], sums[j]);
        }
    }
}

/* --- the host's part --- */

bf_status check(const bf_cuda_order_call *call, cudaError_t error) {
    return bf_cuda_order_check(call->context, error);
}

template <bf_dtype D> cudaError_t enqueue_search(const bf_cuda *cuda, const bracket_params &p) {
    typedef bf_cuda_place_type<D> K;
    const unsigned blocks = (unsigned)cuda->multiprocessors;
    if (p.first > 0) {
        if (p.first <= FIRST_MOST) finish_first<D><<<1, SELECTORS, 0, cuda->stream>>>(p);
        return cudaGetLastError();
    }
    if (p.brackets == 1) {
        count_buckets<K, 1><<<blocks, SELECTORS, 0, cuda->stream>>>(p);
        take_buckets<K, 1><<<blocks, SELECTORS, 0, cuda->stream>>>(p);
    } else {
        count_buckets<K, MOST><<<blocks, SELECTORS, 0, cuda->stream>>>(p);
        take_buckets<K, MOST><<<blocks, SELECTORS, 0, cuda->stream>>>(p);
    }
    finish_ranks<K><<<2 * (unsigned)p.brackets, SELECTORS, 0, cuda->stream>>>(p);
    return cudaGetLastError();
}

template <bf_dtype D, int Brackets>
cudaError_t enqueue_read(const bf_cuda *cuda, const bracket_params &p) {
    bf_cuda_shape shape = {};
    int blocks = 1;
    shape.threads = KEEPERS;
    shape.shared = sizeof(typename Keeper<D, Brackets>::memory);
    shape.spares_cache = true;
    cudaError_t error =
        bf_cuda_occupancy(cuda, (const void *)keep_elements<D, Brackets>, shape, &blocks);
    if (error != cudaSuccess) return error;
    shape.blocks = (int64_t)cuda->multiprocessors * (blocks > 0 ? blocks : 1);
    return bf_cuda_launch(cuda, keep_elements<D, Brackets>, shape, p);
}

/* Enqueues the kernels of a try. */
template <bf_dtype D> cudaError_t enqueue_try(const bf_cuda *cuda, const bracket_params &p) {
    typedef bf_cuda_place_type<D> K;
    cudaError_t error = cudaMemsetAsync(p.at, 0, sizeof *p.at, cuda->stream);
    if (error != cudaSuccess) return error;
    take_sample<D><<<(p.sampled - 1) / SAMPLERS + 1, SAMPLERS, 0, cuda->stream>>>(p);
    place_ends<K><<<2 * (unsigned)p.brackets, SELECTORS, 0, cuda->stream>>>(p);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    error = p.first > 0       ? enqueue_read<D, FIRST>(cuda, p)
            : p.brackets == 1 ? enqueue_read<D, 1>(cuda, p)
                              : enqueue_read<D, MOST>(cuda, p);
    return error == cudaSuccess ? enqueue_search<D>(cuda, p) : error;
}

bf_status run_try(bf_cuda_order_call *call, bf_dtype dtype, const bracket_params &p, board *found) {
    const bf_cuda *cuda = call->context->cuda;
    const cudaError_t error =
        bf_cuda_by_dtype(dtype, [&](auto d) { return enqueue_try<decltype(d)::value>(cuda, p); });
    return bf_cuda_fetch_words(call->context, error, p.at, BOARD_WORDS, found, "order on a GPU");
}

/* Counts, of n elements, those before each end of e, and those equal to it. Waits. */
template <bf_dtype D>
bf_status count_all_ends(bf_cuda_order_call *call, end_params e, end_counts *counts) {
    bf_context *context = call->context;
    const unsigned blocks = bf_cuda_order_blocks(context, e.count, 256);
    e.counts = (end_counts *)bf_cuda_alloc(context, sizeof *counts);
    if (e.counts == NULL) return BF_E_MEMORY;
    cudaError_t error = cudaMemsetAsync(e.counts, 0, sizeof *counts, context->cuda->stream);
    if (error == cudaSuccess) {
        count_ends<D><<<blocks, 256, 0, context->cuda->stream>>>(e);
        error = cudaGetLastError();
    }
    bf_status status = bf_cuda_fetch_words(context, error, e.counts, (int)(sizeof *counts / 8),
                                           counts, "order on a GPU");
    bf_cuda_free(context, e.counts);
    return status;
}

/* Sets *before to the elements that were kept before a bracket. Waits. */
bf_status count_before(bf_cuda_order_call *call, int bytes, const bracket_params &p,
                       const board *found, int bracket, int64_t *before) {
    end_params e = {p.kept, (int64_t)found->pooled, BF_ASCENDING, 1, {found->low[bracket]}, NULL};
    end_counts counts = {};
    bf_status status = bytes == 4 ? count_all_ends<BF_U32>(call, e, &counts)
                                  : count_all_ends<BF_U64>(call, e, &counts);
    *before = (int64_t)counts.before[0];
    return status;
}

/* Finds ranks in a bracket whose bucket has too many elements, by sorting what was kept. */
bf_status sort_crowded(bf_cuda_order_call *call, int bytes, const bracket_params &p, int bracket,
                       const int64_t rank[2], board *found) {
    char *kept = (char *)p.kept;
    int64_t before = 0;
    bf_cuda_radix r = {};
    r.n = (int64_t)found->pooled;
    r.bits = 8 * bytes;
    r.key_bytes = bytes;
    r.keys = r.sorted = kept;
    bf_status status = count_before(call, bytes, p, found, bracket, &before);
    if (status == BF_OK) status = bf_cuda_radix_sort(call->context, &r, NULL);
    for (int side = 0; side < 2 && status == BF_OK; side++) {
        const int i = 2 * bracket + side;
        const int64_t at = before + rank[side] - (int64_t)found->below[bracket];
        if (found->where[i] != CROWDED) continue;
        found->place[i] = 0;
        found->where[i] = FOUND;
        status = check(call, cudaMemcpyAsync(&found->place[i], kept + at * bytes, (size_t)bytes,
                                             cudaMemcpyDeviceToHost, call->context->cuda->stream));
        if (status == BF_OK) status = bf_cuda_wait(call->context, cudaSuccess, "order on a GPU");
    }
    return status;
}

/* Looks for ranks that are outside their brackets at these brackets' ends. */
bf_status look_at_ends(bf_cuda_order_call *call, bf_dtype dtype, const bracket_params &p,
                       const int64_t rank[RANKS], board *found) {
    end_counts counts;
    end_params e = {p.a, p.count, p.order, 0, {}, NULL};
    int of[ENDS];
    for (int i = 0; i < 2 * p.brackets; i++) {
        if (found->where[i] != BEFORE && found->where[i] != BEHIND) continue;
        of[e.ends] = i;
        e.place[e.ends++] = found->where[i] == BEFORE ? found->low[i / 2] - 1 : found->high[i / 2];
    }
    if (e.ends == 0) return BF_OK;
    bf_status status = bf_cuda_by_dtype(
        dtype, [&](auto d) { return count_all_ends<decltype(d)::value>(call, e, &counts); });
    for (int k = 0; k < e.ends && status == BF_OK; k++) {
        const uint64_t r = (uint64_t)rank[of[k]];
        if (r < counts.before[k] || r - counts.before[k] >= counts.equal[k]) continue;
        found->place[of[k]] = e.place[k];
        found->where[of[k]] = FOUND;
    }
    return status;
}

/* The sample: so large that it costs little beside the read. */
unsigned sample_size(int64_t n, int brackets) {
    const unsigned most = brackets > 1 ? SAMPLE_MOST : SAMPLE_ONE;
    return n / 16 < most ? (unsigned)(n / 16) : most;
}

bf_status set_memory(bf_cuda_order_call *call, bf_dtype dtype, bracket_params *p) {
    const size_t bytes = (size_t)bf_cuda_place_bytes(dtype), brackets = (size_t)p->brackets;
    p->coding = bf_cuda_coding_of(dtype, p->order);
    p->one = 1;
    p->sampled = sample_size(p->count, p->brackets);
    p->room = (int64_t)brackets * (p->count / 16 + (1 << 17));
    p->sample = bf_cuda_order_alloc(call, p->sampled * bytes);
    p->kept = bf_cuda_order_alloc(call, (size_t)p->room * bytes);
    p->small = bf_cuda_order_alloc(call, brackets * SMALL * bytes);
    p->at = (board *)bf_cuda_order_alloc(call, sizeof *p->at);
    if (p->sample == NULL || p->kept == NULL || p->small == NULL || p->at == NULL)
        return BF_E_MEMORY;
    if (p->first == 0) return BF_OK;
    p->numbers = (uint32_t *)bf_cuda_order_alloc(call, (size_t)p->room * sizeof *p->numbers);
    return p->numbers != NULL ? BF_OK : BF_E_MEMORY;
}

uint64_t next_seed(const bf_cuda_order_call *call, int attempt) {
    return bf_hash_mix((uint64_t)(uintptr_t)call->context->cuda + call->context->cuda->calls) +
           (uint64_t)attempt;
}

/* Makes the places of all ranks known, or sets *found to false. */
bf_status settle_ranks(bf_cuda_order_call *call, bf_dtype dtype, const bracket_params &p, board *at,
                       bool *found) {
    const int64_t numbers = p.count - (p.skips ? (int64_t)at->nans : 0);
    int64_t rank[RANKS];
    bf_status status = BF_OK;
    for (int b = 0; b < p.brackets; b++) {
        const bf_between between =
            bf_cuda_between(p.statistic, p.method, p.q[b], p.position[b], numbers);
        rank[2 * b] = between.below;
        rank[2 * b + 1] = between.above;
        if (status == BF_OK && (at->where[2 * b] == CROWDED || at->where[2 * b + 1] == CROWDED))
            status = sort_crowded(call, bf_cuda_place_bytes(dtype), p, b, &rank[2 * b], at);
    }
    if (status == BF_OK) status = look_at_ends(call, dtype, p, rank, at);
    *found = status == BF_OK;
    for (int i = 0; i < 2 * p.brackets; i++) *found &= at->where[i] == FOUND;
    return status;
}

} // namespace

bf_status bf_cuda_order_brackets(bf_cuda_order_call *call, bf_dtype dtype, bf_order order,
                                 const void *values, int64_t n, const bf_selection *selection,
                                 int first, int results, uint64_t places[][2], int64_t *nans,
                                 bool *found) {
    const bool nth = selection->statistic == BF_STATISTIC_NTH;
    bracket_params p = {};
    board at;
    p.a = values;
    p.count = n;
    p.order = order;
    p.brackets = results;
    p.statistic = selection->statistic;
    p.method = selection->method;
    p.skips = selection->nan == BF_NAN_SKIP && !nth;
    for (int i = 0; i < results; i++) {
        if (nth) p.position[i] = selection->positions[first + i];
        if (selection->statistic == BF_STATISTIC_QUANTILE) p.q[i] = selection->q[first + i];
    }
    const int memories = call->memories;
    bf_status status = set_memory(call, dtype, &p);
    *found = false;
    for (int attempt = 0; attempt < TRIES && status == BF_OK && !*found; attempt++) {
        p.seed = next_seed(call, attempt);
        status = run_try(call, dtype, p, &at);
        if (status != BF_OK) break;
        *nans = (int64_t)at.nans;
        if (!nth && (at.nans == (uint64_t)n || (at.nans > 0 && !p.skips))) { /* no ranks */
            *found = true;
            break;
        }
        status = settle_ranks(call, dtype, p, &at, found);
    }
    bf_cuda_order_free(call, memories);
    for (int i = 0; i < results; i++) {
        places[i][0] = at.place[2 * i];
        places[i][1] = at.place[2 * i + 1];
    }
    return status;
}

/* --- the first k --- */

namespace {

template <bf_dtype D>
__global__ void __launch_bounds__(256)
    write_first(const void *values, const uint32_t *order, int64_t k, void *first, int64_t *index) {
    typedef bf_cuda_bits_type<D> E;
    for (int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x; i < k;
         i += (int64_t)gridDim.x * 256) {
        const E element = ((const E *)values)[order[i]];
        if (first != NULL) ((E *)first)[i] = D == BF_BOOL ? (E)(element != 0) : element;
        if (index != NULL) index[i] = order[i];
    }
}

/* Sorts n kept elements by place and then by index. */
bf_status sort_kept(bf_cuda_order_call *call, bf_dtype dtype, const bracket_params &p, int64_t n) {
    const int bytes = bf_cuda_place_bytes(dtype);
    bf_cuda_radix r = {};
    r.n = n;
    r.bits = bf_bit_length((uint64_t)p.count - 1);
    r.key_bytes = 4;
    r.keys = r.sorted = p.numbers;
    r.value_bytes = bytes;
    r.values = r.moved = p.kept;
    bf_status status = bf_cuda_radix_sort(call->context, &r, NULL);
    r.bits = 8 * bytes;
    r.key_bytes = bytes;
    r.keys = r.sorted = p.kept;
    r.value_bytes = 4;
    r.values = r.moved = p.numbers;
    return status == BF_OK ? bf_cuda_radix_sort(call->context, &r, NULL) : status;
}

} // namespace

bf_status bf_cuda_order_first(bf_cuda_order_call *call, bf_dtype dtype, bf_order order,
                              const void *values, int64_t n, int64_t k, void *first, int64_t *index,
                              bool *found) {
    bf_context *context = call->context;
    const int memories = call->memories;
    bracket_params p = {};
    board at;
    p.a = values;
    p.count = n;
    p.order = order;
    p.brackets = 1;
    p.first = k;
    p.values = first;
    p.index = index;
    p.seed = next_seed(call, 0);
    bf_status status = set_memory(call, dtype, &p);
    if (status == BF_OK) status = run_try(call, dtype, p, &at);
    *found = status == BF_OK && (int64_t)at.pooled >= k && (int64_t)at.pooled <= p.room;
    const bool sorts = *found && (k > FIRST_MOST || at.where[0] == CROWDED);
    if (sorts) status = sort_kept(call, dtype, p, (int64_t)at.pooled);
    if (sorts && status == BF_OK) {
        bf_cuda_by_dtype(dtype, [&](auto d) {
            write_first<decltype(d)::value>
                <<<bf_cuda_order_blocks(context, k, 256), 256, 0, context->cuda->stream>>>(
                    values, p.numbers, k, first, index);
        });
        status = check(call, cudaGetLastError());
    }
    bf_cuda_order_free(call, memories);
    return status;
}
