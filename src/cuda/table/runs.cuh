/* Runs of a multimap: entries are sorted by rank, and those of one key are a run. */
#ifndef BF_CUDA_TABLE_RUNS_CUH
#define BF_CUDA_TABLE_RUNS_CUH

#include "cuda/table/table.cuh"

namespace bf_cuda_runs {

enum { THREADS = 256 };

static __device__ __forceinline__ int64_t thread_number() {
    return (int64_t)blockIdx.x * THREADS + threadIdx.x;
}

static unsigned blocks_of(int64_t n) { return (unsigned)((n - 1) / THREADS + 1); }

/* Returns the index of the last of n ascending numbers that is not above x; numbers[0] is not. */
static __device__ __forceinline__ int64_t find_last_within(const uint64_t *numbers, int64_t n,
                                                           uint64_t x) {
    return bf_cuda_count_first(n - 1, [&](int64_t i) { return numbers[i + 1] <= x; });
}

template <class W>
__global__ void mark_heads_kernel(const bf_cuda_entry<W> *entries, uint32_t n, uint64_t *heads) {
    int64_t i = thread_number();
    if (i < n) heads[i] = i == 0 || !(entries[i].key == entries[i - 1].key);
}

template <class W>
static cudaError_t launch_mark_heads(const bf_cuda *cuda, const void *entries, uint32_t n,
                                     uint64_t *heads) {
    mark_heads_kernel<W>
        <<<blocks_of(n), THREADS, 0, cuda->stream>>>((const bf_cuda_entry<W> *)entries, n, heads);
    return cudaGetLastError();
}

template <class W>
__global__ void list_runs_kernel(const bf_cuda_entry<W> *entries, uint32_t n,
                                 const uint64_t *before, uint64_t *starts, bf_cuda_entry<W> *keys) {
    int64_t i = thread_number();
    if (i == 0) starts[before[n]] = n;
    if (i >= n || before[i] == before[i + 1]) return;
    uint64_t run = before[i];
    starts[run] = (uint64_t)i;
    bf_cuda_entry<W> e = {entries[i].key};
    bf_cuda_narrow(run, &e.value);
    keys[run] = e;
}

template <class W>
static cudaError_t launch_list_runs(const bf_cuda *cuda, const void *entries, uint32_t n,
                                    const uint64_t *before, uint64_t *starts, void *keys) {
    list_runs_kernel<W><<<blocks_of(n), THREADS, 0, cuda->stream>>>(
        (const bf_cuda_entry<W> *)entries, n, before, starts, (bf_cuda_entry<W> *)keys);
    return cudaGetLastError();
}

template <class W>
__global__ void copy_first_kernel(bf_cuda_format format, const bf_cuda_entry<W> *entries,
                                  const uint64_t *starts, const uint32_t *numbers, int64_t n,
                                  void *values) {
    int64_t i = thread_number();
    if (i < n && numbers[i] != ~(uint32_t)0)
        bf_cuda_store_value(format, values, i, entries[starts[numbers[i]]].value);
}

template <class W>
static cudaError_t launch_copy_first(const bf_cuda *cuda, const bf_cuda_format *format,
                                     const void *entries, const uint64_t *starts,
                                     const uint32_t *numbers, int64_t n, void *values) {
    copy_first_kernel<W><<<blocks_of(n), THREADS, 0, cuda->stream>>>(
        *format, (const bf_cuda_entry<W> *)entries, starts, numbers, n, values);
    return cudaGetLastError();
}

template <class W>
__global__ void copy_all_kernel(bf_cuda_format format, const bf_cuda_entry<W> *entries,
                                const uint64_t *starts, const uint32_t *numbers,
                                const uint64_t *before, int64_t n, int64_t total, void *values) {
    int64_t j = thread_number();
    if (j >= total) return;
    int64_t i = find_last_within(before, n, (uint64_t)j);
    uint64_t from = starts[numbers[i]] + ((uint64_t)j - before[i]);
    bf_cuda_store_value(format, values, j, entries[from].value);
}

template <class W>
static cudaError_t launch_copy_all(const bf_cuda *cuda, const bf_cuda_format *format,
                                   const void *entries, const uint64_t *starts,
                                   const uint32_t *numbers, const uint64_t *before, int64_t n,
                                   int64_t total, void *values) {
    copy_all_kernel<W><<<blocks_of(total), THREADS, 0, cuda->stream>>>(
        *format, (const bf_cuda_entry<W> *)entries, starts, numbers, before, n, total, values);
    return cudaGetLastError();
}

static __global__ void mark_kept_kernel(const uint64_t *starts, uint32_t runs, const uint8_t *gone,
                                        uint32_t n, uint64_t *kept) {
    int64_t i = thread_number();
    if (i < n) kept[i] = !gone[find_last_within(starts, runs, (uint64_t)i)];
}

static cudaError_t launch_mark_kept(const bf_cuda *cuda, const uint64_t *starts, uint32_t runs,
                                    const uint8_t *gone, uint32_t n, uint64_t *kept) {
    mark_kept_kernel<<<blocks_of(n), THREADS, 0, cuda->stream>>>(starts, runs, gone, n, kept);
    return cudaGetLastError();
}

template <class W>
__global__ void copy_kept_kernel(const bf_cuda_entry<W> *entries, uint32_t n,
                                 const uint64_t *before, bf_cuda_entry<W> *to) {
    int64_t i = thread_number();
    if (i < n && before[i] != before[i + 1]) to[before[i]] = entries[i];
}

template <class W>
static cudaError_t launch_copy_kept(const bf_cuda *cuda, const void *entries, uint32_t n,
                                    const uint64_t *before, void *to) {
    copy_kept_kernel<W><<<blocks_of(n), THREADS, 0, cuda->stream>>>(
        (const bf_cuda_entry<W> *)entries, n, before, (bf_cuda_entry<W> *)to);
    return cudaGetLastError();
}

template <class W>
static const bf_cuda_run_launchers launchers = {launch_mark_heads<W>, launch_list_runs<W>,
                                                launch_copy_first<W>, launch_copy_all<W>,
                                                launch_mark_kept,     launch_copy_kept<W>};

} // namespace bf_cuda_runs

#endif
