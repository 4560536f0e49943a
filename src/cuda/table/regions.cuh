/* What blocks do with a region of a table each: they take its entries into shared memory, enter
 * rows or take keys out there, and write it back as a stream. */
#ifndef BF_CUDA_TABLE_REGIONS_CUH
#define BF_CUDA_TABLE_REGIONS_CUH

#include "cuda/runtime/partition.cuh"
#include "cuda/table/shared_region.cuh"

namespace bf_cuda_regions {

/* --- entering rows --- */

/* What a call does with rows. */
struct task {
    uint64_t buckets;
    bf_cuda_combine combine;
    bf_cuda_report *report;
    __device__ __forceinline__ bool by_order() const {
        return combine == BF_CUDA_FIRST || combine == BF_CUDA_LAST;
    }
    template <class W> __device__ __forceinline__ uint32_t home(W key) const {
        return bf_cuda_place(key, buckets) % bf_cuda_region<W>::buckets;
    }
};

/* A thread's rows are first, first + THREADS, ...; bits of those whose keys were there. */
struct share {
    uint32_t first, again;
};

template <class W>
__device__ __forceinline__ void set_entry(image<W> &m, const task &t, int slot,
                                          const bf_cuda_entry<W> &row, uint32_t i) {
    m.values[slot] = row.value;
    m.order[slot] = order_of(t.combine, i);
}

/* Enters row i, whose bucket is full, or puts it off until the other rows are done. */
template <class W>
__device__ __forceinline__ outcome put_off(image<W> &m, const place<W> &p, const task &t,
                                           const bf_cuda_entry<W> &row, uint32_t i, int *slot) {
    uint32_t at = atomicAdd(&m.lates, 1), home = t.home(row.key);
    atomicOr(&m.passed[home / 32], 1u << home % 32);
    if (at < LATE / sizeof(W)) {
        m.late[at] = i;
        m.late_rows[at] = row;
        return OTHERS;
    }
    return enter_key(m, p, home, 1, row.key, i, slot, t.report);
}

/* Loads the rows that a thread takes at once. */
template <class W>
__device__ __forceinline__ void load_rows(const place<W> &p, uint32_t count, uint64_t first,
                                          bf_cuda_entry<W> *row) {
#pragma unroll
    for (uint32_t k = 0; k < ROWS<W>; k++)
        if (first + k * THREADS < count) row[k] = p.rows[first + k * THREADS];
}

/* Enters a thread's rows, the first of which are loaded: how many keys are new. */
template <class W>
__device__ __forceinline__ uint32_t enter_rows(image<W> &m, const place<W> &p, const task &t,
                                               uint32_t count, share &mine,
                                               bf_cuda_entry<W> *next) {
    uint32_t entered = 0;
    bool look = mine.first >= THREADS * MOST_ROWS; /* so many rows have few keys, which are there */
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
            outcome how = look && slot_in(m, p, home, row[k].key) >= 0
                              ? THERE
                              : enter_bucket(m, p, home, row[k].key, i, &slot);
            if (how == OTHERS) how = put_off(m, p, t, row[k], i, &slot);
            if (how == THERE) mine.again |= 1u << (done + k);
            if (how != ENTERED) continue;
            set_entry(m, t, slot, row[k], i);
            entered++;
        }
    }
    return entered;
}

template <class W> __device__ __forceinline__ uint32_t lates_of(const image<W> &m) {
    return m.lates < LATE / sizeof(W) ? m.lates : LATE / sizeof(W);
}

/* Enters the rows that were put off; of those whose keys are new there is nothing left. */
template <class W>
__device__ __forceinline__ uint32_t enter_late(image<W> &m, const place<W> &p, const task &t,
                                               bool *left) {
    uint32_t entered = 0, lates = lates_of(m);
    for (uint32_t k = threadIdx.x; k < lates; k += THREADS) {
        bf_cuda_entry<W> row = m.late_rows[k];
        uint32_t i = m.late[k];
        int slot;
        outcome how = enter_key(m, p, t.home(row.key), 1, row.key, i, &slot, t.report);
        if (how != ENTERED) {
            *left = true;
            continue;
        }
        set_entry(m, t, slot, row, i);
        m.late[k] = ~(uint32_t)0;
        entered++;
    }
    return entered;
}

/* Lets a row whose key is there have its say about the value. */
template <class W>
__device__ __forceinline__ void combine_row(image<W> &m, const place<W> &p, const task &t,
                                            uint32_t i) {
    bf_cuda_entry<W> row = p.rows[i];
    int s = slot_of(m, p, t.home(row.key), row.key);
    if (t.by_order()) {
        uint32_t order = order_of(t.combine, i);
        if (((const volatile uint32_t *)m.order)[s] > order) atomicMin(&m.order[s], order);
    } else if (t.combine == BF_CUDA_ADD)
        add_to(&m.values[s], row.value);
    else
        least_of(&m.values[s], row.value);
}

/* Sets the value, if it is this row's that stays. */
template <class W>
__device__ __forceinline__ void assign_row(image<W> &m, const place<W> &p, const task &t,
                                           uint32_t i) {
    bf_cuda_entry<W> row = p.rows[i];
    int s = slot_of(m, p, t.home(row.key), row.key);
    if (m.order[s] == order_of(t.combine, i)) m.values[s] = row.value;
}

/* The same for all rows that are left. */
template <class W>
__device__ __forceinline__ void combine_rows(image<W> &m, const place<W> &p, const task &t,
                                             const share &mine) {
    uint32_t lates = lates_of(m);
    for (uint32_t k = threadIdx.x; k < lates; k += THREADS)
        if (m.late[k] != ~(uint32_t)0) combine_row(m, p, t, m.late[k]);
    for (uint32_t rest = mine.again; rest != 0; rest &= rest - 1)
        combine_row(m, p, t, mine.first + (__ffs((int)rest) - 1) * THREADS);
    if (!t.by_order()) return;
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < lates; k += THREADS)
        if (m.late[k] != ~(uint32_t)0) assign_row(m, p, t, m.late[k]);
    for (uint32_t rest = mine.again; rest != 0; rest &= rest - 1)
        assign_row(m, p, t, mine.first + (__ffs((int)rest) - 1) * THREADS);
}

/* The sum over the block's threads comes to m.entered; all threads call it. */
template <class W> __device__ __forceinline__ void add_entered(image<W> &m, uint32_t entered) {
    for (int by = 16; by > 0; by /= 2) entered += __shfl_xor_sync(~0u, entered, by);
    if (threadIdx.x % 32 == 0 && entered > 0) atomicAdd(&m.entered, entered);
}

/* Takes rows [first, count) in, or as many as threads have bits for; next: the first of a thread.
 */
template <class W>
__device__ __forceinline__ void take_rows(image<W> &m, const place<W> &p, const task &t,
                                          uint32_t first, uint32_t count, bf_cuda_entry<W> *next) {
    share mine = {first + threadIdx.x, 0};
    uint32_t entered = enter_rows(m, p, t, count, mine, next);
    bool left = mine.again != 0;
    __syncthreads();
    entered += enter_late(m, p, t, &left);
    add_entered(m, entered);
    if (__syncthreads_or(left) && !m.full) combine_rows(m, p, t, mine);
    __syncthreads();
    if (threadIdx.x == 0) m.lates = 0;
    __syncthreads();
}

template <class W>
__device__ __forceinline__ place<W> place_of(bf_cuda_entry<W> *slots, const bf_cuda_entry<W> *rows,
                                             const uint32_t *start) {
    place<W> p;
    p.old = slots + (size_t)blockIdx.x * bf_cuda_region<W>::slots;
    p.rows = rows + start[blockIdx.x];
    p.free = bf_cuda_free<W>(blockIdx.x);
    return p;
}

template <class W>
__global__ void __launch_bounds__(THREADS, sizeof(W) == 16 ? 2 : INSERTING)
    insert_kernel(bf_cuda_entry<W> *slots, uint32_t *used, uint64_t buckets,
                  const bf_cuda_entry<W> *rows, const uint32_t *start, const uint32_t *counts,
                  bf_cuda_combine combine, bool empty, bool count_only, bool sure,
                  bf_cuda_report *report) {
    extern __shared__ __align__(16) char shared[];
    image<W> &m = *(image<W> *)shared;
    if (!sure && report->tight != 0) return; /* there may be no lists */
    uint32_t count = counts[blockIdx.x], before = empty ? 0 : used[blockIdx.x];
    place<W> p = place_of(slots, rows, start);
    if (count == 0 && !(empty && !count_only)) return;
    uint32_t most = bf_cuda_region<W>::limit - before;
    task t = {buckets, combine, report};
    bf_cuda_entry<W> next[ROWS<W>];
    load_rows(p, count, threadIdx.x, next); /* on their way while memory is cleared */
    if (empty)
        clear_image(m, p);
    else
        load_image(m, p, combine);
    __syncthreads();
    for (uint64_t first = 0; first == 0 || first < count; first += THREADS * MOST_ROWS) {
        if (first > 0) load_rows(p, count, first + threadIdx.x, next);
        take_rows(m, p, t, (uint32_t)first, count, next);
        bool stop = threadIdx.x == 0 && (m.full != 0 || m.entered > most);
        if (__syncthreads_or(stop)) break;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (m.full || m.entered > most) report->full = 1;
        atomicAdd(&report->keys, (unsigned long long)m.entered);
        if (!count_only) used[blockIdx.x] = before + m.entered;
    }
    if (!count_only) store_image(m, p);
}

template <class W>
__global__ void check_kernel(const uint32_t *used, const uint32_t *counts, uint32_t regions,
                             bool empty, bf_cuda_report *report) {
    uint32_t r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= regions || report->hot) return;
    uint64_t all = (uint64_t)counts[r] + (empty ? 0 : used[r]);
    if (all > (uint64_t)bf_cuda_region<W>::limit) report->tight = 1;
}

/* --- taking keys out --- */

/* The slot of a key in the region's memory; -1: it is not there. */
template <class W> __device__ __forceinline__ int look_up(const place<W> &p, uint32_t home, W key) {
    constexpr int N = bf_cuda_region<W>::bucket;
    for (uint32_t i = 0; i < (uint32_t)bf_cuda_region<W>::buckets; i++) {
        int first = (int)bf_cuda_bucket_at<W>(home, i) * N;
        bool full = true;
        for (int k = 0; k < N; k++) {
            W there = p.old[first + k].key;
            if (there == key) return first + k;
            if (there == p.free) full = false;
        }
        if (!full) return -1;
    }
    return -1;
}

/* Where keys are that are moved: entered with the others or, of 16 bytes, noted in memory of their
 * own. */
template <class W> __device__ __forceinline__ W *moved_keys(image<W> &m, char *) {
    return m.keys.word;
}
template <> __device__ __forceinline__ bf_cuda_wide *moved_keys(image<bf_cuda_wide> &, char *more) {
    return (bf_cuda_wide *)more;
}
template <class W> __device__ __forceinline__ void note_moved(W *, int, W) {}
template <>
__device__ __forceinline__ void note_moved(bf_cuda_wide *moved, int s, bf_cuda_wide key) {
    moved[s] = key;
}
template <class W>
constexpr size_t moved_bytes = sizeof(W) == 16 ? sizeof(W) * bf_cuda_region<W>::slots : 0;

/* The entries that stay are entered anew, since places further on may now be wrong. */
template <class W>
__global__ void __launch_bounds__(THREADS, 2)
    erase_kernel(bf_cuda_entry<W> *slots, uint32_t *used, uint64_t buckets,
                 const bf_cuda_entry<W> *rows, const uint32_t *start, const uint32_t *counts,
                 bf_cuda_report *report) {
    constexpr int S = bf_cuda_region<W>::slots, N = (S + THREADS - 1) / THREADS;
    extern __shared__ __align__(16) char shared[];
    image<W> &m = *(image<W> *)shared;
    W *moved = moved_keys(m, shared + sizeof m);
    uint32_t count = counts[blockIdx.x];
    if (count == 0 || used[blockIdx.x] == 0) return;
    place<W> p = place_of(slots, rows, start);
    for (int s = threadIdx.x; s < S; s += THREADS) m.order[s] = 0;
    if (threadIdx.x == 0) m.gone = 0;
    __syncthreads();
    for (uint64_t i = threadIdx.x; i < count; i += THREADS) {
        W key = rows[start[blockIdx.x] + i].key;
        int s = look_up(p, bf_cuda_place(key, buckets) % bf_cuda_region<W>::buckets, key);
        if (s >= 0 && atomicExch(&m.order[s], 1) == 0) atomicAdd(&m.gone, 1);
    }
    __syncthreads();
    uint32_t gone = m.gone;
    if (gone == 0) return;
    bf_cuda_entry<W> e[N];
    bool stays[N];
#pragma unroll
    for (int k = 0; k < N; k++) {
        int s = k * THREADS + threadIdx.x;
        stays[k] = false;
        if (s >= S) continue;
        e[k] = p.old[s];
        stays[k] = !(e[k].key == p.free) && m.order[s] == 0;
        note_moved(moved, s, p.free);
        bf_cuda_narrow(0, &m.values[s]);
    }
    __syncthreads();
    clear_image(m, p);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; k++) {
        int s;
        if (!stays[k]) continue;
        uint32_t home = bf_cuda_place(e[k].key, buckets) % bf_cuda_region<W>::buckets;
        enter_key(m, p, home, 0, e[k].key, ~(uint32_t)(k * THREADS + threadIdx.x) - 1, &s, report);
        m.values[s] = e[k].value;
        note_moved(moved, s, e[k].key);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < S / 2; i += THREADS)
        store_two(m, p, i, ((const twin<W> *)moved)[i], ((const twin<W> *)moved)[other_two<W>(i)]);
    if (threadIdx.x != 0) return;
    used[blockIdx.x] -= gone;
    atomicAdd(&report->keys, (unsigned long long)gone);
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
    W free = bf_cuda_free<W>(blockIdx.x);
    for (int s = threadIdx.x; s < bf_cuda_region<W>::slots; s += THREADS) {
        bf_cuda_entry<W> e = from[s];
        if (e.key == free) continue;
        e.key = bf_cuda_unhash(seed, e.key);
        out[atomicAdd(&next, 1)] = e;
    }
}

/* --- launchers --- */

template <class W> static bf_cuda_entry<W> *entries_of(const bf_cuda_slots *slots) {
    return (bf_cuda_entry<W> *)slots->entries;
}

template <class W> static uint64_t buckets_of(const bf_cuda_slots *slots) {
    return (uint64_t)slots->regions * bf_cuda_region<W>::buckets;
}

template <class W>
static void check(const bf_cuda *cuda, const bf_cuda_slots *slots, const bf_cuda_lists *lists,
                  bool empty, bf_cuda_report *report) {
    check_kernel<W><<<(slots->regions - 1) / 256 + 1, 256, 0, cuda->stream>>>(
        slots->used, lists->count, slots->regions, empty, report);
}

template <class W>
static cudaError_t insert(const bf_cuda *cuda, const bf_cuda_slots *slots,
                          const bf_cuda_lists *lists, bf_cuda_combine combine, bool empty,
                          bool count, bool sure, bf_cuda_report *report) {
    bf_cuda_shape shape = {slots->regions, THREADS, sizeof(image<W>), false, true};
    return bf_cuda_launch(cuda, insert_kernel<W>, shape, entries_of<W>(slots), slots->used,
                          buckets_of<W>(slots), (const bf_cuda_entry<W> *)lists->entries,
                          lists->start, lists->count, combine, empty, count, sure, report);
}

template <class W>
static cudaError_t erase(const bf_cuda *cuda, const bf_cuda_slots *slots,
                         const bf_cuda_lists *lists, bf_cuda_report *report) {
    size_t bytes = sizeof(image<W>) + moved_bytes<W>;
    bf_cuda_shape shape = {slots->regions, THREADS, bytes, false, true};
    return bf_cuda_launch(cuda, erase_kernel<W>, shape, entries_of<W>(slots), slots->used,
                          buckets_of<W>(slots), (const bf_cuda_entry<W> *)lists->entries,
                          lists->start, lists->count, report);
}

template <class W>
static cudaError_t collect(const bf_cuda *cuda, const bf_cuda_slots *slots, uint32_t *offsets,
                           void *entries) {
    cudaStream_t stream = cuda->stream;
    cudaError_t error = cudaMemcpyAsync(offsets, slots->used, (size_t)slots->regions * 4,
                                        cudaMemcpyDeviceToDevice, stream);
    if (error != cudaSuccess) return error;
    bf_cuda_partition::sum_kernel<<<1, bf_cuda_partition::SUM_THREADS, 0, stream>>>(offsets,
                                                                                    slots->regions);
    collect_kernel<W><<<slots->regions, THREADS, 0, stream>>>(
        entries_of<W>(slots), offsets, slots->seed, (bf_cuda_entry<W> *)entries);
    return cudaGetLastError();
}

} // namespace bf_cuda_regions

#endif
