/* A region of a table in a block's shared memory: how keys find their slots, and the way there and
 * back. */
#ifndef BF_CUDA_TABLE_SHARED_REGION_CUH
#define BF_CUDA_TABLE_SHARED_REGION_CUH

#include "cuda/table/table.cuh"

namespace bf_cuda_regions {

enum {
    THREADS = 384,
    MOST_ROWS = 32, /* of a thread that it keeps account of */
    LATE = 2048,    /* bytes of the keys of late rows */
    FAR_STEPS = 256 /* from its bucket: no key is where hashes spread */
};

/* Blocks that enter rows and share a multiprocessor: of GPUs with shared memory for so many. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
enum { INSERTING = 2 };
#else
enum { INSERTING = 4 };
#endif

/* Rows that a thread takes at a time. */
template <class W> constexpr uint32_t ROWS = 16 / sizeof(W);

enum outcome { ENTERED, THERE, OTHERS };

/* A region's memory and the rows that come to it. */
template <class W> struct place {
    bf_cuda_entry<W> *old;
    const bf_cuda_entry<W> *rows;
    W free;
};

/* --- keys in shared memory --- */

/* Two words side by side. */
template <class W> struct alignas(sizeof(W) == 4 ? 8 : 16) twin { W a, b; };
template <class W> struct alignas(16) entries { bf_cuda_entry<W> a, b; };

template <class W> struct keys {
    W word[bf_cuda_region<W>::slots];

    __device__ __forceinline__ void set(int s, const place<W> &p, W key) { word[s] = key; }
    /* The keys of slots 2i and 2i + 1. */
    __device__ __forceinline__ twin<W> two(int i, const place<W> &p) const {
        return ((const twin<W> *)word)[i];
    }
    /* Is a bucket full of other keys? Where one changes meanwhile it may say no. */
    __device__ __forceinline__ bool others_only(int bucket, const place<W> &p, W key) const {
        constexpr int N = bf_cuda_region<W>::bucket;
        uint4 v = ((const uint4 *)word)[bucket];
        W w[N];
        bool all = true;
        memcpy(w, &v, sizeof v);
#pragma unroll
        for (int k = 0; k < N; k++) all = all && w[k] != p.free && w[k] != key;
        return all;
    }
    /* Enters a row's key in slot s, if that is free. */
    __device__ __forceinline__ outcome enter(int s, const place<W> &p, W key, uint32_t row) {
        W before = swap(&word[s], p.free, key);
        return before == p.free ? ENTERED : before == key ? THERE : OTHERS;
    }

  private:
    static __device__ __forceinline__ uint32_t swap(uint32_t *at, uint32_t old, uint32_t now) {
        return atomicCAS(at, old, now);
    }
    static __device__ __forceinline__ uint64_t swap(uint64_t *at, uint64_t old, uint64_t now) {
        return atomicCAS((unsigned long long *)at, old, now);
    }
};

/* Those of 16 bytes stay where they are: slots hold the number of a row, plus 1, or of a slot. */
template <> struct keys<bf_cuda_wide> {
    uint32_t who[bf_cuda_region<bf_cuda_wide>::slots];

    __device__ __forceinline__ void set(int s, const place<bf_cuda_wide> &p, bf_cuda_wide key) {
        who[s] = key == p.free ? 0 : ~(uint32_t)s;
    }
    __device__ __forceinline__ twin<bf_cuda_wide> two(int i, const place<bf_cuda_wide> &p) const {
        twin<bf_cuda_wide> keys = {p.free, p.free};
        if (who[2 * i] != 0) keys.a = key_of(who[2 * i], p);
        if (who[2 * i + 1] != 0) keys.b = key_of(who[2 * i + 1], p);
        return keys;
    }
    __device__ __forceinline__ bool others_only(int, const place<bf_cuda_wide> &,
                                                bf_cuda_wide) const {
        return false;
    }
    __device__ __forceinline__ outcome enter(int s, const place<bf_cuda_wide> &p, bf_cuda_wide key,
                                             uint32_t row) {
        uint32_t before = atomicCAS(&who[s], 0, row + 1);
        if (before == 0) return ENTERED;
        return key_of(before, p) == key ? THERE : OTHERS;
    }

  private:
    static __device__ __forceinline__ bf_cuda_wide key_of(uint32_t number,
                                                          const place<bf_cuda_wide> &p) {
        return number > BF_CUDA_ROWS_MOST ? p.old[~number].key : p.rows[number - 1].key;
    }
};

template <class W> struct image {
    W values[bf_cuda_region<W>::slots];
    bf_cuda_regions::keys<W> keys;
    uint32_t order[bf_cuda_region<W>::slots];         /* the least number among a key's rows */
    uint32_t passed[bf_cuda_region<W>::buckets / 32]; /* bits of buckets: an entry went on */
    uint32_t late[LATE / sizeof(W)];                  /* rows whose buckets are full, */
    bf_cuda_entry<W> late_rows[LATE / sizeof(W)];     /* and their entries */
    uint32_t lates, entered, gone, full;
};

/* Enters a row's key in a bucket, or finds it there; OTHERS: the bucket is full. */
template <class W>
__device__ __forceinline__ outcome enter_bucket(image<W> &m, const place<W> &p, uint32_t bucket,
                                                W key, uint32_t row, int *slot) {
    constexpr int N = bf_cuda_region<W>::bucket;
    int turn = (int)bf_cuda_bits(key);
    outcome how = OTHERS;
    for (int k = 0; k < N && how == OTHERS; k++) {
        *slot = (int)bucket * N + (k + turn & (N - 1));
        how = m.keys.enter(*slot, p, key, row);
    }
    return how;
}

/* Enters a row's key, if need be, in its first bucket that has room, from its number `step` on.
 * OTHERS: all are full. */
template <class W>
__device__ __forceinline__ outcome enter_key(image<W> &m, const place<W> &p, uint32_t home,
                                             uint32_t step, W key, uint32_t row, int *slot,
                                             bf_cuda_report *report) {
    for (uint32_t i = step; i < (uint32_t)bf_cuda_region<W>::buckets; i++) {
        uint32_t bucket = bf_cuda_bucket_at<W>(home, i);
        outcome how = m.keys.others_only((int)bucket, p, key)
                          ? OTHERS
                          : enter_bucket(m, p, bucket, key, row, slot);
        if (how != OTHERS) return how;
        atomicOr(&m.passed[bucket / 32], 1u << bucket % 32);
        if (i == FAR_STEPS) report->far = 1;
        if (i >= FAR_STEPS && atomicOr(&m.full, 0) != 0) break;
    }
    atomicOr(&m.full, 1);
    return OTHERS;
}

/* The slot of a key that is in this bucket; -1: it is not, or was not a moment ago. */
template <class W>
__device__ __forceinline__ int slot_in(const image<W> &m, const place<W> &p, uint32_t bucket,
                                       W key) {
    constexpr int N = bf_cuda_region<W>::bucket;
    int first = (int)bucket * N;
    for (int s = first; s < first + N; s += 2) {
        twin<W> keys = m.keys.two(s / 2, p);
        if (keys.a == key) return s;
        if (keys.b == key) return s + 1;
    }
    return -1;
}

/* The slot of a key that has one. */
template <class W>
__device__ __forceinline__ int slot_of(const image<W> &m, const place<W> &p, uint32_t home, W key) {
    for (uint32_t i = 0; i < (uint32_t)bf_cuda_region<W>::buckets; i++) {
        int slot = slot_in(m, p, bf_cuda_bucket_at<W>(home, i), key);
        if (slot >= 0) return slot;
    }
    return 0;
}

/* --- values --- */

static __device__ __forceinline__ void add_to(uint32_t *at, uint32_t value) {
    atomicAdd(at, value);
}
static __device__ __forceinline__ void add_to(uint64_t *at, uint64_t value) {
    atomicAdd((unsigned long long *)at, value);
}
static __device__ __forceinline__ void add_to(bf_cuda_wide *at, bf_cuda_wide value) {
    add_to(&at->lo, value.lo);
}
static __device__ __forceinline__ void least_of(uint32_t *at, uint32_t value) {
    atomicMin(at, value);
}
static __device__ __forceinline__ void least_of(uint64_t *at, uint64_t value) {
    atomicMin((unsigned long long *)at, value);
}
static __device__ __forceinline__ void least_of(bf_cuda_wide *at, bf_cuda_wide value) {
    least_of(&at->lo, value.lo);
}

/* A row's number in the order in which the least one's value stays. */
static __device__ __forceinline__ uint32_t order_of(bf_cuda_combine combine, uint32_t row) {
    return combine == BF_CUDA_FIRST ? row + 1 : ~(uint32_t)0 - 1 - row;
}

/* --- a region in shared memory, and back --- */

/* In a full bucket the order of its first two keys says whether an entry went on from it. */
static __device__ __forceinline__ bool above(uint32_t a, uint32_t b) { return a > b; }
static __device__ __forceinline__ bool above(uint64_t a, uint64_t b) { return a > b; }
static __device__ __forceinline__ bool above(bf_cuda_wide a, bf_cuda_wide b) {
    return a.lo != b.lo ? a.lo > b.lo : a.hi > b.hi;
}

template <class W> __device__ __forceinline__ void clear_image(image<W> &m, const place<W> &p) {
    for (int b = threadIdx.x; b < bf_cuda_region<W>::buckets / 32; b += THREADS) m.passed[b] = 0;
    if (threadIdx.x == 0) m.lates = m.entered = m.gone = m.full = 0;
    for (int s = threadIdx.x; s < bf_cuda_region<W>::slots; s += THREADS) m.keys.set(s, p, p.free);
}

/* The region's entries; the caller synchronizes. */
template <class W>
__device__ __forceinline__ void load_image(image<W> &m, const place<W> &p,
                                           bf_cuda_combine combine) {
    constexpr int N = bf_cuda_region<W>::bucket;
    clear_image(m, p);
    __syncthreads();
    for (int s = threadIdx.x; s < bf_cuda_region<W>::slots; s += THREADS) {
        bf_cuda_entry<W> e = p.old[s];
        m.keys.set(s, p, e.key);
        m.values[s] = e.value;
        m.order[s] = combine == BF_CUDA_FIRST ? 0 : ~(uint32_t)0;
        if (s % N != 0 || !above(e.key, p.old[s + 1].key)) continue;
        bool full = true;
        for (int k = 0; k < N; k++) full = full && !(p.old[s + k].key == p.free);
        if (full) atomicOr(&m.passed[s / N / 32], 1u << s / N % 32);
    }
}

/* Writes slots 2i and 2i + 1, whose keys are given; other: those of the bucket's other two slots.
 * Only in a full bucket do keys change places, so that a row's way through one stays what it was.
 */
template <class W>
__device__ __forceinline__ void store_two(const image<W> &m, const place<W> &p, int i, twin<W> keys,
                                          twin<W> other) {
    constexpr int N = bf_cuda_region<W>::bucket;
    twin<W> values = ((const twin<W> *)m.values)[i];
    int b = 2 * i / N;
    bool passed = m.passed[b / 32] >> b % 32 & 1;
    bool full = !(keys.a == p.free || keys.b == p.free || other.a == p.free || other.b == p.free);
    bool swap = full && 2 * i % N == 0 && above(keys.a, keys.b) != passed;
    entries<W> e = {{keys.a, values.a}, {keys.b, values.b}};
    entries<W> swapped = {e.b, e.a};
    ((entries<W> *)p.old)[i] = swap ? swapped : e;
}

/* The number of the two slots that make up a bucket with slots 2i and 2i + 1. */
template <class W> __device__ __forceinline__ int other_two(int i) {
    return bf_cuda_region<W>::bucket == 4 ? i ^ 1 : i;
}

template <class W>
__device__ __forceinline__ void store_image(const image<W> &m, const place<W> &p) {
    for (int i = threadIdx.x; i < bf_cuda_region<W>::slots / 2; i += THREADS)
        store_two(m, p, i, m.keys.two(i, p), m.keys.two(other_two<W>(i), p));
}

} // namespace bf_cuda_regions

#endif
