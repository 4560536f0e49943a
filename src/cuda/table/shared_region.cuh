/* A region of a table in a block's shared memory: loading it, finding and inserting keys, and
 * storing it. */
#ifndef BF_CUDA_TABLE_SHARED_REGION_CUH
#define BF_CUDA_TABLE_SHARED_REGION_CUH

#include "cuda/table/table.cuh"

namespace bf_cuda_regions {

enum {
    THREADS = 384,
    MOST_ROWS = 32, /* rows of a thread in a round: it has a bit for each */
    LATE = 2048,    /* bytes of the keys of late rows */
    FAR_STEPS = 256 /* buckets: random keys are never so far from home */
};

/* Blocks that insert rows and share a multiprocessor, where its shared memory has room for them. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
enum { INSERT_BLOCKS = 2 };
#else
enum { INSERT_BLOCKS = 4 };
#endif

/* Rows that a thread loads at a time. */
template <class W> constexpr uint32_t ROWS = 16 / sizeof(W);

enum outcome { INSERTED, FOUND, FULL };

/* A region's slots in global memory, and the rows for it. */
template <class W> struct region_memory {
    bf_cuda_entry<W> *slots;
    const bf_cuda_entry<W> *rows;
    W empty;
};

/* --- keys in shared memory --- */

/* Two words side by side. */
template <class W> struct alignas(sizeof(W) == 4 ? 8 : 16) twin { W a, b; };
template <class W> struct alignas(16) entries { bf_cuda_entry<W> a, b; };

template <class W> struct keys {
    W word[bf_cuda_region<W>::slots];

    __device__ __forceinline__ void set_key(int s, const region_memory<W> &p, W key) {
        word[s] = key;
    }
    /* Returns the keys of slots 2i and 2i + 1. */
    __device__ __forceinline__ twin<W> load_two(int i, const region_memory<W> &p) const {
        return ((const twin<W> *)word)[i];
    }
    /* Returns whether a bucket is full of other keys. It may return false while one changes. */
    __device__ __forceinline__ bool is_full_of_others(int bucket, const region_memory<W> &p,
                                                      W key) const {
        constexpr int N = bf_cuda_region<W>::bucket;
        uint4 v = ((const uint4 *)word)[bucket];
        W w[N];
        bool all = true;
        memcpy(w, &v, sizeof v);
#pragma unroll
        for (int k = 0; k < N; k++) all = all && w[k] != p.empty && w[k] != key;
        return all;
    }
    /* Inserts a row's key into slot s, if that is empty. */
    __device__ __forceinline__ outcome insert(int s, const region_memory<W> &p, W key,
                                              uint32_t row) {
        W before = swap(&word[s], p.empty, key);
        return before == p.empty ? INSERTED : before == key ? FOUND : FULL;
    }

  private:
    static __device__ __forceinline__ uint32_t swap(uint32_t *at, uint32_t slots, uint32_t now) {
        return atomicCAS(at, slots, now);
    }
    static __device__ __forceinline__ uint64_t swap(uint64_t *at, uint64_t slots, uint64_t now) {
        return atomicCAS((unsigned long long *)at, slots, now);
    }
};

/* Keys of 16 bytes stay in global memory. A slot holds the number of a row plus 1, or the
 * complement of a slot's number; 0: it is empty. */
template <> struct keys<bf_cuda_wide> {
    uint32_t owners[bf_cuda_region<bf_cuda_wide>::slots];

    __device__ __forceinline__ void set_key(int s, const region_memory<bf_cuda_wide> &p,
                                            bf_cuda_wide key) {
        owners[s] = key == p.empty ? 0 : ~(uint32_t)s;
    }
    __device__ __forceinline__ twin<bf_cuda_wide>
    load_two(int i, const region_memory<bf_cuda_wide> &p) const {
        twin<bf_cuda_wide> keys = {p.empty, p.empty};
        if (owners[2 * i] != 0) keys.a = key_of(owners[2 * i], p);
        if (owners[2 * i + 1] != 0) keys.b = key_of(owners[2 * i + 1], p);
        return keys;
    }
    __device__ __forceinline__ bool is_full_of_others(int, const region_memory<bf_cuda_wide> &,
                                                      bf_cuda_wide) const {
        return false;
    }
    __device__ __forceinline__ outcome insert(int s, const region_memory<bf_cuda_wide> &p,
                                              bf_cuda_wide key, uint32_t row) {
        uint32_t before = atomicCAS(&owners[s], 0, row + 1);
        if (before == 0) return INSERTED;
        return key_of(before, p) == key ? FOUND : FULL;
    }

  private:
    static __device__ __forceinline__ bf_cuda_wide key_of(uint32_t number,
                                                          const region_memory<bf_cuda_wide> &p) {
        return number > BF_CUDA_ROWS_MOST ? p.slots[~number].key : p.rows[number - 1].key;
    }
};

template <class W> struct shared_region {
    W values[bf_cuda_region<W>::slots];
    bf_cuda_regions::keys<W> keys;
    uint32_t order[bf_cuda_region<W>::slots]; /* the least order among a key's rows */
    uint32_t passed[bf_cuda_region<W>::buckets /
                    32];             /* bits of buckets: an entry continued in the next */
    uint32_t late[LATE / sizeof(W)]; /* rows whose home is full */
    bf_cuda_entry<W> late_rows[LATE / sizeof(W)]; /* the entries of those rows */
    uint32_t late_count, inserted, erased, full;
};

/* Inserts a row's key into a bucket, or finds it there. FULL: other keys fill the bucket. */
template <class W>
__device__ __forceinline__ outcome insert_in_bucket(shared_region<W> &m, const region_memory<W> &p,
                                                    uint32_t bucket, W key, uint32_t row,
                                                    int *slot) {
    constexpr int N = bf_cuda_region<W>::bucket;
    int turn = (int)bf_cuda_bits(key);
    outcome how = FULL;
    for (int k = 0; k < N && how == FULL; k++) {
        *slot = (int)bucket * N + (k + turn & (N - 1));
        how = m.keys.insert(*slot, p, key, row);
    }
    return how;
}

/* Inserts or finds a row's key in its first bucket with room, from step `step` on. FULL: the region
 * is full. */
template <class W>
__device__ __forceinline__ outcome insert_key(shared_region<W> &m, const region_memory<W> &p,
                                              uint32_t home, uint32_t step, W key, uint32_t row,
                                              int *slot, bf_cuda_table_notes *notes) {
    for (uint32_t i = step; i < (uint32_t)bf_cuda_region<W>::buckets; i++) {
        uint32_t bucket = bf_cuda_bucket_at<W>(home, i);
        outcome how = m.keys.is_full_of_others((int)bucket, p, key)
                          ? FULL
                          : insert_in_bucket(m, p, bucket, key, row, slot);
        if (how != FULL) return how;
        atomicOr(&m.passed[bucket / 32], 1u << bucket % 32);
        if (i == FAR_STEPS) notes->far = 1;
        if (i >= FAR_STEPS && atomicOr(&m.full, 0) != 0) break;
    }
    atomicOr(&m.full, 1);
    return FULL;
}

/* Returns the slot of a key in this bucket; -1: the key is absent, or was a moment ago. */
template <class W>
__device__ __forceinline__ int find_in_bucket(const shared_region<W> &m, const region_memory<W> &p,
                                              uint32_t bucket, W key) {
    constexpr int N = bf_cuda_region<W>::bucket;
    int first = (int)bucket * N;
    for (int s = first; s < first + N; s += 2) {
        twin<W> keys = m.keys.load_two(s / 2, p);
        if (keys.a == key) return s;
        if (keys.b == key) return s + 1;
    }
    return -1;
}

/* Returns the slot of a key, which is present. */
template <class W>
__device__ __forceinline__ int find_slot(const shared_region<W> &m, const region_memory<W> &p,
                                         uint32_t home, W key) {
    for (uint32_t i = 0; i < (uint32_t)bf_cuda_region<W>::buckets; i++) {
        int slot = find_in_bucket(m, p, bf_cuda_bucket_at<W>(home, i), key);
        if (slot >= 0) return slot;
    }
    return 0;
}

/* --- values --- */

static __device__ __forceinline__ void add_value(uint32_t *at, uint32_t value) {
    atomicAdd(at, value);
}
static __device__ __forceinline__ void add_value(uint64_t *at, uint64_t value) {
    atomicAdd((unsigned long long *)at, value);
}
static __device__ __forceinline__ void add_value(bf_cuda_wide *at, bf_cuda_wide value) {
    add_value(&at->lo, value.lo);
}
static __device__ __forceinline__ void keep_least(uint32_t *at, uint32_t value) {
    atomicMin(at, value);
}
static __device__ __forceinline__ void keep_least(uint64_t *at, uint64_t value) {
    atomicMin((unsigned long long *)at, value);
}
static __device__ __forceinline__ void keep_least(bf_cuda_wide *at, bf_cuda_wide value) {
    keep_least(&at->lo, value.lo);
}

/* Returns a row's order: the value of the row with the least order stays. */
static __device__ __forceinline__ uint32_t order_of(bf_cuda_combine combine, uint32_t row) {
    return combine == BF_CUDA_FIRST ? row + 1 : ~(uint32_t)0 - 1 - row;
}

/* --- a region in shared memory, and back --- */

/* The order of the first two keys of a full bucket says whether an entry continued in the next. */
static __device__ __forceinline__ bool is_above(uint32_t a, uint32_t b) { return a > b; }
static __device__ __forceinline__ bool is_above(uint64_t a, uint64_t b) { return a > b; }
static __device__ __forceinline__ bool is_above(bf_cuda_wide a, bf_cuda_wide b) {
    return a.lo != b.lo ? a.lo > b.lo : a.hi > b.hi;
}

template <class W>
__device__ __forceinline__ void clear_region(shared_region<W> &m, const region_memory<W> &p) {
    for (int b = threadIdx.x; b < bf_cuda_region<W>::buckets / 32; b += THREADS) m.passed[b] = 0;
    if (threadIdx.x == 0) m.late_count = m.inserted = m.erased = m.full = 0;
    for (int s = threadIdx.x; s < bf_cuda_region<W>::slots; s += THREADS)
        m.keys.set_key(s, p, p.empty);
}

/* Loads the region's entries. The caller synchronizes. */
template <class W>
__device__ __forceinline__ void load_region(shared_region<W> &m, const region_memory<W> &p,
                                            bf_cuda_combine combine) {
    constexpr int N = bf_cuda_region<W>::bucket;
    clear_region(m, p);
    __syncthreads();
    for (int s = threadIdx.x; s < bf_cuda_region<W>::slots; s += THREADS) {
        bf_cuda_entry<W> e = p.slots[s];
        m.keys.set_key(s, p, e.key);
        m.values[s] = e.value;
        m.order[s] = combine == BF_CUDA_FIRST ? 0 : ~(uint32_t)0;
        if (s % N != 0 || !is_above(e.key, p.slots[s + 1].key)) continue;
        bool full = true;
        for (int k = 0; k < N; k++) full = full && !(p.slots[s + k].key == p.empty);
        if (full) atomicOr(&m.passed[s / N / 32], 1u << s / N % 32);
    }
}

/* Stores slots 2i and 2i + 1. keys: theirs; other: those of the other two slots of the bucket. Only
 * keys of a full bucket are swapped, so the search through a bucket with room stays the same. */
template <class W>
__device__ __forceinline__ void store_two(const shared_region<W> &m, const region_memory<W> &p,
                                          int i, twin<W> keys, twin<W> other) {
    constexpr int N = bf_cuda_region<W>::bucket;
    twin<W> values = ((const twin<W> *)m.values)[i];
    int b = 2 * i / N;
    bool passed = m.passed[b / 32] >> b % 32 & 1;
    bool full =
        !(keys.a == p.empty || keys.b == p.empty || other.a == p.empty || other.b == p.empty);
    bool swap = full && 2 * i % N == 0 && is_above(keys.a, keys.b) != passed;
    entries<W> e = {{keys.a, values.a}, {keys.b, values.b}};
    entries<W> swapped = {e.b, e.a};
    ((entries<W> *)p.slots)[i] = swap ? swapped : e;
}

/* Returns the pair of slots that completes the bucket of pair i. */
template <class W> __device__ __forceinline__ int other_two(int i) {
    return bf_cuda_region<W>::bucket == 4 ? i ^ 1 : i;
}

template <class W>
__device__ __forceinline__ void store_region(const shared_region<W> &m, const region_memory<W> &p) {
    for (int i = threadIdx.x; i < bf_cuda_region<W>::slots / 2; i += THREADS)
        store_two(m, p, i, m.keys.load_two(i, p), m.keys.load_two(other_two<W>(i), p));
}

} // namespace bf_cuda_regions

#endif
