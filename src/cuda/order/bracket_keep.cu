/* Step 2 of bracket.cu: one read counts the elements below each bracket, and keeps those inside. */
#include "cuda/order/bracket_steps.cuh"
#include "cuda/runtime/elements.cuh"
#include "cuda/runtime/launch.cuh"

using namespace bf_cuda_bracket;

namespace {

enum {
    KEEPERS = 256,   /* threads of a block that keeps elements */
    TABLE_BITS = 12, /* the bits of the number of its table's entries */
    TABLE = 1 << TABLE_BITS,
    FIELD = 6 /* bits of an entry for each bracket */
};

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
    static constexpr int N = 16 / (int)sizeof(E), EACH = VECTORS * N, AHEAD = 8;
    static constexpr bool FLOAT = bf_cuda_element::is_float(D), INDEXED = Brackets == FIRST;
    static constexpr int ENDS = INDEXED ? 1 : Brackets;
    typedef bf_cuda_tile<Operands, VECTORS> Tile;
    typedef typename bf_cuda_bits_of<INDEXED ? 4 : (int)sizeof(K)>::type Item;
    enum { ROOM = EACH + (sizeof(Item) == 4 ? 16 : 8), ROW = KEEPERS * sizeof(Item) };
    /* Several brackets have a table. */
    static constexpr bool TABLED = Brackets == MOST;
    static constexpr int HEAD = 8 * (int)sizeof(K) - 32;
    struct memory {
        Item column[ROOM][KEEPERS];
        unsigned long long below[ENDS], nans;
        uint32_t table[TABLED ? TABLE + 2 : 1];
        unsigned parts[INDEXED ? 1 : ENDS][INDEXED ? 1 : PARTS];
        K low[ENDS], width[ENDS]; /* brackets by their low ends */
        int shift[ENDS], bracket[ENDS];
    };
    const bracket_params &p;
    memory &s;
    K low[ENDS], width[ENDS]; /* brackets by their low ends */
    uint32_t below[ENDS], nans, one;
    uint32_t start; /* where the table starts: heads of places from here on, shifted, are its
                       entries */
    int shift;
    bool tabled, disjoint;
    uint32_t column, end; /* the addresses in shared memory of the column, and behind what it has */

    __device__ __forceinline__ Keeper(const bracket_params &params, memory &shared)
        : p(params), s(shared), nans(0), one((uint32_t)params.one), start(0), shift(0),
          tabled(false), disjoint(true) {
        int bracket[ENDS];
        column = end = bf_cuda_shared_address(&shared.column[0][threadIdx.x]);
#pragma unroll
        for (int b = 0; b < ENDS; b++) {
            const place_range<K> range(*p.at, b);
            low[b] = b < p.brackets ? range.low : (K) ~(K)0;
            width[b] = b < p.brackets ? range.width : 0;
            below[b] = 0;
            bracket[b] = b;
        }
        sort_brackets(bracket);
#pragma unroll
        for (int b = 0; b < ENDS; b++) {
            if (b > 0) disjoint &= width[b - 1] <= low[b] - low[b - 1];
            if (threadIdx.x != 0) continue;
            s.low[b] = low[b];
            s.width[b] = width[b];
            s.shift[b] = place_range<K>(*p.at, bracket[b]).shift;
            s.bracket[b] = bracket[b];
        }
    }
    /* Sorts the brackets. Absent ones come last. */
    __device__ __forceinline__ void sort_brackets(int (&bracket)[ENDS]) {
#pragma unroll
        for (int n = ENDS - 1; n > 0; n--) {
#pragma unroll
            for (int b = 0; b < n; b++) {
                if (low[b] < low[b + 1] || (low[b] == low[b + 1] && bracket[b] < bracket[b + 1]))
                    continue;
                swap(low[b], low[b + 1]);
                swap(width[b], width[b + 1]);
                swap(bracket[b], bracket[b + 1]);
            }
        }
    }
    template <class T> static __device__ __forceinline__ void swap(T &a, T &b) {
        const T first = a;
        a = b;
        b = first;
    }
    static __device__ __forceinline__ uint32_t head_of(K x) { return (uint32_t)(x >> HEAD); }
    __device__ __forceinline__ unsigned kept() const { return (end - column) / ROW; }
    /* Returns the place of an element; of a NaN only if its bits are those of place_nan. */
    __device__ __forceinline__ K place(E e) const {
        if (D == BF_BOOL) e = e != 0;
        if (FLOAT) e ^= (E)((S)e >> (BITS - 1)) & (E)p.coding.negative;
        return (K)(E)(e ^ (E)p.coding.flip);
    }
    /* Returns whether one of two elements is a NaN. */
    __device__ __forceinline__ bool any_nan(E a, E b) const {
        if (D == BF_F32)
            return isunordered(__uint_as_float((unsigned)a), __uint_as_float((unsigned)b));
        if (D == BF_F64)
            return isunordered(__longlong_as_double((long long)a),
                               __longlong_as_double((long long)b));
        return bf_cuda_is_nan<D>(p.coding, a) || bf_cuda_is_nan<D>(p.coding, b);
    }
    __device__ __forceinline__ bool any_nan(const E (&e)[EACH]) const {
        bool any = false;
#pragma unroll
        for (int k = 0; k < EACH; k += 2) any |= any_nan(e[k], e[k + 1]);
        return any;
    }
    /* Counts a NaN, and gives it the bits whose place by masks is that of NaNs. */
    __device__ __forceinline__ void place_nan(E &e) {
        const E all = (E) ~(E)0, bits = p.order == BF_DESCENDING_NAN_LAST ? all : (E)(all >> 1);
        if (!bf_cuda_is_nan<D>(p.coding, e)) return;
        e = bits;
        nans++;
    }
    /* Keeps an item if x is less than y. */
    __device__ __forceinline__ void keep_if_less(Item item, uint32_t x, uint32_t y) {
        bf_cuda_shared_put_if_less<ROW>(&end, item, x, y);
    }
    __device__ __forceinline__ void keep_if_less(Item item, uint64_t x, uint64_t y) {
        keep_if_less(item, 0u, (uint32_t)(x < y));
    }
    /* Counts an element, and keeps it if it is in a bracket. */
    __device__ __forceinline__ void take(E element) {
        const K x = place(element);
        bool inside = false;
#pragma unroll
        for (int b = 0; b < ENDS; b++) {
            bf_cuda_count_less(x, low[b], one, &below[b]);
            inside |= (K)(x - low[b]) < width[b];
        }
        if (ENDS == 1)
            keep_if_less((Item)x, (K)(x - low[0]), width[0]);
        else
            keep_if_less((Item)x, 0u, (uint32_t)inside);
    }
    /* The last place of a bracket, or its low end. */
    __device__ __forceinline__ K last_of(int b) const {
        return low[b] + (width[b] > 0 ? width[b] - 1 : 0);
    }
    /* Makes the table. Each entry tells of equally many heads, the first of all before, and the
     * last of all behind, below which brackets all of them are; or that it is not so simple. */
    __device__ void make_table() {
        uint64_t base = ~(uint64_t)0, top = 0;
        unsigned simple = 0;
#pragma unroll
        for (int b = 0; b < ENDS; b++) {
            if (b >= p.brackets) break;
            const uint64_t end = (uint64_t)head_of(last_of(b)) + 1;
            base = head_of(low[b]) < base ? head_of(low[b]) : base;
            top = end > top ? end : top;
        }
        const int bits = bf_bit_length(top - base);
        shift = bits > TABLE_BITS ? bits - TABLE_BITS : 0;
        const uint64_t each = (uint64_t)1 << shift;
        start = (uint32_t)(base > each ? base - each : 0);
        for (int i = (int)threadIdx.x; i < TABLE + 2; i += KEEPERS) {
            const uint64_t first = i == 0 ? 0 : start + i * each;
            const uint64_t last = i == TABLE + 1 ? ~(uint64_t)0 : start + (i + 1) * each - 1;
            uint32_t entry = 0;
#pragma unroll
            for (int b = 0; b < ENDS; b++) {
                if (b >= p.brackets) break;
                if (last < head_of(low[b]))
                    entry |= 1u << FIELD * b;
                else if (first <= head_of(last_of(b)))
                    entry |= HARD;
            }
            s.table[i] = entry >= HARD ? HARD : entry;
        }
        __syncthreads();
        /* is it simple for most elements? */
        for (int k = 0; k < SPLITTERS / KEEPERS; k++) {
            const K splitter = ((const K *)p.splitters)[k * KEEPERS + threadIdx.x];
            simple += (unsigned)__syncthreads_count((int32_t)entry_of(splitter) >= 0);
        }
        tabled = simple > SPLITTERS / 8 * 7;
    }
    __device__ __forceinline__ uint32_t entry_of(K x) const {
        const uint32_t head = head_of(x), at = ((head > start ? head : start) - start) >> shift;
        return s.table[at < TABLE + 1 ? at : TABLE + 1];
    }
    /* Counts an element by its entry, or keeps it for later if that is not so simple. */
    __device__ __forceinline__ void use_entry(K x, uint32_t entry, uint32_t &sums) {
        sums += entry;
        keep_if_less((Item)x, HARD - 1, entry);
    }
    __device__ __forceinline__ void add_sums(uint32_t sums) {
#pragma unroll
        for (int b = 0; b < ENDS; b++) below[b] += sums >> FIELD * b & ((1u << FIELD) - 1);
    }
    __device__ __forceinline__ void look_up_whole(const E (&element)[EACH]) {
        uint32_t sums = 0;
#pragma unroll
        for (int first = 0; first < EACH; first += AHEAD) { /* entries before what is kept */
            uint32_t entry[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) entry[k] = entry_of(place(element[first + k]));
#pragma unroll
            for (int k = 0; k < AHEAD; k++) use_entry(place(element[first + k]), entry[k], sums);
        }
        add_sums(sums);
    }
    /* Counts the elements of the column, and in the parts of their brackets. Returns which are in
     * a bracket. No two brackets share a place. */
    __device__ __forceinline__ uint32_t count_in_disjoint(unsigned n) {
        uint32_t rows = 0, sums = 0;
        for (unsigned k = 0; k < n; k++) {
            const K x = (K)s.column[k][threadIdx.x];
            unsigned behind = 0; /* brackets behind x */
#pragma unroll
            for (int b = 0; b < ENDS; b++) behind += x < low[b];
            const unsigned b = behind < ENDS ? ENDS - 1 - behind : 0;
            const K distance = x - s.low[b];
            sums += 1u << FIELD * behind >> FIELD;
            if (distance >= s.width[b]) continue;
            atomicAdd(&s.parts[b][(unsigned)(distance >> s.shift[b])], 1u);
            rows |= 1u << k;
        }
        unsigned before = 0;
#pragma unroll
        for (int b = 0; TABLED && b < ENDS; b++) {
            before += sums >> FIELD * (ENDS - 1 - b) & ((1u << FIELD) - 1);
            if (tabled) below[b] += before;
        }
        return rows;
    }
    /* Counts what is in any brackets. */
    __device__ __forceinline__ uint32_t count_in_any(unsigned n) {
        uint32_t rows = 0;
        for (unsigned k = 0; k < n; k++) {
            const K x = (K)s.column[k][threadIdx.x];
            bool inside = false;
#pragma unroll
            for (int b = 0; b < ENDS; b++) {
                if (TABLED && tabled) bf_cuda_count_less(x, low[b], one, &below[b]);
                if ((K)(x - low[b]) >= width[b]) continue;
                inside = true;
                atomicAdd(&s.parts[b][(unsigned)((K)(x - low[b]) >> s.shift[b])], 1u);
            }
            rows |= (uint32_t)inside << k;
        }
        return rows;
    }
    /* Takes a tile. Nans: there may be NaNs in it, which is rare enough for code of its own. */
    template <bool Nans> __device__ __forceinline__ void take_whole(E (&element)[EACH]) {
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (Nans) place_nan(element[k]);
        if (TABLED && tabled) {
            look_up_whole(element);
        } else {
#pragma unroll
            for (int k = 0; k < EACH; k++) take(element[k]);
        }
    }
    /* Keeps the positions of those of the first k, which are few. */
    __device__ __forceinline__ void keep_position(const Operands &e, int64_t i) {
        if (bf_cuda_place_of<D>(p.coding, e.element(i)) < width[0])
            keep_if_less((Item)(i - e.before), 0u, 1u);
    }
    __device__ __forceinline__ void keep_positions(const Operands &e, const E (&element)[EACH],
                                                   int64_t number) {
        bool any = FLOAT && any_nan(element);
#pragma unroll
        for (int k = 0; k < EACH; k++) any |= place(element[k]) < width[0];
        if (!any) return;
        bf_cuda_forget_memory();
        unsigned hits = 0;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const bool hit =
                place(element[k]) < width[0] || (FLOAT && bf_cuda_is_nan<D>(p.coding, element[k]));
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
                    use_entry(place(element), entry_of(place(element)), sums);
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
        if (!INDEXED) rows = disjoint ? count_in_disjoint(mine) : count_in_any(mine);
        const unsigned sum = bf_cuda_warp_total((unsigned)__popc(rows));
        const unsigned most = bf_cuda_warp_most(mine);
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
                    bf_cuda_place_of<D>(p.coding, e.element(e.before + (int64_t)item));
            } else {
                ((K *)p.kept)[to] = (K)item;
            }
        }
    }
    /* Adds up the counts of the block, and then of all. */
    __device__ __forceinline__ void add_counts() {
        bf_cuda_warp_add(nans, &s.nans);
#pragma unroll
        for (int b = 0; b < ENDS; b++) bf_cuda_warp_add(below[b], &s.below[b]);
        __syncthreads();
        const int b = (int)threadIdx.x;
        if (b < p.brackets && s.below[b] > 0) atomicAdd(&p.at->below[s.bracket[b]], s.below[b]);
        if (b == KEEPERS - 1 && s.nans > 0) atomicAdd(&p.at->nans, s.nans);
        for (int i = b; i < p.brackets * PARTS; i += KEEPERS) {
            const unsigned count = (&s.parts[0][0])[i];
            if (count > 0) atomicAdd(&p.at->counts[s.bracket[i / PARTS]][i % PARTS], count);
        }
    }
    /* The tiles of which all is in the line, and where the next tile of this block is. */
    struct whole_tiles {
        unsigned first, count;
        const uint4 *next;

        __device__ __forceinline__ explicit whole_tiles(const Operands &e) {
            const int64_t end = e.end / (KEEPERS * EACH);
            first = e.before > 0 ? 1 : 0;
            count = end > first ? (unsigned)end - first : 0;
            next = (const uint4 *)e.a + Tile::vector(blockIdx.x, 0);
        }
        /* Loads a thread's part of a tile if it is whole, and returns whether it is. */
        __device__ __forceinline__ bool load(unsigned number, uint4 (&to)[VECTORS]) {
            const bool whole = number - first < count;
            if (whole) {
#pragma unroll
                for (int v = 0; v < VECTORS; v++) to[v] = __ldcs(next + v * KEEPERS);
            }
            next += gridDim.x * (VECTORS * KEEPERS);
            return whole;
        }
    };
    __device__ __forceinline__ void run() {
        if (threadIdx.x < ENDS) s.below[threadIdx.x] = 0;
        if (threadIdx.x == 0) s.nans = 0;
        for (int i = (int)threadIdx.x; !INDEXED && i < ENDS * PARTS; i += KEEPERS)
            (&s.parts[0][0])[i] = 0;
        __syncthreads();
        const Operands e(p);
        const unsigned tiles = (unsigned)Tile::number_of(e);
        whole_tiles all(e);
        if (TABLED) make_table();
        uint4 ahead[VECTORS];
        unsigned number = blockIdx.x;
        bool whole = all.load(number, ahead);
        while (number < tiles) {
            const unsigned next = number + gridDim.x;
            E element[EACH];
            memcpy(element, ahead, sizeof element);
            const bool next_whole = all.load(next, ahead);
            if (!whole)
                take_some(e, number);
            else if (INDEXED)
                keep_positions(e, element, number);
            else if (FLOAT && __any_sync(~0u, any_nan(element)))
                take_whole<true>(element);
            else
                take_whole<false>(element);
            if (__any_sync(~0u, end - column > (ROOM - EACH) * ROW)) flush(e);
            number = next;
            whole = next_whole;
        }
        flush(e);
        if (!INDEXED) add_counts();
    }
};

template <bf_dtype D, int Brackets>
__global__ void __launch_bounds__(KEEPERS, Brackets == MOST ? 3 : 4)
    keep_elements(const bracket_params p) {
    extern __shared__ uint64_t shared[];
    typedef Keeper<D, Brackets> keeper;
    bf_cuda_wait_for_previous();
    keeper(p, *(typename keeper::memory *)shared).run();
}

template <bf_dtype D, int Brackets>
cudaError_t enqueue_brackets(const bf_cuda *cuda, const bracket_params &p) {
    bf_cuda_shape shape = {};
    int blocks = 1;
    shape.threads = KEEPERS;
    shape.shared = sizeof(typename Keeper<D, Brackets>::memory);
    shape.spares_cache = true;
    shape.overlaps = true;
    cudaError_t error =
        bf_cuda_occupancy(cuda, (const void *)keep_elements<D, Brackets>, shape, &blocks);
    if (error != cudaSuccess) return error;
    shape.blocks = (int64_t)cuda->multiprocessors * (blocks > 0 ? blocks : 1);
    return bf_cuda_launch(cuda, keep_elements<D, Brackets>, shape, p);
}

template <bf_dtype D> cudaError_t enqueue_keep(const bf_cuda *cuda, const bracket_params &p) {
    return p.first > 0       ? enqueue_brackets<D, FIRST>(cuda, p)
           : p.brackets == 1 ? enqueue_brackets<D, 1>(cuda, p)
                             : enqueue_brackets<D, MOST>(cuda, p);
}

} // namespace

cudaError_t bf_cuda_bracket::keep(const bf_cuda *cuda, bf_dtype dtype, const bracket_params &p) {
    return bf_cuda_by_dtype(dtype,
                            [&](auto d) { return enqueue_keep<decltype(d)::value>(cuda, p); });
}
