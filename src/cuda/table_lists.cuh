/* Rows by region, in order: one partition by the regions' high bits, then a block for each of its
 * parts goes by the low ones. */
#ifndef BF_CUDA_TABLE_LISTS_CUH
#define BF_CUDA_TABLE_LISTS_CUH

#include "partition.cuh"
#include "table.cuh"

namespace bf_cuda_lists_of {

using namespace bf_cuda_partition;

enum { DIRECT_BITS = 10, FIRST_BITS = 8, MOST_BITS = 11 };

/* Lists of `room` rows each (memory for a tile more follows the last) or, where exact, one after
 * another: for that rows are counted first, if report->spill says that room is too small. */
template <class W, bool exact>
__global__ void __launch_bounds__(THREADS, exact ? 1 : 2)
    refine_kernel(const bf_cuda_entry<W> *from, const uint32_t *bases, uint32_t regions, int shift,
                  uint32_t room, bf_cuda_entry<W> *out, uint32_t *start, uint32_t *count,
                  bf_cuda_report *report) {
    extern __shared__ __align__(16) char shared[];
    __shared__ bool too_long;
    if (exact && report->spill == 0) return;
    bf_cuda_entry<W> *held = (bf_cuda_entry<W> *)shared;
    uint32_t base = blockIdx.x << shift, begin = bases[blockIdx.x], end = bases[blockIdx.x + 1];
    int n = (int)(regions - base < 1u << shift ? regions - base : 1u << shift);
    digits d = digits_at<W>(shared, n);
    entries<W> source = {from};
    region_digit<W> whole = {regions, base, 0};
    uint32_t *stop = (uint32_t *)(d.ranks + (n + 1) * WARPS); /* where a list's room ends */
    for (int k = threadIdx.x; k < n; k += THREADS) {
        d.at[k] = exact ? 0 : (base + k) * room;
        stop[k] = (base + k + 1) * room;
        if (!exact) start[base + k] = (base + k) * room;
    }
    if (threadIdx.x == 0) too_long = false;
    __syncthreads();
    if (exact) {
        for (uint64_t i = (uint64_t)begin + threadIdx.x; i < end; i += THREADS)
            atomicAdd(&d.at[whole(from[i].key)], 1);
        __syncthreads();
        uint32_t sum = begin, all;
        for (int first = 0; first < n; first += THREADS) {
            int k = first + (int)threadIdx.x;
            uint32_t mine = k < n ? d.at[k] : 0, before = sum_before(mine, &all);
            if (k < n) start[base + k] = d.at[k] = sum + before;
            sum += all;
        }
        __syncthreads();
    }
    /* The next tile is only begun where it cannot pass anybody's room. */
    copy_rows<W>(source, whole, n, d, held, begin, end, out, [&] {
#pragma unroll 1
        for (int k = threadIdx.x; k < n && !exact; k += THREADS)
            if (d.at[k] > stop[k]) too_long = true;
        __syncthreads();
        return !too_long;
    });
#pragma unroll 1
    for (int k = threadIdx.x; k < n; k += THREADS) count[base + k] = d.at[k] - start[base + k];
    if (too_long && threadIdx.x == 0) report->spill = 1;
}

static __global__ void spill_kernel(bf_cuda_report *report) { report->spill = 1; }

static __global__ void __launch_bounds__(THREADS)
    direct_kernel(const uint32_t *bases, uint32_t regions, uint32_t *start, uint32_t *count) {
    uint32_t r = blockIdx.x * THREADS + threadIdx.x;
    if (r >= regions) return;
    start[r] = bases[r];
    count[r] = bases[r + 1] - bases[r];
}

/* How a partition by region goes. */
struct course {
    plan parts;
    uint32_t regions, digits, room; /* room 0: lists are exact */
    int shift;
    size_t list_entries;
};

/* Bits of a digit, for which there is shared memory. */
template <class W> static int most_bits(const bf_cuda *cuda) {
    int bits = MOST_BITS;
    while (shared_bytes<W>(1 << bits) + (sizeof(uint32_t) << bits) > (size_t)cuda->shared) bits--;
    return bits;
}

template <class W> static course course_of(const bf_cuda *cuda, uint32_t regions, uint32_t n) {
    int bits = bf_bit_length(regions - 1), most = most_bits<W>(cuda);
    course c = {plan_of<W>(cuda, n), regions, 0, 0, 0, n};
    if (bits > DIRECT_BITS || bits > most)
        c.shift = bits <= 2 * FIRST_BITS ? bits - FIRST_BITS : bits / 2;
    /* A block for each: no fewer than are at work at once. */
    if (c.shift > 0 && (regions >> c.shift) * 8 < 15 * (uint32_t)cuda->multiprocessors) c.shift--;
    c.digits = ((regions - 1) >> c.shift) + 1;
    /* Eight standard deviations more than there are on the average. */
    uint64_t mean = n / regions, deviation = 1;
    while (deviation * deviation < mean) deviation++;
    uint64_t room = mean + 8 * deviation + 16, all = room * regions + tile<W>;
    if (c.shift == 0 || mean < 32 || all > ~(uint32_t)0) return c;
    c.room = (uint32_t)room;
    c.list_entries = all;
    return c;
}

template <class W>
static cudaError_t refine(const bf_cuda *cuda, const course &c, const bf_cuda_entry<W> *from,
                          const uint32_t *bases, const bf_cuda_lists *lists,
                          bf_cuda_report *report) {
    cudaStream_t stream = cuda->stream;
    bf_cuda_entry<W> *out = (bf_cuda_entry<W> *)lists->entries;
    if (c.shift == 0) {
        direct_kernel<<<(c.regions - 1) / THREADS + 1, THREADS, 0, stream>>>(
            bases, c.regions, lists->start, lists->count);
        return cudaGetLastError();
    }
    size_t bytes = shared_bytes<W>(1 << c.shift) + (sizeof(uint32_t) << c.shift);
    cudaError_t error = allow_shared(refine_kernel<W, false>, bytes);
    if (error == cudaSuccess) error = allow_shared(refine_kernel<W, true>, bytes);
    if (error != cudaSuccess) return error;
    if (c.room == 0)
        spill_kernel<<<1, 1, 0, stream>>>(report);
    else
        refine_kernel<W, false><<<c.digits, THREADS, bytes, stream>>>(
            from, bases, c.regions, c.shift, c.room, out, lists->start, lists->count, report);
    refine_kernel<W, true><<<c.digits, THREADS, bytes, stream>>>(
        from, bases, c.regions, c.shift, c.room, out, lists->start, lists->count, report);
    return cudaGetLastError();
}

template <class W> static bool is_plain(const bf_cuda_format &f) {
    bool is_unsigned = f.key == BF_U32 || f.key == BF_U64;
    return is_unsigned && f.values == BF_CUDA_VALUES_PLAIN && f.key_bytes == (int)sizeof(W) &&
           f.value_bytes == (int)sizeof(W);
}

template <class W>
static cudaError_t first_pass(const bf_cuda *cuda, const bf_cuda_table *t, const bf_hash_seed seed,
                              const course &c, const bf_cuda_rows *rows, uint32_t *counts,
                              bf_cuda_entry<W> *out) {
    region_digit<W> digit = {c.regions, 0, c.shift};
    if (rows->entries != NULL) {
        ranked<W> source = {seed, (const bf_cuda_entry<W> *)rows->entries};
        return run<W>(cuda, c.parts, source, digit, (int)c.digits, rows->n, counts, out);
    }
    if (is_plain<W>(t->format) && rows->values != NULL) {
        plain_arrays<W> source = {seed, (const W *)rows->keys, (const W *)rows->values};
        return run<W>(cuda, c.parts, source, digit, (int)c.digits, rows->n, counts, out);
    }
    arrays<W> source = {t->format, seed, rows->keys, rows->values};
    if (rows->values == NULL) source.format.value_bytes = 0;
    if (rows->values == NULL) source.format.values = BF_CUDA_VALUES_PLAIN;
    return run<W>(cuda, c.parts, source, digit, (int)c.digits, rows->n, counts, out);
}

template <class W>
static bf_status partition(bf_context *context, const bf_cuda_table *table,
                           const bf_cuda_slots *slots, const bf_cuda_rows *rows,
                           bf_cuda_lists *lists) {
    const bf_cuda *cuda = context->cuda;
    course c = course_of<W>(cuda, slots->regions, rows->n);
    size_t entry = sizeof(bf_cuda_entry<W>), counts = counts_needed(c.parts, (int)c.digits);
    char *memory = (char *)bf_cuda_take(context, c.list_entries * entry + (size_t)c.regions * 8);
    char *first = (char *)bf_cuda_take(context, (c.shift > 0 ? rows->n * entry : 0) + counts * 4);
    bf_status status = memory == NULL || first == NULL ? BF_E_MEMORY : BF_OK;
    if (status == BF_OK) {
        lists->memory = lists->entries = memory;
        lists->start = (uint32_t *)(memory + c.list_entries * entry);
        lists->count = lists->start + c.regions;
        bf_cuda_entry<W> *to = (bf_cuda_entry<W> *)(c.shift > 0 ? first : memory);
        uint32_t *sums = (uint32_t *)(first + (c.shift > 0 ? rows->n * entry : 0));
        cudaError_t error = first_pass<W>(cuda, table, slots->seed, c, rows, sums, to);
        if (error == cudaSuccess)
            error = refine<W>(cuda, c, to, sums + (size_t)c.digits * c.parts.parts, lists,
                              table->report);
        if (error != cudaSuccess) status = bf_cuda_fail(context, error, "sorting rows by region");
    }
    if (status != BF_OK) bf_cuda_give(context, memory);
    bf_cuda_give(context, first);
    return status;
}

} // namespace bf_cuda_lists_of

#endif
