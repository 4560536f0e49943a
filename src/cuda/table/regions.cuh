/* Kernels with a block for each region: it loads the region into shared memory, inserts rows or
 * erases keys there, and stores it. */
#ifndef BF_CUDA_TABLE_REGIONS_CUH
#define BF_CUDA_TABLE_REGIONS_CUH

#include "cuda/runtime/sort/partition.cuh"
#include "cuda/table/shared_region.cuh"

namespace bf_cuda_regions {

/* --- inserting rows --- */

/* The parameters of an insertion. */
struct insertion {
    uint64_t buckets;
    bf_cuda_combine combine;
    bf_cuda_table_notes *notes;
    __device__ __forceinline__ bool by_order() const {
        return combine == BF_CUDA_FIRST || combine == BF_CUDA_LAST;
    }
    template <class W> __device__ __forceinline__ uint32_t home(W key) const {
        return bf_cuda_scale_hash(key, buckets) % bf_cuda_region<W>::buckets;
    }
};

/* The rows of a thread: first, first + THREADS, and so on; and bits of those whose keys were found.
 */
struct thread_rows {
    uint32_t first, again;
};

template <class W>
__device__ __forceinline__ void set_entry(shared_region<W> &m, const insertion &t, int slot,
                                          const bf_cuda_entry<W> &row, uint32_t i) {
    m.values[slot] = row.value;
    m.order[slot] = order_of(t.combine, i);
}

/* Makes row i late, because its home is full: it is inserted after the other rows. If there is no
 * room for late rows, inserts it now. */
template <class W>
__device__ __forceinline__ outcome put_off_row(shared_region<W> &m, const region_memory<W> &p,
                                               const insertion &t, const bf_cuda_entry<W> &row,
                                               uint32_t i, int *slot) {
    uint32_t at = atomicAdd(&m.late_count, 1), home = t.home(row.key);
    atomicOr(&m.passed[home / 32], 1u << home % 32);
    if (at < LATE / sizeof(W)) {
        m.late[at] = i;
        m.late_rows[at] = row;
        return FULL;
    }
    return insert_key(m, p, home, 1, row.key, i, slot, t.notes);
}

/* Loads the next rows of a thread. */
template <class W>
__device__ __forceinline__ void load_rows(const region_memory<W> &p, uint32_t count, uint64_t first,
                                          bf_cuda_entry<W> *row) {
#pragma unroll
    for (uint32_t k = 0; k < ROWS<W>; k++)
        if (first + k * THREADS < count) row[k] = p.rows[first + k * THREADS];
}

/* Inserts a thread's rows; `next` has the first of them. Returns how many keys are new. */
template <class W>
__device__ __forceinline__ uint32_t insert_rows(shared_region<W> &m, const region_memory<W> &p,
                                                const insertion &t, uint32_t count,
                                                thread_rows &mine, bf_cuda_entry<W> *next) {
    uint32_t inserted = 0;
    bool look = mine.first >= THREADS * MOST_ROWS; /* so many rows have few different keys */
    for (uint32_t done = 0; done < MOST_ROWS; done += ROWS<W>) {
        bf_cuda_entry<W> row[ROWS<W>];
        if ((uint64_t)mine.first + done * THREADS >= count) break;
#pragma unroll
        for (uint32_t k = 0; k < ROWS<W>; k++) row[k] = next[k];
        load_rows(p, count, (uint64_t)mine.first + (done + ROWS<W>)*THREADS, next);
#pragma unroll
        for (uint32_t k = 0; k < ROWS<W>; k++) {
            uint32_t i = mine.first + (done + k) * THREADS;
            int slot;
            if (i >= count) continue;
            uint32_t home = t.home(row[k].key);
            outcome how = look && find_in_bucket(m, p, home, row[k].key) >= 0
                              ? FOUND
                              : insert_in_bucket(m, p, home, row[k].key, i, &slot);
            if (how == FULL) how = put_off_row(m, p, t, row[k], i, &slot);
            if (how == FOUND) mine.again |= 1u << (done + k);
            if (how != INSERTED) continue;
            set_entry(m, t, slot, row[k], i);
            inserted++;
        }
    }
    return inserted;
}

template <class W> __device__ __forceinline__ uint32_t count_late(const shared_region<W> &m) {
    return m.late_count < LATE / sizeof(W) ? m.late_count : LATE / sizeof(W);
}

/* Inserts the late rows, and forgets those whose keys are new. Returns how many these are. *left:
 * set if other keys were found. */
template <class W>
__device__ __forceinline__ uint32_t insert_late_rows(shared_region<W> &m, const region_memory<W> &p,
                                                     const insertion &t, bool *left) {
    uint32_t inserted = 0, late_count = count_late(m);
    for (uint32_t k = threadIdx.x; k < late_count; k += THREADS) {
        bf_cuda_entry<W> row = m.late_rows[k];
        uint32_t i = m.late[k];
        int slot;
        outcome how = insert_key(m, p, t.home(row.key), 1, row.key, i, &slot, t.notes);
        if (how != INSERTED) {
            *left = true;
            continue;
        }
        set_entry(m, t, slot, row, i);
        m.late[k] = ~(uint32_t)0;
        inserted++;
    }
    return inserted;
}

/* Combines the value of a row whose key was found. */
template <class W>
__device__ __forceinline__ void combine_row(shared_region<W> &m, const region_memory<W> &p,
                                            const insertion &t, uint32_t i) {
    bf_cuda_entry<W> row = p.rows[i];
    int s = find_slot(m, p, t.home(row.key), row.key);
    if (t.by_order()) {
        uint32_t order = order_of(t.combine, i);
        if (((const volatile uint32_t *)m.order)[s] > order) atomicMin(&m.order[s], order);
    } else if (t.combine == BF_CUDA_ADD)
        add_value(&m.values[s], row.value);
    else
        keep_least(&m.values[s], row.value);
}

/* Sets the value of a key if this row has the least order. */
template <class W>
__device__ __forceinline__ void assign_row(shared_region<W> &m, const region_memory<W> &p,
                                           const insertion &t, uint32_t i) {
    bf_cuda_entry<W> row = p.rows[i];
    int s = find_slot(m, p, t.home(row.key), row.key);
    if (m.order[s] == order_of(t.combine, i)) m.values[s] = row.value;
}

/* Combines all rows of the round whose keys were found. */
template <class W>
__device__ __forceinline__ void combine_rows(shared_region<W> &m, const region_memory<W> &p,
                                             const insertion &t, const thread_rows &mine) {
    uint32_t late_count = count_late(m);
    for (uint32_t k = threadIdx.x; k < late_count; k += THREADS)
        if (m.late[k] != ~(uint32_t)0) combine_row(m, p, t, m.late[k]);
    for (uint32_t rest = mine.again; rest != 0; rest &= rest - 1)
        combine_row(m, p, t, mine.first + (__ffs((int)rest) - 1) * THREADS);
    if (!t.by_order()) return;
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < late_count; k += THREADS)
        if (m.late[k] != ~(uint32_t)0) assign_row(m, p, t, m.late[k]);
    for (uint32_t rest = mine.again; rest != 0; rest &= rest - 1)
        assign_row(m, p, t, mine.first + (__ffs((int)rest) - 1) * THREADS);
}

/* Inserts rows [first, count), or as many as threads have bits for. next: the first rows of each
 * thread. */
template <class W>
__device__ __forceinline__ void insert_round(shared_region<W> &m, const region_memory<W> &p,
                                             const insertion &t, uint32_t first, uint32_t count,
                                             bf_cuda_entry<W> *next) {
    thread_rows mine = {first + threadIdx.x, 0};
    uint32_t inserted = insert_rows(m, p, t, count, mine, next);
    bool left = mine.again != 0;
    __syncthreads();
    inserted += insert_late_rows(m, p, t, &left);
    bf_cuda_warp_add(inserted, &m.inserted);
    if (__syncthreads_or(left) && !m.full) combine_rows(m, p, t, mine);
    __syncthreads();
    if (threadIdx.x == 0) m.late_count = 0;
    __syncthreads();
}

template <class W>
__device__ __forceinline__ region_memory<W>
region_memory_of(bf_cuda_entry<W> *slots, const bf_cuda_entry<W> *rows, const uint32_t *start) {
    region_memory<W> p;
    p.slots = slots + (size_t)blockIdx.x * bf_cuda_region<W>::slots;
    p.rows = rows + start[blockIdx.x];
    p.empty = bf_cuda_empty_key<W>(blockIdx.x);
    return p;
}

template <class W>
__global__ void __launch_bounds__(THREADS, sizeof(W) == 16 ? 2 : INSERT_BLOCKS)
    insert_kernel(bf_cuda_entry<W> *slots, uint32_t *used, uint64_t buckets,
                  const bf_cuda_entry<W> *rows, const uint32_t *start, const uint32_t *counts,
                  bf_cuda_combine combine, bool empty, bool count_only, bool sure,
                  bf_cuda_table_notes *notes) {
    extern __shared__ __align__(16) char shared[];
    shared_region<W> &m = *(shared_region<W> *)shared;
    if (!sure && notes->tight != 0) return; /* there may be no partitions */
    uint32_t count = counts[blockIdx.x], before = empty ? 0 : used[blockIdx.x];
    region_memory<W> p = region_memory_of(slots, rows, start);
    if (count == 0 && !(empty && !count_only)) return;
    uint32_t most = bf_cuda_region<W>::limit - before;
    insertion t = {buckets, combine, notes};
    bf_cuda_entry<W> next[ROWS<W>];
    load_rows(p, count, threadIdx.x, next); /* under way while memory is cleared */
    if (empty)
        clear_region(m, p);
    else
        load_region(m, p, combine);
    __syncthreads();
    for (uint64_t first = 0; first == 0 || first < count; first += THREADS * MOST_ROWS) {
        if (first > 0) load_rows(p, count, first + threadIdx.x, next);
        insert_round(m, p, t, (uint32_t)first, count, next);
        bool stop = threadIdx.x == 0 && (m.full != 0 || m.inserted > most);
        if (__syncthreads_or(stop)) break;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (m.full || m.inserted > most) notes->full = 1;
        atomicAdd(&notes->keys, (unsigned long long)m.inserted);
        if (!count_only) used[blockIdx.x] = before + m.inserted;
    }
    if (!count_only) store_region(m, p);
}

template <class W>
__global__ void check_kernel(const uint32_t *used, const uint32_t *counts, uint32_t regions,
                             bool empty, bf_cuda_table_notes *notes) {
    uint32_t r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= regions || notes->hot) return;
    uint64_t all = (uint64_t)counts[r] + (empty ? 0 : used[r]);
    if (all > (uint64_t)bf_cuda_region<W>::limit) notes->tight = 1;
}

/* --- erasing keys --- */

/* Returns the slot of a key in the region's global memory; -1: it is absent. */
template <class W>
__device__ __forceinline__ int find_stored(const region_memory<W> &p, uint32_t home, W key) {
    constexpr int N = bf_cuda_region<W>::bucket;
    for (uint32_t i = 0; i < (uint32_t)bf_cuda_region<W>::buckets; i++) {
        int first = (int)bf_cuda_bucket_at<W>(home, i) * N;
        bool full = true;
        for (int k = 0; k < N; k++) {
            W there = p.slots[first + k].key;
            if (there == key) return first + k;
            if (there == p.empty) full = false;
        }
        if (!full) return -1;
    }
    return -1;
}

/* Returns where the keys of moved entries are: among the keys, or, of 16 bytes, in memory of their
 * own. */
template <class W> __device__ __forceinline__ W *moved_keys(shared_region<W> &m, char *) {
    return m.keys.word;
}
template <>
__device__ __forceinline__ bf_cuda_wide *moved_keys(shared_region<bf_cuda_wide> &, char *more) {
    return (bf_cuda_wide *)more;
}
template <class W> __device__ __forceinline__ void note_moved(W *, int, W) {}
template <>
__device__ __forceinline__ void note_moved(bf_cuda_wide *moved, int s, bf_cuda_wide key) {
    moved[s] = key;
}
template <class W>
constexpr size_t moved_bytes = sizeof(W) == 16 ? sizeof(W) * bf_cuda_region<W>::slots : 0;

/* Erases keys, and inserts the remaining entries anew: they may belong in earlier buckets now. */
template <class W>
__global__ void __launch_bounds__(THREADS, 2)
    erase_kernel(bf_cuda_entry<W> *slots, uint32_t *used, uint64_t buckets,
                 const bf_cuda_entry<W> *rows, const uint32_t *start, const uint32_t *counts,
                 bf_cuda_table_notes *notes) {
    constexpr int S = bf_cuda_region<W>::slots, N = (S + THREADS - 1) / THREADS;
    extern __shared__ __align__(16) char shared[];
    shared_region<W> &m = *(shared_region<W> *)shared;
    W *moved = moved_keys(m, shared + sizeof m);
    uint32_t count = counts[blockIdx.x];
    if (count == 0 || used[blockIdx.x] == 0) return;
    region_memory<W> p = region_memory_of(slots, rows, start);
    for (int s = threadIdx.x; s < S; s += THREADS) m.order[s] = 0;
    if (threadIdx.x == 0) m.erased = 0;
    __syncthreads();
    for (uint64_t i = threadIdx.x; i < count; i += THREADS) {
        W key = rows[start[blockIdx.x] + i].key;
        int s = find_stored(p, bf_cuda_scale_hash(key, buckets) % bf_cuda_region<W>::buckets, key);
        if (s >= 0 && atomicExch(&m.order[s], 1) == 0) atomicAdd(&m.erased, 1);
    }
    __syncthreads();
    uint32_t erased = m.erased;
    if (erased == 0) return;
    bf_cuda_entry<W> e[N];
    bool stays[N];
#pragma unroll
    for (int k = 0; k < N; k++) {
        int s = k * THREADS + threadIdx.x;
        stays[k] = false;
        if (s >= S) continue;
        e[k] = p.slots[s];
        stays[k] = !(e[k].key == p.empty) && m.order[s] == 0;
        note_moved(moved, s, p.empty);
        bf_cuda_narrow(0, &m.values[s]);
    }
    __syncthreads();
    clear_region(m, p);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; k++) {
        int s;
        if (!stays[k]) continue;
        uint32_t home = bf_cuda_scale_hash(e[k].key, buckets) % bf_cuda_region<W>::buckets;
        insert_key(m, p, home, 0, e[k].key, ~(uint32_t)(k * THREADS + threadIdx.x) - 1, &s, notes);
        m.values[s] = e[k].value;
        note_moved(moved, s, e[k].key);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < S / 2; i += THREADS)
        store_two(m, p, i, ((const twin<W> *)moved)[i], ((const twin<W> *)moved)[other_two<W>(i)]);
    if (threadIdx.x != 0) return;
    used[blockIdx.x] -= erased;
    atomicAdd(&notes->keys, (unsigned long long)erased);
}

/* --- copying all entries --- */

template <class W>
__global__ void __launch_bounds__(THREADS)
    collect_kernel(const bf_cuda_entry<W> *slots, const uint32_t *offsets, bf_hash_seed seed,
                   bf_cuda_entry<W> *out) {
    __shared__ uint32_t next;
    if (threadIdx.x == 0) next = offsets[blockIdx.x];
    __syncthreads();
    const bf_cuda_entry<W> *from = slots + (size_t)blockIdx.x * bf_cuda_region<W>::slots;
    W empty = bf_cuda_empty_key<W>(blockIdx.x);
    for (int s = threadIdx.x; s < bf_cuda_region<W>::slots; s += THREADS) {
        bf_cuda_entry<W> e = from[s];
        if (e.key == empty) continue;
        e.key = bf_cuda_unhash(seed, e.key);
        out[atomicAdd(&next, 1)] = e;
    }
}

/* --- launchers --- */

template <class W> static bf_cuda_entry<W> *entries_of(const bf_cuda_buckets *buckets) {
    return (bf_cuda_entry<W> *)buckets->entries;
}

template <class W> static uint64_t count_buckets(const bf_cuda_buckets *buckets) {
    return (uint64_t)buckets->regions * bf_cuda_region<W>::buckets;
}

template <class W>
static void launch_check(const bf_cuda *cuda, const bf_cuda_buckets *buckets,
                         const bf_cuda_partitions *partitions, bool empty,
                         bf_cuda_table_notes *notes) {
    check_kernel<W><<<(buckets->regions - 1) / 256 + 1, 256, 0, cuda->stream>>>(
        buckets->used, partitions->count, buckets->regions, empty, notes);
}

template <class W>
static cudaError_t launch_insert(const bf_cuda *cuda, const bf_cuda_buckets *buckets,
                                 const bf_cuda_partitions *partitions, bf_cuda_combine combine,
                                 bool empty, bool count, bool sure, bf_cuda_table_notes *notes) {
    bf_cuda_shape shape = {buckets->regions, THREADS, sizeof(shared_region<W>), false, true};
    return bf_cuda_launch(cuda, insert_kernel<W>, shape, entries_of<W>(buckets), buckets->used,
                          count_buckets<W>(buckets), (const bf_cuda_entry<W> *)partitions->entries,
                          partitions->start, partitions->count, combine, empty, count, sure, notes);
}

template <class W>
static cudaError_t launch_erase(const bf_cuda *cuda, const bf_cuda_buckets *buckets,
                                const bf_cuda_partitions *partitions, bf_cuda_table_notes *notes) {
    size_t bytes = sizeof(shared_region<W>) + moved_bytes<W>;
    bf_cuda_shape shape = {buckets->regions, THREADS, bytes, false, true};
    return bf_cuda_launch(cuda, erase_kernel<W>, shape, entries_of<W>(buckets), buckets->used,
                          count_buckets<W>(buckets), (const bf_cuda_entry<W> *)partitions->entries,
                          partitions->start, partitions->count, notes);
}

template <class W>
static cudaError_t launch_collect(const bf_cuda *cuda, const bf_cuda_buckets *buckets,
                                  uint32_t *offsets, void *entries) {
    cudaStream_t stream = cuda->stream;
    cudaError_t error = cudaMemcpyAsync(offsets, buckets->used, (size_t)buckets->regions * 4,
                                        cudaMemcpyDeviceToDevice, stream);
    if (error != cudaSuccess) return error;
    bf_cuda_partition::sum_kernel<<<1, bf_cuda_partition::SUM_THREADS, 0, stream>>>(
        offsets, buckets->regions);
    collect_kernel<W><<<buckets->regions, THREADS, 0, stream>>>(
        entries_of<W>(buckets), offsets, buckets->seed, (bf_cuda_entry<W> *)entries);
    return cudaGetLastError();
}

} // namespace bf_cuda_regions

#endif
