/* Partition of rows by region, stably. The first pass makes coarse partitions of some regions each;
 * the second (refine.cuh) takes one block for each of these. Hot keys are combined first
 * (combine.cuh). */
#ifndef BF_CUDA_TABLE_PARTITIONS_CUH
#define BF_CUDA_TABLE_PARTITIONS_CUH

#include "cuda/runtime/memory.cuh"
#include "cuda/table/combine.cuh"
#include "cuda/table/refine.cuh"

namespace bf_cuda_by_region {

enum {
    DIRECT_BITS = 10, /* the bits of the regions that one pass tells apart */
    FIRST_BITS = 8,
    MOST_BITS = 11,
    HOT_ROWS = 16384,   /* a partition with so many rows is never hot */
    HOT_PARTITIONS = 64 /* fewer partitions are too little work for a GPU anyway */
};

/* How rows are partitioned by region. */
struct region_plan {
    plan first;
    uint32_t regions, digits, room; /* digits: coarse partitions; room 0: exact */
    uint32_t each;                  /* regions of a coarse partition; 1: there is no second pass */
    size_t entries;
};

/* Returns the most bits of a digit for which there is shared memory. */
template <class W> static int most_digit_bits(const bf_cuda *cuda) {
    int bits = MOST_BITS;
    while (shared_bytes<W>(1 << bits) + (sizeof(uint32_t) << bits) > (size_t)cuda->shared) bits--;
    return bits;
}

/* Returns the regions of a coarse partition. There are as many coarse partitions as blocks run at
 * once, so that one wave takes them all; but at most 2^8, if that makes little difference. */
static uint32_t choose_regions(uint32_t blocks, uint32_t regions, int most) {
    uint32_t coarse = blocks, limit = 1u << FIRST_BITS;
    if (coarse > limit && coarse < limit + limit / 8) coarse = limit;
    uint32_t each = (regions - 1) / coarse + 1;
    return each < 1u << most ? each : 1u << most;
}

template <class W>
static region_plan plan_regions(const bf_cuda *cuda, uint32_t regions, uint32_t n) {
    int bits = bf_bit_length(regions - 1), most = most_digit_bits<W>(cuda);
    uint32_t blocks = BLOCKS * (uint32_t)cuda->multiprocessors;
    region_plan c = {plan_of<W>(cuda, n), regions, 0, 0, 1, n};
    if (bits > DIRECT_BITS || bits > most) c.each = choose_regions(blocks, regions, most);
    c.digits = (regions - 1) / c.each + 1;
    /* the average and eight standard deviations */
    uint64_t mean = n / regions, deviation = 1;
    while (deviation * deviation < mean) deviation++;
    uint64_t room = mean + 8 * deviation + 16, all = room * regions + tile<W>;
    if (c.each == 1 || mean < 32 || all > ~(uint32_t)0) return c;
    c.room = (uint32_t)room;
    c.entries = all;
    return c;
}

/* Returns the rows above which one of so many partitions is hot: a block would take longer for it
 * than all other blocks. */
static uint32_t most_rows(uint32_t n, uint32_t partitions) {
    uint64_t most =
        (uint64_t)n / (partitions > HOT_PARTITIONS ? partitions : HOT_PARTITIONS) * 4 + HOT_ROWS;
    return most < ~(uint32_t)0 ? (uint32_t)most : ~(uint32_t)0;
}

template <class W>
static cudaError_t refine_partitions(const bf_cuda *cuda, const region_plan &c,
                                     const row_limits &most, const bf_cuda_entry<W> *from,
                                     const uint32_t *bases, const bf_cuda_partitions *partitions,
                                     bf_cuda_table_notes *notes) {
    region_partitions<W> to = {
        c.regions,         c.each,           c.room, (bf_cuda_entry<W> *)partitions->entries,
        partitions->start, partitions->count};
    if (c.each > 1) return launch_refine(cuda, c.digits, from, bases, to, most, notes);
    copy_starts_kernel<<<(c.regions - 1) / SUM_THREADS + 1, SUM_THREADS, 0, cuda->stream>>>(
        bases, c.regions, most.fine, partitions->start, partitions->count, notes);
    return cudaGetLastError();
}

/* --- the first pass --- */

template <class W> static bool is_plain_format(const bf_cuda_format &f) {
    bool is_unsigned = f.key == BF_U32 || f.key == BF_U64;
    return is_unsigned && f.values == BF_CUDA_VALUES_PLAIN && f.key_bytes == (int)sizeof(W) &&
           f.value_bytes == (int)sizeof(W);
}

template <class W>
static arrays<W> arrays_of(const bf_cuda_table *t, const bf_hash_seed seed,
                           const bf_cuda_rows *rows) {
    arrays<W> source = {t->format, seed, rows->keys, rows->values};
    if (rows->values == NULL) source.format.value_bytes = 0;
    if (rows->values == NULL) source.format.values = BF_CUDA_VALUES_PLAIN;
    return source;
}

template <class W> static coarse_digit<W> digit_of(const region_plan &c) {
    coarse_digit<W> digit = {c.regions, ((1u << 31) - 1) / c.each + 1};
    return digit;
}

/* Partitions the rows of a source coarsely. */
template <class W, class Source>
static cudaError_t
partition_coarsely(const bf_cuda *cuda, const region_plan &c, const Source &source, uint32_t n,
                   const uint32_t *block_counts, uint32_t *counts, bf_cuda_entry<W> *out) {
    return partition_entries<W>(cuda, c.first, source, digit_of<W>(c), (int)c.digits, n,
                                block_counts, counts, out);
}

template <class W>
static cudaError_t partition_rows(const bf_cuda *cuda, const bf_cuda_table *t,
                                  const bf_hash_seed seed, const region_plan &c,
                                  const bf_cuda_rows *rows, uint32_t *counts,
                                  bf_cuda_entry<W> *out) {
    if (rows->entries != NULL) {
        ranked<W> source = {seed, (const bf_cuda_entry<W> *)rows->entries};
        return partition_coarsely<W>(cuda, c, source, rows->n, NULL, counts, out);
    }
    if (is_plain_format<W>(t->format) && rows->values != NULL) {
        plain_arrays<W> source = {seed, (const W *)rows->keys, (const W *)rows->values};
        return partition_coarsely<W>(cuda, c, source, rows->n, NULL, counts, out);
    }
    return partition_coarsely<W>(cuda, c, arrays_of<W>(t, seed, rows), rows->n, NULL, counts, out);
}

/* Combines equal keys of each tile, and then partitions. combined: memory for all rows, and for a
 * number of each block. */
template <class W>
static cudaError_t
partition_combined(const bf_cuda *cuda, const bf_cuda_table *t, const bf_hash_seed seed,
                   const region_plan &c, const bf_cuda_rows *rows, bf_cuda_combine how,
                   bf_cuda_entry<W> *combined, uint32_t *counts, bf_cuda_entry<W> *out) {
    using namespace bf_cuda_combining;
    uint32_t n = rows->n, *block_counts = (uint32_t *)(combined + n);
    ranked<W> held = {seed, (const bf_cuda_entry<W> *)rows->entries};
    cudaError_t error = rows->entries != NULL
                            ? launch_combine<W>(cuda, c.first, held, n, how, combined, block_counts)
                            : launch_combine<W>(cuda, c.first, arrays_of<W>(t, seed, rows), n, how,
                                                combined, block_counts);
    entries<W> source = {combined};
    if (error != cudaSuccess) return error;
    return partition_coarsely<W>(cuda, c, source, n, block_counts, counts, out);
}

/* --- both --- */

/* Memory between the passes: coarse partitions, their counts, and combined rows. */
template <class W> struct scratch {
    char *coarse, *combined;
    uint32_t *counts;
};

template <class W>
static bf_status alloc_scratch(bf_context *context, const region_plan &c, uint32_t n, bool combined,
                               scratch<W> *s) {
    size_t entry = sizeof(bf_cuda_entry<W>), rows = c.each > 1 ? n * entry : 0;
    size_t counts = counts_needed(c.first, (int)c.digits) * sizeof(uint32_t);
    s->combined = NULL;
    s->coarse = (char *)bf_cuda_alloc(context, rows + counts);
    if (s->coarse == NULL) return BF_E_MEMORY;
    s->counts = (uint32_t *)(s->coarse + rows);
    if (!combined) return BF_OK;
    s->combined = (char *)bf_cuda_alloc(context, n * entry + c.first.blocks * sizeof(uint32_t));
    return s->combined == NULL ? BF_E_MEMORY : BF_OK;
}

template <class W>
static bf_status partition_by_region(bf_context *context, const bf_cuda_table *table,
                                     const bf_cuda_buckets *buckets, const bf_cuda_rows *rows,
                                     bf_cuda_hot hot, bf_cuda_combine how,
                                     bf_cuda_partitions *partitions) {
    const bf_cuda *cuda = context->cuda;
    region_plan c = plan_regions<W>(cuda, buckets->regions, rows->n);
    row_limits most = {~(uint32_t)0, ~(uint32_t)0};
    if (hot == BF_CUDA_HOT_REFUSE)
        most = {most_rows(rows->n, c.digits), most_rows(rows->n, c.regions)};
    size_t bytes = c.entries * sizeof(bf_cuda_entry<W>);
    char *memory = (char *)bf_cuda_alloc(context, bytes + (size_t)c.regions * 8);
    if (memory == NULL) return BF_E_MEMORY;
    partitions->memory = partitions->entries = memory;
    partitions->start = (uint32_t *)(memory + bytes);
    partitions->count = partitions->start + c.regions;
    scratch<W> s;
    bf_status status = alloc_scratch<W>(context, c, rows->n, hot == BF_CUDA_HOT_COMBINE, &s);
    if (status == BF_OK) {
        bf_cuda_entry<W> *to = (bf_cuda_entry<W> *)(c.each > 1 ? s.coarse : memory);
        bf_cuda_entry<W> *combined = (bf_cuda_entry<W> *)s.combined;
        cudaError_t error =
            hot == BF_CUDA_HOT_COMBINE
                ? partition_combined<W>(cuda, table, buckets->seed, c, rows, how, combined,
                                        s.counts, to)
                : partition_rows<W>(cuda, table, buckets->seed, c, rows, s.counts, to);
        const uint32_t *bases = s.counts + (size_t)c.digits * c.first.blocks;
        if (error == cudaSuccess)
            error = refine_partitions<W>(cuda, c, most, to, bases, partitions,
                                         bf_cuda_table_notes_of(context));
        if (error != cudaSuccess) status = bf_cuda_fail(context, error, "sorting rows by region");
    }
    if (status != BF_OK) bf_cuda_free(context, memory);
    bf_cuda_free(context, s.combined);
    bf_cuda_free(context, s.coarse);
    return status;
}

} // namespace bf_cuda_by_region

#endif
