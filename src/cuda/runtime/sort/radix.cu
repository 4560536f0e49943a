/* The radix sort: a pass over the keys for each digit of 8 bits, from the lowest on.
 *
 * One kernel counts the digits of all passes. In a pass each tile finds by look-back how many keys
 * with its digits the tiles before it have, so that keys are read and written once (Adinets and
 * Merrill, Onesweep, 2022; Merrill and Garland, decoupled look-back, 2016). Tiles are numbered in
 * the order in which they start, so that none waits for a tile that has not started.
 *
 * Elements become places (coding.cuh) where they are first read, and elements again where they are
 * last written. */
#include "cuda/runtime/sort/radix.cuh"

#include "cuda/runtime/grid.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"

namespace {

enum {
    WARP = 32,
    BITS = 8,
    DIGITS = 1 << BITS,
    COUNTERS = 1024 /* threads of a block that counts */
};

/* No values. */
struct nothing {};

/* The threads of a block, the keys of each, and the blocks that share a multiprocessor. */
template <int threads, int items, int blocks> struct tile_of {
    enum { THREADS = threads, ITEMS = items, BLOCKS = blocks };
};
template <class K, class V> struct tile_shape : tile_of<384, 20, 3> {};
template <> struct tile_shape<uint32_t, uint32_t> : tile_of<512, 16, 2> {};
template <> struct tile_shape<uint64_t, uint32_t> : tile_of<512, 12, 2> {};
template <> struct tile_shape<uint32_t, uint64_t> : tile_of<384, 12, 3> {};
template <class V> struct tile_shape<uint64_t, V> : tile_of<384, 12, 3> {};

/* --- counting --- */

template <class K> __device__ __forceinline__ unsigned digit_of(K key, int pass) {
    return (unsigned)(key >> BITS * pass) % DIGITS;
}

/* Adds 1 to the counters of a key's digits. mine: the address in shared memory of the first. */
template <class K>
__device__ __forceinline__ void count_key(K key, int passes, int copy_bits, unsigned mine) {
#pragma unroll
    for (int pass = 0; pass < (int)sizeof(K); pass++) {
        if (pass == passes) break;
        const unsigned counter = (unsigned)(pass * DIGITS) + digit_of(key, pass);
        bf_cuda_shared_count(mine + (counter << copy_bits) * 4);
    }
}

/* Notes the NaNs among a thread's elements. */
template <class K, int n>
__device__ __forceinline__ void note_nans(const bf_cuda_coding &coding, const K (&element)[n],
                                          K *bits, K *others) {
#pragma unroll
    for (int k = 0; k < n; k++)
        if (bf_cuda_codes_nan(coding, element[k])) {
            *bits |= element[k];
            *others |= (K)~element[k];
        }
}

struct count_params {
    const void *keys;
    int64_t n;
    int passes, copy_bits;
    bf_cuda_coding coding;
    uint64_t *totals;   /* DIGITS for each pass */
    bf_cuda_nans *nans; /* for floats */
};

/* Adds the counts of all digits to the totals. A block has several counters of each digit, side by
 * side, so that the lanes of a warp meet in few of them. */
template <class K> __global__ void __launch_bounds__(COUNTERS) count_digits(const count_params p) {
    extern __shared__ uint32_t counts[];
    enum { AHEAD = 8 };
    const K *keys = (const K *)p.keys;
    const int copies = 1 << p.copy_bits, all = p.passes * DIGITS;
    K bits = 0, others = 0;
    const unsigned mine = bf_cuda_shared_address(counts + threadIdx.x % (unsigned)copies);
    for (int i = (int)threadIdx.x; i < all * copies; i += COUNTERS) counts[i] = 0;
    __syncthreads();
    const int64_t step = (int64_t)gridDim.x * COUNTERS * AHEAD;
    for (int64_t first = (int64_t)blockIdx.x * COUNTERS * AHEAD + threadIdx.x; first < p.n;
         first += step) {
        K key[AHEAD];
        const bool whole = first + (AHEAD - 1) * COUNTERS < p.n;
        if (whole) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++) key[k] = keys[first + k * COUNTERS];
        } else {
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                key[k] = first + k * COUNTERS < p.n ? keys[first + k * COUNTERS] : 0;
        }
        if (p.coding.kind == BF_CUDA_FLOATS) note_nans(p.coding, key, &bits, &others);
        bf_cuda_encode(p.coding, key);
        if (whole) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++) count_key(key[k], p.passes, p.copy_bits, mine);
        } else {
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (first + k * COUNTERS < p.n) count_key(key[k], p.passes, p.copy_bits, mine);
        }
    }
    if (bits != 0) atomicOr(&p.nans->bits, (unsigned long long)bits);
    if (others != 0) atomicOr(&p.nans->others, (unsigned long long)others);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < all; i += COUNTERS) {
        const int64_t sum = bf_cuda_sum_of_copies(counts + i * copies, copies, 0);
        if (sum > 0) atomicAdd((unsigned long long *)&p.totals[i], (unsigned long long)sum);
    }
}

/* Turns the counts of a pass, whose number is the block's, into where the keys of each digit begin:
 * those of its first portion. */
__global__ void __launch_bounds__(DIGITS)
    sum_digits(const uint64_t *totals, int64_t portions, uint64_t *begins) {
    uint64_t all, mine = totals[blockIdx.x * DIGITS + threadIdx.x];
    begins[blockIdx.x * (portions + 1) * DIGITS + threadIdx.x] =
        bf_cuda_block_sum_before<DIGITS / WARP>(mine, &all);
}

/* --- a pass --- */

/* What a tile tells those after it of each digit: how many keys it has, or how many it and all
 * before it have. */
static const uint32_t STATE_OWN = 1u << 30, STATE_ALL = 1u << 31, STATE_COUNT = STATE_OWN - 1;

struct pass_params {
    const void *keys, *values; /* values NULL: numbers */
    void *sorted, *moved;
    int64_t first; /* the portion's elements: n from this one on */
    uint32_t n;
    int pass;
    bf_cuda_coding coding;
    bool encodes, decodes;     /* what is read, and written: elements */
    uint32_t *ticket, *states; /* both cleared */
    const uint64_t *begins;    /* where the portion's keys of each digit begin */
    uint64_t *next;            /* where those of the next portion begin */
};

/* Tells the tiles after this one of a digit, and returns the keys with it in all tiles before. It
 * reads the states of several tiles at a time, for each takes as long as many. */
__device__ __forceinline__ uint32_t look_back(uint32_t *states, unsigned tile, uint32_t own) {
    enum { BACK = 4 };
    volatile uint32_t *mine = states + (size_t)tile * DIGITS + threadIdx.x;
    const volatile uint32_t *at = mine;
    uint32_t before = 0;
    bool all = tile == 0;
    for (unsigned left = tile; !all;) {
        uint32_t state[BACK];
#pragma unroll
        for (int k = 0; k < BACK; k++)
            state[k] = (unsigned)k < left ? *(at - (k + 1) * DIGITS) : STATE_ALL;
#pragma unroll
        for (int k = 0; k < BACK; k++) {
            if (all) break;
            while (state[k] == 0) state[k] = *(at - (k + 1) * DIGITS);
            before += state[k] & STATE_COUNT;
            all = (state[k] & STATE_ALL) != 0;
        }
        at -= BACK * DIGITS;
        left -= BACK;
    }
    *mine = (before + own) | STATE_ALL;
    return before;
}

template <class K, class V> struct Sorter {
    enum {
        THREADS = tile_shape<K, V>::THREADS,
        ITEMS = tile_shape<K, V>::ITEMS,
        TILE = THREADS * ITEMS,
        WARPS = THREADS / WARP,
        VALUES = sizeof(V) > 1
    };
    struct memory {
        union {
            uint32_t counts[WARPS][DIGITS];
            K keys[TILE];
        };
        V values[VALUES ? TILE : 1];
        int64_t offsets[DIGITS]; /* from a position in the tile to one in the array */
        uint32_t tile;
    };
    const pass_params &p;
    memory &s;
    unsigned tile, count; /* the tile's number and keys */
    uint32_t position[ITEMS];

    __device__ __forceinline__ Sorter(const pass_params &params, memory &shared)
        : p(params), s(shared) {}

    /* The number in the tile of a thread's key k. */
    __device__ __forceinline__ unsigned at(int k) const {
        return threadIdx.x / WARP * (WARP * ITEMS) + k * WARP + threadIdx.x % WARP;
    }
    /* Draws the tile, and clears the counts. */
    __device__ __forceinline__ void begin() {
        if (threadIdx.x == 0) s.tile = atomicAdd(p.ticket, 1u);
        for (unsigned i = threadIdx.x; i < WARPS * DIGITS; i += THREADS) (&s.counts[0][0])[i] = 0;
        __syncthreads();
        tile = s.tile;
        unsigned left = p.n - tile * TILE;
        count = left < TILE ? left : (unsigned)TILE;
    }
    /* Keys that are not there count as the greatest, and come last. */
    __device__ __forceinline__ void load_keys(K (&key)[ITEMS]) {
        const K *from = (const K *)p.keys + p.first + (size_t)tile * TILE;
        if (count == TILE) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) key[k] = from[at(k)];
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) key[k] = at(k) < count ? from[at(k)] : 0;
        }
        if (p.encodes) bf_cuda_encode(p.coding, key);
        if (count < TILE) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                if (at(k) >= count) key[k] = ~(K)0;
        }
    }
    /* Fetches the tile's values into the L2 cache. */
    __device__ __forceinline__ void prefetch_values() {
        const V *from = (const V *)p.values + p.first + (int64_t)tile * TILE;
        if (p.values != NULL) bf_cuda_prefetch_lines(from, count * sizeof(V), THREADS);
    }
    /* Sets each key's position among those of its warp that have its digit. */
    __device__ __forceinline__ void rank_in_warps(const K (&key)[ITEMS]) {
        volatile uint32_t *counts = s.counts[threadIdx.x / WARP];
        const unsigned lane = threadIdx.x % WARP, below = (1u << lane) - 1;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            unsigned digit = digit_of(key[k], p.pass), peers = bf_cuda_same_digit(digit, BITS);
            position[k] = counts[digit] + __popc(peers & below);
            __syncwarp();
            if (peers >> lane == 1) counts[digit] = position[k] + 1;
            __syncwarp();
        }
    }
    /* Each of the first DIGITS threads does this for its digit: adds up the warps' counts, tells
     * the tiles after this one, and turns the counts into positions in the tile. */
    __device__ __forceinline__ void place_digits(uint32_t *own, uint32_t *begin) {
        const unsigned digit = threadIdx.x;
        uint32_t sum = 0, all;
        if (digit < DIGITS) {
            for (int w = 0; w < WARPS; w++) {
                uint32_t warp = s.counts[w][digit];
                s.counts[w][digit] = sum;
                sum += warp;
            }
            *own = digit == DIGITS - 1 ? sum - (TILE - count) : sum;
            ((volatile uint32_t *)p.states)[(size_t)tile * DIGITS + digit] =
                *own | (tile == 0 ? STATE_ALL : STATE_OWN);
        }
        *begin = bf_cuda_block_sum_before<WARPS>(sum, &all);
        if (digit < DIGITS)
            for (int w = 0; w < WARPS; w++) s.counts[w][digit] += *begin;
        __syncthreads();
    }
    __device__ __forceinline__ void finish_positions(const K (&key)[ITEMS]) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            position[k] += s.counts[threadIdx.x / WARP][digit_of(key[k], p.pass)];
        __syncthreads();
    }
    __device__ __forceinline__ void place_tile(uint32_t own, uint32_t begin) {
        const unsigned digit = threadIdx.x;
        if (digit >= DIGITS) return;
        int64_t before = (int64_t)p.begins[digit] + look_back(p.states, tile, own);
        s.offsets[digit] = before - begin;
        if (tile * TILE + count == p.n) p.next[digit] = (uint64_t)(before + own);
    }
    static __device__ __forceinline__ void set_number(uint32_t *value, int64_t i) {
        *value = (uint32_t)i;
    }
    static __device__ __forceinline__ void set_number(uint64_t *value, int64_t i) {
        *value = (uint64_t)i;
    }
    static __device__ __forceinline__ void set_number(nothing *, int64_t) {}

    __device__ __forceinline__ void place_values() {
        const int64_t first = p.first + (int64_t)tile * TILE;
        const V *from = (const V *)p.values + first;
        V value[ITEMS];
        if (p.values == NULL) {
#pragma unroll
            for (int k = 0; k < ITEMS; k++) set_number(&s.values[position[k]], first + at(k));
            return;
        }
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            if (at(k) < count) value[k] = from[at(k)];
#pragma unroll
        for (int k = 0; k < ITEMS; k++) s.values[position[k]] = value[k];
    }
    template <bf_cuda_coding_kind kind> __device__ __forceinline__ K decode(K place) const {
        if (kind == BF_CUDA_INTEGERS) return place ^ (K)p.coding.flip;
        return kind == BF_CUDA_FLOATS ? bf_cuda_decode_float(p.coding, place) : place;
    }
    template <bf_cuda_coding_kind kind> __device__ __forceinline__ void write_as() {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const unsigned from = threadIdx.x + k * THREADS;
            const K key = s.keys[from];
            const int64_t to = s.offsets[digit_of(key, p.pass)] + from;
            if (from >= count) continue;
            ((K *)p.sorted)[to] = decode<kind>(key);
            if (VALUES) ((V *)p.moved)[to] = s.values[from];
        }
    }
    __device__ __forceinline__ void write_tile() {
        if (!p.decodes)
            write_as<BF_CUDA_PLACES>();
        else if (p.coding.kind == BF_CUDA_INTEGERS)
            write_as<BF_CUDA_INTEGERS>();
        else
            write_as<BF_CUDA_FLOATS>();
    }
    __device__ __forceinline__ void sort_tile() {
        K key[ITEMS];
        uint32_t own = 0, begins;
        begin();
        load_keys(key);
        if (VALUES) prefetch_values();
        rank_in_warps(key);
        __syncthreads();
        place_digits(&own, &begins);
        finish_positions(key);
#pragma unroll
        for (int k = 0; k < ITEMS; k++) s.keys[position[k]] = key[k];
        if (VALUES) place_values();
        place_tile(own, begins);
        __syncthreads();
        write_tile();
    }
};

template <class K, class V>
__global__ void __launch_bounds__(tile_shape<K, V>::THREADS,
                                  bf_cuda_blocks_held(tile_shape<K, V>::THREADS,
                                                      tile_shape<K, V>::BLOCKS))
    sort_pass(const pass_params p) {
    extern __shared__ uint64_t shared[];
    Sorter<K, V>(p, *(typename Sorter<K, V>::memory *)shared).sort_tile();
}

/* --- all passes --- */

/* Keys or values: where they are, where they go, and scratch between. */
struct lane_buffers {
    const void *from;
    void *to, *other;
};

/* The memory of a sort, in device memory. */
struct sort_memory {
    uint64_t *totals; /* DIGITS for each pass, and the NaNs behind them */
    uint64_t *begins; /* DIGITS for each pass and portion, and one portion more */
    uint32_t *states; /* the ticket, and behind it DIGITS for each tile of a portion */
};

template <class K, class V> struct Sort {
    enum { TILE = Sorter<K, V>::TILE };
    static constexpr int64_t PORTION = (int64_t)TILE << 16; /* less than STATE_COUNT */
    static_assert(PORTION < STATE_COUNT, "counts of a portion fit a state");

    bf_context *context;
    const bf_cuda_radix &radix;
    int passes;
    sort_memory memory;
    bf_cuda_coding coding;

    size_t totals_bytes() const { return (size_t)passes * DIGITS * 8 + sizeof(bf_cuda_nans); }
    int64_t portions() const { return (radix.n - 1) / PORTION + 1; }
    int64_t tiles(int64_t n) const { return (n - 1) / TILE + 1; }
    size_t states_bytes(int64_t n) const { return (size_t)(tiles(n) + 1) * DIGITS * 4; }
    int64_t most() const { return radix.n < PORTION ? radix.n : PORTION; }

    cudaError_t count() {
        bf_cuda *cuda = context->cuda;
        const size_t counters = (size_t)passes * DIGITS;
        int copy_bits = 5; /* a counter for each lane */
        while (copy_bits > 0 && (counters * 4 << copy_bits) + 2048 > (size_t)cuda->shared)
            copy_bits--;
        bf_cuda_shape shape = {};
        shape.threads = COUNTERS;
        shape.shared = counters * 4 << copy_bits;
        shape.blocks = cuda->multiprocessors * (2 * shape.shared < (size_t)cuda->shared ? 2 : 1);
        int64_t needed = (radix.n - 1) / COUNTERS + 1;
        if (shape.blocks > needed) shape.blocks = needed;
        const count_params p = {radix.keys,
                                radix.n,
                                passes,
                                copy_bits,
                                radix.coding,
                                memory.totals,
                                (bf_cuda_nans *)(memory.totals + counters)};
        cudaError_t error = cudaMemsetAsync(memory.totals, 0, totals_bytes(), cuda->stream);
        if (error == cudaSuccess) error = bf_cuda_launch(cuda, count_digits<K>, shape, p);
        if (error != cudaSuccess) return error;
        sum_digits<<<(unsigned)passes, DIGITS, 0, cuda->stream>>>(memory.totals, portions(),
                                                                  memory.begins);
        return cudaGetLastError();
    }
    cudaError_t sort_portion(pass_params p, int pass, int64_t portion) {
        cudaStream_t stream = context->cuda->stream;
        uint64_t *begins = memory.begins + ((portions() + 1) * pass + portion) * DIGITS;
        int64_t left = radix.n - portion * PORTION;
        p.first = portion * PORTION;
        p.n = (uint32_t)(left < PORTION ? left : PORTION);
        p.begins = begins;
        p.next = begins + DIGITS;
        cudaError_t error = cudaMemsetAsync(memory.states, 0, states_bytes(p.n), stream);
        if (error != cudaSuccess) return error;
        bf_cuda_shape shape = {};
        shape.blocks = tiles(p.n);
        shape.threads = Sorter<K, V>::THREADS;
        static_assert(sizeof(typename Sorter<K, V>::memory) <= BF_CUDA_RADIX_SHARED, "room");
        shape.shared = sizeof(typename Sorter<K, V>::memory);
        shape.spares_cache = true;
        return bf_cuda_launch(context->cuda, sort_pass<K, V>, shape, p);
    }
    /* If the first pass would write where it reads, it reads a copy. */
    cudaError_t part_buffers(lane_buffers *b, size_t bytes) {
        if (passes % 2 == 0 || b->from == NULL || b->from != b->to) return cudaSuccess;
        cudaError_t error = cudaMemcpyAsync(b->other, b->from, (size_t)radix.n * bytes,
                                            cudaMemcpyDeviceToDevice, context->cuda->stream);
        b->from = b->other;
        return error;
    }
    /* Waits for the NaNs of floats. */
    bf_status compare_nans(bool *mixed) {
        bf_cuda_nans nans;
        bf_status status = bf_cuda_fetch_words(
            context, cudaSuccess, memory.totals + (size_t)passes * DIGITS, 2, &nans, "sorting");
        if (status != BF_OK) return status;
        *mixed = (nans.bits & nans.others) != 0;
        coding.nan = nans.bits;
        return status;
    }
    cudaError_t move(lane_buffers keys, lane_buffers values) {
        cudaError_t error = cudaSuccess;
        for (int pass = 0; pass < passes && error == cudaSuccess; pass++) {
            const bool ends_there = (passes - pass) % 2 == 1;
            pass_params p = {};
            p.keys = keys.from;
            p.values = values.from;
            p.sorted = ends_there ? keys.to : keys.other;
            p.moved = ends_there ? values.to : values.other;
            p.pass = pass;
            p.coding = coding;
            p.encodes = pass == 0 && coding.kind != BF_CUDA_PLACES;
            p.decodes = pass == passes - 1 && coding.kind != BF_CUDA_PLACES && radix.sorted != NULL;
            p.ticket = memory.states;
            p.states = memory.states + DIGITS;
            for (int64_t i = 0; i < portions() && error == cudaSuccess; i++)
                error = sort_portion(p, pass, i);
            keys.from = p.sorted;
            values.from = p.moved;
        }
        return error;
    }
    bf_status sort(lane_buffers keys, lane_buffers values, bool *mixed) {
        bf_status status = bf_cuda_check(context, count(), "sorting");
        coding = radix.coding;
        if (status == BF_OK && coding.kind == BF_CUDA_FLOATS && radix.sorted != NULL) {
            status = compare_nans(mixed);
            if (*mixed) return status;
        }
        if (status != BF_OK) return status;
        cudaError_t error = part_buffers(&keys, sizeof(K));
        if (error == cudaSuccess) error = part_buffers(&values, (size_t)radix.value_bytes);
        if (error == cudaSuccess) error = move(keys, values);
        return bf_cuda_check(context, error, "sorting");
    }
};

enum { TOTALS, BEGINS, STATES, KEYS, KEYS_TO, VALUES, ALLOCATED };

/* memory: the sort's, to be freed. */
template <class K, class V>
bf_status sort_in(bf_context *context, const bf_cuda_radix *radix, bool *mixed, void **memory) {
    const int passes = radix->bits > 0 ? (radix->bits + BITS - 1) / BITS : 1;
    Sort<K, V> sort = {context, *radix, passes, {}, {}};
    const size_t key_bytes = (size_t)radix->n * sizeof(K);
    const size_t value_bytes = (size_t)radix->n * (size_t)radix->value_bytes;
    const bool again = passes > 1 || radix->keys == radix->sorted;
    size_t bytes[ALLOCATED] = {}, all = 0;
    void *part[ALLOCATED] = {};
    bytes[TOTALS] = sort.totals_bytes();
    bytes[BEGINS] = (size_t)passes * (size_t)(sort.portions() + 1) * DIGITS * 8;
    bytes[STATES] = sort.states_bytes(sort.most());
    bytes[KEYS] = again ? key_bytes : 0;
    bytes[KEYS_TO] = radix->sorted == NULL ? key_bytes : 0;
    bytes[VALUES] = passes > 1 || radix->values == radix->moved ? value_bytes : 0;
    for (int i = 0; i < ALLOCATED; i++) all += bf_cuda_part_bytes(bytes[i]);
    char *at = (char *)(*memory = bf_cuda_alloc(context, all));
    if (at == NULL) return BF_E_MEMORY;
    for (int i = 0; i < ALLOCATED; i++)
        if (bytes[i] > 0) part[i] = bf_cuda_next_part(&at, bytes[i]);
    lane_buffers keys = {radix->keys, radix->sorted != NULL ? radix->sorted : part[KEYS_TO],
                         part[KEYS]};
    lane_buffers values = {radix->values, radix->moved, part[VALUES]};
    sort.memory = {(uint64_t *)part[TOTALS], (uint64_t *)part[BEGINS], (uint32_t *)part[STATES]};
    return sort.sort(keys, values, mixed);
}

template <class K>
bf_status sort_keys(bf_context *context, const bf_cuda_radix *radix, bool *mixed, void **memory) {
    switch (radix->value_bytes) {
    case 4: return sort_in<K, uint32_t>(context, radix, mixed, memory);
    case 8: return sort_in<K, uint64_t>(context, radix, mixed, memory);
    default: return sort_in<K, nothing>(context, radix, mixed, memory);
    }
}

} // namespace

bf_status bf_cuda_radix_sort(bf_context *context, const bf_cuda_radix *radix, bool *mixed) {
    void *memory = NULL;
    bf_status status = radix->key_bytes == 4 ? sort_keys<uint32_t>(context, radix, mixed, &memory)
                                             : sort_keys<uint64_t>(context, radix, mixed, &memory);
    bf_cuda_free(context, memory);
    return status;
}
