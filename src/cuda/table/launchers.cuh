/* The launchers for one width of words. word.cu.in instantiates them. */
#ifndef BF_CUDA_TABLE_LAUNCHERS_CUH
#define BF_CUDA_TABLE_LAUNCHERS_CUH

#include "cuda/runtime/memory.cuh"
#include "cuda/table/find.cuh"
#include "cuda/table/partitions.cuh"
#include "cuda/table/regions.cuh"
#include "cuda/table/runs.cuh"

namespace bf_cuda_launchers {

enum { THREADS = 256 };

static __device__ __forceinline__ int64_t thread_number() {
    return (int64_t)blockIdx.x * THREADS + threadIdx.x;
}

static unsigned blocks_of(uint32_t n) { return (n - 1) / THREADS + 1; }

/* --- arrays --- */

template <class W>
__global__ void write_arrays_kernel(bf_cuda_format format, const bf_cuda_entry<W> *entries,
                                    uint32_t n, void *keys, void *values) {
    int64_t i = thread_number();
    if (i >= n) return;
    bf_cuda_entry<W> e = entries[i];
    if (keys != NULL) bf_cuda_store_rank(format, keys, i, e.key);
    if (values != NULL) bf_cuda_store_value(format, values, i, e.value);
}

template <class W>
static cudaError_t launch_write_arrays(const bf_cuda *cuda, const bf_cuda_format *format,
                                       const void *entries, uint32_t n, void *keys, void *values) {
    write_arrays_kernel<W><<<blocks_of(n), THREADS, 0, cuda->stream>>>(
        *format, (const bf_cuda_entry<W> *)entries, n, keys, values);
    return cudaGetLastError();
}

template <class W>
__global__ void make_entries_kernel(bf_cuda_format format, const void *keys, const void *values,
                                    uint32_t n, bf_cuda_entry<W> *entries) {
    int64_t i = thread_number();
    if (i >= n) return;
    bf_cuda_entry<W> e = {bf_cuda_load_rank<W>(format, keys, i)};
    bf_cuda_narrow(0, &e.value);
    if (values != NULL) e.value = bf_cuda_load_value<W>(format, values, i);
    entries[i] = e;
}

template <class W>
static cudaError_t launch_make_entries(const bf_cuda *cuda, const bf_cuda_format *format,
                                       const void *keys, const void *values, uint32_t n,
                                       void *entries) {
    make_entries_kernel<W><<<blocks_of(n), THREADS, 0, cuda->stream>>>(*format, keys, values, n,
                                                                       (bf_cuda_entry<W> *)entries);
    return cudaGetLastError();
}

/* --- an estimate of the number of different keys: bits that hashes set --- */

static __device__ __forceinline__ void mark_hash(uint64_t hash, int rate, uint32_t *bits) {
    if ((hash & ((1u << rate) - 1)) != 0) return;
    uint32_t bit = (uint32_t)(hash >> rate) & (BF_CUDA_BITMAP - 1);
    atomicOr(&bits[bit / 32], 1u << bit % 32);
}

template <class W, class Source>
__global__ void mark_rows_kernel(Source source, uint32_t n, int rate, uint32_t *bits) {
    int64_t i = thread_number();
    if (i < n) mark_hash(bf_cuda_bits(source.key(source.load_key((uint32_t)i))), rate, bits);
}

template <class W>
static cudaError_t launch_mark_rows(const bf_cuda *cuda, const bf_cuda_table *table,
                                    const bf_cuda_rows *rows, int rate, uint32_t *bits) {
    using namespace bf_cuda_sources;
    arrays<W> source = {table->format, table->buckets.seed, rows->keys, rows->values};
    ranked<W> held = {table->buckets.seed, (const bf_cuda_entry<W> *)rows->entries};
    if (rows->entries != NULL)
        mark_rows_kernel<W>
            <<<blocks_of(rows->n), THREADS, 0, cuda->stream>>>(held, rows->n, rate, bits);
    else
        mark_rows_kernel<W>
            <<<blocks_of(rows->n), THREADS, 0, cuda->stream>>>(source, rows->n, rate, bits);
    return cudaGetLastError();
}

template <class W>
__global__ void mark_slots_kernel(const bf_cuda_entry<W> *slots, int rate, uint32_t *bits) {
    W empty = bf_cuda_empty_key<W>(blockIdx.x);
    const bf_cuda_entry<W> *from = slots + (size_t)blockIdx.x * bf_cuda_region<W>::slots;
    for (int s = threadIdx.x; s < bf_cuda_region<W>::slots; s += THREADS)
        if (!(from[s].key == empty)) mark_hash(bf_cuda_bits(from[s].key), rate, bits);
}

template <class W>
static cudaError_t launch_mark_slots(const bf_cuda *cuda, const bf_cuda_buckets *slots, int rate,
                                     uint32_t *bits) {
    mark_slots_kernel<W><<<slots->regions, THREADS, 0, cuda->stream>>>(
        (const bf_cuda_entry<W> *)slots->entries, rate, bits);
    return cudaGetLastError();
}

template <class W> static constexpr bf_cuda_table_launchers make_launchers() {
    bf_cuda_table_launchers l = {};
    l.word = sizeof(W);
    l.slots = bf_cuda_region<W>::slots;
    l.limit = bf_cuda_region<W>::limit;
    l.digit_bits = bf_cuda_by_region::most_digit_bits<W>;
    l.partition = bf_cuda_by_region::partition_by_region<W>;
    l.check = bf_cuda_regions::launch_check<W>;
    l.insert = bf_cuda_regions::launch_insert<W>;
    l.erase = bf_cuda_regions::launch_erase<W>;
    l.collect = bf_cuda_regions::launch_collect<W>;
    l.find = bf_cuda_find::launch_find<W>;
    l.write_arrays = launch_write_arrays<W>;
    l.make_entries = launch_make_entries<W>;
    l.mark_slots = launch_mark_slots<W>;
    l.mark_rows = launch_mark_rows<W>;
    l.runs = &bf_cuda_runs::launchers<W>;
    return l;
}

} // namespace bf_cuda_launchers

#endif
